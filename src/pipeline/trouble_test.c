/* SPDX-License-Identifier: Apache-2.0 */
/* trouble_test.c - troubles are told once, and only the latest are kept. */
#include "pipeline/trouble.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void a_trouble_is_told_once_and_can_be_over(void **state)
{
    (void)state;
    Troubles troubles = { 0 };
    assert_true(trouble_add(&troubles, "u", "clash"));
    assert_false(trouble_add(&troubles, "u", "clash"));
    assert_true(trouble_add(&troubles, "u", "no room"));
    assert_int_equal(troubles.count, 1);
    trouble_clear(&troubles, "u");
    assert_int_equal(troubles.count, 0);
    trouble_clear(&troubles, "never");
    troubles_done(&troubles);
}

static void only_the_latest_are_kept(void **state)
{
    (void)state;
    Troubles troubles = { 0 };
    Buf out = { 0 };
    for (int i = 0; i < 3 * TROUBLES_MAX; i++) {
        char unit[16];
        snprintf(unit, sizeof unit, "u%d", i);
        assert_true(trouble_add(&troubles, unit, "clash"));
    }
    assert_int_equal(troubles.count, TROUBLES_MAX);
    JsonOut json = { .out = &out };
    troubles_json(&json, NULL, &troubles);
    assert_non_null(strstr(buf_cstr(&out), "\"u47\""));
    assert_null(strstr(buf_cstr(&out), "\"u3\""));
    buf_done(&out);
    troubles_done(&troubles);
}

static void a_flood_is_not_logged(void **state)
{
    (void)state;
    Troubles troubles = { 0 };
    unsigned lines = 0;
    for (int i = 0; i < 1000; i++)
        lines += trouble_may_log(&troubles, 5 * MS_PER_MIN + i);
    assert_int_equal(lines, TROUBLE_LINES_A_MIN);
    assert_true(trouble_may_log(&troubles, 6 * MS_PER_MIN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trouble_is_told_once_and_can_be_over),
        cmocka_unit_test(only_the_latest_are_kept),
        cmocka_unit_test(a_flood_is_not_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
