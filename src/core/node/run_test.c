/* SPDX-License-Identifier: Apache-2.0 */
/* run_test.c - attempts: who starts when, how they end, what follows. */
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TERM 15
#define KILL 9
#define STOP 19
#define CONT 18

static const Ending lost = { .kind = END_LOST, .progress = -1 };

static void one_slot(NodeSettings *settings)
{
    settings->slots = 1;
}

static void no_slot(NodeSettings *settings)
{
    settings->slots = 0;
}

static JobId add_to(Rig *rig, const char *queue, int64_t priority)
{
    Job job = rig_job();
    job.queue = slice_text(queue);
    job.priority = priority;
    return rig_add(rig, &job);
}

/* The job that the last START was for. */
static JobId started(const Rig *rig)
{
    const Effect *effect = rig_last(rig, EFFECT_START);
    assert_non_null(effect);
    return effect->id;
}

static void a_job_is_added_started_ended_and_done(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = rig_add_default(rig);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    const Effect *start = rig_last(rig, EFFECT_START);
    assert_true(start->id == id);
    assert_int_equal(start->attempt, 1);
    assert_int_equal(start->slot, 1);
    assert_int_equal(start->deadline_ms, 0);
    assert_int_equal(start->wait, WAIT_BATCH);

    rig_wait(rig, 1500);
    Ending ending = { .kind = END_EXITED,
                      .progress = 100,
                      .cut = true,
                      .message = SLICE_LITERAL("all well"),
                      .result = SLICE_LITERAL("42") };
    rig_end(rig, id, &ending);
    const Job *job = rig_find(rig, id);
    assert_int_equal(job->state, JOB_DONE);
    assert_int_equal(job->outcome.code, CODE_OK);
    assert_int_equal(job->outcome.exitcode, 200);
    assert_int_equal(job->outcome.exit_status, 0);
    assert_true(job->finished_ms == rig->now.wall_ms);
    assert_true(slice_is(job->lock, "__done"));
    assert_true(slice_is(job->message, "all well"));
    assert_int_equal(job->result_bytes, 2);
    assert_int_equal(job->progress, 100);
    assert_true(job->flags & JOB_CUT);
    assert_int_equal(job->error.bytes, 0);
    const Effect *changed = rig_last(rig, EFFECT_CHANGED);
    assert_int_equal(changed->was, JOB_RUNNING);
    assert_int_equal(changed->state, JOB_DONE);
    assert_int_equal(changed->run_ms, 1500);
    assert_int_equal(rig_count(rig, EFFECT_FORGET, id), 1);
    assert_int_equal(node_facts(rig->node).slots_used, 0);
    rig_close(rig);
}

static void slots_bound_what_runs(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId ids[5];
    for (int i = 0; i < 5; i++)
        ids[i] = rig_add_default(rig);
    assert_int_equal(rig->starts, 2);
    assert_int_equal(rig_state(rig, ids[2]), JOB_READY);
    rig_exit(rig, ids[1], 0);
    assert_int_equal(rig_state(rig, ids[2]), JOB_RUNNING); /* at once */
    assert_int_equal(rig_last(rig, EFFECT_START)->slot, 2);
    rig_slots(rig, 1); /* lowering never kills */
    assert_int_equal(node_facts(rig->node).slots_used, 2);
    rig_exit(rig, ids[0], 0);
    assert_int_equal(rig->starts, 3);
    rig_slots(rig, 3);
    assert_int_equal(rig->starts, 5);
    assert_int_equal(rig_count(rig, EFFECT_SIGNAL, 0), 0);
    rig_close(rig);
}

static void a_lane_starts_the_most_urgent_then_the_oldest(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    JobId low = add_to(rig, "default", 1);
    JobId first = add_to(rig, "default", 5);
    JobId second = add_to(rig, "default", 5);
    JobId high = add_to(rig, "default", 10);
    rig_slots(rig, 1);
    const JobId order[] = { high, first, second, low };
    for (int i = 0; i < 4; i++) {
        assert_true(started(rig) == order[i]);
        rig_exit(rig, order[i], 0);
    }
    rig_close(rig);
}

