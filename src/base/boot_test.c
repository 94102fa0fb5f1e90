/* SPDX-License-Identifier: Apache-2.0 */
/* boot_test.c - the name of this run of the machine. */
#include "base/boot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_boot_has_one_name_of_one_line(void **state)
{
    (void)state;
    char first[BOOT_ID_BYTES];
    char second[BOOT_ID_BYTES];
    boot_id(first);
    boot_id(second);
    assert_string_equal(first, second);
    assert_null(strchr(first, '\n'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_boot_has_one_name_of_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
