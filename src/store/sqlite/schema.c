/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - see schema.h. */
#include "store/sqlite/schema.h"

#include "base/buf.h"
#include "base/log.h"
#include "store/sqlite/db.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static Err failed(sqlite3 *db, const Schema *schema, const char *doing, Error *why)
{
    return error_set(why, db_err(sqlite3_extended_errcode(db)), "store: cannot %s %s: %s",
                     doing, schema->path, sqlite3_errmsg(db));
}

static Err pragma_number(sqlite3 *db, const char *sql, int64_t *out)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW ? ERR_OK : db_err(rc);
}

static Err file_version(sqlite3 *db, const Schema *schema, int *out_version, Error *why)
{
    int64_t application = 0;
    int64_t version = 0;
    int64_t tables = 0;
    if (pragma_number(db, "PRAGMA application_id", &application) ||
        pragma_number(db, "PRAGMA user_version", &version) ||
        pragma_number(db, "SELECT count(*) FROM sqlite_master", &tables))
        return failed(db, schema, "read", why);
    if (application != SCHEMA_APPLICATION && (application || version || tables))
        return error_set(why, ERR_UNSUPPORTED,
                         "store: %s is a database, but not one of pawl", schema->path);
    int newest = schema->steps[schema->count - 1].version;
    if (version > newest)
        return error_set(why, ERR_UNSUPPORTED,
                         "store: %s has schema %d, this version of pawl knows up to %d; "
                         "use a newer pawl, or an older copy of the file",
                         schema->path, (int)version, newest);
    *out_version = (int)version;
    return ERR_OK;
}

static Err sync_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ERR_IO;
    int rc = fdatasync(fd);
    close(fd);
    return rc ? ERR_IO : ERR_OK;
}

/* Whether the copy opens, is whole and of the same version. */
static Err verify_copy(const char *copy, int version)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t copied = -1;
    Err err = ERR_CORRUPT;
    if (sqlite3_open_v2(copy, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        !pragma_number(db, "PRAGMA user_version", &copied) && copied == version &&
        sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW &&
        sqlite3_stricmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0)
        err = ERR_OK;
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return err;
}

static Err copy_into(sqlite3 *db, const char *copy)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, copy, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? ERR_OK : db_err(rc);
}

static Err backup(sqlite3 *db, const Schema *schema, int version, Error *why)
{
    Buf name = { 0 };
    buf_printf(&name, "%s.v%d.backup", schema->path, version);
    Buf fresh = { 0 };
    buf_printf(&fresh, "%s.new", buf_cstr(&name));
    const char *copy = buf_cstr(&fresh);
    unlink(copy); /* of an attempt that was cut short */
    Err err = copy_into(db, copy);
    if (err)
        err = failed(db, schema, "copy before a change of schema", why);
    if (!err && (verify_copy(copy, version) || sync_file(copy)))
        err = error_set(why, ERR_CORRUPT,
                        "store: the copy of %s before a change of schema is not whole",
                        schema->path);
    if (!err && rename(copy, buf_cstr(&name)))
        err = error_errno(why, "store: cannot name the copy %s", buf_cstr(&name));
    if (!err)
        log_event(LOG_INFO, "store.backup", "file=%s schema=%d", buf_cstr(&name),
                  version);
    buf_done(&name);
    buf_done(&fresh);
    return err;
}

static Err take_step(sqlite3 *db, const Schema *schema, const SchemaStep *step,
                     Error *why)
{
    char version[96];
    snprintf(version, sizeof version,
             "PRAGMA user_version = %d; PRAGMA application_id = %d; COMMIT",
             step->version, SCHEMA_APPLICATION);
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_exec(db, step->sql, NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_exec(db, version, NULL, NULL, NULL) == SQLITE_OK)
        return ERR_OK;
    Err err = failed(db, schema, "change the schema of", why);
    if (!sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return err;
}

Err schema_migrate(sqlite3 *db, const Schema *schema, Error *why)
{
    int version;
    Err err = file_version(db, schema, &version, why);
    int newest = schema->steps[schema->count - 1].version;
    if (!err && version && version < newest)
        err = backup(db, schema, version, why);
    for (size_t i = 0; i < schema->count && !err; i++)
        if (schema->steps[i].version > version)
            err = take_step(db, schema, &schema->steps[i], why);
    return err;
}

Err schema_check(sqlite3 *db, const Schema *schema, Error *why)
{
    int version;
    Err err = file_version(db, schema, &version, why);
    if (!err && version != schema->steps[schema->count - 1].version)
        err = error_set(why, ERR_UNSUPPORTED,
                        "store: %s has schema %d; the daemon must open it first",
                        schema->path, version);
    return err;
}
