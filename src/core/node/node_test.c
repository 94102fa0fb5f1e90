/* SPDX-License-Identifier: Apache-2.0 */
/* node_test.c - turns and their numbers, restarts, drains, definitions. */
#include "core/node/node.h"

#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TERM 15

static void a_turn_has_a_number_only_if_it_wrote(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    uint64_t number = rig->number;
    rig_wait(rig, 100);
    rig_wait(rig, 100);
    assert_int_equal(rig->number, number);
    rig_add_default(rig); /* the rig checks that numbers have no gap */
    assert_int_equal(rig->number, number + 1);
    assert_int_equal(rig->out.adds.node, 1);
    rig_close(rig);
}

static void doors_adds_are_journalled_apart_from_the_turns_own_work(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig->slow_starts = true; /* the last step is the one that added */
    rig_add_default(rig);
    assert_int_equal(rig->out.adds.count, 1);
    assert_int_equal(rig->out.adds.ops[0].kind, OP_ADD);
    assert_int_equal(rig->out.batch.count, 1);
    assert_int_equal(rig->out.batch.ops[0].kind, OP_CLAIM);
    assert_int_equal(rig->out.adds.number, rig->out.batch.number);
    rig_close(rig);
}

static void the_same_events_give_the_same_decisions(void **state)
{
    (void)state;
    Buf packed[2] = { { 0 }, { 0 } };
    for (int run = 0; run < 2; run++) {
        Rig *rig = rig_open(NULL);
        for (int i = 0; i < 5; i++) {
            JobId id = rig_add_default(rig);
            rig_exit(rig, id, 1); /* the delay has jitter */
            batch_pack(&packed[run], &rig->out.batch);
            rig_wait(rig, 20000);
            batch_pack(&packed[run], &rig->out.batch);
        }
        rig_close(rig);
    }
    assert_true(slice_equal(buf_slice(&packed[0]), buf_slice(&packed[1])));
    buf_done(&packed[0]);
    buf_done(&packed[1]);
}

static void attempts_that_live_on_are_adopted_by_the_next_node(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = rig_add_default(rig);
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    assert_int_equal(rig_find(rig, id)->attempt, 1); /* not run again */
    assert_int_equal(rig_count(rig, EFFECT_START, 0), 0);
    assert_int_equal(node_facts(rig->node).slots_used, 1);
    rig_exit(rig, id, 0);
    assert_int_equal(rig_state(rig, id), JOB_DONE);
    rig_close(rig);
}

static void attempts_that_no_one_has_seen_are_run_again_uncharged(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.max_retries = 0;
    JobId id = rig_add(rig, &job);
    rig_reopen(rig, false);
    rig_step(rig, NULL, 0);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    assert_int_equal(rig_find(rig, id)->attempt, 2);
    assert_int_equal(rig_find(rig, id)->retry_number, 0);
    assert_int_equal(rig_count(rig, EFFECT_FORGET, id), 1);
    rig_close(rig);
}

static void an_attempt_that_ended_meanwhile_is_recorded_once(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = rig_add_default(rig);
    rig_reopen(rig, true); /* the launcher has kept its exit status */
    Event ended = { .kind = EVENT_ENDED, .id = id, .attempt = 1 };
    ended.ending = (Ending){ .kind = END_EXITED, .exit_status = 64, .progress = -1 };
    Event twice[2] = { ended, ended };
    rig_step(rig, twice, 2);
    assert_int_equal(rig_state(rig, id), JOB_FAILED);
    assert_int_equal(node_facts(rig->node).late, 1);
    rig_close(rig);
}

static void only_what_the_store_knows_can_be_adopted(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = rig_add_default(rig);
    rig_reopen(rig, true);
    assert_false(node_adopt(rig->node, id, 2, rig->now));
    assert_false(node_adopt(rig->node, 999, 1, rig->now));
    rig_close(rig);
}

