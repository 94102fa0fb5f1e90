/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_test.c - what only the embedded store has: a file, an owner, a schema, readers
 * beside it, and a kill -9 in the middle. */
#include "store/sqlite/sqlite.h"

#include "store/damage.h"
#include "store/sqlite/catalog.h"
#include "store/sqlite/commit.h"
#include "store/sqlite/db.h"
#include "store/sqlite/load.h"
#include "store/sqlite/query.h"
#include "store/sqlite/row.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/terms.h"
#include "store/sqlite/unit_of_work.h"
#include "store/store.h"
#include "testing/conformance.h"
#include "testing/testdir.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define KILLS          6
#define JOBS_PER_BATCH 20

static const StoreOptions plain = { 0 };

static Err try_open(const TestDir *dir, const StoreOptions *options, Error *why)
{
    char url[160];
    Store *store = NULL;
    snprintf(url, sizeof url, "sqlite:%s/pawl.db", dir->path);
    Err err = store_open(url, options, &store, why);
    if (!err)
        store_close(store);
    return err;
}

static int64_t ask_number(const TestDir *dir, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t number = -1;
    if (sqlite3_open_v2(testdir_file(dir, "pawl.db"), &db, SQLITE_OPEN_READWRITE, NULL) ==
            SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return number;
}

static void count_job(void *context, const Job *job)
{
    (void)job;
    ++*(unsigned *)context;
}

/* --- Owner and file ------------------------------------------------------------------
 */

/* reliability 34: one writer and checkpointer, enforced. */
static void a_second_owner_is_refused(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Store *store = testdir_store(&dir, &plain);
    Error why = { 0 };
    char pid[32];
    snprintf(pid, sizeof pid, "process %d", (int)getpid());
    assert_int_equal(try_open(&dir, &plain, &why), ERR_BUSY);
    assert_non_null(strstr(why.text, pid));
    StoreOptions reader = { .read_only = true };
    assert_int_equal(try_open(&dir, &reader, &why), ERR_OK);
    store_close(store);
    assert_int_equal(try_open(&dir, &plain, &why), ERR_OK);
    testdir_remove(&dir);
}

/* reliability 35: the pragma is read back. */
static void durable_means_synchronous_full(void **state)
{
    (void)state;
    for (int durable = 0; durable < 2; durable++) {
        TestDir dir;
        testdir_make(&dir);
        Store *store = testdir_store(&dir, &(StoreOptions){ .durable = durable != 0 });
        sqlite3_stmt *stmt = NULL;
        sqlite3 *handle = sqlite_of(store)->db.handle;
        sqlite3_prepare_v2(handle, "PRAGMA synchronous", -1, &stmt, NULL);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(stmt, 0), durable ? 2 : 1);
        sqlite3_finalize(stmt);
        store_close(store);
        testdir_remove(&dir);
    }
}

static void another_cluster_is_refused(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    store_close(testdir_store(&dir, &(StoreOptions){ .cluster = "c1" }));
    Error why = { 0 };
    assert_int_equal(try_open(&dir, &(StoreOptions){ .cluster = "c1" }, &why), ERR_OK);
    assert_int_equal(try_open(&dir, &plain, &why), ERR_OK);
    assert_int_equal(try_open(&dir, &(StoreOptions){ .cluster = "c2" }, &why),
                     ERR_CONFLICT);
    assert_non_null(strstr(why.text, "another cluster"));
    testdir_remove(&dir);
}

static void urls_that_no_one_knows_are_refused(void **state)
{
    (void)state;
    Store *store = NULL;
    Error why = { 0 };
    assert_int_equal(store_open("mysql://x", &plain, &store, &why), ERR_UNSUPPORTED);
    assert_int_equal(store_open("sqlite:", &plain, &store, &why), ERR_UNSUPPORTED);
    assert_int_equal(store_open("sqlite:/nonexistent/x.db", &plain, &store, &why),
                     ERR_NOT_FOUND);
    StoreOptions reader = { .read_only = true };
    assert_int_equal(store_open("memory:", &reader, &store, &why), ERR_UNSUPPORTED);
    TestDir dir;
    testdir_make(&dir);
    assert_int_equal(try_open(&dir, &reader, &why), ERR_NOT_FOUND);
    testdir_remove(&dir);
}

