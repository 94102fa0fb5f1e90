/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - the columns of a job's row, described once for every store that has tables.
 *
 * A row of job_live, job_done or job_dead is a RowValues: numbers and bytes by column. A
 * store turns names into numbers and back (RowNumbers, RowTexts), and moves values in and
 * out of its statements by the table job_columns. */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include "store/row_columns.h"

/* X(number, NAME, column, type, changes): statements count parameters from 1. `changes`
 * is 1 for a column that is written when a row stays where it is. The columns about runs
 * (attempt to result_bytes) stand together: they are all NULL if attempt is. */
#define JOB_FIRST_COLUMNS(X)                                                             \
    X(1, ID, id, INT8, 0)                                                                \
    X(2, STATE, state, INT2, 1)
#define JOB_COLUMN_LIST(X)                                                               \
    X(3, LANE, lane, INT4, 1)                                                            \
    X(4, RANK, rank, INT8, 1)                                                            \
    X(5, DT, dt, INT8, 1)                                                                \
    X(6, LOCK, lock, INT4, 1)                                                            \
    X(7, TYPE, type, INT4, 0)                                                            \
    X(8, FLAGS, flags, INT4, 1)                                                          \
    X(9, CREATED, created, INT8, 0)                                                      \
    X(10, RUN_AT, run_at, INT8, 1)                                                       \
    X(11, PARENT, parent, INT8, 0)                                                       \
    X(12, SERVICE, service, INT8, 0)                                                     \
    X(13, NAME, name, TEXT, 0)                                                           \
    X(14, ATTEMPT, attempt, INT4, 1)                                                     \
    X(15, RETRY, retry, INT4, 1)                                                         \
    X(16, RUN_STATE, run_state, INT2, 1)                                                 \
    X(17, RUN_RETRY, run_retry, INT4, 1)                                                 \
    X(18, SLOT, slot, INT4, 1)                                                           \
    X(19, NODE, node, INT4, 1)                                                           \
    X(20, STARTED, started, INT8, 1)                                                     \
    X(21, FINISHED, finished, INT8, 1)                                                   \
    X(22, BEAT, beat, INT8, 1)                                                           \
    X(23, CODE, code, INT2, 1)                                                           \
    X(24, EXITCODE, exitcode, INT4, 1)                                                   \
    X(25, EXIT_STATUS, exit_status, INT4, 1)                                             \
    X(26, SIGNAL, signal, INT4, 1)                                                       \
    X(27, PROGRESS, progress, INT4, 1)                                                   \
    X(28, RESULT_BYTES, result_bytes, INT8, 1)                                           \
    X(29, REASON, reason, TEXT, 1)                                                       \
    X(30, ERROR, error, TEXT, 1)                                                         \
    X(31, MESSAGE, message, TEXT, 1)                                                     \
    X(32, APART, apart, INT2, 0)                                                         \
    X(33, SPEC, spec, BYTES, 0)                                                          \
    X(34, SUM, sum, INT8, 1)

/* Lists leave it out, so it stands behind the others. */
#define JOB_PAYLOAD_COLUMN(X) X(35, PAYLOAD, payload, BYTES, 0)

/* Only a shared store has it; elsewhere the owner is among the packed fields. */
#define JOB_SHARED_COLUMN(X) X(36, OWNER, owner, INT4, 1)

#define COLUMN_ENUM(number, NAME, column, type, changes) COL_##NAME = (number)-1,
/* clang-format off */
typedef enum JobColumn {
    JOB_FIRST_COLUMNS(COLUMN_ENUM)
    JOB_COLUMN_LIST(COLUMN_ENUM)
    JOB_PAYLOAD_COLUMN(COLUMN_ENUM)
    JOB_SHARED_COLUMN(COLUMN_ENUM)
    JOB_COLUMNS
} JobColumn;
/* clang-format on */
#undef COLUMN_ENUM

typedef enum ColumnType {
    COLUMN_INT8,
    COLUMN_INT4,
    COLUMN_INT2,
    COLUMN_TEXT,
    COLUMN_BYTES,
} ColumnType;

typedef struct ColumnInfo {
    const char *name;
    ColumnType type;
    bool changes;
} ColumnInfo;

extern const ColumnInfo job_columns[JOB_COLUMNS];

static inline bool column_has_bytes(unsigned column)
{
    return job_columns[column].type >= COLUMN_TEXT;
}

#define COLUMN_COMMA(number, NAME, column, type, changes) ", " #column

/* "id, state, ..., sum": all but the payload. */
#define JOB_HOT_COLUMNS "id, state" JOB_COLUMN_LIST(COLUMN_COMMA)

/* The values of one row, as they go into columns. */
typedef struct RowValues {
    int64_t numbers[JOB_COLUMNS];
    Slice bytes[JOB_COLUMNS];
    bool given[JOB_COLUMNS]; /* else NULL */
    bool whole;              /* read with the payload */
    bool trusted;            /* its checksum need not be looked at again */
    uint64_t body_sum;       /* of the row that it was made of: see sum.h */
} RowValues;

/* What a row refers to by number, and the same as texts. */
typedef struct RowNumbers {
    uint32_t lane;
    uint32_t lock;
    uint32_t type;
    uint32_t node;
} RowNumbers;

typedef struct RowTexts {
    Slice tenant;
    Slice queue;
    Slice lock;
    Slice type;
    Slice node;
} RowTexts;

/* All values of a row. `spec` is what row_columns_spec has given. */
void columns_fill(RowValues *out, const RowColumns *saved, const RowNumbers *numbers,
                  Slice spec);

/* The values of a row that differs from the one `values` were made of only in its id and
 * payload. */
void columns_refill(RowValues *values, JobId id, Slice payload, bool apart);

/* Whether a program that trusts the row would not stumble: a file may be damaged. Lanes
 * and names are for the store to check. */
bool columns_make_sense(const RowValues *values);

/* The row of these values; bytes are borrowed. out->damaged if its checksum is another
 * one. A row without a checksum (an older program wrote it) is taken as it is. */
void columns_read(RowColumns *out, const RowValues *values, const RowTexts *texts);

/* Whether a large payload is the one that the row was written with. */
bool columns_payload_sound(const RowColumns *saved, Slice payload);

#endif
