/* SPDX-License-Identifier: Apache-2.0 */
/* ages.h - queues with aging, out of the definitions: for kinds of stores, whose dispatch
 * order needs it. */
#ifndef STORE_AGES_H
#define STORE_AGES_H

#include "store/store.h"

typedef struct Ages {
    Arena arena;
    struct AgedQueue {
        Slice tenant;
        Slice queue;
        int64_t age_ms;
    } * items;
    size_t count;
    size_t capacity;
} Ages;

MUST_CHECK Err ages_load(Ages *ages, Store *store, Error *why);
int64_t ages_find(const Ages *ages, Slice tenant, Slice queue); /* 0: no aging */
void ages_done(Ages *ages);

#endif
