/* SPDX-License-Identifier: Apache-2.0 */
/* columns_test.c - a row goes into its columns and comes out again; whatever becomes of
 * it on the way is noticed. */
#include "store/columns.h"
#include "store/sum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char spec[] = "packed";
static const RowNumbers numbers = { .lane = 1, .lock = 2, .type = 3, .node = 2 };

static RowColumns full_row(void)
{
    RowColumns saved = { .row.job = job_default() };
    Job *job = &saved.row.job;
    job->id = 77;
    job->parent = 76;
    job->state = JOB_PAUSED;
    job->flags = JOB_PULL; /* whose dt a heartbeat does not write */
    job->dt_ms = 1;
    job->created_ms = 2;
    job->run_at_ms = 3;
    job->started_ms = 4;
    job->finished_ms = 5;
    job->beat_ms = 6;
    job->service_ms = 7;
    job->result_bytes = 8;
    job->attempt = 9;
    job->retry_number = 10;
    job->progress = 11;
    job->outcome = (Outcome){ CODE_RETRY, 12, 13, 14 };
    job->tenant = SLICE_LITERAL("acme");
    job->queue = SLICE_LITERAL("mail");
    job->lock = job->node = SLICE_LITERAL("node-a");
    job->type = SLICE_LITERAL("send");
    job->name = SLICE_LITERAL("a name");
    job->reason = SLICE_LITERAL("a reason");
    job->error = SLICE_LITERAL("an error");
    job->message = SLICE_LITERAL("a message");
    job->payload = SLICE_LITERAL("a payload");
    saved.row.slot = 15;
    saved.row.run_retry = 16;
    saved.row.run_state = JOB_RUNNING;
    return saved;
}

static RowValues values_of(const RowColumns *saved)
{
    RowValues values = { .whole = true };
    columns_fill(&values, saved, &numbers, slice_text(spec));
    return values;
}

static RowColumns row_of(const RowValues *values)
{
    const RowTexts texts = { .tenant = SLICE_LITERAL("acme"),
                             .queue = SLICE_LITERAL("mail"),
                             .lock = SLICE_LITERAL("node-a"),
                             .type = SLICE_LITERAL("send"),
                             .node = SLICE_LITERAL("node-a") };
    RowColumns saved;
    columns_read(&saved, values, &texts);
    return saved;
}

static void a_row_comes_out_as_it_went_in(void **state)
{
    (void)state;
    RowColumns saved = full_row();
    RowValues values = values_of(&saved);
    RowColumns out = row_of(&values);
    assert_false(out.damaged);
    assert_true(slice_is(out.spec, spec));
    Buf before = { 0 };
    Buf after = { 0 };
    job_pack(&before, &saved.row.job);
    job_pack(&after, &out.row.job);
    assert_true(slice_equal(buf_slice(&before), buf_slice(&after)));
    assert_int_equal(out.row.slot, saved.row.slot);
    assert_int_equal(out.row.run_retry, saved.row.run_retry);
    assert_int_equal(out.row.run_state, saved.row.run_state);
    buf_done(&before);
    buf_done(&after);
}

static bool is_of_no_row(unsigned column)
{
    return column == COL_BEAT || column == COL_OWNER; /* see sum.h */
}

/* Names stand in other tables, which give other texts then. */
static bool is_of_a_name(unsigned column)
{
    return column == COL_LANE || column == COL_LOCK || column == COL_TYPE ||
           column == COL_NODE;
}

static void every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    RowColumns saved = full_row();
    for (unsigned i = 0; i < JOB_COLUMNS; i++) {
        for (unsigned bit = 0; bit < 32; bit++) {
            RowValues values = values_of(&saved);
            char bytes[32] = { 0 };
            if (!values.given[i])
                continue;
            if (column_has_bytes(i)) {
                memcpy(bytes, values.bytes[i].data, values.bytes[i].bytes);
                bytes[bit % values.bytes[i].bytes] ^= 4;
                values.bytes[i].data = bytes;
            } else {
                values.numbers[i] ^= (int64_t)1 << bit;
            }
            if (is_of_no_row(i) || is_of_a_name(i) || !columns_make_sense(&values))
                continue;
            RowColumns out = row_of(&values);
            if (!out.damaged)
                fail_msg("bit %u of %s", bit, job_columns[i].name);
        }
    }
}

