/* SPDX-License-Identifier: Apache-2.0 */
/* job_json_test.c - jobs to JSON and back; what a client may not send. */
#include "model/job_json.h"

#include "base/text.h"
#include "core/handler.h"
#include "model/job_read.h"
#include "json/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW_MS 1790000000000LL

static const JobRules rules = {
    .tenant = { "default", 7 },
    .wall_ms = NOW_MS,
    .payload_bytes_max = 1000,
};

static Err read_text(JobReader *reader, Arena *arena, const char *text)
{
    const JsonIn *value;
    *reader = (JobReader){ .rules = &rules, .arena = arena };
    Err err = json_in_load(slice_text(text), arena, &value, NULL);
    assert_int_equal(err, ERR_OK);
    return job_read(reader, value);
}

static void a_bare_command_gets_type_run_and_no_retries(void **state)
{
    (void)state;
    Arena arena = { 0 };
    JobReader reader;
    assert_int_equal(read_text(&reader, &arena, "{\"command\":[\"echo\",\"\",\"a b\"]}"),
                     ERR_OK);
    assert_true(slice_is(reader.job.type, "run"));
    assert_null(reader.job.queue.data); /* the core fills in what is left open */
    assert_true(slice_is(reader.job.tenant, "default"));
    assert_int_equal(reader.job.max_retries, 0);
    assert_true(slice_equal(reader.job.command, SLICE_LITERAL("echo\0\0a b\0")));
    assert_true(reader.job.priority == PRIORITY_UNSET);

    assert_int_equal(
        read_text(&reader, &arena, "{\"command\":[\"x\"],\"retry_delay\":\"PT0.2S\"}"),
        ERR_OK);
    assert_int_equal(reader.job.max_retries, RETRIES_UNSET);
    assert_int_equal(reader.job.retry_delay_ms, 200);
    assert_int_equal(read_text(&reader, &arena, "{\"type\":\"mail\"}"), ERR_OK);
    assert_int_equal(reader.job.max_retries, RETRIES_OPEN);
    arena_done(&arena);
}

static void every_field_is_read(void **state)
{
    (void)state;
    Arena arena = { 0 };
    JobReader reader;
    Err err = read_text(
        &reader, &arena,
        "{\"tenant\":\"acme\",\"type\":\"mail.send\",\"queue\":\"a/b\",\"priority\":-3,"
        "\"payload_base64\":\"AP8K\",\"run_at\":\"2030-01-01T00:00:00+01:00\","
        "\"max_retries\":2,\"retry_delay\":0,\"retry_window\":\"none\","
        "\"max_run_time\":\"1h30m\",\"service_time\":2.5,\"held\":true,"
        "\"tags\":[\"a\",\"b c\"],\"name\":\"n\xc3\xa4me\",\"env\":{\"A\":\"1=2\"},"
        "\"cwd\":\"/tmp\",\"protocol\":true,\"files\":true,\"keep_state\":true,"
        "\"children\":\"immediate\",\"document_uri\":\"/d\",\"param\":\"<p>\\n</p>\","
        "\"then\":\"publish\",\"on_error\":\"alarm\",\"after\":[],\"unique\":null,"
        "\"delay\":null,\"resources\":{}}");
    assert_int_equal(err, ERR_OK);
    const Job *job = &reader.job;
    assert_true(slice_is(job->tenant, "acme"));
    assert_true(slice_is(job->type, "mail.send"));
    assert_true(slice_is(job->then, "publish"));
    assert_true(slice_is(job->on_error, "alarm"));
    assert_true(slice_is(job->queue, "a/b"));
    assert_int_equal(job->priority, -3);
    assert_true(slice_equal(job->payload, SLICE_LITERAL("\0\xff\n")));
    assert_true(job->run_at_ms == 1893452400000);
    assert_int_equal(job->max_retries, 2);
    assert_int_equal(job->retry_delay_ms, 1); /* 0 would mean the default */
    assert_int_equal(job->retry_window_ms, -1);
    assert_int_equal(job->max_run_ms, 5400000);
    assert_int_equal(job->service_ms, 2500);
    assert_int_equal(job->state, JOB_HELD);
    assert_true(slice_equal(job->tags, SLICE_LITERAL("a\0b c\0")));
    assert_true(slice_equal(job->env, SLICE_LITERAL("A=1=2\0")));
    assert_int_equal(job->flags, JOB_BINARY | JOB_PROTOCOL | JOB_FILES | JOB_KEEP_STATE);
    assert_int_equal(read_text(&reader, &arena,
                               "{\"type\":\"t\",\"env\":[\"A=\",\"B=x\"],\"delay\":90}"),
                     ERR_OK);
    assert_true(slice_equal(reader.job.env, SLICE_LITERAL("A=\0B=x\0")));
    assert_true(reader.job.run_at_ms == NOW_MS + 90000);
    arena_done(&arena);
}

