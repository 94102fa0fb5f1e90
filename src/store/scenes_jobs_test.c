/* SPDX-License-Identifier: Apache-2.0 */
/* scenes_jobs_test.c - the life of jobs at rest, scene by scene: see conformance.h. */
#include "testing/conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* --- Adding ------------------------------------------------------------------------- */

/* S2.13 to S2.19, S2.22: id, type, dt, empty lock, data, create_dt; and all the rest. */
static void an_added_job_is_found_as_it_was(Scene *scene)
{
    Job *job = scene_job(scene, "q");
    job->parent = 77;
    job->flags = JOB_BINARY | JOB_FILES;
    job->priority = -12;
    job->max_retries = 3;
    job->retry_delay_ms = 200;
    job->retry_window_ms = -1;
    job->max_run_ms = 5000;
    job->service_ms = 1500;
    job->name = SLICE_LITERAL("a name");
    job->command = (Slice){ "sh\0-c\0", 6 };
    job->env = (Slice){ "A=1\0", 4 };
    job->cwd = SLICE_LITERAL("/");
    job->user = SLICE_LITERAL("nobody");
    job->tags = (Slice){ "x\0y\0", 4 };
    job->resources = (Slice){ "k=1\0", 4 };
    job->then = SLICE_LITERAL("next");
    job->group = SLICE_LITERAL("g");
    job->schedule = SLICE_LITERAL("s");
    job->trace = SLICE_LITERAL("00-1-2-01");
    job->payload = (Slice){ "a\0b\xff\n", 5 };
    scene_add(scene, job);
    Job found = scene_must_get(scene, job->id);
    Buf before = { 0 };
    Buf after = { 0 };
    job_pack(&before, job);
    job_pack(&after, &found);
    assert_true(slice_equal(buf_slice(&before), buf_slice(&after)));
    assert_int_equal(found.lock.bytes, 0);
    buf_done(&before);
    buf_done(&after);
    assert_int_equal(scene_count(scene, "q", JOB_READY), 1);
}

static void an_id_is_added_once(Scene *scene)
{
    Job *job = scene_job(scene, "q");
    scene_add(scene, job);
    Op op = scene_op(OP_ADD, 0);
    op.job = job;
    assert_int_equal(scene_do(scene, &op), OP_EXISTS);
    Op claim = scene_claim(scene, job->id, 1);
    Op finish = scene_finish(scene, job->id, 1, JOB_DONE);
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
    assert_int_equal(scene_do(scene, &op), OP_EXISTS);
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    assert_int_equal(scene_do(scene, &op), OP_EXISTS);
    scene_expect_state(scene, job->id, JOB_DONE);
    Job *older = scene_job(scene, "q"); /* an id below the largest may still be new */
    Job *newer = scene_job(scene, "q");
    scene_add(scene, newer);
    scene_add(scene, older);
    assert_int_equal(scene_count(scene, "q", JOB_READY), 2);
}

static void a_job_of_another_tenant_is_not_found(Scene *scene)
{
    JobId id = scene_add_ready(scene, "q");
    Load load = { .kind = LOAD_JOB, .id = id, .tenant = SLICE_LITERAL("other") };
    Loaded loaded = scene_load(scene, &load);
    assert_int_equal(loaded.count, 0);
    loaded_done(&loaded);
    load.tenant = SLICE_LITERAL(SCENE_TENANT);
    loaded = scene_load(scene, &load);
    assert_int_equal(loaded.count, 1);
    loaded_done(&loaded);
}

static Op lines_op(Scene *scene, const Job *pattern, Slice body, uint64_t count)
{
    Op op = scene_op(OP_ADD_LINES, 0);
    op.job = pattern;
    op.body = body;
    op.count = count;
    op.first = id_take(&scene->ids, SCENE_WALL, count);
    return op;
}

/* S2.36: each line is a payload; ids follow from the first. */
static void lines_become_jobs(Scene *scene)
{
    Job *pattern = scene_job(scene, "q");
    pattern->tags = (Slice){ "bulk\0", 5 };
    Op op = lines_op(scene, pattern, SLICE_LITERAL("one\n\ntwo\nthree"), 3);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    for (uint64_t i = 0; i < 3; i++) {
        static const char *const lines[] = { "one", "two", "three" };
        Job job = scene_must_get(scene, id_from_count(op.first + i, SCENE_NODE));
        assert_true(slice_is(job.payload, lines[i]));
        assert_int_equal(job.tags.bytes, 5);
    }
    assert_int_equal(scene_count(scene, "q", JOB_READY), 3);
    assert_int_equal(scene_do(scene, &op), OP_EXISTS);
    assert_int_equal(scene_count(scene, "q", JOB_READY), 3);
}

