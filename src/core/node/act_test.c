/* SPDX-License-Identifier: Apache-2.0 */
/* act_test.c - every action in every state, and actions that meet each other. */
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TERM 15
#define KILL 9
#define CONT 18

static const Ending by_term = { .kind = END_SIGNALLED, .signal = TERM, .progress = -1 };

static JobId add_with(Rig *rig, JobState state)
{
    Job job = rig_job();
    if (state == JOB_DEFERRED)
        job.run_at_ms = rig->now.wall_ms + MS_PER_HOUR;
    if (state == JOB_BLOCKED)
        job.command = (Slice){ NULL, 0 };
    if (state == JOB_HELD)
        job.state = JOB_HELD;
    if (state == JOB_REJECTED)
        job.max_retries = 0;
    return rig_add(rig, &job);
}

/* Brings a job of its own into `state`, by what really leads there; then the node starts
 * nothing any more. */
static JobId job_in(Rig *rig, JobState state)
{
    rig_slots(rig, state == JOB_READY ? 0 : 1);
    JobId id = add_with(rig, state);
    switch (state) {
    case JOB_PAUSED:
        assert_int_equal(rig_act(rig, id, ACT_PAUSE), ERR_OK);
        break;
    case JOB_HALTED:
        assert_int_equal(rig_act(rig, id, ACT_HALT), ERR_OK);
        rig_end(rig, id, &by_term);
        break;
    case JOB_RETRYING:
    case JOB_REJECTED:
        rig_exit(rig, id, 1);
        break;
    case JOB_DONE:
        rig_exit(rig, id, 0);
        break;
    case JOB_FAILED:
        rig_exit(rig, id, 64);
        break;
    case JOB_CANCELLED:
        assert_int_equal(rig_act(rig, id, ACT_KILL), ERR_OK);
        rig_end(rig, id, &by_term);
        break;
    case JOB_DEFERRED:
    case JOB_BLOCKED:
    case JOB_READY:
    case JOB_HELD:
    case JOB_RUNNING:
        break;
    }
    rig_slots(rig, 0);
    assert_int_equal(rig_state(rig, id), state);
    rig_forget(rig);
    return id;
}

/* What each action makes of a job in each state, by hand. Columns: cancel kill hold
 * release pause resume halt retry remove patch. A letter is the state that follows (once
 * the process, where there is one, has ended by the signal); `x`: the job is gone; `-`:
 * refused, nothing changes. */
static const char *const becomes[JOB_STATES] = {
    /*                  ckhrpRHtxp */
    [JOB_DEFERRED] = /*  */ "cch-----xd", [JOB_BLOCKED] = /*  */ "cch-----xb",
    [JOB_READY] = /*     */ "cch-----xr", [JOB_HELD] = /*     */ "cchr----xh",
    [JOB_RUNNING] = /*   */ "cc--p-a-x-", [JOB_PAUSED] = /*   */ "cc---Ra-x-",
    [JOB_HALTED] = /*    */ "cch--r--xa", [JOB_RETRYING] = /* */ "cch----rxT",
    [JOB_DONE] = /*      */ "-------rx-", [JOB_FAILED] = /*   */ "-------rx-",
    [JOB_REJECTED] = /*  */ "-------rx-", [JOB_CANCELLED] = /**/ "-------rx-",
};

static JobState state_of_letter(char letter)
{
    switch (letter) {
    case 'd':
        return JOB_DEFERRED;
    case 'b':
        return JOB_BLOCKED;
    case 'r':
        return JOB_READY;
    case 'h':
        return JOB_HELD;
    case 'R':
        return JOB_RUNNING;
    case 'p':
        return JOB_PAUSED;
    case 'a':
        return JOB_HALTED;
    case 'T':
        return JOB_RETRYING;
    default:
        return JOB_CANCELLED;
    }
}

static void expect_refused(Rig *rig, JobId id, JobState state, Action action)
{
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    assert_int_equal(reply->err, ERR_CONFLICT);
    assert_string_equal(reply->problem, "invalid_state");
    assert_int_equal(reply->allowed, action_allowed(action));
    assert_int_equal(reply->wait, WAIT_BATCH); /* it speaks of what may not be durable */
    assert_int_equal(rig_state(rig, id), state);
    assert_int_equal(rig_count(rig, EFFECT_SIGNAL, 0), 0);
    assert_int_equal(rig_count(rig, EFFECT_CHANGED, 0), 0);
}

