/* SPDX-License-Identifier: Apache-2.0 */
/* error_groups_test.c - which messages are the same. The rest: tests/e2e/test_history.py.
 */
#include "api/jobs/error_groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(const char *message, const char *pattern)
{
    Arena arena = { 0 };
    Slice found = error_pattern(&arena, slice_text(message));
    assert_true(slice_is(found, pattern));
    arena_done(&arena);
}

static void what_differs_from_job_to_job_is_left_out(void **state)
{
    (void)state;
    expect("timeout after 30 s", "timeout after N s");
    expect("timeout after 4 s", "timeout after N s");
    expect("user \"ana\" is unknown", "user X is unknown");
    expect("cannot open 'a b.txt': no such file", "cannot open X: no such file");
    expect("order 0k3 at 10.0.0.7:5432", "order N at N.N.N.N:N");
    expect("trace ab12 ends", "trace X ends");
}

static void the_rest_stays(void **state)
{
    (void)state;
    expect("", "");
    expect("connection refused", "connection refused");
    expect("it's broken", "it's broken");
    expect("two\nlines", "two lines");
}

static void a_long_message_is_cut(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Buf text = { 0 };
    for (int i = 0; i < 2000; i++)
        buf_add_text(&text, "ab ");
    assert_true(error_pattern(&arena, buf_slice(&text)).bytes <= 300);
    buf_done(&text);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_differs_from_job_to_job_is_left_out),
        cmocka_unit_test(the_rest_stays),
        cmocka_unit_test(a_long_message_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
