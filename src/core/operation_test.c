/* SPDX-License-Identifier: Apache-2.0 */
/* operation_test.c - what is kept of an operation. */
#include "core/operation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_is_written_is_read(void **state)
{
    (void)state;
    Buf packed = { 0 };
    Operation told = { .id = 7,
                       .state = OPERATION_STOPPED,
                       .action = ACT_PATCH,
                       .dry_run = true,
                       .before = 6,
                       .count = 5,
                       .acted = 4,
                       .refused = 1,
                       .patch = { .fields = FIELD_PRIORITY | FIELD_RUN_AT,
                                  .priority = -3,
                                  .run_at_ms = 1000,
                                  .max_run_ms = 2000,
                                  .queue = SLICE_LITERAL("slow"),
                                  .tags = SLICE_LITERAL("a\0") },
                       .query = SLICE_LITERAL("state:ready") };
    operation_pack(&packed, &told);
    Operation read;
    assert_int_equal(operation_unpack(buf_slice(&packed), &read), ERR_OK);
    assert_int_equal(read.before, 6);
    assert_int_equal(read.patch.priority, -3);
    assert_int_equal(read.patch.run_at_ms, 1000);
    assert_int_equal(read.patch.max_run_ms, 2000);
    assert_true(slice_is(read.patch.queue, "slow"));
    assert_int_equal(read.patch.tags.bytes, 2);
    assert_true(read.dry_run);
    assert_true(slice_is(read.query, "state:ready"));
    assert_string_equal(operation_state_name(read.state), "stopped");
    buf_clear(&packed);
    told.action = (Action)ACTIONS;
    operation_pack(&packed, &told);
    assert_int_equal(operation_unpack(buf_slice(&packed), &read), ERR_CORRUPT);
    buf_done(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
