/* SPDX-License-Identifier: Apache-2.0 */
/* partitions_test.c - how parts of the archive go, on a real server: see
 * partitions.h. What is left afterwards is the same in every store: see
 * scenes_old_test.c. */
#include "store/postgres/partitions.h"

#include "core/unique.h"
#include "store/moving.h"
#include "testing/conformance.h"
#include "testing/testserver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define DAYS(n) ((int64_t)(n)*MS_PER_DAY)
#define CAME    (SCENE_WALL - DAYS(40))
#define DUE     (SCENE_WALL - DAYS(14))
#define LATE    (DAYS(14) / 4)
#define JOBS    5

#define PARTS_IN                                                                         \
    "SELECT count(*) FROM pg_inherits WHERE inhparent = 'pawl.job_done'::regclass"
#define PARTS_GONE                                                                       \
    "SELECT count(*) FROM pg_tables WHERE schemaname = 'pawl' AND tablename ~ '^gone_'"
#define BESIDE                                                                           \
    "SELECT (SELECT count(*) FROM pawl.result) + (SELECT count(*) FROM pawl.payload)"    \
    " + (SELECT count(*) FROM pawl.attempt) + (SELECT count(*) FROM pawl.booking)"       \
    " + (SELECT count(*) FROM pawl.job_unique) + (SELECT count(*) FROM pawl.part_gone)"

static Scene scene;

static Store *open_store(void)
{
    Store *store = NULL;
    Error why = { 0 };
    if (store_open(testserver_url(), &(StoreOptions){ 0 }, &store, &why))
        fail_msg("%s", why.text);
    return store;
}

static int begin(void **state)
{
    (void)state;
    testserver_fresh();
    scene = (Scene){ .ids.node = SCENE_NODE };
    scene.store = open_store();
    return 0;
}

static int end(void **state)
{
    (void)state;
    store_close(scene.store);
    scene_done(&scene);
    return 0;
}

/* --- Words ----------------------------------------------------------------------------
 */

static Job *laden_job(int64_t came_ms)
{
    Buf unique = { 0 };
    char *payload = arena_take(&scene.arena, 2000);
    const Unique key = { .key = SLICE_LITERAL("k"), .for_ms = DAYS(1000) };
    memset(payload, 'p', 2000);
    unique_write(&unique, &key);
    Job *job = scene_job_of(&scene, "q", came_ms);
    job->unique = slice_copy(&scene.arena, buf_slice(&unique));
    job->flags = JOB_LINKED;
    job->payload = slice_of(payload, 2000);
    buf_done(&unique);
    return job;
}

/* Done long ago, each with all that can stand beside it; one after the other. */
static void add_old(JobId ids[JOBS])
{
    for (int i = 0; i < JOBS; i++) {
        ids[i] = scene_add(&scene, laden_job(CAME + i));
        scene_run(&scene, ids[i], 1, CAME + 5000 + i, JOB_RETRYING);
        Op ready = scene_move(&scene, ids[i], JOB_READY);
        assert_int_equal(scene_do(&scene, &ready), OP_APPLIED);
        scene_run(&scene, ids[i], 2, CAME + 6000 + i, JOB_DONE);
    }
}

static Loaded look(int64_t due_ms, int64_t late_ms)
{
    return scene_load(&scene, &(Load){ .kind = LOAD_OLD,
                                       .states = SCENE_DONE,
                                       .dt_ms = due_ms,
                                       .late_ms = late_ms,
                                       .limit = 100 });
}

static void drop(void)
{
    Op op = scene_op(OP_DROP, 0);
    op.from = SCENE_DONE;
    op.dt_ms = DUE;
    assert_int_equal(scene_do(&scene, &op), OP_APPLIED);
}

static void swept(JobId id)
{
    Op op = scene_op(OP_SWEPT, id);
    op.from = SCENE_DONE;
    assert_int_equal(scene_do(&scene, &op), OP_APPLIED);
}

static void expect(const char *sql, const char *answer)
{
    assert_string_equal(testserver_ask(sql), answer);
}

/* --- Tests ----------------------------------------------------------------------------
 */