static void every_action_in_every_state_does_what_the_table_says(void **unused)
{
    (void)unused;
    for (unsigned state = 0; state < JOB_STATES; state++) {
        for (unsigned action = 0; action < ACTIONS; action++) {
            Rig *rig = rig_open(NULL);
            JobId id = job_in(rig, (JobState)state);
            char result = becomes[state][action];
            Err err = rig_act(rig, id, (Action)action);
            if (result == '-') {
                expect_refused(rig, id, (JobState)state, (Action)action);
                rig_close(rig);
                continue;
            }
            bool ends =
                rig_count(rig, EFFECT_SIGNAL, id) && result != 'p' && result != 'R';
            if (ends)
                rig_end(rig, id, &by_term);
            if (result == 'x') {
                assert_null(rig_find(rig, id));
                assert_int_equal(rig_count(rig, EFFECT_ERASE, id), 1);
                assert_int_equal(rig_last(rig, EFFECT_REPLY)->err, ERR_OK);
                assert_int_equal(err, ends ? ERR_BUSY : ERR_OK);
            } else {
                assert_int_equal(err, ERR_OK);
                assert_int_equal(rig_state(rig, id), state_of_letter(result));
            }
            rig_close(rig);
        }
    }
}

static void a_job_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    for (unsigned action = 0; action < ACTIONS; action++) {
        assert_int_equal(rig_act(rig, 4711, (Action)action), ERR_NOT_FOUND);
        assert_string_equal(rig_last(rig, EFFECT_REPLY)->problem, "job_not_found");
    }
    rig_close(rig);
}

static void another_tenants_job_is_not_found_either(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId running = job_in(rig, JOB_RUNNING);
    const JobId ids[] = { running, job_in(rig, JOB_READY) };
    for (int i = 0; i < 2; i++) {
        Event event = { .kind = EVENT_ACT,
                        .id = ids[i],
                        .action = ACT_CANCEL,
                        .tenant = SLICE_LITERAL("other") };
        assert_int_equal(rig_send(rig, event), ERR_NOT_FOUND);
        event.tenant = SLICE_LITERAL("default");
        assert_int_equal(rig_send(rig, event), ERR_OK);
    }
    rig_close(rig);
}

static void cancel_is_term_grace_kill_and_kill_is_at_once(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = job_in(rig, JOB_RUNNING);
    Event cancel = { .kind = EVENT_ACT,
                     .id = id,
                     .action = ACT_CANCEL,
                     .reason = SLICE_LITERAL("not needed") };
    assert_int_equal(rig_send(rig, cancel), ERR_OK);
    assert_int_equal(rig_signals(rig, id, TERM), 1);
    assert_int_equal(rig_act(rig, id, ACT_CANCEL), ERR_OK); /* again: no second TERM */
    rig_wait(rig, 9999);
    assert_int_equal(rig_count(rig, EFFECT_SIGNAL, id), 1);
    rig_wait(rig, 1);
    assert_int_equal(rig_signals(rig, id, KILL), 1);
    rig_end(rig, id, &by_term);
    assert_int_equal(rig_state(rig, id), JOB_CANCELLED);

    id = job_in(rig, JOB_RUNNING);
    cancel.id = id;
    assert_int_equal(rig_send(rig, cancel), ERR_OK);
    assert_int_equal(rig_act(rig, id, ACT_KILL), ERR_OK); /* in the middle of the grace */
    assert_int_equal(rig_signals(rig, id, KILL), 1);
    rig_exit(rig, id, 0); /* it just managed to end well: cancelled all the same */
    assert_int_equal(rig_state(rig, id), JOB_CANCELLED);
    rig_close(rig);
}

static void a_persons_words_stay_with_the_job(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    static const JobState states[] = { JOB_READY, JOB_RUNNING };
    for (int i = 0; i < 2; i++) {
        JobId id = job_in(rig, states[i]);
        Event cancel = { .kind = EVENT_ACT,
                         .id = id,
                         .action = ACT_CANCEL,
                         .reason = SLICE_LITERAL("not needed") };
        assert_int_equal(rig_send(rig, cancel), ERR_OK);
        if (i)
            rig_end(rig, id, &by_term);
        assert_int_equal(rig_state(rig, id), JOB_CANCELLED);
        assert_true(slice_is(rig_find(rig, id)->reason, "not needed"));
    }
    rig_close(rig);
}