/* S2.93: bulk data is split out of the jobs table, and no one notices. */
static void many_and_large_lines_become_jobs(Scene *scene)
{
    Buf body = { 0 };
    for (int i = 0; i < 200; i++) {
        buf_printf(&body, "line %d", i);
        for (int k = 0; i == 150 && k < STORE_PAYLOAD_SMALL; k++)
            buf_add_char(&body, 'x');
        buf_add_char(&body, '\n');
    }
    Job *pattern = scene_job(scene, "q");
    Op op = lines_op(scene, pattern, buf_slice(&body), 200);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_int_equal(scene_count(scene, "q", JOB_READY), 200);
    Job large = scene_must_get(scene, id_from_count(op.first + 150, SCENE_NODE));
    assert_int_equal(large.payload.bytes, 8 + STORE_PAYLOAD_SMALL);
    Job last = scene_must_get(scene, id_from_count(op.first + 199, SCENE_NODE));
    assert_true(slice_is(last.payload, "line 199"));
    Loaded loaded = scene_load(scene, &(Load){ .kind = LOAD_WINDOW,
                                               .tenant = SLICE_LITERAL(SCENE_TENANT),
                                               .queue = SLICE_LITERAL("q"),
                                               .limit = 200 });
    assert_int_equal(loaded.count, 200);
    assert_false(loaded.more);
    assert_true(slice_is(loaded.jobs[149].payload, "line 149"));
    assert_int_equal(loaded.jobs[150].payload.bytes, 0);
    assert_true(loaded.jobs[150].flags & JOB_PAYLOAD_APART);
    assert_false(loaded.jobs[151].flags & JOB_PAYLOAD_APART);
    loaded_done(&loaded);
    assert_int_equal(scene_do(scene, &op), OP_EXISTS);
    Op remove = scene_op(OP_REMOVE, large.id);
    assert_int_equal(scene_do(scene, &remove), OP_APPLIED);
    assert_int_equal(scene_count(scene, "q", JOB_READY), 199);
    buf_done(&body);
}

/* Neighbours that go in one commit do not take others with them. */
static void a_bulk_ends_in_pieces(Scene *scene)
{
    enum { JOBS = 100 };
    static const JobState ends[] = { JOB_DONE, JOB_DONE, JOB_READY, JOB_FAILED,
                                     JOB_DONE };
    Buf body = { 0 };
    for (int i = 0; i < JOBS; i++)
        buf_printf(&body, "line %d\n", i);
    Op lines = lines_op(scene, scene_job(scene, "q"), buf_slice(&body), JOBS);
    assert_int_equal(scene_do(scene, &lines), OP_APPLIED);
    Batch batch = { .node = SCENE_NODE };
    OpResult results[2 * JOBS];
    for (uint64_t i = 0; i < JOBS; i++) {
        JobId id = id_from_count(lines.first + i, SCENE_NODE);
        if (ends[i % 5] == JOB_READY)
            continue;
        *batch_op(&batch, OP_CLAIM, id) = scene_claim(scene, id, 1);
        *batch_op(&batch, OP_FINISH, id) = scene_finish(scene, id, 1, ends[i % 5]);
    }
    scene_commit(scene, &batch, 1, results);
    for (size_t i = 0; i < batch.count; i++)
        assert_int_equal(results[i], OP_APPLIED);
    for (uint64_t i = 0; i < JOBS; i++)
        scene_expect_state(scene, id_from_count(lines.first + i, SCENE_NODE),
                           ends[i % 5]);
    assert_int_equal(scene_count(scene, "q", JOB_READY), JOBS / 5);
    batch_done(&batch);
    buf_done(&body);
}

/* --- Running ------------------------------------------------------------------------ */

/* S1.49, S1.52, S1.53, S1.54, S1.55, S1.56, S1.57, S1.58, S2.16, S2.17, S2.23, S2.86: a
 * claim takes a ready job that no one has, once; it is then out of the order and carries
 * owner, lease and times. */
static void a_claim_takes_a_ready_job_once(Scene *scene)
{
    JobId id = scene_add_ready(scene, "q");
    JobId next = scene_add_ready(scene, "q");
    Op op = scene_claim(scene, id, 1);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    Job job = scene_must_get(scene, id);
    assert_int_equal(job.state, JOB_RUNNING);
    assert_int_equal(job.attempt, 1);
    assert_int_equal(job.retry_number, 0);
    assert_true(slice_is(job.lock, SCENE_SYSID));
    assert_true(slice_is(job.node, SCENE_SYSID));
    assert_int_equal(job.dt_ms, SCENE_WALL + 31000);
    assert_int_equal(job.started_ms, op.at_ms);
    assert_int_equal(job.beat_ms, op.at_ms);
    assert_int_equal(job.finished_ms, 0);
    scene_expect_window(scene, "q", &next, 1);
    assert_int_equal(scene_count(scene, "q", JOB_RUNNING), 1);
    Op other = scene_claim(scene, id, 2);
    other.lock = SLICE_LITERAL(SCENE_OTHER);
    assert_int_equal(scene_do(scene, &other), OP_LOST);
    other = scene_claim(scene, id + 1000, 1);
    assert_int_equal(scene_do(scene, &other), OP_MISSING);
    other = scene_claim(scene, next, 2); /* not the next attempt of it */
    assert_int_equal(scene_do(scene, &other), OP_LOST);
    Loaded mine = scene_load(
        scene, &(Load){ .kind = LOAD_RUNNING, .lock = SLICE_LITERAL(SCENE_SYSID) });
    assert_int_equal(mine.count, 1);
    assert_int_equal(mine.jobs[0].id, id);
    loaded_done(&mine);
    Loaded others = scene_load(
        scene, &(Load){ .kind = LOAD_RUNNING, .lock = SLICE_LITERAL(SCENE_OTHER) });
    assert_int_equal(others.count, 0);
    loaded_done(&others);
}

