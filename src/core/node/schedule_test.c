/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_test.c - stories of schedules: each planned time gives its job once. */
#include "core/schedule.h"
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Slice packed(Arena *arena, const Schedule *schedule)
{
    Schedule full = *schedule;
    Buf job = { 0 };
    Buf value = { 0 };
    Job pattern = rig_job();
    job_pack(&job, &pattern);
    full.job = buf_slice(&job);
    full.tz = SLICE_LITERAL("UTC");
    schedule_pack(&value, &full);
    Slice kept = slice_copy(arena, buf_slice(&value));
    buf_done(&job);
    buf_done(&value);
    return kept;
}

static Err define(Rig *rig, const Schedule *schedule, bool flag)
{
    Arena arena = { 0 };
    Event event = { .kind = EVENT_DEFINE,
                    .tenant = SLICE_LITERAL("default"),
                    .table = SLICE_LITERAL(SCHEDULE_TABLE),
                    .key = SLICE_LITERAL("s"),
                    .flag = flag };
    if (schedule)
        event.value = packed(&arena, schedule);
    Err err = rig_send(rig, event);
    arena_done(&arena);
    return err;
}

static Schedule every_minute(void)
{
    return (Schedule){ .cron = SLICE_LITERAL("* * * * *") };
}

static ScheduleState state_of(const Rig *rig)
{
    ScheduleState state = { 0 };
    const RigDefinition *definition = rig_definition(rig, SCHEDULE_STATES, "s");
    assert_non_null(definition);
    assert_int_equal(schedule_state_unpack(definition->value, &state), ERR_OK);
    return state;
}

static size_t jobs_of(const Rig *rig)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->count; i++)
        count += slice_is(rig->jobs[i].schedule, "s");
    return count;
}

static void wait_minutes(Rig *rig, int minutes)
{
    for (int i = 0; i < minutes * 60; i++)
        rig_wait(rig, MS_PER_S);
}

/* The node is away, the clocks go on. */
static void be_away(Rig *rig, int64_t ms)
{
    rig->now.wall_ms += ms;
    rig->now.boot_ms += ms;
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
}

static void end_running(Rig *rig)
{
    for (size_t i = 0; i < rig->count; i++)
        if (rig->jobs[i].state == JOB_RUNNING)
            rig_exit(rig, rig->jobs[i].id, 0);
}

static void each_planned_time_gives_one_job(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Schedule schedule = every_minute();
    assert_int_equal(define(rig, &schedule, false), ERR_OK);
    assert_int_equal(jobs_of(rig), 0); /* it starts with the next one */
    wait_minutes(rig, 10);
    assert_int_equal(jobs_of(rig), 10);
    assert_int_equal(state_of(rig).fired, 10);
    assert_int_equal(state_of(rig).missed, 0);
    assert_int_equal(state_of(rig).fired_ms % MS_PER_MIN, 0);
    assert_int_equal(state_of(rig).fired_ms, state_of(rig).planned_ms);
    assert_true(slice_is(rig->jobs[0].schedule, "s"));
    rig_close(rig);
}

/* A node that comes back in the minute of a fire finds that it has happened. */
static void a_restart_does_not_fire_again(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Schedule schedule = every_minute();
    schedule.missed = MISSED_ALL;
    define(rig, &schedule, false);
    for (int minute = 0; minute < 5; minute++) {
        wait_minutes(rig, 1);
        for (int i = 0; i < 5; i++)
            be_away(rig, 100);
        assert_int_equal(jobs_of(rig), minute + 1);
    }
    rig_close(rig);
}

/* What the node that had the duties before said last may be heard only now. */
static void an_older_word_of_another_node_fires_nothing_again(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Schedule schedule = every_minute();
    Buf old = { 0 };
    assert_int_equal(define(rig, &schedule, false), ERR_OK);
    ScheduleState before = state_of(rig);
    schedule_state_pack(&old, &before);
    wait_minutes(rig, 2);
    size_t fired = jobs_of(rig);
    Event change = { .kind = EVENT_CHANGE,
                     .tenant = SLICE_LITERAL("default"),
                     .table = SLICE_LITERAL(SCHEDULE_STATES),
                     .key = SLICE_LITERAL("s"),
                     .value = buf_slice(&old) };
    rig_step(rig, &change, 1);
    rig_wait(rig, 1);
    assert_int_equal(jobs_of(rig), fired);
    wait_minutes(rig, 1);
    assert_int_equal(jobs_of(rig), fired + 1);
    buf_done(&old);
    rig_close(rig);
}

