/* SPDX-License-Identifier: Apache-2.0 */
/* remote_query_text_test.c - questions and answers between daemons are read back. */
#include "cluster/remote_query_text.h"

#include "cluster/remote_order_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void questions_are_read_back(void **state)
{
    (void)state;
    Buf packed = { 0 };
    RemoteQueryText back;
    const RemoteQueryText text = { .kind = REMOTE_QUERY_LOG,
                                   .token = 77,
                                   .id = 9,
                                   .attempt = 3,
                                   .streams = 2,
                                   .offsets = { 0, 1 << 20 },
                                   .body = SLICE_LITERAL("{}") };
    remote_query_pack(&packed, &text);
    assert_int_equal(remote_query_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_int_equal(back.kind, REMOTE_QUERY_LOG);
    assert_int_equal(back.id, 9);
    assert_int_equal(back.offsets[1], 1 << 20);
    assert_true(slice_is(back.body, "{}"));
    buf_done(&packed);
}

static void answers_outlive_their_letter(void **state)
{
    (void)state;
    Buf packed = { 0 };
    Arena arena = { 0 };
    RemoteQueryText back;
    const RemoteQueryText text = { .kind = REMOTE_QUERY_ANSWER,
                                   .err = ERR_NOT_FOUND,
                                   .problem = SLICE_LITERAL("job_not_found"),
                                   .stream = 1,
                                   .next = 12,
                                   .out = SLICE_LITERAL("a\0b") };
    remote_query_pack(&packed, &text);
    assert_int_equal(remote_query_unpack(buf_slice(&packed), &back), ERR_OK);
    remote_query_keep(&arena, &back);
    memset(packed.data, 'x', packed.bytes);
    buf_done(&packed);
    assert_true(slice_is(back.problem, "job_not_found"));
    assert_int_equal(back.out.bytes, 3);
    assert_int_equal(back.next, 12);
    assert_int_equal(back.err, ERR_NOT_FOUND);
    arena_done(&arena);
}

static void letters_of_other_kinds_are_told_apart(void **state)
{
    (void)state;
    Buf packed = { 0 };
    RemoteQueryText back;
    RemoteOrderText order;
    remote_order_pack(&packed, &(RemoteOrderText){ .kind = REMOTE_ORDER_ORDER });
    assert_int_equal(remote_query_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
    buf_clear(&packed);
    remote_query_pack(&packed, &(RemoteQueryText){ .kind = REMOTE_QUERY_ERASE });
    assert_int_equal(remote_order_unpack(buf_slice(&packed), &order), ERR_CORRUPT);
    buf_clear(&packed);
    remote_query_pack(&packed, &(RemoteQueryText){ .kind = REMOTE_QUERY_ANSWER,
                                                   .stream = REMOTE_QUERY_STREAMS });
    assert_int_equal(remote_query_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
    assert_int_equal(remote_query_unpack(SLICE_LITERAL("\xff\xff"), &back), ERR_CORRUPT);
    buf_done(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_are_read_back),
        cmocka_unit_test(answers_outlive_their_letter),
        cmocka_unit_test(letters_of_other_kinds_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
