/* SPDX-License-Identifier: Apache-2.0 */
/* when_test.c - time words, in a zone with summer time. */
#include "cli/print/when.h"

#include "cli/testing.h"

#include "base/times.h"

#include <stdlib.h>
#include <time.h>

/* Thursday 5 March 2026, 14:00 in Paris (13:00 UTC). */
#define NOW_TEXT "2026-03-05T13:00:00Z"

static int64_t moment(const char *utc)
{
    int64_t wall_ms = 0;
    assert_int_equal(time_parse(slice_text(utc), &wall_ms), ERR_OK);
    return wall_ms;
}

static void expect(const char *words, const char *utc)
{
    int64_t wall_ms = 0;
    Error why;
    assert_int_equal(when_parse(slice_text(words), moment(NOW_TEXT), &wall_ms, &why),
                     ERR_OK);
    char text[TIME_TEXT_BYTES];
    char wanted[TIME_TEXT_BYTES];
    assert_string_equal(time_text(wall_ms, text), time_text(moment(utc), wanted));
}

static void refuse(const char *words)
{
    int64_t wall_ms = 77;
    Error why;
    assert_int_equal(when_parse(slice_text(words), moment(NOW_TEXT), &wall_ms, &why),
                     ERR_INVALID);
    assert_int_equal(wall_ms, 77);
}

static void a_clock_time_is_the_next_one(void **state)
{
    (void)state;
    expect("14:01", "2026-03-05T13:01:00Z");
    expect("18:30", "2026-03-05T17:30:00Z");
    expect("14:00", "2026-03-06T13:00:00Z"); /* now is not next */
    expect("9:00", "2026-03-06T08:00:00Z");
    expect("00:00", "2026-03-05T23:00:00Z");
    expect("14:00:30", "2026-03-05T13:00:30Z");
}

static void a_day_may_be_named(void **state)
{
    (void)state;
    expect("tomorrow 9:00", "2026-03-06T08:00:00Z");
    expect("tomorrow  23:59", "2026-03-06T22:59:00Z");
    expect("today 18:30", "2026-03-05T17:30:00Z");
    expect("today 8:00", "2026-03-05T07:00:00Z");       /* past is at once */
    expect("2026-07-01T08:00", "2026-07-01T06:00:00Z"); /* summer time */
    expect("2026-07-01", "2026-06-30T22:00:00Z");       /* its midnight */
    expect("2026-12-31 23:59", "2026-12-31T22:59:00Z");
}

static void hours_of_the_clock_and_days_of_the_week_are_understood(void **state)
{
    (void)state;
    expect("9am", "2026-03-06T08:00:00Z");
    expect("6pm", "2026-03-05T17:00:00Z");
    expect("6:30 pm", "2026-03-05T17:30:00Z");
    expect("12am", "2026-03-05T23:00:00Z");
    expect("12:30pm", "2026-03-06T11:30:00Z");
    expect("tomorrow 9am", "2026-03-06T08:00:00Z");
    expect("mon 08:00", "2026-03-09T07:00:00Z");
    expect("monday 8am", "2026-03-09T07:00:00Z");
    expect("thu 18:00", "2026-03-05T17:00:00Z"); /* today, still ahead */
    expect("thu 9:00", "2026-03-12T08:00:00Z");  /* today has gone by */
    expect("next thursday 18:00", "2026-03-12T17:00:00Z");
    expect("next friday", "2026-03-05T23:00:00Z"); /* its midnight */
    expect("fri", "2026-03-05T23:00:00Z");
}

static void rfc_3339_and_distances_are_exact(void **state)
{
    (void)state;
    expect("2026-03-05T13:00:00.250Z", "2026-03-05T13:00:00.250Z");
    expect("2030-01-31T08:00:00+05:30", "2030-01-31T02:30:00Z");
    expect("+90m", "2026-03-05T14:30:00Z");
    expect("+1h30m", "2026-03-05T14:30:00Z");
    expect("+PT10S", "2026-03-05T13:00:10Z");
    expect("+0.5s", "2026-03-05T13:00:00.500Z");
    expect("now", NOW_TEXT);
}

static void the_gap_of_spring_is_no_hole(void **state)
{
    (void)state;
    /* 29 March 2026, 02:00 to 03:00 does not exist in Paris. */
    expect("2026-03-29T01:30", "2026-03-29T00:30:00Z");
    expect("2026-03-29T03:30", "2026-03-29T01:30:00Z");
    int64_t wall_ms;
    Error why;
    assert_int_equal(
        when_parse(SLICE_LITERAL("2026-03-29T02:30"), moment(NOW_TEXT), &wall_ms, &why),
        ERR_OK);
    assert_true(wall_ms >= moment("2026-03-29T00:30:00Z"));
    assert_true(wall_ms <= moment("2026-03-29T01:30:00Z"));
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const words[] = {
        "",
        "soon",
        "24:00",
        "12:60",
        "12:5",
        "13pm",
        "0am",
        "9",
        "next",
        "next week",
        "mond 8:00",
        "1:2:3",
        "+",
        "+soon",
        "+1month",
        "-5m",
        "tomorrow",
        "tomorrow noon",
        "2026-02-30T10:00",
        "2026-13-01T10:00",
        "2026-02-30",
        "2026-03-05T10",
        "9999-01-01T00:00:00Z",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        refuse(words[i]);
}

static void the_echo_says_both_times(void **state)
{
    (void)state;
    char text[WHEN_TEXT_BYTES];
    assert_string_equal(when_echo(moment("2026-07-01T06:00:00Z"), text),
                        "Wed 01 Jul 2026 08:00:00 CEST (2026-07-01T06:00:00.000Z)");
    assert_string_equal(when_local(moment("2026-07-01T06:00:00Z"), text),
                        "2026-07-01 08:00:00");
    assert_string_equal(when_local(0, text), "-");
}

static void an_age_has_one_unit(void **state)
{
    (void)state;
    char text[WHEN_TEXT_BYTES];
    assert_string_equal(when_age(-5, text), "0s");
    assert_string_equal(when_age(59999, text), "59s");
    assert_string_equal(when_age(60000, text), "1m");
    assert_string_equal(when_age(47 * MS_PER_HOUR, text), "47h");
    assert_string_equal(when_age(48 * MS_PER_HOUR, text), "2d");
}

static void a_span_is_finer_when_short(void **state)
{
    (void)state;
    char text[WHEN_TEXT_BYTES];
    assert_string_equal(when_span(-1, text), "0.00s");
    assert_string_equal(when_span(127, text), "0.12s");
    assert_string_equal(when_span(3456, text), "3.4s");
    assert_string_equal(when_span(12999, text), "12s");
    assert_string_equal(when_span(90 * MS_PER_MIN + 5, text), "1h30m");
}

int main(void)
{
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_time_is_the_next_one),
        cmocka_unit_test(a_day_may_be_named),
        cmocka_unit_test(hours_of_the_clock_and_days_of_the_week_are_understood),
        cmocka_unit_test(rfc_3339_and_distances_are_exact),
        cmocka_unit_test(the_gap_of_spring_is_no_hole),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(the_echo_says_both_times),
        cmocka_unit_test(an_age_has_one_unit),
        cmocka_unit_test(a_span_is_finer_when_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
