/* SPDX-License-Identifier: Apache-2.0 */
/* fault_test.c - the disk below SQLite fails: every write, truncation and sync in
 * turn, once; and the schema is changed under an old file.
 *
 * A failed commit must have changed nothing or be harmless to repeat: the same batches
 * again lead to the state of a run without faults (reliability 33, 48). */
#include "base/log.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite.h"
#include "testing/conformance.h"
#include "testing/testdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

/* --- A disk that fails at a chosen call ----------------------------------------------
 */

typedef struct FaultFile {
    sqlite3_file base; /* must be first */
    sqlite3_file *real;
} FaultFile;

static struct {
    int told; /* failures that a call of the store has told, or its reserve */
    sqlite3_vfs *real;
    sqlite3_vfs vfs;
    int calls;
    int fail_at; /* 0: never */
    int rc;
} disk;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((FaultFile *)(void *)file)->real;
}

static bool fails(void)
{
    return ++disk.calls == disk.fail_at;
}

static int file_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int file_read(sqlite3_file *file, void *out, int bytes, sqlite3_int64 at)
{
    return real_of(file)->pMethods->xRead(real_of(file), out, bytes, at);
}

static int file_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 at)
{
    if (fails()) {
        /* Half of it may have arrived. */
        real_of(file)->pMethods->xWrite(real_of(file), data, bytes / 2, at);
        return disk.rc;
    }
    return real_of(file)->pMethods->xWrite(real_of(file), data, bytes, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
    return fails() ? disk.rc : real_of(file)->pMethods->xTruncate(real_of(file), bytes);
}

static int file_sync(sqlite3_file *file, int flags)
{
    return fails() ? disk.rc : real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), out);
}

static int file_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_reserved(sqlite3_file *file, int *out)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, argument);
}

static int file_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_device(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int shm_map(sqlite3_file *file, int region, int bytes, int extend,
                   void volatile **out)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), region, bytes, extend, out);
}

static int shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shm_unmap(sqlite3_file *file, int remove)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out, int flags,
                     int *out_flags)
{
    (void)vfs;
    FaultFile *file = (FaultFile *)(void *)out;
    file->real = (sqlite3_file *)(void *)(file + 1);
    int rc = disk.real->xOpen(disk.real, name, file->real, flags, out_flags);
    file->base.pMethods = rc == SQLITE_OK ? &methods : NULL;
    return rc;
}

static int install_disk(void **state)
{
    (void)state;
    disk.real = sqlite3_vfs_find(NULL);
    disk.vfs = *disk.real;
    disk.vfs.zName = "fault";
    disk.vfs.szOsFile = (int)sizeof(FaultFile) + disk.real->szOsFile;
    disk.vfs.xOpen = disk_open;
    return sqlite3_vfs_register(&disk.vfs, 1);
}

static int remove_disk(void **state)
{
    (void)state;
    return sqlite3_vfs_unregister(&disk.vfs);
}

/* --- A history over it ----------------------------------------------------------------
 */

/* Every call is repeated once if it fails; what it says then must be a disk's words. */
static void must_once(Err err, const Error *why)
{
    if (!err)
        return;
    disk.told++;
    assert_true(err == ERR_FULL || err == ERR_IO);
    assert_non_null(strstr(why->text, "store: cannot"));
}

static void commit_twice(Scene *scene, const Batch *batch)
{
    Error why = { 0 };
    Err err = scene->store->kind->commit(scene->store, batch, 1, NULL, &why);
    must_once(err, &why);
    if (err)
        assert_int_equal(scene->store->kind->commit(scene->store, batch, 1, NULL, &why),
                         ERR_OK);
}

static void sync_twice(Scene *scene)
{
    Error why = { 0 };
    Err err = scene->store->kind->sync(scene->store, &why);
    must_once(err, &why);
    if (err)
        assert_int_equal(scene->store->kind->sync(scene->store, &why), ERR_OK);
}

