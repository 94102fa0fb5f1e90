/* SPDX-License-Identifier: Apache-2.0 */
/* read_barrier_test.c - "not yet" and "never" are told apart. */
#include "engine/read_barrier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { THEIRS = 7 };

static Settled judge(Settling *settling, Neighbour neighbour)
{
    neighbour.number = THEIRS;
    return settle_judge(settling, &(Neighbours){ &neighbour, 1 });
}

static void what_lies_behind_the_settled_is_known(void **state)
{
    (void)state;
    Settling of = { .id = id_from_count(500, THEIRS) };
    Neighbour alive = { .alive = true, .ids = 900, .settled = 500 };
    assert_int_equal(judge(&of, alive), SETTLED_NOT_YET);
    alive.settled = 501;
    assert_int_equal(judge(&of, alive), SETTLED);
}

static void a_node_that_is_down_keeps_what_only_its_journal_has(void **state)
{
    (void)state;
    Settling of = { .id = id_from_count(500, THEIRS) };
    assert_int_equal(judge(&of, (Neighbour){ .ids = 900, .settled = 400 }),
                     SETTLED_NO_ONE);
    assert_int_equal(judge(&of, (Neighbour){ .ids = 900, .settled = 900 }), SETTLED);
}

static void numbers_that_no_node_has_are_known_to_be_wrong(void **state)
{
    (void)state;
    Settling of = { .id = id_from_count(500, THEIRS + 1) };
    assert_int_equal(judge(&of, (Neighbour){ .alive = true, .ids = 900 }), SETTLED);
    of.id = id_from_count(500, THEIRS); /* an older version says nothing of its ids */
    assert_int_equal(judge(&of, (Neighbour){ .alive = true }), SETTLED);
}

/* An id of the future: the node will not reach it, but goes on. */
static void an_id_that_was_never_given_out_is_not_waited_for(void **state)
{
    (void)state;
    Settling of = { .id = id_from_count(1000000, THEIRS) };
    Settled said = SETTLED_NOT_YET;
    unsigned rounds = 0;
    for (uint64_t at = 100; said == SETTLED_NOT_YET && rounds < 20; at += 10, rounds++)
        said = judge(&of, (Neighbour){ .alive = true, .ids = at, .settled = at - 5 });
    assert_int_equal(said, SETTLED);
    assert_in_range(rounds, 5, 8);
}

static void a_store_that_lags_is_waited_for(void **state)
{
    (void)state;
    Settling of = { .id = id_from_count(1000000, THEIRS) };
    for (uint64_t at = 100; at < 300; at += 10)
        assert_int_equal(
            judge(&of, (Neighbour){ .alive = true, .ids = at, .settled = 90 }),
            SETTLED_NOT_YET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_behind_the_settled_is_known),
        cmocka_unit_test(a_node_that_is_down_keeps_what_only_its_journal_has),
        cmocka_unit_test(numbers_that_no_node_has_are_known_to_be_wrong),
        cmocka_unit_test(an_id_that_was_never_given_out_is_not_waited_for),
        cmocka_unit_test(a_store_that_lags_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