static void a_run_of_lines_starts_in_its_order_beyond_the_window(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    rig->settings.window_jobs = 4;
    node_settings_set(rig->node, &rig->settings);
    Buf body = { 0 };
    for (int i = 0; i < 50; i++)
        buf_printf(&body, "payload %d\n", i);
    Job pattern = rig_job();
    Event event = {
        .kind = EVENT_ADD_LINES, .jobs = &pattern, .count = 50, .body = buf_slice(&body)
    };
    assert_int_equal(rig_send(rig, event), ERR_OK);
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    assert_int_equal(reply->count, 50);
    assert_int_equal(reply->wait, WAIT_JOURNAL);
    uint64_t first = reply->first;
    rig_slots(rig, 1);
    for (uint64_t k = 0; k < 50; k++) {
        JobId id = id_from_count(first + k, 1);
        assert_true(started(rig) == id);
        rig_exit(rig, id, 0);
    }
    assert_int_equal(rig->starts, 50);
    buf_done(&body);
    rig_close(rig);
}

static void lanes_take_turns_whatever_their_length(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    JobId jobs[3][4]; /* A is there first and has the most urgent ones */
    for (int lane = 0; lane < 3; lane++)
        for (int i = 0; i < 4; i++)
            jobs[lane][i] =
                add_to(rig, (const char *[]){ "A", "B", "C" }[lane], 9 - lane);
    rig_slots(rig, 1);
    for (int i = 0; i < 4; i++) {
        for (int lane = 0; lane < 3; lane++) {
            assert_true(started(rig) == jobs[lane][i]);
            rig_exit(rig, jobs[lane][i], 0);
        }
    }
    rig_close(rig);
}

static void a_lane_that_empties_gets_no_second_turn_in_a_tour(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    JobId backlog[10];
    for (int i = 0; i < 10; i++)
        backlog[i] = add_to(rig, "backlog", 5);
    rig_slots(rig, 1);
    assert_true(started(rig) == backlog[0]);
    /* "quick" has one job at a time, and its next one is there as soon as it ends. */
    JobId quick = add_to(rig, "quick", 5);
    for (int i = 0; i < 9; i++) {
        rig_exit(rig, backlog[i], 0);
        assert_true(started(rig) == quick);
        Job job = rig_job();
        job.queue = SLICE_LITERAL("quick");
        Event events[2] = { { .kind = EVENT_ADD, .jobs = &job, .count = 1 },
                            { .kind = EVENT_ENDED, .id = quick, .attempt = 1 } };
        events[1].ending = (Ending){ .kind = END_EXITED, .progress = -1 };
        rig_step(rig, events, 2);
        assert_true(started(rig) == backlog[i + 1]); /* its turn, not quick's again */
        quick = id_from_count(rig_last(rig, EFFECT_REPLY)->first, 1);
    }
    rig_close(rig);
}

static void a_lane_that_is_new_joins_the_tour_that_is_on(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    JobId a = add_to(rig, "A", 5);
    JobId a2 = add_to(rig, "A", 5);
    JobId b = add_to(rig, "B", 5);
    rig_slots(rig, 1);
    assert_true(started(rig) == a);
    JobId c = add_to(rig, "C", 5);
    rig_exit(rig, a, 0);
    assert_true(started(rig) == b);
    rig_exit(rig, b, 0);
    assert_true(started(rig) == c); /* though A's second job has waited longer */
    rig_exit(rig, c, 0);
    assert_true(started(rig) == a2);
    rig_close(rig);
}

static void many_lanes_that_come_and_go_are_forgotten(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    for (int i = 0; i < 300; i++) {
        char queue[16];
        snprintf(queue, sizeof queue, "q%d", i);
        rig_exit(rig, add_to(rig, queue, 5), 0);
    }
    rig_wait(rig, 1000);
    assert_int_equal(node_facts(rig->node).lanes, 0);
    rig_close(rig);
}

/* Oracle 1: no nudge is lost, and a hundred of them cost one pass. */
static void a_hundred_nudges_make_one_more_pass(void **state)
{
    (void)state;
    Rig *rig = rig_open(one_slot);
    JobId running = rig_add_default(rig);
    uint64_t passes = node_facts(rig->node).passes;
    Event nudges[100];
    for (int i = 0; i < 100; i++)
        nudges[i] = (Event){ .kind = EVENT_RESUME };
    rig_step(rig, nudges, 100);
    assert_int_equal(node_facts(rig->node).passes, passes + 1);
    rig_step(rig, NULL, 0); /* nothing happened since: no pass before the tick */
    assert_int_equal(node_facts(rig->node).passes, passes + 1);
    assert_true(node_next_wake(rig->node) > rig->now.boot_ms);
    assert_true(node_next_wake(rig->node) <= rig->now.boot_ms + 1000);
    rig_wait(rig, 1000);
    assert_int_equal(node_facts(rig->node).passes, passes + 2);
    rig_exit(rig, running, 0);
    assert_int_equal(node_facts(rig->node).passes, passes + 3);
    rig_close(rig);
}

