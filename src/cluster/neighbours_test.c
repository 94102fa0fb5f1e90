/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours_test.c - who shares the store. */
#include "cluster/neighbours.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void others_are_found_by_number_and_name(void **state)
{
    (void)state;
    const Peer peers[] = {
        { .number = 1, .epoch = 1, .left_ms = 9, .sysid = SLICE_LITERAL("one") },
        { .number = 2, .epoch = 4, .left_ms = 9, .sysid = SLICE_LITERAL("two") },
        { .number = 3, .epoch = 1, .left_ms = 0, .sysid = SLICE_LITERAL("three") },
    };
    Neighbours neighbours = { 0 };
    neighbours_hear(&neighbours, peers, 3, 1);
    assert_int_equal(neighbours.count, 2);
    assert_null(neighbour_numbered(&neighbours, 1));
    assert_null(neighbour_named(&neighbours, SLICE_LITERAL("one")));
    assert_true(neighbour_numbered(&neighbours, 2)->alive);
    assert_int_equal(neighbour_named(&neighbours, SLICE_LITERAL("two"))->epoch, 4);
    assert_false(neighbour_numbered(&neighbours, 3)->alive);
    neighbours_hear(&neighbours, peers, 1, 2);
    assert_string_equal(neighbour_numbered(&neighbours, 1)->sysid, "one");
    neighbours_done(&neighbours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_are_found_by_number_and_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
