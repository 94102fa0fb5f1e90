/* SPDX-License-Identifier: Apache-2.0 */
/* peer_test.c - what nodes say of themselves. */
#include "core/share/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void facts_are_read_back(void **state)
{
    (void)state;
    Buf packed = { 0 };
    PeerFacts facts = { .slots = 4,
                        .used = 2,
                        .ready = 1000000,
                        .draining = 1,
                        .pid = 77,
                        .load = { 150, 20, 3 },
                        .at_ms = 1790000000001,
                        .started_ms = 1790000000000,
                        .host = SLICE_LITERAL("h1"),
                        .version = SLICE_LITERAL("0.1"),
                        .listen = SLICE_LITERAL("127.0.0.1:7420"),
                        .loads = SLICE_LITERAL("ocr 3\n") };
    peer_pack(&packed, &facts);
    PeerFacts back;
    assert_int_equal(peer_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_int_equal(back.slots, 4);
    assert_int_equal(back.ready, 1000000);
    assert_int_equal(back.draining, 1);
    assert_int_equal(back.load[0], 150);
    assert_int_equal(back.load[2], 3);
    assert_int_equal(back.at_ms, 1790000000001);
    assert_true(slice_is(back.host, "h1"));
    assert_true(slice_is(back.listen, "127.0.0.1:7420"));
    assert_true(slice_is(back.loads, "ocr 3\n"));
    buf_done(&packed);
    assert_int_equal(peer_unpack(SLICE_LITERAL("\xff\xff\xff"), &back), ERR_CORRUPT);
}

static void who_is_alive(void **state)
{
    (void)state;
    Peer peer = { .number = 1, .epoch = 1, .left_ms = 1 };
    assert_true(peer_alive(&peer));
    peer.left_ms = 0;
    assert_false(peer_alive(&peer));
    peer.left_ms = 1;
    peer.fenced = true;
    assert_false(peer_alive(&peer));
    peer = (Peer){ .number = 1, .left_ms = 1 };
    assert_false(peer_alive(&peer)); /* has not joined */
}

static void the_home_is_read_back(void **state)
{
    (void)state;
    Buf text = { 0 };
    home_write(&text, &(Home){ 3, 12 });
    Home home = home_read(buf_slice(&text));
    assert_int_equal(home.node, 3);
    assert_int_equal(home.count, 12);
    buf_done(&text);
    static const char *const wrong[] = { "", "3", "x 1", "3 x" };
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(home_read(slice_text(wrong[i])).node, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_read_back),
        cmocka_unit_test(who_is_alive),
        cmocka_unit_test(the_home_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