static void missed_times_are_skipped_made_up_once_or_all(void **state)
{
    (void)state;
    static const struct {
        Missed missed;
        size_t jobs;
    } table[] = { { MISSED_SKIP, 0 }, { MISSED_ONCE, 1 }, { MISSED_ALL, 10 } };
    for (size_t i = 0; i < 3; i++) {
        Rig *rig = rig_open(NULL);
        Schedule schedule = { .cron = SLICE_LITERAL("*/6 * * * *"),
                              .missed = table[i].missed };
        define(rig, &schedule, false);
        wait_minutes(rig, 6);
        assert_int_equal(jobs_of(rig), 1);
        /* To two minutes behind the tenth that is missed. */
        int64_t planned_ms = state_of(rig).planned_ms;
        be_away(rig, planned_ms + 62 * MS_PER_MIN - rig->now.wall_ms);
        rig_wait(rig, 1);
        assert_int_equal(jobs_of(rig), 1 + table[i].jobs);
        assert_int_equal(state_of(rig).missed, 10);
        assert_true(state_of(rig).missed_ms > planned_ms);
        wait_minutes(rig, 6); /* and then it goes on as ever */
        assert_int_equal(jobs_of(rig), 2 + table[i].jobs);
        assert_int_equal(state_of(rig).missed, 10);
        rig_close(rig);
    }
}

static void a_long_absence_of_a_fast_schedule_costs_little(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Schedule schedule = { .cron = SLICE_LITERAL("@every 1s"), .missed = MISSED_ONCE };
    define(rig, &schedule, false);
    rig_wait(rig, MS_PER_S);
    size_t before = jobs_of(rig);
    be_away(rig, 365 * MS_PER_DAY);
    rig_wait(rig, 1);
    assert_int_equal(jobs_of(rig), before + 1);
    assert_true(state_of(rig).missed >= 1000);
    assert_true(rig->now.wall_ms - state_of(rig).planned_ms <= MS_PER_MIN);
    rig_close(rig);
}

/* Everything that was missed is added, but a step stays small. */
static void all_missed_times_come_in_steps(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Schedule schedule = every_minute();
    schedule.missed = MISSED_ALL;
    define(rig, &schedule, false);
    be_away(rig, 250 * MS_PER_MIN);
    for (int i = 0; i < 5; i++)
        rig_wait(rig, 1);
    assert_int_equal(jobs_of(rig), 250);
    rig_close(rig);
}

/* A wrong clock, or years without the daemon, must not add millions. */
static void of_too_many_missed_times_the_newest_are_given(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    Schedule schedule = every_minute();
    schedule.missed = MISSED_ALL;
    assert_int_equal(define(rig, &schedule, false), ERR_OK);
    be_away(rig, 3 * MS_PER_DAY);
    wait_minutes(rig, 1);
    assert_in_range(jobs_of(rig), 1000, 1002);
    assert_in_range(state_of(rig).dropped, 3 * 1440 - 1002, 3 * 1440 - 998);
    assert_true(rig->now.wall_ms - state_of(rig).planned_ms <= MS_PER_MIN);
    rig_close(rig);
}

/* Of a clock that is wrong for a few seconds nothing is left behind. */
static void a_clock_that_is_wrong_for_a_moment_fires_nothing(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Schedule schedule = every_minute();
    assert_int_equal(define(rig, &schedule, false), ERR_OK);
    wait_minutes(rig, 2);
    rig->now.wall_ms += 2 * MS_PER_DAY;
    for (int i = 0; i < 5; i++)
        rig_wait(rig, MS_PER_S);
    rig->now.wall_ms -= 2 * MS_PER_DAY;
    assert_int_equal(jobs_of(rig), 2);
    wait_minutes(rig, 3);
    assert_in_range(jobs_of(rig), 4, 5);
    assert_true(state_of(rig).planned_ms <= rig->now.wall_ms);
    rig_close(rig);
}

