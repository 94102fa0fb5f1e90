/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - what a node of a shared store must know to accept jobs without it: a file
 * in its data directory.
 *
 * Who it is and on which store, definitions that decide whether and how a job is taken,
 * what tenants had, and how far store and ids were. Nothing that a node would act on by
 * itself (schedules, notices, owed jobs): of that a snapshot may be too old.
 *
 * The file is there whole or not at all, has a checksum, and knows itself by its inode
 * and when that was made: a copy of a data directory from earlier must not accept, for
 * its journal lacks what the store has read since. */
#ifndef CLUSTER_SNAPSHOT_H
#define CLUSTER_SNAPSHOT_H

#include "store/store.h"

#define SNAPSHOT_FILE "cutoff"

typedef struct SnapshotRow {
    Slice table;
    Definition definition;
} SnapshotRow;

typedef struct Snapshot {
    Arena arena; /* of what was taken or read; the words below may be borrowed */
    Slice sysid;
    uint32_t number;
    Slice store;       /* its url as people see it */
    uint64_t position; /* of the journal: what is before it is in the store */
    uint64_t ids;      /* as id.h counts: what is before `position` has smaller ones */
    SnapshotRow *rows;
    size_t count;
    size_t capacity;
    TenantUse *uses;
    size_t use_count;
    size_t use_capacity;
} Snapshot;

/* Whether it has the definitions of this table. */
bool snapshot_has(Slice table);

/* Definitions and uses as the store has them; the rest is the caller's. */
MUST_CHECK Err snapshot_take(Snapshot *snapshot, Store *store, Error *why);

MUST_CHECK Err snapshot_write(const Snapshot *snapshot, const char *data_dir, Error *why);

/* ERR_NOT_FOUND: there is none. ERR_CORRUPT: it is damaged. ERR_CONFLICT: a copy. */
MUST_CHECK Err snapshot_read(const char *data_dir, Snapshot *out, Error *why);

void snapshot_done(Snapshot *snapshot);

/* The use of a tenant, made if there is none; valid until the next is made. */
TenantUse *snapshot_use(Snapshot *snapshot, Slice tenant);

#endif
