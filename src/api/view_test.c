/* SPDX-License-Identifier: Apache-2.0 */
/* view_test.c - lists, single jobs, explanations, logs, settings and numbers. */
#include "api/jobs/explain.h"

#include "api/jobs/explain_waits.h"
#include "api/jobs/logs.h"
#include "api/node.h"
#include "api/openapi.h"
#include "api/routes.h"
#include "run/process/spool.h"
#include "testing/world_fake.h"
#include "watch/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* --- Lists ---------------------------------------------------------------------------
 */

static size_t items_of(const Reply *reply)
{
    return json_in_find(reply->json, "items")->as.items.count;
}

static size_t count_at(World *world, const char *path)
{
    Reply reply;
    world_get(world, path, &reply);
    if (reply.status != 200)
        fail_msg("%s: %d", path, reply.status);
    size_t count = items_of(&reply);
    reply_done(&reply);
    return count;
}

static void pages_go_through_all_jobs(void **state)
{
    World *world = *state;
    for (int i = 0; i < 120; i++)
        world_add(world, SLICE_LITERAL("{\"type\":\"t\"}"));
    char path[128] = JOBS;
    size_t sizes[] = { 50, 50, 20 };
    JobId before = UINT64_MAX;
    for (size_t page = 0; page < 3; page++) {
        Reply reply;
        world_get(world, path, &reply);
        assert_int_equal(reply.status, 200);
        assert_int_equal(items_of(&reply), sizes[page]);
        const JsonIn *item = json_in_first(json_in_find(reply.json, "items"));
        for (; item; item = item->next) {
            JobId id = 0;
            assert_int_equal(id_parse(json_in_text_of(item, "id"), &id), ERR_OK);
            assert_true(id < before); /* newest first, none twice */
            before = id;
        }
        Slice cursor = json_in_text_of(reply.json, "next_cursor");
        assert_int_equal(cursor.bytes > 0, page < 2);
        snprintf(path, sizeof path, JOBS "?cursor=" SLICE_FMT, SLICE_ARG(cursor));
        reply_done(&reply);
    }
}

static void lists_are_filtered(void **state)
{
    World *world = *state;
    world_add(world, SLICE_LITERAL("{\"type\":\"mail.send\",\"queue\":\"a\"}"));
    world_add(world, SLICE_LITERAL("{\"type\":\"mail.read\",\"queue\":\"b\","
                                   "\"tags\":[\"x\"],\"priority\":9}"));
    world_add(world, SLICE_LITERAL("{\"command\":[\"true\"],\"held\":true}"));
    world_add(world, SLICE_LITERAL("{\"type\":\"t\",\"tenant\":\"acme\"}"));
    assert_int_equal(count_at(world, JOBS), 3);
    assert_int_equal(count_at(world, JOBS "?tenant=acme"), 1);
    assert_int_equal(count_at(world, JOBS "?tenant=*"), 4);
    assert_int_equal(count_at(world, JOBS "?state=blocked,held"), 3);
    assert_int_equal(count_at(world, JOBS "?state=held"), 1);
    assert_int_equal(count_at(world, JOBS "?type=mail.*"), 2);
    assert_int_equal(count_at(world, JOBS "?queue=a,b&type=mail.send"), 1);
    assert_int_equal(count_at(world, JOBS "?tag=x"), 1);
    assert_int_equal(count_at(world, JOBS "?priority=9"), 1);
    assert_int_equal(count_at(world, JOBS "?q=priority%3A%3E%3D9+-tag%3Ay"), 1);
    assert_int_equal(count_at(world, JOBS "?created_after=-1h"), 3);
    assert_int_equal(count_at(world, JOBS "?created_before=-1h"), 0);
    assert_int_equal(count_at(world, JOBS "?limit=2"), 2);
    assert_int_equal(count_at(world, JOBS "?order=dispatch"), 0); /* none is ready */
    static const char *const bad[] = {
        JOBS "?state=sleeping", JOBS "?order=up",     JOBS "?cursor=x",
        JOBS "?q=colour:red",   JOBS "?priority=low", JOBS "?q=%22",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Reply reply;
        world_get(world, bad[i], &reply);
        expect_problem(&reply, 422, "invalid_query");
        reply_done(&reply);
    }
    static const char *const limits[] = { "?limit=0", "?limit=1001", "?limit=x" };
    for (size_t i = 0; i < 3; i++) {
        char path[64];
        Reply answer;
        snprintf(path, sizeof path, JOBS "%s", limits[i]);
        world_get(world, path, &answer);
        expect_problem(&answer, 422, "invalid_value");
        reply_done(&answer);
    }
    Reply reply;
    world_get(world, JOBS "?tenant=a..b%2F", &reply);
    expect_problem(&reply, 422, "invalid_name");
    reply_done(&reply);
}

