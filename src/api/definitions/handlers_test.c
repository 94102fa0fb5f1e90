/* SPDX-License-Identifier: Apache-2.0 */
/* handlers_test.c - handlers over the API and the founding paths, as a client sees
 * them. */
#include "api/definitions/handlers.h"

#include "model/handler_json.h"
#include "noun/work.h"
#include "testing/world_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define HANDLERS   "/api/v1/handlers"
#define JSON       "Content-Type: application/json\r\n"

/* --- Helpers ----------------------------------------------------------------------- */

static void ask(World *world, const char *method, const char *path, const char *body,
                Reply *out)
{
    world_ask(world, &(Ask){ method, path, "", slice_text(body) }, out);
}

/* Asks and expects a status; what was answered is dropped. */
static void must(World *world, const char *method, const char *path, const char *body,
                 int status)
{
    Reply reply;
    ask(world, method, path, body, &reply);
    if (reply.status != status)
        fail_msg("%s %s: %d " SLICE_FMT, method, path, reply.status,
                 SLICE_ARG(buf_slice(&reply.body)));
    reply_done(&reply);
}

static void refused(World *world, const char *method, const char *path, const char *body,
                    const char *code)
{
    Reply reply;
    ask(world, method, path, body, &reply);
    expect_problem(&reply, problem_find(code)->status, code);
    reply_done(&reply);
}

static void expect_text(const Reply *reply, const char *field, const char *text)
{
    if (!slice_is(json_in_text_of(reply->json, field), text))
        fail_msg("%s is not %s: " SLICE_FMT, field, text,
                 SLICE_ARG(buf_slice(&reply->body)));
}

static int64_t version_of(World *world, const char *path)
{
    Reply reply;
    ask(world, "GET", path, "", &reply);
    int64_t version = json_in_int_of(reply.json, "version", -1);
    reply_done(&reply);
    return version;
}

/* --- Stories ----------------------------------------------------------------------- */

/* S2.80, S2.81, S2.94 - S2.104 */
static void a_handler_is_set_and_shown(void **state)
{
    World *world = *state;
    Reply reply;
    ask(world, "PUT", HANDLERS "/resize",
        "{\"lang\":\"sh\",\"body\":\"cat\\n\",\"eid\":\"e1\",\"before\":\"a\","
        "\"beforeEach\":\"b\",\"afterEach\":\"c\",\"queue\":\"pictures\",\"priority\":7,"
        "\"max_run_time\":\"PT1M\",\"service_time\":\"PT10S\",\"max_retries\":2,"
        "\"retry_delay\":\"PT0.2S\",\"retry_window\":\"none\",\"env\":{\"A\":\"1\"},"
        "\"cwd\":\"/tmp\",\"then\":\"publish\",\"on_error\":\"alarm\","
        "\"exit_map\":{\"3\":400,\"0\":201},\"keep_result\":false,\"keep_state\":true,"
        "\"files\":true,\"children\":\"immediate\",\"batch\":0,\"highlander\":false,"
        "\"resources\":{},\"user\":null}",
        &reply);
    assert_int_equal(reply.status, 201);
    assert_string_equal(reply_header(&reply, "Location"), HANDLERS "/resize");
    Reply shown;
    ask(world, "GET", HANDLERS "/resize", "", &shown);
    assert_int_equal(shown.status, 200);
    assert_true(slice_equal(buf_slice(&shown.body), buf_slice(&reply.body)));
    for (size_t i = 0; i < handler_noun.count; i++) {
        const Field *field = &handler_noun.fields[i];
        if (field->name && !json_in_find(shown.json, field->name))
            fail_msg("the handler lacks %s", field->name);
    }
    expect_text(&shown, "id", "default/resize@1");
    expect_text(&shown, "tenant", "default");
    expect_text(&shown, "lang", "sh");
    expect_text(&shown, "body", "cat\n");
    expect_text(&shown, "eid", "e1");
    expect_text(&shown, "before", "a");
    expect_text(&shown, "beforeEach", "b");
    expect_text(&shown, "afterEach", "c");
    expect_text(&shown, "queue", "pictures");
    expect_text(&shown, "max_run_time", "PT1M");
    expect_text(&shown, "retry_delay", "PT0.2S");
    expect_text(&shown, "retry_window", "none");
    expect_text(&shown, "then", "publish");
    expect_text(&shown, "on_error", "alarm");
    expect_text(&shown, "children", "immediate");
    assert_int_equal(json_in_int_of(shown.json, "priority", 0), 7);
    assert_int_equal(json_in_int_of(shown.json, "max_retries", 0), 2);
    const JsonIn *map = json_in_find(shown.json, "exit_map");
    assert_int_equal(json_in_int_of(map, "3", 0), 400);
    assert_int_equal(json_in_int_of(map, "0", 0), 201);
    assert_true(json_in_bool_of(shown.json, "enabled", false));
    assert_false(json_in_bool_of(shown.json, "keep_result", true));
    /* What we show can be sent back, and is the same but for its version. */
    Reply again;
    world_ask(world, &(Ask){ "PUT", HANDLERS "/resize", JSON, buf_slice(&shown.body) },
              &again);
    assert_int_equal(again.status, 200);
    expect_text(&again, "id", "default/resize@2");
    expect_text(&again, "body", "cat\n");
    reply_done(&again);
    reply_done(&shown);
    reply_done(&reply);
}

