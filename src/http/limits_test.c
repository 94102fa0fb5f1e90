/* SPDX-License-Identifier: Apache-2.0 */
/* limits_test.c - large, slow, many and rude clients. */
#include "http/exchange.h"

#include "testing/client_fake.h"
#include "testing/door_fake.h"
#include "testing/world_fake.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define HEAD       "Host: localhost\r\n"
#define RAW        SLICE_INIT

static void large_headers_are_refused(void **state)
{
    World *world = *state;
    Buf text = { 0 };
    Client client;
    buf_add_text(&text, "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: ");
    for (int i = 0; i < 200000; i++)
        buf_add_char(&text, 'x');
    buf_add_text(&text, "\r\n\r\n");
    client_tcp(&client, http_address(world->http));
    client_send(&client, buf_slice(&text));
    client_expect_problem(&client, 431, "header_too_large");
    assert_true(client_closed(&client, CLIENT_WAIT_MS));
    client_close(&client);
    buf_done(&text);
    assert_true(daemon_lives(world));
}

/* 16 KiB of request line and headers: what is within them is served. */
static void headers_up_to_the_limit_are_taken(void **state)
{
    World *world = *state;
    Buf text = { 0 };
    Client client;
    buf_add_text(&text, "GET /livez HTTP/1.1\r\n" HEAD "X-Long: ");
    while (text.bytes < (16 << 10) - 4)
        buf_add_char(&text, 'x');
    buf_add_text(&text, "\r\n\r\n");
    client_tcp(&client, http_address(world->http));
    for (int i = 0; i < 3; i++) {
        client_send(&client, buf_slice(&text));
        client_expect(&client, 200);
    }
    client_close(&client);
    buf_done(&text);
}

static void a_large_body_is_refused_before_it_is_sent(void **state)
{
    World *world = *state;
    Client client;
    client_tcp(&client, http_address(world->http));
    client_send(&client, SLICE_LITERAL("POST /api/v1/jobs HTTP/1.1\r\n" HEAD
                                       "Content-Length: 99999999999\r\n\r\n"));
    client_expect_problem(&client, 413, "body_too_large");
    assert_true(client_closed(&client, CLIENT_WAIT_MS));
    client_close(&client);
}

/* A client that does not look up before it has sent everything still learns why. */
static void a_large_body_that_is_sent_gets_its_answer(void **state)
{
    World *world = *state;
    for (int chunked = 0; chunked < 2; chunked++) {
        Buf text = { 0 };
        size_t bytes = 3 * WORLD_BODY_MAX;
        buf_add_text(&text, "POST /api/v1/jobs HTTP/1.1\r\n" HEAD);
        buf_printf(&text,
                   chunked ? "Transfer-Encoding: chunked\r\n\r\n%zx\r\n"
                           : "Content-Length: %zu\r\n\r\n",
                   bytes);
        memset(buf_room(&text, bytes), 'x', bytes);
        text.bytes += bytes;
        if (chunked)
            buf_add_text(&text, "\r\n0\r\n\r\n");
        Client client;
        client_tcp(&client, http_address(world->http));
        client_send(&client, buf_slice(&text));
        client_expect_problem(&client, 413, "body_too_large");
        client_close(&client);
        buf_done(&text);
    }
    assert_int_equal(jobs_added(world), 0);
}

/* Each answer takes a round of the server, and in each it reads a piece of all that was
 * sent to it: afterwards it has read everything. */
static void server_reads_on(World *world)
{
    Client client;
    client_tcp(&client, http_address(world->http));
    for (int i = 0; i < 200; i++) {
        Reply reply;
        client_ask(&client, &(Ask){ "GET", "/livez", "", { NULL, 0 } }, &reply);
        assert_int_equal(reply.status, 200);
        reply_done(&reply);
    }
    client_close(&client);
}

