/* SPDX-License-Identifier: Apache-2.0 */
/* trials_test.c - what a test of a handler takes; that it really runs is in
 * tests/e2e/test_handlers.py. */
#include "api/definitions/trials.h"

#include "testing/world_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define PATH       "/api/v1/handlers/resize/test"

static void refused(World *world, const char *body, const char *code)
{
    Reply reply;
    world_post(world, PATH, slice_text(body), &reply);
    expect_problem(&reply, problem_find(code)->status, code);
    reply_done(&reply);
}

static void what_cannot_be_tried_is_told(void **state)
{
    World *world = *state;
    refused(world, "", "handler_not_found");
    refused(world, "{}", "handler_not_found");
    refused(world, "{\"version\":7}", "version_not_found");
    refused(world, "{\"version\":0}", "invalid_value");
    refused(world, "[]", "wrong_type");
    refused(world, "{\"colour\":1}", "unknown_field");
    refused(world, "{\"payload\":1}", "wrong_type");
    refused(world, "{\"payload_base64\":\"?\"}", "invalid_value");
    refused(world, "{\"timeout\":\"PT2M\"}", "invalid_value");
    refused(world, "{\"handler\":{\"lang\":\"cobol\",\"body\":\"x\"}}", "invalid_value");
    refused(world, "{\"handler\":{\"body\":\"x\"},\"version\":1}", "conflicting_fields");
    refused(world, "{\"handler\":{\"lang\":\"pull\"}}", "unsupported");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_cannot_be_tried_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
