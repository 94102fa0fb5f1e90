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

/* memory_load.c */
Err memory_load(Store *store, const Load *load, Loaded *out, Error *why);
Err memory_query(Store *store, const JobQuery *query, const JobSink *sink,
                 QueryEnd *out_end, Error *why);

#endif