/* Each request is within its limit, but not all of them together. */
static void many_large_bodies_are_bounded_together(void **state)
{
    World *world = *state;
    Client clients[HTTP_BODIES_MAX + 4];
    const size_t count = sizeof clients / sizeof *clients;
    Buf text = { 0 };
    buf_printf(&text, "POST /api/v1/jobs HTTP/1.1\r\n" HEAD "Content-Length: %u\r\n\r\n",
               WORLD_BODY_MAX);
    memset(buf_room(&text, WORLD_BODY_MAX), 'x', WORLD_BODY_MAX);
    text.bytes += WORLD_BODY_MAX - 1;
    for (size_t i = 0; i < count; i++) {
        client_tcp(&clients[i], http_address(world->http));
        client_send(&clients[i], buf_slice(&text));
    }
    server_reads_on(world);
    size_t refused = 0;
    for (size_t i = 0; i < count; i++) {
        Reply reply;
        client_send(&clients[i], SLICE_LITERAL("x"));
        client_read(&clients[i], false, &reply);
        if (reply.status == 503)
            refused++;
        else
            expect_problem(&reply, 400, "malformed_json");
        reply_done(&reply);
        client_close(&clients[i]);
    }
    assert_true(refused >= 1);
    assert_true(refused <= count - HTTP_BODIES_MAX + 1);
    buf_done(&text);
    Reply reply; /* what was refused and what was read is given back */
    world_post(world, JOBS, SLICE_LITERAL("{\"type\":\"t\"}"), &reply);
    assert_int_equal(reply.status, 201);
    reply_done(&reply);
}

static void a_refused_small_body_keeps_the_connection(void **state)
{
    World *world = *state;
    Client client;
    Reply reply;
    client_tcp(&client, http_address(world->http));
    for (int i = 0; i < 3; i++) {
        client_ask(&client, &(Ask){ "POST", "/nowhere", "", SLICE_LITERAL("some bytes") },
                   &reply);
        assert_int_equal(reply.status, 404);
        reply_done(&reply);
    }
    client_close(&client);
}

static void slow_clients_are_dropped(void **state)
{
    (void)state;
    World *world = world_open((HttpOptions){
        .header_ms = 200, .body_ms = 200, .idle_ms = 200, .send_ms = 200 });
    static const Slice begun[] = {
        RAW(""),
        RAW("GET /livez HT"),
        RAW("GET /livez HTTP/1.1\r\nHost: loc"),
        RAW("POST /api/v1/jobs HTTP/1.1\r\n" HEAD "Content-Length: 9\r\n\r\n{"),
        RAW("POST /api/v1/jobs HTTP/1.1\r\n" HEAD
            "Transfer-Encoding: chunked\r\n\r\n5\r\n{"),
        RAW("GET /livez HTTP/1.1\r\n" HEAD "\r\n"), /* answered, then idle */
    };
    for (size_t i = 0; i < sizeof begun / sizeof *begun; i++) {
        Client client;
        client_tcp(&client, http_address(world->http));
        client_send(&client, begun[i]);
        assert_true(client_closed(&client, CLIENT_WAIT_MS));
        client_close(&client);
    }
    /* One byte now and then does not help. */
    Client client;
    client_tcp(&client, http_address(world->http));
    client_send(&client, SLICE_LITERAL("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: "));
    int64_t until = clock_now().boot_ms + CLIENT_WAIT_MS;
    bool dropped = false;
    while (!dropped && clock_now().boot_ms < until) {
        client_send(&client, SLICE_LITERAL("a"));
        dropped = client_closed(&client, 50);
    }
    assert_true(dropped);
    client_close(&client);
    assert_int_equal(jobs_added(world), 0);
    world_close(world);
}