/* S1.10, S1.28, S2.24: the owner refreshes what it runs, and nothing else. */
static void a_heartbeat_renews_the_owners_leases(Scene *scene)
{
    JobId mine = scene_add_running(scene);
    JobId paused = scene_add_in(scene, JOB_PAUSED);
    JobId ready = scene_add_ready(scene, "q");
    JobId other = scene_add_ready(scene, "q");
    Op claim = scene_claim(scene, other, 1);
    claim.lock = SLICE_LITERAL(SCENE_OTHER);
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
    Op beat = scene_op(OP_BEAT, 0);
    beat.lock = SLICE_LITERAL(SCENE_SYSID);
    beat.at_ms = SCENE_WALL + 9000;
    beat.dt_ms = SCENE_WALL + 39000;
    assert_int_equal(scene_do(scene, &beat), OP_APPLIED);
    assert_int_equal(scene_must_get(scene, mine).dt_ms, beat.dt_ms);
    assert_int_equal(scene_must_get(scene, mine).beat_ms, beat.at_ms);
    assert_int_equal(scene_must_get(scene, paused).dt_ms, beat.dt_ms);
    assert_int_equal(scene_must_get(scene, ready).dt_ms, SCENE_WALL);
    assert_int_equal(scene_must_get(scene, other).dt_ms, claim.dt_ms);
    beat.lock = SLICE_LITERAL("nobody");
    assert_int_equal(scene_do(scene, &beat), OP_APPLIED);
}

static void progress_is_kept_while_it_runs(Scene *scene)
{
    JobId id = scene_add_running(scene);
    Op op = scene_op(OP_PROGRESS, id);
    op.attempt = 1;
    op.lock = SLICE_LITERAL(SCENE_SYSID);
    op.progress = 40;
    op.message = SLICE_LITERAL("page 4 of 10");
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_int_equal(scene_must_get(scene, id).progress, 40);
    assert_true(slice_is(scene_must_get(scene, id).message, "page 4 of 10"));
    op.progress = -1;
    op.message = (Slice){ NULL, 0 };
    op.flags = JOB_CANCELLING;
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_int_equal(scene_must_get(scene, id).progress, 40);
    assert_true(scene_must_get(scene, id).flags & JOB_CANCELLING);
    op.attempt = 2;
    assert_int_equal(scene_do(scene, &op), OP_LOST);
    Op finish = scene_finish(scene, id, 1, JOB_CANCELLED);
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    assert_false(scene_must_get(scene, id).flags & JOB_CANCELLING);
    op.attempt = 1;
    assert_int_equal(scene_do(scene, &op), OP_LOST);
}

/* S1.22 to S1.24, S2.20, S2.26, S2.27, S2.90, S2.91: done means archived: 1000 years
 * ahead, owned by __done, not eligible, still there with its result. */
static void a_finished_job_is_archived(Scene *scene)
{
    JobId id = scene_add_running(scene);
    Op op = scene_finish(scene, id, 1, JOB_DONE);
    op.result = SLICE_LITERAL("42");
    op.message = SLICE_LITERAL("all done");
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    Job job = scene_must_get(scene, id);
    assert_int_equal(job.state, JOB_DONE);
    assert_int_equal(job.finished_ms, op.at_ms);
    assert_int_equal(job.dt_ms, op.at_ms + MS_PER_1000_YEARS);
    assert_true(slice_is(job.lock, LOCK_DONE));
    assert_true(slice_is(job.node, SCENE_SYSID));
    assert_true(slice_is(job.payload, "hello"));
    assert_int_equal(job.outcome.exitcode, 200);
    assert_int_equal(job.outcome.exit_status, 0);
    assert_int_equal(job.result_bytes, 2);
    assert_true(slice_is(scene_result(scene, id), "42"));
    scene_expect_window(scene, "q", NULL, 0);
    assert_int_equal(scene_count(scene, "q", JOB_RUNNING), 0);
    assert_int_equal(scene_count(scene, "q", JOB_DONE), 1);
    Loaded attempts = scene_attempts(scene, id);
    assert_int_equal(attempts.count, 1);
    assert_int_equal(attempts.jobs[0].state, JOB_DONE);
    assert_int_equal(attempts.jobs[0].started_ms, SCENE_WALL + 1000);
    assert_int_equal(attempts.jobs[0].finished_ms, SCENE_WALL + 2000);
    loaded_done(&attempts);
    assert_null(scene_result(scene, id + 1).data);
}

