/* SPDX-License-Identifier: Apache-2.0 */
/* controller_test.c - the controller lock, the timer tick, and nudges. */
#include "core/schedule.h"
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static ControllerLock stored_lock(const Rig *rig)
{
    ControllerLock lock = { 0 };
    const RigDefinition *definition =
        rig_definition(rig, CONTROLLER_TABLE, CONTROLLER_KEY);
    assert_non_null(definition);
    assert_int_equal(controller_unpack(definition->value, &lock), ERR_OK);
    return lock;
}

static bool controls(const Rig *rig)
{
    bool mine;
    node_controller_lock(rig->node, &mine);
    return mine;
}

/* A node that finds the lock of another, renewed `age_ms` ago. */
static Rig *behind_another(int64_t age_ms)
{
    Rig *rig = rig_open(NULL);
    ControllerLock lock = { .version = 4,
                            .timestamp_ms = rig->now.wall_ms - age_ms,
                            .owner = SLICE_LITERAL("other-1") };
    Buf value = { 0 };
    controller_pack(&value, &lock);
    for (size_t i = 0; i < rig->definition_count; i++)
        if (slice_is(rig->definitions[i].table, CONTROLLER_TABLE))
            rig->definitions[i].value = slice_copy(&rig->arena, buf_slice(&value));
    if (!rig->definition_count)
        rig->definitions[rig->definition_count++] =
            (RigDefinition){ .table = SLICE_LITERAL(CONTROLLER_TABLE),
                             .key = SLICE_LITERAL(CONTROLLER_KEY),
                             .value = slice_copy(&rig->arena, buf_slice(&value)) };
    buf_done(&value);
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    return rig;
}

/* S0.24, S0.25, S0.26, S0.63: the lock holds version 1, a timestamp and its owner. */
static void the_first_node_sets_a_timestamped_lock(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_step(rig, NULL, 0);
    assert_true(controls(rig));
    ControllerLock lock = stored_lock(rig);
    assert_int_equal(lock.version, 1);
    assert_true(lock.timestamp_ms == rig->now.wall_ms);
    assert_true(lock.owner.bytes > 0);
    rig_close(rig);
}

static void it_is_renewed_while_the_node_lives(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    for (int i = 0; i < 600; i++) {
        rig_wait(rig, MS_PER_S);
        assert_true(rig->now.wall_ms - stored_lock(rig).timestamp_ms <
                    rig->settings.controller_stale_ms / 2);
    }
    assert_int_equal(stored_lock(rig).version, 1); /* it is still the first owner */
    rig_reopen(rig, true);
    rig_wait(rig, MS_PER_S);
    assert_true(controls(rig)); /* one's own is taken at once */
    assert_int_equal(stored_lock(rig).version, 1);
    rig_close(rig);
}

/* S0.62, S0.13: a lock that is still valid is left to its owner; S0.16: after the stale
 * interval it is taken over. */
static void anothers_lock_is_taken_over_after_the_stale_interval(void **state)
{
    (void)state;
    Rig *rig = behind_another(20 * MS_PER_S);
    int64_t stale_ms = rig->settings.controller_stale_ms;
    for (int64_t left = stale_ms - 20 * MS_PER_S; left > 0; left -= MS_PER_S) {
        assert_false(controls(rig));
        rig_wait(rig, MS_PER_S);
    }
    rig_wait(rig, MS_PER_S);
    assert_true(controls(rig));
    assert_int_equal(stored_lock(rig).version, 5);
    assert_true(slice_is(stored_lock(rig).owner, "rig-0001"));
    rig_close(rig);
}

static void a_timestamp_from_the_future_is_good_for_one_interval(void **state)
{
    (void)state;
    Rig *rig = behind_another(-100 * MS_PER_DAY);
    rig_wait(rig, rig->settings.controller_stale_ms / 2);
    assert_false(controls(rig));
    rig_wait(rig, rig->settings.controller_stale_ms);
    assert_true(controls(rig));
    rig_close(rig);
}