static void order_survives_a_restart(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    JobId ids[40]; /* more than a window, in two lanes, priorities mixed */
    for (int i = 0; i < 40; i++) {
        Job job = rig_job();
        job.priority = i * 7 % 10;
        job.queue = i % 2 ? SLICE_LITERAL("odd") : SLICE_LITERAL("even");
        ids[i] = rig_add(rig, &job);
    }
    rig->settings.window_jobs = 5;
    rig_reopen(rig, true);
    rig_slots(rig, 1);
    for (int n = 0; n < 40; n++) {
        JobId best = 0; /* of the lanes in turn: the best that waits */
        const Job *running = rig_find(rig, rig_last(rig, EFFECT_START)->id);
        for (int i = 0; i < 40; i++) {
            const Job *job = rig_find(rig, ids[i]);
            const Job *other = best ? rig_find(rig, best) : NULL;
            if (!slice_equal(job->queue, running->queue))
                continue;
            if (job->state != JOB_READY && job != running)
                continue;
            if (!other || job->priority > other->priority)
                best = job->id;
        }
        assert_true(running->id == best);
        rig_exit(rig, running->id, 0);
    }
    assert_int_equal(rig->starts, 40);
    rig_close(rig);
}

static void a_paused_job_is_adopted_paused(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.max_run_ms = 60000;
    JobId id = rig_add(rig, &job);
    assert_int_equal(rig_act(rig, id, ACT_PAUSE), ERR_OK);
    rig_wait(rig, MS_PER_HOUR);
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    assert_int_equal(rig_act(rig, id, ACT_PAUSE), ERR_CONFLICT);
    rig_wait(rig, MS_PER_HOUR);
    assert_int_equal(rig_act(rig, id, ACT_RESUME), ERR_OK);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_wait(rig, 59999);
    assert_int_equal(rig_signals(rig, id, TERM), 0); /* the pause was not its time */
    rig_wait(rig, 1);
    assert_int_equal(rig_signals(rig, id, TERM), 1);
    rig_close(rig);
}

static void a_time_limit_goes_on_over_a_restart(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.max_run_ms = 60000;
    JobId id = rig_add(rig, &job);
    rig->now.wall_ms += 50000;
    rig->now.boot_ms = 7000; /* only the wall tells how long it has been */
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    rig_wait(rig, 9999);
    assert_int_equal(rig_signals(rig, id, TERM), 0);
    rig_wait(rig, 1);
    assert_int_equal(rig_signals(rig, id, TERM), 1);
    rig_close(rig);
}

static void a_clock_set_back_over_a_restart_gives_no_more_than_the_limit(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.max_run_ms = 60000;
    JobId id = rig_add(rig, &job);
    rig->now.wall_ms -= MS_PER_DAY;
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    rig_wait(rig, 60000);
    assert_int_equal(rig_signals(rig, id, TERM), 1);
    rig_close(rig);
}

static void a_drained_node_lets_its_jobs_end_and_starts_none(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 1);
    JobId running = rig_add_default(rig);
    JobId waiting = rig_add_default(rig);
    Event drain = { .kind = EVENT_DRAIN };
    rig_step(rig, &drain, 1);
    assert_true(node_facts(rig->node).draining);
    rig_exit(rig, running, 0);
    assert_int_equal(rig_state(rig, running), JOB_DONE);
    rig_wait(rig, 5000);
    assert_int_equal(rig_state(rig, waiting), JOB_READY);
    assert_int_equal(rig_act(rig, waiting, ACT_HOLD), ERR_OK); /* actions still work */
    assert_int_equal(rig_act(rig, waiting, ACT_RELEASE), ERR_OK);
    Event resume = { .kind = EVENT_RESUME };
    rig_step(rig, &resume, 1);
    assert_int_equal(rig_state(rig, waiting), JOB_RUNNING);
    rig_close(rig);
}