static void an_error_is_retried_later_and_later_until_rejected(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.max_retries = 3;
    JobId id = rig_add(rig, &job);
    int64_t expected_ms = 5000;
    for (uint32_t run = 1; run <= 3; run++, expected_ms *= 2) {
        rig_exit(rig, id, 1);
        const Job *now = rig_find(rig, id);
        assert_int_equal(now->state, JOB_RETRYING);
        assert_int_equal(now->attempt, run);
        assert_int_equal(now->retry_number, run);
        assert_true(slice_is(now->error, "exit status 1"));
        int64_t delay_ms = now->dt_ms - rig->now.wall_ms;
        assert_true(delay_ms >= expected_ms * 9 / 10);
        assert_true(delay_ms <= expected_ms * 11 / 10);
        rig_wait(rig, delay_ms - 1);
        assert_int_equal(rig_state(rig, id), JOB_RETRYING);
        rig_wait(rig, 1);
        assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    }
    rig_exit(rig, id, 1);
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    assert_int_equal(rig_find(rig, id)->attempt, 4); /* X retries are X + 1 runs */
    rig_wait(rig, MS_PER_DAY);
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    assert_int_equal(rig->starts, 4);
    rig_close(rig);
}

static void the_retry_window_ends_it_too(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.retry_delay_ms = 60000;
    job.retry_window_ms = 150000;
    JobId id = rig_add(rig, &job);
    int runs = 0;
    while (rig_state(rig, id) == JOB_RUNNING) {
        rig_exit(rig, id, 75);
        runs++;
        rig_wait(rig, 66000);
    }
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    assert_int_equal(runs, 3);
    assert_true(slice_starts(rig_find(rig, id)->reason,
                             SLICE_LITERAL("its retry window (2m30s, to ")));
    rig_close(rig);
}

/* It counts from the end of the first attempt. */
static void waiting_costs_no_retries(void **state)
{
    (void)state;
    Rig *rig = rig_open(one_slot);
    JobId first = rig_add_default(rig);
    Job job = rig_job();
    job.retry_delay_ms = 60000;
    job.retry_window_ms = 150000;
    JobId id = rig_add(rig, &job);
    rig_wait(rig, MS_PER_DAY);
    rig_exit(rig, first, 0);
    int runs = 0;
    while (rig_state(rig, id) == JOB_RUNNING) {
        rig_exit(rig, id, 75);
        runs++;
        rig_wait(rig, 66000);
    }
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    assert_int_equal(runs, 3);
    rig_close(rig);
}

static void exits_lead_where_the_table_says(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    static const struct {
        int32_t status;
        JobState state;
        JobCode code;
    } table[] = {
        { 0, JOB_DONE, CODE_OK },         { 1, JOB_RETRYING, CODE_ERROR },
        { 75, JOB_RETRYING, CODE_RETRY }, { 64, JOB_FAILED, CODE_FAILED },
        { 78, JOB_FAILED, CODE_FAILED },  { 255, JOB_RETRYING, CODE_ERROR },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        JobId id = rig_add_default(rig);
        rig_exit(rig, id, table[i].status);
        assert_int_equal(rig_state(rig, id), table[i].state);
        assert_int_equal(rig_find(rig, id)->outcome.code, table[i].code);
        assert_int_equal(rig_last(rig, EFFECT_CHANGED)->code, table[i].code);
    }
    rig_close(rig);
}

static void a_job_that_outstays_its_time_is_ended_step_by_step(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.max_run_ms = 60000;
    job.max_retries = 0;
    JobId id = rig_add(rig, &job);
    assert_true(rig_last(rig, EFFECT_START)->deadline_ms == rig->now.wall_ms + 60000);
    rig_wait(rig, 59999);
    assert_int_equal(rig_count(rig, EFFECT_SIGNAL, id), 0);
    rig->now.wall_ms -= MS_PER_DAY; /* no one can stretch it by setting the clock */
    rig_wait(rig, 1);
    assert_int_equal(rig_signals(rig, id, TERM), 1);
    rig_wait(rig, 9999);
    assert_int_equal(rig_count(rig, EFFECT_SIGNAL, id), 1);
    rig_wait(rig, 1);
    assert_int_equal(rig_signals(rig, id, KILL), 1);
    rig_wait(rig, 10000);
    assert_int_equal(rig_signals(rig, id, KILL), 2); /* in case it did not arrive */
    rig_end(rig, id, &(Ending){ .kind = END_SIGNALLED, .signal = KILL, .progress = -1 });
    const Job *ended = rig_find(rig, id);
    assert_int_equal(ended->state, JOB_REJECTED);
    assert_int_equal(ended->outcome.exitcode, 504);
    assert_int_equal(ended->outcome.signal, KILL);
    assert_true(slice_is(ended->error, "ran longer than max_run_time"));
    rig_close(rig);
}

