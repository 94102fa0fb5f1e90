/* SPDX-License-Identifier: Apache-2.0 */
/* booking_env_test.c - what a running job is told of what it holds. */
#include "model/booking_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The list with its NULs shown as ';'. */
static const char *shown(Slice list, Arena *arena)
{
    char *text = slice_cstr(arena, list);
    for (size_t i = 0; i < list.bytes; i++)
        if (!text[i])
            text[i] = ';';
    return text;
}

/* S3.36, S3.45 */
static void items_go_into_the_environment(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Buf env = { 0 };
    static const char bookings[] = "web.port=8080,8081\0mem=#3";
    booking_env(slice_of(bookings, sizeof bookings), &env);
    assert_string_equal(shown(buf_slice(&env), &arena),
                        "PAWL_RESOURCE_WEB_PORT_ITEMS=8080,8081;"
                        "JQM_RM_DISCRETE_WEB_PORT_ITEMS=8080,8081;");
    buf_done(&env);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_go_into_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
