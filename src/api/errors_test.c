/* SPDX-License-Identifier: Apache-2.0 */
/* errors_test.c - the type of every problem leads to what it means. */
#include "api/errors.h"

#include "testing/world_fake.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static void every_code_has_its_place_and_its_page(void **state)
{
    World *world = *state;
    Reply all;
    world_ask(world, &(Ask){ "GET", "/docs/errors", "", NOTHING }, &all);
    assert_int_equal(all.status, 200);
    assert_string_equal(reply_header(&all, "Content-Type"), "text/html; charset=utf-8");
    for (const ProblemKind *kind = problem_kinds(); kind->code; kind++) {
        Reply one;
        char path[128];
        char place[128];
        snprintf(place, sizeof place, "<h2 id=\"%s\">", kind->code);
        assert_non_null(strstr(buf_cstr(&all.body), place));
        snprintf(path, sizeof path, "/docs/errors/%s", kind->code);
        world_ask(world, &(Ask){ "GET", path, "", NOTHING }, &one);
        assert_int_equal(one.status, 200);
        assert_non_null(strstr(buf_cstr(&one.body), kind->title));
        reply_done(&one);
    }
    reply_done(&all);
}

static void a_problem_points_there(void **state)
{
    World *world = *state;
    Reply reply;
    world_ask(world, &(Ask){ "GET", "/docs/errors/none", "", NOTHING }, &reply);
    expect_problem(&reply, 404, "not_found");
    assert_non_null(strstr(buf_cstr(&reply.body), "\"type\":\"/docs/errors#not_found\""));
    reply_done(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_code_has_its_place_and_its_page),
        TEST(a_problem_points_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
