/* SPDX-License-Identifier: Apache-2.0 */
/* load_test.c - what the node asks of its store, and what it makes of answers that
 * are late, old or missing. */
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void small_windows(NodeSettings *settings)
{
    settings->slots = 0;
    settings->window_jobs = 4;
}

static JobId add_urgent(Rig *rig, int64_t priority)
{
    Job job = rig_job();
    job.priority = priority;
    return rig_add(rig, &job);
}

static JobId started(const Rig *rig)
{
    const Effect *effect = rig_last(rig, EFFECT_START);
    assert_non_null(effect);
    return effect->id;
}

static void deferred_jobs_start_when_their_time_comes(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.run_at_ms = rig->now.wall_ms + 60000;
    JobId later = rig_add(rig, &job);
    job.run_at_ms = rig->now.wall_ms + 30000;
    JobId sooner = rig_add(rig, &job);
    assert_true(node_next_wake(rig->node) <= rig->now.boot_ms + 30000);
    rig_wait(rig, 29999);
    assert_int_equal(rig_state(rig, sooner), JOB_DEFERRED);
    assert_true(node_next_wake(rig->node) == rig->now.boot_ms + 1);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, sooner), JOB_RUNNING);
    assert_int_equal(rig_last(rig, EFFECT_CHANGED)->wait_ms, 0);
    assert_int_equal(rig_state(rig, later), JOB_DEFERRED);
    rig->now.wall_ms += 30000; /* the clock is set: the tick notices */
    rig_wait(rig, 1000);
    assert_int_equal(rig_state(rig, later), JOB_RUNNING);
    rig_close(rig);
}

static void more_due_jobs_than_one_answer_holds_all_start(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job jobs[50];
    for (int i = 0; i < 50; i++) {
        jobs[i] = rig_job();
        jobs[i].run_at_ms = rig->now.wall_ms + 1000;
    }
    Event event = { .kind = EVENT_ADD, .jobs = jobs, .count = 50 };
    for (int i = 0; i < 25; i++)
        assert_int_equal(rig_send(rig, event), ERR_OK);
    rig_slots(rig, 2000);
    rig_wait(rig, 1000);
    for (int i = 0; i < 5; i++)
        rig_step(rig, NULL, 0);
    assert_int_equal(rig->starts, 1250);
    rig_close(rig);
}

