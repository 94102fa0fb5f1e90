/* SPDX-License-Identifier: Apache-2.0 */
/* stream_test.c - answers that go on, and clients that do not. */
#include "http/exchange.h"

#include "run/process/spool.h"
#include "testing/world_fake.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST(name)    cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define ENDLESS_BYTES ((off_t)1 << 40) /* nobody has read it when a test ends */
#define QUIET_LOOKS   50               /* in a row */

static JobId running_job(World *world)
{
    JobId id = world_add(world, SLICE_LITERAL("{\"command\":[\"x\"]}"));
    expect_state(world, id, "running");
    return id;
}

static void follow(World *world, const char *method, JobId id, Client *client)
{
    char path[WORLD_PATH_BYTES];
    Buf text = { 0 };
    client_tcp(client, http_address(world->http));
    buf_printf(&text, "%s %s HTTP/1.1\r\nHost: localhost\r\n\r\n", method,
               job_path(id, "/log?follow=1", path));
    client_send(client, buf_slice(&text));
    buf_done(&text);
}

/* Between two calls of a stream there is a moment with none. */
static void expect_no_calls(World *world)
{
    int64_t until = clock_now().boot_ms + CLIENT_WAIT_MS;
    int quiet = 0;
    while (quiet < QUIET_LOOKS && clock_now().boot_ms < until) {
        quiet = fake_held(world->daemon) ? 0 : quiet + 1;
        poll(NULL, 0, 2);
    }
    assert_int_equal(quiet, QUIET_LOOKS);
}

/* A stream that is not sent, as for HEAD, asks the daemon nothing any more. */
static void a_stream_without_a_reader_ends(void **state)
{
    World *world = *state;
    Client client;
    Reply reply;
    follow(world, "HEAD", running_job(world), &client);
    client_read(&client, true, &reply);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    expect_no_calls(world);
    client_ask(&client, &(Ask){ "GET", "/livez", "", NOTHING }, &reply);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    client_close(&client);
}

static void print_endlessly(World *world, JobId id)
{
    char path[SPOOL_PATH_MAX];
    snprintf(path, sizeof path, "%s/logs", world->dir);
    mkdir(path, 0700);
    OutputName name = { world->dir, id, 1, OUTPUT_OUT };
    spool_path(&name, path);
    *strrchr(path, '/') = '\0';
    mkdir(path, 0700);
    spool_path(&name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1); /* then a hole, which is read as zeros */
    assert_int_equal(ftruncate(fd, ENDLESS_BYTES), 0);
    close(fd);
}

static void *read_all(void *context)
{
    const Client *client = context;
    size_t bytes = 1u << 20;
    char *piece = mem_alloc(bytes);
    while (recv(client->fd, piece, bytes, 0) > 0)
        ;
    mem_free(piece);
    return NULL;
}

/* Who reads as fast as the server can send does not have it alone. */
static void an_endless_answer_lets_others_have_their_turn(void **state)
{
    World *world = *state;
    JobId id = running_job(world);
    Client greedy;
    Reply reply;
    pthread_t reader;
    print_endlessly(world, id);
    follow(world, "GET", id, &greedy);
    client_read_head(&greedy, &reply);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    assert_int_equal(pthread_create(&reader, NULL, read_all, &greedy), 0);
    for (int i = 0; i < 20; i++) {
        world_get(world, "/livez", &reply);
        assert_int_equal(reply.status, 200);
        reply_done(&reply);
    }
    shutdown(greedy.fd, SHUT_RDWR);
    pthread_join(reader, NULL);
    client_close(&greedy);
    expect_no_calls(world); /* it left in the middle of it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stream_without_a_reader_ends),
        TEST(an_endless_answer_lets_others_have_their_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
