/* SPDX-License-Identifier: Apache-2.0 */
/* times_test.c - moments and durations: their texts, and what is refused. */
#include "base/times.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static void moments_have_one_text(void **state)
{
    (void)state;
    static const struct {
        int64_t wall_ms;
        const char *text;
    } table[] = {
        { 0, "1970-01-01T00:00:00.000Z" },
        { 1, "1970-01-01T00:00:00.001Z" },
        { -1, "1969-12-31T23:59:59.999Z" },
        { 951782399999, "2000-02-28T23:59:59.999Z" },
        { 951782400000, "2000-02-29T00:00:00.000Z" },
        { 1709164800000, "2024-02-29T00:00:00.000Z" },
        { 1798761599123, "2026-12-31T23:59:59.123Z" },
        { 4107542400000, "2100-03-01T00:00:00.000Z" },
        { TIME_WALL_MAX_MS, "2999-12-31T23:59:59.999Z" },
        { -62135596800000, "0001-01-01T00:00:00.000Z" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[TIME_TEXT_BYTES];
        assert_string_equal(time_text(table[i].wall_ms, text), table[i].text);
        int64_t back = 7;
        assert_int_equal(time_parse(slice_text(text), &back), ERR_OK);
        assert_true(back == table[i].wall_ms);
    }
    char text[TIME_TEXT_BYTES];
    assert_string_equal(time_text(TIME_NEVER, text), "");
}

static void every_day_of_five_hundred_years_agrees_with_the_system(void **state)
{
    (void)state;
    for (int64_t day = -36524; day < 146097; day++) {
        int64_t wall_ms = day * MS_PER_DAY + day % 1000 * MS_PER_S;
        time_t seconds = (time_t)(wall_ms / MS_PER_S);
        struct tm tm;
        assert_non_null(gmtime_r(&seconds, &tm));
        char expected[32];
        strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S", &tm);
        char text[TIME_TEXT_BYTES];
        assert_memory_equal(time_text(wall_ms, text), expected, strlen(expected));
        int64_t back;
        assert_int_equal(time_parse(slice_text(text), &back), ERR_OK);
        assert_true(back == wall_ms);
    }
}

static void offsets_and_fractions_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t wall_ms;
    } table[] = {
        { "1970-01-01T01:00:00+01:00", 0 },
        { "1969-12-31T16:00:00-08:00", 0 },
        { "1970-01-01t00:00:00z", 0 },
        { "1970-01-01 00:00:00Z", 0 },
        { "1970-01-01T00:00:00.5Z", 500 },
        { "1970-01-01T00:00:00.1239999Z", 123 },
        { "1970-01-01T23:59:60Z", 86400000 }, /* a leap second is the next one */
        { "1970-01-02T05:30:00+05:30", 86400000 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t wall_ms = 7;
        assert_int_equal(time_parse(slice_text(table[i].text), &wall_ms), ERR_OK);
        assert_true(wall_ms == table[i].wall_ms);
    }
}

static void what_is_no_moment_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "now",
        "1970",
        "1970-01-01",
        "1970-01-01T00:00:00", /* of which zone? */
        "1970-01-01T00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-00-01T00:00:00Z",
        "1970-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "1970-04-31T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-01-32T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:61Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00Zx",
        "1970-01-01T00:00:00+1:00",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+01:60",
        "1970-01-01T00:00:00+0100",
        "1970/01/01T00:00:00Z",
        "+1970-01-01T00:00:00Z",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t wall_ms = 7;
        assert_int_equal(time_parse(slice_text(bad[i]), &wall_ms), ERR_INVALID);
        assert_int_equal(wall_ms, 7);
    }
}

static void every_cut_of_a_moment_is_refused(void **state)
{
    (void)state;
    const char *whole = "2026-06-30T01:17:17.123+05:30";
    for (size_t bytes = 0; bytes < strlen(whole); bytes++) {
        int64_t wall_ms;
        char *copy = mem_copy(whole, bytes); /* a look beyond its end is seen */
        assert_int_equal(time_parse(slice_of(copy, bytes), &wall_ms), ERR_INVALID);
        mem_free(copy);
    }
}