/* It was believed, and then set right: times that are still to come are not dealt with,
 * after a restart either. */
static void a_clock_that_is_set_back_silences_no_schedule(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        Rig *rig = rig_open(NULL);
        Schedule schedule = every_minute();
        assert_int_equal(define(rig, &schedule, false), ERR_OK);
        rig->now.wall_ms += 2 * MS_PER_DAY;
        wait_minutes(rig, 3);
        size_t before = jobs_of(rig);
        assert_in_range(before, 2, 4);
        rig->now.wall_ms -= 2 * MS_PER_DAY;
        if (restart)
            be_away(rig, MS_PER_S);
        wait_minutes(rig, 4);
        assert_in_range(jobs_of(rig), before + 3, before + 4);
        rig_close(rig);
    }
}

static void while_the_job_before_is_not_final_the_policy_says(void **state)
{
    (void)state;
    static const struct {
        Overlap overlap;
        size_t jobs; /* after three minutes with the first still running */
        uint64_t skipped;
    } table[] = { { OVERLAP_ALLOW, 3, 0 },
                  { OVERLAP_SKIP, 1, 2 },
                  { OVERLAP_QUEUE, 1, 0 },
                  { OVERLAP_REPLACE, 3, 0 } };
    for (size_t i = 0; i < 4; i++) {
        Rig *rig = rig_open(NULL);
        Schedule schedule = every_minute();
        schedule.overlap = table[i].overlap;
        define(rig, &schedule, false);
        wait_minutes(rig, 3);
        assert_int_equal(jobs_of(rig), table[i].jobs);
        assert_int_equal(state_of(rig).skipped, table[i].skipped);
        assert_int_equal(state_of(rig).waiting, table[i].overlap == OVERLAP_QUEUE);
        if (table[i].overlap == OVERLAP_REPLACE)
            assert_true(rig_signals(rig, rig->jobs[0].id, 15) > 0);
        if (table[i].overlap == OVERLAP_QUEUE) {
            /* A restart does not make them missed; each end lets the next one come. */
            be_away(rig, 100);
            end_running(rig);
            rig_wait(rig, 2 * MS_PER_S);
            assert_int_equal(jobs_of(rig), 2);
            end_running(rig);
            rig_wait(rig, 2 * MS_PER_S);
            assert_int_equal(jobs_of(rig), 3);
            assert_int_equal(state_of(rig).missed, 0);
        }
        rig_close(rig);
    }
}

static void a_store_that_fails_only_delays_the_question(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Schedule schedule = every_minute();
    schedule.overlap = OVERLAP_SKIP;
    define(rig, &schedule, false);
    wait_minutes(rig, 1);
    end_running(rig);
    rig->store_fails = true;
    wait_minutes(rig, 1);
    assert_int_equal(jobs_of(rig), 1);
    rig->store_fails = false;
    rig_wait(rig, 2 * MS_PER_S);
    assert_int_equal(jobs_of(rig), 2);
    rig_close(rig);
}

static void a_paused_schedule_forgets_what_passes(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Schedule schedule = every_minute();
    schedule.missed = MISSED_ALL;
    define(rig, &schedule, false);
    wait_minutes(rig, 1);
    Schedule paused = { .cron = SLICE_LITERAL("-"), .paused = true };
    assert_int_equal(define(rig, &paused, true), ERR_OK);
    wait_minutes(rig, 5);
    be_away(rig, 100);
    wait_minutes(rig, 5);
    assert_int_equal(jobs_of(rig), 1);
    paused.paused = false;
    assert_int_equal(define(rig, &paused, true), ERR_OK);
    rig_wait(rig, 1);
    assert_int_equal(jobs_of(rig), 1);
    wait_minutes(rig, 2);
    assert_int_equal(jobs_of(rig), 3);
    assert_int_equal(state_of(rig).missed, 0);
    rig_close(rig);
}