static void what_is_left_out_has_its_default(void **state)
{
    World *world = *state;
    Reply reply;
    ask(world, "PUT", HANDLERS "/resize", "{\"body\":\"true\"}", &reply);
    assert_int_equal(reply.status, 201);
    expect_text(&reply, "lang", "sh");
    static const char *const unset[] = { "queue",       "priority",     "max_retries",
                                         "retry_delay", "max_run_time", "then",
                                         "eid",         "cwd",          "children" };
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        assert_int_equal(json_in_find(reply.json, unset[i])->kind, JSON_IN_NULL);
    assert_true(json_in_bool_of(reply.json, "keep_result", false));
    reply_done(&reply);
}

static void what_makes_no_sense_is_refused(void **state)
{
    World *world = *state;
    static const struct {
        const char *body;
        const char *code;
        const char *pointer; /* NULL: none is expected */
    } table[] = {
        { "", "empty_body", NULL },
        { "{", "malformed_json", NULL },
        { "[]", "wrong_type", NULL },
        { "{}", "missing_field", "/body" },
        { "{\"lang\":\"sh\"}", "missing_field", "/body" },
        { "{\"lang\":\"sh\",\"body\":\"\"}", "missing_field", "/body" },
        { "{\"lang\":\"cobol\",\"body\":\"x\"}", "invalid_value", "/lang" },
        { "{\"lang\":1,\"body\":\"x\"}", "wrong_type", "/lang" },
        { "{\"lang\":\"exec\",\"body\":\"x\",\"batch\":-1}", "invalid_value", "/batch" },
        { "{\"lang\":\"exec\",\"body\":\"x\",\"batch\":10001}", "invalid_value",
          "/batch" },
        { "{\"lang\":\"exec\",\"body\":\"x\",\"batch\":true}", "wrong_type", "/batch" },
        { "{\"lang\":\"http\",\"body\":\"ftp://x\"}", "invalid_value", "/body" },
        { "{\"lang\":\"http\",\"body\":\"http://x/\",\"batch\":401}", "invalid_value",
          "/batch" },
        { "{\"lang\":\"pull\",\"body\":\"x\"}", "conflicting_fields", "/body" },
        { "{\"lang\":\"exec\",\"body\":\"'open\"}", "invalid_value", "/body" },
        { "{\"lang\":\"exec\",\"body\":\" \"}", "invalid_value", "/body" },
        { "{\"lang\":\"exec\",\"body\":\"[1]\"}", "invalid_value", "/body" },
        { "{\"body\":\"a\\u0000b\"}", "invalid_value", "/body" },
        { "{\"body\":[\"x\"]}", "wrong_type", "/body" },
        { "{\"bdy\":\"x\"}", "unknown_field", "/bdy" },
        { "{\"body\":\"x\",\"payload\":\"y\"}", "unknown_field", "/payload" },
        { "{\"body\":\"x\",\"queue\":\"a b\"}", "invalid_name", "/queue" },
        { "{\"body\":\"x\",\"then\":\"a b\"}", "invalid_name", "/then" },
        { "{\"body\":\"x\",\"on_error\":\"\"}", "invalid_name", "/on_error" },
        { "{\"body\":\"x\",\"eid\":\"a b\"}", "invalid_name", "/eid" },
        { "{\"body\":\"x\",\"priority\":\"high\"}", "wrong_type", "/priority" },
        { "{\"body\":\"x\",\"max_retries\":-1}", "invalid_value", "/max_retries" },
        { "{\"body\":\"x\",\"env\":[\"1=2\"]}", "invalid_value", "/env/0" },
        { "{\"body\":\"x\",\"exit_map\":[]}", "wrong_type", "/exit_map" },
        { "{\"body\":\"x\",\"exit_map\":{\"256\":200}}", "invalid_value", "/exit_map" },
        { "{\"body\":\"x\",\"exit_map\":{\"x\":200}}", "invalid_value", "/exit_map" },
        { "{\"body\":\"x\",\"exit_map\":{\"1\":99}}", "invalid_value", "/exit_map" },
        { "{\"body\":\"x\",\"exit_map\":{\"1\":\"200\"}}", "invalid_value", "/exit_map" },
        { "{\"body\":\"x\",\"keep_result\":1}", "wrong_type", "/keep_result" },
        { "{\"body\":\"x\",\"enabled\":null}", NULL, NULL },
        { "{\"body\":\"x\",\"highlander\":1}", "wrong_type", "/highlander" },
        { "{\"body\":\"x\",\"resources\":{\"k\":\"x\"}}", "wrong_type", "/resources/k" },
        { "{\"body\":\"x\",\"user\":\"root\"}", "run_as_not_allowed", "/user" },
        { "{\"body\":\"x\",\"type\":\"other\"}", "conflicting_fields", "/type" },
        { "{\"body\":\"x\",\"tenant\":\"other\"}", "conflicting_fields", "/tenant" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Reply reply;
        ask(world, "PUT", HANDLERS "/t", table[i].body, &reply);
        if (!table[i].code) {
            assert_int_equal(reply.status, 201);
        } else {
            expect_problem(&reply, problem_find(table[i].code)->status, table[i].code);
            if (table[i].pointer)
                expect_text(&reply, "pointer", table[i].pointer);
        }
        reply_done(&reply);
    }
}

static void names_are_checked_and_near_ones_offered(void **state)
{
    World *world = *state;
    Reply reply;
    ask(world, "PUT", HANDLERS "/t", "{\"bodi\":\"x\"}", &reply);
    expect_text(&reply, "hint", "did you mean 'body'?");
    reply_done(&reply);
    ask(world, "PUT", HANDLERS "/t", "{\"lang\":\"bsh\",\"body\":\"x\"}", &reply);
    assert_true(json_in_text_of(reply.json, "hint").bytes > 0);
    reply_done(&reply);
    refused(world, "PUT", HANDLERS "/a%20b", "{\"body\":\"x\"}", "invalid_name");
    refused(world, "PUT", HANDLERS "/t?tenant=api", "{\"body\":\"x\"}", "invalid_name");
    refused(world, "POST", HANDLERS "/t", "{}", "method_not_allowed");
}

static void a_body_over_the_limit_is_refused(void **state)
{
    World *world = *state;
    Buf body = { 0 };
    buf_add_text(&body, "{\"body\":\"");
    for (size_t i = 0; i <= JOB_ARG_BYTES_MAX; i++)
        buf_add_char(&body, 'x');
    buf_add_text(&body, "\"}");
    Reply reply;
    world_ask(world, &(Ask){ "PUT", HANDLERS "/t", "", buf_slice(&body) }, &reply);
    expect_problem(&reply, 413, "handler_too_large");
    reply_done(&reply);
    memcpy(body.data + body.bytes - 3, "\"} ", 3); /* one less fits */
    world_ask(world, &(Ask){ "PUT", HANDLERS "/t", "", buf_slice(&body) }, &reply);
    assert_int_equal(reply.status, 201);
    reply_done(&reply);
    buf_done(&body);
}

/* S2.96, S2.79 */
static void versions_are_kept_and_come_back(void **state)
{
    World *world = *state;
    must(world, "PUT", HANDLERS "/resize", "{\"body\":\"one\"}", 201);
    must(world, "PUT", HANDLERS "/resize", "{\"body\":\"two\"}", 200);
    must(world, "PUT", HANDLERS "/other", "{\"body\":\"other\"}", 201);
    refused(world, "POST", HANDLERS "/other/rollback", "", "version_not_found");
    refused(world, "POST", HANDLERS "/resize/rollback", "{\"version\":9}",
            "version_not_found");
    refused(world, "POST", HANDLERS "/resize/rollback", "{\"version\":0}",
            "invalid_value");
    refused(world, "POST", HANDLERS "/resize/rollback", "{\"verion\":1}",
            "unknown_field");
    refused(world, "POST", HANDLERS "/nothing/rollback", "{}", "handler_not_found");
    Reply reply;
    ask(world, "POST", HANDLERS "/resize/rollback", "", &reply); /* the one before */
    assert_int_equal(reply.status, 200);
    expect_text(&reply, "body", "one");
    assert_int_equal(json_in_int_of(reply.json, "version", 0), 3);
    reply_done(&reply);
    ask(world, "POST", HANDLERS "/resize/rollback", "{\"version\":2}", &reply);
    expect_text(&reply, "body", "two");
    assert_int_equal(json_in_int_of(reply.json, "version", 0), 4);
    reply_done(&reply);
    for (int page = 0; page < 2; page++) {
        static const char *const bodies[] = { "two", "one", "two", "one" };
        char path[128];
        snprintf(path, sizeof path, HANDLERS "/resize/versions?limit=3%s",
                 page ? "&cursor=2" : "");
        ask(world, "GET", path, "", &reply);
        assert_int_equal(reply.status, 200);
        const JsonIn *item = json_in_first(json_in_find(reply.json, "items"));
        int number = page ? 3 : 0;
        for (; item; item = item->next, number++) {
            assert_int_equal(json_in_int_of(item, "version", 0), 4 - number);
            assert_true(slice_is(json_in_text_of(item, "body"), bodies[number]));
        }
        assert_int_equal(number, page ? 4 : 3);
        assert_true(
            slice_is(json_in_text_of(reply.json, "next_cursor"), page ? "" : "2"));
        reply_done(&reply);
    }
    refused(world, "GET", HANDLERS "/nothing/versions", "", "handler_not_found");
}

/* S2.82 */
static void a_deleted_handler_is_gone_but_not_its_versions(void **state)
{
    World *world = *state;
    refused(world, "DELETE", HANDLERS "/resize", "", "handler_not_found");
    must(world, "PUT", HANDLERS "/resize", "{\"body\":\"one\"}", 201);
    must(world, "DELETE", HANDLERS "/resize", "", 200);
    refused(world, "GET", HANDLERS "/resize", "", "handler_not_found");
    refused(world, "DELETE", HANDLERS "/resize", "", "handler_not_found");
    refused(world, "POST", HANDLERS "/resize/enable", "", "handler_not_found");
    must(world, "GET", HANDLERS "/resize/versions", "", 200);
    must(world, "POST", HANDLERS "/resize/rollback", "", 200); /* undoes it */
    assert_int_equal(version_of(world, HANDLERS "/resize"), 2);
    must(world, "DELETE", HANDLERS "/resize", "", 200);
    must(world, "PUT", HANDLERS "/resize", "{\"body\":\"one\"}", 201);
    assert_int_equal(version_of(world, HANDLERS "/resize"), 3);
}

static void a_handler_is_switched_off_and_on(void **state)
{
    World *world = *state;
    refused(world, "POST", HANDLERS "/resize/disable", "", "handler_not_found");
    must(world, "PUT", HANDLERS "/resize", "{\"body\":\"one\"}", 201);
    for (int on = 0; on < 2; on++) {
        Reply reply;
        ask(world, "POST", on ? HANDLERS "/resize/enable" : HANDLERS "/resize/disable",
            "{}", &reply);
        assert_int_equal(reply.status, 200);
        assert_int_equal(json_in_bool_of(reply.json, "enabled", !on), on);
        assert_int_equal(json_in_int_of(reply.json, "version", 0), 1);
        expect_text(&reply, "body", "one");
        reply_done(&reply);
    }
    refused(world, "POST", HANDLERS "/resize/enable", "{\"x\":1}", "unknown_field");
    must(world, "PUT", HANDLERS "/resize", "{\"body\":\"two\",\"enabled\":false}", 200);
    must(world, "POST", HANDLERS "/resize/rollback", "", 200); /* and stays off */
    Reply reply;
    ask(world, "GET", HANDLERS "/resize", "", &reply);
    assert_false(json_in_bool_of(reply.json, "enabled", true));
    reply_done(&reply);
}

static void handlers_are_listed_in_pages(void **state)
{
    World *world = *state;
    static const char *const types[] = { "b", "a.x", "c", "a" };
    static const char *const sorted[] = { "a", "a.x", "c" };
    char path[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, HANDLERS "/%s", types[i]);
        must(world, "PUT", path, "{\"body\":\"x\"}", 201);
    }
    must(world, "PUT", HANDLERS "/z?tenant=acme", "{\"body\":\"x\"}", 201);
    must(world, "DELETE", HANDLERS "/b", "", 200);
    size_t number = 0;
    snprintf(path, sizeof path, HANDLERS "?limit=2");
    for (int page = 0; page < 2; page++) {
        Reply reply;
        ask(world, "GET", path, "", &reply);
        assert_int_equal(reply.status, 200);
        const JsonIn *item = json_in_first(json_in_find(reply.json, "items"));
        for (; item; item = item->next)
            assert_true(slice_is(json_in_text_of(item, "type"), sorted[number++]));
        snprintf(path, sizeof path, HANDLERS "?limit=2&cursor=" SLICE_FMT,
                 SLICE_ARG(json_in_text_of(reply.json, "next_cursor")));
        assert_int_equal(json_in_find(reply.json, "next_cursor")->kind,
                         page ? JSON_IN_NULL : JSON_IN_TEXT);
        reply_done(&reply);
    }
    assert_int_equal(number, 3);
    refused(world, "GET", HANDLERS "?limit=0", "", "invalid_value");
    refused(world, "GET", HANDLERS "?type=a", "", "unknown_parameter");
}