/* I8: order and counters too, for the dump has windows and counts. */
static void everything_is_there_after_reopening(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Buf before = { 0 };
    Buf after = { 0 };
    Scene scene = { .store = testdir_store(&dir, &plain), .ids.node = SCENE_NODE };
    for (unsigned i = 0; i < JOB_STATES; i++)
        scene_add_in(&scene, (JobState)i);
    store_dump(scene.store, &before);
    store_close(scene.store);
    scene.store = testdir_store(&dir, &plain);
    store_dump(scene.store, &after);
    assert_string_equal(buf_cstr(&before), buf_cstr(&after));
    buf_clear(&after);
    StoreOptions reader = { .read_only = true };
    Store *second = testdir_store(&dir, &reader);
    store_dump(second, &after);
    assert_string_equal(buf_cstr(&before), buf_cstr(&after));
    store_close(second);
    store_close(scene.store);
    scene_done(&scene);
    buf_done(&before);
    buf_done(&after);
    testdir_remove(&dir);
}

/* The answer to a commit was lost with the process that asked. */
static void an_answer_is_given_again_after_reopening(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Scene scene = { .store = testdir_store(&dir, &plain), .ids.node = SCENE_NODE };
    JobId id = scene_add_running(&scene);
    Batch batch = { .node = SCENE_NODE, .number = ++scene.number };
    *batch_op(&batch, OP_CLAIM, 0) = scene_claim(&scene, id, 2);
    *batch_op(&batch, OP_FINISH, 0) = scene_finish(&scene, id, 1, JOB_DONE);
    for (int i = 0; i < 2; i++) {
        OpResult results[2];
        scene_commit(&scene, &batch, 1, results);
        assert_int_equal(results[0], OP_LOST);
        assert_int_equal(results[1], OP_APPLIED);
        store_close(scene.store);
        scene.store = testdir_store(&dir, &plain);
    }
    batch_done(&batch);
    store_close(scene.store);
    scene_done(&scene);
    testdir_remove(&dir);
}

/* After sync the file alone, without its log, has everything. */
static void sync_moves_everything_into_the_file(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Scene scene = { .store = testdir_store(&dir, &plain), .ids.node = SCENE_NODE };
    for (int i = 0; i < 10; i++)
        scene_add_ready(&scene, "q");
    Error why = { 0 };
    assert_int_equal(scene.store->kind->sync(scene.store, &why), ERR_OK);
    char name[600];
    snprintf(name, sizeof name, "file:%s?immutable=1", testdir_file(&dir, "pawl.db"));
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    assert_int_equal(sqlite3_open_v2(name, &db, flags, NULL), SQLITE_OK);
    sqlite3_prepare_v2(db, "SELECT count(*) FROM job_live", -1, &stmt, NULL);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(stmt, 0), 10);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    store_close(scene.store);
    scene_done(&scene);
    testdir_remove(&dir);
}

/* S2.28 and every hot step: statements name their index, and fail here without it. */
static void every_statement_can_be_prepared(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Store *store = testdir_store(&dir, &plain);
    Db *db = &sqlite_of(store)->db;
    for (unsigned i = 0; i < SQL_STATEMENTS; i++) {
        assert_non_null(sql_text((Sql)i));
        if (!db_statement(db, (Sql)i))
            fail_msg("%s: %s", sql_text((Sql)i), db->failure);
    }
    store_close(store);
    testdir_remove(&dir);
}

/* The log is bounded also when no one calls sync. */
static void the_log_does_not_grow_without_end(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Scene scene = { .store = testdir_store(&dir, &plain), .ids.node = SCENE_NODE };
    sqlite_of(scene.store)->db.wal_frames_max = 50;
    for (int i = 0; i < 200; i++)
        scene_add_ready(&scene, "q");
    struct stat log;
    assert_int_equal(stat(testdir_file(&dir, "pawl.db-wal"), &log), 0);
    assert_true(log.st_size < 100 * 4200);
    store_close(scene.store);
    scene_done(&scene);
    testdir_remove(&dir);
}

/* --- Damage ------------------------------------------------------------------------ */

