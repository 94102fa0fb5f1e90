/* SPDX-License-Identifier: Apache-2.0 */
/* row_columns.h - a job's row in a table: fields that are sought or shown have columns of
 * their own, the rest (cold ones) is packed into one, `spec`. For stores that have
 * tables. */
#ifndef STORE_ROW_COLUMNS_H
#define STORE_ROW_COLUMNS_H

#include "store/row.h"

/* Where a job is: with those that can still change, or in one of the two families of the
 * archive. */
typedef enum Place { PLACE_LIVE, PLACE_DONE, PLACE_DEAD, PLACES, PLACE_NONE } Place;

Place place_of(JobState state);

/* What is counted of a lane: jobs by state, and bytes of their bodies and results. Those
 * have a row of their own, with a state that no job has. */
#define COUNT_BYTES JOB_STATES
#define COUNTS      (JOB_STATES + 1)
#define BYTES_STATE (-1)
static inline int count_state(unsigned count)
{
    return count == COUNT_BYTES ? BYTES_STATE : (int)count;
}

/* A row with what is only known at rest. */
typedef struct RowColumns {
    Row row;              /* row.job's cold fields are empty unless `opened` */
    Slice spec;           /* the cold fields, packed */
    bool opened;          /* they are in row.job; spec no longer counts */
    bool apart;           /* the payload is in its own table */
    bool damaged;         /* it is not as it was written: see sum.h */
    uint32_t lane;        /* as saved; 0: not yet */
    uint32_t type;        /* likewise */
    uint32_t payload_sum; /* of its payload, if that did not change; 0: unknown */
} RowColumns;

/* Unpacks the cold fields; the spec must live as long as the row. ERR_CORRUPT if they
 * are damaged. */
MUST_CHECK Err row_columns_unpack(RowColumns *saved);

/* The spec of the row as it is now; scratch holds it. */
Slice row_columns_spec(const RowColumns *saved, Buf *scratch);

/* Whether anything about runs is worth a column. */
bool row_columns_has_run(const Row *row);

#endif
