/* SPDX-License-Identifier: Apache-2.0 */
/* row_cache_test.c - what is known, for how long, and how much of it. */
#include "store/postgres/row_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NODE 3

static const PgKnownWhile joined = { .node = NODE, .epoch = 1, .connects = 1 };

static void put(PgKnown *known, uint64_t id, const char *row)
{
    pgknown_put(known, id, NODE, slice_text(row));
}

static bool knows(PgKnown *known, uint64_t id, const char *row)
{
    return slice_is(pgknown_find(known, id), row);
}

static void what_was_written_last_is_known(void **state)
{
    (void)state;
    PgKnown known = { 0 };
    pgknown_begin(&known, &joined);
    put(&known, 1, "one");
    put(&known, 1, "uno");
    put(&known, 2, "two");
    pgknown_remove(&known, 2);
    assert_false(known.used);
    assert_true(knows(&known, 1, "uno"));
    assert_true(known.used);
    assert_true(knows(&known, 2, ""));
    pgknown_begin(&known, &joined);
    assert_true(knows(&known, 1, "uno"));
    pgknown_put(&known, 1, NODE + 1, slice_text("given")); /* no longer its own */
    assert_true(knows(&known, 1, ""));
    pgknown_drop(&known);
}

static void another_epoch_connection_or_node_knows_nothing(void **state)
{
    (void)state;
    static const PgKnownWhile others[] = {
        { .node = NODE, .epoch = 2, .connects = 1 },
        { .node = NODE, .epoch = 1, .connects = 2 },
        { .node = NODE + 1, .epoch = 1, .connects = 1 },
        { .node = 0 },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        PgKnown known = { 0 };
        pgknown_begin(&known, &joined);
        put(&known, 1, "one");
        pgknown_begin(&known, &others[i]);
        assert_true(knows(&known, 1, ""));
        pgknown_begin(&known, &joined);
        assert_true(knows(&known, 1, ""));
        pgknown_drop(&known);
    }
}

static void who_distrusts_learns_nothing_until_the_next_commit(void **state)
{
    (void)state;
    PgKnown known = { 0 };
    pgknown_begin(&known, &joined);
    put(&known, 1, "one");
    Slice found = pgknown_find(&known, 1);
    pgknown_distrust(&known);
    put(&known, 2, "two");
    assert_true(knows(&known, 1, ""));
    assert_true(knows(&known, 2, ""));
    assert_true(slice_is(found, "one")); /* who has it may go on */
    pgknown_begin(&known, &joined);
    assert_true(knows(&known, 1, ""));
    put(&known, 1, "one");
    assert_true(knows(&known, 1, "one"));
    pgknown_drop(&known);
}

static void memory_is_bounded_and_the_oldest_go(void **state)
{
    (void)state;
    PgKnown known = { 0 };
    static char row[KNOWN_BYTES_MAX / 4];
    pgknown_begin(&known, &joined);
    for (uint64_t id = 1; id <= 12; id++) {
        pgknown_put(&known, id, NODE, slice_of(row, sizeof row));
        pgknown_end(&known);
        pgknown_begin(&known, &joined);
        assert_true(known.parts[0].bytes + known.parts[1].bytes <= 3 * KNOWN_BYTES_MAX);
    }
    assert_int_equal(pgknown_find(&known, 1).bytes, 0);
    assert_int_equal(pgknown_find(&known, 12).bytes, sizeof row);
    pgknown_drop(&known);
}

static void of_a_flood_of_new_jobs_only_the_first_are_kept(void **state)
{
    (void)state;
    PgKnown known = { 0 };
    pgknown_begin(&known, &joined);
    for (uint64_t id = 1; id <= KNOWN_NEW_MAX + 1; id++)
        pgknown_add(&known, id, NODE, slice_text("new"));
    assert_true(knows(&known, KNOWN_NEW_MAX, "new"));
    assert_true(knows(&known, KNOWN_NEW_MAX + 1, ""));
    pgknown_drop(&known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_last_is_known),
        cmocka_unit_test(another_epoch_connection_or_node_knows_nothing),
        cmocka_unit_test(who_distrusts_learns_nothing_until_the_next_commit),
        cmocka_unit_test(memory_is_bounded_and_the_oldest_go),
        cmocka_unit_test(of_a_flood_of_new_jobs_only_the_first_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
