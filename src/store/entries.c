/* SPDX-License-Identifier: Apache-2.0 */
/* entries.c - see entries.h. */
#include "store/entries.h"

int bytes_order(Slice a, Slice b)
{
    size_t common = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static size_t entry_place(const Entries *table, Slice key)
{
    size_t at = 0;
    while (at < table->count && bytes_order(buf_slice(&table->items[at].key), key) < 0)
        at++;
    return at;
}

Entry *entries_find(const Entries *table, Slice key)
{
    size_t at = entry_place(table, key);
    bool found = at < table->count && slice_equal(buf_slice(&table->items[at].key), key);
    return found ? &table->items[at] : NULL;
}

void entries_put(Entries *table, Slice key, Slice value, int64_t number)
{
    Entry *entry = entries_find(table, key);
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

void entries_remove(Entries *table, Entry *entry)
{
    buf_done(&entry->key);
    buf_done(&entry->value);
    size_t at = (size_t)(entry - table->items);
    memmove(entry, entry + 1, (--table->count - at) * sizeof *entry);
}

void entries_done(Entries *table)
{
    while (table->count)
        entries_remove(table, &table->items[table->count - 1]);
    mem_free(table->items);
    *table = (Entries){ 0 };
}

void entries_copy(const Entries *from, Entries *to)
{
    for (size_t i = 0; i < from->count; i++)
        entries_put(to, buf_slice(&from->items[i].key), buf_slice(&from->items[i].value),
                    from->items[i].number);
}
