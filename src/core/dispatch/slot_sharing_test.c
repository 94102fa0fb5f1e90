/* SPDX-License-Identifier: Apache-2.0 */
/* slot_sharing_test.c - jobs that share the slot of a warm context: how many it is given,
 * what its end means for them, and who else gets a turn. */
#include "testing/node_harness.h"

#include "core/dispatch/slot_sharing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const Handler warm = { .lang = LANG_PYTHON, .body = { "pass", 4 } };
static const Handler shell = { .lang = LANG_SH, .body = { "true", 4 } };
static const Ending answered = { .kind = END_ANSWERED, .said_code = 200, .progress = -1 };
static const Ending ungot = { .kind = END_UNGOT, .progress = -1 };

static JobId add(Rig *rig, const char *type, const char *queue)
{
    Job job = rig_typed_job(type);
    job.queue = slice_text(queue);
    return rig_add(rig, &job);
}

static size_t in_state(const Rig *rig, const char *type, JobState state)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->count; i++)
        count += rig->jobs[i].state == state && slice_is(rig->jobs[i].type, type);
    return count;
}

/* Answers every job in hand, one step for all, after `ms`. Returns how many. */
static size_t answer_all(Rig *rig, int64_t ms)
{
    static Event events[RIG_JOBS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < rig->count; i++)
        if (rig->jobs[i].state == JOB_RUNNING)
            events[count++] = (Event){ .kind = EVENT_ENDED,
                                       .id = rig->jobs[i].id,
                                       .attempt = rig->jobs[i].attempt,
                                       .ending = answered };
    for (size_t i = 0; i < count; i++)
        events[i].ending.took_us = ms * 1000 / (int64_t)count;
    rig->now.boot_ms += ms;
    rig->now.wall_ms += ms;
    rig_step(rig, events, count);
    return count;
}

static void one_slot(NodeSettings *settings)
{
    settings->slots = 1;
}

/* S2.41, S2.46: what is warm pulls more of its own type at once. */
static void a_fast_context_is_given_more_at_once(void **state)
{
    (void)state;
    Rig *rig = rig_open(one_slot);
    rig_define(rig, "t", &warm);
    for (int i = 0; i < 3000; i++)
        add(rig, "t", "default");
    assert_int_equal(in_state(rig, "t", JOB_RUNNING), 1); /* nothing is known of it yet */
    size_t most = 0;
    for (int i = 0; i < 85; i++) {
        size_t done = answer_all(rig, 1);
        most = done > most ? done : most;
    }
    assert_true(most >= 64);
    assert_int_equal(node_facts(rig->node).slots_used <= 1, 1);
    rig_close(rig);
}

static void behind_a_slow_job_none_waits(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL); /* two slots */
    rig_define(rig, "t", &warm);
    for (int i = 0; i < 40; i++)
        add(rig, "t", "default");
    for (int i = 0; i < 15; i++) {
        assert_int_equal(in_state(rig, "t", JOB_RUNNING), 2);
        assert_int_equal(node_facts(rig->node).slots_used, 2);
        answer_all(rig, 1000);
    }
    rig_close(rig);
}

/* S2.43 */
static void other_types_and_commands_never_share_its_slot(void **state)
{
    (void)state;
    Rig *rig = rig_open(one_slot);
    rig_define(rig, "t", &warm);
    rig_define(rig, "u", &warm);
    add(rig, "t", "default");
    add(rig, "u", "default");
    rig_add_default(rig);
    for (int i = 0; i < 3; i++) {
        const Effect *start = rig_last(rig, EFFECT_START);
        assert_int_equal(start->warm, i < 2);
        assert_int_equal(node_facts(rig->node).slots_used, 1);
        assert_int_equal(answer_all(rig, 1), 1);
    }
    rig_close(rig);
}

/* S2.99 */
static void types_of_one_eid_share_a_slot(void **state)
{
    (void)state;
    Rig *rig = rig_open(one_slot);
    Handler both = warm;
    both.eid = SLICE_LITERAL("e");
    rig_define(rig, "t", &both);
    rig_define(rig, "u", &both);
    for (int i = 0; i < 400; i++)
        add(rig, "t", "default");
    for (int i = 0; i < 30; i++)
        answer_all(rig, 1);
    for (int i = 0; i < 400; i++)
        add(rig, i % 2 ? "t" : "u", i % 2 ? "default" : "other");
    bool together = false;
    for (int i = 0; i < 30; i++) {
        together = together ||
                   (in_state(rig, "t", JOB_RUNNING) && in_state(rig, "u", JOB_RUNNING));
        answer_all(rig, 1);
    }
    assert_true(together);
    rig_close(rig);
}

static void batch_is_the_most_at_once(void **state)
{
    (void)state;
    Rig *rig = rig_open(one_slot);
    Handler seven = warm;
    seven.batch = 7;
    rig_define(rig, "t", &seven);
    for (int i = 0; i < 500; i++)
        add(rig, "t", "default");
    size_t most = 0;
    for (int i = 0; i < 60; i++) {
        size_t done = answer_all(rig, 1);
        most = done > most ? done : most;
    }
    assert_int_equal(most, 7);
    rig_close(rig);
}

