/* SPDX-License-Identifier: Apache-2.0 */
/* definitions_test.c - what all definitions have in common, over the API. */
#include "api/definitions/definitions.h"

#include "testing/world_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define ACME       "/api/v1/tenants/acme"

static void ask(World *world, const char *method, const char *headers, const char *body,
                Reply *out)
{
    world_ask(world, &(Ask){ method, ACME, headers, slice_text(body) }, out);
}

static void expect_limits(World *world, const char *method, const char *body,
                          int64_t queued, int64_t running)
{
    Reply reply;
    ask(world, method, "", body, &reply);
    assert_int_equal(json_in_int_of(reply.json, "max_queued", -1), queued);
    assert_int_equal(json_in_int_of(reply.json, "max_running", -1), running);
    reply_done(&reply);
}

static void a_patch_leaves_what_it_does_not_name(void **state)
{
    World *world = *state;
    expect_limits(world, "PATCH", "{\"max_queued\":5}", 5, 0); /* makes it */
    expect_limits(world, "PATCH", "{\"max_running\":2}", 5, 2);
    expect_limits(world, "PATCH", "{\"max_queued\":null}", 0, 2);
    expect_limits(world, "PUT", "{\"max_queued\":7}", 7, 0); /* all the rest: defaults */
}

static void conditions_are_obeyed(void **state)
{
    World *world = *state;
    Reply reply;
    expect_limits(world, "PUT", "{\"max_queued\":1}", 1, 0);
    ask(world, "PUT", "If-None-Match: *\r\n", "{}", &reply);
    expect_problem(&reply, 412, "already_there");
    reply_done(&reply);
    ask(world, "PATCH", "If-Match: \"0\"\r\n", "{}", &reply);
    expect_problem(&reply, 412, "changed_meanwhile");
    reply_done(&reply);
    expect_limits(world, "GET", "", 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_patch_leaves_what_it_does_not_name),
        TEST(conditions_are_obeyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
