/* SPDX-License-Identifier: Apache-2.0 */
/* legacy_test.c - the first program's paths: off unless asked for. */
#include "api/legacy.h"

#include "testing/world_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static void refused(World *world, const char *method, const char *path, const char *code)
{
    Reply reply;
    world_ask(world, &(Ask){ method, path, "", SLICE_LITERAL("a\n") }, &reply);
    expect_problem(&reply, problem_find(code)->status, code);
    reply_done(&reply);
}

static void they_are_off_by_default(void **state)
{
    World *world = *state;
    refused(world, "POST", "/add?client=a&jobtype=b", "path_not_found");
    refused(world, "GET", "/start", "path_not_found");
    refused(world, "GET", "/stop", "path_not_found");
    refused(world, "GET", "/quit", "path_not_found");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_are_off_by_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