static void live(Scene *scene)
{
    for (uint64_t round = 1; round <= 4; round++) {
        Batch batch = { .node = SCENE_NODE, .number = round };
        for (int i = 0; i < 20; i++) {
            Job *job = scene_job(scene, i % 2 ? "q" : "p");
            batch_op(&batch, OP_ADD, 0)->job = job;
            *batch_op(&batch, OP_CLAIM, 0) = scene_claim(scene, job->id, 1);
            if (i % 3 == 0)
                *batch_op(&batch, OP_FINISH, 0) =
                    scene_finish(scene, job->id, 1, JOB_DONE);
        }
        commit_twice(scene, &batch);
        batch_done(&batch);
        if (round == 2)
            sync_twice(scene);
    }
    sync_twice(scene);
}

/* Returns how many calls the disk saw. */
static int live_on(int fail_at, int rc, Buf *out_dump)
{
    TestDir dir;
    testdir_make(&dir);
    Scene scene = { .ids.node = SCENE_NODE };
    disk.fail_at = 0;
    scene.store = testdir_store(&dir, &(StoreOptions){ .durable = true });
    disk.calls = 0;
    disk.fail_at = fail_at;
    disk.rc = rc;
    live(&scene);
    if (reserve_is_spent(&sqlite_of(scene.store)->reserve))
        disk.told++; /* in the log, and made good */
    int calls = disk.calls;
    disk.fail_at = 0;
    store_close(scene.store);
    scene.store = testdir_store(&dir, &(StoreOptions){ 0 });
    store_dump(scene.store, out_dump);
    store_close(scene.store);
    scene_done(&scene);
    testdir_remove(&dir);
    return calls;
}

static void every_write_and_sync_may_fail(void **state)
{
    (void)state;
    Buf expected = { 0 };
    int calls = live_on(0, 0, &expected);
    assert_true(calls > 20);
    for (int at = 1; at <= calls; at++) {
        Buf dump = { 0 };
        live_on(at, at % 2 ? SQLITE_FULL : SQLITE_IOERR_WRITE, &dump);
        if (strcmp(buf_cstr(&dump), buf_cstr(&expected)) != 0)
            fail_msg("call %d of %d failing leaves another state", at, calls);
        buf_done(&dump);
    }
    assert_true(disk.told > calls / 2); /* others are made good by SQLite itself */
    buf_done(&expected);
}

/* --- Schemas
 * ----------------------------------------------------------------------------- */

static const SchemaStep steps[] = {
    { 1, "CREATE TABLE a(x); INSERT INTO a VALUES(1), (2)" },
    { 2, "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x * 10" },
    { 3, "CREATE TABLE b(x); INSERT INTO missing VALUES(1)" },
};

static sqlite3 *open_file(const TestDir *dir, const char *name)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(testdir_file(dir, name), &db), SQLITE_OK);
    return db;
}

static int64_t number_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t number = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return number;
}

static Err migrate(const TestDir *dir, size_t count, Error *why)
{
    char path[512];
    snprintf(path, sizeof path, "%s", testdir_file(dir, "x.db"));
    sqlite3 *db = open_file(dir, "x.db");
    Schema schema = { path, steps, count };
    Err err = schema_migrate(db, &schema, why);
    sqlite3_close(db);
    return err;
}

