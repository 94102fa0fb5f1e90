/* SPDX-License-Identifier: Apache-2.0 */
/* group_test.c - counts and definitions of groups. */
#include "core/group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void members_are_counted_open_and_in_all(void **state)
{
    (void)state;
    GroupCounts counts = { .of = { [JOB_READY] = 2, [JOB_PAUSED] = 1, [JOB_DONE] = 4 } };
    assert_int_equal(group_total(&counts), 7);
    assert_int_equal(group_open(&counts), 3);
}

static void a_definition_is_read_as_it_was_written(void **state)
{
    (void)state;
    Buf packed = { 0 };
    GroupDefinition told = { SLICE_LITERAL("report"), 77, 1234, 1300 };
    group_pack(&packed, &told);
    GroupDefinition read;
    assert_int_equal(group_unpack(buf_slice(&packed), &read), ERR_OK);
    assert_true(slice_is(read.then, "report"));
    assert_int_equal(read.completion, 77);
    assert_int_equal(read.created_ms, 1234);
    assert_int_equal(read.asked_ms, 1300);
    packed.data[0] = (char)0xff;
    assert_int_equal(group_unpack(buf_slice(&packed), &read), ERR_CORRUPT);
    buf_done(&packed);
}

static void the_summary_tells_every_end(void **state)
{
    (void)state;
    Buf text = { 0 };
    GroupCounts counts = { .of = { [JOB_DONE] = 2, [JOB_FAILED] = 1 } };
    group_summary(&text, SLICE_LITERAL("night"), &counts);
    assert_string_equal(buf_cstr(&text),
                        "{\"group\":\"night\",\"total\":3,\"done\":2,\"failed\":1,"
                        "\"rejected\":0,\"cancelled\":0}");
    buf_done(&text);
}

static void tenants_have_their_own_groups(void **state)
{
    (void)state;
    Slice name = SLICE_LITERAL("a");
    assert_int_not_equal(group_number(SLICE_LITERAL("t"), name),
                         group_number(SLICE_LITERAL("u"), name));
    assert_int_not_equal(group_number(name, SLICE_LITERAL("t")),
                         group_number(SLICE_LITERAL("t"), name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_counted_open_and_in_all),
        cmocka_unit_test(a_definition_is_read_as_it_was_written),
        cmocka_unit_test(the_summary_tells_every_end),
        cmocka_unit_test(tenants_have_their_own_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
