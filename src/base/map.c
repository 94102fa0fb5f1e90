/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - see map.h. */
#include "base/map.h"

#include <assert.h>

uint64_t hash_u64(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

uint64_t hash_bytes(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t hash = 0xcbf29ce484222325u ^ bytes;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        hash = hash_u64(hash ^ word);
    }
    uint64_t tail = 0;
    for (size_t i = 0; i < bytes; i++)
        tail = tail << 8 | at[i];
    return hash_u64(hash ^ tail);
}

static size_t place_of(const Map *map, uint64_t key)
{
    size_t mask = map->capacity - 1;
    size_t at = hash_u64(key) & mask;
    while (map->entries[at].value && map->entries[at].key != key)
        at = (at + 1) & mask;
    return at;
}

void *map_find(const Map *map, uint64_t key)
{
    return map->capacity ? map->entries[place_of(map, key)].value : NULL;
}

static void grow(Map *map)
{
    Map larger = { .capacity = map->capacity ? map->capacity * 2 : 16,
                   .count = map->count };
    larger.entries = MEM_ARRAY(MapEntry, larger.capacity);
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].value)
            larger.entries[place_of(&larger, map->entries[i].key)] = map->entries[i];
    mem_free(map->entries);
    *map = larger;
}

void map_put(Map *map, uint64_t key, void *value)
{
    assert(value);
    if ((map->count + 1) * 4 > map->capacity * 3)
        grow(map);
    MapEntry *entry = &map->entries[place_of(map, key)];
    map->count += entry->value == NULL;
    *entry = (MapEntry){ key, value };
}

void *map_remove(Map *map, uint64_t key)
{
    if (!map->capacity)
        return NULL;
    size_t mask = map->capacity - 1;
    size_t hole = place_of(map, key);
    void *removed = map->entries[hole].value;
    if (!removed)
        return NULL;
    map->entries[hole].value = NULL;
    map->count--;
    /* Entries behind the hole move into it unless that would put them before their
     * own place. */
    for (size_t at = (hole + 1) & mask; map->entries[at].value; at = (at + 1) & mask) {
        size_t home = hash_u64(map->entries[at].key) & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        map->entries[hole] = map->entries[at];
        map->entries[at].value = NULL;
        hole = at;
    }
    return removed;
}

void map_done(Map *map)
{
    mem_free(map->entries);
    *map = (Map){ 0 };
}

bool map_next(const Map *map, size_t *at, MapEntry *out_entry)
{
    for (; *at < map->capacity; ++*at) {
        if (!map->entries[*at].value)
            continue;
        *out_entry = map->entries[(*at)++];
        return true;
    }
    return false;
}

static size_t name_place(const Names *names, Slice text)
{
    size_t mask = names->table_capacity - 1;
    size_t at = hash_bytes(text.data, text.bytes) & mask;
    while (names->table[at] && !slice_equal(names->texts[names->table[at] - 1], text))
        at = (at + 1) & mask;
    return at;
}

static void names_grow(Names *names)
{
    mem_free(names->table);
    names->table_capacity = names->table_capacity ? names->table_capacity * 2 : 64;
    names->table = MEM_ARRAY(uint32_t, names->table_capacity);
    for (size_t i = 0; i < names->count; i++)
        names->table[name_place(names, names->texts[i])] = (uint32_t)(i + 1);
}

uint32_t names_find(const Names *names, Slice text)
{
    return names->table_capacity ? names->table[name_place(names, text)] : 0;
}

uint32_t names_intern(Names *names, Slice text)
{
    if ((names->count + 1) * 2 > names->table_capacity)
        names_grow(names);
    size_t at = name_place(names, text);
    if (names->table[at])
        return names->table[at];
    Slice copy = slice_copy(&names->arena, text);
    MEM_PUSH(names->texts, names->count, names->capacity) = copy;
    names->table[at] = (uint32_t)names->count;
    return names->table[at];
}

Slice names_text(const Names *names, uint32_t number)
{
    assert(number >= 1);
    assert(number <= names->count);
    return names->texts[number - 1];
}

void names_done(Names *names)
{
    arena_done(&names->arena);
    mem_free(names->texts);
    mem_free(names->table);
    *names = (Names){ 0 };
}
