/* SPDX-License-Identifier: Apache-2.0 */
/* row_cache.c - see row_cache.h. */
#include "store/postgres/row_cache.h"

typedef struct KnownRow {
    size_t bytes;
    char data[];
} KnownRow;

static void forget(PgKnownPart *part)
{
    map_done(&part->rows);
    arena_done(&part->arena);
    *part = (PgKnownPart){ .bytes = 0 };
}

void pgknown_drop(PgKnown *known)
{
    forget(&known->parts[0]);
    forget(&known->parts[1]);
    known->since = (PgKnownWhile){ .node = 0 };
    known->used = false;
}

void pgknown_distrust(PgKnown *known)
{
    known->since = (PgKnownWhile){ .node = 0 };
}

void pgknown_begin(PgKnown *known, const PgKnownWhile *now)
{
    const PgKnownWhile *since = &known->since;
    if (since->node != now->node || since->epoch != now->epoch ||
        since->connects != now->connects)
        pgknown_drop(known);
    known->since = *now;
    known->used = false;
    known->added = 0;
}

Slice pgknown_find(PgKnown *known, uint64_t id)
{
    for (size_t i = 0; i < 2 && known->since.node; i++) {
        const KnownRow *row = map_find(&known->parts[i].rows, id);
        if (!row)
            continue;
        known->used = true;
        return slice_of(row->data, row->bytes);
    }
    return (Slice){ NULL, 0 };
}

void pgknown_add(PgKnown *known, uint64_t id, uint32_t owner, Slice row)
{
    if (owner == known->since.node && known->added++ < KNOWN_NEW_MAX)
        pgknown_put(known, id, owner, row);
}

void pgknown_put(PgKnown *known, uint64_t id, uint32_t owner, Slice row)
{
    PgKnownPart *young = &known->parts[0];
    if (!known->since.node || owner != known->since.node) {
        pgknown_remove(known, id);
        return;
    }
    KnownRow *kept = arena_take(&young->arena, sizeof *kept + row.bytes);
    kept->bytes = row.bytes;
    memcpy(kept->data, row.data, row.bytes);
    young->bytes += sizeof *kept + row.bytes;
    map_put(&young->rows, id, kept);
}

void pgknown_remove(PgKnown *known, uint64_t id)
{
    for (size_t i = 0; i < 2; i++)
        map_remove(&known->parts[i].rows, id);
}

void pgknown_end(PgKnown *known)
{
    if (known->parts[0].bytes < KNOWN_BYTES_MAX)
        return;
    forget(&known->parts[1]);
    known->parts[1] = known->parts[0];
    known->parts[0] = (PgKnownPart){ .bytes = 0 };
}
