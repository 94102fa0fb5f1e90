/* SPDX-License-Identifier: Apache-2.0 */
/* db.c - see db.h.
 *
 * What must hold:
 *   D1  one process and one connection writes and checkpoints: who has the lock file
 *       (FILE.lock, flock) owns the file. SQLite before 3.51.3 can lose pages when two
 *       connections reset the write-ahead log at once.
 *   D2  synchronous is what was asked for, read back and compared.
 *   D3  after db_sync everything committed before it survives a power cut. */
#include "store/sqlite/db.h"

#include "base/buf.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/text.h"
#include "store/damage.h"
#include "store/sqlite/schema.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS          5000
#define CACHE_KIB_WRITER 4096
#define CACHE_KIB_READER 2048
#define WAL_FRAMES_MAX   16384 /* 64 MiB */
#define WAL_FRAMES_LOW   256   /* 1 MiB */
#define WAL_BYTES_KEPT   ((int64_t)64 << 20)
#define WAL_SAFE_VERSION 3051003 /* see D1 */
#define SYNC_FULL        2
#define SYNC_NORMAL      1

Err db_err(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return ERR_OK;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ERR_BUSY;
    case SQLITE_FULL:
        return ERR_FULL;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ERR_CORRUPT;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return ERR_DENIED;
    case SQLITE_TOOBIG:
        return ERR_LIMIT;
    default:
        return ERR_IO;
    }
}

/* --- Failures and statements ---------------------------------------------------- */

void db_fail(Db *db, int rc, const char *text)
{
    if (db->rc != SQLITE_OK)
        return;
    db->rc = rc;
    snprintf(db->failure, sizeof db->failure, "%s", text);
}

void db_fail_damaged(Db *db, JobId id)
{
    char text[ID_TEXT_BYTES];
    char failure[sizeof db->failure];
    snprintf(failure, sizeof failure, DAMAGE_TEXT, id_text(id, text));
    db_fail(db, SQLITE_CORRUPT, failure);
}

static void failed(Db *db, int rc)
{
    db_fail(db, rc, sqlite3_errmsg(db->handle));
}

sqlite3_stmt *db_statement(Db *db, Sql sql)
{
    sqlite3_stmt *stmt = db->statements[sql];
    if (stmt) {
        sqlite3_reset(stmt);
        sqlite3_clear_bindings(stmt);
        return stmt;
    }
    int rc = sqlite3_prepare_v3(db->handle, sql_text(sql), -1, SQLITE_PREPARE_PERSISTENT,
                                &stmt, NULL);
    if (rc != SQLITE_OK)
        failed(db, rc);
    db->statements[sql] = stmt;
    return stmt;
}

bool db_row(Db *db, sqlite3_stmt *stmt)
{
    if (db->rc != SQLITE_OK)
        return false;
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        return true;
    if (rc != SQLITE_DONE)
        failed(db, rc);
    sqlite3_reset(stmt);
    return false;
}

void db_run(Db *db, sqlite3_stmt *stmt)
{
    while (db_row(db, stmt))
        continue;
}

void db_bind_int(sqlite3_stmt *stmt, int place, int64_t value)
{
    if (value)
        sqlite3_bind_int64(stmt, place, value);
}

void db_bind_text(sqlite3_stmt *stmt, int place, Slice text)
{
    if (text.bytes)
        sqlite3_bind_text64(stmt, place, text.data, text.bytes, SQLITE_STATIC,
                            SQLITE_UTF8);
}

void db_bind_blob(sqlite3_stmt *stmt, int place, Slice bytes)
{
    if (bytes.bytes)
        sqlite3_bind_blob64(stmt, place, bytes.data, bytes.bytes, SQLITE_STATIC);
}

void db_bind_key(sqlite3_stmt *stmt, int place, Slice text)
{
    sqlite3_bind_text64(stmt, place, text.bytes ? text.data : "", text.bytes,
                        SQLITE_STATIC, SQLITE_UTF8);
}

Slice db_column(sqlite3_stmt *stmt, int column)
{
    int bytes = sqlite3_column_bytes(stmt, column); /* mostly 0: then that was all */
    return slice_of(bytes ? sqlite3_column_blob(stmt, column) : NULL, (size_t)bytes);
}

/* --- Transactions ----------------------------------------------------------------- */

void db_begin(Db *db, bool write)
{
    db->rc = SQLITE_OK;
    db_run(db, db_statement(db, write ? SQL_BEGIN_WRITE : SQL_BEGIN_READ));
}

