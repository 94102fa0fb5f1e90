/* SPDX-License-Identifier: Apache-2.0 */
/* claims_test.c - pull workers over HTTP, as they see it. */
#include "api/jobs/claims.h"

#include "model/claim_read.h"
#include "testing/world_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define CLAIMS     "/api/v1/claims"
#define RENEW      CLAIMS "/renew"
#define FINISH     CLAIMS "/finish"

static void post(World *world, const char *path, const char *body, Reply *out)
{
    world_post(world, path, slice_text(body), out);
}

static void define_pull(World *world, const char *type)
{
    char path[WORLD_PATH_BYTES];
    Reply reply;
    snprintf(path, sizeof path, "/api/v1/handlers/%s", type);
    world_ask(world, &(Ask){ "PUT", path, "", SLICE_LITERAL("{\"lang\":\"pull\"}") },
              &reply);
    assert_int_equal(reply.status, 201);
    reply_done(&reply);
}

/* The first job of a claim, as an item of renew and finish without its closing brace. */
static JobId claim_item(World *world, char *out, size_t bytes)
{
    Reply reply;
    JobId id = 0;
    post(world, CLAIMS, "{\"max\":1,\"worker\":\"w\",\"lease\":\"PT1M\"}", &reply);
    assert_int_equal(reply.status, 200);
    const JsonIn *job = json_in_first(json_in_find(reply.json, "jobs"));
    assert_non_null(job);
    Slice text = json_in_text_of(job, "id");
    assert_int_equal(id_parse(text, &id), ERR_OK);
    assert_true(slice_is(json_in_text_of(job, "state"), "running"));
    snprintf(out, bytes,
             "{\"items\":[{\"id\":\"" SLICE_FMT
             "\",\"attempt\":%lld,\"token\":\"" SLICE_FMT "\"",
             SLICE_ARG(text), (long long)json_in_int_of(job, "attempt", 0),
             SLICE_ARG(json_in_text_of(job, "token")));
    reply_done(&reply);
    return id;
}

static void expect_status(World *world, const char *path, const char *body,
                          const char *status)
{
    Reply reply;
    post(world, path, body, &reply);
    assert_int_equal(reply.status, 200);
    const JsonIn *item = json_in_first(json_in_find(reply.json, "items"));
    if (!slice_is(json_in_text_of(item, "status"), status))
        fail_msg("not %s: " SLICE_FMT, status, SLICE_ARG(buf_slice(&reply.body)));
    reply_done(&reply);
}

static void refused(World *world, const char *path, const char *body, const char *code,
                    const char *pointer)
{
    Reply reply;
    post(world, path, body, &reply);
    expect_problem(&reply, problem_find(code)->status, code);
    if (!slice_is(json_in_text_of(reply.json, "pointer"), pointer))
        fail_msg("not at %s: " SLICE_FMT, pointer, SLICE_ARG(buf_slice(&reply.body)));
    reply_done(&reply);
}

/* S1.11, S2.31 */
static void a_worker_takes_renews_and_finishes(void **state)
{
    World *world = *state;
    char item[256];
    char body[512];
    Reply reply;
    define_pull(world, "mail");
    post(world, CLAIMS, "{}", &reply);
    assert_int_equal(reply.status, 204);
    reply_done(&reply);
    world_add(world, SLICE_LITERAL("{\"type\":\"mail\",\"payload\":\"a\"}"));
    JobId id = claim_item(world, item, sizeof item);
    snprintf(body, sizeof body, "%s,\"progress\":40,\"message\":\"page 4\"}]}", item);
    expect_status(world, RENEW, body, "ok");
    snprintf(body, sizeof body,
             "%s,\"exitcode\":200,\"result\":{\"a\":[1,\"x\"]},"
             "\"jobs\":[{\"type\":\"mail\",\"priority\":9}]}]}",
             item);
    expect_status(world, FINISH, body, "ok");
    expect_state(world, id, "done");
    char path[WORLD_PATH_BYTES];
    world_get(world, job_path(id, "/result", path), &reply);
    assert_true(slice_is(buf_slice(&reply.body), "{\"a\":[1,\"x\"]}"));
    reply_done(&reply);
    expect_status(world, FINISH, body, "late");
    snprintf(body, sizeof body, "%s}]}", item);
    expect_status(world, RENEW, body, "lost");
    JobId child = claim_item(world, item, sizeof item); /* what came with the result */
    assert_true(child != id);
}

