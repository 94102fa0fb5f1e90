/* SPDX-License-Identifier: Apache-2.0 */
/* rate_test.c - counting per second, with time passed in. */
#include "pipeline/processor/rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* S4.35: the rate of processing. */
static void a_rate_forgets_what_is_older_than_a_minute(void **state)
{
    (void)state;
    Rate rate;
    rate_start(&rate, 1000000);
    for (int64_t ms = 0; ms < 10000; ms += 100)
        rate_count(&rate, 1000000 + ms);
    assert_true(rate_last_minute(&rate, 1009999) == 10.0);
    assert_true(rate_last_minute(&rate, 1059999) > 1.6);
    assert_true(rate_last_minute(&rate, 1075000) == 0);
    assert_true(rate_overall(&rate, 1099999) == 1.0);
    rate_count(&rate, 9000000);
    assert_true(rate_last_minute(&rate, 9000000) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_forgets_what_is_older_than_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
