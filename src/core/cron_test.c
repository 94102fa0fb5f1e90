/* SPDX-License-Identifier: Apache-2.0 */
/* cron_test.c - what schedules say, when they are due, and what is refused.
 *
 * Whole years are compared with another implementation by tests/e2e/test_schedules.py. */
#include "core/cron.h"

#include "base/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int64_t at(const char *text)
{
    int64_t ms = 0;
    assert_int_equal(time_parse(slice_text(text), &ms), ERR_OK);
    return ms;
}

static Cron cron_of(const char *text)
{
    Cron cron;
    Error why = { 0 };
    if (cron_parse(slice_text(text), &cron, &why))
        fail_msg("%s: %s", text, why.text);
    return cron;
}

static void expect_next(const char *text, const Zone *zone, const char *after,
                        const char *wanted)
{
    Cron cron = cron_of(text);
    char found[TIME_TEXT_BYTES];
    time_text(cron_next(&cron, zone, at(after)), found);
    if (strcmp(found, wanted) != 0)
        fail_msg("%s after %s: %s, not %s", text, after, found, wanted);
}

static void each_form_is_due_when_it_says(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *after;
        const char *next;
    } table[] = {
        { "* * * * *", "2026-11-15T21:46:00Z", "2026-11-15T21:47:00.000Z" },
        { "* * * * *", "2026-11-15T21:46:00.001Z", "2026-11-15T21:47:00.000Z" },
        { "*/15 * * * *", "2026-11-15T21:46:00Z", "2026-11-15T22:00:00.000Z" },
        { "5/20 * * * *", "2026-11-15T21:46:00Z", "2026-11-15T22:05:00.000Z" },
        { "1,2,58 9-17/4 * * *", "2026-11-15T09:02:00Z", "2026-11-15T09:58:00.000Z" },
        { "1,2,58 9-17/4 * * *", "2026-11-15T09:58:00Z", "2026-11-15T13:01:00.000Z" },
        { "30 2 * * 1-5", "2026-11-13T02:30:00Z", "2026-11-16T02:30:00.000Z" },
        { "0 0 * * MON", "2026-11-15T00:00:00Z", "2026-11-16T00:00:00.000Z" },
        { "0 0 * * 7", "2026-11-15T00:00:00Z", "2026-11-22T00:00:00.000Z" },
        { "0 0 * feb *", "2026-11-15T00:00:00Z", "2027-02-01T00:00:00.000Z" },
        { "0 0 29 2 *", "2026-11-15T00:00:00Z", "2028-02-29T00:00:00.000Z" },
        { "0 0 29 2 *", "2097-01-01T00:00:00Z", "2104-02-29T00:00:00.000Z" },
        { "0 0 L * *", "2026-11-15T00:00:00Z", "2026-11-30T00:00:00.000Z" },
        { "0 0 L 2 *", "2027-03-01T00:00:00Z", "2028-02-29T00:00:00.000Z" },
        { "0 12 * * 5L", "2026-11-15T00:00:00Z", "2026-11-27T12:00:00.000Z" },
        { "0 12 15,L * *", "2026-11-15T12:00:00Z", "2026-11-30T12:00:00.000Z" },
        /* Both days restricted: either will do; a star in one: both must. */
        { "0 0 13 * fri", "2026-11-06T00:00:00Z", "2026-11-13T00:00:00.000Z" },
        { "0 0 13 * fri", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00.000Z" },
        { "0 0 */2 * fri", "2026-11-13T00:00:00Z", "2026-11-27T00:00:00.000Z" },
        { "@hourly", "2026-11-15T21:46:00Z", "2026-11-15T22:00:00.000Z" },
        { "@daily", "2026-11-15T21:46:00Z", "2026-11-16T00:00:00.000Z" },
        { "@midnight", "2026-11-15T21:46:00Z", "2026-11-16T00:00:00.000Z" },
        { "@weekly", "2026-11-15T21:46:00Z", "2026-11-22T00:00:00.000Z" },
        { "@monthly", "2026-11-15T21:46:00Z", "2026-12-01T00:00:00.000Z" },
        { "@yearly", "2026-11-15T21:46:00Z", "2027-01-01T00:00:00.000Z" },
        { "@annually", "2026-11-15T21:46:00Z", "2027-01-01T00:00:00.000Z" },
        { "@every 90s", "2026-11-15T21:46:00Z", "2026-11-15T21:46:30.000Z" },
        { "@every 2s", "2026-11-15T21:46:00.500Z", "2026-11-15T21:46:02.000Z" },
        { "  0  0\t* * *  ", "2026-11-15T21:46:00Z", "2026-11-16T00:00:00.000Z" },
    };
    Zone zone = { 0 };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        expect_next(table[i].text, &zone, table[i].after, table[i].next);
}

