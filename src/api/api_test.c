/* SPDX-License-Identifier: Apache-2.0 */
/* api_test.c - the API for jobs, as a client sees it. */
#include "api/jobs/jobs.h"

#include "api/common.h"
#include "api/jobs/actions.h"
#include "api/jobs/bulk.h"
#include "api/jobs/lines.h"
#include "model/job_json.h"
#include "testing/world_fake.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define JOBS       "/api/v1/jobs"
#define NDJSON     "Content-Type: application/x-ndjson\r\n"
#define COMMAND    SLICE_LITERAL("{\"command\":[\"true\"]}")

/* --- Helpers
 * ----------------------------------------------------------------------------- */

/* --- Adding
 * --------------------------------------------------------------------------------- */

static void one_job_is_added_and_shown(void **state)
{
    World *world = *state;
    Reply reply;
    world_post(world, JOBS,
               SLICE_LITERAL(
                   "{\"command\":[\"sh\",\"-c\",\"exit 3\"],\"name\":\"a name\","
                   "\"priority\":7,\"queue\":\"q\",\"tags\":[\"x\"],\"payload\":\"p\"}"),
               &reply);
    assert_int_equal(reply.status, 201);
    Slice id = json_in_text_of(reply.json, "id");
    const JsonIn *job = json_in_find(reply.json, "job");
    assert_true(slice_equal(id, json_in_text_of(job, "id")));
    assert_true(slice_is(json_in_text_of(job, "type"), "run"));
    assert_true(slice_is(json_in_text_of(job, "tenant"), "default"));
    assert_int_equal(json_in_int_of(job, "max_retries", -1), 0);
    char location[64];
    snprintf(location, sizeof location, JOBS "/" SLICE_FMT, SLICE_ARG(id));
    assert_string_equal(reply_header(&reply, "Location"), location);

    Reply shown;
    world_get(world, location, &shown);
    assert_int_equal(shown.status, 200);
    size_t count;
    const JobField *fields = job_fields(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].name, "payload_base64") != 0 &&
            !json_in_find(shown.json, fields[i].name))
            fail_msg("the job lacks %s", fields[i].name);
    assert_true(slice_is(json_in_text_of(shown.json, "payload"), "p"));
    reply_done(&shown);
    reply_done(&reply);
}

static void a_type_without_handler_is_blocked(void **state)
{
    World *world = *state;
    JobId id = world_add(world, SLICE_LITERAL("{\"type\":\"mail\"}"));
    expect_state(world, id, "blocked");
}

/* Line k of a bulk answer: its id, or NULL. */
static void bulk_line(Slice *rest, Arena *arena, const JsonIn **out)
{
    Slice line = slice_cut(rest, '\n');
    assert_int_equal(json_in_load(line, arena, out, NULL), ERR_OK);
}

static void expect_summary(Slice *rest, Arena *arena, int accepted, int rejected)
{
    const JsonIn *line;
    bulk_line(rest, arena, &line);
    const JsonIn *summary = json_in_find(line, "summary");
    assert_non_null(summary);
    assert_int_equal(json_in_int_of(summary, "accepted", -1), accepted);
    assert_int_equal(json_in_int_of(summary, "rejected", -1), rejected);
    assert_true(json_in_bool_of(summary, "durable", false));
    assert_int_equal(rest->bytes, 0);
}

