/* SPDX-License-Identifier: Apache-2.0 */
/* scoreboard_test.c - the exit codes of many jobs in one answer. */
#include "api/jobs/scoreboard.h"

#include "base/id.h"
#include "testing/world_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define SCORES     "/api/v1/scoreboard"

static void refused(World *world, const char *path, const char *body, const char *code)
{
    Reply reply;
    world_ask(world, &(Ask){ body ? "POST" : "GET", path, "", slice_text(body) }, &reply);
    expect_problem(&reply, problem_find(code)->status, code);
    reply_done(&reply);
}

/* S2.116 */
static void each_id_has_its_exit_code(void **state)
{
    World *world = *state;
    char cancelled[ID_TEXT_BYTES];
    char held[ID_TEXT_BYTES];
    char other[ID_TEXT_BYTES];
    JobId first =
        world_add(world, SLICE_LITERAL("{\"command\":[\"true\"],\"held\":true}"));
    id_text(first, cancelled);
    world_act(world, first, "cancel", 200);
    id_text(world_add(world, SLICE_LITERAL("{\"command\":[\"true\"],\"held\":true}")),
            held);
    id_text(world_add(world, SLICE_LITERAL("{\"command\":[\"true\"],\"held\":true,"
                                           "\"tenant\":\"other\"}")),
            other);
    Buf body = { 0 };
    Reply reply;
    buf_printf(&body, "{\"ids\":[\"%s\",\"%s\",\"%s\"]}", cancelled, held, other);
    world_post(world, SCORES, buf_slice(&body), &reply);
    assert_int_equal(reply.status, 200);
    const JsonIn *codes = json_in_find(reply.json, "exitcodes");
    assert_non_null(json_in_find(codes, cancelled));
    assert_int_equal(json_in_find(codes, held)->kind, JSON_IN_NULL);
    assert_null(json_in_find(codes, other)); /* of another tenant: not there */
    const JsonIn *missing = json_in_first(json_in_find(reply.json, "missing"));
    assert_true(slice_is(missing->as.text, other));
    reply_done(&reply);
    buf_done(&body);
}

static void what_is_wrong_is_told(void **state)
{
    World *world = *state;
    refused(world, SCORES "?ids=a,b", NULL, "invalid_value");
    refused(world, SCORES, "", "empty_body");
    refused(world, SCORES, "{\"ids\":7}", "invalid_value");
    refused(world, SCORES, "{\"ids\":[7]}", "wrong_type");
    refused(world, SCORES, "{\"ids\":[],\"x\":1}", "invalid_value");
    Buf body = { 0 };
    buf_add_text(&body, "{\"ids\":[\"0rpbtc4000c68\"");
    for (size_t i = 0; i < SCOREBOARD_IDS_MAX; i++)
        buf_add_text(&body, ",\"0rpbtc4000c68\"");
    buf_add_text(&body, "]}");
    refused(world, SCORES, buf_cstr(&body), "limit_exceeded");
    buf_done(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_id_has_its_exit_code),
        TEST(what_is_wrong_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