typedef struct BadCase {
    const char *text;
    const char *code;
    const char *pointer;
    const char *hint; /* part of it, or NULL */
} BadCase;

static const BadCase bad_cases[] = {
    { "{}", "missing_field", "/type", NULL },
    { "[]", "wrong_type", "", NULL },
    { "{\"type\":\"t\",\"prioritiy\":1}", "unknown_field", "/prioritiy", "'priority'" },
    { "{\"type\":\"t\",\"a/b~c\":1}", "unknown_field", "/a~1b~0c", NULL },
    { "{\"type\":1}", "wrong_type", "/type", NULL },
    { "{\"type\":\"\"}", "invalid_name", "/type", NULL },
    { "{\"type\":\"a\\nb\"}", "invalid_name", "/type", NULL },
    { "{\"type\":\"a\\u0000b\"}", "invalid_name", "/type", NULL },
    { "{\"type\":\"../x\"}", "invalid_name", "/type", NULL },
    { "{\"type\":\"t\",\"queue\":\"a/../b\"}", "invalid_name", "/queue", "'..'" },
    { "{\"type\":\"t\",\"tenant\":\"api\"}", "invalid_name", "/tenant", "reserved" },
    { "{\"type\":\"t\",\"priority\":2147483648}", "invalid_value", "/priority", NULL },
    { "{\"type\":\"t\",\"priority\":1.5}", "wrong_type", "/priority", NULL },
    { "{\"type\":\"t\",\"priority\":\"5\"}", "wrong_type", "/priority", NULL },
    { "{\"type\":\"t\",\"payload\":{\"a\":1}}", "wrong_type", "/payload", "text" },
    { "{\"type\":\"t\",\"payload_base64\":\"AP8\"}", "invalid_value", "/payload_base64",
      NULL },
    { "{\"type\":\"t\",\"payload_base64\":\"A=8=\"}", "invalid_value", "/payload_base64",
      NULL },
    { "{\"type\":\"t\",\"payload\":\"a\",\"payload_base64\":\"AA==\"}",
      "conflicting_fields", "/payload_base64", NULL },
    { "{\"type\":\"t\",\"run_at\":\"tomorrow\"}", "invalid_value", "/run_at",
      "RFC 3339" },
    { "{\"type\":\"t\",\"run_at\":\"3000-01-01T00:00:00Z\"}", "invalid_value", "/run_at",
      NULL },
    { "{\"type\":\"t\",\"run_at\":\"2030-01-01T00:00:00Z\",\"delay\":1}",
      "conflicting_fields", "/delay", NULL },
    { "{\"type\":\"t\",\"delay\":-1}", "invalid_value", "/delay", NULL },
    { "{\"type\":\"t\",\"delay\":\"1 month\"}", "invalid_value", "/delay", NULL },
    { "{\"type\":\"t\",\"delay\":true}", "wrong_type", "/delay", NULL },
    { "{\"type\":\"t\",\"max_retries\":-1}", "invalid_value", "/max_retries", NULL },
    { "{\"type\":\"t\",\"held\":1}", "wrong_type", "/held", NULL },
    { "{\"type\":\"t\",\"tags\":\"a\"}", "wrong_type", "/tags", NULL },
    { "{\"type\":\"t\",\"tags\":[\"a\",\"b,c\"]}", "invalid_value", "/tags/1", NULL },
    { "{\"type\":\"t\",\"tags\":[1]}", "wrong_type", "/tags/0", NULL },
    { "{\"type\":\"t\",\"name\":\"a\\nb\"}", "invalid_value", "/name", NULL },
    { "{\"command\":[]}", "invalid_value", "/command", NULL },
    { "{\"command\":[\"\"]}", "invalid_value", "/command", NULL },
    { "{\"command\":\"ls\"}", "wrong_type", "/command", NULL },
    { "{\"command\":[\"a\\u0000b\"]}", "invalid_value", "/command/0", NULL },
    { "{\"command\":[\"a\"],\"env\":{\"A=B\":\"1\"}}", "invalid_value", "/env/A=B",
      NULL },
    { "{\"command\":[\"a\"],\"env\":{\"A\":1}}", "wrong_type", "/env/A", NULL },
    { "{\"command\":[\"a\"],\"env\":[\"A\"]}", "invalid_value", "/env/0", NULL },
    { "{\"command\":[\"a\"],\"env\":[\"A=1\",\"A=2\"]}", "invalid_value", "/env", NULL },
    { "{\"command\":[\"a\"],\"cwd\":\"tmp\"}", "invalid_value", "/cwd", NULL },
    { "{\"type\":\"t\",\"children\":\"soon\"}", "invalid_value", "/children", NULL },
    { "{\"type\":\"t\",\"after\":[\"x\"]}", "invalid_value", "/after", NULL },
    { "{\"type\":\"t\",\"unique\":{\"key\":\"\"}}", "invalid_value", "/unique", NULL },
    { "{\"type\":\"t\",\"user\":\"root\"}", "run_as_not_allowed", "/user", NULL },
    { "{\"type\":\"t\",\"group\":\"a b\"}", "invalid_name", "/group", NULL },
    { "{\"type\":\"t\",\"then\":\"a b\"}", "invalid_name", "/then", NULL },
    { "{\"type\":\"t\",\"on_error\":1}", "wrong_type", "/on_error", NULL },
    { "{\"type\":\"t\",\"resources\":{\"a\":-1}}", "invalid_value", "/resources/a",
      NULL },
    { "{\"type\":\"t\",\"id\":\"x\"}", "read_only_field", "/id", NULL },
    { "{\"type\":\"t\",\"state\":null}", "read_only_field", "/state", NULL },
};