static void the_beginning_of_an_id_is_enough(void **state)
{
    World *world = *state;
    JobId id = world_add(world, SLICE_LITERAL("{\"type\":\"t\"}"));
    world_add(world, SLICE_LITERAL("{\"type\":\"t\"}"));
    char text[ID_TEXT_BYTES];
    char path[WORLD_PATH_BYTES];
    Reply reply;
    id_text(id, text);
    snprintf(path, sizeof path, JOBS "/%.6s", text);
    world_get(world, path, &reply); /* both were made in the same hours */
    expect_problem(&reply, 409, "ambiguous_id");
    assert_int_equal(json_in_find(reply.json, "candidates")->as.items.count, 2);
    reply_done(&reply);
    world_get(world, JOBS "/00000000", &reply);
    expect_problem(&reply, 404, "job_not_found");
    reply_done(&reply);
    snprintf(path, sizeof path, JOBS "/%.5s", text);
    world_get(world, path, &reply);
    expect_problem(&reply, 404, "job_not_found");
    reply_done(&reply);
    char *full = job_path(id, "", path);
    Reply removed;
    world_ask(world, &(Ask){ "DELETE", full, "", NOTHING }, &removed);
    reply_done(&removed);
    snprintf(path, sizeof path, JOBS "/%.6s/hold", text);
    world_post(world, path, NOTHING, &reply);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
}

/* --- One job ---------------------------------------------------------------------------
 */

