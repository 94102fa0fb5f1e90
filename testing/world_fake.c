/* SPDX-License-Identifier: Apache-2.0 */
/* world_fake.c - see world_fake.h. */
#include "testing/world_fake.h"

#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

World *world_open(HttpOptions options)
{
    World *world = MEM_NEW(World);
    snprintf(world->dir, sizeof world->dir, "/tmp/pawl-http-XXXXXX");
    assert_non_null(mkdtemp(world->dir));
    snprintf(world->socket, sizeof world->socket, "%s/pawl.sock", world->dir);
    world->daemon = fake_new(world->dir, 2);
    options.tcp = "127.0.0.1:0";
    options.socket_path = world->socket;
    options.body_bytes_max = WORLD_BODY_MAX;
    Error why = { 0 };
    if (http_open(&options, world->daemon, &world->http, &why))
        fail_msg("%s", why.text);
    return world;
}

static int remove_one(const char *path, const struct stat *status, int kind,
                      struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

void world_close(World *world)
{
    http_close(world->http);
    fake_free(world->daemon);
    assert_int_equal(access(world->socket, F_OK), -1);
    nftw(world->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    mem_free(world);
}

int world_setup(void **state)
{
    *state = world_open((HttpOptions){ 0 });
    return 0;
}

int world_teardown(void **state)
{
    world_close(*state);
    return 0;
}

void world_ask(World *world, const Ask *ask, Reply *out)
{
    Client client;
    client_tcp(&client, http_address(world->http));
    client_ask(&client, ask, out);
    client_close(&client);
}

void expect_problem(Reply *reply, int status, const char *code)
{
    assert_int_equal(reply->status, status);
    assert_string_equal(reply_header(reply, "Content-Type"), "application/problem+json");
    assert_non_null(reply->json);
    assert_true(slice_is(json_in_text_of(reply->json, "code"), code));
    assert_int_equal(json_in_int_of(reply->json, "status", 0), status);
    static const char *const texts[] = { "type", "title", "detail" };
    for (size_t i = 0; i < 3; i++)
        assert_true(json_in_text_of(reply->json, texts[i]).bytes > 0);
    assert_non_null(json_in_find(reply->json, "hint"));
}

void client_expect(Client *client, int status)
{
    Reply reply;
    client_read(client, false, &reply);
    assert_int_equal(reply.status, status);
    reply_done(&reply);
}

void client_expect_problem(Client *client, int status, const char *code)
{
    Reply reply;
    client_read(client, false, &reply);
    expect_problem(&reply, status, code);
    reply_done(&reply);
}

bool daemon_lives(World *world)
{
    Reply reply;
    world_ask(world, &(Ask){ "GET", "/livez", "", { NULL, 0 } }, &reply);
    bool lives = reply.status == 200;
    reply_done(&reply);
    return lives;
}

int64_t jobs_added(World *world)
{
    Reply reply;
    world_ask(world, &(Ask){ "GET", "/api/v1/stats", "", { NULL, 0 } }, &reply);
    assert_int_equal(reply.status, 200);
    int64_t count = json_in_int_of(json_in_find(reply.json, "totals"), "added", -1);
    reply_done(&reply);
    return count;
}

void world_post(World *world, const char *path, Slice body, Reply *out)
{
    world_ask(world, &(Ask){ "POST", path, "", body }, out);
}

void world_get(World *world, const char *path, Reply *out)
{
    world_ask(world, &(Ask){ "GET", path, "", NOTHING }, out);
}

/* Adds a job and returns its id. */
JobId world_add(World *world, Slice body)
{
    Reply reply;
    JobId id = 0;
    world_post(world, JOBS, body, &reply);
    if (reply.status != 201)
        fail_msg("%d: %.*s", reply.status, SLICE_ARG(buf_slice(&reply.body)));
    assert_int_equal(id_parse(json_in_text_of(reply.json, "id"), &id), ERR_OK);
    reply_done(&reply);
    return id;
}

char *job_path(JobId id, const char *rest, char out[WORLD_PATH_BYTES])
{
    char text[ID_TEXT_BYTES];
    snprintf(out, WORLD_PATH_BYTES, JOBS "/%s%s", id_text(id, text), rest);
    return out;
}

/* Waits until the job has this state. */
void expect_state(World *world, JobId id, const char *state)
{
    char path[WORLD_PATH_BYTES];
    char last[32] = "";
    int64_t until = clock_now().boot_ms + CLIENT_WAIT_MS;
    while (clock_now().boot_ms < until) {
        Reply reply;
        world_get(world, job_path(id, "?tenant=*", path), &reply);
        assert_int_equal(reply.status, 200);
        Slice now = json_in_text_of(reply.json, "state");
        bool there = slice_is(now, state);
        snprintf(last, sizeof last, SLICE_FMT, SLICE_ARG(now));
        reply_done(&reply);
        if (there)
            return;
        poll(NULL, 0, 5);
    }
    fail_msg("the job is %s, not %s", last, state);
}

void world_act(World *world, JobId id, const char *action, int status)
{
    char path[WORLD_PATH_BYTES];
    char rest[32];
    Reply reply;
    snprintf(rest, sizeof rest, "/%s", action);
    world_post(world, job_path(id, rest, path), NOTHING, &reply);
    if (reply.status != status)
        fail_msg("%s: %d %.*s", action, reply.status, SLICE_ARG(buf_slice(&reply.body)));
    reply_done(&reply);
}