static void durations_are_read_in_all_their_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } table[] = {
        { "0", 0 },
        { "90", 90000 },
        { "1.5", 1500 },
        { "0,2", 200 },
        { "90s", 90000 },
        { "200ms", 200 },
        { "0.2s", 200 },
        { ".5s", 500 },
        { "1h30m", 5400000 },
        { "1h30m15s250ms", 5415250 },
        { "2d", 172800000 },
        { "1w", 604800000 },
        { "1.5h", 5400000 },
        { "PT30M", 1800000 },
        { "T30M", 1800000 }, /* 000's form */
        { "PT0.2S", 200 },
        { "PT2M", 120000 },
        { "P1D", 86400000 },
        { "P1W", 604800000 },
        { "P1DT12H30M5S", 131405000 },
        { "PT0S", 0 },
        { "P366000D", 366000LL * MS_PER_DAY },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t ms = -1;
        Error why = { 0 };
        assert_int_equal(duration_parse(slice_text(table[i].text), &ms, &why), ERR_OK);
        assert_true(ms == table[i].ms);
    }
}

static void what_is_no_duration_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *reason;
    } table[] = {
        { "", "empty" },
        { "P", "nothing after the P" },
        { "PT", "nothing after the P" },
        { "P1Y", "no fixed length" },
        { "P1M", "no fixed length" },
        { "1y", "no fixed length" },
        { "5 s", "unknown unit" },
        { "5x", "unknown unit" },
        { "P5S", "unknown unit" },
        { "PT5D", "unknown unit" },
        { "-5s", "it is negative" },
        { "s", "number is missing" },
        { "1h30", "unknown unit" },
        { "PT1H30", "unknown unit" },
        { "1.", "number is missing" },
        { "1e3", "unknown unit" },
        { "P366001D", "too long" },
        { "99999999999999999999s", "number is too large" },
        { "366000d1ms", "too long" },
        { "31622400001", "too long" },
        { "soon", "number is missing" },
        { "P1DT", "" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t ms = -1;
        Error why = { 0 };
        Err err = duration_parse(slice_text(table[i].text), &ms, &why);
        assert_int_equal(err, ERR_INVALID);
        assert_int_equal(ms, -1);
        assert_int_equal(why.code, ERR_INVALID);
        if (!strstr(why.text, table[i].reason))
            fail_msg("%s: %s", table[i].text, why.text);
        assert_int_equal(duration_parse(slice_text(table[i].text), &ms, NULL), err);
    }
}

static void a_duration_survives_its_iso_text(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *iso;
        const char *human;
    } table[] = {
        { 0, "PT0S", "0ms" },          { 1, "PT0.001S", "1ms" },
        { 200, "PT0.2S", "200ms" },    { 1000, "PT1S", "1s" },
        { 1250, "PT1.25S", "1s" },     { 45000, "PT45S", "45s" },
        { 60000, "PT1M", "1m" },       { 5400000, "PT1H30M", "1h30m" },
        { 3600000, "PT1H", "1h" },     { 3605000, "PT1H5S", "1h5s" },
        { 90000000, "PT25H", "1d1h" }, { 176461000, "PT49H1M1S", "2d1h" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[DURATION_TEXT_BYTES];
        assert_string_equal(duration_human(table[i].ms, text), table[i].human);
        assert_string_equal(duration_iso(table[i].ms, text), table[i].iso);
    }
    Rng rng = { 6 };
    for (int i = 0; i < 50000; i++) {
        int64_t ms = (int64_t)rng_below(&rng, (uint64_t)1 << rng_below(&rng, 44));
        char text[DURATION_TEXT_BYTES];
        int64_t back = -1;
        Err err = duration_parse(slice_text(duration_iso(ms, text)), &back, NULL);
        assert_int_equal(err, ERR_OK);
        assert_true(back == ms);
    }
}

static void the_clock_of_this_machine_can_be_read(void **state)
{
    (void)state;
    Now first = clock_now();
    Now second = clock_now();
    assert_true(first.wall_ms > 1577836800000);
    assert_true(second.boot_ms >= first.boot_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_have_one_text),
        cmocka_unit_test(every_day_of_five_hundred_years_agrees_with_the_system),
        cmocka_unit_test(offsets_and_fractions_are_understood),
        cmocka_unit_test(what_is_no_moment_is_refused),
        cmocka_unit_test(every_cut_of_a_moment_is_refused),
        cmocka_unit_test(durations_are_read_in_all_their_forms),
        cmocka_unit_test(what_is_no_duration_is_refused_with_the_reason),
        cmocka_unit_test(a_duration_survives_its_iso_text),
        cmocka_unit_test(the_clock_of_this_machine_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
