/* SPDX-License-Identifier: Apache-2.0 */
/* unique_test.c - keys that one job at a time may hold. */
#include "core/unique.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_is_written_is_read(void **state)
{
    (void)state;
    Buf text = { 0 };
    Unique told = { SLICE_LITERAL("order 7"), 90000, CONFLICT_REPLACE };
    unique_write(&text, &told);
    Unique read;
    assert_true(unique_read(buf_slice(&text), &read));
    assert_true(slice_is(read.key, "order 7"));
    assert_int_equal(read.for_ms, 90000);
    assert_int_equal(read.on_conflict, CONFLICT_REPLACE);
    buf_clear(&text);
    unique_write(&text, &(Unique){ .key = SLICE_LITERAL("k") });
    assert_true(unique_read(buf_slice(&text), &read));
    assert_int_equal(read.for_ms, 0);
    assert_int_equal(read.on_conflict, CONFLICT_REJECT);
    buf_done(&text);
    assert_false(unique_read((Slice){ NULL, 0 }, &read));
}

static void keys_of_two_kinds_never_meet(void **state)
{
    (void)state;
    Buf unique = { 0 };
    Buf own = { 0 };
    Buf merge = { 0 };
    Job job = job_default();
    assert_false(unique_key(&job, UNIQUE_OWN, &own));
    assert_false(unique_key(&job, UNIQUE_MERGE, &merge));
    unique_write(&unique, &(Unique){ .key = SLICE_LITERAL("mail") });
    job.unique = buf_slice(&unique);
    job.type = SLICE_LITERAL("mail");
    job.flags = JOB_MERGES;
    assert_true(unique_key(&job, UNIQUE_OWN, &own));
    assert_true(unique_key(&job, UNIQUE_MERGE, &merge));
    assert_false(slice_equal(buf_slice(&own), buf_slice(&merge)));
    buf_done(&unique);
    buf_done(&own);
    buf_done(&merge);
}

static void words_that_are_none_are_refused(void **state)
{
    (void)state;
    OnConflict on = CONFLICT_REJECT;
    assert_int_equal(conflict_parse(SLICE_LITERAL("ignore"), &on), ERR_OK);
    assert_int_equal(on, CONFLICT_IGNORE);
    assert_string_equal(conflict_name(on), "ignore");
    assert_int_equal(conflict_parse(SLICE_LITERAL("perhaps"), &on), ERR_INVALID);
}

static void a_merged_job_says_into_which(void **state)
{
    (void)state;
    char id[ID_TEXT_BYTES];
    Buf reason = { 0 };
    Job job = job_default();
    buf_printf(&reason, MERGED_INTO "%s", id_text(id_from_count(77, 3), id));
    job.reason = buf_slice(&reason);
    assert_int_equal(unique_merged_into(&job), 0);
    job.state = JOB_CANCELLED;
    assert_int_equal(unique_merged_into(&job), id_from_count(77, 3));
    job.reason = SLICE_LITERAL("not wanted");
    assert_int_equal(unique_merged_into(&job), 0);
    buf_done(&reason);
}

static void the_key_of_a_request_is_held_for_a_day(void **state)
{
    (void)state;
    Job job = job_default();
    Buf key = { 0 };
    job.created_ms = 5;
    assert_false(unique_key(&job, UNIQUE_REQUEST, &key));
    job.request = SLICE_LITERAL("k\0"
                                "1-1\0");
    assert_true(unique_key(&job, UNIQUE_REQUEST, &key));
    assert_string_equal(buf_cstr(&key), "rk");
    assert_int_equal(unique_until(&job, UNIQUE_REQUEST), 5 + MS_PER_DAY);
    buf_done(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(keys_of_two_kinds_never_meet),
        cmocka_unit_test(words_that_are_none_are_refused),
        cmocka_unit_test(a_merged_job_says_into_which),
        cmocka_unit_test(the_key_of_a_request_is_held_for_a_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
