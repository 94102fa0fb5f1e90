/* SPDX-License-Identifier: Apache-2.0 */
/* row.h - a job's row in PostgreSQL: its columns, to a copy, to arrays, and out
 * of an answer. */
#ifndef STORE_POSTGRES_ROW_H
#define STORE_POSTGRES_ROW_H

#include "store/columns.h"
#include "store/postgres/catalog.h"

/* Every column of columns.h in its order; in the second list there is no payload. */
extern const char pg_all_columns[];
extern const char pg_hot_columns[];
extern const char pg_columns_of_h[]; /* all of them, of a subquery called h */

/* Fills all values of a row; scratch holds the packed spec. Returns its lane. Names and
 * lanes that are new are added to the store. */
uint32_t pgrow_values(const RowColumns *saved, PgCatalog *catalog, Buf *scratch,
                      RowValues *out);

/* One row of a bulk copy. */
void pgrow_copy(Buf *out, const RowValues *values);

/* Many rows that change in place: one array for each column that can. */
typedef struct PgChanges {
    PgArray columns[JOB_COLUMNS]; /* of those that change; the id first */
    int32_t count;
} PgChanges;

void pgrow_change(PgChanges *changes, const RowValues *values);
/* Sends them, if there are any, and empties the arrays; false: some rows are not there.
 */
bool pgrow_changes_send(PgChanges *changes, PgLink *link, PgParams *params);
void pgrow_changes_done(PgChanges *changes);

/* The fields of one row as they travel: in an answer, or in a bulk copy. */
typedef struct PgFields {
    const char *data[JOB_COLUMNS];
    int32_t bytes[JOB_COLUMNS]; /* -1: NULL */
    bool whole;                 /* the payload was asked for */
    bool trusted;               /* out of our own memory */
} PgFields;

/* Of row `at` of an answer whose first columns are pg_all_columns or pg_hot_columns; of a
 * row that pgrow_copy has made; and into one. */
void pgrow_fields(PgFields *out, const PGresult *result, int at);
void pgrow_fields_of(PgFields *out, Slice row);
void pgrow_fields_copy(Buf *out, const PgFields *fields);

/* A row out of its fields. arena NULL: bytes stay where they are. False for a damaged
 * one, which is noted (see damage.h): then only out's id and `damaged` count. */
MUST_CHECK bool pgrow_take(RowColumns *out, const PgFields *fields, PgCatalog *catalog,
                           Arena *arena);

/* Likewise row `at` of an answer whose first columns are pg_all_columns or
 * pg_hot_columns; bytes are copied into the arena. */
MUST_CHECK bool pgrow_read(RowColumns *out, const PGresult *result, int at,
                           PgCatalog *catalog, Arena *arena);

/* For who asked for this row alone: ERR_CORRUPT. */
void pgrow_fail_damaged(PgLink *link, JobId id);

/* Unpacks the cold fields; damaged ones are a failure of the link. */
void pgrow_open(RowColumns *saved, PgLink *link);

#endif
