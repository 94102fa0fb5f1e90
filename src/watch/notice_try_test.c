/* SPDX-License-Identifier: Apache-2.0 */
/* notice_try_test.c - what counts as told. The tries themselves run on real daemons in
 * tests/e2e/test_notices.py. */
#include "watch/notice_try.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void only_success_counts_as_told(void **state)
{
    (void)state;
    static const struct {
        Ending ending;
        const char *why; /* NULL: it arrived */
    } rows[] = {
        { { .kind = END_EXITED }, NULL },
        { { .kind = END_ANSWERED, .said_code = 204 }, NULL },
        { { .kind = END_EXITED, .exit_status = 3 }, "3" },
        { { .kind = END_ANSWERED, .said_code = 503 }, "503" },
        { { .kind = END_LOST }, "longer than 10 s" },
        { { .kind = END_SIGNALLED, .signal = 9 }, "longer than 10 s" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Error why = { 0 };
        assert_int_equal(notice_arrived(&rows[i].ending, &why), !rows[i].why);
        if (rows[i].why)
            assert_non_null(strstr(why.text, rows[i].why));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(only_success_counts_as_told) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
