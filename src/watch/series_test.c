/* SPDX-License-Identifier: Apache-2.0 */
/* series_test.c - curves: which point, which key, and what is bounded. */
#include "watch/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static Rollup rollup_at(int64_t minute, const char *queue, int32_t priority)
{
    return (Rollup){ .span_ms = MS_PER_MIN,
                     .at_ms = minute * MS_PER_MIN,
                     .tenant = SLICE_LITERAL("acme"),
                     .queue = slice_text(queue),
                     .type = SLICE_LITERAL("t"),
                     .priority = priority,
                     .counts = { .added = 1,
                                 .started = 2,
                                 .finished = { 3, 1 },
                                 .wait_ms = 500,
                                 .run_ms = 400 } };
}

static Series series_of(SeriesBy by)
{
    return (Series){
        .from_ms = 600 * MS_PER_MIN, .step_ms = 2 * MS_PER_MIN, .points = 3, .by = by
    };
}

static void take(Series *series)
{
    Rollup rows[] = { rollup_at(599, "a", 5), rollup_at(600, "a", 5),
                      rollup_at(601, "b", 99), rollup_at(605, "a", -7),
                      rollup_at(606, "a", 5) }; /* first and last are outside */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        series_take(series, &rows[i]);
}

static void expect(SeriesBy by, unsigned metrics, const char *wanted)
{
    Series series = series_of(by);
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    take(&series);
    json_array(&json, NULL);
    series_json(&json, &series, metrics);
    json_array_end(&json);
    assert_string_equal(buf_cstr(&out), wanted);
    buf_done(&out);
    series_done(&series);
}

/* S0.80, S0.81 */
static void curves_are_by_time_and_key(void **state)
{
    (void)state;
    expect(BY_NOTHING, 1u << SERIES_FINISHED,
           "[{\"key\":\"all\",\"metric\":\"finished\",\"total\":12,\"points\":[8,0,4]}]");
    expect(BY_QUEUE, 1u << SERIES_ADDED,
           "[{\"key\":\"a\",\"metric\":\"added\",\"total\":2,\"points\":[1,0,1]},"
           "{\"key\":\"b\",\"metric\":\"added\",\"total\":1,\"points\":[1,0,0]}]");
    expect(BY_PRIORITY, 1u << SERIES_STARTED,
           "[{\"key\":\"5\",\"metric\":\"started\",\"total\":2,\"points\":[2,0,0]},"
           "{\"key\":\">10\",\"metric\":\"started\",\"total\":2,\"points\":[2,0,0]},"
           "{\"key\":\"<0\",\"metric\":\"started\",\"total\":2,\"points\":[0,0,2]}]");
    expect(
        BY_OUTCOME, 1u << SERIES_FINISHED,
        "[{\"key\":\"ok\",\"metric\":\"finished\",\"total\":9,\"points\":[6,0,3]},"
        "{\"key\":\"failed\",\"metric\":\"finished\",\"total\":3,\"points\":[2,0,1]}]");
    expect(BY_TYPE, 1u << SERIES_WAIT | 1u << SERIES_RUN,
           "[{\"key\":\"t\",\"metric\":\"wait_ms\",\"total\":250,\"points\":[250,0,250]},"
           "{\"key\":\"t\",\"metric\":\"run_ms\",\"total\":100,\"points\":[100,0,100]}]");
}

static void what_is_not_asked_for_is_left_out(void **state)
{
    (void)state;
    Series series = series_of(BY_TENANT);
    series.tenant = SLICE_LITERAL("other");
    take(&series);
    assert_int_equal(series.count, 0);
    series_done(&series);
    series = series_of(BY_TENANT);
    series.queue = SLICE_LITERAL("b");
    series.type = SLICE_LITERAL("t");
    take(&series);
    assert_int_equal(series.keys[0].total.added, 1);
    series_done(&series);
}

static void many_keys_become_one(void **state)
{
    (void)state;
    Series series = series_of(BY_QUEUE);
    uint64_t sum = 0;
    for (int i = 0; i < 200; i++) {
        char queue[16];
        snprintf(queue, sizeof queue, "q%d", i);
        Rollup row = rollup_at(600, queue, 5);
        series_take(&series, &row);
    }
    assert_int_equal(series.count, SERIES_KEYS_MAX + 1);
    assert_true(slice_is(series.keys[SERIES_KEYS_MAX].name, SERIES_OTHER));
    for (size_t i = 0; i < series.count; i++)
        sum += series.keys[i].total.added;
    assert_int_equal(sum, 200);
    series_done(&series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_are_by_time_and_key),
        cmocka_unit_test(what_is_not_asked_for_is_left_out),
        cmocka_unit_test(many_keys_become_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