static void definitions_are_written_and_told(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Event put = { .kind = EVENT_DEFINE,
                  .table = SLICE_LITERAL("config"),
                  .key = SLICE_LITERAL("slots"),
                  .value = SLICE_LITERAL("8") };
    assert_int_equal(rig_send(rig, put), ERR_OK);
    assert_int_equal(rig->out.batch.ops[0].kind, OP_PUT);
    const Effect *defined = rig_last(rig, EFFECT_DEFINED);
    assert_int_equal(defined->wait, WAIT_BATCH);
    assert_true(slice_is(defined->key, "slots"));
    assert_true(slice_is(defined->value, "8"));
    put.value = (Slice){ NULL, 0 };
    assert_int_equal(rig_send(rig, put), ERR_OK);
    assert_int_equal(rig->out.batch.ops[0].kind, OP_DELETE);
    rig_close(rig);
}

typedef struct Seen {
    size_t count;
    RunningJob last;
} Seen;

static void see(void *context, const RunningJob *job)
{
    Seen *seen = context;
    seen->count++;
    seen->last = *job;
}

static void what_runs_can_be_listed(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Seen seen = { 0 };
    node_running(rig->node, see, &seen);
    assert_int_equal(seen.count, 0);
    JobId id = rig_add_default(rig);
    rig_act(rig, id, ACT_PAUSE);
    rig_act(rig, id, ACT_CANCEL);
    node_running(rig->node, see, &seen);
    assert_int_equal(seen.count, 1);
    assert_true(seen.last.id == id);
    assert_int_equal(seen.last.attempt, 1);
    assert_int_equal(seen.last.slot, 1);
    assert_true(seen.last.paused);
    assert_true(seen.last.stopping);
    assert_true(slice_is(seen.last.queue, "default"));
    NodeFacts facts = node_facts(rig->node);
    assert_int_equal(facts.slots, 2);
    assert_int_equal(facts.slots_used, 1);
    assert_int_equal(facts.started, 1);
    assert_int_equal(node_settings(rig->node)->slots, 2);
    rig_close(rig);
}

static void a_node_can_end_in_the_middle_of_everything(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig->hold_answers = true;
    Job job = rig_job();
    JobId id = rig_add_default(rig);
    rig_add_default(rig);
    JobId waiting = rig_add_default(rig);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rig_act(rig, waiting, ACT_HOLD), ERR_BUSY);
    rig_act(rig, id, ACT_REMOVE);
    Event keyed = {
        .kind = EVENT_ADD, .jobs = &job, .count = 1, .key = SLICE_LITERAL("k")
    };
    assert_int_equal(rig_send(rig, keyed), ERR_BUSY);
    Event progress = { .kind = EVENT_PROGRESS,
                       .id = id,
                       .attempt = 1,
                       .message = SLICE_LITERAL("half way") };
    rig_step(rig, &progress, 1);
    rig_close(rig); /* nothing leaks */
    node_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_has_a_number_only_if_it_wrote),
        cmocka_unit_test(doors_adds_are_journalled_apart_from_the_turns_own_work),
        cmocka_unit_test(the_same_events_give_the_same_decisions),
        cmocka_unit_test(attempts_that_live_on_are_adopted_by_the_next_node),
        cmocka_unit_test(attempts_that_no_one_has_seen_are_run_again_uncharged),
        cmocka_unit_test(an_attempt_that_ended_meanwhile_is_recorded_once),
        cmocka_unit_test(only_what_the_store_knows_can_be_adopted),
        cmocka_unit_test(order_survives_a_restart),
        cmocka_unit_test(a_paused_job_is_adopted_paused),
        cmocka_unit_test(a_time_limit_goes_on_over_a_restart),
        cmocka_unit_test(a_clock_set_back_over_a_restart_gives_no_more_than_the_limit),
        cmocka_unit_test(a_drained_node_lets_its_jobs_end_and_starts_none),
        cmocka_unit_test(definitions_are_written_and_told),
        cmocka_unit_test(what_runs_can_be_listed),
        cmocka_unit_test(a_node_can_end_in_the_middle_of_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