/* S1.25, S1.27, S1.47, S2.21, S2.88: again after a delay, with the attempt kept and the
 * retry counted; S1.30: and in the end rejected. */
static void a_failed_attempt_is_kept_and_tried_again(Scene *scene)
{
    JobId id = scene_add_running(scene);
    Op finish = scene_finish(scene, id, 1, JOB_RETRYING);
    finish.retry_number = 1;
    finish.error = SLICE_LITERAL("exit 1");
    finish.result = SLICE_LITERAL("half");
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    Job job = scene_must_get(scene, id);
    assert_int_equal(job.state, JOB_RETRYING);
    assert_int_equal(job.dt_ms, SCENE_WALL + 7000);
    assert_int_equal(job.lock.bytes, 0);
    assert_int_equal(job.retry_number, 1);
    Op ready = scene_move(scene, id, JOB_READY);
    ready.dt_ms = job.dt_ms;
    assert_int_equal(scene_do(scene, &ready), OP_APPLIED);
    Loaded one = scene_attempts(scene, id);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.jobs[0].state, JOB_RETRYING);
    loaded_done(&one);
    Op claim = scene_claim(scene, id, 2);
    claim.at_ms = SCENE_WALL + 8000;
    claim.count = 2;
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
    job = scene_must_get(scene, id);
    assert_int_equal(job.error.bytes, 0);
    assert_int_equal(job.outcome.code, CODE_NONE);
    assert_int_equal(job.finished_ms, 0);
    finish = scene_finish(scene, id, 2, JOB_REJECTED);
    finish.retry_number = 2;
    finish.error = SLICE_LITERAL("exit 1 again");
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    assert_null(scene_result(scene, id).data); /* that of the first attempt is gone */
    Loaded two = scene_attempts(scene, id);
    assert_int_equal(two.count, 2);
    assert_int_equal(two.jobs[0].attempt, 1);
    assert_int_equal(two.jobs[0].retry_number, 0);
    assert_true(slice_is(two.jobs[0].error, "exit 1"));
    assert_int_equal(two.jobs[0].outcome.code, CODE_ERROR);
    assert_int_equal(two.jobs[1].attempt, 2);
    assert_int_equal(two.jobs[1].retry_number, 1);
    assert_int_equal(two.jobs[1].state, JOB_REJECTED);
    assert_int_equal(two.jobs[1].started_ms, SCENE_WALL + 8000);
    loaded_done(&two);
}

/* S2.89: given back, as if it had never been taken; only the attempt counts. */
static void a_job_given_back_is_ready_at_once(Scene *scene)
{
    JobId first = scene_add_running(scene);
    JobId second = scene_add_ready(scene, "q");
    Op op = scene_finish(scene, first, 1, JOB_READY);
    op.dt_ms = SCENE_WALL;
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    const JobId order[] = { first, second };
    scene_expect_window(scene, "q", order, 2);
    Op claim = scene_claim(scene, first, 2);
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
}

/* S1.29, S1.50, S2.25, S2.87: a lock whose owner is silent is broken by another; what
 * the old owner says later is late and changes nothing. */
static void a_broken_lock_makes_the_old_owner_late(Scene *scene)
{
    JobId id = scene_add_ready(scene, "q");
    Op claim = scene_claim(scene, id, 1);
    claim.lock = SLICE_LITERAL(SCENE_OTHER);
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
    Op broken = scene_finish(scene, id, 1, JOB_READY);
    broken.lock = SLICE_LITERAL(SCENE_OTHER);
    broken.error = SLICE_LITERAL("its node is silent");
    assert_int_equal(scene_do(scene, &broken), OP_APPLIED);
    Op again = scene_claim(scene, id, 2);
    assert_int_equal(scene_do(scene, &again), OP_APPLIED);
    Op late = scene_finish(scene, id, 1, JOB_DONE);
    late.lock = SLICE_LITERAL(SCENE_OTHER);
    assert_int_equal(scene_do(scene, &late), OP_LOST);
    late.lock = SLICE_LITERAL(SCENE_SYSID); /* right owner, old attempt */
    assert_int_equal(scene_do(scene, &late), OP_LOST);
    scene_expect_state(scene, id, JOB_RUNNING);
    Op finish = scene_finish(scene, id, 2, JOB_DONE);
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    assert_int_equal(scene_do(scene, &finish), OP_LOST);
    late.attempt = 2;
    late.to = JOB_FAILED;
    assert_int_equal(scene_do(scene, &late), OP_LOST);
    scene_expect_state(scene, id, JOB_DONE);
}

