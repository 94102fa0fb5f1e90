/* SPDX-License-Identifier: Apache-2.0 */
/* target_test.c - whom to tell, as text. */
#include "noun/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_target_has_its_kind_in_front(void **state)
{
    (void)state;
    NotifyTargetKind kind = NOTIFY_TARGET_COMMAND;
    Slice rest;
    assert_int_equal(
        notify_target_parse(SLICE_LITERAL("webhook:https://h/"), &kind, &rest), ERR_OK);
    assert_int_equal(kind, NOTIFY_TARGET_WEBHOOK);
    assert_true(slice_is(rest, "https://h/"));
    assert_int_equal(notify_target_parse(SLICE_LITERAL("command:mail me"), &kind, &rest),
                     ERR_OK);
    assert_int_equal(kind, NOTIFY_TARGET_COMMAND);
    assert_true(slice_is(rest, "mail me"));
    static const char *const bad[] = { "", "command:", "webhook:ftp://h/", "mail:me" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(notify_target_parse(slice_text(bad[i]), &kind, &rest),
                         ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        a_target_has_its_kind_in_front) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
