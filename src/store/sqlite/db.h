/* SPDX-License-Identifier: Apache-2.0 */
/* db.h - one connection to the file: opening, owning, statements, errors.
 *
 * The first failure sticks (db->rc): from then on db_row and db_run do nothing, until
 * db_end or db_rollback. So a transaction is written down without looking back at every
 * step, and judged once at its end. */
#ifndef STORE_SQLITE_DB_H
#define STORE_SQLITE_DB_H

#include "base/slice.h"
#include "store/sqlite/sql.h"
#include "store/store.h"

#include <sqlite3.h>
#include <sys/types.h>

#define DB_PAGE_BYTES 4096

typedef struct Db {
    sqlite3 *handle;
    char *path;
    int lock_fd;  /* -1: not the owner */
    int wal_fd;   /* -1: not open yet */
    dev_t device; /* of the file that was opened, */
    ino_t inode;
    int rc; /* the first failure since db_begin; SQLITE_OK: none */
    int wal_frames;
    int wal_frames_max;   /* then the log is moved into the file; tests make it small */
    bool checkpoint_full; /* the last one found the disk full */
    uint32_t defined;     /* changes of definitions: cluster_trims */
    char failure[256];    /* SQLite's words about it */
    sqlite3_stmt *statements[SQL_STATEMENTS];
} Db;

/* Our word for one of SQLite's result codes. */
Err db_err(int rc);

/* Opens, takes the ownership (unless read_only), sets and checks the pragmas, brings the
 * schema up to date. */
MUST_CHECK Err db_open(Db *db, const char *path, const StoreOptions *options, Error *why);
void db_close(Db *db);

/* A transaction: to write, or (read_only) to see one moment. */
void db_begin(Db *db, bool write);
MUST_CHECK Err db_end(Db *db, const char *doing, Error *why); /* rolls back on failure */
void db_fail(Db *db, int rc, const char *text);
void db_fail_damaged(Db *db, JobId id); /* the row of a job: ERR_CORRUPT */

/* Ready to be bound: reset, nothing bound. */
sqlite3_stmt *db_statement(Db *db, Sql sql);

bool db_row(Db *db, sqlite3_stmt *stmt); /* false at the end, and after a failure */
void db_run(Db *db, sqlite3_stmt *stmt); /* to its end, then reset */

/* Everything committed is on stable storage and, as far as readers let it, in the
 * file itself. */
MUST_CHECK Err db_sync(Db *db, Error *why);

/* Whether the path still leads to the file that was opened. Any thread. */
bool db_there(const Db *db);

/* Moves the log into the file when it has grown past its bound; past a small one where
 * the disk is low on room. */
void db_bound_log(Db *db, bool low);

/* Binding: what is 0 or empty is left out (NULL). Bytes must live until the step. */
void db_bind_int(sqlite3_stmt *stmt, int place, int64_t value);
void db_bind_text(sqlite3_stmt *stmt, int place, Slice text);
void db_bind_blob(sqlite3_stmt *stmt, int place, Slice bytes);
void db_bind_key(sqlite3_stmt *stmt, int place, Slice text); /* as text, also if empty */

/* A column's bytes; valid until the next step. */
Slice db_column(sqlite3_stmt *stmt, int column);

#endif
