/* SPDX-License-Identifier: Apache-2.0 */
/* http_test.c - routes, protocol and bad input, over real sockets. */
#include "http/http.h"

#include "api/routes.h"
#include "noun/problem.h"
#include "testing/world_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define HEAD       "Host: localhost\r\n"
#define RAW        SLICE_INIT

static void both_listeners_serve(void **state)
{
    World *world = *state;
    Client client;
    Reply reply;
    const Ask ask = { "GET", "/livez", "", { NULL, 0 } };
    client_unix(&client, world->socket);
    client_ask(&client, &ask, &reply);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    client_close(&client);
    world_ask(world, &ask, &reply);
    assert_int_equal(reply.status, 200);
    assert_true(slice_is(buf_slice(&reply.body), "ok\n"));
    reply_done(&reply);
}

/* S1.3 */
static void a_server_that_leaves_answers_and_ends_connections(void **state)
{
    World *world = *state;
    const Ask ask = { "GET", "/livez", "", { NULL, 0 } };
    for (int leaves = 0; leaves < 2; leaves++) {
        Client client;
        Reply reply;
        client_unix(&client, world->socket);
        client_ask(&client, &ask, &reply);
        assert_int_equal(reply.status, 200);
        const char *connection = reply_header(&reply, "Connection");
        assert_int_equal(connection && strcmp(connection, "close") == 0, leaves);
        reply_done(&reply);
        client_close(&client);
        http_leave(world->http);
    }
}

