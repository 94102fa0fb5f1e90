/* SPDX-License-Identifier: Apache-2.0 */
/* row.h - a job's row in the file: columns that are sought or shown, and the rest
 * packed into one (spec). */
#ifndef STORE_SQLITE_ROW_H
#define STORE_SQLITE_ROW_H

#include "store/row_columns.h"
#include "store/sqlite/catalog.h"

/* Whether it is a row that the program would not stumble over: a file may be damaged. */
bool row_columns_sound(sqlite3_stmt *stmt, const Catalog *catalog);

/* The row under stmt (a SELECT of the columns of JobColumn), its bytes copied into the
 * arena. Without COL_PAYLOAD in the statement there is no payload. False for a row that
 * makes no sense, which is a failure of db. */
MUST_CHECK bool row_columns_read(RowColumns *out, sqlite3_stmt *stmt,
                                 const Catalog *catalog, Db *db, Arena *arena);

/* Unpacks the cold fields; the spec must live as long as the row. A damaged spec is a
 * failure of db. */
void row_columns_open(RowColumns *saved, Db *db);

/* Binds what SQL_LIVE_CHANGE sets; returns the lane. */
uint32_t row_columns_bind(sqlite3_stmt *stmt, const RowColumns *saved, Catalog *catalog,
                          Db *db);

/* Binds the other columns, for an INSERT. `scratch` holds the packed spec until the
 * step. */
void row_columns_bind_rest(sqlite3_stmt *stmt, const RowColumns *saved, Catalog *catalog,
                           Db *db, Buf *scratch);

#endif