static void lines_are_answered_one_by_one(void **state)
{
    World *world = *state;
    static const char body[] = "{\"type\":\"a\"}\n"
                               "\n"
                               "{\"type\":\"b\",\"prioritiy\":5}\r\n"
                               "{\"type\":\n"
                               "{\"command\":[\"true\"]}";
    Reply reply;
    world_ask(world, &(Ask){ "POST", JOBS, NDJSON, slice_of(body, sizeof body - 1) },
              &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Content-Type"), "application/x-ndjson");
    Slice rest = buf_slice(&reply.body);
    static const int numbers[] = { 1, 3, 4, 5 };
    static const char *const codes[] = { NULL, "unknown_field", "malformed_json", NULL };
    for (size_t i = 0; i < 4; i++) {
        const JsonIn *line;
        bulk_line(&rest, &reply.arena, &line);
        assert_int_equal(json_in_int_of(line, "line", 0), numbers[i]);
        const JsonIn *error = json_in_find(line, "error");
        if (codes[i])
            assert_true(slice_is(json_in_text_of(error, "code"), codes[i]));
        else
            assert_int_equal(json_in_text_of(line, "id").bytes, ID_TEXT_BYTES - 1);
        if (i == 1) {
            assert_true(slice_is(json_in_text_of(error, "pointer"), "/prioritiy"));
            assert_true(
                slice_is(json_in_text_of(error, "hint"), "did you mean 'priority'?"));
        }
    }
    expect_summary(&rest, &reply.arena, 2, 2);
    reply_done(&reply);
    assert_int_equal(jobs_added(world), 2);
}

#define MANY 3500 /* several chunks, the last not full */

static void many_jobs_come_in_order(void **state)
{
    World *world = *state;
    for (int array = 0; array < 2; array++) {
        Buf body = { 0 };
        buf_add_text(&body, array ? " [ " : "");
        for (int i = 0; i < MANY; i++)
            buf_printf(&body, "{\"type\":\"t\",\"payload\":\"%d\"}%s", i,
                       !array         ? "\n"
                       : i < MANY - 1 ? ",\n"
                                      : " ] \n\n");
        Reply reply;
        world_ask(world, &(Ask){ "POST", JOBS, array ? "" : NDJSON, buf_slice(&body) },
                  &reply);
        assert_int_equal(reply.status, 200);
        Slice rest = buf_slice(&reply.body);
        JobId before = 0;
        JobId id = 0;
        for (int i = 0; i < MANY; i++) {
            const JsonIn *line;
            bulk_line(&rest, &reply.arena, &line);
            assert_int_equal(json_in_int_of(line, "line", 0), i + 1);
            assert_int_equal(id_parse(json_in_text_of(line, "id"), &id), ERR_OK);
            assert_true(id > before);
            before = id;
        }
        expect_summary(&rest, &reply.arena, MANY, 0);
        reply_done(&reply);
        buf_done(&body);
        char path[WORLD_PATH_BYTES];
        char last[16];
        world_get(world, job_path(id, "", path), &reply);
        snprintf(last, sizeof last, "%d", MANY - 1);
        assert_true(slice_is(json_in_text_of(reply.json, "payload"), last));
        reply_done(&reply);
    }
    assert_int_equal(jobs_added(world), 2 * MANY);
}

static void an_empty_array_adds_nothing(void **state)
{
    World *world = *state;
    static const char *const bodies[] = { "[]", " [ \n ] " };
    for (size_t i = 0; i < 2; i++) {
        Reply reply;
        world_post(world, JOBS, slice_text(bodies[i]), &reply);
        assert_int_equal(reply.status, 200);
        Slice rest = buf_slice(&reply.body);
        expect_summary(&rest, &reply.arena, 0, 0);
        reply_done(&reply);
    }
    Reply reply;
    world_post(world, JOBS, NOTHING, &reply);
    expect_problem(&reply, 400, "empty_body");
    reply_done(&reply);
}

static void a_key_makes_a_repeat_harmless(void **state)
{
    World *world = *state;
    static const char *const headers[] = { "Idempotency-Key: k1\r\n",
                                           "Idempotency-Key: \"k1\"\r\n" };
    char first[ID_TEXT_BYTES] = "";
    for (int i = 0; i < 2; i++) {
        Reply reply;
        world_ask(world, &(Ask){ "POST", JOBS, headers[i], COMMAND }, &reply);
        assert_int_equal(reply.status, 201);
        Slice id = json_in_text_of(reply.json, "id");
        assert_true(
            slice_equal(id, json_in_text_of(json_in_find(reply.json, "job"), "id")));
        if (i == 0) {
            snprintf(first, sizeof first, SLICE_FMT, SLICE_ARG(id));
            assert_null(reply_header(&reply, "Idempotency-Replayed"));
        } else {
            assert_true(slice_is(id, first));
            assert_string_equal(reply_header(&reply, "Idempotency-Replayed"), "true");
        }
        reply_done(&reply);
    }
    Reply reply;
    world_ask(
        world,
        &(Ask){ "POST", JOBS, headers[0], SLICE_LITERAL("{\"command\":[\"false\"]}") },
        &reply);
    expect_problem(&reply, 422, "idempotency_mismatch");
    reply_done(&reply);
    world_ask(world, &(Ask){ "POST", JOBS, "Idempotency-Key: \x01\r\n", COMMAND },
              &reply);
    assert_true(reply.status >= 400 && reply.status < 500);
    reply_done(&reply);
    assert_int_equal(jobs_added(world), 1);
}

static void a_key_works_for_many_jobs_too(void **state)
{
    World *world = *state;
    Buf body = { 0 };
    for (int i = 0; i < 2500; i++)
        buf_add_text(&body, "{\"type\":\"t\"}\n");
    Buf first = { 0 };
    for (int i = 0; i < 2; i++) {
        Reply reply;
        world_ask(
            world,
            &(Ask){ "POST", JOBS, NDJSON "Idempotency-Key: bulk\r\n", buf_slice(&body) },
            &reply);
        assert_int_equal(reply.status, 200);
        if (i == 0)
            buf_add_slice(&first, buf_slice(&reply.body));
        else
            assert_true(slice_equal(buf_slice(&first), buf_slice(&reply.body)));
        reply_done(&reply);
    }
    assert_int_equal(jobs_added(world), 2500);
    buf_add_text(&body, "{\"type\":\"t\"}\n");
    Reply reply;
    world_ask(
        world,
        &(Ask){ "POST", JOBS, NDJSON "Idempotency-Key: bulk\r\n", buf_slice(&body) },
        &reply);
    expect_problem(&reply, 422, "idempotency_mismatch");
    reply_done(&reply);
    assert_int_equal(jobs_added(world), 2500);
    buf_done(&body);
    buf_done(&first);
}

static void waiting_gives_the_job_and_its_result(void **state)
{
    World *world = *state;
    Client client;
    Reply reply;
    client_tcp(&client, http_address(world->http));
    client_send(&client,
                SLICE_LITERAL("POST " JOBS "?wait=PT20S HTTP/1.1\r\nHost: localhost\r\n"
                              "Content-Length: 20\r\n\r\n{\"command\":[\"true\"]}"));
    JobId id = 0;
    int64_t until = clock_now().boot_ms + CLIENT_WAIT_MS;
    while (!id && clock_now().boot_ms < until) {
        world_get(world, JOBS, &reply);
        const JsonIn *item = json_in_first(json_in_find(reply.json, "items"));
        if (item && id_parse(json_in_text_of(item, "id"), &id))
            id = 0;
        reply_done(&reply);
    }
    fake_end(world->daemon, id, 0, "the result");
    client_read(&client, false, &reply);
    assert_int_equal(reply.status, 200);
    const JsonIn *job = json_in_find(reply.json, "job");
    assert_true(slice_is(json_in_text_of(job, "state"), "done"));
    assert_int_equal(json_in_int_of(job, "exitcode", 0), 200);
    assert_true(slice_is(json_in_text_of(reply.json, "result"), "the result"));
    reply_done(&reply);
    client_close(&client);

    world_post(world, JOBS "?wait=10ms", COMMAND, &reply);
    assert_int_equal(reply.status, 202);
    assert_non_null(json_in_find(reply.json, "job"));
    reply_done(&reply);
    world_post(world, JOBS "?wait=soon", COMMAND, &reply);
    expect_problem(&reply, 422, "invalid_value");
    reply_done(&reply);
    world_post(world, JOBS "?wait=1s", SLICE_LITERAL("[{\"type\":\"t\"}]"), &reply);
    expect_problem(&reply, 422, "invalid_value");
    reply_done(&reply);
}

static void a_full_journal_is_told(void **state)
{
    World *world = *state;
    fake_room(world->daemon, false);
    Reply reply;
    int64_t until = clock_now().boot_ms + CLIENT_WAIT_MS;
    do {
        world_post(world, JOBS, COMMAND, &reply);
        if (reply.status == 201)
            reply_done(&reply);
    } while (reply.status == 201 && clock_now().boot_ms < until);
    expect_problem(&reply, 503, "journal_full");
    assert_non_null(reply_header(&reply, "Retry-After"));
    reply_done(&reply);
    world_ask(world, &(Ask){ "POST", JOBS, NDJSON, SLICE_LITERAL("{\"type\":\"t\"}\n") },
              &reply);
    expect_problem(&reply, 503, "journal_full");
    reply_done(&reply);
}

static void only_json_and_xml_are_taken(void **state)
{
    World *world = *state;
    static const char *const bad[] = { "Content-Type: application/yaml\r\n",
                                       "Content-Type: multipart/form-data\r\n" };
    for (size_t i = 0; i < 2; i++) {
        Reply reply;
        world_ask(world, &(Ask){ "POST", JOBS, bad[i], COMMAND }, &reply);
        expect_problem(&reply, 415, "unsupported_media_type");
        reply_done(&reply);
    }
    static const char *const good[] = {
        "Content-Type: application/json; charset=utf-8\r\n",
        "Content-Type: Application/JSON\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
    };
    for (size_t i = 0; i < 3; i++) {
        Reply reply;
        world_ask(world, &(Ask){ "POST", JOBS, good[i], COMMAND }, &reply);
        assert_int_equal(reply.status, 201);
        reply_done(&reply);
    }
}

/* --- The founding path
 * ------------------------------------------------------------------------ */

static void each_line_is_a_payload(void **state)
{
    World *world = *state;
    Reply reply;
    world_post(world, "/acme/job/mail/add?priority=9&max_retries=1&retry_delay=PT0.2S",
               SLICE_LITERAL("first\n\xff\xfe\n\nthird"), &reply);
    assert_int_equal(reply.status, 200);
    assert_true(json_in_bool_of(reply.json, "ok", false));
    assert_int_equal(json_in_int_of(reply.json, "count", 0), 3);
    const JsonIn *id = json_in_first(json_in_find(reply.json, "ids"));
    static const char *const payloads[] = { "first", NULL, "third" };
    for (size_t i = 0; i < 3; i++, id = id->next) {
        char path[WORLD_PATH_BYTES];
        Reply shown;
        snprintf(path, sizeof path, JOBS "/" SLICE_FMT "?tenant=acme",
                 SLICE_ARG(id->as.text));
        world_get(world, path, &shown);
        assert_int_equal(json_in_int_of(shown.json, "priority", 0), 9);
        assert_int_equal(json_in_int_of(shown.json, "max_retries", 0), 1);
        assert_true(slice_is(json_in_text_of(shown.json, "retry_delay"), "PT0.2S"));
        assert_true(slice_is(json_in_text_of(shown.json, "tenant"), "acme"));
        if (payloads[i])
            assert_true(slice_is(json_in_text_of(shown.json, "payload"), payloads[i]));
        else
            assert_true(slice_is(json_in_text_of(shown.json, "payload_base64"), "//4="));
        reply_done(&shown);
    }
    reply_done(&reply);
    world_ask(world,
              &(Ask){ "POST", "/acme/job/mail/add", "Accept: text/plain\r\n",
                      SLICE_LITERAL("a\nb\n") },
              &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(reply.body.bytes, 2 * ID_TEXT_BYTES);
    reply_done(&reply);
}

static void bad_lines_are_refused(void **state)
{
    World *world = *state;
    static const struct {
        const char *path;
        const char *body;
        int status;
        const char *code;
    } cases[] = {
        { "/acme/job/mail/add", "", 400, "empty_body" },
        { "/acme/job/mail/add", "\n\n", 400, "empty_body" },
        { "/api/job/mail/add", "x", 422, "invalid_name" },
        { "/a%00b/job/mail/add", "x", 422, "invalid_name" },
        { "/acme/job/ma%0ail/add", "x", 422, "invalid_name" },
        { "/acme/job/..%2Fetc/add", "x", 422, "invalid_name" },
        { "/acme/job/mail/add?prioritiy=1", "x", 422, "unknown_parameter" },
        { "/acme/job/mail/add?priority=x", "x", 422, "wrong_type" },
        { "/acme/job/mail/add?queue=a..b", "x", 422, "invalid_name" },
        { "/acme/job/mail/add?payload=x", "x", 422, "invalid_value" },
        { "/acme/job/mail/add?user=root", "x", 422, "run_as_not_allowed" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Reply reply;
        world_post(world, cases[i].path, slice_text(cases[i].body), &reply);
        if (reply.status != cases[i].status)
            fail_msg("%s: %d", cases[i].path, reply.status);
        expect_problem(&reply, cases[i].status, cases[i].code);
        assert_non_null(json_in_find(reply.json, "ok"));
        assert_false(json_in_bool_of(reply.json, "ok", true));
        reply_done(&reply);
    }
    assert_int_equal(jobs_added(world), 0);
}

/* --- Acting
 * ------------------------------------------------------------------------------------ */

static void jobs_are_held_released_and_ended(void **state)
{
    World *world = *state;
    JobId id = world_add(world, SLICE_LITERAL("{\"command\":[\"a\"],\"held\":true}"));
    expect_state(world, id, "held");
    world_act(world, id, "release", 200);
    expect_state(world, id, "running");
    world_act(world, id, "pause", 200);
    expect_state(world, id, "paused");
    world_act(world, id, "resume", 200);
    expect_state(world, id, "running");
    fake_end(world->daemon, id, 65, NULL);
    expect_state(world, id, "failed");
    world_act(world, id, "retry", 200);
    expect_state(world, id, "running");
    world_act(world, id, "cancel", 200);
    expect_state(world, id, "cancelled");
    world_act(world, 99, "cancel", 404);
}

static void what_makes_no_sense_names_what_does(void **state)
{
    World *world = *state;
    JobId id = world_add(world, COMMAND);
    expect_state(world, id, "running");
    char path[WORLD_PATH_BYTES];
    Reply reply;
    world_post(world, job_path(id, "/release", path), SLICE_LITERAL("{}"), &reply);
    expect_problem(&reply, 409, "invalid_state");
    assert_true(slice_is(json_in_text_of(reply.json, "state"), "running"));
    const JsonIn *allowed = json_in_find(reply.json, "allowed");
    bool cancel = false;
    bool release = false;
    for (const JsonIn *at = json_in_first(allowed); at; at = at->next) {
        cancel = cancel || slice_is(at->as.text, "cancel");
        release = release || slice_is(at->as.text, "release");
    }
    assert_true(cancel);
    assert_false(release);
    reply_done(&reply);
    world_ask(
        world,
        &(Ask){ "PATCH", job_path(id, "", path), "", SLICE_LITERAL("{\"priority\":1}") },
        &reply);
    expect_problem(&reply, 409, "invalid_state");
    reply_done(&reply);
    world_post(world, job_path(id, "/cancel", path), SLICE_LITERAL("{\"force\":1}"),
               &reply);
    expect_problem(&reply, 422, "unknown_field");
    reply_done(&reply);
    world_post(world, job_path(id, "/cancel", path), SLICE_LITERAL("{"), &reply);
    expect_problem(&reply, 400, "malformed_json");
    reply_done(&reply);
    expect_state(world, id, "running");
}

static void a_waiting_job_can_be_changed(void **state)
{
    World *world = *state;
    JobId id =
        world_add(world, SLICE_LITERAL("{\"command\":[\"a\"],\"delay\":\"PT1H\"}"));
    char path[WORLD_PATH_BYTES];
    Reply reply;
    world_ask(world,
              &(Ask){ "PATCH", job_path(id, "", path), "",
                      SLICE_LITERAL("{\"priority\":9,\"queue\":\"fast\",\"payload\":"
                                    "\"new\",\"tags\":[\"t\"],"
                                    "\"max_run_time\":\"5s\"}") },
              &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(json_in_int_of(reply.json, "priority", 0), 9);
    assert_true(slice_is(json_in_text_of(reply.json, "queue"), "fast"));
    assert_true(slice_is(json_in_text_of(reply.json, "payload"), "new"));
    assert_true(slice_is(json_in_text_of(reply.json, "max_run_time"), "PT5S"));
    assert_true(slice_is(json_in_text_of(reply.json, "state"), "deferred"));
    reply_done(&reply);
    world_ask(world, &(Ask){ "PATCH", path, "", SLICE_LITERAL("{\"type\":\"x\"}") },
              &reply);
    expect_problem(&reply, 422, "read_only_field");
    reply_done(&reply);
    world_ask(world, &(Ask){ "DELETE", path, "", NOTHING }, &reply);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    world_get(world, path, &reply);
    expect_problem(&reply, 404, "job_not_found");
    reply_done(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_job_is_added_and_shown),
        TEST(a_type_without_handler_is_blocked),
        TEST(lines_are_answered_one_by_one),
        TEST(many_jobs_come_in_order),
        TEST(an_empty_array_adds_nothing),
        TEST(a_key_makes_a_repeat_harmless),
        TEST(a_key_works_for_many_jobs_too),
        TEST(waiting_gives_the_job_and_its_result),
        TEST(a_full_journal_is_told),
        TEST(only_json_and_xml_are_taken),
        TEST(each_line_is_a_payload),
        TEST(bad_lines_are_refused),
        TEST(jobs_are_held_released_and_ended),
        TEST(what_makes_no_sense_names_what_does),
        TEST(a_waiting_job_can_be_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