static void pausing_keeps_slot_and_lease(Scene *scene)
{
    JobId id = scene_add_running(scene);
    Op op = scene_op(OP_PAUSE, id);
    op.attempt = 1;
    op.lock = SLICE_LITERAL(SCENE_SYSID);
    op.to = JOB_PAUSED;
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    Job job = scene_must_get(scene, id);
    assert_int_equal(job.state, JOB_PAUSED);
    assert_int_equal(job.dt_ms, SCENE_WALL + 31000);
    assert_true(slice_is(job.lock, SCENE_SYSID));
    assert_int_equal(scene_do(scene, &op), OP_CONFLICT);
    op.to = JOB_RUNNING;
    op.dt_ms = SCENE_WALL + 60000;
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_int_equal(scene_must_get(scene, id).dt_ms, SCENE_WALL + 60000);
    op.to = JOB_DONE;
    assert_int_equal(scene_do(scene, &op), OP_CONFLICT);
    op.lock = SLICE_LITERAL(SCENE_OTHER);
    assert_int_equal(scene_do(scene, &op), OP_LOST);
}

/* --- Waiting ------------------------------------------------------------------------ */

/* Order inside a lane: priority, then dt, then id (S1.51). */
static void a_lane_gives_out_in_order(Scene *scene)
{
    static const struct {
        int64_t priority;
        int64_t dt_ms;
    } rows[] = { { 5, 30 }, { 5, 10 }, { -7, 0 }, { 5, 10 }, { 4294967296LL, 99 } };
    static const size_t order[] = { 4, 1, 3, 0, 2 };
    JobId ids[5];
    JobId expected[5];
    for (size_t i = 0; i < 5; i++) {
        Job *job = scene_job(scene, "q");
        job->priority = rows[i].priority;
        job->dt_ms = rows[i].dt_ms;
        ids[i] = scene_add(scene, job);
    }
    for (size_t i = 0; i < 5; i++)
        expected[i] = ids[order[i]];
    scene_expect_window(scene, "q", expected, 5);
    /* Page by page, behind the last key. */
    Load load = { .kind = LOAD_WINDOW,
                  .tenant = SLICE_LITERAL(SCENE_TENANT),
                  .queue = SLICE_LITERAL("q"),
                  .limit = 2 };
    for (size_t at = 0; at < 5; at += 2) {
        Loaded loaded = scene_load(scene, &load);
        assert_int_equal(loaded.count, at < 4 ? 2 : 1);
        assert_int_equal(loaded.more, at < 3);
        for (size_t i = 0; i < loaded.count; i++)
            assert_true(loaded.jobs[i].id == expected[at + i]);
        const Job *last = &loaded.jobs[loaded.count - 1];
        load.behind = true;
        load.priority = last->priority;
        load.dt_ms = last->dt_ms;
        load.behind_id = last->id;
        loaded_done(&loaded);
    }
}

/* S2.84, S2.77: every lane that has something to give out, by its head. */
static void each_lane_shows_its_head(Scene *scene)
{
    JobId normal = scene_add_ready(scene, "q");
    scene_add_ready(scene, "q");
    Job *pull = scene_job(scene, "q");
    pull->flags = JOB_PULL;
    scene_add(scene, pull);
    JobId other = scene_add_ready(scene, "other");
    Job *held = scene_job(scene, "held-only");
    held->state = JOB_HELD;
    scene_add(scene, held);
    Loaded heads = scene_load(scene, &(Load){ .kind = LOAD_LANES });
    assert_int_equal(heads.count, 3);
    for (size_t i = 0; i < heads.count; i++)
        assert_true(heads.jobs[i].id == normal || heads.jobs[i].id == pull->id ||
                    heads.jobs[i].id == other);
    loaded_done(&heads);
    Load load = { .kind = LOAD_WINDOW,
                  .tenant = SLICE_LITERAL(SCENE_TENANT),
                  .queue = SLICE_LITERAL("q"),
                  .pull = true };
    Loaded window = scene_load(scene, &load);
    assert_int_equal(window.count, 1);
    assert_true(window.jobs[0].id == pull->id);
    loaded_done(&window);
    load.queue = SLICE_LITERAL("never used");
    window = scene_load(scene, &load);
    assert_int_equal(window.count, 0);
    loaded_done(&window);
}

/* S2.7: types that are segregated wait in lanes of their own, but count with their queue.
 */
