/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_test.c - what only the shared store has, on a real server: connections that
 * break, other versions, parts of the archive, views for people. */
#include "store/postgres/postgres.h"
#include "testing/conformance.h"
#include "testing/testserver.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include <libpq-fe.h>

static Scene scene;

static Store *open_store(const StoreOptions *options)
{
    Store *store = NULL;
    Error why = { 0 };
    if (store_open(testserver_url(), options, &store, &why))
        fail_msg("%s", why.text);
    return store;
}

static int begin(void **state)
{
    (void)state;
    testserver_fresh();
    scene = (Scene){ .ids.node = SCENE_NODE };
    scene.store = open_store(&(StoreOptions){ 0 });
    return 0;
}

static int end(void **state)
{
    (void)state;
    store_close(scene.store);
    scene_done(&scene);
    return 0;
}

/* Nothing that breaks between two commits is noticed, and one in the middle is
 * repeated by its number. */
static void a_cut_connection_is_made_again(void **state)
{
    (void)state;
    JobId first = scene_add_ready(&scene, "q");
    testserver_cut();
    JobId second = scene_add_ready(&scene, "q");
    testserver_cut();
    scene_expect_window(&scene, "q", (JobId[]){ first, second }, 2);
    assert_true(scene.failures <= 2);
}

typedef struct PointRead {
    ReadPoint point;
    Err err;
} PointRead;

static void *read_point(void *context)
{
    PointRead *read = context;
    Error why = { 0 };
    read->err =
        scene.store->kind->read_point(scene.store, SCENE_NODE, &read->point, &why);
    return NULL;
}

static ReadPoint point_beside(const char *sql)
{
    PointRead read = { 0 };
    pthread_t thread;
    testserver_ask("BEGIN");
    testserver_ask(sql);
    assert_int_equal(pthread_create(&thread, NULL, read_point, &read), 0);
    usleep(300000);
    testserver_ask("COMMIT");
    pthread_join(thread, NULL);
    assert_int_equal(read.err, ERR_OK);
    return read.point;
}

/* What a killed daemon had sent may be done after the next one has begun to start. */
static void a_commit_that_is_under_way_is_waited_for(void **state)
{
    (void)state;
    PointRead read = { 0 };
    read_point(&read);
    assert_int_equal(read.err, ERR_OK);
    assert_int_equal(read.point.position, 0);
    char sql[128];
    snprintf(sql, sizeof sql, "INSERT INTO pawl.point(node, position) VALUES (%d, 77)",
             SCENE_NODE);
    assert_int_equal(point_beside(sql).position, 77);
    assert_int_equal(point_beside("UPDATE pawl.point SET position = 78").position, 78);
}

