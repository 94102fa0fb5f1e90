/* SPDX-License-Identifier: Apache-2.0 */
/* runs_test.c - runs hold exactly the ids that were given. */
#include "store/postgres/runs.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static PgRuns runs_from(const int64_t *ids, size_t count)
{
    PgArray array = { .type = PG_INT8 };
    PgRuns runs;
    for (size_t i = 0; i < count; i++)
        array_int(&array, ids[i]);
    runs_of(&runs, &array);
    array_done(&array);
    return runs;
}

static void neighbours_become_one_run(void **state)
{
    (void)state;
    static const int64_t ids[] = { 7, 5, 6, 6, 1, 9 };
    static const int64_t first[] = { 1, 5, 9 };
    static const int64_t last[] = { 1, 7, 9 };
    PgRuns runs = runs_from(ids, sizeof ids / sizeof *ids);
    assert_int_equal(runs.first.count, 3);
    assert_int_equal(runs.last.count, 3);
    assert_int_equal(runs.ids, 5);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(array_id(&runs.first, i), first[i]);
        assert_int_equal(array_id(&runs.last, i), last[i]);
    }
    runs_done(&runs);
}

static void no_ids_are_no_runs(void **state)
{
    (void)state;
    PgRuns runs = runs_from(NULL, 0);
    assert_int_equal(runs.first.count, 0);
    assert_int_equal(runs.ids, 0);
    runs_done(&runs);
}

static bool in_runs(const PgRuns *runs, int64_t id)
{
    for (int32_t i = 0; i < runs->first.count; i++)
        if (id >= array_id(&runs->first, i) && id <= array_id(&runs->last, i))
            return true;
    return false;
}

static void every_id_is_in_a_run_and_no_other(void **state)
{
    (void)state;
    enum { SPACE = 200 };
    Rng rng = { 7 };
    for (int round = 0; round < 200; round++) {
        bool wanted[SPACE] = { false };
        int64_t ids[SPACE];
        size_t count = (size_t)rng_below(&rng, SPACE);
        int32_t different = 0;
        for (size_t i = 0; i < count; i++) {
            ids[i] = (int64_t)rng_below(&rng, SPACE);
            different += !wanted[ids[i]];
            wanted[ids[i]] = true;
        }
        PgRuns runs = runs_from(ids, count);
        assert_int_equal(runs.ids, different);
        for (int64_t id = 0; id < SPACE; id++)
            assert_int_equal(in_runs(&runs, id), wanted[id]);
        runs_done(&runs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_become_one_run),
        cmocka_unit_test(no_ids_are_no_runs),
        cmocka_unit_test(every_id_is_in_a_run_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
