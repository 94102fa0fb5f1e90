/* SPDX-License-Identifier: Apache-2.0 */
/* tenants_test.c - tenants over the API. */
#include "api/definitions/tenants.h"

#include "testing/world_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define TENANTS    "/api/v1/tenants"

static void ask(World *world, const char *method, const char *path, const char *body,
                Reply *out)
{
    world_ask(world, &(Ask){ method, path, "", slice_text(body) }, out);
}

static void refused(World *world, const char *method, const char *path, const char *body,
                    const char *code)
{
    Reply reply;
    ask(world, method, path, body, &reply);
    expect_problem(&reply, problem_find(code)->status, code);
    reply_done(&reply);
}

static void expect(World *world, const char *method, const char *body, int status,
                   bool segregated)
{
    Reply reply;
    ask(world, method, TENANTS "/acme", body, &reply);
    if (reply.status != status ||
        json_in_bool_of(reply.json, "segregate_types", !segregated) != segregated)
        fail_msg("%s: %d " SLICE_FMT, method, reply.status,
                 SLICE_ARG(buf_slice(&reply.body)));
    reply_done(&reply);
}

static void a_tenant_is_set_shown_and_given_back(void **state)
{
    World *world = *state;
    refused(world, "GET", TENANTS "/acme", "", "tenant_not_found");
    expect(world, "PUT", "{\"segregate_types\":true}", 201, true);
    expect(world, "GET", "", 200, true);
    expect(world, "PUT", "{}", 200, false);
    Reply reply;
    ask(world, "DELETE", TENANTS "/acme", "", &reply);
    assert_int_equal(reply.status, 200);
    assert_true(json_in_bool_of(reply.json, "removed", false));
    reply_done(&reply);
    refused(world, "GET", TENANTS "/acme", "", "tenant_not_found");
    refused(world, "DELETE", TENANTS "/acme", "", "tenant_not_found");
}

static void what_is_wrong_is_told(void **state)
{
    World *world = *state;
    refused(world, "PUT", TENANTS "/ui", "{}", "invalid_name");
    refused(world, "GET", TENANTS "/a%2Fb", "", "invalid_name");
    refused(world, "PUT", TENANTS "/a", "[]", "wrong_type");
    refused(world, "PUT", TENANTS "/a", "{\"segregate_types\":1}", "wrong_type");
    refused(world, "PUT", TENANTS "/a", "{\"segregate_type\":true}", "unknown_field");
    refused(world, "GET", TENANTS "?limit=0", "", "invalid_value");
    refused(world, "GET", TENANTS "?limit=1001", "", "invalid_value");
}

/* Whoever has a job, a handler or a setting is there. */
static void tenants_are_listed_page_by_page(void **state)
{
    static const char *const names[] = { "a", "b", "c" };
    World *world = *state;
    Reply reply;
    ask(world, "POST", "/b/job/x/add", "1\n2\n", &reply);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    ask(world, "PUT", "/a/handler/x?method=sh", "true", &reply);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    ask(world, "PUT", TENANTS "/c", "{}", &reply);
    assert_int_equal(reply.status, 201);
    reply_done(&reply);
    char path[96] = TENANTS "?limit=1";
    for (size_t i = 0; i < 3; i++) {
        ask(world, "GET", path, "", &reply);
        const JsonIn *items = json_in_find(reply.json, "items");
        const JsonIn *item = json_in_first(items);
        assert_true(item && !item->next);
        assert_true(slice_is(json_in_text_of(item, "name"), names[i]));
        assert_int_equal(json_in_int_of(json_in_find(item, "jobs"), "blocked", 0),
                         i == 1 ? 2 : 0);
        Slice next = json_in_text_of(reply.json, "next_cursor");
        assert_true(slice_is(next, i < 2 ? names[i] : ""));
        snprintf(path, sizeof path, TENANTS "?limit=1&cursor=" SLICE_FMT,
                 SLICE_ARG(next));
        reply_done(&reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tenant_is_set_shown_and_given_back),
        TEST(what_is_wrong_is_told),
        TEST(tenants_are_listed_page_by_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