/* S0.71: a node that leaves clears the lock, so that the next need not wait. */
static void a_node_that_drains_gives_it_back(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_step(rig, NULL, 0);
    Event drain = { .kind = EVENT_DRAIN };
    rig_step(rig, &drain, 1);
    assert_false(controls(rig));
    assert_int_equal(stored_lock(rig).timestamp_ms, 0);
    uint64_t operations = rig->operations;
    rig_wait(rig, MS_PER_MIN);
    assert_true(rig->operations == operations);
    Event resume = { .kind = EVENT_RESUME };
    rig_step(rig, &resume, 1);
    assert_true(controls(rig));
    rig_close(rig);
    Rig *next = behind_another(0);
    assert_false(controls(next));
    rig_close(next);
}

/* S0.13: duties that a cluster does once are done by the holder only. */
static void without_the_lock_no_duty_is_done(void **state)
{
    (void)state;
    Rig *rig = behind_another(0);
    Schedule schedule = { .cron = SLICE_LITERAL("@every 1s"),
                          .tz = SLICE_LITERAL("UTC") };
    Buf job = { 0 };
    Buf value = { 0 };
    Job pattern = rig_job();
    job_pack(&job, &pattern);
    schedule.job = buf_slice(&job);
    schedule_pack(&value, &schedule);
    Event event = { .kind = EVENT_DEFINE,
                    .tenant = SLICE_LITERAL("default"),
                    .table = SLICE_LITERAL(SCHEDULE_TABLE),
                    .key = SLICE_LITERAL("s"),
                    .value = buf_slice(&value) };
    assert_int_equal(rig_send(rig, event), ERR_OK);
    JobId old = rig_add_default(rig); /* jobs themselves run on every node */
    assert_int_equal(rig_state(rig, old), JOB_RUNNING);
    rig_exit(rig, old, 0);
    for (int i = 0; i < 30; i++)
        rig_wait(rig, MS_PER_S);
    assert_int_equal(rig->count, 1);
    rig_wait(rig, rig->settings.controller_stale_ms);
    rig_wait(rig, 2 * MS_PER_S);
    assert_true(rig->count > 1);
    buf_done(&job);
    buf_done(&value);
    rig_close(rig);
}

static uint64_t passes(const Rig *rig)
{
    return node_facts(rig->node).passes;
}

static void quiet(NodeSettings *settings)
{
    settings->controller_stale_ms = MS_PER_DAY;
}

/* S0.5, S3.50: the timer alone drives a pass each second, whatever happens or not. */
static void a_tick_comes_every_second(void **state)
{
    (void)state;
    Rig *rig = rig_open(quiet);
    rig_wait(rig, MS_PER_S);
    for (int i = 0; i < 20; i++) {
        uint64_t before = passes(rig);
        assert_true(node_next_wake(rig->node) <= rig->now.boot_ms + MS_PER_S);
        rig_wait(rig, 999);
        assert_true(passes(rig) == before);
        rig_wait(rig, 1);
        assert_true(passes(rig) == before + 1);
    }
    rig_close(rig);
}

/* S3.50: the period is a setting, also while it runs; what has to be seen to in between
 * is not put off by it. */
static void the_period_of_the_tick_is_a_setting(void **state)
{
    (void)state;
    static const int64_t periods[] = { 200, 5000, 1000, 60000 };
    Rig *rig = rig_open(quiet);
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        rig->settings.poll_ms = periods[i];
        node_settings_set(rig->node, &rig->settings);
        rig_step(rig, NULL, 0);
        for (int round = 0; round < 3; round++) {
            uint64_t before = passes(rig);
            assert_true(node_next_wake(rig->node) <= rig->now.boot_ms + MS_PER_S);
            rig_wait(rig, periods[i] - 1);
            assert_true(passes(rig) == before);
            rig_wait(rig, 1);
            assert_true(passes(rig) == before + 1);
        }
    }
    rig_close(rig);
}

