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
                       .fields = FIELD_PRIORITY,
                       .priority = -3,
                       .query = SLICE_LITERAL("state:ready"),
                       .queue = SLICE_LITERAL("slow") };
    operation_pack(&packed, &told);
    Operation read;
    assert_int_equal(operation_unpack(buf_slice(&packed), &read), ERR_OK);
    assert_int_equal(read.before, 6);
    assert_int_equal(read.priority, -3);
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
