/* SPDX-License-Identifier: Apache-2.0 */
/* describe_test.c - from options to a job object, and answers back into words. */
#include "cli/describe.h"

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/reply.h"
#include "cli/testing.h"
#include "cli/watch.h"

#include <stdio.h>
#include <unistd.h>

#define NOW_MS 1772715600000LL /* 2026-03-05T13:00:00Z */

static Cli given(char **words, int count)
{
    const Command *command = command_find("run");
    Cli cli = { .command = command, .json = true };
    for (size_t i = 0; command->options[i]; i++)
        cli.args.tables[i] = command->options[i];
    Error why;
    assert_int_equal(args_parse(&cli.args, count, words, &why), ERR_OK);
    return cli;
}

static int describe(char **words, int count, const char *except, Buf *out)
{
    Cli cli = given(words, count);
    Doc *doc = NULL;
    if (except)
        assert_int_equal(doc_parse(slice_text(except), &doc, NULL), ERR_OK);
    JsonOut json = { .out = out };
    json_object(&json, NULL);
    int code = describe_options(&cli, NOW_MS, doc, &json);
    json_object_end(&json);
    if (doc)
        doc_free(doc);
    args_done(&cli.args);
    return code;
}

#define OPTION(name)                                                                     \
    (char[])                                                                             \
    {                                                                                    \
        name                                                                             \
    }

static void options_become_fields(void **state)
{
    (void)state;
    Buf out = { 0 };
    char *words[] = {
        OPTION("-q"),
        OPTION("mail"),
        OPTION("-p-7"),
        OPTION("--at=2030-01-31T08:00:00Z"),
        OPTION("--retries=3"),
        OPTION("--retry-delay=0.2s"),
        OPTION("--max-run-time=90s"),
        OPTION("--name=N \"1\""),
        OPTION("-ta"),
        OPTION("-tb"),
        OPTION("--env=A=1=2"),
        OPTION("--env=B="),
        OPTION("--env=A=3"),
        OPTION("--resource=cpu=4"),
        OPTION("--resource=licence"),
        OPTION("--user=ann"),
        OPTION("--held"),
        OPTION("--protocol"),
        OPTION("--after=0123456789abc,0123456789abd:any"),
    };
    assert_int_equal(describe(words, sizeof words / sizeof *words, NULL, &out), 0);
    assert_string_equal(
        buf_cstr(&out),
        "{\"priority\":-7,\"max_retries\":3,\"run_at\":\"2030-01-31T08:00:00.000Z\","
        "\"retry_delay\":\"PT0.2S\",\"max_run_time\":\"PT1M30S\","
        "\"env\":{\"B\":\"\",\"A\":\"3\"},\"resources\":{\"cpu\":4,\"licence\":1},"
        "\"queue\":\"mail\",\"name\":\"N \\\"1\\\"\",\"user\":\"ann\",\"held\":true,"
        "\"protocol\":true,\"tags\":[\"a\",\"b\"],"
        "\"after\":[{\"id\":\"0123456789abc\",\"on\":\"ok\"},"
        "{\"id\":\"0123456789abd\",\"on\":\"any\"}]}");
    buf_done(&out);
}

static void a_line_keeps_what_it_says_itself(void **state)
{
    (void)state;
    Buf out = { 0 };
    char *words[] = { OPTION("-q"), OPTION("mail"), OPTION("-p9"), OPTION("--in=1m") };
    assert_int_equal(describe(words, 4, "{\"queue\":\"own\",\"delay\":5}", &out), 0);
    assert_string_equal(buf_cstr(&out), "{\"priority\":9}");
    buf_clear(&out);
    assert_int_equal(describe(words, 4, "{}", &out), 0);
    assert_string_equal(buf_cstr(&out),
                        "{\"priority\":9,\"delay\":\"PT1M\",\"queue\":\"mail\"}");
    buf_done(&out);
}

