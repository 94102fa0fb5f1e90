/* SPDX-License-Identifier: Apache-2.0 */
/* node_message_test.c - letters between nodes are read as they were written. */
#include "core/share/node_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_call_is_read_back(void **state)
{
    (void)state;
    Buf packed = { 0 };
    NodeMessage text = { .kind = MESSAGE_CALL,
                         .token = 7,
                         .call = { .kind = EVENT_ACT,
                                   .id = 99,
                                   .action = ACT_PATCH,
                                   .tenant = SLICE_LITERAL("acme"),
                                   .reason = SLICE_LITERAL("why"),
                                   .flag = true,
                                   .patch = { .fields = FIELD_PRIORITY | FIELD_QUEUE,
                                              .priority = -3,
                                              .queue = SLICE_LITERAL("q") } } };
    node_message_pack(&packed, &text);
    NodeMessage back;
    assert_int_equal(node_message_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_int_equal(back.kind, MESSAGE_CALL);
    assert_int_equal(back.token, 7);
    assert_int_equal(back.call.kind, EVENT_ACT);
    assert_int_equal(back.call.id, 99);
    assert_int_equal(back.call.action, ACT_PATCH);
    assert_true(back.call.flag);
    assert_true(slice_is(back.call.tenant, "acme"));
    assert_true(slice_is(back.call.reason, "why"));
    assert_int_equal(back.call.patch.priority, -3);
    assert_true(slice_is(back.call.patch.queue, "q"));
    buf_done(&packed);
}

static void an_answer_is_read_back(void **state)
{
    (void)state;
    Buf packed = { 0 };
    NodeMessage text = { .kind = MESSAGE_ANSWER,
                         .token = 8,
                         .answer = { .err = ERR_CONFLICT,
                                     .allowed = STATE_BIT(JOB_HELD),
                                     .detail = SLICE_LITERAL("no") },
                         .problem = SLICE_LITERAL("invalid_state") };
    node_message_pack(&packed, &text);
    NodeMessage back;
    assert_int_equal(node_message_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_int_equal(back.answer.err, ERR_CONFLICT);
    assert_int_equal(back.answer.allowed, STATE_BIT(JOB_HELD));
    assert_true(slice_is(back.answer.detail, "no"));
    assert_true(slice_is(back.problem, "invalid_state"));
    buf_done(&packed);
}

static void damage_is_refused(void **state)
{
    (void)state;
    NodeMessage back;
    Buf packed = { 0 };
    assert_int_equal(node_message_unpack(SLICE_LITERAL("\xff\xff\xff"), &back),
                     ERR_CORRUPT);
    node_message_pack(&packed, &(NodeMessage){ .kind = MESSAGE_CALL, .call.action = 77 });
    assert_int_equal(node_message_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
    buf_done(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_read_back),
        cmocka_unit_test(an_answer_is_read_back),
        cmocka_unit_test(damage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
