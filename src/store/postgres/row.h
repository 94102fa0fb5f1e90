/* SPDX-License-Identifier: Apache-2.0 */
/* row.h - a job's row in PostgreSQL: its columns, to a copy, to arrays, and out
 * of an answer. */
#ifndef STORE_POSTGRES_ROW_H
#define STORE_POSTGRES_ROW_H

#include "store/postgres/catalog.h"
#include "store/row_columns.h"

/* Columns of pawl.job_live, job_done and job_dead, in the order of the schema. */
typedef enum PgColumn {
    PG_ID,
    PG_RANK,
    PG_DT,
    PG_CREATED,
    PG_RUN_AT,
    PG_PARENT,
    PG_SERVICE,
    PG_STARTED,
    PG_FINISHED,
    PG_BEAT,
    PG_RESULT_BYTES,
    PG_OWNER,
    PG_LANE,
    PG_LOCK,
    PG_JOB_TYPE,
    PG_FLAGS,
    PG_ATTEMPT,
    PG_RETRY,
    PG_RUN_RETRY,
    PG_SLOT,
    PG_NODE,
    PG_EXITCODE,
    PG_EXIT_STATUS,
    PG_SIGNAL,
    PG_PROGRESS,
    PG_STATE,
    PG_RUN_STATE,
    PG_CODE,
    PG_APART,
    PG_NAME,
    PG_REASON,
    PG_ERROR,
    PG_MESSAGE,
    PG_SPEC,
    PG_PAYLOAD,
    PG_COLUMNS,
} PgColumn;

/* "id, rank, ..., payload", and without the payload. */
extern const char pg_all_columns[];
extern const char pg_hot_columns[];

/* The values of one row, as they go into columns. */
typedef struct PgValues {
    int64_t numbers[PG_COLUMNS];
    Slice bytes[PG_COLUMNS];
    bool given[PG_COLUMNS]; /* else NULL */
} PgValues;

/* Fills all values of a row; scratch holds the packed spec. Returns its lane. Names and
 * lanes that are new are added to the store. */
uint32_t pgrow_values(const RowColumns *saved, PgCatalog *catalog, Buf *scratch,
                      PgValues *out);

/* One row of a bulk copy. */
void pgrow_copy(Buf *out, const PgValues *values);

/* Many rows that change in place: one array for each column that can. */
typedef struct PgChanges {
    PgArray columns[PG_COLUMNS]; /* of those that change; the id first */
    int32_t count;
} PgChanges;

void pgrow_change(PgChanges *changes, const PgValues *values);
/* Sends them, if there are any, and empties the arrays; false: some rows are not there.
 */
bool pgrow_changes_send(PgChanges *changes, PgLink *link, PgParams *params);
void pgrow_changes_done(PgChanges *changes);

/* The fields of one row as they travel: in an answer, or in a bulk copy. */
typedef struct PgFields {
    const char *data[PG_COLUMNS];
    int32_t bytes[PG_COLUMNS]; /* -1: NULL */
} PgFields;

/* Of row `at` of an answer whose first columns are pg_all_columns or pg_hot_columns; of a
 * row that pgrow_copy has made; and into one. */
void pgrow_fields(PgFields *out, const PGresult *result, int at);
void pgrow_fields_of(PgFields *out, Slice row);
void pgrow_fields_copy(Buf *out, const PgFields *fields);

/* A row out of its fields. arena NULL: bytes stay where they are. False, with a failure
 * of the link, if it makes no sense. */
MUST_CHECK bool pgrow_take(RowColumns *out, const PgFields *fields, PgCatalog *catalog,
                           Arena *arena);

/* Row `at` of an answer whose first columns are pg_all_columns or pg_hot_columns; bytes
 * are copied into the arena. False, with a failure of the link, if it makes no sense. */
MUST_CHECK bool pgrow_read(RowColumns *out, const PGresult *result, int at,
                           PgCatalog *catalog, Arena *arena);

/* Unpacks the cold fields; damaged ones are a failure of the link. */
void pgrow_open(RowColumns *saved, PgLink *link);

#endif
