/* SPDX-License-Identifier: Apache-2.0 */
/* world_fake.c - see world_fake.h. */
#include "serve/world_fake.h"

#include <ftw.h>
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
