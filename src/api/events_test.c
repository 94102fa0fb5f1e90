/* SPDX-License-Identifier: Apache-2.0 */
/* events_test.c - events over HTTP, as a client sees them. */
#include "api/events.h"

#include "testing/world_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define EVENTS     "/api/v1/events"

static void what_is_kept_is_told_and_ends(void **state)
{
    World *world = *state;
    Reply reply;
    Buf body = { 0 };
    Client client;
    world_add(world, SLICE_LITERAL("{\"command\":[\"true\"]}"));
    client_unix(&client, world->socket);
    client_send(&client, SLICE_LITERAL("GET " EVENTS "?follow=0 HTTP/1.1\r\n"
                                       "Host: localhost\r\n\r\n"));
    client_read_head(&client, &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Content-Type"), "text/event-stream");
    while (client_read_chunk(&client, &body))
        ;
    assert_non_null(strstr(buf_cstr(&body), "\"type\":\"pawl.job.added\""));
    assert_non_null(strstr(buf_cstr(&body), "id: 1-1\n"));
    reply_done(&reply);
    buf_done(&body);
    client_close(&client);
}

static void bad_input_is_refused(void **state)
{
    World *world = *state;
    Reply reply;
    const Ask asks[] = {
        { "GET", EVENTS "?follow=2", "", NOTHING },
        { "GET", EVENTS, "Last-Event-ID: yesterday\r\n", NOTHING },
    };
    for (size_t i = 0; i < 2; i++) {
        world_ask(world, &asks[i], &reply);
        expect_problem(&reply, 422, "invalid_value");
        reply_done(&reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_kept_is_told_and_ends),
        TEST(bad_input_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