/* A session of a stopped daemon, in the middle of rows that will never come. */
static PGconn *stopped_session(void)
{
    PGconn *conn = PQconnectdb(testserver_url());
    static const char *const steps[] = {
        "BEGIN",
        "SELECT set_config('application_name', 'pawl node 9', true)",
        "SELECT FROM pawl.node WHERE number = 9 FOR KEY SHARE",
        "CREATE TEMPORARY TABLE rows (x int)",
        "COPY rows FROM STDIN",
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        PQclear(PQexec(conn, steps[i]));
    assert_int_equal(PQtransactionStatus(conn), PQTRANS_ACTIVE);
    return conn;
}

static void a_stopped_node_is_fenced_all_the_same(void **state)
{
    (void)state;
    testserver_ask("INSERT INTO pawl.node(sysid, number, epoch, lease)"
                   " VALUES ('stopped', 9, 3, 1)");
    PGconn *stopped = stopped_session();
    Op op = scene_op(OP_FENCE, 0);
    op.node = 9;
    op.count = 3;
    OpResult result;
    Batch batch = { .number = 7, .node = SCENE_NODE, .ops = &op, .count = 1 };
    scene_commit(&scene, &batch, 1, &result);
    assert_int_equal(result, OP_APPLIED);
    assert_int_equal(scene.failures, 0);
    PQfinish(stopped);
}

static void the_same_number_changes_nothing(void **state)
{
    (void)state;
    Job *job = scene_job(&scene, "q");
    Op op = scene_op(OP_ADD, 0);
    op.job = job;
    Batch batch = { .number = 7, .node = SCENE_NODE, .ops = &op, .count = 1 };
    OpResult result;
    scene_commit(&scene, &batch, 1, &result);
    assert_int_equal(result, OP_APPLIED);
    Store *other = open_store(&(StoreOptions){ 0 }); /* as after a lost answer */
    Error why = { 0 };
    assert_int_equal(other->kind->commit(other, &batch, 1, &result, &why), ERR_OK);
    assert_int_equal(result, OP_APPLIED);
    store_close(other);
    assert_int_equal(scene_count(&scene, "q", JOB_READY), 1);
}

/* The sequence goes on when the transaction is undone: each meets others so many times.
 */
static void meet_others(const char *state, int times)
{
    char sql[512];
    testserver_ask("CREATE SEQUENCE pawl.met");
    snprintf(sql, sizeof sql,
             "CREATE FUNCTION pawl.meet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF "
             "nextval(''pawl.met'') <= %d THEN RAISE EXCEPTION ''met'' USING ERRCODE = "
             "''%s''; END IF; RETURN NULL; END'",
             times, state);
    testserver_ask(sql);
    testserver_ask("CREATE TRIGGER meet AFTER UPDATE ON pawl.point FOR EACH STATEMENT"
                   " EXECUTE FUNCTION pawl.meet()");
}

static void two_that_met_are_tried_again(void **state)
{
    (void)state;
    meet_others("40001", 2); /* could not serialize */
    scene_expect_state(&scene, scene_add_ready(&scene, "q"), JOB_READY);
    assert_int_equal(scene.failures, 0);
    assert_string_equal(testserver_ask("SELECT last_value >= 3 FROM pawl.met"), "t");
}

static void a_deadlock_is_tried_again(void **state)
{
    (void)state;
    meet_others("40P01", 1);
    scene_expect_state(&scene, scene_add_ready(&scene, "q"), JOB_READY);
    assert_int_equal(scene.failures, 0);
    assert_int_equal(scene_count(&scene, "q", JOB_READY), 1);
}

static void a_whole_life_in_one_commit_is_one_row(void **state)
{
    (void)state;
    Job *job = scene_job(&scene, "q");
    Op ops[3] = { scene_op(OP_ADD, 0), scene_claim(&scene, job->id, 1),
                  scene_finish(&scene, job->id, 1, JOB_DONE) };
    ops[0].job = job;
    Batch batch = { .number = 1, .node = SCENE_NODE, .ops = ops, .count = 3 };
    OpResult results[3];
    scene_commit(&scene, &batch, 1, results);
    assert_int_equal(results[2], OP_APPLIED);
    assert_string_equal(testserver_ask("SELECT count(*) FROM pawl.job_done"), "1");
    assert_string_equal(testserver_ask("SELECT pg_relation_size('pawl.job_live')"), "0");
}

static void an_empty_part_of_the_archive_goes(void **state)
{
    (void)state;
    JobId id = scene_add_in(&scene, JOB_DONE);
    char sql[96];
    snprintf(sql, sizeof sql, "SELECT pawl.parts_drop(%llu)",
             (unsigned long long)(id >> PG_PART_SHIFT) + 1);
    assert_string_equal(testserver_ask(sql), "1"); /* that of the failed ones is empty */
    Op op = scene_op(OP_REMOVE, id);
    assert_int_equal(scene_do(&scene, &op), OP_APPLIED);
    assert_string_equal(testserver_ask(sql), "1");
    assert_string_equal(testserver_ask("SELECT count(*) FROM pg_inherits WHERE inhparent"
                                       " = 'pawl.job_done'::regclass"),
                        "0");
    id = scene_add_in(&scene, JOB_DONE); /* the part that has gone is made again */
    scene_expect_state(&scene, id, JOB_DONE);
}

static void a_purge_drops_what_it_has_emptied(void **state)
{
    (void)state;
    const char *parts = "SELECT count(*) FROM pg_inherits WHERE inhparent IN"
                        " ('pawl.job_done'::regclass, 'pawl.job_dead'::regclass)";
    JobId old = scene_add_in(&scene, JOB_DONE);
    Job *job = scene_job(&scene, "q");
    job->id = old + ((JobId)3 << PG_PART_SHIFT); /* it comes days later */
    scene_add(&scene, job);
    assert_string_equal(testserver_ask(parts), "2");
    Op op = scene_op(OP_REMOVE, old);
    assert_int_equal(scene_do(&scene, &op), OP_APPLIED);
    assert_string_equal(testserver_ask(parts), "0");
}

static void a_newer_schema_is_refused(void **state)
{
    (void)state;
    Store *store = NULL;
    Error why = { 0 };
    testserver_ask("UPDATE pawl.meta SET value = '900' WHERE key LIKE 'schema%'");
    assert_int_equal(store_open(testserver_url(), &(StoreOptions){ 0 }, &store, &why),
                     ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "schema 900"));
}

