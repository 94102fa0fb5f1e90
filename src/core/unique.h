/* SPDX-License-Identifier: Apache-2.0 */
/* unique.h - keys that one job at a time may hold.
 *
 * A job holds its `unique` key until it is final, or (`for`) that long from its
 * acceptance. A job of a highlander handler (JOB_MERGES) holds a key of its type while it
 * waits. Jobs that came with an idempotency key to a store that nodes share hold that
 * key together for a day. Stores keep who holds what; the node decides what becomes of
 * the next one.
 *
 * A job that is added gets a key only if no one holds it: the first that is committed.
 * One that replaces another may take it from a job that is over. So of several nodes that
 * accept the same key in the same moment one is the first, and the others find out. */
#ifndef CORE_UNIQUE_H
#define CORE_UNIQUE_H

#include "core/job.h"

#define UNIQUE_KEY_MAX 255
#define MERGED_INTO    "merged into job " /* a reason: then the id */

/* Jobs of the node's own making that want a key: written with what causes them, gone with
 * the batch that adds them. Key: the job's id; value: the job, packed. */
#define OWED_TABLE "add_owed"

typedef enum OnConflict {
    CONFLICT_REJECT,  /* refuse the new job */
    CONFLICT_IGNORE,  /* answer with the one that is there */
    CONFLICT_REPLACE, /* cancel the one that waits, add the new one */
} OnConflict;

typedef struct Unique {
    Slice key;
    int64_t for_ms; /* 0: until the job is final */
    OnConflict on_conflict;
} Unique;

const char *conflict_name(OnConflict on_conflict);
MUST_CHECK Err conflict_parse(Slice text, OnConflict *out);

/* Reads and writes job->unique. False: there is none. */
bool unique_read(Slice unique, Unique *out);
void unique_write(Buf *out, const Unique *unique);

typedef enum UniqueKind {
    UNIQUE_OWN,     /* of `unique`; goes when the job is final, unless it has a time */
    UNIQUE_MERGE,   /* of JOB_MERGES; goes when the job is claimed or final */
    UNIQUE_REQUEST, /* of `request`; has a time */
} UniqueKind;
#define UNIQUE_KINDS 3

/* The key of that kind as stores keep it. False: the job has none. */
bool unique_key(const Job *job, UniqueKind kind, Buf *out);

/* The job that a cancelled one was merged into; 0: it was not. */
JobId unique_merged_into(const Job *job);

/* Until when the job holds its key of that kind, whatever becomes of it; 0: no such
 * time. */
int64_t unique_until(const Job *job, UniqueKind kind);

/* Whether it may take its key of that kind from a job that is final. */
bool unique_replaces(const Job *job, UniqueKind kind);

#endif
