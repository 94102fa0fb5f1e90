/* SPDX-License-Identifier: Apache-2.0 */
/* unique.h - keys that one job at a time may hold.
 *
 * A job holds its `unique` key until it is final, or (`for`) that long from its
 * acceptance. A job of a highlander handler (JOB_MERGES) holds a key of its type while it
 * waits. Stores keep who holds what; the node decides what becomes of the next one. */
#ifndef CORE_UNIQUE_H
#define CORE_UNIQUE_H

#include "core/job.h"

#define UNIQUE_KEY_MAX 255

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
    UNIQUE_OWN,   /* of `unique`; goes when the job is final, unless it has a time */
    UNIQUE_MERGE, /* of JOB_MERGES; goes when the job is claimed or final */
} UniqueKind;
#define UNIQUE_KINDS 2

/* The key of that kind as stores keep it. False: the job has none. */
bool unique_key(const Job *job, UniqueKind kind, Buf *out);

#endif