static void paths_and_methods_are_told_apart(void **state)
{
    World *world = *state;
    static const struct {
        const char *method;
        const char *path;
        int status;
        const char *code;
    } cases[] = {
        { "GET", "/nowhere", 404, "path_not_found" },
        { "GET", "/api/v1/job", 404, "path_not_found" },
        { "GET", "/api/v1/jobs/", 404, "path_not_found" },
        { "GET", "/api/v1/jobs/x/y/z", 404, "path_not_found" },
        { "GET", "/api//v1/jobs", 404, "path_not_found" },
        { "GET", "/api/v1/../v1/jobs", 404, "path_not_found" },
        { "GET", "/api/v1/jobs/%zz", 404, "path_not_found" },
        { "PUT", "/api/v1/jobs", 405, "method_not_allowed" },
        { "POST", "/livez", 405, "method_not_allowed" },
        { "DELETE", "/api/v1/config", 405, "method_not_allowed" },
        { "BREW", "/api/v1/jobs", 405, "method_not_allowed" },
        { "GET", "/api/v1/jobs?colour=red", 422, "unknown_parameter" },
        { "GET", "/api/v1/jobs?q=%", 400, "bad_request" },
        { "GET", "/api/v1/jobs/abc", 404, "job_not_found" },
        { "GET", "/api/v1/jobs/0000000000001", 404, "job_not_found" },
        { "GET", "/api/v1/jobs/0000000000001%00", 404, "job_not_found" },
        { "GET", "/api/v1/nodes/elsewhere", 404, "node_not_found" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Reply reply;
        world_ask(world, &(Ask){ cases[i].method, cases[i].path, "", { NULL, 0 } },
                  &reply);
        if (reply.status != cases[i].status)
            fail_msg("%s %s: %d", cases[i].method, cases[i].path, reply.status);
        expect_problem(&reply, cases[i].status, cases[i].code);
        if (reply.status == 405)
            assert_non_null(reply_header(&reply, "Allow"));
        reply_done(&reply);
    }
}

static void every_route_answers(void **state)
{
    World *world = *state;
    for (size_t i = 0; i < route_count; i++) {
        Reply reply;
        if (strcmp(routes[i].id, "stream_events") == 0)
            continue; /* its answer has no end: events_test.c */
        world_ask(
            world,
            &(Ask){ method_name(routes[i].method), routes[i].path, "", { NULL, 0 } },
            &reply);
        /* Paths with {parts} name things that are not there; legacy ones are off. */
        bool off = strncmp(routes[i].id, "legacy_", 7) == 0;
        bool page = strncmp(routes[i].path, "/ui", 3) == 0; /* any path is one */
        bool known = !off && (page || !strchr(routes[i].path, '{')) &&
                     routes[i].method == METHOD_GET;
        if (known ? reply.status != (int)routes[i].status
                  : reply.status < 400 || reply.status > 422)
            fail_msg("%s %s: %d", method_name(routes[i].method), routes[i].path,
                     reply.status);
        reply_done(&reply);
        for (size_t k = 0; k < i; k++)
            if (strcmp(routes[k].id, routes[i].id) == 0)
                fail_msg("two operations are named %s", routes[i].id);
    }
}

static void head_options_and_old_http_work(void **state)
{
    World *world = *state;
    Client client;
    Reply reply;
    client_tcp(&client, http_address(world->http));
    client_ask(&client, &(Ask){ "HEAD", "/livez", "", { NULL, 0 } }, &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Content-Length"), "3");
    reply_done(&reply);
    client_ask(&client, &(Ask){ "OPTIONS", "/api/v1/jobs", "", { NULL, 0 } }, &reply);
    assert_int_equal(reply.status, 204);
    assert_string_equal(reply_header(&reply, "Allow"), "GET, HEAD, POST");
    reply_done(&reply);
    client_send(&client, SLICE_LITERAL("GET /livez HTTP/1.0\r\n\r\n"));
    client_expect(&client, 200);
    assert_true(client_closed(&client, CLIENT_WAIT_MS));
    client_close(&client);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    World *world = *state;
    Client client;
    client_tcp(&client, http_address(world->http));
    Buf text = { 0 };
    const char *job = "{\"type\":\"t\"}";
    for (int i = 0; i < 20; i++) {
        buf_printf(&text, "GET /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n");
        buf_printf(&text,
                   "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                   "%zu\r\n\r\n%s",
                   strlen(job), job);
    }
    client_send(&client, buf_slice(&text));
    for (int i = 0; i < 40; i++) {
        client_expect(&client, i % 2 ? 201 : 200);
    }
    buf_done(&text);
    client_close(&client);
}

typedef struct Bad {
    const char *name;
    Slice bytes;
    int status; /* 0: closed without an answer */
    const char *code;
} Bad;

static const Bad bad_requests[] = {
    { "no request", RAW("\r\n\r\n\r\n"), 0, NULL },
    { "half a line", RAW("GET /livez HTTP/1.1\r"), 0, NULL },
    { "binary", RAW("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), 400,
      "bad_request" },
    { "no version", RAW("GET /livez\r\n\r\n"), 400, "bad_request" },
    { "future version", RAW("GET /livez HTTP/9.9\r\n" HEAD "\r\n"), 505,
      "version_not_supported" },
    { "no host", RAW("GET /livez HTTP/1.1\r\n\r\n"), 400, "bad_request" },
    { "foreign host", RAW("GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421,
      "host_not_allowed" },
    { "foreign URL", RAW("GET http://evil.example/livez HTTP/1.1\r\n" HEAD "\r\n"), 421,
      "host_not_allowed" },
    { "other scheme", RAW("GET ftp://localhost/livez HTTP/1.1\r\n" HEAD "\r\n"), 400,
      "bad_request" },
    { "star", RAW("GET * HTTP/1.1\r\n" HEAD "\r\n"), 400, "bad_request" },
    { "header without colon", RAW("GET /livez HTTP/1.1\r\n" HEAD "nonsense\r\n\r\n"), 400,
      "bad_request" },
    { "length and chunks",
      RAW("POST /api/v1/jobs HTTP/1.1\r\n" HEAD
          "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      400, "bad_request" },
    { "two lengths",
      RAW("POST /api/v1/jobs HTTP/1.1\r\n" HEAD
          "Content-Length: 4\r\nContent-Length: 5\r\n\r\n{}{}"),
      400, "bad_request" },
    { "negative length",
      RAW("POST /api/v1/jobs HTTP/1.1\r\n" HEAD "Content-Length: -4\r\n\r\n{}"), 400,
      "bad_request" },
    { "endless length",
      RAW("POST /api/v1/jobs HTTP/1.1\r\n" HEAD
          "Content-Length: 99999999999999999999999\r\n\r\n{}"),
      413, "body_too_large" },
    { "unknown coding",
      RAW("POST /api/v1/jobs HTTP/1.1\r\n" HEAD
          "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n"),
      501, "not_implemented" },
    { "chunks of the old", /* HTTP/1.0 has none */
      RAW("POST /api/v1/jobs HTTP/1.0\r\n" HEAD
          "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      400, "bad_request" },
    { "bad chunk",
      RAW("POST /api/v1/jobs HTTP/1.1\r\n" HEAD
          "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"),
      400, "bad_request" },
};

typedef struct BadBody {
    Slice body;
    int status;
    const char *code;
} BadBody;

static const BadBody bad_bodies[] = {
    { RAW("{"), 400, "malformed_json" },
    { RAW("{}x"), 400, "malformed_json" },
    { RAW("nonsense"), 400, "malformed_json" },
    { RAW("{\"type\":\"t\",}"), 400, "malformed_json" },
    { RAW("{\"type\":\"t\",\"payload\":\"\xff\"}"), 400, "invalid_utf8" },
    { RAW("{\"type\":\"t\0\"}"), 400, "malformed_json" },
    { RAW("{\"type\":\"t\",\"type\":\"u\"}"), 400, "duplicate_key" },
    { RAW("42"), 422, "wrong_type" },
    { RAW("null"), 422, "wrong_type" },
    { RAW("{}"), 422, "missing_field" },
    { RAW("{\"type\":\"t\",\"prioritiy\":1}"), 422, "unknown_field" },
    { RAW("{\"type\":\"t\",\"priority\":\"high\"}"), 422, "wrong_type" },
    { RAW("{\"type\":\"t\",\"priority\":99999999999}"), 422, "invalid_value" },
    { RAW("{\"type\":\"t\",\"priority\":99999999999999999999}"), 422,
      "number_too_large" },
    { RAW("{\"type\":\"../../etc/passwd\"}"), 422, "invalid_name" },
    { RAW("{\"type\":\"a\\nb\"}"), 422, "invalid_name" },
    { RAW("{\"type\":\"a\\u0000\"}"), 422, "invalid_name" },
    { RAW("{\"type\":\"t\",\"queue\":\"a..b\"}"), 422, "invalid_name" },
    { RAW("{\"type\":\"t\",\"tenant\":\"api\"}"), 422, "invalid_name" },
    { RAW("{\"type\":\"t\",\"after\":[\"x\"]}"), 422, "invalid_value" },
    { RAW("{\"command\":[\"a\\u0000b\"]}"), 422, "invalid_value" },
    { RAW("[{\"type\":\"t\"},"), 400, "malformed_json" },
    { RAW("[{\"type\":\"t\"}] x"), 400, "malformed_json" },
    { RAW("[{\"type\":\"t\"} {\"type\":\"t\"}]"), 400, "malformed_json" },
};

static void broken_requests_do_no_harm(void **state)
{
    World *world = *state;
    for (size_t i = 0; i < sizeof bad_requests / sizeof *bad_requests; i++) {
        const Bad *bad = &bad_requests[i];
        Client client;
        Reply reply;
        client_tcp(&client, http_address(world->http));
        client_send(&client, bad->bytes);
        shutdown(client.fd, SHUT_WR);
        client_read(&client, false, &reply);
        if (reply.status != bad->status)
            fail_msg("%s: %d", bad->name, reply.status);
        if (bad->status)
            expect_problem(&reply, bad->status, bad->code);
        reply_done(&reply);
        client_close(&client);
    }
    assert_int_equal(jobs_added(world), 0);
    assert_true(daemon_lives(world));
}

/* Bad input: a 4xx with a clear problem, nothing stored, the daemon unharmed. */
static void bad_bodies_are_refused_with_their_reason(void **state)
{
    World *world = *state;
    Client client;
    client_tcp(&client, http_address(world->http));
    for (size_t i = 0; i < sizeof bad_bodies / sizeof *bad_bodies; i++) {
        Reply reply;
        client_ask(&client, &(Ask){ "POST", "/api/v1/jobs", "", bad_bodies[i].body },
                   &reply);
        if (reply.status != bad_bodies[i].status)
            fail_msg("%.*s: %d %.*s", SLICE_ARG(bad_bodies[i].body), reply.status,
                     SLICE_ARG(buf_slice(&reply.body)));
        expect_problem(&reply, bad_bodies[i].status, bad_bodies[i].code);
        reply_done(&reply);
    }
    client_close(&client);
    assert_int_equal(jobs_added(world), 0);
}

/* However the bytes of requests are cut into pieces, they are the same requests. */
static void requests_may_come_in_any_pieces(void **state)
{
    World *world = *state;
    static const char text[] =
        "\r\nPOST /api/v1/jobs HTTP/1.1\r\n" HEAD "Content-Length: 12\r\n\r\n"
        "{\"type\":\"t\"}"
        "POST /api/v1/jobs HTTP/1.1\r\n" HEAD "Transfer-Encoding: chunked\r\n\r\n"
        "5\r\n{\"typ\r\n7;x=y\r\ne\":\"u\"}\r\n0\r\nTrailer: t\r\n\r\n"
        "GET /livez HTTP/1.1\r\n" HEAD "\r\n";
    static const int statuses[] = { 201, 201, 200 };
    for (size_t piece = 1; piece < sizeof text; piece += piece < 8 ? 1 : 29) {
        Client client;
        client_tcp(&client, http_address(world->http));
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t left = sizeof text - 1 - at;
            client_send(&client, slice_of(text + at, left < piece ? left : piece));
        }
        for (size_t i = 0; i < 3; i++) {
            client_expect(&client, statuses[i]);
        }
        client_close(&client);
    }
}

static void a_body_that_is_announced_is_asked_for(void **state)
{
    World *world = *state;
    Client client;
    client_tcp(&client, http_address(world->http));
    client_send(&client, SLICE_LITERAL("POST /api/v1/jobs HTTP/1.1\r\n" HEAD
                                       "Expect: 100-continue\r\n"
                                       "Content-Length: 12\r\n\r\n"));
    char said[] = "HTTP/1.1 100 Continue\r\n\r\n";
    char got[sizeof said] = "";
    assert_int_equal(recv(client.fd, got, sizeof said - 1, MSG_WAITALL), sizeof said - 1);
    assert_string_equal(got, said);
    client_send(&client, SLICE_LITERAL("{\"type\":\"t\"}"));
    client_expect(&client, 201);
    /* Not if it will not be read. */
    client_send(&client,
                SLICE_LITERAL("POST /nowhere HTTP/1.1\r\n" HEAD
                              "Expect: 100-continue\r\nContent-Length: 12\r\n\r\n"));
    client_expect_problem(&client, 404, "path_not_found");
    assert_true(client_closed(&client, CLIENT_WAIT_MS));
    client_close(&client);
}

/* RFC 9110, 10.1.1: it would take the interim answer for the answer. */
static void old_http_is_not_told_to_go_on(void **state)
{
    World *world = *state;
    Client client;
    client_tcp(&client, http_address(world->http));
    client_send(&client, SLICE_LITERAL("POST /api/v1/jobs HTTP/1.0\r\n" HEAD
                                       "Expect: 100-continue\r\n"
                                       "Content-Length: 12\r\n\r\n"));
    assert_true(daemon_lives(world)); /* by now it has read that */
    client_send(&client, SLICE_LITERAL("{\"type\":\"t\"}"));
    client_expect(&client, 201);
    client_close(&client);
}

static void depth_bombs_are_refused(void **state)
{
    World *world = *state;
    static const char openers[] = { '[', '{' };
    for (size_t i = 0; i < 2; i++) {
        Buf body = { 0 };
        buf_add_text(&body, "{\"type\":\"t\",\"tags\":");
        for (int k = 0; k < 100000; k++) {
            buf_add_char(&body, openers[i]);
            if (openers[i] == '{')
                buf_add_text(&body, "\"\":");
        }
        Reply reply;
        world_ask(world, &(Ask){ "POST", "/api/v1/jobs", "", buf_slice(&body) }, &reply);
        if (body.bytes <= WORLD_BODY_MAX)
            expect_problem(&reply, 400, "too_deep");
        else
            expect_problem(&reply, 413, "body_too_large");
        reply_done(&reply);
        buf_done(&body);
    }
    assert_true(daemon_lives(world));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_listeners_serve),
        TEST(a_server_that_leaves_answers_and_ends_connections),
        TEST(paths_and_methods_are_told_apart),
        TEST(every_route_answers),
        TEST(head_options_and_old_http_work),
        TEST(pipelined_requests_are_answered_in_order),
        TEST(broken_requests_do_no_harm),
        TEST(requests_may_come_in_any_pieces),
        TEST(a_body_that_is_announced_is_asked_for),
        TEST(old_http_is_not_told_to_go_on),
        TEST(bad_bodies_are_refused_with_their_reason),
        TEST(depth_bombs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
