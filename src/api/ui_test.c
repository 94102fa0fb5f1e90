/* SPDX-License-Identifier: Apache-2.0 */
/* ui_test.c - what a browser gets at /ui/, with the files in the program or without. */
#include "api/ui.h"

#include "testing/world_fake.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* S0.72, S0.73: the pages have real paths; all of them are the same document. */
static void every_path_of_a_page_opens(void **state)
{
    World *world = *state;
    static const char *const paths[] = { "/ui/", "/ui/jobs?q=state:ready", "/ui/jobs/x",
                                         "/ui/queues/a%2Fb", "/ui/handlers/a/b" };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        Reply reply;
        world_get(world, paths[i], &reply);
        assert_int_equal(reply.status, 200);
        assert_string_equal(reply_header(&reply, "Content-Type"),
                            "text/html; charset=utf-8");
        assert_non_null(strstr(reply_header(&reply, "Content-Security-Policy"),
                               "script-src 'self'; style-src 'self'"));
        reply_done(&reply);
    }
}

static void a_file_is_sent_once(void **state)
{
    World *world = *state;
    Reply reply;
    char asked[128];
    if (!ASSET_COUNT)
        skip(); /* npm was not there when this was built */
    world_get(world, "/ui/app.js", &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Cache-Control"), "no-cache");
    snprintf(asked, sizeof asked, "If-None-Match: %s\r\n", reply_header(&reply, "ETag"));
    reply_done(&reply);
    world_ask(world, &(Ask){ "HEAD", "/ui/app.js", asked, NOTHING }, &reply);
    assert_int_equal(reply.status, 304);
    reply_done(&reply);
    world_get(world, "/ui/lib/none.js", &reply);
    expect_problem(&reply, 404, "path_not_found");
    reply_done(&reply);
}

static void packed_files_are_for_those_who_take_them(void **state)
{
    World *world = *state;
    static const struct {
        const char *header;
        bool packed;
    } cases[] = { { "", false },
                  { "Accept-Encoding: br, gzip;q=0.5\r\n", true },
                  { "Accept-Encoding: br\r\n", false } };
    for (size_t i = 0; ASSET_COUNT && i < sizeof cases / sizeof *cases; i++) {
        Reply reply;
        world_ask(world, &(Ask){ "GET", "/ui/app.js", cases[i].header, NOTHING }, &reply);
        const char *coding = reply_header(&reply, "Content-Encoding");
        assert_int_equal(coding && strcmp(coding, "gzip") == 0, cases[i].packed);
        reply_done(&reply);
    }
}

static void a_browser_is_led_there(void **state)
{
    World *world = *state;
    Reply reply;
    world_ask(
        world,
        &(Ask){ "GET", "/", "Accept: text/html,application/xml;q=0.9\r\n", NOTHING },
        &reply);
    assert_int_equal(reply.status, 307);
    assert_string_equal(reply_header(&reply, "Location"), "ui/");
    reply_done(&reply);
    world_get(world, "/", &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(buf_cstr(&reply.body), "OK\n");
    reply_done(&reply);
}

static void the_api_says_who_asks(void **state)
{
    World *world = *state;
    Reply reply;
    world_get(world, "/api/v1/me", &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(buf_cstr(&reply.body), "\"tenant\":\"*\""));
    assert_non_null(strstr(buf_cstr(&reply.body), "\"admin\""));
    assert_non_null(strstr(buf_cstr(&reply.body), "\"tokens\":false"));
    reply_done(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_path_of_a_page_opens),
        TEST(a_file_is_sent_once),
        TEST(packed_files_are_for_those_who_take_them),
        TEST(a_browser_is_led_there),
        TEST(the_api_says_who_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