static void run_sql(Store *store, const char *sql)
{
    sqlite3 *handle = sqlite_of(store)->db.handle;
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* As a flipped bit does: SQLite would not notice any of these. The first job of the queue
 * is meant. */
static const char *const damages[] = {
    "UPDATE job_live SET lane = 77 WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET lane = NULL WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET lane = 2 WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET state = 200 WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET spec = x'ffff' WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET payload = x'41' WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET payload = NULL WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET name = 'Other' WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET dt = dt + 1 WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET rank = rank - 1 WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET flags = 1 WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET type = 1 WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET run_at = 5 WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET created = 5 WHERE id = (SELECT min(id) FROM job_live)",
    "UPDATE job_live SET attempt = 1 WHERE id = (SELECT min(id) FROM job_live)",
    ("UPDATE job_live SET sum = sum + 4294967296"
     " WHERE id = (SELECT min(id) FROM job_live)"),
};

static void expect_left_out(Scene *scene, JobId id, JobId sound)
{
    Loaded loaded = { 0 };
    Error why = { 0 };
    char text[ID_TEXT_BYTES];
    Load load = { .kind = LOAD_JOB, .id = id };
    assert_int_equal(scene->store->kind->load(scene->store, &load, &loaded, &why),
                     ERR_CORRUPT);
    assert_non_null(strstr(why.text, "damaged"));
    assert_non_null(strstr(why.text, id_text(id, text)));
    scene_expect_window(scene, "q", &sound, 1);
    loaded = scene_load(scene, &(Load){ .kind = LOAD_LANES });
    assert_int_equal(loaded.count, 1);
    assert_int_equal(loaded.jobs[0].id, sound);
    loaded_done(&loaded);
    assert_string_equal(scene_query(scene, "", 10), scene_ids(scene, &sound, 1));
    Op claim = scene_claim(scene, id, 1);
    assert_int_equal(scene_do(scene, &claim), OP_MISSING);
}

/* reliability 23: a damaged row is told and left out, never acted upon; the jobs behind
 * it are given out as before. */
static void damaged_rows_are_left_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        TestDir dir;
        testdir_make(&dir);
        Scene scene = { .store = testdir_store(&dir, &plain), .ids.node = SCENE_NODE };
        int64_t came_ms = SCENE_WALL + (int64_t)i * 10; /* each is told once */
        Job *job = scene_job_of(&scene, "q", came_ms);
        job->payload = SLICE_LITERAL("what it is to do");
        job->name = SLICE_LITERAL("other");
        JobId id = scene_add(&scene, job);
        JobId sound = scene_add(&scene, scene_job_of(&scene, "q", came_ms + 1));
        uint64_t before = damage_count();
        run_sql(scene.store, damages[i]);
        expect_left_out(&scene, id, sound);
        assert_int_equal(damage_count(), before + 1);
        store_close(scene.store);
        scene_done(&scene);
        testdir_remove(&dir);
    }
}

static void a_damaged_large_payload_is_noticed(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Scene scene = { .store = testdir_store(&dir, &plain), .ids.node = SCENE_NODE };
    Job *job = scene_job(&scene, "q");
    char *large = arena_take(&scene.arena, STORE_PAYLOAD_SMALL * 2);
    memset(large, 'x', STORE_PAYLOAD_SMALL * 2);
    job->payload = slice_of(large, STORE_PAYLOAD_SMALL * 2);
    Load load = { .kind = LOAD_JOB, .id = scene_add(&scene, job) };
    run_sql(scene.store, "UPDATE payload SET data = CAST(replace(CAST(data AS TEXT),"
                         " 'xxxx', 'xxxy') AS BLOB)");
    Loaded loaded = { 0 };
    Error why = { 0 };
    assert_int_equal(scene.store->kind->load(scene.store, &load, &loaded, &why),
                     ERR_CORRUPT);
    store_close(scene.store);
    scene_done(&scene);
    testdir_remove(&dir);
}

/* Rows of a version without checksums are taken as they are, and get one when they are
 * written. */
static void a_row_without_checksum_gets_one(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Scene scene = { .store = testdir_store(&dir, &plain), .ids.node = SCENE_NODE };
    JobId id = scene_add_ready(&scene, "q");
    run_sql(scene.store, "UPDATE job_live SET sum = NULL, name = 'as it was'");
    Job job = scene_must_get(&scene, id);
    assert_true(slice_is(job.name, "as it was"));
    Op claim = scene_claim(&scene, id, 1);
    assert_int_equal(scene_do(&scene, &claim), OP_APPLIED);
    run_sql(scene.store, "UPDATE job_live SET name = 'as it is'");
    Loaded loaded = { 0 };
    Error why = { 0 };
    Load load = { .kind = LOAD_JOB, .id = id };
    assert_int_equal(scene.store->kind->load(scene.store, &load, &loaded, &why),
                     ERR_CORRUPT);
    store_close(scene.store);
    scene_done(&scene);
    testdir_remove(&dir);
}

/* --- Readers ---------------------------------------------------------------------------
 */