static void wrong_values_are_wrong_usage(void **state)
{
    (void)state;
    char *wrong[] = {
        OPTION("--priority=high"), OPTION("--at=soon"),
        OPTION("--in=1month"),     OPTION("--env=NOVALUE"),
        OPTION("--env==x"),        OPTION("--resource=a=b"),
        OPTION("--after=short"),   OPTION("--after=0123456789abc:never"),
        OPTION("--name=\xff"),     OPTION("--max-run-time=x"),
        OPTION("--retries=1.5"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Buf out = { 0 };
        assert_int_equal(describe(&wrong[i], 1, NULL, &out), CLI_USAGE);
        buf_done(&out);
    }
    char *both[] = { OPTION("--at=18:30"), OPTION("--in=5m") };
    Buf out = { 0 };
    assert_int_equal(describe(both, 2, NULL, &out), CLI_USAGE);
    buf_done(&out);
}

static void expect_payload(Slice payload, bool exact, const char *wanted)
{
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    json_object(&json, NULL);
    describe_payload(&json, payload, exact);
    json_object_end(&json);
    assert_string_equal(buf_cstr(&out), wanted);
    buf_done(&out);
}

static void payloads_arrive_as_they_are(void **state)
{
    (void)state;
    expect_payload(SLICE_LITERAL("h\xc3\xa9\n"), false, "{\"payload\":\"h\xc3\xa9\\n\"}");
    expect_payload(SLICE_LITERAL("abc"), true, "{\"payload_base64\":\"YWJj\"}");
    expect_payload(SLICE_LITERAL("\xff"), false, "{\"payload_base64\":\"/w==\"}");
    expect_payload(slice_of("a\0b", 3), false, "{\"payload_base64\":\"YQBi\"}");
}

static void keys_differ(void **state)
{
    (void)state;
    char one[KEY_TEXT_BYTES];
    char two[KEY_TEXT_BYTES];
    assert_int_equal(strlen(describe_key(one)), 32);
    assert_string_not_equal(one, describe_key(two));
}

static void answers_are_read_without_surprises(void **state)
{
    (void)state;
    Doc *doc = NULL;
    Slice text = SLICE_LITERAL(
        "{\"state\":\"failed\",\"exitcode\":500,\"exit_status\":3,\"signal\":null,"
        "\"error\":\"a\\u0000b\",\"big\":9007199254740993,\"list\":[1,\"x\",null,true,0."
        "5],"
        "\"at\":\"2026-03-05T13:00:00.000Z\"}");
    assert_int_equal(doc_parse(text, &doc, NULL), ERR_OK);
    JobEnd end = watch_job_end(doc);
    assert_int_equal(end.exit_status, 3);
    assert_int_equal(end.signal, 0);
    assert_int_equal(end.error.bytes, 3);
    assert_true(doc_int(doc, "big", 0) == 9007199254740993);
    assert_int_equal(doc_time(doc, "at"), NOW_MS);
    assert_int_equal(doc_time(doc, "state"), 0);
    assert_int_equal(doc_count(doc_get(doc, "list")), 5);
    assert_null(doc_at(doc_get(doc, "list"), 5));
    assert_null(doc_get(doc_get(doc, "no"), "no"));
    Buf out = { 0 };
    doc_write(doc, &out);
    assert_true(slice_equal(buf_slice(&out), text));
    buf_clear(&out);
    doc_show(doc_at(doc_get(doc, "list"), 1), &out);
    doc_show(doc_at(doc_get(doc, "list"), 2), &out);
    assert_string_equal(buf_cstr(&out), "x-");
    doc_free(doc);
    buf_clear(&out);
    assert_int_equal(doc_parse(SLICE_LITERAL("[\"PT336H\",\"Paris\",4]"), &doc, NULL),
                     ERR_OK);
    for (size_t i = 0; i < 3; i++)
        doc_show_setting(doc_at(doc, i), &out);
    assert_string_equal(buf_cstr(&out), "14dParis4");
    buf_done(&out);
    doc_free(doc);
    Error why;
    assert_int_equal(doc_parse(SLICE_LITERAL("{\"a\":"), &doc, &why), ERR_INVALID);
}

static void asking_again_slows_down_but_not_for_ever(void **state)
{
    (void)state;
    int64_t before_ms = 0;
    for (int64_t asked = 0; asked < 100; asked++) {
        int64_t pause_ms = watch_pause_ms(asked);
        assert_true(pause_ms >= before_ms);
        assert_true(pause_ms <= 250);
        before_ms = pause_ms;
    }
    assert_int_equal(watch_pause_ms(0), 4);
    assert_int_equal(watch_pause_ms(INT64_MAX), 250);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_become_fields),
        cmocka_unit_test(a_line_keeps_what_it_says_itself),
        cmocka_unit_test(wrong_values_are_wrong_usage),
        cmocka_unit_test(payloads_arrive_as_they_are),
        cmocka_unit_test(keys_differ),
        cmocka_unit_test(answers_are_read_without_surprises),
        cmocka_unit_test(asking_again_slows_down_but_not_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
