/* SPDX-License-Identifier: Apache-2.0 */
/* notify_target_test.c - whom a control file may want told, and of what. */
#include "model/notify_target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Err check(const char *event, const char *to)
{
    Error why = { 0 };
    return notify_target_check(slice_text(event), slice_text(to), &why);
}

static void events_and_targets_are_checked(void **state) /* S0.44 */
{
    (void)state;
    assert_int_equal(check("failed", "webhook:https://example.org/x"), ERR_OK);
    assert_int_equal(check("end", "command:mail -s done ann"), ERR_OK);
    assert_int_equal(check("sometimes", "command:true"), ERR_INVALID);
    assert_int_equal(check("", "command:true"), ERR_INVALID);
    assert_int_equal(check("failed", "webhook:file:///etc/passwd"), ERR_INVALID);
    assert_int_equal(check("failed", "command:"), ERR_INVALID);
    assert_int_equal(check("failed", ""), ERR_INVALID);
}

static void a_target_is_taken_apart(void **state)
{
    (void)state;
    NotifyTargetKind kind;
    Slice rest;
    assert_int_equal(
        notify_target_parse(SLICE_LITERAL("webhook:http://h/"), &kind, &rest), ERR_OK);
    assert_int_equal(kind, NOTIFY_TARGET_WEBHOOK);
    assert_true(slice_is(rest, "http://h/"));
    assert_int_equal(notify_target_parse(SLICE_LITERAL("command:a b"), &kind, &rest),
                     ERR_OK);
    assert_int_equal(kind, NOTIFY_TARGET_COMMAND);
    assert_true(slice_is(rest, "a b"));
}

static void an_event_is_for_its_states_only(void **state)
{
    (void)state;
    Slice error = SLICE_LITERAL("error");
    assert_true(notify_target_wants(error, JOB_FAILED));
    assert_true(notify_target_wants(error, JOB_REJECTED));
    assert_false(notify_target_wants(error, JOB_DONE));
    assert_true(notify_target_wants(SLICE_LITERAL("end"), JOB_CANCELLED));
    assert_false(notify_target_wants(SLICE_LITERAL("end"), JOB_RUNNING));
    assert_false(notify_target_wants(SLICE_LITERAL("done"), JOB_FAILED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_and_targets_are_checked),
        cmocka_unit_test(a_target_is_taken_apart),
        cmocka_unit_test(an_event_is_for_its_states_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