/* S2.5, S2.95 */
static void tenants_have_handlers_of_their_own(void **state)
{
    World *world = *state;
    must(world, "PUT", HANDLERS "/resize?tenant=acme", "{\"body\":\"of acme\"}", 201);
    refused(world, "GET", HANDLERS "/resize", "", "handler_not_found");
    refused(world, "GET", "/beta/handler/resize", "", "handler_not_found");
    refused(world, "DELETE", "/beta/handler/resize", "", "handler_not_found");
    refused(world, "POST", HANDLERS "/resize/rollback?tenant=beta", "{\"version\":1}",
            "handler_not_found");
    refused(world, "GET", HANDLERS "/resize/versions?tenant=beta", "",
            "handler_not_found");
    Reply reply;
    ask(world, "GET", "/acme/handler/resize", "", &reply);
    expect_text(&reply, "body", "of acme");
    reply_done(&reply);
}

/* S2.60 - S2.62: the doubled words, and the short forms. */
static void the_founding_paths_do_the_same(void **state)
{
    World *world = *state;
    static const struct {
        const char *method;
        const char *add;
        const char *get;
        const char *delete_method;
        const char *delete;
    } table[] = {
        { "POST", "/acme/handler/add/t/add?method=bash", "/acme/handler/get/t", "POST",
          "/acme/handler/del/t/delete" },
        { "PUT", "/acme/handler/add/t/add?method=bash", "/acme/handler/get/t", "DELETE",
          "/acme/handler/del/t/delete" },
        { "PUT", "/acme/handler/t?method=bash", "/acme/handler/t", "DELETE",
          "/acme/handler/t" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Reply reply;
        ask(world, table[i].method, table[i].add, "cat\n# \xc3\xa4", &reply);
        assert_int_equal(reply.status, 200);
        assert_true(json_in_bool_of(reply.json, "ok", false));
        assert_int_equal(json_in_int_of(reply.json, "version", 0), i + 1);
        reply_done(&reply);
        ask(world, "GET", table[i].get, "", &reply);
        assert_int_equal(reply.status, 200);
        expect_text(&reply, "tenant", "acme");
        expect_text(&reply, "type", "t");
        expect_text(&reply, "lang", "bash");
        expect_text(&reply, "body", "cat\n# \xc3\xa4");
        reply_done(&reply);
        ask(world, table[i].delete_method, table[i].delete, "", &reply);
        assert_int_equal(reply.status, 200);
        assert_true(json_in_bool_of(reply.json, "ok", false));
        reply_done(&reply);
        refused(world, "GET", table[i].get, "", "handler_not_found");
    }
}

static void a_founding_handler_may_be_an_object(void **state)
{
    World *world = *state;
    Reply reply;
    Ask add = { "PUT", "/acme/handler/t?max_retries=3&queue=slow&keep_result=0",
                "Content-Type: application/json; charset=utf-8\r\n",
                SLICE_LITERAL("{\"lang\":\"exec\",\"body\":\"cat -n\",\"priority\":3}") };
    world_ask(world, &add, &reply);
    assert_int_equal(reply.status, 200);
    expect_text(&reply, "lang", "exec");
    expect_text(&reply, "queue", "slow");
    assert_int_equal(json_in_int_of(reply.json, "max_retries", 0), 3);
    assert_int_equal(json_in_int_of(reply.json, "priority", 0), 3);
    assert_false(json_in_bool_of(reply.json, "keep_result", true));
    reply_done(&reply);
    add.path = "/acme/handler/t?method=sh";
    world_ask(world, &add, &reply);
    expect_problem(&reply, 422, "conflicting_fields");
    reply_done(&reply);
    refused(world, "PUT", "/acme/handler/t?metod=sh", "x", "unknown_parameter");
    refused(world, "PUT", "/acme/handler/t?body=x", "x", "invalid_value");
    refused(world, "PUT", "/acme/handler/t?method=fortran", "x", "invalid_value");
    refused(world, "PUT", "/acme/handler/t?method=sh", "", "missing_field");
    must(world, "PUT", "/acme/handler/t?method=pull", "", 200); /* needs no body */
    refused(world, "PUT", "/acme/handler/t?batch=x", "x", "wrong_type");
    refused(world, "PUT", "/acme/handler/t?env=A", "x", "wrong_type");
    refused(world, "PUT", "/api/handler/t", "x", "invalid_name");
    refused(world, "GET", "/acme/handler/t?x=1", "", "unknown_parameter");
    Ask bytes = { "PUT", "/acme/handler/t", "", SLICE_LITERAL("\xff\xfe") };
    world_ask(world, &bytes, &reply);
    expect_problem(&reply, 422, "invalid_value");
    reply_done(&reply);
    bytes.body = SLICE_LITERAL("a\0b");
    world_ask(world, &bytes, &reply);
    expect_problem(&reply, 422, "invalid_value");
    reply_done(&reply);
}

/* S2.83: a job waits, it is said why, and the handler frees it. */
static void a_waiting_job_is_explained_and_freed(void **state)
{
    World *world = *state;
    JobId id = world_add(world, SLICE_LITERAL("{\"type\":\"resize\",\"tenant\":\"acme\","
                                              "\"then\":\"publish\"}"));
    expect_state(world, id, "blocked");
    char path[WORLD_PATH_BYTES];
    Reply reply;
    world_get(world, job_path(id, "/explain?tenant=acme", path), &reply);
    expect_text(&reply, "reason", "no_handler");
    Slice text = json_in_text_of(reply.json, "text");
    assert_true(slice_starts(text, SLICE_LITERAL("no handler for type resize;")));
    expect_text(&reply, "help",
                "pawl handler set resize --lang sh --file FILE --tenant acme");
    assert_int_equal(json_in_find(reply.json, "until")->kind, JSON_IN_TEXT);
    reply_done(&reply);
    must(world, "PUT", HANDLERS "/resize?tenant=acme",
         "{\"body\":\"x\",\"enabled\":false}", 201);
    world_get(world, job_path(id, "/explain?tenant=acme", path), &reply);
    expect_text(&reply, "reason", "handler_disabled");
    expect_text(&reply, "help", "pawl handler enable resize --tenant acme");
    reply_done(&reply);
    expect_state(world, id, "blocked");
    must(world, "POST", HANDLERS "/resize/enable?tenant=acme", "", 200);
    expect_state(world, id, "running");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_handler_is_set_and_shown),
        TEST(what_is_left_out_has_its_default),
        TEST(what_makes_no_sense_is_refused),
        TEST(names_are_checked_and_near_ones_offered),
        TEST(a_body_over_the_limit_is_refused),
        TEST(versions_are_kept_and_come_back),
        TEST(a_deleted_handler_is_gone_but_not_its_versions),
        TEST(a_handler_is_switched_off_and_on),
        TEST(handlers_are_listed_in_pages),
        TEST(tenants_have_handlers_of_their_own),
        TEST(the_founding_paths_do_the_same),
        TEST(a_founding_handler_may_be_an_object),
        TEST(a_waiting_job_is_explained_and_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