static void *read_all(void *context)
{
    Scene scene = { .store = context };
    uint64_t seen = 0;
    while (seen < 300) { /* until the writer is done; never less than before */
        uint64_t count = scene_count(&scene, "q", JOB_READY);
        assert_true(count >= seen);
        Loaded window = scene_window(&scene, "q");
        assert_true(window.count >= (seen < 100 ? seen : 100));
        loaded_done(&window);
        seen = count;
    }
    scene_done(&scene);
    return NULL;
}

static void a_reader_on_another_thread_sees_commits(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Scene scene = { .store = testdir_store(&dir, &plain), .ids.node = SCENE_NODE };
    StoreOptions options = { .read_only = true };
    Store *reader = testdir_store(&dir, &options);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_all, reader), 0);
    for (int i = 0; i < 300; i++)
        scene_add_ready(&scene, "q");
    pthread_join(thread, NULL);
    Error why = { 0 };
    Batch nothing = { 0 };
    assert_int_equal(reader->kind->commit(reader, &nothing, 1, NULL, &why), ERR_DENIED);
    store_close(reader);
    store_close(scene.store);
    scene_done(&scene);
    testdir_remove(&dir);
}

/* Terms without an index look for a bounded time; the cursor goes on from there. */
static void a_search_cut_by_time_goes_on(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Scene scene = { .store = testdir_store(&dir, &plain), .ids.node = SCENE_NODE };
    for (int i = 0; i < 120; i++) {
        Job *job = scene_job(&scene, "q");
        job->payload = i == 3 ? SLICE_LITERAL("needle") : SLICE_LITERAL("hay");
        scene_add(&scene, job);
    }
    sqlite_of(scene.store)->scan_ms = 0;
    JobQuery query = { .limit = 5 };
    Error why = { 0 };
    assert_int_equal(
        query_parse(SLICE_LITERAL("payload:needle"), &scene.arena, &query, &why), ERR_OK);
    unsigned found = 0;
    unsigned pages = 0;
    JobSink sink = { count_job, &found };
    QueryEnd end;
    do {
        assert_int_equal(scene.store->kind->query(scene.store, &query, &sink, &end, &why),
                         ERR_OK);
        assert_true(end.partial == (end.cursor != 0));
        assert_true(!end.cursor || !query.before || end.cursor < query.before);
        query.before = end.cursor;
        pages++;
    } while (end.cursor);
    assert_int_equal(found, 1);
    assert_int_equal(pages, 21); /* limit + 1 rows each, and one that finds no more */
    store_close(scene.store);
    scene_done(&scene);
    testdir_remove(&dir);
}

/* --- 001's tables, by the sqlite3 program
 * ------------------------------------------------ */

/* What sqlite3 prints, or false where there is no such program. */
static bool sqlite3_says(const TestDir *dir, const char *sql, Buf *out)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    char path[512];
    char text[2048];
    char program[] = "sqlite3";
    char read_only[] = "-readonly";
    snprintf(path, sizeof path, "%s", testdir_file(dir, "pawl.db"));
    snprintf(text, sizeof text, "%s", sql);
    char *arguments[] = { program, read_only, path, text, NULL };
    char *environment[] = { NULL };
    pid_t pid;
    int rc = posix_spawnp(&pid, program, &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    ssize_t bytes;
    while (rc == 0 && (bytes = read(ends[0], buf_room(out, 4096), 4096)) > 0)
        out->bytes += (size_t)bytes;
    close(ends[0]);
    if (rc == 0)
        waitpid(pid, NULL, 0);
    return rc == 0;
}

static void expect_said(const TestDir *dir, const char *sql, const char *expected)
{
    Buf out = { 0 };
    if (!sqlite3_says(dir, sql, &out)) {
        buf_done(&out);
        skip();
    }
    assert_string_equal(buf_cstr(&out), expected);
    buf_done(&out);
}

static void make_history(Scene *scene, JobId *ids)
{
    Job *job = scene_job(scene, "q");
    job->name = SLICE_LITERAL("nightly");
    job->service_ms = 1500;
    ids[0] = scene_add(scene, job);
    Op claim = scene_claim(scene, ids[0], 1);
    claim.count = 2;
    Op retry = scene_finish(scene, ids[0], 1, JOB_RETRYING);
    retry.retry_number = 1;
    Op ready = scene_move(scene, ids[0], JOB_READY);
    scene_do(scene, &claim);
    scene_do(scene, &retry);
    scene_do(scene, &ready);
    claim = scene_claim(scene, ids[0], 2);
    claim.at_ms = SCENE_WALL + 8000;
    scene_do(scene, &claim);
    Op finish = scene_finish(scene, ids[0], 2, JOB_DONE);
    finish.at_ms = SCENE_WALL + 9000;
    scene_do(scene, &finish);
    ids[1] = scene_add_running(scene);
    ids[2] = scene_add_ready(scene, "q");
}