/* Two releases side by side: the newer one has changed the tables so that the older one
 * still knows its way. */
static void a_newer_schema_that_is_for_us_too_is_used(void **state)
{
    (void)state;
    testserver_ask("UPDATE pawl.meta SET value = '900' WHERE key = 'schema'");
    Store *store = open_store(&(StoreOptions){ 0 });
    store_close(store);
    store = open_store(&(StoreOptions){ .read_only = true });
    store_close(store);
    assert_string_equal(
        testserver_ask("SELECT value FROM pawl.meta WHERE key = 'schema'"), "900");
}

/* A commit holds the node's row against a fence, and nothing else. */
static void a_renewal_waits_for_no_commit(void **state)
{
    (void)state;
    Error why = { 0 };
    NodeRow row = { 0 };
    Renewal renewal = { .sysid = slice_text(SCENE_SYSID), .lease_ms = 60000 };
    Store *lease = open_store(&(StoreOptions){ 0 });
    assert_int_equal(lease->kind->renew(lease, &renewal, &row, &why), ERR_OK);
    testserver_ask("BEGIN");
    testserver_ask("SELECT 1 FROM pawl.node FOR KEY SHARE"); /* as a commit does */
    Err err = lease->kind->renew(lease, &renewal, &row, &why);
    testserver_ask("ROLLBACK");
    assert_int_equal(err, ERR_OK); /* else it gave up waiting for the lock */
    store_close(lease);
}

static void join(uint64_t epoch)
{
    scene_renew(&scene, SCENE_SYSID, true);
    scene_join(&scene, SCENE_NODE, epoch);
}

/* Claimed and ended in one commit; the name that it has in the archive. */
static const char *name_after_run(JobId id)
{
    Op ops[] = { scene_claim(&scene, id, 1), scene_finish(&scene, id, 1, JOB_DONE) };
    OpResult results[2];
    Batch batch = { .node = SCENE_NODE, .ops = ops, .count = 2 };
    scene_commit(&scene, &batch, 1, results);
    assert_int_equal(results[1], OP_APPLIED);
    return testserver_ask("SELECT coalesce(convert_from(name, 'UTF8'), '')"
                          " FROM pawl.job_done ORDER BY id DESC LIMIT 1");
}

/* What a joined node wrote it does not read again: no one else may change it. */
static void a_joined_node_knows_its_rows(void **state)
{
    (void)state;
    join(1);
    JobId id = scene_add_ready(&scene, "q");
    testserver_ask("UPDATE pawl.job_live SET name = 'changed'");
    assert_string_not_equal(name_after_run(id), "changed");
    id = scene_add_ready(&scene, "q");
    testserver_ask("UPDATE pawl.job_live SET name = 'again', sum = NULL");
    join(2); /* who joins anew does not trust what it knew */
    assert_string_equal(name_after_run(id), "again");
}

static void a_row_that_is_not_as_it_was_known_is_read(void **state)
{
    (void)state;
    join(1);
    JobId id = scene_add_ready(&scene, "q");
    testserver_ask("DELETE FROM pawl.job_live"); /* by someone with a console */
    Op op = scene_claim(&scene, id, 1);
    assert_int_equal(scene_do(&scene, &op), OP_MISSING);
}

static void *commit_later(void *context)
{
    (void)context;
    usleep(300000);
    testserver_ask("COMMIT");
    return NULL;
}

