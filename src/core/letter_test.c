/* SPDX-License-Identifier: Apache-2.0 */
/* letter_test.c - letters between nodes are read as they were written. */
#include "core/letter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_call_is_read_back(void **state)
{
    (void)state;
    Buf packed = { 0 };
    LetterText text = { .kind = LETTER_CALL,
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
    letter_pack(&packed, &text);
    LetterText back;
    assert_int_equal(letter_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_int_equal(back.kind, LETTER_CALL);
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
    LetterText text = { .kind = LETTER_ANSWER,
                        .token = 8,
                        .answer = { .err = ERR_CONFLICT,
                                    .allowed = STATE_BIT(JOB_HELD),
                                    .detail = SLICE_LITERAL("no") },
                        .problem = SLICE_LITERAL("invalid_state") };
    letter_pack(&packed, &text);
    LetterText back;
    assert_int_equal(letter_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_int_equal(back.answer.err, ERR_CONFLICT);
    assert_int_equal(back.answer.allowed, STATE_BIT(JOB_HELD));
    assert_true(slice_is(back.answer.detail, "no"));
    assert_true(slice_is(back.problem, "invalid_state"));
    buf_done(&packed);
}

static void damage_is_refused(void **state)
{
    (void)state;
    LetterText back;
    Buf packed = { 0 };
    assert_int_equal(letter_unpack(SLICE_LITERAL("\xff\xff\xff"), &back), ERR_CORRUPT);
    letter_pack(&packed, &(LetterText){ .kind = LETTER_CALL, .call.action = 77 });
    assert_int_equal(letter_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
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
