/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_test.c - a schedule's own fields. Those of its jobs are read above core. */
#include "noun/schedule.h"

#include "noun/testing.h"

static void words_are_read_and_shown_and_others_refused(void **state)
{
    (void)state;
    static const char *const missed[] = { "skip", "once", "all" };
    static const char *const overlap[] = { "allow", "skip", "queue", "replace" };
    for (unsigned i = 0; i < MISSED_WORDS * OVERLAP_WORDS; i++) {
        Arena arena = { 0 };
        Problem why = { 0 };
        Schedule schedule;
        Buf text = { 0 };
        buf_printf(&text, "{\"cron\":\"@daily\",\"missed\":\"%s\",\"overlap\":\"%s\"}",
                   missed[i % MISSED_WORDS], overlap[i / MISSED_WORDS]);
        NounIn in = noun_in(&schedule_noun, "s", &schedule, &arena, &why);
        assert_int_equal(noun_read(&in, json_of_text(buf_cstr(&text), &arena)), ERR_OK);
        assert_int_equal(schedule.missed, i % MISSED_WORDS);
        assert_int_equal(schedule.overlap, i / MISSED_WORDS);
        assert_true(slice_is(schedule.tz, "UTC"));
        assert_int_equal(noun_read(&in, json_of_text("{\"missed\":\"never\"}", &arena)),
                         ERR_INVALID);
        assert_string_equal(why.hint, "one of skip, once, all");
        assert_int_equal(noun_read(&in, json_of_text("{}", &arena)), ERR_INVALID);
        assert_string_equal(why.kind->code, "missing_field");
        buf_done(&text);
        arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read_and_shown_and_others_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
