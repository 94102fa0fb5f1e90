/* SPDX-License-Identifier: Apache-2.0 */
/* nodes_test.c - the only node of a store of its own: shown, drained, resumed.
 * Several are shown by tests/e2e/test_node_drain.py. */
#include "api/nodes.h"

#include "testing/world_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define NODE       "/api/v1/nodes/fake"

static void ask(World *world, const char *method, const char *path, Slice body,
                Reply *reply)
{
    world_ask(world, &(Ask){ method, path, "Content-Type: application/json\r\n", body },
              reply);
}

static void the_node_is_shown_with_what_it_runs(void **state)
{
    World *world = *state;
    Reply reply;
    JobId id = world_add(world, SLICE_LITERAL("{\"command\":[\"x\"],\"queue\":\"q\"}"));
    expect_state(world, id, "running");
    world_get(world, "/api/v1/nodes?limit=1", &reply);
    const JsonIn *node = json_in_first(json_in_find(reply.json, "items"));
    assert_true(slice_is(json_in_text_of(node, "sysid"), "fake"));
    assert_true(slice_is(json_in_text_of(node, "state"), "up"));
    assert_int_equal(json_in_find(node, "lease_left_ms")->kind, JSON_IN_NULL);
    assert_int_equal(json_in_find(node, "running")->as.items.count, 1);
    assert_int_equal(json_in_find(node, "load")->as.items.count, 3);
    reply_done(&reply);
    world_get(world, "/api/v1/nodes?cursor=fake", &reply); /* nothing is behind it */
    assert_null(json_in_first(json_in_find(reply.json, "items")));
    reply_done(&reply);
}

static void it_is_drained_and_resumed(void **state)
{
    World *world = *state;
    Reply reply;
    for (int again = 0; again < 2; again++) { /* twice is as good as once */
        ask(world, "POST", NODE "/drain", SLICE_LITERAL("{\"reason\":\"new disk\"}"),
            &reply);
        assert_int_equal(reply.status, 200);
        assert_true(slice_is(json_in_text_of(reply.json, "state"), "draining"));
        const JsonIn *drain = json_in_find(reply.json, "drain");
        assert_true(slice_is(json_in_text_of(drain, "reason"), "new disk"));
        reply_done(&reply);
    }
    JobId id = world_add(world, SLICE_LITERAL("{\"command\":[\"x\"]}"));
    expect_state(world, id, "ready");
    ask(world, "POST", NODE "/resume", NOTHING, &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(json_in_find(reply.json, "drain")->kind, JSON_IN_NULL);
    reply_done(&reply);
    expect_state(world, id, "running");
}

static void its_slots_are_changed(void **state)
{
    World *world = *state;
    Reply reply;
    ask(world, "PATCH", NODE, SLICE_LITERAL("{\"slots\":3,\"queues\":{\"q\":1}}"),
        &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(json_in_int_of(reply.json, "slots", 0), 3);
    assert_int_equal(json_in_int_of(json_in_find(reply.json, "queues"), "q", 0), 1);
    reply_done(&reply);
    ask(world, "PATCH", NODE, SLICE_LITERAL("{\"queues\":{\"q\":null}}"), &reply);
    assert_int_equal(json_in_int_of(reply.json, "slots", 0), 3);
    assert_null(json_in_first(json_in_find(reply.json, "queues")));
    reply_done(&reply);
}

static void bad_requests_are_refused(void **state)
{
    World *world = *state;
    static const struct {
        const char *method;
        const char *path;
        const char *body;
        int status;
        const char *code;
    } cases[] = {
        { "POST", "/api/v1/nodes/other/drain", "{}", 404, "node_not_found" },
        { "POST", "/api/v1/nodes/other/resume", "", 404, "node_not_found" },
        { "PATCH", "/api/v1/nodes/other", "{\"slots\":1}", 404, "node_not_found" },
        { "POST", NODE "/drain", "{\"why\":1}", 422, "unknown_field" },
        { "POST", NODE "/drain", "{\"reason\":1}", 422, "invalid_value" },
        { "POST", NODE "/resume", "{\"x\":1}", 422, "unknown_field" },
        { "PATCH", NODE, "{\"slots\":-1}", 422, "invalid_value" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Reply reply;
        ask(world, cases[i].method, cases[i].path, slice_text(cases[i].body), &reply);
        if (reply.status != cases[i].status)
            fail_msg("%zu: %d", i, reply.status);
        expect_problem(&reply, cases[i].status, cases[i].code);
        reply_done(&reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_node_is_shown_with_what_it_runs),
        TEST(it_is_drained_and_resumed),
        TEST(its_slots_are_changed),
        TEST(bad_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
