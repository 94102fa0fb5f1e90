/* SPDX-License-Identifier: Apache-2.0 */
/* notice_test.c - what is kept of a notice, and how often it is tried. */
#include "core/notice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_is_written_is_read(void **state)
{
    (void)state;
    Buf packed = { 0 };
    Notice told = { .target = SLICE_LITERAL("webhook:http://h/"),
                    .body = SLICE_LITERAL("{}"),
                    .user = SLICE_LITERAL("ann"),
                    .tries = 3,
                    .gave_up = true,
                    .created_ms = 5,
                    .due_ms = 7,
                    .error = SLICE_LITERAL("it answered 500") };
    Notice read;
    notice_pack(&packed, &told);
    assert_int_equal(notice_unpack(buf_slice(&packed), &read), ERR_OK);
    assert_true(slice_equal(read.target, told.target));
    assert_true(slice_equal(read.error, told.error));
    assert_int_equal(read.tries, 3);
    assert_true(read.gave_up);
    assert_int_equal(read.due_ms, 7);
    assert_int_equal(notice_unpack(SLICE_LITERAL("\xff"), &read), ERR_CORRUPT);
    buf_done(&packed);
}

/* Pauses grow to an hour; the last failure gives it up for good, but not out of sight. */
static void pauses_double_and_it_is_given_up_at_last(void **state)
{
    (void)state;
    Notice notice = { 0 };
    int64_t now_ms = 1000;
    for (int i = 0; i < NOTICE_TRIES_MAX - 1; i++) {
        int64_t expected_ms = i < 12 ? MS_PER_S << i : MS_PER_HOUR;
        notice_failed(&notice, now_ms, SLICE_LITERAL("no"));
        assert_false(notice.gave_up);
        assert_int_equal(notice.due_ms - now_ms, expected_ms);
        now_ms = notice.due_ms;
    }
    assert_true(now_ms > 4 * MS_PER_HOUR); /* an evening's maintenance loses nothing */
    notice_failed(&notice, now_ms, SLICE_LITERAL("no"));
    assert_true(notice.gave_up);
    assert_int_equal(notice.due_ms - now_ms, NOTICE_KEPT_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(pauses_double_and_it_is_given_up_at_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
