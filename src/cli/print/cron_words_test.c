/* SPDX-License-Identifier: Apache-2.0 */
/* cron_words_test.c - planned times as people say them. */
#include "cli/print/cron_words.h"

#include "cli/testing.h"

static void times_are_told_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *cron;
        const char *words;
    } cases[] = {
        { "30 2 * * 1-5", "Monday to Friday at 02:30" },
        { "0 9 * * *", "every day at 09:00" },
        { "*/5 * * * *", "every day every 5 minutes" },
        { "15 * * * mon,thu", "Monday, Thursday every hour at minute 15" },
        { "0 */6 * * *", "every day every 6 hours at minute 0" },
        { "0 9 1 * mon", "on day 1 of the month or on Monday at 09:00" },
        { "0 0 L 1-3 *", "on the last day of the month in January to March at 00:00" },
        { "* * * * 7", "Sunday every minute" },
        { "0,30 8-18 * * *", "every day at minutes 0,30 of hours 8-18" },
        { "@daily", "every day at 00:00" },
        { "@every 10m", "every 10m" },
        { "what is this", "what is this" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf out = { 0 };
        cron_words(slice_text(cases[i].cron), &out);
        assert_string_equal(buf_cstr(&out), cases[i].words);
        buf_done(&out);
    }
}

static void two_kinds_of_days_are_noticed(void **state)
{
    (void)state;
    assert_true(cron_names_both_days(SLICE_LITERAL("0 9 1 * mon")));
    assert_false(cron_names_both_days(SLICE_LITERAL("0 9 * * mon")));
    assert_false(cron_names_both_days(SLICE_LITERAL("0 9 1 * *")));
    assert_false(cron_names_both_days(SLICE_LITERAL("@daily")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_told_in_words),
        cmocka_unit_test(two_kinds_of_days_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