static void a_time_limit_counts_from_the_start_of_the_process(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig->slow_starts = true;
    Job job = rig_job();
    job.max_run_ms = 1000;
    JobId id = rig_add(rig, &job);
    rig_wait(rig, 30000); /* the store is slow to give the job to the launcher */
    assert_int_equal(rig_signals(rig, id, TERM), 0);
    Event started = { .kind = EVENT_STARTED, .id = id, .attempt = 1 };
    rig_step(rig, &started, 1);
    rig_wait(rig, 999);
    assert_int_equal(rig_signals(rig, id, TERM), 0);
    rig_wait(rig, 1);
    assert_int_equal(rig_signals(rig, id, TERM), 1);
    /* A start that no one tells of does not last for ever. */
    id = rig_add(rig, &job);
    rig_wait(rig, 60999);
    assert_int_equal(rig_signals(rig, id, TERM), 0);
    rig_wait(rig, 1);
    assert_int_equal(rig_signals(rig, id, TERM), 1);
    rig_close(rig);
}

static void a_pause_does_not_count_as_running_time(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.max_run_ms = 60000;
    JobId id = rig_add(rig, &job);
    rig_wait(rig, 50000);
    assert_int_equal(rig_act(rig, id, ACT_PAUSE), ERR_OK);
    assert_int_equal(rig_signals(rig, id, STOP), 1);
    assert_int_equal(rig_state(rig, id), JOB_PAUSED);
    assert_int_equal(node_facts(rig->node).slots_used, 1); /* it keeps its slot */
    rig_wait(rig, MS_PER_HOUR);
    assert_int_equal(rig_signals(rig, id, TERM), 0);
    assert_int_equal(rig_act(rig, id, ACT_RESUME), ERR_OK);
    assert_int_equal(rig_signals(rig, id, CONT), 1);
    rig_wait(rig, 9999);
    assert_int_equal(rig_signals(rig, id, TERM), 0);
    rig_wait(rig, 1);
    assert_int_equal(rig_signals(rig, id, TERM), 1);
    rig_close(rig);
}

static void a_lost_launcher_costs_its_jobs_nothing_but_time(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.max_retries = 0;
    JobId a = rig_add(rig, &job);
    JobId b = rig_add(rig, &job);
    Event gone = { .kind = EVENT_LAUNCHER_LOST };
    rig_step(rig, &gone, 1);
    const JobId both[] = { a, b };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rig_state(rig, both[i]), JOB_RUNNING); /* again, at once */
        assert_int_equal(rig_find(rig, both[i])->attempt, 2);
        assert_int_equal(rig_find(rig, both[i])->retry_number, 0);
        rig_exit(rig, both[i], 0);
        assert_int_equal(rig_state(rig, both[i]), JOB_DONE);
    }
    rig_close(rig);
}

static void a_job_that_is_lost_again_and_again_comes_to_an_end(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.max_retries = 0;
    JobId id = rig_add(rig, &job);
    int losses = 0;
    for (; rig_state(rig, id) == JOB_RUNNING; losses++)
        rig_end(rig, id, &lost);
    assert_int_equal(losses, 6); /* five are forgiven */
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    /* An operator's retry starts the count anew. */
    assert_int_equal(rig_act(rig, id, ACT_RETRY), ERR_OK);
    for (losses = 0; rig_state(rig, id) == JOB_RUNNING; losses++)
        rig_end(rig, id, &lost);
    assert_int_equal(losses, 6);
    rig_close(rig);
}

