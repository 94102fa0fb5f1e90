/* SPDX-License-Identifier: Apache-2.0 */
/* peers_test.c - what is told of other nodes, and found again. */
#include "pipeline/forward/peers.h"

#include "pipeline/processor/notes.h"
#include "pipeline/rig_test.h"

static void tell_nodes(Peers *peers, bool alive, const char *loads)
{
    PeersNews *news = peers_news(PEERS_NODES);
    peers_news_node(news, &(PeerNode){ .sysid = SLICE_LITERAL("n1"), .alive = true });
    peers_news_node(news, &(PeerNode){ .sysid = SLICE_LITERAL("n2"),
                                       .alive = alive,
                                       .fenced = !alive,
                                       .loads = slice_text(loads) });
    peers_take(peers, news);
}

static void tell_place(Peers *peers, const char *dir)
{
    PeersNews *news = peers_news(PEERS_PLACE);
    news->place = (PeerPlace){ .node = SLICE_LITERAL("n2"),
                               .name = SLICE_LITERAL("ocr"),
                               .dir = slice_text(dir),
                               .address = SLICE_LITERAL("ssh:h2:/d") };
    peers_take(peers, news);
}

static void the_last_news_of_nodes_count(void **state)
{
    (void)state;
    Peers peers = { 0 };
    assert_null(peers_node(&peers, SLICE_LITERAL("n2")));
    tell_nodes(&peers, true, "a 1\nocr 12\n");
    const PeerNode *node = peers_node(&peers, SLICE_LITERAL("n2"));
    assert_true(node->alive);
    assert_int_equal(peers_load(node, SLICE_LITERAL("ocr")), 12);
    assert_int_equal(peers_load(node, SLICE_LITERAL("oc")), -1);
    int64_t since = node->boot;
    tell_nodes(&peers, true, "");
    node = peers_node(&peers, SLICE_LITERAL("n2"));
    assert_int_equal(node->boot, since);
    assert_int_equal(peers_load(node, SLICE_LITERAL("ocr")), -1);
    tell_nodes(&peers, false, "");
    assert_true(peers_node(&peers, SLICE_LITERAL("n2"))->fenced);
    assert_null(peers_node(&peers, SLICE_LITERAL("n3")));
    peers_done(&peers);
}

static void places_come_change_and_go(void **state)
{
    (void)state;
    Peers peers = { 0 };
    tell_place(&peers, "/one");
    tell_place(&peers, "/two");
    assert_int_equal(peers.count, 1);
    const PeerPlace *place =
        peers_place(&peers, SLICE_LITERAL("n2"), SLICE_LITERAL("ocr"));
    assert_true(slice_is(place->dir, "/two"));
    assert_true(slice_is(place->address, "ssh:h2:/d"));
    assert_null(peers_place(&peers, SLICE_LITERAL("n1"), SLICE_LITERAL("ocr")));
    tell_place(&peers, "");
    assert_int_equal(peers.count, 0);
    peers_done(&peers);
}

/* A directory of the same path on another machine is another's: it says whose it is. */
static void a_directory_is_seen_if_it_says_so_itself(void **state)
{
    const Rig *rig = *state;
    Peers peers = { 0 };
    Error why = { 0 };
    tell_place(&peers, rig->dir);
    PeerPlace *place = peers_place(&peers, SLICE_LITERAL("n2"), SLICE_LITERAL("ocr"));
    assert_false(peers_seen(place, 1));
    assert_int_equal(
        own_write(&rig->buckets, "", PEERS_ID_FILE, SLICE_LITERAL("n3:ocr"), &why),
        ERR_OK);
    assert_false(peers_seen(place, 10000));
    assert_int_equal(
        own_write(&rig->buckets, "", PEERS_ID_FILE, SLICE_LITERAL("n2:ocr"), &why),
        ERR_OK);
    assert_false(peers_seen(place, 10001)); /* not looked at all the time */
    assert_true(peers_seen(place, 20000));
    peers_done(&peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_news_of_nodes_count),
        cmocka_unit_test(places_come_change_and_go),
        RIG_TEST(a_directory_is_seen_if_it_says_so_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
