/* SPDX-License-Identifier: Apache-2.0 */
/* sorted_map.c - see sorted_map.h. */
#include "store/memory/sorted_map.h"

int bytes_order(Slice a, Slice b)
{
    size_t common = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static size_t entry_place(const SortedMap *table, Slice key)
{
    size_t at = 0;
    while (at < table->count && bytes_order(buf_slice(&table->items[at].key), key) < 0)
        at++;
    return at;
}

Entry *sorted_map_find(const SortedMap *table, Slice key)
{
    size_t at = entry_place(table, key);
    bool found = at < table->count && slice_equal(buf_slice(&table->items[at].key), key);
    return found ? &table->items[at] : NULL;
}

void sorted_map_put(SortedMap *table, Slice key, Slice value, int64_t number)
{
    Entry *entry = sorted_map_find(table, key);
    if (!entry) {
        size_t at = entry_place(table, key);
        mem_room((void **)&table->items, table->count, &table->capacity, sizeof(Entry));
        entry = &table->items[at];
        memmove(entry + 1, entry, (table->count++ - at) * sizeof *entry);
        *entry = (Entry){ 0 };
        buf_add_slice(&entry->key, key);
    }
    buf_clear(&entry->value);
    buf_add_slice(&entry->value, value);
    entry->number = number;
}

void sorted_map_remove(SortedMap *table, Entry *entry)
{
    buf_done(&entry->key);
    buf_done(&entry->value);
    size_t at = (size_t)(entry - table->items);
    memmove(entry, entry + 1, (--table->count - at) * sizeof *entry);
}

void sorted_map_done(SortedMap *table)
{
    while (table->count)
        sorted_map_remove(table, &table->items[table->count - 1]);
    mem_free(table->items);
    *table = (SortedMap){ 0 };
}

void sorted_map_copy(const SortedMap *from, SortedMap *to)
{
    for (size_t i = 0; i < from->count; i++)
        sorted_map_put(to, buf_slice(&from->items[i].key),
                       buf_slice(&from->items[i].value), from->items[i].number);
}