static void runs_that_ended_by_themselves_are_no_losses(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.max_retries = 20;
    job.retry_delay_ms = 1000;
    JobId id = rig_add(rig, &job);
    for (int i = 0; i < 10; i++) {
        rig_exit(rig, id, 1);
        rig_wait(rig, 1100);
    }
    uint32_t charged = rig_find(rig, id)->retry_number;
    rig_end(rig, id, &lost);
    assert_int_equal(rig_find(rig, id)->retry_number, charged);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

static void what_the_node_could_not_start_is_tried_again_soon(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.max_retries = 0;
    JobId id = rig_add(rig, &job);
    Ending no_memory = { .kind = END_NOT_STARTED,
                         .node_fault = true,
                         .progress = -1,
                         .error = SLICE_LITERAL("no memory") };
    rig_end(rig, id, &no_memory);
    assert_int_equal(rig_state(rig, id), JOB_RETRYING);
    assert_int_equal(rig_find(rig, id)->retry_number, 0);
    assert_true(slice_is(rig_find(rig, id)->error, "no memory"));
    rig_wait(rig, 1000);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    Ending not_found = { .kind = END_NOT_STARTED,
                         .progress = -1,
                         .error = SLICE_LITERAL("no such file") };
    rig_end(rig, id, &not_found);
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    assert_int_equal(rig_find(rig, id)->outcome.exitcode, 503);
    rig_close(rig);
}

static void late_results_change_nothing_and_are_counted(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = rig_add_default(rig);
    rig_end(rig, id, &lost); /* attempt 2 runs now */
    rig_forget(rig);
    Event late = { .kind = EVENT_ENDED, .id = id, .attempt = 1 };
    late.ending = (Ending){ .kind = END_EXITED, .progress = -1 };
    uint64_t operations = rig->operations;
    rig_step(rig, &late, 1);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    assert_int_equal(rig->operations, operations);
    assert_int_equal(node_facts(rig->node).late, 1);
    assert_int_equal(rig_last(rig, EFFECT_FORGET)->attempt, 1);
    rig_exit(rig, id, 0);
    late.attempt = 2; /* and once more */
    rig_step(rig, &late, 1);
    late.id = 12345; /* of a job that no one knows */
    rig_step(rig, &late, 1);
    assert_int_equal(node_facts(rig->node).late, 3);
    assert_int_equal(rig_state(rig, id), JOB_DONE);
    rig_close(rig);
}

static void progress_is_told_at_most_once_a_second(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = rig_add_default(rig);
    Event event = { .kind = EVENT_PROGRESS, .id = id, .attempt = 1 };
    uint64_t operations = rig->operations;
    for (int percent = 1; percent <= 50; percent++) {
        event.progress = percent;
        event.message = SLICE_LITERAL("going on");
        rig_step(rig, &event, 1);
    }
    assert_int_equal(rig->operations, operations + 1);
    assert_int_equal(rig_find(rig, id)->progress, 1);
    rig_wait(rig, 1000);
    event.progress = 51;
    rig_step(rig, &event, 1);
    assert_int_equal(rig_find(rig, id)->progress, 51);
    event.progress = 52;
    event.message = SLICE_LITERAL("nearly");
    rig_step(rig, &event, 1);
    event.attempt = 9; /* of an attempt that is not there */
    rig_step(rig, &event, 1);
    rig_exit(rig, id, 0);
    assert_int_equal(rig_find(rig, id)->progress, 52); /* the last one always arrives */
    assert_true(slice_is(rig_find(rig, id)->message, "nearly"));
    rig_close(rig);
}

static void children_are_added_with_their_parents_end_only(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = rig_add_default(rig);
    Job children[2] = { { .type = SLICE_LITERAL("mail"), .payload = SLICE_LITERAL("a") },
                        { .type = SLICE_LITERAL("mail"),
                          .payload = SLICE_LITERAL("b") } };
    Ending ending = { .kind = END_EXITED,
                      .exit_status = 1,
                      .progress = -1,
                      .children = children,
                      .child_count = 2 };
    rig_end(rig, id, &ending);
    assert_int_equal(rig->count, 1); /* the retry will print them again */
    rig_wait(rig, 6000);
    ending.exit_status = 0;
    rig_end(rig, id, &ending);
    assert_int_equal(rig->count, 3);
    for (size_t i = 1; i < 3; i++) {
        const Job *child = &rig->jobs[i];
        assert_true(child->parent == id);
        assert_true(slice_is(child->tenant, "default"));
        assert_true(slice_is(child->type, "mail"));
        assert_int_equal(child->state, JOB_BLOCKED); /* no handler yet */
        assert_true(slice_is(child->reason, "no_handler"));
    }
    rig_close(rig);
}

static void rarely_renewed(NodeSettings *settings)
{
    settings->controller_stale_ms = MS_PER_DAY;
}

static void heartbeats_come_while_something_runs(void **state)
{
    (void)state;
    Rig *rig = rig_open(rarely_renewed);
    rig_step(rig, NULL, 0);
    uint64_t operations = rig->operations;
    rig_wait(rig, 60000);
    assert_int_equal(rig->operations, operations);
    rig_add_default(rig);
    operations = rig->operations;
    for (int i = 0; i < 60; i++)
        rig_wait(rig, 1000);
    assert_int_equal(rig->operations, operations + 12); /* a sixth of the lease */
    rig_close(rig);
}

/* How much is written when the settings are set with this lease. */
static uint64_t written_with(Rig *rig, int64_t lease_ms)
{
    NodeSettings settings = *node_settings(rig->node);
    uint64_t operations = rig->operations;
    settings.lease_ms = lease_ms;
    node_settings_set(rig->node, &settings);
    rig_wait(rig, 10);
    return rig->operations - operations;
}

/* S0.15, S1.59: a change of the interval holds for what runs, too, at once: else its lock
 * would stand for the old one, be it an hour. */
static void another_lease_is_promised_at_once(void **state)
{
    (void)state;
    Rig *rig = rig_open(rarely_renewed);
    (void)written_with(rig, MS_PER_HOUR);
    rig_add_default(rig);
    uint64_t same = written_with(rig, MS_PER_HOUR);
    assert_int_equal(written_with(rig, 2000), same + 1);
    assert_int_equal(written_with(rig, 2000), same);
    assert_int_equal(written_with(rig, MS_PER_HOUR), same + 1);
    rig_close(rig);
}

static void nothing_starts_while_the_switch_is_off(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig->settings.enabled = false;
    node_settings_set(rig->node, &rig->settings);
    JobId id = rig_add_default(rig);
    rig_wait(rig, 5000);
    assert_int_equal(rig_state(rig, id), JOB_READY);
    rig->settings.enabled = true;
    node_settings_set(rig->node, &rig->settings);
    rig_step(rig, NULL, 0);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

static void jobs_for_pull_workers_are_left_to_them(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.flags = JOB_PULL;
    JobId pull = rig_add(rig, &job);
    JobId plain = rig_add_default(rig);
    rig_wait(rig, 1000);
    assert_int_equal(rig_state(rig, pull), JOB_READY);
    assert_int_equal(rig_state(rig, plain), JOB_RUNNING);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_added_started_ended_and_done),
        cmocka_unit_test(slots_bound_what_runs),
        cmocka_unit_test(a_lane_starts_the_most_urgent_then_the_oldest),
        cmocka_unit_test(a_run_of_lines_starts_in_its_order_beyond_the_window),
        cmocka_unit_test(lanes_take_turns_whatever_their_length),
        cmocka_unit_test(a_lane_that_empties_gets_no_second_turn_in_a_tour),
        cmocka_unit_test(a_lane_that_is_new_joins_the_tour_that_is_on),
        cmocka_unit_test(many_lanes_that_come_and_go_are_forgotten),
        cmocka_unit_test(a_hundred_nudges_make_one_more_pass),
        cmocka_unit_test(an_error_is_retried_later_and_later_until_rejected),
        cmocka_unit_test(the_retry_window_ends_it_too),
        cmocka_unit_test(waiting_costs_no_retries),
        cmocka_unit_test(exits_lead_where_the_table_says),
        cmocka_unit_test(a_job_that_outstays_its_time_is_ended_step_by_step),
        cmocka_unit_test(a_time_limit_counts_from_the_start_of_the_process),
        cmocka_unit_test(a_pause_does_not_count_as_running_time),
        cmocka_unit_test(a_lost_launcher_costs_its_jobs_nothing_but_time),
        cmocka_unit_test(a_job_that_is_lost_again_and_again_comes_to_an_end),
        cmocka_unit_test(runs_that_ended_by_themselves_are_no_losses),
        cmocka_unit_test(what_the_node_could_not_start_is_tried_again_soon),
        cmocka_unit_test(late_results_change_nothing_and_are_counted),
        cmocka_unit_test(progress_is_told_at_most_once_a_second),
        cmocka_unit_test(children_are_added_with_their_parents_end_only),
        cmocka_unit_test(heartbeats_come_while_something_runs),
        cmocka_unit_test(another_lease_is_promised_at_once),
        cmocka_unit_test(nothing_starts_while_the_switch_is_off),
        cmocka_unit_test(jobs_for_pull_workers_are_left_to_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