static void what_is_wrong_is_pointed_at(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
        const BadCase *bad = &bad_cases[i];
        Arena arena = { 0 };
        JobReader reader;
        if (!read_text(&reader, &arena, bad->text))
            fail_msg("accepted: %s", bad->text);
        if (strcmp(reader.why.kind->code, bad->code) != 0 ||
            strcmp(reader.why.pointer, bad->pointer) != 0 ||
            (bad->hint && !strstr(reader.why.hint, bad->hint)))
            fail_msg("%s: %s at %s (%s; %s)", bad->text, reader.why.kind->code,
                     reader.why.pointer, reader.why.detail, reader.why.hint);
        assert_true(reader.why.detail[0] != '\0');
        arena_done(&arena);
    }
}

static void lengths_are_bounded(void **state)
{
    (void)state;
    Buf text = { 0 };
    Arena arena = { 0 };
    JobReader reader;
    buf_add_text(&text, "{\"type\":\"t\",\"name\":\"");
    for (int i = 0; i < JOB_NAME_MAX; i++)
        buf_add_char(&text, 'n');
    buf_add_text(&text, "\"}");
    assert_int_equal(read_text(&reader, &arena, buf_cstr(&text)), ERR_OK);
    text.bytes -= 2;
    buf_add_text(&text, "n\"}");
    assert_int_equal(read_text(&reader, &arena, buf_cstr(&text)), ERR_INVALID);

    buf_clear(&text);
    buf_add_text(&text, "{\"type\":\"t\",\"payload\":\"");
    for (uint64_t i = 0; i <= rules.payload_bytes_max; i++)
        buf_add_char(&text, 'p');
    buf_add_text(&text, "\"}");
    assert_int_equal(read_text(&reader, &arena, buf_cstr(&text)), ERR_INVALID);
    assert_int_equal(reader.why.kind->status, 413);
    arena_done(&arena);
    buf_done(&text);
}

/* Keeps of a job's own JSON what a client may send, and reads it again. */
static void a_job_survives_its_json(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Job job = job_default();
    job.id = 1234567890123456789;
    job.tenant = SLICE_LITERAL("acme");
    job.type = SLICE_LITERAL("mail");
    job.queue = SLICE_LITERAL("q");
    job.priority = -9;
    job.payload = SLICE_LITERAL("line\n\"quoted\" \xe2\x82\xac\0nul");
    job.run_at_ms = NOW_MS + 5;
    job.retry_delay_ms = 200;
    job.retry_window_ms = -1;
    job.max_retries = 3;
    job.max_run_ms = 61001;
    job.tags = SLICE_LITERAL("a\0b\0");
    job.env = SLICE_LITERAL("A=1\0B==\0");
    job.command = SLICE_LITERAL("sh\0-c\0exit 3\0");
    job.cwd = SLICE_LITERAL("/");
    job.name = SLICE_LITERAL("a name");
    job.flags = JOB_PROTOCOL;
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    job_json(&json, NULL, &job);

    const JsonIn *object;
    assert_int_equal(json_in_load(buf_slice(&out), &arena, &object, NULL), ERR_OK);
    size_t count;
    const JobField *fields = job_fields(&count);
    JsonIn sent = { .kind = JSON_IN_OBJECT };
    JsonIn **last = &sent.as.items.first;
    for (size_t i = 0; i < count; i++) {
        const JsonIn *value = json_in_find(object, fields[i].name);
        bool other_payload = strcmp(fields[i].name, "payload_base64") == 0;
        if (!value && !other_payload)
            fail_msg("the job object lacks %s", fields[i].name);
        if (!value || !fields[i].client)
            continue;
        JsonIn *copy = ARENA_NEW(&arena, JsonIn);
        *copy = *value;
        copy->next = NULL;
        *last = copy;
        last = &copy->next;
        sent.as.items.count++;
    }
    JobReader reader = { .rules = &rules, .arena = &arena };
    assert_int_equal(job_read(&reader, &sent), ERR_OK);
    Buf before = { 0 };
    Buf after = { 0 };
    job.id = 0;
    job_pack(&before, &job);
    job_pack(&after, &reader.job);
    assert_true(slice_equal(buf_slice(&before), buf_slice(&after)));
    buf_done(&before);
    buf_done(&after);
    buf_done(&out);
    arena_done(&arena);
}