/* Read before another's commit and removed behind it: it must not come back. */
static void a_row_that_another_removes_meanwhile_stays_removed(void **state)
{
    (void)state;
    pthread_t thread;
    JobId id = scene_add_ready(&scene, "q");
    Op ops[] = { scene_claim(&scene, id, 1), scene_finish(&scene, id, 1, JOB_DONE) };
    Batch batch = { .number = 8, .node = SCENE_NODE, .ops = ops, .count = 2 };
    OpResult results[2];
    testserver_ask("BEGIN");
    testserver_ask("DELETE FROM pawl.job_live");
    assert_int_equal(pthread_create(&thread, NULL, commit_later, NULL), 0);
    scene_commit(&scene, &batch, 1, results);
    pthread_join(thread, NULL);
    assert_int_equal(results[0], OP_MISSING);
    assert_int_equal(results[1], OP_MISSING);
    assert_string_equal(testserver_ask("SELECT count(*) FROM pawl.job_any"), "0");
}

static OpResult take_from(uint32_t node)
{
    Op op = scene_op(OP_TAKE, 0);
    op.node = node;
    op.count = 10;
    return scene_do_as(&scene, SCENE_NODE + 1, &op);
}

#define SCENE_ROW "SELECT FROM pawl.node WHERE number = 3 FOR "

/* A node that joins again would read as its own what is another's in a moment. */
static void a_node_joins_before_or_after_its_jobs_are_taken(void **state)
{
    (void)state;
    Error why = { 0 };
    Op op = scene_op(OP_JOIN, 0);
    Batch batch = { .node = SCENE_NODE, .ops = &op, .count = 1 };
    op.count = 2;
    assert_int_equal(SCENE_NODE, 3);
    join(1);
    scene_add_ready(&scene, "q");
    testserver_ask("UPDATE pawl.node SET fenced = true");

    testserver_ask("BEGIN");
    testserver_ask(SCENE_ROW "KEY SHARE"); /* as who takes them */
    assert_int_equal(scene.store->kind->commit(scene.store, &batch, 1, NULL, &why),
                     ERR_UNAVAILABLE);
    testserver_ask("COMMIT");

    testserver_ask("BEGIN");
    testserver_ask(SCENE_ROW "UPDATE"); /* as who joins */
    assert_int_equal(take_from(SCENE_NODE), OP_LOST);
    testserver_ask("COMMIT");
    assert_int_equal(take_from(SCENE_NODE), OP_APPLIED);
    assert_int_equal(scene.store->kind->commit(scene.store, &batch, 1, NULL, &why),
                     ERR_OK);
    assert_int_equal(take_from(SCENE_NODE), OP_LOST);
}

static Err load_lanes(Error *why)
{
    Loaded loaded = { 0 };
    const Load lanes = { .kind = LOAD_LANES };
    Err err = scene.store->kind->load(scene.store, &lanes, &loaded, why);
    if (!err)
        loaded_done(&loaded);
    return err;
}

/* A standby that was behind was promoted: it must not be asked what there is to do. */
static void a_server_that_went_back_gives_no_jobs(void **state)
{
    (void)state;
    Error why = { 0 };
    Batch batch = { .node = SCENE_NODE, .has_read_point = true };
    batch.read_point = (ReadPoint){ SCENE_NODE, 1000 };
    scene_commit(&scene, &batch, 1, NULL);
    assert_int_equal(load_lanes(&why), ERR_OK);
    testserver_ask("UPDATE pawl.point SET position = 500");
    testserver_ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                   " WHERE application_name = 'pawl' AND pid <> pg_backend_pid()");
    do {
        assert_int_equal(load_lanes(&why), ERR_UNAVAILABLE);
    } while (!strstr(why.text, PG_WENT_BACK));
    testserver_ask("UPDATE pawl.point SET position = 1000");
    assert_int_equal(load_lanes(&why), ERR_OK);
    batch_done(&batch);
}

/* Who asks for its read point and has none yet leaves no row, and is not told that one is
 * missing. */
static void asking_for_a_read_point_makes_none(void **state)
{
    (void)state;
    Error why = { 0 };
    ReadPoint point;
    Store *store = scene.store;
    assert_int_equal(store->kind->read_point(store, SCENE_NODE + 7, &point, &why),
                     ERR_OK);
    assert_true(point.position == 0);
    assert_int_equal(load_lanes(&why), ERR_OK);
    assert_string_equal(testserver_ask("SELECT count(*) FROM pawl.point WHERE node > 7"),
                        "0");
}

