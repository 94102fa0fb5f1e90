/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h - what the memory_*.c files share: see memory.c for what must hold. */
#ifndef STORE_MEMORY_INSIDE_H
#define STORE_MEMORY_INSIDE_H

#include "store/memory/sorted_map.h"
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
    TABLE_LEASES,      /* key: sysid; value: MemLease */
    TABLE_INBOX,       /* key: node and number, 8 bytes each; number: who sent it */
    TABLE_CHANGES,     /* key as of definitions; value: node, 4 bytes; number: change */
    TABLES,
} MemTableKind;

/* What TABLE_NODES does not say of a node. */
typedef struct MemLease {
    uint64_t epoch;
    int64_t end_ms;
    uint32_t number;
    uint16_t fenced;
    uint16_t controls;
} MemLease;

typedef struct Memory {
    Store store;    /* must be first */
    StoreKind kind; /* ours, shared or not */
    int64_t now_ms; /* 0: of this machine */
    uint64_t letters;
    uint64_t changes;
    uint32_t defined; /* by this handle: cluster_trims */
    MemJob **jobs;
    size_t count;
    size_t capacity;
    SortedMap tables[TABLES];
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

/* memory/relations.c: rows beside jobs */
void memory_added(Memory *memory, const Job *job);
void memory_changed(Memory *memory, const Op *op, const Job *was, const Job *job);
void memory_removed(Memory *memory, const Job *job);
void memory_load_after(Memory *memory, const Load *load, Loaded *out);
void memory_load_unique(Memory *memory, const Load *load, Loaded *out);
Err memory_groups(Store *store, const GroupCount *one, GroupSink *sink, void *context,
                  Error *why);

/* memory/cluster.c */
bool memory_lease_of(const Memory *memory, uint32_t node, MemLease *out);
OpResult memory_mail(Memory *memory, const Op *op, uint32_t node);
OpResult memory_taken(Memory *memory, const Op *op, uint32_t node);
OpResult memory_fence(Memory *memory, const Op *op);
bool memory_home_free(const Memory *memory, const Op *op, uint32_t node,
                      const Entry *entry);
OpResult memory_take(Memory *memory, const Op *op, uint32_t node);
OpResult memory_join(Memory *memory, const Op *op, uint32_t node);
void memory_defined(Memory *memory, Slice key, uint32_t node);
void memory_load_inbox(const Memory *memory, const Load *load, Loaded *out);
Err memory_renew(Store *store, const Renewal *renewal, NodeRow *out, Error *why);
Err memory_nodes(Store *store, NodeSink *sink, void *context, Error *why);
Err memory_changes(Store *store, uint64_t after, ChangeSink *sink, void *context,
                   Error *why);

/* memory.c: a changed row in the place of the one at `at` */
void memory_replace(Memory *memory, size_t at, const Row *row);

/* memory/load.c */
Err memory_load(Store *store, const Load *load, Loaded *out, Error *why);
Err memory_query(Store *store, const JobQuery *query, const JobSink *sink,
                 QueryEnd *out_end, Error *why);

#endif