static void bytes_that_are_no_text_become_base64(void **state)
{
    (void)state;
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    Arena arena = { 0 };
    Job job = job_default();
    job.payload = SLICE_LITERAL("\xff\xfe");
    job.state = JOB_RUNNING;
    job.started_ms = NOW_MS;
    job.service_ms = 1000;
    job_json(&json, NULL, &job);
    const JsonIn *object;
    assert_int_equal(json_in_load(buf_slice(&out), &arena, &object, NULL), ERR_OK);
    assert_null(json_in_find(object, "payload"));
    Slice bytes;
    assert_int_equal(
        base64_decode(json_in_text_of(object, "payload_base64"), &arena, &bytes), ERR_OK);
    assert_true(slice_equal(bytes, job.payload));
    char text[TIME_TEXT_BYTES];
    assert_true(slice_is(json_in_text_of(object, "expected_finish_at"),
                         time_text(NOW_MS + 1000, text)));
    assert_int_equal(json_in_find(object, "exit_status")->kind, JSON_IN_NULL);
    buf_done(&out);
    arena_done(&arena);
}

static void patches_change_only_what_they_may(void **state)
{
    (void)state;
    Arena arena = { 0 };
    JobReader reader = { .rules = &rules, .arena = &arena };
    const JsonIn *value;
    Patch patch;
    assert_int_equal(json_in_load(SLICE_LITERAL("{\"priority\":7,\"tags\":[\"x\"],"
                                                "\"max_run_time\":null}"),
                                  &arena, &value, NULL),
                     ERR_OK);
    assert_int_equal(patch_read(&reader, value, &patch), ERR_OK);
    assert_int_equal(patch.fields, FIELD_PRIORITY | FIELD_TAGS | FIELD_MAX_RUN);
    assert_int_equal(patch.priority, 7);
    assert_int_equal(patch.max_run_ms, 0);
    static const char *const bad[] = {
        "{}",           "{\"type\":\"x\"}",     "{\"id\":1}",
        "{\"prio\":1}", "{\"priority\":\"x\"}", "[]"
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(json_in_load(slice_text(bad[i]), &arena, &value, NULL), ERR_OK);
        assert_int_equal(patch_read(&reader, value, &patch), ERR_INVALID);
    }
    arena_done(&arena);
}

static void parameters_are_read_like_fields(void **state)
{
    (void)state;
    Arena arena = { 0 };
    JobReader reader = { .rules = &rules, .arena = &arena };
    job_read_begin(&reader);
    static const char *const good[][2] = { { "priority", "-2" },
                                           { "max_retries", "1" },
                                           { "retry_delay", "PT0.2S" },
                                           { "held", "true" },
                                           { "at", "2030-01-01T00:00:00Z" } };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(
            job_read_param(&reader, slice_text(good[i][0]), slice_text(good[i][1])),
            ERR_OK);
    assert_int_equal(reader.job.priority, -2);
    assert_int_equal(reader.job.max_retries, 1);
    assert_int_equal(reader.job.retry_delay_ms, 200);
    assert_int_equal(reader.job.state, JOB_HELD);
    assert_true(reader.job.run_at_ms > NOW_MS);
    static const char *const bad[][2] = { { "priority", "x" }, { "prio", "1" },
                                          { "held", "maybe" }, { "tags", "a" },
                                          { "payload", "x" },  { "id", "1" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(
            job_read_param(&reader, slice_text(bad[i][0]), slice_text(bad[i][1])),
            ERR_INVALID);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bare_command_gets_type_run_and_no_retries),
        cmocka_unit_test(every_field_is_read),
        cmocka_unit_test(what_is_wrong_is_pointed_at),
        cmocka_unit_test(lengths_are_bounded),
        cmocka_unit_test(a_job_survives_its_json),
        cmocka_unit_test(bytes_that_are_no_text_become_base64),
        cmocka_unit_test(patches_change_only_what_they_may),
        cmocka_unit_test(parameters_are_read_like_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