static void a_part_goes_in_one_step_and_the_rest_behind_it(void **state)
{
    (void)state;
    JobId ids[JOBS];
    add_old(ids);
    Loaded old = look(DUE, LATE);
    assert_true(old.whole);
    assert_false(old.gone);
    loaded_done(&old);
    drop();
    expect(PARTS_IN, "0"); /* no one finds them from now on */
    expect(PARTS_GONE, "1");
    assert_string_equal(scene_query(&scene, "", 0), "");
    old = look(DUE, LATE);
    assert_true(old.gone);
    assert_int_equal(old.count, JOBS);
    assert_true(old.jobs[0].id == ids[0]);
    assert_int_equal(old.jobs[0].attempt, 2);
    loaded_done(&old);
    swept(ids[JOBS - 1]);
    expect(PARTS_GONE, "0");
    expect(BESIDE, "0");
    assert_int_equal(scene_count(&scene, "q", JOB_DONE), 0);
}

/* A node that is stopped in the middle of it, and the next one. */
static void a_sweep_goes_on_where_it_was(void **state)
{
    (void)state;
    JobId ids[JOBS];
    add_old(ids);
    drop();
    swept(ids[1]);
    assert_int_equal(scene_count(&scene, "q", JOB_DONE), JOBS - 2);
    swept(ids[1]); /* said again: nothing more */
    assert_int_equal(scene_count(&scene, "q", JOB_DONE), JOBS - 2);
    store_close(scene.store);
    scene.store = open_store();
    Loaded old = look(DUE, LATE);
    assert_true(old.gone);
    assert_true(old.jobs[0].id == ids[2]);
    loaded_done(&old);
    swept(ids[JOBS - 1]);
    expect(BESIDE, "0");
    expect(PARTS_GONE, "0");
    assert_int_equal(scene_count(&scene, "q", JOB_DONE), 0);
}

/* Nobody waits for a reader, and nobody behind it. */
static void a_reader_is_not_waited_for(void **state)
{
    (void)state;
    JobId ids[JOBS];
    add_old(ids);
    testserver_ask("BEGIN");
    testserver_ask("SELECT count(*) FROM pawl.job_done");
    drop();
    expect(PARTS_IN, "1");
    scene_expect_state(&scene, ids[0], JOB_DONE);
    testserver_ask("ROLLBACK");
    drop();
    expect(PARTS_IN, "0");
    testserver_ask("BEGIN"); /* the table cannot go: it is tried again with the next */
    testserver_ask("SELECT set_config('search_path', 'pawl', true)");
    testserver_ask("DECLARE reader CURSOR FOR SELECT * FROM pawl.part_gone");
    char sql[96];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM gone_done_%llu",
             (unsigned long long)(ids[0] >> PG_PART_SHIFT));
    testserver_ask(sql);
    swept(ids[JOBS - 1]);
    expect(PARTS_GONE, "1");
    testserver_ask("ROLLBACK");
    Loaded old = look(DUE, LATE);
    assert_true(old.whole);
    assert_false(old.gone);
    loaded_done(&old);
    drop();
    expect(PARTS_GONE, "0");
    expect(BESIDE, "0");
}

/* Another node believes that the part is there. */
static void a_job_that_ends_into_a_part_that_went_makes_it_anew(void **state)
{
    (void)state;
    JobId ids[JOBS];
    JobId live = scene_add(&scene, scene_job_of(&scene, "q", CAME + 99));
    add_old(ids);
    Store *other = scene.store;
    scene.store = open_store();
    drop();
    store_close(scene.store);
    scene.store = other;
    scene_run(&scene, live, 1, SCENE_WALL, JOB_DONE);
    assert_int_equal(scene.failures, 0);
    expect(PARTS_IN, "1");
    scene_expect_state(&scene, live, JOB_DONE);
    Loaded old = look(DUE, LATE);
    assert_true(old.gone);
    assert_false(old.whole); /* it ended today */
    loaded_done(&old);
    swept(ids[JOBS - 1]);
    scene_expect_state(&scene, live, JOB_DONE);
    assert_int_equal(scene_result(&scene, live).bytes, 1);
    assert_int_equal(scene_count(&scene, "q", JOB_DONE), 1);
}

/* While the sweep has not come to its holder, a key is free as if it had. */
static void a_key_of_a_job_that_went_is_free(void **state)
{
    (void)state;
    JobId ids[JOBS];
    add_old(ids);
    drop();
    JobId next = scene_add(&scene, laden_job(SCENE_WALL));
    char holder[32];
    snprintf(holder, sizeof holder, "%llu", (unsigned long long)next);
    expect("SELECT job FROM pawl.job_unique", holder);
    swept(ids[JOBS - 1]);
    expect("SELECT job FROM pawl.job_unique", holder);
}