/* S1.9, S1.31 to S1.48, S2.13 to S2.16, S2.18, S2.27: with the daemon's handle open. */
static void people_read_the_tables_of_001(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Scene scene = { .store = testdir_store(&dir, &plain), .ids.node = SCENE_NODE };
    JobId ids[3];
    char a[ID_TEXT_BYTES];
    char b[ID_TEXT_BYTES];
    char c[ID_TEXT_BYTES];
    char expected[2048];
    make_history(&scene, ids);
    id_text(ids[0], a);
    id_text(ids[1], b);
    id_text(ids[2], c);
    snprintf(expected, sizeof expected,
             "%s|nightly|2026-09-21T14:13:20.000Z|1.5|Completed\n"
             "%s|mail|2026-09-21T14:13:20.000Z||InProgress\n"
             "%s|mail|2026-09-21T14:13:20.000Z||Pending\n",
             a, b, c);
    expect_said(&dir,
                "SELECT id, description, execution_time, service_time, status FROM job"
                " ORDER BY id",
                expected);
    snprintf(expected, sizeof expected,
             "done|3026-09-22T02:13:29.000Z|__done|acme|mail|q|5|hello\n"
             "running|2026-09-21T14:13:51.000Z|node-a|acme|mail|q|5|hello\n"
             "ready|2026-09-21T14:13:20.000Z||acme|mail|q|5|hello\n");
    expect_said(&dir,
                "SELECT state, dt, lock, tenant, type, queue, priority, data FROM job"
                " ORDER BY id",
                expected);
    expect_said(&dir, "SELECT id, name FROM resource ORDER BY id",
                "1|slot-2@node-a\n2|slot-1@node-a\n8589934596|pull@node-a\n");
    snprintf(expected, sizeof expected,
             "%s.1|%s|1|2026-09-21T14:13:20.000Z|1.5|2026-09-21T14:13:21.000Z|"
             "2026-09-21T14:13:22.500Z|2026-09-21T14:13:22.000Z|"
             "2026-09-21T14:13:21.000Z|0|Failed\n"
             "%s.2|%s|2|2026-09-21T14:13:20.000Z|1.5|2026-09-21T14:13:28.000Z|"
             "2026-09-21T14:13:29.500Z|2026-09-21T14:13:29.000Z|"
             "2026-09-21T14:13:28.000Z|1|Completed\n"
             "%s.1|%s|2|2026-09-21T14:13:20.000Z||2026-09-21T14:13:21.000Z|||"
             "2026-09-21T14:13:21.000Z|0|InProgress\n",
             a, a, a, a, b, b);
    expect_said(&dir,
                "SELECT id, job_id, resource_id, original_execution_time, service_time,"
                " actual_execution_time, expected_finish_time, actual_finish_time,"
                " last_heartbeat_time, retry_number, status FROM job_resource"
                " ORDER BY id",
                expected);
    store_close(scene.store);
    scene_done(&scene);
    testdir_remove(&dir);
}

static void the_words_for_states_agree(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    Store *store = testdir_store(&dir, &plain);
    sqlite3_stmt *stmt = NULL;
    sqlite3_prepare_v2(sqlite_of(store)->db.handle,
                       "SELECT id, name, status FROM state ORDER BY id", -1, &stmt, NULL);
    for (unsigned i = 0; i < JOB_STATES; i++) {
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(stmt, 0), i);
        assert_true(slice_is(db_column(stmt, 1), state_name((JobState)i)));
        assert_true(slice_is(db_column(stmt, 2), state_status((JobState)i)));
    }
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
    sqlite3_prepare_v2(sqlite_of(store)->db.handle, "SELECT name FROM code ORDER BY id",
                       -1, &stmt, NULL);
    for (unsigned i = 0; i <= CODE_ERROR; i++) {
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_true(slice_is(db_column(stmt, 0), code_name((JobCode)i)));
    }
    sqlite3_finalize(stmt);
    store_close(store);
    testdir_remove(&dir);
}

/* --- Kill -9
 * ------------------------------------------------------------------------------ */

