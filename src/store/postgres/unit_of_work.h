/* SPDX-License-Identifier: Apache-2.0 */
/* unit_of_work.h - jobs of the transaction under way: read together, changed in memory,
 * written together. */
#ifndef STORE_POSTGRES_UNIT_OF_WORK_H
#define STORE_POSTGRES_UNIT_OF_WORK_H

#include "store/postgres/postgres.h"

/* Something of an attempt that the row is about to forget, or that it booked. */
typedef struct PgKept {
    struct PgKept *next;
    Row row;        /* of an attempt */
    Slice bookings; /* with row.job.attempt */
} PgKept;

typedef enum PgBeside { BESIDE_SAME, BESIDE_PUT, BESIDE_GONE } PgBeside;

/* What indexes look at beside state and lane: a row whose neither changes is changed
 * where it is. */
typedef struct PgPlaced {
    int64_t rank;
    int64_t dt_ms;
    uint32_t owner;
    uint32_t flags;
} PgPlaced;

struct PgHeld {
    RowColumns saved;
    Place was; /* in the store; PLACE_NONE: not there yet */
    uint32_t was_lane;
    JobState was_state;
    PgPlaced was_placed;
    int64_t was_bytes; /* of what stands in its row or has its size there */
    bool changed;
    bool rewrite; /* name, spec or payload changed too */
    bool gone;
    bool rowless;     /* it went with its part: only what is beside its row is there */
    PgKept *attempts; /* newest first */
    PgKept *bookings;
    PgBeside result;
    Slice result_bytes;
    PgBeside payload; /* in its own table */
    Slice payload_bytes;
};

/* Rows that were known to be there are not: the commit is tried again without. */
#define PG_DOUBT "rows of jobs are not as they were known"

/* Reads all jobs of `ids` that are not held, in as few steps as there are places. From
 * then on they are known: to be there, or not. */
void pgheld_fetch(Postgres *pg, const PgArray *ids);

/* The same for the ids in the rows of an answer; NULL: none. Returns how many. */
int pgheld_fetch_rows(Postgres *pg, const PGresult *result);

/* Holds rows that were read from elsewhere, as if they were in `place`. */
void pgheld_take(Postgres *pg, const PGresult *result, Place place);

/* Whether it was fetched, found or not: only then it needs to be held when it is added.
 */
bool pgheld_asked(const Postgres *pg, JobId id);

/* The job, held or read now; NULL when there is none, or it is damaged. */
PgHeld *pgheld_find(Postgres *pg, JobId id);
bool pgheld_there(Postgres *pg, JobId id); /* damaged or not */

/* A job that is not in the store yet: to be changed in this transaction, or only to be
 * written. */
PgHeld *pgheld_add(Postgres *pg, const Job *job);
void pgheld_write(Postgres *pg, const Job *job);

/* Many that differ in id and payload only: values of the first, then each. */
typedef struct PgPattern {
    RowValues values;
    Place place;
    uint32_t lane;
    JobState state;
} PgPattern;
PgPattern pgheld_pattern(Postgres *pg, const Job *job);
void pgheld_line(Postgres *pg, PgPattern *pattern, JobId id, Slice payload);

void pgheld_remove(Postgres *pg, PgHeld *held);

/* A payload where it belongs: in the row, or in its own table if it is large. */
void pgheld_payload(PgHeld *held, Slice payload);
void pgheld_keep_attempt(Postgres *pg, PgHeld *held);
void pgheld_book(Postgres *pg, PgHeld *held, const Op *op);
void pgheld_result(PgHeld *held, Slice result);

/* Sends everything and forgets it. */
void pgheld_flush(Postgres *pg);
void pgheld_forget(Postgres *pg); /* without sending */
void pgheld_done(Postgres *pg);   /* for good */

#endif
