/* SPDX-License-Identifier: Apache-2.0 */
/* row.h - a job's row in the file: columns that are sought or shown, and the rest
 * packed into one (spec). */
#ifndef STORE_SQLITE_ROW_H
#define STORE_SQLITE_ROW_H

#include "store/row_columns.h"
#include "store/sqlite/catalog.h"

/* The row under stmt (a SELECT of JOB_HOT_COLUMNS, with or without the payload behind
 * them), its bytes copied into the arena. False for a damaged one, which is noted (see
 * damage.h): then only out's id and `damaged` count. */
MUST_CHECK bool row_columns_read(RowColumns *out, sqlite3_stmt *stmt,
                                 const Catalog *catalog, Arena *arena);

/* Unpacks the cold fields; the spec must live as long as the row. A damaged spec is a
 * failure of db. */
void row_columns_open(RowColumns *saved, Db *db);

/* What is to be written; returns the lane. `scratch` holds the packed spec until the
 * step. */
uint32_t row_columns_values(RowValues *out, const RowColumns *saved, Catalog *catalog,
                            Db *db, Buf *scratch);

/* Binds all of it, for an INSERT; what SQL_LIVE_CHANGE sets; or, after row_columns_bind,
 * what columns_refill has changed. */
void row_columns_bind(sqlite3_stmt *stmt, const RowValues *values);
void row_columns_bind_changes(sqlite3_stmt *stmt, const RowValues *values);
void row_columns_bind_line(sqlite3_stmt *stmt, const RowValues *values);

#endif