static void a_trigger_adds_its_job_now(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Event trigger = { .kind = EVENT_TRIGGER,
                      .tenant = SLICE_LITERAL("default"),
                      .key = SLICE_LITERAL("s") };
    assert_int_equal(rig_send(rig, trigger), ERR_NOT_FOUND);
    Schedule schedule = { .cron = SLICE_LITERAL("@yearly"), .paused = true };
    define(rig, &schedule, false);
    assert_int_equal(rig_send(rig, trigger), ERR_OK);
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    assert_non_null(reply->job);
    assert_true(slice_is(reply->job->schedule, "s"));
    assert_int_equal(jobs_of(rig), 1);
    assert_int_equal(state_of(rig).fired_ms, 0); /* no planned time */
    assert_true(state_of(rig).job == rig->jobs[0].id);
    rig_close(rig);
}

static void setting_it_again_keeps_its_place_unless_its_times_change(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Schedule schedule = every_minute();
    define(rig, &schedule, false);
    wait_minutes(rig, 1);
    ScheduleState before = state_of(rig);
    rig_wait(rig, 10 * MS_PER_S);
    schedule.overlap = OVERLAP_SKIP;
    define(rig, &schedule, false);
    assert_true(state_of(rig).planned_ms == before.planned_ms);
    schedule.cron = SLICE_LITERAL("*/2 * * * *");
    define(rig, &schedule, false);
    assert_true(state_of(rig).planned_ms == rig->now.wall_ms);
    assert_true(state_of(rig).created_ms == before.created_ms);
    assert_int_equal(define(rig, NULL, false), ERR_OK);
    assert_int_equal(define(rig, NULL, false), ERR_NOT_FOUND);
    size_t jobs = jobs_of(rig);
    wait_minutes(rig, 5);
    assert_int_equal(jobs_of(rig), jobs);
    rig_close(rig);
}

static void without_room_in_the_journal_it_waits(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Schedule schedule = every_minute();
    define(rig, &schedule, false);
    Event room = { .kind = EVENT_ROOM, .flag = false };
    rig_step(rig, &room, 1);
    rig_wait(rig, MS_PER_MIN);
    assert_int_equal(jobs_of(rig), 0);
    room.flag = true;
    rig_step(rig, &room, 1);
    rig_wait(rig, 1);
    assert_int_equal(jobs_of(rig), 1);
    rig_close(rig);
}

/* The next wake is the planned time, not a tick later. */
static void the_node_wakes_for_a_planned_time(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Schedule schedule = { .cron = SLICE_LITERAL("@every 1m") };
    define(rig, &schedule, false);
    int64_t due_ms = state_of(rig).planned_ms / MS_PER_MIN * MS_PER_MIN + MS_PER_MIN;
    rig_wait(rig, due_ms - 300 - rig->now.wall_ms);
    assert_int_equal(node_next_wake(rig->node), rig->now.boot_ms + 300);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_planned_time_gives_one_job),
        cmocka_unit_test(a_restart_does_not_fire_again),
        cmocka_unit_test(an_older_word_of_another_node_fires_nothing_again),
        cmocka_unit_test(missed_times_are_skipped_made_up_once_or_all),
        cmocka_unit_test(a_long_absence_of_a_fast_schedule_costs_little),
        cmocka_unit_test(all_missed_times_come_in_steps),
        cmocka_unit_test(of_too_many_missed_times_the_newest_are_given),
        cmocka_unit_test(a_clock_that_is_wrong_for_a_moment_fires_nothing),
        cmocka_unit_test(a_clock_that_is_set_back_silences_no_schedule),
        cmocka_unit_test(while_the_job_before_is_not_final_the_policy_says),
        cmocka_unit_test(a_store_that_fails_only_delays_the_question),
        cmocka_unit_test(a_paused_schedule_forgets_what_passes),
        cmocka_unit_test(a_trigger_adds_its_job_now),
        cmocka_unit_test(setting_it_again_keeps_its_place_unless_its_times_change),
        cmocka_unit_test(without_room_in_the_journal_it_waits),
        cmocka_unit_test(the_node_wakes_for_a_planned_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