static void rollback(Db *db)
{
    for (size_t i = 0; i < SQL_STATEMENTS; i++)
        sqlite3_reset(db->statements[i]);
    if (!sqlite3_get_autocommit(db->handle))
        sqlite3_exec(db->handle, sql_text(SQL_ROLLBACK), NULL, NULL, NULL);
}

Err db_end(Db *db, const char *doing, Error *why)
{
    db_run(db, db_statement(db, SQL_COMMIT));
    if (db->rc == SQLITE_OK)
        return ERR_OK;
    rollback(db);
    return error_set(why, db_err(db->rc), "store: cannot %s in %s: %s (SQLite %d)", doing,
                     db->path, db->failure, db->rc);
}

/* --- The log ------------------------------------------------------------------------ */

static int wal_hook(void *context, sqlite3 *handle, const char *name, int frames)
{
    (void)handle;
    (void)name;
    ((Db *)context)->wal_frames = frames;
    return SQLITE_OK;
}

static int checkpoint(Db *db)
{
    int frames = 0;
    int moved = 0;
    int rc = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_PASSIVE,
                                       &frames, &moved);
    if (rc == SQLITE_OK && frames == moved)
        db->wal_frames = 0;
    return rc;
}

void db_bound_log(Db *db, bool low)
{
    if (db->wal_frames < (low ? WAL_FRAMES_LOW : db->wal_frames_max))
        return;
    checkpoint(db); /* what fails here is told by the next db_sync */
}

static Err sync_wal(Db *db, Error *why)
{
    if (db->wal_fd < 0) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s-wal", db->path);
        db->wal_fd = open(name, O_RDONLY | O_CLOEXEC);
        if (db->wal_fd < 0 && errno == ENOENT)
            return ERR_OK; /* nothing was ever written */
        if (db->wal_fd < 0)
            return error_errno(why, "store: cannot open %s", name);
    }
    if (fdatasync(db->wal_fd))
        return error_errno(why, "store: cannot sync the log of %s", db->path);
    return ERR_OK;
}

/* A reader may keep SQLite from moving the log into the file, and then it does not sync
 * it either: so the log is synced here first, and the rest is housekeeping. */
Err db_sync(Db *db, Error *why)
{
    Err err = sync_wal(db, why);
    if (err)
        return err;
    int rc = checkpoint(db);
    db->checkpoint_full = (rc & 0xff) == SQLITE_FULL; /* it is safe in the log */
    if (rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED ||
        db->checkpoint_full)
        return ERR_OK;
    return error_set(why, db_err(rc), "store: cannot move the log into %s: %s", db->path,
                     sqlite3_errmsg(db->handle));
}

bool db_there(const Db *db)
{
    struct stat status;
    return !stat(db->path, &status) && status.st_ino == db->inode &&
           status.st_dev == db->device;
}

/* --- Opening --------------------------------------------------------------------------
 */

static Err busy(int fd, const char *path, Error *why)
{
    char text[32] = { 0 };
    int64_t pid = 0;
    ssize_t bytes = pread(fd, text, sizeof text - 1, 0);
    Slice rest = slice_of(text, bytes > 0 ? (size_t)bytes : 0);
    if (int_parse(slice_cut(&rest, '\n'), &pid))
        pid = 0;
    return error_set(why, ERR_BUSY,
                     "store: %s is in use by another pawl (process %lld); only one may "
                     "own it",
                     path, (long long)pid);
}

/* The lock file stays when we leave: removing it would let two owners lock two files
 * of one name. */
static Err own(Db *db, Error *why)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s.lock", db->path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(why, "store: cannot open %s", name);
    if (!lock_soon(fd)) {
        Err err = errno == EWOULDBLOCK ? busy(fd, db->path, why)
                                       : error_errno(why, "store: cannot lock %s", name);
        close(fd);
        return err;
    }
    char text[32];
    int bytes = snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)bytes, 0) != bytes) {
        Err err = error_errno(why, "store: cannot write %s", name);
        close(fd);
        return err;
    }
    db->lock_fd = fd;
    return ERR_OK;
}

static Err pragma(Db *db, Error *why, const char *format, ...) PRINTF_LIKE(3, 4);

static Err pragma(Db *db, Error *why, const char *format, ...)
{
    char sql[128];
    va_list args;
    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        return ERR_OK;
    return error_set(why, db_err(rc), "store: cannot open %s: %s (%s)", db->path,
                     sqlite3_errmsg(db->handle), sql);
}

