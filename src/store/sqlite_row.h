/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_row.h - a job's row in the file: columns that are sought or shown, and the rest
 * packed into one (spec). */
#ifndef STORE_SQLITE_ROW_H
#define STORE_SQLITE_ROW_H

#include "store/row.h"
#include "store/sqlite_catalog.h"

/* Where a job is; also the offset into the SQL_LIVE_..., SQL_DONE_..., SQL_DEAD_... */
typedef enum Place { PLACE_LIVE, PLACE_DONE, PLACE_DEAD, PLACES, PLACE_NONE } Place;

Place place_of(JobState state);

/* A row with what is only known in the file. */
typedef struct SavedRow {
    Row row;       /* row.job's cold fields are empty unless `opened` */
    Slice spec;    /* the cold fields, packed */
    bool opened;   /* they are in row.job; spec no longer counts */
    bool apart;    /* the payload is in its own table */
    uint32_t lane; /* as saved; 0: not yet */
} SavedRow;

/* The row under stmt (a SELECT of the columns of JobColumn), its bytes copied into the
 * arena. Without COL_PAYLOAD in the statement there is no payload. False for a row that
 * makes no sense, which is a failure of db. */
MUST_CHECK bool saved_read(SavedRow *out, sqlite3_stmt *stmt, const Catalog *catalog,
                           Db *db, Arena *arena);

/* Unpacks the cold fields; the spec must live as long as the row. A damaged spec is a
 * failure of db. */
void saved_open(SavedRow *saved, Db *db);

/* Binds what SQL_LIVE_CHANGE sets; returns the lane. */
uint32_t saved_bind(sqlite3_stmt *stmt, const SavedRow *saved, Catalog *catalog, Db *db);

/* Binds the other columns, for an INSERT. `scratch` holds the packed spec until the
 * step. */
void saved_bind_rest(sqlite3_stmt *stmt, const SavedRow *saved, Catalog *catalog, Db *db,
                     Buf *scratch);

#endif