static void a_paused_job_is_woken_to_see_its_end(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = job_in(rig, JOB_PAUSED);
    assert_int_equal(rig_act(rig, id, ACT_HALT), ERR_OK);
    assert_int_equal(rig_signals(rig, id, TERM), 1);
    assert_int_equal(rig_signals(rig, id, CONT), 1);
    assert_int_equal(rig_act(rig, id, ACT_RESUME), ERR_CONFLICT); /* it is ending */
    rig_end(rig, id, &by_term);
    assert_int_equal(rig_state(rig, id), JOB_HALTED);
    assert_int_equal(rig_find(rig, id)->retry_number, 0); /* a halt is not charged */
    rig_close(rig);
}

static void a_halted_job_runs_again_on_resume(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = job_in(rig, JOB_HALTED);
    rig_slots(rig, 1);
    rig_wait(rig, MS_PER_HOUR);
    assert_int_equal(rig_state(rig, id), JOB_HALTED);
    assert_int_equal(rig_act(rig, id, ACT_RESUME), ERR_OK);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    assert_int_equal(rig_find(rig, id)->attempt, 2);
    rig_close(rig);
}

static void cancel_beats_halt(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = job_in(rig, JOB_RUNNING);
    assert_int_equal(rig_act(rig, id, ACT_HALT), ERR_OK);
    assert_int_equal(rig_act(rig, id, ACT_HALT), ERR_CONFLICT);
    assert_int_equal(rig_act(rig, id, ACT_PAUSE), ERR_CONFLICT);
    assert_int_equal(rig_act(rig, id, ACT_CANCEL), ERR_OK);
    rig_end(rig, id, &by_term);
    assert_int_equal(rig_state(rig, id), JOB_CANCELLED);
    rig_close(rig);
}

static void removal_of_a_running_job_is_answered_when_it_is_gone(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = job_in(rig, JOB_RUNNING);
    assert_int_equal(rig_act(rig, id, ACT_REMOVE), ERR_BUSY);
    Requester first = rig->last_request;
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_end(rig, id, &by_term);
    assert_null(rig_find(rig, id));
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    assert_true(reply->request == first);
    assert_int_equal(reply->err, ERR_OK);
    assert_int_equal(rig_last(rig, EFFECT_ERASE)->attempt, 1);
    rig_close(rig);
}

static void a_retry_starts_counters_and_window_anew(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 1);
    Job job = rig_job();
    job.max_retries = 1;
    job.retry_delay_ms = 1000;
    JobId id = rig_add(rig, &job);
    rig_exit(rig, id, 1);
    rig_wait(rig, 1100);
    rig_exit(rig, id, 1);
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    rig_wait(rig, MS_PER_DAY);
    assert_int_equal(rig_act(rig, id, ACT_RETRY), ERR_OK);
    assert_int_equal(rig_last(rig, EFFECT_REPLY)->job->retry_number, 0);
    const Job *again = rig_find(rig, id);
    assert_int_equal(again->state, JOB_RUNNING);
    assert_int_equal(again->attempt, 3); /* each attempt keeps a number of its own */
    assert_int_equal(again->retry_number, 0);
    assert_true(again->window_from_ms == rig->now.wall_ms);
    rig_exit(rig, id, 1);
    assert_int_equal(rig_state(rig, id), JOB_RETRYING); /* one retry is left again */
    rig_close(rig);
}

static Err patch(Rig *rig, JobId id, Patch what)
{
    return rig_send(
        rig, (Event){ .kind = EVENT_ACT, .id = id, .action = ACT_PATCH, .patch = what });
}

static void a_patch_changes_what_it_names_and_nothing_else(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = job_in(rig, JOB_READY);
    Job before = *rig_find(rig, id);
    Patch all = { .fields = FIELD_PRIORITY | FIELD_QUEUE | FIELD_PAYLOAD | FIELD_TAGS |
                            FIELD_MAX_RUN,
                  .priority = 9,
                  .max_run_ms = 5000,
                  .queue = SLICE_LITERAL("other"),
                  .payload = SLICE_LITERAL("new"),
                  .tags = SLICE_LITERAL("a\0b\0") };
    assert_int_equal(patch(rig, id, all), ERR_OK);
    const Job *job = rig_find(rig, id);
    assert_int_equal(job->state, JOB_READY);
    assert_int_equal(job->priority, 9);
    assert_int_equal(job->max_run_ms, 5000);
    assert_true(slice_is(job->queue, "other"));
    assert_true(slice_is(job->payload, "new"));
    assert_int_equal(job->tags.bytes, 4);
    assert_true(job->dt_ms == before.dt_ms);
    assert_true(job->run_at_ms == before.run_at_ms);
    rig_slots(rig, 1); /* and it starts from its new lane, with its new limit */
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    assert_true(rig_last(rig, EFFECT_START)->deadline_ms == rig->now.wall_ms + 5000);
    rig_close(rig);
}