/* What a pragma says now, compared with what was asked for. */
static Err pragma_is(Db *db, const char *sql, const char *expected, Error *why)
{
    sqlite3_stmt *stmt = NULL;
    char value[32] = { 0 };
    if (sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        snprintf(value, sizeof value, "%s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    if (strcmp(value, expected) == 0)
        return ERR_OK;
    return error_set(why, ERR_UNSUPPORTED, "store: %s of %s is '%s' instead of '%s'", sql,
                     db->path, value, expected);
}

static Err set_pragmas(Db *db, const StoreOptions *options, Error *why)
{
    bool reader = options->read_only;
    int level = options->durable ? SYNC_FULL : SYNC_NORMAL;
    char expected[8];
    snprintf(expected, sizeof expected, "%d", level);
    Err err = pragma(db, why, "PRAGMA page_size = %d", DB_PAGE_BYTES);
    if (!err && !reader)
        err = pragma(db, why, "PRAGMA journal_mode = WAL");
    if (!err && !reader)
        err = pragma_is(db, "PRAGMA journal_mode", "wal", why);
    if (!err)
        err = pragma(db, why, "PRAGMA synchronous = %d", level);
    if (!err)
        err = pragma_is(db, "PRAGMA synchronous", expected, why);
    if (!err)
        err = pragma(db, why, "PRAGMA cache_size = -%d",
                     reader ? CACHE_KIB_READER : CACHE_KIB_WRITER);
    if (!err)
        err = pragma(db, why, "PRAGMA foreign_keys = off; PRAGMA mmap_size = 0");
    if (!err)
        err = pragma(db, why, "PRAGMA temp_store = memory; PRAGMA trusted_schema = off");
    if (!err)
        err = pragma(db, why, "PRAGMA journal_size_limit = %lld",
                     (long long)WAL_BYTES_KEPT);
    return err;
}

static Err attach(Db *db, const StoreOptions *options, Error *why)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    flags |= options->read_only ? SQLITE_OPEN_READONLY
                                : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int rc = sqlite3_open_v2(db->path, &db->handle, flags, NULL);
    if (rc != SQLITE_OK)
        return error_set(why, (rc & 0xff) == SQLITE_CANTOPEN ? ERR_NOT_FOUND : db_err(rc),
                         "store: cannot open %s: %s", db->path,
                         db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc));
    sqlite3_busy_timeout(db->handle, BUSY_MS);
    Err err = set_pragmas(db, options, why);
    struct stat status;
    if (!err && stat(db->path, &status))
        err = error_errno(why, "store: cannot look at %s", db->path);
    if (err)
        return err;
    db->device = status.st_dev;
    db->inode = status.st_ino;
    /* Also takes SQLite's own checkpoints away: see db_sync and db_bound_log. */
    sqlite3_wal_hook(db->handle, wal_hook, db);
    Schema schema = { db->path, schema_steps, schema_step_count };
    return options->read_only ? schema_check(db->handle, &schema, why)
                              : schema_migrate(db->handle, &schema, why);
}

/* SQLite counts the memory it uses under one lock: a third of the time of an add. Takes
 * effect only before its first use in the process. */
static void configure(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
}

Err db_open(Db *db, const char *path, const StoreOptions *options, Error *why)
{
    static pthread_once_t configured = PTHREAD_ONCE_INIT;
    pthread_once(&configured, configure);
    *db = (Db){ .lock_fd = -1, .wal_fd = -1, .wal_frames_max = WAL_FRAMES_MAX };
    db->path = mem_copy(path, strlen(path) + 1);
    if (sqlite3_libversion_number() < WAL_SAFE_VERSION)
        log_event(LOG_DEBUG, "store.version", "sqlite=%s", sqlite3_libversion());
    Err err = options->read_only ? ERR_OK : own(db, why);
    if (!err)
        err = attach(db, options, why);
    if (!err && !options->read_only)
        err = db_sync(db, why);
    if (err)
        db_close(db);
    return err;
}

void db_close(Db *db)
{
    for (size_t i = 0; i < SQL_STATEMENTS; i++)
        sqlite3_finalize(db->statements[i]);
    sqlite3_close(db->handle);
    if (db->wal_fd >= 0)
        close(db->wal_fd);
    if (db->lock_fd >= 0)
        close(db->lock_fd);
    mem_free(db->path);
    *db = (Db){ .lock_fd = -1, .wal_fd = -1 };
}
