/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_test.c - words and the packed forms of schedules. */
#include "core/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_field_survives_packing(void **state)
{
    (void)state;
    Schedule schedule = { .cron = SLICE_LITERAL("@daily"),
                          .tz = SLICE_LITERAL("Europe/Paris"),
                          .zone = SLICE_LITERAL("TZif\0\xff"),
                          .missed = MISSED_ALL,
                          .overlap = OVERLAP_REPLACE,
                          .paused = true,
                          .job = SLICE_LITERAL("job") };
    Buf packed = { 0 };
    Arena arena = { 0 };
    Schedule back;
    schedule_pack(&packed, &schedule);
    assert_int_equal(schedule_unpack(buf_slice(&packed), &back), ERR_OK);
    Schedule copy = schedule_copy(&arena, &back);
    memset(packed.data, 'x', packed.bytes);
    assert_true(slice_equal(copy.cron, schedule.cron));
    assert_true(slice_equal(copy.tz, schedule.tz));
    assert_true(slice_equal(copy.zone, schedule.zone));
    assert_true(slice_equal(copy.job, schedule.job));
    assert_int_equal(copy.missed, MISSED_ALL);
    assert_int_equal(copy.overlap, OVERLAP_REPLACE);
    assert_true(copy.paused);
    assert_int_equal(schedule_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
    buf_done(&packed);
    arena_done(&arena);

    ScheduleState states = { 1, 2, 3, 4, 5, 6, 7, 8, 9, true };
    ScheduleState again;
    Buf bytes = { 0 };
    schedule_state_pack(&bytes, &states);
    assert_int_equal(schedule_state_unpack(buf_slice(&bytes), &again), ERR_OK);
    Buf twice = { 0 };
    schedule_state_pack(&twice, &again);
    assert_true(slice_equal(buf_slice(&bytes), buf_slice(&twice)));
    assert_true(again.waiting);
    buf_done(&twice);
    assert_int_equal(schedule_state_unpack(SLICE_LITERAL("\xff\xff"), &again),
                     ERR_CORRUPT);
    buf_done(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_survives_packing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