static void segregated_types_have_lanes_of_their_own(Scene *scene)
{
    static const Slice types[] = { { "one", 3 }, { "two", 3 } };
    JobId ids[2];
    JobId plain = scene_add_ready(scene, "q");
    for (size_t i = 0; i < 2; i++) {
        Job *job = scene_job(scene, "q");
        job->type = types[i];
        job->flags = JOB_SEGREGATED;
        ids[i] = scene_add(scene, job);
    }
    Loaded heads = scene_load(scene, &(Load){ .kind = LOAD_LANES });
    assert_int_equal(heads.count, 3);
    loaded_done(&heads);
    scene_expect_window(scene, "q", &plain, 1);
    Load load = { .kind = LOAD_WINDOW,
                  .tenant = SLICE_LITERAL(SCENE_TENANT),
                  .queue = SLICE_LITERAL("q") };
    for (size_t i = 0; i < 2; i++) {
        load.key = types[i];
        Loaded window = scene_load(scene, &load);
        assert_int_equal(window.count, 1);
        assert_true(window.jobs[0].id == ids[i]);
        assert_true(window.jobs[0].flags & JOB_SEGREGATED);
        loaded_done(&window);
    }
    load.key = SLICE_LITERAL("three");
    Loaded none = scene_load(scene, &load);
    assert_int_equal(none.count, 0);
    loaded_done(&none);
}

/* S2.116, S2.93: what a job ended with can be asked without its data. */
static void a_bare_job_comes_without_its_payload(Scene *scene)
{
    static char large[STORE_PAYLOAD_SMALL + 1];
    memset(large, 'x', sizeof large);
    const Slice payloads[] = { { "small", 5 }, { large, sizeof large } };
    for (size_t i = 0; i < 2; i++) {
        Job *job = scene_job(scene, "q");
        job->payload = payloads[i];
        Load load = { .kind = LOAD_JOB, .id = scene_add(scene, job), .bare = true };
        Loaded loaded = scene_load(scene, &load);
        assert_int_equal(loaded.count, 1);
        assert_int_equal(loaded.jobs[0].payload.bytes, 0);
        assert_int_equal(loaded.jobs[0].state, JOB_READY);
        loaded_done(&loaded);
    }
}

static void what_is_due_comes_oldest_first(Scene *scene)
{
    JobId ids[4];
    for (size_t i = 0; i < 4; i++) {
        Job *job = scene_job(scene, "q");
        job->state = JOB_DEFERRED;
        job->dt_ms = SCENE_WALL + 100 - (int64_t)i * 10;
        ids[i] = scene_add(scene, job);
    }
    JobId retrying = scene_add_running(scene);
    Op finish = scene_finish(scene, retrying, 1, JOB_RETRYING);
    finish.dt_ms = SCENE_WALL + 75;
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    Load load = { .kind = LOAD_DUE, .dt_ms = SCENE_WALL + 80 };
    Loaded due = scene_load(scene, &load); /* itself included */
    assert_int_equal(due.count, 3);
    assert_true(due.jobs[0].id == ids[3]);
    assert_true(due.jobs[1].id == retrying);
    assert_true(due.jobs[2].id == ids[2]);
    assert_false(due.more);
    assert_int_equal(due.next_due_ms, SCENE_WALL + 90);
    loaded_done(&due);
    load.limit = 1;
    due = scene_load(scene, &load);
    assert_int_equal(due.count, 1);
    assert_true(due.more);
    assert_int_equal(due.next_due_ms, SCENE_WALL + 75);
    loaded_done(&due);
    Op ready = scene_move(scene, ids[3], JOB_READY);
    ready.from = STATE_BIT(JOB_DEFERRED);
    assert_int_equal(scene_do(scene, &ready), OP_APPLIED);
    assert_int_equal(scene_do(scene, &ready), OP_CONFLICT);
    due = scene_load(scene, &(Load){ .kind = LOAD_DUE, .dt_ms = 0 });
    assert_int_equal(due.count, 0);
    assert_int_equal(due.next_due_ms, SCENE_WALL + 75);
    loaded_done(&due);
}

static JobId add_blocked(Scene *scene, const char *tenant, const char *type,
                         int64_t dt_ms)
{
    Job *job = scene_job(scene, "q");
    job->tenant = slice_text(tenant);
    job->type = slice_text(type);
    job->state = JOB_BLOCKED;
    job->dt_ms = dt_ms;
    return scene_add(scene, job);
}

