/* SPDX-License-Identifier: Apache-2.0 */
/* entries.h - a sorted array from key to value and number, for the memory store. */
#ifndef STORE_ENTRIES_H
#define STORE_ENTRIES_H

#include "base/buf.h"

#include <stdint.h>

typedef struct Entry {
    Buf key;
    Buf value;
    int64_t number;
} Entry;

typedef struct Entries {
    Entry *items; /* by key, rising */
    size_t count;
    size_t capacity;
} Entries;

Entry *entries_find(const Entries *table, Slice key); /* NULL when absent */
void entries_put(Entries *table, Slice key, Slice value, int64_t number);
void entries_remove(Entries *table, Entry *entry);
void entries_copy(const Entries *from, Entries *to); /* adds all of from */
void entries_done(Entries *table);

/* Below 0, 0 or above 0, as the bytes of a come before, with or after those of b. */
int bytes_order(Slice a, Slice b);

#endif