static void a_forged_token_changes_nothing(void **state)
{
    World *world = *state;
    char item[256];
    char body[512];
    define_pull(world, "mail");
    JobId id = world_add(world, SLICE_LITERAL("{\"type\":\"mail\"}"));
    claim_item(world, item, sizeof item);
    char *token = strstr(item, "\"token\":\"") + strlen("\"token\":\"");
    *token = *token == '0' ? '1' : '0';
    snprintf(body, sizeof body, "%s}]}", item);
    expect_status(world, RENEW, body, "lost");
    expect_status(world, FINISH, body, "late");
    expect_state(world, id, "running");
}

static void bad_input_is_refused_with_its_place(void **state)
{
    World *world = *state;
    refused(world, CLAIMS, "{\"quues\":[]}", "unknown_field", "/quues");
    refused(world, CLAIMS, "{\"queues\":\"a\"}", "wrong_type", "/queues");
    refused(world, CLAIMS, "{\"queues\":[\"a b\"]}", "invalid_name", "/queues");
    refused(world, CLAIMS, "{\"max\":0}", "invalid_value", "/max");
    refused(world, CLAIMS, "{\"max\":1.5}", "wrong_type", "/max");
    refused(world, CLAIMS, "{\"lease\":\"PT0.5S\"}", "invalid_value", "/lease");
    refused(world, CLAIMS, "{\"lease\":\"P2D\"}", "invalid_value", "/lease");
    refused(world, CLAIMS, "{\"wait\":\"soon\"}", "invalid_value", "/wait");
    refused(world, RENEW, "{\"items\":[{\"id\":\"x\"}]}", "invalid_value", "/items/0/id");
    refused(world, RENEW, "{\"items\":[{\"token\":\"x\"}]}", "missing_field", "/items/0");
    refused(world, FINISH, "{\"items\":[{\"exitcode\":700}]}", "invalid_value",
            "/items/0/exitcode");
    refused(world, FINISH, "{\"items\":[{\"jobs\":[{\"type\":\"a\"},{\"tpye\":\"a\"}]}]}",
            "unknown_field", "/items/0/jobs/1/tpye");
    Reply reply;
    post(world, RENEW, "{}", &reply);
    expect_problem(&reply, 422, "missing_field");
    reply_done(&reply);
    post(world, FINISH, "[", &reply);
    expect_problem(&reply, 400, "malformed_json");
    reply_done(&reply);
}

/* A client that hung up while it waited gets no job; the next one does, at once. */
static void a_client_that_left_loses_no_job(void **state)
{
    World *world = *state;
    Client client;
    define_pull(world, "mail");
    client_unix(&client, world->socket);
    client_send(&client, SLICE_LITERAL("POST " CLAIMS " HTTP/1.1\r\nHost: localhost\r\n"
                                       "Content-Length: 16\r\n\r\n"
                                       "{\"wait\":\"PT1M\"} "));
    while (!fake_held(world->daemon))
        usleep(1000);
    client_close(&client);
    JobId id = world_add(world, SLICE_LITERAL("{\"type\":\"mail\"}"));
    Reply reply;
    post(world, CLAIMS, "{\"wait\":\"PT1M\"}", &reply);
    assert_int_equal(reply.status, 200);
    const JsonIn *job = json_in_first(json_in_find(reply.json, "jobs"));
    JobId got = 0;
    assert_int_equal(id_parse(json_in_text_of(job, "id"), &got), ERR_OK);
    assert_int_equal(got, id);
    assert_int_equal(json_in_int_of(job, "retry_number", -1), 0);
    reply_done(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_worker_takes_renews_and_finishes),
        TEST(a_forged_token_changes_nothing),
        TEST(bad_input_is_refused_with_its_place),
        TEST(a_client_that_left_loses_no_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