static void a_value_that_is_gone_is_noticed(void **state)
{
    (void)state;
    RowColumns saved = full_row();
    for (unsigned i = 0; i < JOB_COLUMNS; i++) {
        RowValues values = values_of(&saved);
        values.given[i] = false;
        if (i == COL_SUM || i == COL_APART || is_of_no_row(i) || is_of_a_name(i))
            continue;
        RowColumns out = row_of(&values);
        if (!out.damaged)
            fail_msg("no %s", job_columns[i].name);
    }
}

static void another_name_is_noticed(void **state)
{
    (void)state;
    RowColumns saved = full_row();
    RowValues values = values_of(&saved);
    const RowTexts texts = { .tenant = SLICE_LITERAL("acme"),
                             .queue = SLICE_LITERAL("Mail"),
                             .lock = SLICE_LITERAL("node-a"),
                             .type = SLICE_LITERAL("send"),
                             .node = SLICE_LITERAL("node-a") };
    RowColumns out;
    columns_read(&out, &values, &texts);
    assert_true(out.damaged);
}

/* Bytes may not change sides, however long the texts are. */
static void texts_have_bounds(void **state)
{
    (void)state;
    char bytes[2000];
    memset(bytes, 'x', sizeof bytes);
    RowColumns one = full_row();
    RowColumns other = full_row();
    one.row.job.name = slice_of(bytes, 600);
    one.row.job.reason = slice_of(bytes, 900);
    other.row.job.name = slice_of(bytes, 900);
    other.row.job.reason = slice_of(bytes, 600);
    assert_int_not_equal(sum_body(&one.row, slice_text(spec)),
                         sum_body(&other.row, slice_text(spec)));
    one.row.job.name = SLICE_LITERAL("ab");
    one.row.job.reason = SLICE_LITERAL("c");
    other.row.job.name = SLICE_LITERAL("a");
    other.row.job.reason = SLICE_LITERAL("bc");
    assert_int_not_equal(sum_body(&one.row, slice_text(spec)),
                         sum_body(&other.row, slice_text(spec)));
}

/* What a node writes for all its running jobs at once. */
static void a_heartbeat_leaves_the_checksum_as_it_is(void **state)
{
    (void)state;
    RowColumns saved = full_row();
    saved.row.job.flags = 0;
    RowValues values = values_of(&saved);
    values.numbers[COL_DT] += 30000;
    values.numbers[COL_BEAT] += 30000;
    RowColumns out = row_of(&values);
    assert_false(out.damaged);
}

static void lines_have_checksums_of_their_own(void **state)
{
    (void)state;
    RowColumns saved = full_row();
    RowValues values = values_of(&saved);
    columns_refill(&values, 78, SLICE_LITERAL("another payload"), false);
    RowColumns out = row_of(&values);
    assert_false(out.damaged);
    assert_int_equal(out.row.job.id, 78);
    values.numbers[COL_ID] = 79;
    out = row_of(&values);
    assert_true(out.damaged);
    columns_refill(&values, 80, SLICE_LITERAL("one that is large"), true);
    out = row_of(&values);
    assert_false(out.damaged);
    assert_true(columns_payload_sound(&out, SLICE_LITERAL("one that is large")));
    assert_false(columns_payload_sound(&out, SLICE_LITERAL("one that is larger")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_comes_out_as_it_went_in),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(a_value_that_is_gone_is_noticed),
        cmocka_unit_test(another_name_is_noticed),
        cmocka_unit_test(texts_have_bounds),
        cmocka_unit_test(a_heartbeat_leaves_the_checksum_as_it_is),
        cmocka_unit_test(lines_have_checksums_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
