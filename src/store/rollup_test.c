/* SPDX-License-Identifier: Apache-2.0 */
/* rollup_test.c - sums of a commit, periods that are full, and coarsening. */
#include "store/rollup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define WALL 1790000000000LL

static Job job_of(const char *type, int64_t priority)
{
    Job job = job_default();
    job.tenant = SLICE_LITERAL("acme");
    job.queue = SLICE_LITERAL("q");
    job.type = slice_text(type);
    job.priority = priority;
    job.created_ms = WALL;
    job.dt_ms = WALL;
    return job;
}

/* S0.80, S0.81: what happened is counted by minute, queue, type and priority. */
static void a_commit_has_one_row_for_each_kind_of_job(void **state)
{
    (void)state;
    Rollups rollups = { 0 };
    for (int i = 0; i < 1000; i++) {
        Job job = job_of(i % 2 ? "a" : "b", i % 4 < 2 ? 5 : 99);
        rollups_add(&rollups, &job, 1);
    }
    assert_int_equal(rollups.count, 4);
    uint64_t sum = 0;
    for (size_t i = 0; i < rollups.count; i++) {
        assert_int_equal(rollups.rows[i].counts.added, 250);
        assert_int_equal(rollups.rows[i].at_ms % MS_PER_MIN, 0);
        assert_true(rollups.rows[i].priority == 5 || rollups.rows[i].priority == 11);
        sum += rollups.rows[i].counts.added;
    }
    assert_int_equal(sum, 1000);
    rollups_done(&rollups);
}

static void claims_and_ends_are_counted_with_their_times(void **state)
{
    (void)state;
    Rollups rollups = { 0 };
    Job job = job_of("a", 5);
    Row row = row_new(&job);
    Op claim = { .kind = OP_CLAIM, .at_ms = WALL + 300 };
    rollups_change(&rollups, &row, &claim);
    row.job.started_ms = WALL + 300;
    for (int code = CODE_OK; code <= CODE_ERROR; code++) {
        Op finish = { .kind = OP_FINISH,
                      .at_ms = WALL + 1300,
                      .outcome = { .code = (JobCode)code } };
        rollups_change(&rollups, &row, &finish);
    }
    Op none = { .kind = OP_FINISH, .at_ms = WALL + 1300 };
    rollups_change(&rollups, &row, &none); /* lost: it did not end by itself */
    Op move = { .kind = OP_MOVE, .at_ms = WALL };
    rollups_change(&rollups, &row, &move);
    assert_int_equal(rollups.count, 1);
    const RollupCounts *counts = &rollups.rows[0].counts;
    assert_int_equal(counts->started, 1);
    assert_int_equal(counts->wait_ms, 300);
    assert_int_equal(counts->run_ms, 4000);
    for (size_t i = 0; i < ROLLUP_CODES; i++)
        assert_int_equal(counts->finished[i], 1);
    rollups_done(&rollups);
}

static Rollup row_at(int64_t at_ms, const char *type)
{
    return (Rollup){ .span_ms = MS_PER_MIN,
                     .at_ms = rollup_floor(at_ms, MS_PER_MIN),
                     .tenant = SLICE_LITERAL("acme"),
                     .queue = SLICE_LITERAL("q"),
                     .type = slice_text(type),
                     .priority = 5,
                     .counts = { .added = 1 } };
}

static uint64_t added(const RollupTable *table)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < table->count; i++)
        sum += table->rows[i].counts.added;
    return sum;
}

/* However many kinds there are, a period stays small and nothing is lost. */
static void a_full_period_counts_the_rest_together(void **state)
{
    (void)state;
    RollupTable table = { 0 };
    for (int i = 0; i < 1000; i++) {
        char type[16];
        snprintf(type, sizeof type, "t%d", i);
        Rollup row = row_at(WALL, type);
        rollup_table_add(&table, &row);
    }
    assert_int_equal(table.count, ROLLUP_KEYS_MAX + 1);
    assert_true(slice_is(table.rows[0].type, ROLLUP_OTHER));
    assert_int_equal(added(&table), 1000);
    rollup_table_done(&table);
}

static void minutes_become_hours_and_hours_days(void **state)
{
    (void)state;
    RollupTable table = { 0 };
    for (int64_t at = 0; at < 40 * MS_PER_DAY; at += 10 * MS_PER_MIN) {
        Rollup row = row_at(WALL + at, "t");
        rollup_table_add(&table, &row);
        if (at % MS_PER_HOUR == 0)
            rollup_table_fold(&table, WALL + at);
    }
    assert_int_equal(added(&table), 40 * 24 * 6);
    size_t of[3] = { 0 };
    for (size_t i = 0; i < table.count; i++)
        of[table.rows[i].span_ms == MS_PER_MIN    ? 0
           : table.rows[i].span_ms == MS_PER_HOUR ? 1
                                                  : 2]++;
    assert_true(of[0] <= 6 * 8); /* six hours of six */
    assert_true(of[1] <= 36 * 24);
    assert_true(of[2] >= 4 && of[2] <= 6);
    RollupTable copy = { 0 };
    rollup_table_copy(&table, &copy);
    rollup_table_done(&table);
    assert_int_equal(added(&copy), 40 * 24 * 6);
    rollup_table_fold(&copy, WALL + 2000 * MS_PER_DAY); /* at last even days go */
    rollup_table_fold(&copy, WALL + 2000 * MS_PER_DAY);
    assert_int_equal(copy.count, 0);
    rollup_table_done(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_has_one_row_for_each_kind_of_job),
        cmocka_unit_test(claims_and_ends_are_counted_with_their_times),
        cmocka_unit_test(a_full_period_counts_the_rest_together),
        cmocka_unit_test(minutes_become_hours_and_hours_days),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