static void an_old_file_is_copied_and_brought_up(void **state)
{
    (void)state;
    TestDir dir;
    Error why = { 0 };
    testdir_make(&dir);
    assert_int_equal(migrate(&dir, 1, &why), ERR_OK);
    assert_int_not_equal(access(testdir_file(&dir, "x.db.v0.backup"), F_OK), 0);
    assert_int_equal(migrate(&dir, 2, &why), ERR_OK);
    assert_int_equal(migrate(&dir, 2, &why), ERR_OK); /* nothing left to do */
    sqlite3 *db = open_file(&dir, "x.db");
    assert_int_equal(number_of(db, "SELECT sum(y) FROM a"), 30);
    assert_int_equal(number_of(db, "PRAGMA user_version"), 2);
    sqlite3_close(db);
    db = open_file(&dir, "x.db.v1.backup");
    assert_int_equal(number_of(db, "SELECT sum(x) FROM a"), 3);
    assert_int_equal(number_of(db, "SELECT sum(y) FROM a"), -1);
    assert_int_equal(number_of(db, "PRAGMA user_version"), 1);
    sqlite3_close(db);
    assert_int_not_equal(access(testdir_file(&dir, "x.db.v1.backup.new"), F_OK), 0);
    testdir_remove(&dir);
}

static void a_step_that_fails_changes_nothing(void **state)
{
    (void)state;
    TestDir dir;
    Error why = { 0 };
    testdir_make(&dir);
    assert_int_equal(migrate(&dir, 1, &why), ERR_OK);
    assert_int_not_equal(migrate(&dir, 3, &why), ERR_OK);
    assert_non_null(strstr(why.text, "cannot change the schema"));
    sqlite3 *db = open_file(&dir, "x.db"); /* the step before it stands */
    assert_int_equal(number_of(db, "PRAGMA user_version"), 2);
    assert_int_equal(number_of(db, "SELECT count(*) FROM b"), -1);
    sqlite3_close(db);
    assert_int_equal(migrate(&dir, 2, &why), ERR_OK);
    testdir_remove(&dir);
}

static void a_newer_schema_is_refused(void **state)
{
    (void)state;
    TestDir dir;
    Error why = { 0 };
    testdir_make(&dir);
    assert_int_equal(migrate(&dir, 2, &why), ERR_OK);
    assert_int_equal(migrate(&dir, 1, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "has schema 2"));
    testdir_remove(&dir);
    testdir_make(&dir);
    store_close(testdir_store(&dir, &(StoreOptions){ 0 }));
    sqlite3 *db = open_file(&dir, "pawl.db");
    sqlite3_exec(db, "PRAGMA user_version = 999", NULL, NULL, NULL);
    sqlite3_close(db);
    char url[160];
    Store *store = NULL;
    snprintf(url, sizeof url, "sqlite:%s/pawl.db", dir.path);
    for (int reader = 0; reader < 2; reader++) {
        StoreOptions options = { .read_only = reader != 0 };
        assert_int_equal(store_open(url, &options, &store, &why), ERR_UNSUPPORTED);
        assert_non_null(strstr(why.text, "newer pawl"));
    }
    testdir_remove(&dir);
}

static void a_file_that_is_not_ours_is_refused(void **state)
{
    (void)state;
    TestDir dir;
    Error why = { 0 };
    testdir_make(&dir);
    sqlite3 *db = open_file(&dir, "x.db");
    sqlite3_exec(db, "CREATE TABLE theirs(x)", NULL, NULL, NULL);
    sqlite3_close(db);
    assert_int_equal(migrate(&dir, 1, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "not one of pawl"));
    db = open_file(&dir, "x.db");
    assert_int_equal(number_of(db, "SELECT count(*) FROM sqlite_master"), 1);
    sqlite3_close(db);
    FILE *file = fopen(testdir_file(&dir, "x.db"), "wb");
    fputs("this is no database, but it is long enough to look at it twice", file);
    fclose(file);
    assert_int_equal(migrate(&dir, 1, &why), ERR_CORRUPT);
    testdir_remove(&dir);
}

int main(void)
{
    log_level_set(LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_write_and_sync_may_fail, install_disk,
                                        remove_disk),
        cmocka_unit_test(an_old_file_is_copied_and_brought_up),
        cmocka_unit_test(a_step_that_fails_changes_nothing),
        cmocka_unit_test(a_newer_schema_is_refused),
        cmocka_unit_test(a_file_that_is_not_ours_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
