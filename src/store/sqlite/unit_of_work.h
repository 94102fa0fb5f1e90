/* SPDX-License-Identifier: Apache-2.0 */
/* unit_of_work.h - jobs of the transaction under way: read once, changed in memory,
 * written once. */
#ifndef STORE_SQLITE_UNIT_OF_WORK_H
#define STORE_SQLITE_UNIT_OF_WORK_H

#include "store/sqlite/row.h"
#include "store/sqlite/sqlite.h"

struct Held {
    RowColumns saved;
    Place was; /* in the file; PLACE_NONE: not there yet */
    uint32_t was_lane;
    JobState was_state;
    int64_t was_bytes; /* of what stands in its row or has its size there */
    int64_t bytes;     /* by which payloads beside it have grown */
    bool changed;
    bool rewrite; /* name, spec or payload changed too */
};

/* The job, held or read now; NULL when there is none, or it is damaged. */
Held *held_find(Sqlite *sqlite, JobId id);
bool held_there(Sqlite *sqlite, JobId id); /* damaged or not */

/* A job that is not in the file yet. */
Held *held_add(Sqlite *sqlite, const Job *job);

/* Out of the file at once, with all that hangs on it. */
void held_remove(Sqlite *sqlite, Held *held);

/* A payload where it belongs: in the row, or in its own table if it is large. */
void held_payload(Sqlite *sqlite, Held *held, Slice payload);

/* Writes everything and forgets it. */
void held_flush(Sqlite *sqlite);
void held_done(Sqlite *sqlite); /* forgets without writing, for good */

#endif
