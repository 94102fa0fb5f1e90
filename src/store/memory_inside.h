/* SPDX-License-Identifier: Apache-2.0 */
/* memory_inside.h - what the memory_*.c files share: see memory.c for what must hold. */
#ifndef STORE_MEMORY_INSIDE_H
#define STORE_MEMORY_INSIDE_H

#include "store/entries.h"
#include "store/point.h"
#include "store/rollup.h"
#include "store/row.h"
#include "store/store.h"

typedef struct MemJob {
    uint32_t users;
    Row row;      /* its slices point into packed */
    Buf packed;   /* row.job */
    Buf result;   /* of the last attempt that had one */
    Buf attempts; /* those the row has forgotten: packed jobs, oldest first */
} MemJob;

enum { TAG_ATTEMPT = 1 }; /* in MemJob.attempts */

typedef enum MemTableKind {
    TABLE_DEFINITIONS, /* key: table, tenant and key with NUL between */
    TABLE_KEYS,        /* key: tenant, NUL, key; number: expiry */
    TABLE_NODES,       /* key: sysid; number: beat */
    TABLE_WAITS,       /* key: parent and child, 8 bytes each; number: AfterOn */
    TABLE_ENDED,       /* key: parent, 8 bytes; number: its state, or STATE_GONE */
    TABLE_GROUPS,      /* key: tenant, NUL, name, NUL, a byte: state; number: count */
    TABLE_UNIQUE,      /* key: tenant, NUL, key; value: job, 8 bytes; number: until, 0:
                          as long as the job needs it */
    TABLES,
} MemTableKind;

typedef struct Memory {
    Store store; /* must be first */
    MemJob **jobs;
    size_t count;
    size_t capacity;
    Entries tables[TABLES];
    Points points;
    Rollups rollups; /* of the commit under way */
    RollupTable statistics;
    int64_t folded_hour;
} Memory;

static inline Memory *memory_of(Store *store)
{
    return (Memory *)(void *)store;
}

MemJob *memory_find(const Memory *memory, JobId id); /* NULL: no such job */

/* The parts with NUL between, as the keys of entries are. */
void memory_key(Buf *out, const Slice *parts, size_t count);

/* memory_links.c: rows beside jobs */
void memory_added(Memory *memory, const Job *job);
void memory_changed(Memory *memory, const Op *op, const Job *was, const Job *job);
void memory_removed(Memory *memory, const Job *job);
void memory_load_after(Memory *memory, const Load *load, Loaded *out);
void memory_load_unique(Memory *memory, const Load *load, Loaded *out);
Err memory_groups(Store *store, const GroupCount *one, GroupSink *sink, void *context,
                  Error *why);

/* memory_load.c */
Err memory_load(Store *store, const Load *load, Loaded *out, Error *why);
Err memory_query(Store *store, const JobQuery *query, const JobSink *sink,
                 QueryEnd *out_end, Error *why);

#endif