/* S2.83: found by tenant and type when their handler comes, and when their time is up. */
static void jobs_that_wait_for_a_handler_are_found(Scene *scene)
{
    JobId first = add_blocked(scene, SCENE_TENANT, "resize", SCENE_WALL + 90);
    JobId second = add_blocked(scene, SCENE_TENANT, "resize", SCENE_WALL + 70);
    JobId mail = add_blocked(scene, SCENE_TENANT, "mail", SCENE_WALL + 80);
    add_blocked(scene, "other", "resize", SCENE_WALL + 1000);
    Job *ready = scene_job(scene, "q");
    ready->type = SLICE_LITERAL("resize");
    scene_add(scene, ready);
    Load load = { .kind = LOAD_BLOCKED,
                  .tenant = SLICE_LITERAL(SCENE_TENANT),
                  .key = SLICE_LITERAL("resize") };
    Loaded loaded = scene_load(scene, &load); /* by id, whenever their time is up */
    assert_int_equal(loaded.count, 2);
    assert_false(loaded.more);
    assert_true(loaded.jobs[0].id == first);
    assert_true(loaded.jobs[1].id == second);
    loaded_done(&loaded);
    load.limit = 1;
    loaded = scene_load(scene, &load);
    assert_int_equal(loaded.count, 1);
    assert_true(loaded.more);
    loaded_done(&loaded);
    load.key = SLICE_LITERAL("never used");
    loaded = scene_load(scene, &load);
    assert_int_equal(loaded.count, 0);
    loaded_done(&loaded);
    Loaded due = scene_load(scene, &(Load){ .kind = LOAD_DUE, .dt_ms = SCENE_WALL + 80 });
    assert_int_equal(due.count, 2);
    assert_true(due.jobs[0].id == second);
    assert_true(due.jobs[1].id == mail);
    assert_int_equal(due.next_due_ms, SCENE_WALL + 90);
    loaded_done(&due);
}

/* What a handler says for a job that came before it. */
static void a_job_takes_what_its_first_handler_says(Scene *scene)
{
    JobId id = add_blocked(scene, SCENE_TENANT, "resize", SCENE_WALL + 90);
    Job says = scene_must_get(scene, id);
    Buf before = { 0 };
    Buf after = { 0 };
    says.flags = JOB_KEEP_STATE;
    says.queue = SLICE_LITERAL("pictures");
    says.priority = 9;
    says.max_run_ms = 1000;
    says.service_ms = 500;
    says.max_retries = 2;
    says.retry_delay_ms = 30;
    says.retry_window_ms = 40;
    says.then = SLICE_LITERAL("publish");
    says.on_error = SLICE_LITERAL("alarm");
    says.children = SLICE_LITERAL("immediate");
    says.user = SLICE_LITERAL("nobody");
    says.resources = (Slice){ "k=1\0", 4 };
    Op free = scene_move(scene, id, JOB_READY);
    free.fields = FIELD_HANDLER;
    free.job = &says;
    assert_int_equal(scene_do(scene, &free), OP_APPLIED);
    Job job = scene_must_get(scene, id);
    says.state = JOB_READY;
    says.dt_ms = job.dt_ms;
    job_pack(&before, &says);
    job_pack(&after, &job);
    assert_true(slice_equal(buf_slice(&before), buf_slice(&after)));
    buf_done(&before);
    buf_done(&after);
    scene_expect_window(scene, "pictures", &id, 1);
}

static void a_held_job_keeps_its_place(Scene *scene)
{
    JobId first = scene_add_ready(scene, "q");
    JobId second = scene_add_ready(scene, "q");
    Op hold = scene_move(scene, first, JOB_HELD);
    hold.reason = SLICE_LITERAL("by hand");
    assert_int_equal(scene_do(scene, &hold), OP_APPLIED);
    scene_expect_window(scene, "q", &second, 1);
    assert_true(slice_is(scene_must_get(scene, first).reason, "by hand"));
    Op claim = scene_claim(scene, first, 1);
    assert_int_equal(scene_do(scene, &claim), OP_CONFLICT);
    Op release = scene_move(scene, first, JOB_READY);
    assert_int_equal(scene_do(scene, &release), OP_APPLIED);
    assert_int_equal(scene_must_get(scene, first).reason.bytes, 0);
    const JobId order[] = { first, second };
    scene_expect_window(scene, "q", order, 2);
}

static void fields_change_while_it_waits(Scene *scene)
{
    JobId id = scene_add_ready(scene, "q");
    Op op = scene_move(scene, id, JOB_DEFERRED);
    op.fields = FIELD_PRIORITY | FIELD_QUEUE | FIELD_PAYLOAD | FIELD_TAGS |
                FIELD_MAX_RUN | FIELD_RUN_AT;
    op.priority = 9;
    op.queue = SLICE_LITERAL("p");
    op.tags = (Slice){ "new\0", 4 };
    op.max_run_ms = 1234;
    op.dt_ms = SCENE_WALL + 50000;
    Buf large = { 0 };
    for (size_t i = 0; i < STORE_PAYLOAD_SMALL + 1; i++)
        buf_add_char(&large, (char)('a' + i % 26));
    op.payload = buf_slice(&large);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    Job job = scene_must_get(scene, id);
    assert_int_equal(job.priority, 9);
    assert_true(slice_is(job.queue, "p"));
    assert_true(slice_equal(job.payload, buf_slice(&large)));
    assert_int_equal(job.tags.bytes, 4);
    assert_int_equal(job.max_run_ms, 1234);
    assert_int_equal(job.run_at_ms, SCENE_WALL + 50000);
    assert_int_equal(job.dt_ms, SCENE_WALL + 50000);
    assert_int_equal(scene_count(scene, "q", JOB_READY), 0);
    assert_int_equal(scene_count(scene, "p", JOB_DEFERRED), 1);
    op.fields = FIELD_PAYLOAD;
    op.payload = SLICE_LITERAL("small again");
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_true(slice_is(scene_must_get(scene, id).payload, "small again"));
    assert_int_equal(scene_must_get(scene, id).tags.bytes, 4);
    buf_done(&large);
}

