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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(keys_of_two_kinds_never_meet),
        cmocka_unit_test(words_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
