/* SPDX-License-Identifier: Apache-2.0 */
/* remote_order_text_test.c - orders and answers between daemons, and the one list of
 * many. */
#include "cluster/remote_order_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void orders_and_answers_are_read_back(void **state)
{
    (void)state;
    Buf packed = { 0 };
    RemoteOrderText text = { .kind = REMOTE_ORDER_ORDER,
                             .token = 77,
                             .signal = SIGNAL_RE_PROCESS,
                             .name = SLICE_LITERAL("ocr"),
                             .unit = SLICE_LITERAL("a\nb"),
                             .next = SLICE_LITERAL("x@n2"),
                             .err = ERR_CONFLICT,
                             .problem = SLICE_LITERAL("conflict"),
                             .job = 9,
                             .created = true };
    RemoteOrderText back;
    remote_order_pack(&packed, &text);
    assert_int_equal(remote_order_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_int_equal(back.token, 77);
    assert_int_equal(back.signal, SIGNAL_RE_PROCESS);
    assert_true(slice_is(back.unit, "a\nb"));
    assert_true(slice_is(back.next, "x@n2"));
    assert_int_equal(back.err, ERR_CONFLICT);
    assert_true(slice_is(back.problem, "conflict"));
    assert_true(back.created);
    buf_done(&packed);
}

static void what_is_not_understood_is_refused(void **state)
{
    (void)state;
    Buf packed = { 0 };
    RemoteOrderText back;
    assert_int_equal(remote_order_unpack(SLICE_LITERAL("\xff\xff"), &back), ERR_CORRUPT);
    remote_order_pack(&packed, &(RemoteOrderText){ .kind = REMOTE_ORDER_ORDER,
                                                   .signal = ORDER_LOADS + 1 });
    assert_int_equal(remote_order_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
    buf_clear(&packed);
    remote_order_pack(&packed, &(RemoteOrderText){ .kind = REMOTE_ORDER_ANSWER + 1 });
    assert_int_equal(remote_order_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
    buf_done(&packed);
}

/* S4.85: those of all nodes, and those of nodes that do not answer as down. */
static void lists_become_one(void **state)
{
    (void)state;
    Buf out = { 0 };
    RemoteOrderPart parts[] = {
        { SLICE_LITERAL("n1"),
          SLICE_LITERAL("{\"items\":[{\"name\":\"a\"}],\"next_cursor\":null,"
                        "\"brokers\":[{\"name\":\"s\"}],\"elsewhere\":["
                        "{\"name\":\"b\",\"id\":\"n2:b\",\"node\":\"n2\"},"
                        "{\"name\":\"c\",\"id\":\"n3:c\",\"node\":\"n3\","
                        "\"directory\":\"/d\"}]}") },
        { SLICE_LITERAL("n2"), SLICE_LITERAL("{\"items\":[{\"name\":\"b\"}]}") },
        { SLICE_LITERAL("n3"), SLICE_LITERAL("") },
    };
    remote_order_merge(&out, parts, 3);
    assert_string_equal(buf_cstr(&out),
                        "{\"items\":[{\"name\":\"a\"},{\"name\":\"b\"},"
                        "{\"name\":\"c\",\"id\":\"n3:c\",\"node\":\"n3\","
                        "\"directory\":\"/d\",\"up\":false,\"problems\":[{\"unit\":\"\","
                        "\"problem\":\"node n3 does not answer\"}]}],"
                        "\"next_cursor\":null,\"brokers\":[{\"name\":\"s\"}]}");
    buf_clear(&out);
    remote_order_merge(&out, parts + 2, 1); /* not even this one answered */
    assert_string_equal(buf_cstr(&out),
                        "{\"items\":[],\"next_cursor\":null,\"brokers\":[]}");
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_and_answers_are_read_back),
        cmocka_unit_test(what_is_not_understood_is_refused),
        cmocka_unit_test(lists_become_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
