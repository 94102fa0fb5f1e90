/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the store that is simple enough to be believed: tests measure others by it,
 * and the simulation keeps its durable state in it. */
#ifndef STORE_MEMORY_MEMORY_H
#define STORE_MEMORY_MEMORY_H

#include "store/store.h"

Store *store_memory_new(void);

/* A copy that goes its own way from here on. Jobs are shared until they change, so it
 * costs a pointer per job. */
Store *store_memory_clone(const Store *store);

/* Equal states give equal hashes, however they came to be. */
uint64_t store_memory_hash(const Store *store);

/* The store's clock from here on; until it is set, that of this machine. */
void store_memory_clock(Store *store, int64_t now_ms);

/* Says of itself that others may change it: nodes share it, in one thread. */
void store_memory_share(Store *store);

#endif