static void attempts_and_results_are_shown(void **state)
{
    World *world = *state;
    char path[WORLD_PATH_BYTES];
    Reply reply;
    JobId id = world_add(world, SLICE_LITERAL("{\"command\":[\"x\"]}"));
    expect_state(world, id, "running");
    world_get(world, job_path(id, "/result", path), &reply);
    expect_problem(&reply, 404, "result_not_found");
    reply_done(&reply);
    fake_end(world->daemon, id, 65, "bytes\n");
    expect_state(world, id, "failed");
    world_act(world, id, "retry", 200);
    expect_state(world, id, "running");
    fake_end(world->daemon, id, 0, "bytes\n");
    expect_state(world, id, "done");
    world_get(world, job_path(id, "/result", path), &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Content-Type"), "application/octet-stream");
    assert_true(slice_is(buf_slice(&reply.body), "bytes\n"));
    reply_done(&reply);
    world_get(world, job_path(id, "/attempts", path), &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(items_of(&reply), 2);
    const JsonIn *first = json_in_first(json_in_find(reply.json, "items"));
    assert_true(slice_is(json_in_text_of(first, "code"), "failed"));
    assert_true(slice_is(json_in_text_of(first->next, "code"), "ok"));
    reply_done(&reply);
    world_get(world, job_path(77, "/attempts", path), &reply);
    expect_problem(&reply, 404, "job_not_found");
    reply_done(&reply);
}

static void expect_reason(World *world, JobId id, const char *reason)
{
    char path[WORLD_PATH_BYTES];
    Reply reply;
    world_get(world, job_path(id, "/explain", path), &reply);
    assert_int_equal(reply.status, 200);
    if (!slice_is(json_in_text_of(reply.json, "reason"), reason))
        fail_msg("not %s: %.*s", reason, SLICE_ARG(buf_slice(&reply.body)));
    assert_true(json_in_text_of(reply.json, "text").bytes > 0);
    reply_done(&reply);
}

static void it_is_explained_why_a_job_waits(void **state)
{
    World *world = *state;
    const Slice command = SLICE_LITERAL("{\"command\":[\"x\"]}");
    JobId running = world_add(world, command);
    JobId second = world_add(world, command);
    expect_state(world, running, "running");
    expect_state(world, second, "running");
    JobId next = world_add(world, command); /* two slots */
    JobId behind = world_add(world, command);
    expect_reason(world, running, "running");
    expect_reason(world, next, "no_free_slot");
    expect_reason(world, behind, "behind_others");
    expect_reason(world, world_add(world, SLICE_LITERAL("{\"type\":\"t\"}")),
                  "no_handler");
    expect_reason(world,
                  world_add(world, SLICE_LITERAL("{\"command\":[\"x\"],\"held\":true}")),
                  "held");
    expect_reason(world,
                  world_add(world, SLICE_LITERAL("{\"command\":[\"x\"],\"delay\":9}")),
                  "not_due");
    world_act(world, running, "pause", 200);
    expect_reason(world, running, "paused");
    world_act(world, next, "cancel", 200);
    expect_reason(world, next, "cancelled");
}

/* Every state has its saying, and commands name the job. */
static void every_state_is_explained(void **state)
{
    (void)state;
    for (unsigned i = 0; i < JOB_STATES; i++) {
        Job job = job_default();
        job.id = id_from_count(1, 1);
        job.state = (JobState)i;
        job.dt_ms = 5000;
        job.attempt = 1;
        ExplainFacts facts = { .job = &job, .wall_ms = 1000, .enabled = i % 2 };
        Buf out = { 0 };
        Arena arena = { 0 };
        JsonOut json = { .out = &out };
        const JsonIn *object;
        explain_json(&json, &facts);
        assert_int_equal(json_in_load(buf_slice(&out), &arena, &object, NULL), ERR_OK);
        assert_true(slice_is(json_in_text_of(object, "state"), state_name(job.state)));
        assert_true(json_in_text_of(object, "reason").bytes > 0);
        Slice help = json_in_text_of(object, "help");
        assert_true(!help.bytes || !memchr(help.data, '%', help.bytes));
        buf_done(&out);
        arena_done(&arena);
    }
}

static void it_is_said_for_which_job_one_waits(void **state)
{
    (void)state;
    Job job = job_default();
    Buf text = { 0 };
    Buf command = { 0 };
    WaitedFor waited = { id_from_count(1, 1), AFTER_OK, JOB_RUNNING };
    job.tenant = SLICE_LITERAL("default");
    waited_for_say(&waited, &job, &text, &command);
    assert_non_null(strstr(buf_cstr(&text), "which is running"));
    assert_non_null(strstr(buf_cstr(&command), "pawl explain 0"));
    buf_clear(&text);
    buf_clear(&command);
    waited.state = JOB_REJECTED;
    job.tenant = SLICE_LITERAL("acme");
    waited_for_say(&waited, &job, &text, &command);
    assert_non_null(
        strstr(buf_cstr(&text), "when that one is retried and then ends done"));
    assert_non_null(strstr(buf_cstr(&command), "pawl retry 0"));
    assert_non_null(strstr(buf_cstr(&command), " --tenant acme"));
    buf_done(&text);
    buf_done(&command);
}

/* When its turn comes is said where that rests on something, and only there. */
static void a_turn_is_estimated_from_the_pace_of_the_queue(void **state)
{
    (void)state;
    static const struct {
        uint32_t ahead;
        bool more;
        uint64_t pace;
        int64_t pace_ms;
        const char *until; /* NULL: not said */
        const char *says;
    } table[] = {
        { 3, false, 8, 4 * MS_PER_MIN, "1970-01-01T00:02:01.000Z", "in about 2m" },
        { 1, false, 300, 10 * MS_PER_MIN, "1970-01-01T00:00:05.000Z", "in about 4s" },
        { 3, true, 8, 4 * MS_PER_MIN, NULL, NULL },   /* at least three */
        { 3, false, 4, 4 * MS_PER_MIN, NULL, NULL },  /* too few starts */
        { 3, false, 50, MS_PER_MIN - 1, NULL, NULL }, /* too short a time */
        { 0, false, 50, 4 * MS_PER_MIN, NULL, NULL }, /* it is the next */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Job job = job_default();
        job.id = id_from_count(1, 1);
        job.state = JOB_READY;
        ExplainFacts facts = { .job = &job,
                               .wall_ms = 1000,
                               .enabled = true,
                               .ahead = table[i].ahead,
                               .ahead_more = table[i].more,
                               .pace = table[i].pace,
                               .pace_ms = table[i].pace_ms };
        facts.node.slots = facts.node.slots_used = 1;
        Buf out = { 0 };
        Arena arena = { 0 };
        JsonOut json = { .out = &out };
        const JsonIn *object;
        explain_json(&json, &facts);
        assert_int_equal(json_in_load(buf_slice(&out), &arena, &object, NULL), ERR_OK);
        Slice until = json_in_text_of(object, "until");
        Slice text = json_in_text_of(object, "text");
        if (table[i].until)
            assert_true(slice_is(until, table[i].until));
        else
            assert_int_equal(until.bytes, 0);
        assert_true((memmem(text.data, text.bytes, "in about", 8) != NULL) ==
                    (table[i].says != NULL));
        if (table[i].says &&
            !memmem(text.data, text.bytes, table[i].says, strlen(table[i].says)))
            fail_msg("%.*s", SLICE_ARG(text));
        buf_done(&out);
        arena_done(&arena);
    }
}

/* --- Logs
 * ------------------------------------------------------------------------------- */

/* Prints as the job would: through a pipe into the attempt's file. */
static void print(World *world, JobId id, uint32_t attempt, OutputStream stream,
                  const char *text)
{
    char logs[96];
    int ends[2];
    snprintf(logs, sizeof logs, "%s/logs", world->dir);
    mkdir(logs, 0700);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
    close(ends[1]);
    OutputName name = { world->dir, id, attempt, stream };
    Spool spool;
    Buf dropped = { 0 };
    spool_init(&spool, &name, OUTPUT_BYTES_MAX_DEFAULT, false);
    while (spool_take(&spool, ends[0], &dropped))
        ;
    spool_done(&spool);
    buf_done(&dropped);
    close(ends[0]);
}

static void expect_log(World *world, JobId id, const char *query, const char *text)
{
    char path[WORLD_PATH_BYTES];
    Reply reply;
    world_get(world, job_path(id, query, path), &reply);
    assert_int_equal(reply.status, 200);
    if (!slice_is(buf_slice(&reply.body), text))
        fail_msg("%s: %.*s", query, SLICE_ARG(buf_slice(&reply.body)));
    reply_done(&reply);
}

static void output_is_shown(void **state)
{
    World *world = *state;
    JobId id = world_add(world, SLICE_LITERAL("{\"command\":[\"x\"]}"));
    expect_state(world, id, "running");
    expect_log(world, id, "/log", "");
    print(world, id, 1, OUTPUT_OUT, "one\n");
    print(world, id, 1, OUTPUT_ERR, "two\n");
    expect_log(world, id, "/log", "one\ntwo\n");
    expect_log(world, id, "/log?stream=stdout", "one\n");
    expect_log(world, id, "/log?stream=stderr&attempt=1&follow=0", "two\n");
    fake_end(world->daemon, id, 0, NULL);
    expect_state(world, id, "done");
    expect_log(world, id, "/log?follow=1", "one\ntwo\n"); /* over: it does not wait */
    static const struct {
        const char *query;
        int status;
        const char *code;
    } bad[] = { { "/log?attempt=2", 404, "attempt_not_found" },
                { "/log?attempt=0", 422, "invalid_value" },
                { "/log?stream=both", 422, "invalid_value" },
                { "/log?follow=maybe", 422, "invalid_value" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char path[WORLD_PATH_BYTES];
        Reply reply;
        world_get(world, job_path(id, bad[i].query, path), &reply);
        expect_problem(&reply, bad[i].status, bad[i].code);
        reply_done(&reply);
    }
}

static void ask_to_follow(World *world, JobId id, Client *client, Reply *reply)
{
    char path[WORLD_PATH_BYTES];
    Buf text = { 0 };
    client_tcp(client, http_address(world->http));
    buf_printf(&text, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n",
               job_path(id, "/log?follow=1", path));
    client_send(client, buf_slice(&text));
    client_read_head(client, reply);
    assert_int_equal(reply->status, 200);
    buf_done(&text);
}

/* Reads until the body is `text`. */
static void expect_chunks(Client *client, Reply *reply, const char *text)
{
    while (!slice_is(buf_slice(&reply->body), text))
        assert_true(client_read_chunk(client, &reply->body));
}

static void output_is_followed_until_the_job_ends(void **state)
{
    World *world = *state;
    JobId id = world_add(world, SLICE_LITERAL("{\"command\":[\"x\"],\"held\":true}"));
    Client client;
    Reply reply;
    ask_to_follow(world, id, &client, &reply); /* before it has begun */
    world_act(world, id, "release", 200);
    expect_state(world, id, "running");
    print(world, id, 1, OUTPUT_OUT, "first\n");
    expect_chunks(&client, &reply, "first\n");
    print(world, id, 1, OUTPUT_OUT, "second\n");
    expect_chunks(&client, &reply, "first\nsecond\n");
    fake_end(world->daemon, id, 65, NULL);
    expect_state(world, id, "failed");
    assert_false(client_read_chunk(&client, &reply.body)); /* the end */
    reply_done(&reply);
    /* The connection goes on after the stream. */
    client_ask(&client, &(Ask){ "GET", "/livez", "", NOTHING }, &reply);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    client_close(&client);
}

static void expect_attempt(World *world, JobId id, int64_t attempt)
{
    char path[WORLD_PATH_BYTES];
    int64_t until = clock_now().boot_ms + CLIENT_WAIT_MS;
    int64_t now = 0;
    while (now != attempt && clock_now().boot_ms < until) {
        Reply reply;
        world_get(world, job_path(id, "", path), &reply);
        now = json_in_int_of(reply.json, "attempt", 0);
        reply_done(&reply);
    }
    assert_int_equal(now, attempt);
}

static void following_goes_on_with_the_next_attempt(void **state)
{
    World *world = *state;
    JobId id = world_add(world, SLICE_LITERAL("{\"command\":[\"x\"],\"max_retries\":1,"
                                              "\"retry_delay\":\"1ms\"}"));
    Client client;
    Reply reply;
    expect_state(world, id, "running");
    print(world, id, 1, OUTPUT_OUT, "a");
    ask_to_follow(world, id, &client, &reply);
    expect_chunks(&client, &reply, "a");
    fake_end(world->daemon, id, 75, NULL);
    expect_attempt(world, id, 2);
    print(world, id, 2, OUTPUT_OUT, "b");
    expect_chunks(&client, &reply, "ab");
    fake_end(world->daemon, id, 0, NULL);
    expect_state(world, id, "done");
    assert_false(client_read_chunk(&client, &reply.body));
    reply_done(&reply);
    client_close(&client);
}

static void followers_may_leave(void **state)
{
    World *world = *state;
    JobId id = world_add(world, SLICE_LITERAL("{\"command\":[\"x\"]}"));
    expect_state(world, id, "running");
    Client clients[20];
    for (size_t i = 0; i < 20; i++) {
        Reply reply;
        ask_to_follow(world, id, &clients[i], &reply);
        reply_done(&reply);
    }
    for (size_t i = 0; i < 19; i++) {
        if (i % 2)
            client_reset(&clients[i]);
        else
            client_close(&clients[i]);
    }
    print(world, id, 1, OUTPUT_OUT, "x");
    Reply reply = { 0 };
    expect_chunks(&clients[19], &reply, "x");
    reply_done(&reply);
    client_close(&clients[19]); /* the server is closed with the stream open */
}

/* --- The node
 * ---------------------------------------------------------------------------- */

static void settings_are_shown_and_changed(void **state)
{
    World *world = *state;
    Reply reply;
    world_get(world, "/api/v1/config", &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(json_in_int_of(reply.json, "max_concurrent_jobs", 0), 2);
    assert_true(json_in_bool_of(reply.json, "enabled", false));
    reply_done(&reply);
    world_ask(world,
              &(Ask){ "PATCH", "/api/v1/config", "",
                      SLICE_LITERAL("{\"max_concurrent_jobs\":5,\"enabled\":false,"
                                    "\"job_stale_interval\":\"45s\"}") },
              &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(json_in_int_of(reply.json, "max_concurrent_jobs", 0), 5);
    assert_false(json_in_bool_of(reply.json, "enabled", true));
    assert_true(slice_is(json_in_text_of(reply.json, "job_stale_interval"), "PT45S"));
    reply_done(&reply);
    static const char *const bad[][2] = {
        { "{\"enabeld\":true}", "unknown_field" },
        { "{\"enabled\":\"yes\"}", "invalid_value" },
        { "{\"max_concurrent_jobs\":7,\"job_stale_interval\":\"soon\"}",
          "invalid_value" },
        { "[]", "wrong_type" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        world_ask(world, &(Ask){ "PATCH", "/api/v1/config", "", slice_text(bad[i][0]) },
                  &reply);
        expect_problem(&reply, 422, bad[i][1]);
        reply_done(&reply);
    }
    world_get(world, "/api/v1/config", &reply); /* all or nothing */
    assert_int_equal(json_in_int_of(reply.json, "max_concurrent_jobs", 0), 5);
    reply_done(&reply);
}

static void nodes_and_numbers_are_shown(void **state)
{
    World *world = *state;
    Reply reply;
    JobId id = world_add(world, SLICE_LITERAL("{\"command\":[\"x\"],\"queue\":\"q\"}"));
    world_add(world, SLICE_LITERAL("{\"type\":\"t\",\"tenant\":\"acme\"}"));
    expect_state(world, id, "running");
    world_get(world, "/api/v1/nodes", &reply);
    assert_int_equal(items_of(&reply), 1);
    const JsonIn *node = json_in_first(json_in_find(reply.json, "items"));
    assert_true(slice_is(json_in_text_of(node, "sysid"), "fake"));
    assert_int_equal(json_in_find(node, "running")->as.items.count, 1);
    reply_done(&reply);
    world_get(world, "/api/v1/nodes/fake", &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(json_in_int_of(reply.json, "slots_used", 0), 1);
    reply_done(&reply);
    world_get(world, "/api/v1/stats", &reply); /* of tenant default */
    assert_int_equal(json_in_int_of(json_in_find(reply.json, "jobs"), "running", 0), 1);
    assert_int_equal(json_in_int_of(json_in_find(reply.json, "jobs"), "blocked", 9), 0);
    reply_done(&reply);
    world_get(world, "/api/v1/stats?tenant=*", &reply);
    assert_int_equal(json_in_int_of(json_in_find(reply.json, "jobs"), "running", 0), 1);
    assert_int_equal(json_in_int_of(json_in_find(reply.json, "jobs"), "blocked", 0), 1);
    assert_int_equal(json_in_find(reply.json, "queues")->as.items.count, 2);
    assert_int_equal(json_in_int_of(reply.json, "unfinished", 0), 2);
    reply_done(&reply);
    world_get(world, "/api/v1/stats?tenant=acme", &reply);
    assert_int_equal(json_in_int_of(json_in_find(reply.json, "jobs"), "running", 9), 0);
    reply_done(&reply);
}

static void readiness_follows_the_daemon(void **state)
{
    World *world = *state;
    Reply reply;
    world_get(world, "/readyz", &reply);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    fake_not_ready(world->daemon, "journal_full");
    world_get(world, "/readyz", &reply);
    expect_problem(&reply, 503, "journal_full");
    reply_done(&reply);
    world_get(world, "/livez", &reply);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
}

static bool metric_line(Slice line)
{
    if (!line.bytes || line.data[0] == '#')
        return true;
    Slice name = line;
    size_t at = 0;
    while (at < line.bytes && line.data[at] != ' ' && line.data[at] != '{')
        at++;
    name.bytes = at;
    if (at < line.bytes && line.data[at] == '{') {
        const char *end = memrchr(line.data, '}', line.bytes);
        if (!end)
            return false;
        at = (size_t)(end - line.data) + 1;
    }
    double value;
    char text[64];
    snprintf(text, sizeof text, SLICE_FMT, SLICE_ARG(slice_from(line, at)));
    return name.bytes && at < line.bytes && sscanf(text, " %lf", &value) == 1;
}

static void metrics_are_there(void **state)
{
    World *world = *state;
    Reply reply;
    JobId id = world_add(world, SLICE_LITERAL("{\"command\":[\"x\"],\"priority\":99}"));
    world_add(world, SLICE_LITERAL("{\"type\":\"t\"}"));
    fake_end(world->daemon, id, 0, NULL);
    expect_state(world, id, "done");
    world_get(world, "/metrics", &reply);
    assert_int_equal(reply.status, 200);
    const char *text = buf_cstr(&reply.body);
    static const char *const wanted[] = {
        "pawl_jobs_added_total{queue=\"default\",priority=\">10\"} 1\n",
        "pawl_jobs_started_total{queue=\"default\",priority=\">10\"} 1\n",
        "pawl_jobs_finished_total{queue=\"default\",priority=\">10\",code=\"ok\"} 1\n",
        "pawl_jobs{queue=\"default\",state=\"done\"} 1\n",
        "pawl_jobs{queue=\"default\",state=\"blocked\"} 1\n",
        "pawl_job_wait_seconds_count 1\n",
        "pawl_job_run_seconds_bucket{le=\"+Inf\"} 1\n",
        "pawl_slots{state=\"free\"} 2\n",
        "pawl_http_requests_total{route=\"POST /api/v1/jobs\",code=\"201\"} 2\n",
        "pawl_build_info{version=",
        "pawl_queue_oldest_ready_age_seconds",
        "pawl_journal_append_seconds_count",
        "pawl_journal_sync_seconds_count",
        "pawl_journal_lag_bytes 0\n",
        "pawl_store_commit_seconds_count",
        "pawl_late_results_total",
        "pawl_leases_expired_total",
        "pawl_nodes 1\n",
        "process_resident_memory_bytes",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(text, wanted[i]))
            fail_msg("no %s in:\n%s", wanted[i], text);
    Slice rest = buf_slice(&reply.body);
    while (rest.bytes) {
        Slice line = slice_cut(&rest, '\n');
        if (!metric_line(line))
            fail_msg("not a metric: %.*s", SLICE_ARG(line));
    }
    reply_done(&reply);
}

static void labels_are_bounded(void **state)
{
    (void)state;
    Metrics *metrics = metrics_new();
    char name[32];
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "queue%d", i);
        Effect effect = { .kind = EFFECT_CHANGED,
                          .queue = slice_text(name),
                          .priority = i - 5000,
                          .added = true,
                          .count = 1 };
        metrics_changed(metrics, &effect);
    }
    assert_int_equal(metrics_unfinished(metrics), 10000);
    assert_int_equal(metrics_totals(metrics).added, 10000);
    Buf out = { 0 };
    metrics_write(&out, metrics, &(NodeFacts){ 0 });
    assert_non_null(strstr(buf_cstr(&out), "{queue=\"other\",priority=\">10\"} 4989\n"));
    size_t lines = 0;
    for (size_t i = 0; i < out.bytes; i++)
        lines += out.data[i] == '\n';
    assert_true(lines < METRICS_QUEUES_MAX * METRICS_PRIORITIES);
    buf_done(&out);
    metrics_free(metrics);
}

/* --- The description
 * ------------------------------------------------------------------------ */

static void check_refs(const JsonIn *value, const JsonIn *schemas)
{
    for (const JsonIn *at = json_in_first(value); at; at = at->next) {
        Slice prefix = SLICE_LITERAL("#/components/schemas/");
        if (slice_is(at->key, "$ref")) {
            assert_true(slice_starts(at->as.text, prefix));
            Arena arena = { 0 };
            char *name = slice_cstr(&arena, slice_from(at->as.text, prefix.bytes));
            if (!json_in_find(schemas, name))
                fail_msg("there is no schema %s", name);
            arena_done(&arena);
        }
        check_refs(at, schemas);
    }
}

static void the_description_is_complete(void **state)
{
    World *world = *state;
    Reply reply;
    world_get(world, "/openapi.json", &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(reply.json);
    assert_true(slice_is(json_in_text_of(reply.json, "openapi"), "3.1.0"));
    const JsonIn *paths = json_in_find(reply.json, "paths");
    const JsonIn *schemas =
        json_in_find(json_in_find(reply.json, "components"), "schemas");
    static const char *const verbs[] = { "get", "post", "put", "patch", "delete" };
    for (size_t i = 0; i < route_count; i++) {
        const JsonIn *path = json_in_find(paths, routes[i].path);
        const JsonIn *operation = json_in_find(path, verbs[routes[i].method]);
        if (!operation)
            fail_msg("%s is not described", routes[i].path);
        assert_true(slice_is(json_in_text_of(operation, "operationId"), routes[i].id));
        assert_non_null(json_in_find(operation, "responses"));
    }
    check_refs(reply.json, schemas);
    assert_non_null(json_in_find(json_in_find(json_in_find(schemas, "Job"), "properties"),
                                 "payload"));
    reply_done(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_go_through_all_jobs),
        TEST(lists_are_filtered),
        TEST(the_beginning_of_an_id_is_enough),
        TEST(attempts_and_results_are_shown),
        TEST(it_is_explained_why_a_job_waits),
        cmocka_unit_test(a_turn_is_estimated_from_the_pace_of_the_queue),
        TEST(every_state_is_explained),
        cmocka_unit_test(it_is_said_for_which_job_one_waits),
        TEST(output_is_shown),
        TEST(output_is_followed_until_the_job_ends),
        TEST(following_goes_on_with_the_next_attempt),
        TEST(followers_may_leave),
        TEST(settings_are_shown_and_changed),
        TEST(nodes_and_numbers_are_shown),
        TEST(readiness_follows_the_daemon),
        TEST(metrics_are_there),
        cmocka_unit_test(labels_are_bounded),
        TEST(the_description_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