static void a_new_due_time_defers_and_readies(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = job_in(rig, JOB_READY);
    Patch later = { .fields = FIELD_RUN_AT,
                    .run_at_ms = rig->now.wall_ms + 8 * MS_PER_HOUR };
    assert_int_equal(patch(rig, id, later), ERR_OK);
    assert_int_equal(rig_state(rig, id), JOB_DEFERRED);
    /* The retry window counts from the first due time: it moved with it. */
    assert_true(rig_find(rig, id)->window_from_ms == later.run_at_ms);
    rig_slots(rig, 1);
    rig_wait(rig, 8 * MS_PER_HOUR - 1);
    assert_int_equal(rig_state(rig, id), JOB_DEFERRED);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_exit(rig, id, 1);
    assert_int_equal(rig_state(rig, id), JOB_RETRYING);
    int64_t window_from_ms = rig_find(rig, id)->window_from_ms;
    Patch at_once = { .fields = FIELD_RUN_AT, .run_at_ms = rig->now.wall_ms };
    assert_int_equal(patch(rig, id, at_once), ERR_OK);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    assert_true(rig_find(rig, id)->window_from_ms == window_from_ms);
    rig_close(rig);
}

static void held_and_blocked_jobs_keep_their_state_when_patched(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    static const JobState states[] = { JOB_HELD, JOB_BLOCKED, JOB_HALTED };
    for (int i = 0; i < 3; i++) {
        JobId id = job_in(rig, states[i]);
        Patch what = { .fields = FIELD_RUN_AT | FIELD_PRIORITY,
                       .priority = 1,
                       .run_at_ms = rig->now.wall_ms + 5000 };
        assert_int_equal(patch(rig, id, what), ERR_OK);
        assert_int_equal(rig_state(rig, id), states[i]);
        assert_int_equal(rig_find(rig, id)->priority, 1);
    }
    rig_close(rig);
}

static void a_held_job_is_passed_over_and_keeps_its_place(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    JobId first = rig_add_default(rig);
    JobId second = rig_add_default(rig);
    JobId third = rig_add_default(rig);
    assert_int_equal(rig_act(rig, first, ACT_HOLD), ERR_OK);
    rig_slots(rig, 1);
    assert_int_equal(rig_state(rig, second), JOB_RUNNING);
    assert_int_equal(rig_act(rig, first, ACT_RELEASE), ERR_OK);
    rig_exit(rig, second, 0);
    assert_int_equal(rig_state(rig, first), JOB_RUNNING);
    assert_int_equal(rig_state(rig, third), JOB_READY);
    rig_close(rig);
}

static void a_job_released_before_its_time_waits_for_it(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = job_in(rig, JOB_DEFERRED);
    assert_int_equal(rig_act(rig, id, ACT_HOLD), ERR_OK);
    assert_int_equal(rig_act(rig, id, ACT_RELEASE), ERR_OK);
    assert_int_equal(rig_state(rig, id), JOB_DEFERRED);
    rig_slots(rig, 1);
    rig_wait(rig, MS_PER_HOUR);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_exit(rig, id, 1);
    assert_int_equal(rig_act(rig, id, ACT_HOLD), ERR_OK); /* between two runs */
    assert_int_equal(rig_act(rig, id, ACT_RELEASE), ERR_OK);
    assert_int_equal(rig_state(rig, id), JOB_RETRYING);
    rig_close(rig);
}

static void a_job_that_someone_acts_on_is_not_started_meanwhile(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    JobId id = rig_add_default(rig);
    Job other_lane = rig_job();
    other_lane.queue = SLICE_LITERAL("other");
    JobId other = rig_add(rig, &other_lane);
    rig->hold_answers = true;
    assert_int_equal(rig_act(rig, id, ACT_HOLD), ERR_BUSY);
    rig_slots(rig, 2);
    assert_int_equal(rig_state(rig, id), JOB_READY);
    assert_int_equal(rig_state(rig, other), JOB_RUNNING);
    rig->hold_answers = false;
    rig_answer(rig);
    assert_int_equal(rig_state(rig, id), JOB_HELD);
    assert_int_equal(rig_last(rig, EFFECT_REPLY)->err, ERR_OK);
    rig_close(rig);
}

