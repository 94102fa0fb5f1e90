/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - hash maps: Map from a 64-bit key to a pointer, Names from text to a number.
 *
 * Open addressing with linear probing; removal shifts back, so there are no
 * tombstones and lookups stay short whatever came and went. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct MapEntry {
    uint64_t key;
    void *value; /* NULL: the place is free */
} MapEntry;

typedef struct Map {
    MapEntry *entries;
    size_t count;
    size_t capacity; /* 0 or a power of two */
} Map;

void *map_find(const Map *map, uint64_t key);      /* NULL when absent */
void map_put(Map *map, uint64_t key, void *value); /* value is never NULL */
void *map_remove(Map *map, uint64_t key);          /* returns what was there, or NULL */
void map_done(Map *map);

/* Walks all entries in no particular order; the map must not change meanwhile.
 *     for (size_t at = 0; map_next(map, &at, &entry);) ... */
bool map_next(const Map *map, size_t *at, MapEntry *out_entry);

/* Every text gets a small number, the same one each time; numbers start at 1. */
typedef struct Names {
    Arena arena;
    Slice *texts; /* by number - 1 */
    size_t count;
    size_t capacity;
    uint32_t *table;
    size_t table_capacity;
} Names;

uint32_t names_intern(Names *names, Slice text);
uint32_t names_find(const Names *names, Slice text); /* 0 when never seen */
Slice names_text(const Names *names, uint32_t number);
void names_done(Names *names);

uint64_t hash_bytes(const void *data, size_t bytes);
uint64_t hash_u64(uint64_t value);

#endif