/* Fairness counts jobs, not batches: while both have work, neither gets ahead by more
 * than a turn's worth. */
static void a_lane_of_single_jobs_keeps_its_share(void **state)
{
    (void)state;
    Rig *rig = rig_open(one_slot);
    rig_define(rig, "t", &warm);
    rig_define(rig, "s", &shell);
    for (int i = 0; i < 1500; i++)
        add(rig, "t", "fast");
    for (int i = 0; i < 20; i++)
        answer_all(rig, 1); /* it has become fast, alone */
    size_t before = in_state(rig, "t", JOB_DONE);
    for (int i = 0; i < 300; i++)
        add(rig, "s", "slow");
    while (in_state(rig, "s", JOB_DONE) < 250)
        answer_all(rig, 1);
    size_t fast = in_state(rig, "t", JOB_DONE) - before;
    assert_true(fast <= 250 + 4 * BATCH_QUANTUM);
    assert_true(fast + 4 * BATCH_QUANTUM >= 250);
    rig_close(rig);
}

/* S2.89 */
static void ungot_jobs_run_again_uncharged_in_their_place(void **state)
{
    (void)state;
    Rig *rig = rig_open(one_slot);
    rig_define(rig, "t", &warm);
    JobId first = add(rig, "t", "default");
    for (uint32_t i = 1; i < 20; i++) { /* more often than losses are forgiven */
        assert_int_equal(rig_state(rig, first), JOB_RUNNING);
        assert_int_equal(rig_find(rig, first)->attempt, i);
        rig_wait(rig, 10);
        rig_end(rig, first, &ungot);
        add(rig, "t", "default"); /* comes behind it all the same */
    }
    assert_int_equal(rig_find(rig, first)->retry_number, 0);
    assert_int_equal(rig_state(rig, first), JOB_RUNNING);
    rig_close(rig);
}

static void a_job_in_a_context_is_not_paused_but_can_be_cancelled(void **state)
{
    (void)state;
    Rig *rig = rig_open(one_slot);
    rig_define(rig, "t", &warm);
    JobId id = add(rig, "t", "default");
    assert_int_equal(rig_act(rig, id, ACT_PAUSE), ERR_CONFLICT);
    assert_string_equal(rig_last(rig, EFFECT_REPLY)->problem, "shared_context");
    assert_int_equal(rig_act(rig, id, ACT_CANCEL), ERR_OK);
    assert_int_equal(rig_signals(rig, id, 15), 1);
    Ending ended = { .kind = END_SIGNALLED, .signal = 15, .progress = -1 };
    rig_end(rig, id, &ended);
    assert_int_equal(rig_state(rig, id), JOB_CANCELLED);
    assert_int_equal(rig_count(rig, EFFECT_FORGET, id), 0); /* nothing is kept of it */
    rig_close(rig);
}

/* What waits behind another in the same context has not begun. */
static void the_time_limit_counts_from_the_start_in_the_context(void **state)
{
    (void)state;
    Rig *rig = rig_open(one_slot);
    rig->slow_starts = true;
    Handler limited = warm;
    limited.max_run_ms = 1000;
    rig_define(rig, "t", &limited);
    JobId id = add(rig, "t", "default");
    rig_wait(rig, 30 * MS_PER_MIN);
    assert_int_equal(rig_signals(rig, id, 15), 0);
    Event started = { .kind = EVENT_STARTED, .id = id, .attempt = 1 };
    rig_step(rig, &started, 1);
    rig_wait(rig, 1000);
    assert_int_equal(rig_signals(rig, id, 15), 1);
    rig_close(rig);
}

static void jobs_in_contexts_are_lost_with_the_daemon(void **state)
{
    (void)state;
    Rig *rig = rig_open(one_slot);
    rig_define(rig, "t", &warm);
    for (int i = 0; i < 300; i++)
        add(rig, "t", "default");
    for (int i = 0; i < 50 && in_state(rig, "t", JOB_RUNNING) < 4; i++)
        answer_all(rig, 1);
    assert_true(in_state(rig, "t", JOB_RUNNING) > 1);
    size_t done = in_state(rig, "t", JOB_DONE);
    rig_reopen(rig, false);
    rig_wait(rig, 1);
    while (in_state(rig, "t", JOB_DONE) < 300)
        assert_true(answer_all(rig, 1) > 0);
    assert_true(done < 300);
    for (size_t i = 0; i < rig->count; i++)
        assert_int_equal(rig->jobs[i].retry_number, 0);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fast_context_is_given_more_at_once),
        cmocka_unit_test(behind_a_slow_job_none_waits),
        cmocka_unit_test(other_types_and_commands_never_share_its_slot),
        cmocka_unit_test(types_of_one_eid_share_a_slot),
        cmocka_unit_test(batch_is_the_most_at_once),
        cmocka_unit_test(a_lane_of_single_jobs_keeps_its_share),
        cmocka_unit_test(ungot_jobs_run_again_uncharged_in_their_place),
        cmocka_unit_test(a_job_in_a_context_is_not_paused_but_can_be_cancelled),
        cmocka_unit_test(the_time_limit_counts_from_the_start_in_the_context),
        cmocka_unit_test(jobs_in_contexts_are_lost_with_the_daemon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