/* A damaged row is told and left out, the jobs behind it are given out as before. */
static void a_damaged_row_is_left_out(void **state)
{
    (void)state;
    JobId id = scene_add_ready(&scene, "q");
    JobId sound = scene_add_ready(&scene, "q");
    testserver_ask("UPDATE pawl.job_live SET payload = 'other'"
                   " WHERE id = (SELECT min(id) FROM pawl.job_live)");
    Loaded loaded = { 0 };
    Error why = { 0 };
    Load load = { .kind = LOAD_JOB, .id = id };
    assert_int_equal(scene.store->kind->load(scene.store, &load, &loaded, &why),
                     ERR_CORRUPT);
    scene_expect_window(&scene, "q", &sound, 1);
    loaded = scene_load(&scene, &(Load){ .kind = LOAD_LANES });
    assert_int_equal(loaded.count, 1);
    assert_int_equal(loaded.jobs[0].id, sound);
    loaded_done(&loaded);
    Op claim = scene_claim(&scene, id, 1);
    assert_int_equal(scene_do(&scene, &claim), OP_MISSING);
}

static void another_cluster_is_refused(void **state)
{
    (void)state;
    Error why = { 0 };
    Store *store = open_store(&(StoreOptions){ .cluster = "one" });
    store_close(store);
    assert_int_equal(
        store_open(testserver_url(), &(StoreOptions){ .cluster = "two" }, &store, &why),
        ERR_CONFLICT);
}

static void what_stays_wrong_is_told_apart(void **state)
{
    (void)state;
    char url[256];
    Store *store = NULL;
    Error why = { 0 };
    snprintf(url, sizeof url, "postgresql://pawl@/nosuch?host=%s",
             testserver_directory());
    assert_int_equal(store_open(url, &(StoreOptions){ 0 }, &store, &why), ERR_DENIED);
    assert_int_equal(
        store_open("postgresql://x@/y?host=/nosuch", &(StoreOptions){ 0 }, &store, &why),
        ERR_UNAVAILABLE);
    assert_int_equal(
        store_open("postgresql://x/y?nosuch=1", &(StoreOptions){ 0 }, &store, &why),
        ERR_INVALID);
}

static void people_see_jobs_in_a_view(void **state)
{
    (void)state;
    JobId id = scene_add_in(&scene, JOB_DONE);
    char text[ID_TEXT_BYTES];
    assert_string_equal(testserver_ask("SELECT id FROM pawl.job"), id_text(id, text));
    assert_string_equal(testserver_ask("SELECT status || tenant || data FROM pawl.job"),
                        "Completed" SCENE_TENANT "hello");
    assert_string_equal(testserver_ask("SELECT name FROM pawl.resource"),
                        "slot-1@" SCENE_SYSID);
    assert_string_equal(testserver_ask("SELECT count(*) FROM pawl.job_resource"), "1");
    for (unsigned i = 0; i < JOB_STATES; i++) {
        char sql[96];
        snprintf(sql, sizeof sql, "SELECT name || status FROM pawl.state WHERE id = %u",
                 i);
        char expected[64];
        snprintf(expected, sizeof expected, "%s%s", state_name((JobState)i),
                 state_status((JobState)i));
        assert_string_equal(testserver_ask(sql), expected);
    }
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        ROW(a_cut_connection_is_made_again),
        ROW(a_commit_that_is_under_way_is_waited_for),
        ROW(a_stopped_node_is_fenced_all_the_same),
        ROW(the_same_number_changes_nothing),
        ROW(two_that_met_are_tried_again),
        ROW(a_deadlock_is_tried_again),
        ROW(a_whole_life_in_one_commit_is_one_row),
        ROW(an_empty_part_of_the_archive_goes),
        ROW(a_purge_drops_what_it_has_emptied),
        ROW(a_newer_schema_is_refused),
        ROW(a_newer_schema_that_is_for_us_too_is_used),
        ROW(a_renewal_waits_for_no_commit),
        ROW(a_joined_node_knows_its_rows),
        ROW(a_row_that_is_not_as_it_was_known_is_read),
        ROW(a_row_that_another_removes_meanwhile_stays_removed),
        ROW(a_node_joins_before_or_after_its_jobs_are_taken),
        ROW(a_server_that_went_back_gives_no_jobs),
        ROW(asking_for_a_read_point_makes_none),
        ROW(a_damaged_row_is_left_out),
        ROW(another_cluster_is_refused),
        ROW(what_stays_wrong_is_told_apart),
        ROW(people_see_jobs_in_a_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