/* Commits batch after batch, each with its read point, and tells of each. */
static void commit_for_ever(const TestDir *dir, int tell)
{
    Scene scene = { .store = testdir_store(dir, &plain), .ids.node = SCENE_NODE };
    ReadPoint point;
    JobId last;
    Error why;
    if (scene.store->kind->read_point(scene.store, SCENE_NODE, &point, &why) ||
        scene.store->kind->last_id(scene.store, SCENE_NODE, &last, &why))
        _exit(1);
    id_seen(&scene.ids, last);
    for (;;) {
        Batch batch = { .node = SCENE_NODE, .has_read_point = true };
        batch.read_point = (ReadPoint){ SCENE_NODE, ++point.position };
        for (int i = 0; i < JOBS_PER_BATCH; i++) {
            Job *job = scene_job(&scene, "q");
            batch_op(&batch, OP_ADD, 0)->job = job;
            *batch_op(&batch, OP_CLAIM, 0) = scene_claim(&scene, job->id, 1);
            if (i % 2)
                *batch_op(&batch, OP_FINISH, 0) =
                    scene_finish(&scene, job->id, 1, JOB_DONE);
        }
        if (scene.store->kind->commit(scene.store, &batch, 1, NULL, &why))
            _exit(1);
        batch_done(&batch);
        if (write(tell, &point.position, sizeof point.position) < 0)
            _exit(1);
    }
}

/* Reads up to the given position, then kills whoever writes. Returns the last told. */
static uint64_t kill_after(pid_t pid, int told, uint64_t until)
{
    uint64_t position = 0;
    while (position < until)
        if (read(told, &position, sizeof position) != sizeof position)
            break;
    kill(pid, SIGKILL);
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    while (read(told, &position, sizeof position) == sizeof position)
        continue;
    return position;
}

static void a_kill_in_mid_commit_leaves_whole_batches(void **state)
{
    (void)state;
    TestDir dir;
    testdir_make(&dir);
    store_close(testdir_store(&dir, &plain));
    uint64_t position = 0;
    for (int i = 0; i < KILLS; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t pid = fork();
        if (pid == 0) {
            close(ends[0]);
            commit_for_ever(&dir, ends[1]);
        }
        close(ends[1]);
        uint64_t told = kill_after(pid, ends[0], position + 5 + (uint64_t)i * 3);
        close(ends[0]);
        Scene scene = { .store = testdir_store(&dir, &plain) };
        ReadPoint point;
        Error why;
        assert_int_equal(
            scene.store->kind->read_point(scene.store, SCENE_NODE, &point, &why), ERR_OK);
        position = point.position;
        assert_true(position >= told); /* what was told is there */
        assert_int_equal(scene_count(&scene, "q", JOB_RUNNING),
                         position * JOBS_PER_BATCH / 2);
        assert_int_equal(scene_count(&scene, "q", JOB_DONE),
                         position * JOBS_PER_BATCH / 2);
        store_close(scene.store);
        scene_done(&scene);
    }
    assert_int_equal(ask_number(&dir, "SELECT count(*) FROM job_live"),
                     position * JOBS_PER_BATCH / 2);
    assert_int_equal(ask_number(&dir, "SELECT count(*) FROM job_done"),
                     position * JOBS_PER_BATCH / 2);
    assert_int_equal(ask_number(&dir, "SELECT count(*) FROM pragma_integrity_check"
                                      " WHERE integrity_check = 'ok'"),
                     1);
    testdir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_owner_is_refused),
        cmocka_unit_test(durable_means_synchronous_full),
        cmocka_unit_test(another_cluster_is_refused),
        cmocka_unit_test(urls_that_no_one_knows_are_refused),
        cmocka_unit_test(everything_is_there_after_reopening),
        cmocka_unit_test(an_answer_is_given_again_after_reopening),
        cmocka_unit_test(sync_moves_everything_into_the_file),
        cmocka_unit_test(every_statement_can_be_prepared),
        cmocka_unit_test(the_log_does_not_grow_without_end),
        cmocka_unit_test(damaged_rows_are_left_out),
        cmocka_unit_test(a_damaged_large_payload_is_noticed),
        cmocka_unit_test(a_row_without_checksum_gets_one),
        cmocka_unit_test(a_reader_on_another_thread_sees_commits),
        cmocka_unit_test(a_search_cut_by_time_goes_on),
        cmocka_unit_test(people_read_the_tables_of_001),
        cmocka_unit_test(the_words_for_states_agree),
        cmocka_unit_test(a_kill_in_mid_commit_leaves_whole_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
