/* SPDX-License-Identifier: Apache-2.0 */
/* after_test.c - conditions on other jobs. */
#include "core/after.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const JobId one = 0x12345678;
static const JobId two = 0x22345678;

static void a_list_is_read_as_it_was_written(void **state)
{
    (void)state;
    Buf list = { 0 };
    after_add(&list, (AfterItem){ AFTER_FAIL, one });
    after_add(&list, (AfterItem){ AFTER_ANY, two });
    Slice rest = buf_slice(&list);
    AfterItem item;
    assert_true(after_next(&rest, &item));
    assert_int_equal(item.on, AFTER_FAIL);
    assert_int_equal(item.id, one);
    assert_true(after_next(&rest, &item));
    assert_int_equal(item.on, AFTER_ANY);
    assert_int_equal(item.id, two);
    assert_false(after_next(&rest, &item));
    buf_done(&list);
}

static void each_condition_has_its_ends(void **state)
{
    (void)state;
    assert_true(after_met(AFTER_OK, JOB_DONE));
    assert_false(after_met(AFTER_OK, JOB_FAILED));
    assert_false(after_met(AFTER_OK, JOB_CANCELLED));
    assert_false(after_met(AFTER_OK, STATE_GONE));
    assert_true(after_met(AFTER_FAIL, JOB_FAILED));
    assert_true(after_met(AFTER_FAIL, JOB_REJECTED));
    assert_false(after_met(AFTER_FAIL, JOB_DONE));
    assert_false(after_met(AFTER_FAIL, JOB_CANCELLED));
    assert_true(after_met(AFTER_ANY, JOB_CANCELLED));
    assert_true(after_met(AFTER_ANY, STATE_GONE));
}

static void expect_reason(const AfterCount *count, const char *begins)
{
    Buf text = { 0 };
    after_reason(&text, count);
    assert_non_null(strstr(buf_cstr(&text), begins));
    buf_done(&text);
}

static void what_is_left_is_counted_and_said(void **state)
{
    (void)state;
    AfterCount count = { 0 };
    after_count(&count, (AfterItem){ AFTER_OK, one }, false, 0);
    expect_reason(&count, "waits for job ");
    after_count(&count, (AfterItem){ AFTER_OK, two }, false, 0);
    assert_int_equal(count.pending, 2);
    assert_int_equal(count.first_pending, one);
    expect_reason(&count, "and 1 more");
    after_count(&count, (AfterItem){ AFTER_OK, two }, true, JOB_DONE);
    assert_int_equal(count.broken, 0);
    after_count(&count, (AfterItem){ AFTER_OK, two }, true, JOB_FAILED);
    after_count(&count, (AfterItem){ AFTER_OK, one }, true, STATE_GONE);
    assert_int_equal(count.broken, one); /* the oldest, in whatever order they come */
    expect_reason(&count, "is not there any more: it cannot end done");
    count.broken = two;
    count.broken_state = JOB_FAILED;
    expect_reason(&count, "ended failed: it cannot end done any more");
    count = (AfterCount){ .broken = one, .broken_on = AFTER_FAIL, .broken_state = -1 };
    expect_reason(&count, "is not there any more: it cannot end failed");
}

static void words_that_are_none_are_refused(void **state)
{
    (void)state;
    AfterOn on;
    assert_int_equal(after_on_parse(SLICE_LITERAL("any"), &on), ERR_OK);
    assert_int_equal(on, AFTER_ANY);
    assert_int_equal(after_on_parse(SLICE_LITERAL("never"), &on), ERR_INVALID);
    Slice rest = SLICE_LITERAL("ok:?\0maybe:0000000000001\0");
    AfterItem item;
    assert_false(after_next(&rest, &item));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read_as_it_was_written),
        cmocka_unit_test(each_condition_has_its_ends),
        cmocka_unit_test(what_is_left_is_counted_and_said),
        cmocka_unit_test(words_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