/* S0.11, S0.61: what happens between two ticks is a nudge: it causes a pass at once. A
 * nudge that comes during a pass (while the window of a lane is on its way) sets the
 * touched flag: exactly one more pass follows, and it is never lost. */
static void a_nudge_during_a_pass_causes_exactly_one_more(void **state)
{
    (void)state;
    Rig *rig = rig_open(quiet);
    rig_wait(rig, MS_PER_S);
    uint64_t before = passes(rig);
    rig_add_default(rig);
    assert_true(passes(rig) == before + 1);

    /* Three things happen in one turn: one pass covers them all. */
    Job jobs[3] = { rig_job(), rig_job(), rig_job() };
    Event events[3];
    for (size_t i = 0; i < 3; i++)
        events[i] = (Event){ .kind = EVENT_ADD, .jobs = &jobs[i], .count = 1 };
    before = passes(rig);
    rig_step(rig, events, 3);
    assert_true(passes(rig) == before + 1);

    /* An answer of the store that arrives later is a nudge of its own, once. */
    Rig *slow = rig_open(quiet);
    slow->hold_answers = true;
    rig_reopen(slow, true);
    rig_step(slow, NULL, 0);
    before = passes(slow);
    rig_add_default(slow);
    assert_true(passes(slow) == before + 1);
    assert_true(node_next_wake(slow->node) > slow->now.boot_ms); /* nothing is left */
    rig_close(slow);
    rig_close(rig);
}

/* No nudge is lost: whatever order things happen in, a job that can run runs without
 * waiting for the tick. */
static void no_nudge_is_lost(void **state)
{
    (void)state;
    Rig *rig = rig_open(quiet);
    for (int round = 0; round < 200; round++) {
        JobId first = rig_add_default(rig);
        JobId second = rig_add_default(rig);
        JobId third = rig_add_default(rig); /* no slot is left */
        assert_int_equal(rig_state(rig, first), JOB_RUNNING);
        assert_int_equal(rig_state(rig, second), JOB_RUNNING);
        assert_int_equal(rig_state(rig, third), JOB_READY);
        rig_exit(rig, round % 2 ? first : second, 0);
        assert_int_equal(rig_state(rig, third), JOB_RUNNING);
        rig_exit(rig, round % 2 ? second : first, 0);
        rig_exit(rig, third, 0);
    }
    rig_close(rig);
}

/* S0.18: with the switch off nothing starts, while jobs are accepted; it is a nudge when
 * it is turned on again. */
static void with_the_switch_off_jobs_are_accepted_and_none_starts(void **state)
{
    (void)state;
    Rig *rig = rig_open(quiet);
    rig->settings.enabled = false;
    node_settings_set(rig->node, &rig->settings);
    JobId id = rig_add_default(rig);
    for (int i = 0; i < 10; i++)
        rig_wait(rig, MS_PER_S);
    assert_int_equal(rig_state(rig, id), JOB_READY);
    rig->settings.enabled = true;
    node_settings_set(rig->node, &rig->settings);
    assert_true(node_next_wake(rig->node) <= rig->now.boot_ms);
    rig_step(rig, NULL, 0);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_node_sets_a_timestamped_lock),
        cmocka_unit_test(it_is_renewed_while_the_node_lives),
        cmocka_unit_test(anothers_lock_is_taken_over_after_the_stale_interval),
        cmocka_unit_test(a_timestamp_from_the_future_is_good_for_one_interval),
        cmocka_unit_test(a_node_that_drains_gives_it_back),
        cmocka_unit_test(without_the_lock_no_duty_is_done),
        cmocka_unit_test(a_tick_comes_every_second),
        cmocka_unit_test(the_period_of_the_tick_is_a_setting),
        cmocka_unit_test(a_nudge_during_a_pass_causes_exactly_one_more),
        cmocka_unit_test(no_nudge_is_lost),
        cmocka_unit_test(with_the_switch_off_jobs_are_accepted_and_none_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