/* Within a fourth of the time it could go as a whole: so long it is left alone. */
static void a_part_that_goes_soon_is_left_alone_till_then(void **state)
{
    (void)state;
    JobId ids[JOBS];
    add_old(ids);
    int64_t part = (int64_t)(ids[0] >> PG_PART_SHIFT);
    int64_t ready_ms = ID_EPOCH_MS + ((part + 1) << (PG_PART_SHIFT - 22));
    const struct {
        int64_t due_ms;
        int64_t late_ms;
        size_t count;
        bool whole;
    } rows[] = {
        { CAME + 6003, LATE, 0, false },            /* some are due, and will go soon */
        { CAME + 6003, 0, 3, false },               /* nothing may be late */
        { CAME + 6003, MS_PER_DAY / 24, 3, false }, /* it takes longer than that */
        { ready_ms, LATE, 0, true },                /* now it can go */
        { ready_ms + LATE, LATE, 0, true },         /* something is in its way */
        { ready_ms + LATE + 1, LATE, JOBS, true },  /* for too long: one by one */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Loaded old = look(rows[i].due_ms, rows[i].late_ms);
        if (old.count != rows[i].count || old.whole != rows[i].whole)
            fail_msg("row %zu: %zu jobs, whole: %d", i, old.count, old.whole);
        loaded_done(&old);
    }
}

/* One part with a job that ended late is gone through beside one that is left alone. */
static void others_are_looked_through_meanwhile(void **state)
{
    (void)state;
    JobId ids[JOBS];
    add_old(ids);
    JobId late[3];
    for (int i = 0; i < 3; i++) {
        late[i] = scene_add(&scene, scene_job_of(&scene, "q", CAME - DAYS(10) + i));
        scene_run(&scene, late[i], 1, i < 2 ? CAME - DAYS(10) + i : SCENE_WALL, JOB_DONE);
    }
    int64_t due_ms = CAME + 6003;
    Load load = { .kind = LOAD_OLD,
                  .states = SCENE_DONE,
                  .dt_ms = due_ms,
                  .late_ms = LATE,
                  .limit = 1 };
    Loaded old = scene_load(&scene, &load);
    assert_int_equal(old.count, 1);
    assert_true(old.more);
    loaded_done(&old);
    old = look(due_ms, LATE);
    assert_int_equal(old.count, 2);
    assert_true(old.jobs[1].id == late[1]);
    loaded_done(&old);
}

static void count_job(void *context, const Row *row)
{
    (void)row;
    (*(size_t *)context)++;
}

static void count_row(void *context, const MoveTable *table, const MoveValue *values)
{
    (void)values;
    if (strcmp(table->name, "point") != 0 && strcmp(table->name, "rollup") != 0)
        (*(size_t *)context)++;
}

/* What moves elsewhere is whole: nothing beside jobs that are not there. */
static void what_is_moved_is_swept_before(void **state)
{
    (void)state;
    JobId ids[JOBS];
    size_t rows = 0;
    Error why = { 0 };
    add_old(ids);
    drop();
    swept(ids[0]);
    const MoveSink sink = { count_job, count_row, &rows };
    assert_int_equal(move_out(scene.store, &sink, &why), ERR_OK);
    assert_int_equal(rows, 0);
    assert_int_equal(scene_count(&scene, "q", JOB_DONE), 0);
    assert_int_equal(move_in_begin(scene.store, true, &why), ERR_OK);
    assert_int_equal(move_in_end(scene.store, true, &why), ERR_OK);
    expect(PARTS_GONE, "0");
    expect(BESIDE, "0");
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        ROW(a_part_goes_in_one_step_and_the_rest_behind_it),
        ROW(a_sweep_goes_on_where_it_was),
        ROW(a_reader_is_not_waited_for),
        ROW(a_job_that_ends_into_a_part_that_went_makes_it_anew),
        ROW(a_key_of_a_job_that_went_is_free),
        ROW(a_part_that_goes_soon_is_left_alone_till_then),
        ROW(others_are_looked_through_meanwhile),
        ROW(what_is_moved_is_swept_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