static void deferred_jobs_are_found_again_after_a_restart(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.run_at_ms = rig->now.wall_ms + 5000;
    JobId id = rig_add(rig, &job);
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    assert_int_equal(rig_state(rig, id), JOB_DEFERRED);
    assert_true(node_next_wake(rig->node) <= rig->now.boot_ms + 5000);
    rig_wait(rig, 5000);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

static void a_due_job_that_an_action_leaves_alone_starts_all_the_same(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.run_at_ms = rig->now.wall_ms + 5000;
    JobId id = rig_add(rig, &job);
    rig->hold_answers = true;
    rig_wait(rig, 5000); /* the store is asked for what is due ... */
    assert_int_equal(rig_act(rig, id, ACT_RELEASE), ERR_BUSY); /* ... and for this job */
    rig->hold_answers = false;
    rig_answer(rig);
    assert_int_equal(rig_last(rig, EFFECT_REPLY)->err, ERR_CONFLICT);
    rig_wait(rig, 1000);
    rig_step(rig, NULL, 0);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

static void an_old_answer_does_not_undo_what_happened_since(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.run_at_ms = rig->now.wall_ms + 5000;
    JobId id = rig_add(rig, &job);
    rig->hold_answers = true;
    rig_wait(rig, 5000); /* looked up now: deferred and due */
    RigAnswer due = rig->answers[0];
    rig->answer_count = 0;
    rig->hold_answers = false;
    assert_int_equal(rig_act(rig, id, ACT_CANCEL), ERR_OK);
    /* That the store has come to where the answer was given says nothing new. */
    Event applied = { .kind = EVENT_APPLIED, .number = due.number };
    for (int i = 0; i < 3; i++)
        rig_step(rig, &applied, 1);
    Event late = { .kind = EVENT_LOADED,
                   .token = due.token,
                   .number = due.number,
                   .loaded = due.jobs,
                   .loaded_count = due.count,
                   .next_due_ms = TIME_NEVER };
    rig_step(rig, &late, 1);
    assert_int_equal(rig_state(rig, id), JOB_CANCELLED);
    rig_step(rig, &late, 1); /* an answer twice is an answer once */
    rig_close(rig);
}

static void what_comes_while_a_window_loads_starts_in_its_place(void **state)
{
    (void)state;
    Rig *rig = rig_open(small_windows);
    JobId ids[12];
    for (int i = 0; i < 12; i++)
        ids[i] = add_urgent(rig, 100 - i);
    rig->hold_answers = true;
    rig_slots(rig, 3); /* three of four leave the window: the store is asked */
    for (int i = 0; i < 3; i++)
        assert_int_equal(rig_state(rig, ids[i]), JOB_RUNNING);
    assert_true(rig->answer_count > 0);
    JobId front = add_urgent(rig, 200);
    JobId middle = add_urgent(rig, 95); /* behind what is at hand, as old as ids[5] */
    JobId back = add_urgent(rig, 1);
    assert_int_equal(rig_act(rig, ids[6], ACT_HOLD), ERR_BUSY);
    rig->hold_answers = false;
    rig_answer(rig);
    rig_slots(rig, 0);
    for (int i = 0; i < 3; i++)
        rig_exit(rig, ids[i], 0);
    rig_slots(rig, 1);
    const JobId order[] = { front,  ids[3], ids[4], ids[5],  middle,
                            ids[7], ids[8], ids[9], ids[10], ids[11] };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        assert_true(started(rig) == order[i]);
        rig_exit(rig, order[i], 0);
    }
    assert_true(started(rig) == back);
    assert_int_equal(rig_state(rig, ids[6]), JOB_HELD);
    rig_close(rig);
}

static void a_window_that_could_not_be_loaded_is_asked_for_again(void **state)
{
    (void)state;
    Rig *rig = rig_open(small_windows);
    JobId ids[9];
    for (int i = 0; i < 9; i++)
        ids[i] = rig_add_default(rig);
    rig->store_fails = true;
    rig_slots(rig, 9);
    assert_int_equal(rig->starts, 4);
    rig_wait(rig, 1000);
    rig_wait(rig, 1000);
    assert_int_equal(rig->starts, 4);
    rig->store_fails = false;
    rig_wait(rig, 1000);
    assert_int_equal(rig->starts, 9);
    for (int i = 0; i < 9; i++)
        assert_int_equal(rig_state(rig, ids[i]), JOB_RUNNING);
    rig_close(rig);
}

static void due_jobs_that_could_not_be_asked_for_are_asked_for_again(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.run_at_ms = rig->now.wall_ms + 5000;
    JobId id = rig_add(rig, &job);
    rig->store_fails = true;
    rig_wait(rig, 5000);
    rig->store_fails = false;
    rig_wait(rig, 1000);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

/* B2.12: archived jobs are in fact purged. */
static void final_jobs_go_when_their_time_is_up(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId done = rig_add_default(rig);
    rig_exit(rig, done, 0);
    JobId failed = rig_add_default(rig);
    rig_exit(rig, failed, 64);
    JobId running = rig_add_default(rig);
    rig_forget(rig);
    rig_wait(rig, 14 * MS_PER_DAY);
    assert_non_null(rig_find(rig, done));
    rig_wait(rig, 60000);
    assert_null(rig_find(rig, done));
    assert_int_equal(rig_count(rig, EFFECT_ERASE, done), 1);
    assert_int_equal(rig_last(rig, EFFECT_ERASE)->attempt, 1);
    assert_non_null(rig_find(rig, failed));
    rig_wait(rig, 16 * MS_PER_DAY);
    rig_wait(rig, 60000);
    assert_null(rig_find(rig, failed));
    assert_int_equal(rig_state(rig, running), JOB_RUNNING);
    rig_close(rig);
}

static void a_purge_of_many_goes_in_small_steps(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 3000);
    Buf body = { 0 };
    for (int i = 0; i < 1200; i++)
        buf_add_text(&body, "x\n");
    Job pattern = rig_job();
    Event add = {
        .kind = EVENT_ADD_LINES, .jobs = &pattern, .count = 1200, .body = buf_slice(&body)
    };
    assert_int_equal(rig_send(rig, add), ERR_OK);
    for (size_t i = 0; i < rig->count; i++)
        rig_exit(rig, rig->jobs[i].id, 0);
    rig_wait(rig, 14 * MS_PER_DAY + 60000);
    size_t left = rig->count;
    assert_true(left < 1200);
    assert_true(left >= 700);
    for (int i = 0; i < 3; i++)
        rig_wait(rig, 1000);
    assert_int_equal(rig->count, 0);
    buf_done(&body);
    rig_close(rig);
}

static void a_job_retried_while_it_was_to_be_purged_stays(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = rig_add_default(rig);
    rig_exit(rig, id, 0);
    rig_wait(rig, 14 * MS_PER_DAY);
    rig->hold_answers = true;
    rig_wait(rig, 60000); /* looked up: it is old */
    RigAnswer *answers = rig->answers;
    size_t count = rig->answer_count;
    rig->answers = NULL;
    rig->answer_count = rig->answer_capacity = 0;
    rig->hold_answers = false;
    assert_int_equal(rig_act(rig, id, ACT_RETRY), ERR_OK);
    rig->answers = answers;
    rig->answer_count = rig->answer_capacity = count;
    rig_answer(rig);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

static void a_job_that_someone_acts_on_is_not_purged_meanwhile(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = rig_add_default(rig);
    rig_exit(rig, id, 0);
    rig_wait(rig, 14 * MS_PER_DAY);
    rig->hold_answers = true;
    rig_wait(rig, 60000); /* it is old: asked first, answered first */
    assert_int_equal(rig_act(rig, id, ACT_RETRY), ERR_BUSY);
    rig->hold_answers = false;
    rig_answer(rig);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

#define TICK_MS  1000
#define PURGE_MS 60000

/* The answer to the question for old jobs that were done, held back. */
static RigAnswer *held_soon(Rig *rig, int64_t ms)
{
    rig->hold_answers = true;
    rig_wait(rig, ms);
    rig->hold_answers = false;
    for (size_t i = 0; i < rig->answer_count; i++)
        if (rig->answers[i].count)
            return &rig->answers[i];
    fail_msg("no one asked for old jobs");
    return NULL;
}

static RigAnswer *held_old(Rig *rig)
{
    return held_soon(rig, PURGE_MS);
}

/* A store that lets many go at once has done so: the rest of them follows. */
static void jobs_that_went_as_a_whole_are_swept(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId ids[2];
    for (size_t i = 0; i < 2; i++) {
        ids[i] = rig_add_default(rig);
        rig_exit(rig, ids[i], 0);
    }
    rig_forget(rig);
    rig_wait(rig, 14 * MS_PER_DAY);
    held_old(rig)->gone = true;
    rig_answer(rig);
    assert_int_equal(rig->swept.id, ids[1]);
    assert_int_equal(rig->swept.from, STATE_BIT(JOB_DONE));
    assert_int_equal(rig->drop.kind, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rig_count(rig, EFFECT_ERASE, ids[i]), 1);
        assert_non_null(rig_find(rig, ids[i])); /* the store's own doing */
    }
    rig_close(rig);
}

static void a_store_is_told_what_may_go_as_a_whole(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = rig_add_default(rig);
    rig_exit(rig, id, 0);
    rig_wait(rig, 14 * MS_PER_DAY);
    held_old(rig)->whole = true;
    rig_answer(rig);
    assert_int_equal(rig->drop.from, STATE_BIT(JOB_DONE));
    assert_true(rig->drop.dt_ms == rig->now.wall_ms - 14 * MS_PER_DAY);
    assert_null(rig_find(rig, id)); /* those that came with the answer go one by one */
    rig->drop = (Op){ 0 };
    for (int i = 0; i < 2; i++) { /* it is looked at soon, but said again after a while */
        JobId next = rig_add_default(rig);
        rig_exit(rig, next, 0);
        rig->jobs[0].finished_ms = 0;
        held_soon(rig, i ? PURGE_MS : TICK_MS)->whole = true;
        rig_answer(rig);
        assert_int_equal(rig->drop.kind, i ? OP_DROP : 0);
    }
    rig_close(rig);
}

/* Kept for two weeks or more, jobs may stay for a fourth longer. */
static void only_a_long_time_may_become_longer(void **state)
{
    (void)state;
    static const struct {
        int64_t keep_ms;
        int64_t late_ms;
    } rows[] = {
        { 14 * MS_PER_DAY, 14 * MS_PER_DAY / 4 },
        { 14 * MS_PER_DAY - 1, 0 },
        { 400 * MS_PER_DAY, 100 * MS_PER_DAY },
        { 0, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Rig *rig = rig_open(NULL);
        rig->settings.keep_done_ms = rows[i].keep_ms;
        node_settings_set(rig->node, &rig->settings);
        rig->old_late_ms = -1;
        rig_wait(rig, 60000);
        assert_int_equal(rig->old_late_ms, rows[i].late_ms);
        rig_close(rig);
    }
}

/* S2.41: a node takes small batches of heads out of the store, in order. */
static void the_next_heads_are_those_behind_the_last_one(void **state)
{
    (void)state;
    Rig *rig = rig_open(small_windows);
    Buf body = { 0 };
    for (int i = 0; i < 20; i++)
        buf_printf(&body, "line %d\n", i);
    Job pattern = rig_job();
    Event add = {
        .kind = EVENT_ADD_LINES, .jobs = &pattern, .count = 20, .body = buf_slice(&body)
    };
    assert_int_equal(rig_send(rig, add), ERR_OK);
    uint64_t first = rig_last(rig, EFFECT_REPLY)->first;
    rig->hold_answers = true;
    rig_slots(rig, 3); /* one of four is left: more is asked for */
    bool asked = false;
    for (size_t i = 0; i < rig->answer_count; i++) {
        if (rig->answers[i].count != 4)
            continue;
        asked = true;
        assert_true(rig->answers[i].jobs[0].id == id_from_count(first + 4, 1));
    }
    assert_true(asked);
    buf_done(&body);
    rig_close(rig);
}

static void windows_share_what_there_is(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    Job job = rig_job();
    char queue[] = "q0000";
    for (int i = 0; i < 600; i++) {
        queue[2] = (char)('0' + i / 100);
        queue[3] = (char)('0' + i / 10 % 10);
        queue[4] = (char)('0' + i % 10);
        job.queue = slice_text(queue);
        rig_add(rig, &job);
    }
    assert_int_equal(node_facts(rig->node).lanes, 600);
    assert_int_equal(node_facts(rig->node).lanes_ready, 600);
    rig_slots(rig, 600); /* one pass, one of each */
    assert_int_equal(rig->starts, 600);
    rig_close(rig);
}

/* Only jobs that may start soon are worth being kept at hand. */
static void jobs_behind_the_window_are_not_near(void **state)
{
    (void)state;
    Rig *rig = rig_open(small_windows);
    for (int i = 0; i < 10; i++) {
        rig_add_default(rig);
        assert_int_equal(rig->out.adds.count, 1);
        assert_int_equal(rig->out.adds.ops[0].near, i <= 4); /* the fifth is cut again */
    }
    add_urgent(rig, 9); /* before all others */
    assert_true(rig->out.adds.ops[0].near);
    Job job = rig_job();
    job.run_at_ms = rig->now.wall_ms + 60000;
    rig_add(rig, &job);
    assert_false(rig->out.adds.ops[0].near);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deferred_jobs_start_when_their_time_comes),
        cmocka_unit_test(more_due_jobs_than_one_answer_holds_all_start),
        cmocka_unit_test(deferred_jobs_are_found_again_after_a_restart),
        cmocka_unit_test(a_due_job_that_an_action_leaves_alone_starts_all_the_same),
        cmocka_unit_test(an_old_answer_does_not_undo_what_happened_since),
        cmocka_unit_test(what_comes_while_a_window_loads_starts_in_its_place),
        cmocka_unit_test(a_window_that_could_not_be_loaded_is_asked_for_again),
        cmocka_unit_test(due_jobs_that_could_not_be_asked_for_are_asked_for_again),
        cmocka_unit_test(final_jobs_go_when_their_time_is_up),
        cmocka_unit_test(a_purge_of_many_goes_in_small_steps),
        cmocka_unit_test(a_job_retried_while_it_was_to_be_purged_stays),
        cmocka_unit_test(a_job_that_someone_acts_on_is_not_purged_meanwhile),
        cmocka_unit_test(jobs_that_went_as_a_whole_are_swept),
        cmocka_unit_test(a_store_is_told_what_may_go_as_a_whole),
        cmocka_unit_test(only_a_long_time_may_become_longer),
        cmocka_unit_test(the_next_heads_are_those_behind_the_last_one),
        cmocka_unit_test(windows_share_what_there_is),
        cmocka_unit_test(jobs_behind_the_window_are_not_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