/* A final state is left only by an operator's retry; attempts stay on record. */
static void an_operator_may_try_a_final_job_again(Scene *scene)
{
    JobId id = scene_add_in(scene, JOB_FAILED);
    Op op = scene_move(scene, id, JOB_READY);
    assert_int_equal(scene_do(scene, &op), OP_CONFLICT);
    op.fields = FIELD_RETRY;
    op.window_from_ms = SCENE_WALL + 90000;
    op.dt_ms = SCENE_WALL + 90000;
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    Job job = scene_must_get(scene, id);
    assert_int_equal(job.state, JOB_READY);
    assert_int_equal(job.retry_number, 0);
    assert_int_equal(job.window_from_ms, SCENE_WALL + 90000);
    assert_int_equal(job.lock.bytes, 0);
    assert_int_equal(job.attempt, 1);
    scene_expect_window(scene, "q", &id, 1);
    assert_int_equal(scene_count(scene, "q", JOB_FAILED), 0);
    assert_int_equal(scene_count(scene, "q", JOB_READY), 1);
    Op claim = scene_claim(scene, id, 2);
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
    Op finish = scene_finish(scene, id, 2, JOB_DONE);
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    Loaded attempts = scene_attempts(scene, id);
    assert_int_equal(attempts.count, 2);
    assert_int_equal(attempts.jobs[0].state, JOB_FAILED);
    assert_int_equal(attempts.jobs[1].state, JOB_DONE);
    loaded_done(&attempts);
}

static void a_cancelled_job_keeps_its_last_attempt(Scene *scene)
{
    JobId id = scene_add_running(scene);
    Op finish = scene_finish(scene, id, 1, JOB_RETRYING);
    finish.error = SLICE_LITERAL("first");
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    Op cancel = scene_move(scene, id, JOB_CANCELLED);
    cancel.at_ms = SCENE_WALL + 3000;
    cancel.reason = SLICE_LITERAL("enough");
    assert_int_equal(scene_do(scene, &cancel), OP_APPLIED);
    Job job = scene_must_get(scene, id);
    assert_int_equal(job.finished_ms, SCENE_WALL + 3000);
    assert_int_equal(job.dt_ms, SCENE_WALL + 3000 + MS_PER_1000_YEARS);
    assert_true(slice_is(job.reason, "enough"));
    Loaded attempts = scene_attempts(scene, id);
    assert_int_equal(attempts.count, 1);
    assert_int_equal(attempts.jobs[0].finished_ms, SCENE_WALL + 2000);
    assert_int_equal(attempts.jobs[0].state, JOB_RETRYING);
    loaded_done(&attempts);
    JobId never = scene_add_ready(scene, "q"); /* never ran: ended all the same */
    cancel.id = never;
    assert_int_equal(scene_do(scene, &cancel), OP_APPLIED);
    assert_int_equal(scene_must_get(scene, never).finished_ms, SCENE_WALL + 3000);
    attempts = scene_attempts(scene, never);
    assert_int_equal(attempts.count, 0);
    loaded_done(&attempts);
}

const SceneRow scenes_of_jobs[] = {
    SCENE(an_added_job_is_found_as_it_was),
    SCENE(an_id_is_added_once),
    SCENE(a_job_of_another_tenant_is_not_found),
    SCENE(lines_become_jobs),
    SCENE(many_and_large_lines_become_jobs),
    SCENE(a_bulk_ends_in_pieces),
    SCENE(a_claim_takes_a_ready_job_once),
    SCENE(a_heartbeat_renews_the_owners_leases),
    SCENE(progress_is_kept_while_it_runs),
    SCENE(a_finished_job_is_archived),
    SCENE(a_failed_attempt_is_kept_and_tried_again),
    SCENE(a_job_given_back_is_ready_at_once),
    SCENE(a_broken_lock_makes_the_old_owner_late),
    SCENE(pausing_keeps_slot_and_lease),
    SCENE(a_lane_gives_out_in_order),
    SCENE(each_lane_shows_its_head),
    SCENE(segregated_types_have_lanes_of_their_own),
    SCENE(a_bare_job_comes_without_its_payload),
    SCENE(what_is_due_comes_oldest_first),
    SCENE(jobs_that_wait_for_a_handler_are_found),
    SCENE(a_job_takes_what_its_first_handler_says),
    SCENE(a_held_job_keeps_its_place),
    SCENE(fields_change_while_it_waits),
    SCENE(an_operator_may_try_a_final_job_again),
    SCENE(a_cancelled_job_keeps_its_last_attempt),
    { NULL, NULL },
};
