/* SPDX-License-Identifier: Apache-2.0 */
/* remember.h - keeps the snapshot of a node on a shared store (snapshot.h) up to date: a
 * thread with a connection of its own, only while it reads. It writes when it begins,
 * soon after a definition has changed, and now and then as the journal goes on. */
#ifndef SERVE_REMEMBER_H
#define SERVE_REMEMBER_H

#include "serve/identity.h"

typedef struct Remember Remember;

typedef struct RememberOptions { /* all of it outlives it */
    const char *data_dir;
    const char *store_url;
    const Identity *identity;
    int64_t answer_ms; /* as StoreOptions has it */
} RememberOptions;

Remember *remember_open(const RememberOptions *options);

/* The store has the journal up to `position`; ids given from now on count `ids` or more.
 * Nothing is remembered before that is told. Any thread. */
void remember_point(Remember *remember, uint64_t ids, uint64_t position);
void remember_touch(Remember *remember); /* a definition has changed; any thread */

void remember_close(Remember *remember); /* NULL: nothing; writes what is left to write */

#endif
