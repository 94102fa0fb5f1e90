/* SPDX-License-Identifier: Apache-2.0 */
/* store_await.h - opens the store, and waits for one that is not there yet. */
#ifndef ENGINE_STORE_AWAIT_H
#define ENGINE_STORE_AWAIT_H

#include "store/store.h"

typedef struct Patience {
    int64_t most_ms; /* then, and after two tries, ERR_UNAVAILABLE; 0: without end */
    const char *msg; /* what the log says beside that it waits; NULL: nothing */
} Patience;

/* As store_open; a server that may come is waited for, which the log says. What stays
 * wrong (no such role or database, a newer schema) is an error at once. */
MUST_CHECK Err store_await(const char *url, const StoreOptions *options,
                           const Patience *patience, Store **out, Error *why);

#define STORE_TRY_MS 500 /* from one try to the next */

#endif