/* Answers that nobody reads must not stay in memory for ever. */
static void clients_that_do_not_read_are_dropped(void **state)
{
    (void)state;
    World *world = world_open((HttpOptions){ .send_ms = 300 });
    Client client;
    client_tcp(&client, http_address(world->http));
    Buf text = { 0 };
    for (int i = 0; i < 300; i++)
        buf_add_text(&text, "GET /openapi.json HTTP/1.1\r\n" HEAD "\r\n");
    int64_t until = clock_now().boot_ms + CLIENT_WAIT_MS;
    client_send(&client, buf_slice(&text));
    /* The server has closed when sending fails. */
    bool closed = false;
    while (!closed && clock_now().boot_ms < until) {
        poll(NULL, 0, 20);
        closed = send(client.fd, "\r\n", 2, MSG_NOSIGNAL) < 0;
    }
    assert_true(closed);
    client_close(&client);
    buf_done(&text);
    world_close(world);
}

#define CROWD         256
#define CROWD_REQUEST 12
#define CROWD_WAIT_MS CLIENT_WAIT_MS /* a stalled one waits for ever */

typedef struct Crowd {
    Client clients[CROWD];
    int left[CROWD];
    int64_t asked_ms[CROWD];
} Crowd;

static const char crowd_text[] =
    "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 29\r\n\r\n"
    "{\"type\":\"t\",\"payload\":\"abcd\"}";

static void crowd_ask(Crowd *crowd, int i)
{
    crowd->asked_ms[i] = clock_now().boot_ms;
    client_send(&crowd->clients[i], slice_of(crowd_text, sizeof crowd_text - 1));
}

/* Requests that stall: connections that wait while the daemon is idle. */
static void many_connections_do_not_stall(void **state)
{
    World *world = *state;
    Crowd *crowd = MEM_NEW(Crowd);
    for (int i = 0; i < CROWD; i++) {
        client_tcp(&crowd->clients[i], http_address(world->http));
        crowd->left[i] = CROWD_REQUEST;
        crowd_ask(crowd, i);
    }
    int open_count = CROWD;
    int64_t longest_ms = 0;
    while (open_count) {
        struct pollfd fds[CROWD];
        for (int i = 0; i < CROWD; i++)
            fds[i] = (struct pollfd){ .fd = crowd->left[i] ? crowd->clients[i].fd : -1,
                                      .events = POLLIN };
        if (poll(fds, CROWD, CROWD_WAIT_MS) < 1)
            fail_msg("stalled with %d connections open", open_count);
        for (int i = 0; i < CROWD; i++) {
            if (!fds[i].revents)
                continue;
            client_expect(&crowd->clients[i], 201);
            int64_t took_ms = clock_now().boot_ms - crowd->asked_ms[i];
            longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
            if (--crowd->left[i])
                crowd_ask(crowd, i);
            else
                open_count--;
        }
    }
    assert_true(longest_ms < CROWD_WAIT_MS);
    for (int i = 0; i < CROWD; i++)
        client_close(&crowd->clients[i]);
    mem_free(crowd);
    assert_int_equal(jobs_added(world), CROWD * CROWD_REQUEST);
}

static void wait_until_held(World *world, uint64_t answered)
{
    int64_t until = clock_now().boot_ms + CLIENT_WAIT_MS;
    while (fake_answered(world->daemon) < answered && clock_now().boot_ms < until)
        poll(NULL, 0, 2);
    assert_true(fake_answered(world->daemon) >= answered);
}

/* Clients that leave while the daemon works on their request. */
static void clients_may_leave_at_any_time(void **state)
{
    World *world = *state;
    fake_stall(world->daemon, true);
    Client clients[32];
    for (size_t i = 0; i < 32; i++) {
        client_tcp(&clients[i], http_address(world->http));
        client_send(&clients[i], slice_of(crowd_text, sizeof crowd_text - 1));
    }
    for (size_t i = 0; i < 32; i++) {
        if (i % 2)
            client_reset(&clients[i]);
        else
            client_close(&clients[i]);
    }
    fake_stall(world->daemon, false);
    assert_true(daemon_lives(world));
    /* Whatever had arrived whole is done all the same. */
    Buf lines = { 0 };
    for (int i = 0; i < 6000; i++)
        buf_add_text(&lines, "{\"type\":\"t\"}\n");
    for (int i = 0; i < 8; i++) {
        Client client;
        client_tcp(&client, http_address(world->http));
        Buf text = { 0 };
        buf_printf(&text,
                   "POST /api/v1/jobs HTTP/1.1\r\n" HEAD
                   "Content-Type: application/x-ndjson\r\nContent-Length: %zu\r\n\r\n",
                   lines.bytes);
        buf_add_slice(&text, buf_slice(&lines));
        uint64_t answered = fake_answered(world->daemon);
        client_send(&client, buf_slice(&text));
        wait_until_held(world, answered + 1);
        client_reset(&client); /* in the middle of its chunks */
        buf_done(&text);
    }
    buf_done(&lines);
    assert_true(daemon_lives(world));
}