static void actions_on_one_job_are_done_in_their_order(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = job_in(rig, JOB_READY);
    static const Action order[] = { ACT_HOLD,  ACT_RELEASE, ACT_HOLD,
                                    ACT_HOLD,  ACT_CANCEL,  ACT_HOLD,
                                    ACT_RETRY, ACT_REMOVE,  ACT_CANCEL };
    static const Err answers[] = { ERR_OK,       ERR_OK, ERR_OK, ERR_OK,       ERR_OK,
                                   ERR_CONFLICT, ERR_OK, ERR_OK, ERR_NOT_FOUND };
    Event events[9];
    for (size_t i = 0; i < 9; i++)
        events[i] = (Event){
            .kind = EVENT_ACT, .id = id, .action = order[i], .request = 100 + i
        };
    rig_step(rig, events, 9);
    size_t answered = 0;
    for (size_t i = 0; i < rig->log_count; i++) {
        if (rig->log[i].kind != EFFECT_REPLY)
            continue;
        assert_true(rig->log[i].request == 100 + answered);
        assert_int_equal(rig->log[i].err, answers[answered]);
        answered++;
    }
    assert_int_equal(answered, 9);
    assert_null(rig_find(rig, id));
    rig_close(rig);
}

static void a_store_that_fails_is_said_so(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = job_in(rig, JOB_READY);
    rig->store_fails = true;
    assert_int_equal(rig_act(rig, id, ACT_CANCEL), ERR_UNAVAILABLE);
    assert_string_equal(rig_last(rig, EFFECT_REPLY)->problem, "store_unavailable");
    rig->store_fails = false;
    assert_int_equal(rig_act(rig, id, ACT_CANCEL), ERR_OK);
    rig_close(rig);
}

static void an_end_that_was_asked_for_survives_a_restart(void **state)
{
    (void)state;
    static const struct {
        Action action;
        JobState ends;
    } table[] = { { ACT_CANCEL, JOB_CANCELLED }, { ACT_HALT, JOB_HALTED } };
    for (int i = 0; i < 2; i++) {
        Rig *rig = rig_open(NULL);
        JobId id = job_in(rig, JOB_RUNNING);
        Event ask = { .kind = EVENT_ACT,
                      .id = id,
                      .action = table[i].action,
                      .reason = SLICE_LITERAL("enough") };
        assert_int_equal(rig_send(rig, ask), ERR_OK);
        rig_reopen(rig, true);
        rig_step(rig, NULL, 0);
        assert_int_equal(rig_signals(rig, id, TERM), 1); /* it goes on with it */
        rig_end(rig, id, &by_term);
        assert_int_equal(rig_state(rig, id), table[i].ends);
        if (!i)
            assert_true(slice_is(rig_find(rig, id)->reason, "enough"));
        rig_close(rig);
    }
}

static void a_job_once_cancelled_and_retried_is_not_cancelled_by_a_restart(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = job_in(rig, JOB_CANCELLED);
    assert_int_equal(rig_act(rig, id, ACT_RETRY), ERR_OK);
    rig_slots(rig, 1);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    assert_int_equal(rig_count(rig, EFFECT_SIGNAL, id), 0);
    rig_exit(rig, id, 0);
    assert_int_equal(rig_state(rig, id), JOB_DONE);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_action_in_every_state_does_what_the_table_says),
        cmocka_unit_test(a_job_that_is_not_there_is_not_found),
        cmocka_unit_test(another_tenants_job_is_not_found_either),
        cmocka_unit_test(cancel_is_term_grace_kill_and_kill_is_at_once),
        cmocka_unit_test(a_persons_words_stay_with_the_job),
        cmocka_unit_test(a_paused_job_is_woken_to_see_its_end),
        cmocka_unit_test(a_halted_job_runs_again_on_resume),
        cmocka_unit_test(cancel_beats_halt),
        cmocka_unit_test(removal_of_a_running_job_is_answered_when_it_is_gone),
        cmocka_unit_test(a_retry_starts_counters_and_window_anew),
        cmocka_unit_test(a_patch_changes_what_it_names_and_nothing_else),
        cmocka_unit_test(a_new_due_time_defers_and_readies),
        cmocka_unit_test(held_and_blocked_jobs_keep_their_state_when_patched),
        cmocka_unit_test(a_held_job_is_passed_over_and_keeps_its_place),
        cmocka_unit_test(a_job_released_before_its_time_waits_for_it),
        cmocka_unit_test(a_job_that_someone_acts_on_is_not_started_meanwhile),
        cmocka_unit_test(actions_on_one_job_are_done_in_their_order),
        cmocka_unit_test(a_store_that_fails_is_said_so),
        cmocka_unit_test(an_end_that_was_asked_for_survives_a_restart),
        cmocka_unit_test(a_job_once_cancelled_and_retried_is_not_cancelled_by_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