/* Two changes as Paris has them in 2026: 29 March 01:00 UTC, 25 October 01:00 UTC. */
static void clocks_that_change_are_followed_as_isc_cron_does(void **state)
{
    (void)state;
    ZoneChange changes[] = { { at("2026-03-29T01:00:00Z") / 1000, 7200 },
                             { at("2026-10-25T01:00:00Z") / 1000, 3600 } };
    Zone zone = { .changes = changes, .count = 2, .first_s = 3600 };
    static const struct {
        const char *text;
        const char *after;
        const char *next;
    } table[] = {
        /* In the hour that is skipped: right after the change, once. */
        { "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00.000Z" },
        { "30 2 * * *", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00.000Z" },
        { "10,30 2 * * *", "2026-03-29T01:00:00Z", "2026-03-30T00:10:00.000Z" },
        /* In the hour that comes twice: the first time only. */
        { "30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00.000Z" },
        { "30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00.000Z" },
        /* With a star in minute or hour: by the clock. */
        { "30 * * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00.000Z" },
        { "30 * * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00.000Z" },
        { "*/30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:00:00.000Z" },
        { "*/30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00.000Z" },
        { "@daily", "2026-03-29T12:00:00Z", "2026-03-29T22:00:00.000Z" },
        { "@every 1h", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00.000Z" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        expect_next(table[i].text, &zone, table[i].after, table[i].next);

    /* A change of a whole day (Samoa left one out) is no summer time. */
    ZoneChange day[] = { { at("2011-12-30T10:00:00Z") / 1000, 14 * 3600 } };
    Zone samoa = { .changes = day, .count = 1, .first_s = -10 * 3600 };
    expect_next("0 5 * * *", &samoa, "2011-12-29T16:00:00Z", "2011-12-30T15:00:00.000Z");
}

static void
what_makes_no_sense_is_refused_with_the_field_and_what_is_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *says;
    } table[] = {
        { "", "1 to 256" },
        { "* * * *", "this one has 4" },
        { "* * * * * *", "more than 5" },
        { "60 * * * *", "minute field: \"60\" is out of range; allowed are 0 to 59" },
        { "* 24 * * *", "hour field" },
        { "* * 0 * *", "day of month field" },
        { "* * * 13 *", "month field" },
        { "* * * foo *", "\"foo\" is no value; allowed are 1 to 12, or jan to dec" },
        { "* * * * 8", "day of week field" },
        { "5-1 * * * *", "ends before it begins" },
        { "*/0 * * * *", "step" },
        { "1,,2 * * * *", "empty item" },
        { "1x * * * *", "behind it" },
        { "* L * * *", "hour field" },
        { "-5 * * * *", "minute field" },
        { "0 0 30 2 *", "never comes" },
        { "@often", "@every DURATION" },
        { "@every", "@every DURATION" },
        { "@every 10ms", "1 s to 366 days" },
        { "@every 1 fortnight", "fortnight" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Cron cron = { .minutes = 77 };
        Error why = { 0 };
        assert_int_equal(cron_parse(slice_text(table[i].text), &cron, &why), ERR_INVALID);
        if (!strstr(why.text, table[i].says))
            fail_msg("%s: %s", table[i].text, why.text);
        assert_int_equal(cron.minutes, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_is_due_when_it_says),
        cmocka_unit_test(clocks_that_change_are_followed_as_isc_cron_does),
        cmocka_unit_test(
            what_makes_no_sense_is_refused_with_the_field_and_what_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