static void closing_answers_what_is_under_way(void **state)
{
    (void)state;
    World *world = world_open((HttpOptions){ 0 });
    Client waiting;
    Client idle;
    client_tcp(&idle, http_address(world->http));
    client_tcp(&waiting, http_address(world->http));
    client_send(&waiting, SLICE_LITERAL("POST /api/v1/jobs?wait=0.3s HTTP/1.1\r\n" HEAD
                                        "Content-Length: 12\r\n\r\n{\"type\":\"t\"}"));
    wait_until_held(world, 1);
    world_close(world);
    client_expect(&waiting, 202);
    client_close(&waiting);
    assert_true(client_closed(&idle, CLIENT_WAIT_MS));
    client_close(&idle);
}

static void *close_it(void *context)
{
    World *world = context;
    http_close(world->http);
    return NULL;
}

/* Nothing begins once closing has: its calls would be done when nobody is left. */
static void a_body_that_ends_while_closing_is_refused(void **state)
{
    (void)state;
    World *world = world_open((HttpOptions){ 0 });
    Client waiting;
    Client late;
    Reply reply;
    char said[sizeof "HTTP/1.1 100 Continue\r\n\r\n" - 1];
    pthread_t closing;
    client_tcp(&late, http_address(world->http));
    client_send(&late, SLICE_LITERAL("POST /api/v1/jobs HTTP/1.1\r\n" HEAD
                                     "Expect: 100-continue\r\n"
                                     "Content-Length: 12\r\n\r\n"));
    assert_int_equal(recv(late.fd, said, sizeof said, MSG_WAITALL), sizeof said);
    client_tcp(&waiting, http_address(world->http));
    client_send(&waiting, SLICE_LITERAL("POST /api/v1/jobs?wait=2s HTTP/1.1\r\n" HEAD
                                        "Content-Length: 12\r\n\r\n{\"type\":\"t\"}"));
    wait_until_held(world, 1); /* so closing takes a while */
    assert_int_equal(pthread_create(&closing, NULL, close_it, world), 0);
    while (access(world->socket, F_OK) == 0)
        poll(NULL, 0, 2);
    client_send(&late, SLICE_LITERAL("{\"type\":\"t\"}"));
    client_read(&late, false, &reply);
    if (reply.status) /* it may also have been too late */
        expect_problem(&reply, 503, "draining");
    pthread_join(closing, NULL);
    world->http = NULL;
    world_close(world);
    reply_done(&reply);
    client_close(&late);
    client_close(&waiting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(large_headers_are_refused),
        TEST(headers_up_to_the_limit_are_taken),
        TEST(a_large_body_is_refused_before_it_is_sent),
        TEST(a_large_body_that_is_sent_gets_its_answer),
        TEST(many_large_bodies_are_bounded_together),
        TEST(a_refused_small_body_keeps_the_connection),
        cmocka_unit_test(slow_clients_are_dropped),
        cmocka_unit_test(clients_that_do_not_read_are_dropped),
        TEST(many_connections_do_not_stall),
        TEST(clients_may_leave_at_any_time),
        cmocka_unit_test(closing_answers_what_is_under_way),
        cmocka_unit_test(a_body_that_ends_while_closing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
