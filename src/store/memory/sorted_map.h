/* SPDX-License-Identifier: Apache-2.0 */
/* sorted_map.h - a sorted array from key to value and number, for the memory store. */
#ifndef STORE_MEMORY_SORTED_MAP_H
#define STORE_MEMORY_SORTED_MAP_H

#include "base/buf.h"

#include <stdint.h>

typedef struct Entry {
    Buf key;
    Buf value;
    int64_t number;
} Entry;

typedef struct SortedMap {
    Entry *items; /* by key, rising */
    size_t count;
    size_t capacity;
} SortedMap;

Entry *sorted_map_find(const SortedMap *table, Slice key); /* NULL when absent */
void sorted_map_put(SortedMap *table, Slice key, Slice value, int64_t number);
void sorted_map_remove(SortedMap *table, Entry *entry);
void sorted_map_copy(const SortedMap *from, SortedMap *to); /* adds all of from */
void sorted_map_done(SortedMap *table);

/* Below 0, 0 or above 0, as the bytes of a come before, with or after those of b. */
int bytes_order(Slice a, Slice b);

#endif
