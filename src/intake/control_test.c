/* SPDX-License-Identifier: Apache-2.0 */
/* control_test.c - control files: what they say, and what is said of bad ones. */
#include "intake/control.h"

#include "core/handler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HEAD "<batch-job xmlns=\"urn://batch-master\">"
#define TAIL "</batch-job>"

static const ControlRules rules = { .tenant = { "default", 7 },
                                    .modules_root = "/nowhere/modules",
                                    .payload_bytes_max = 1 << 20 };
static Arena arena;
static Job job;
static Problem why;

static Err load(const char *text)
{
    why = (Problem){ 0 };
    return control_read(slice_text(text), &rules, &arena, &job, &why);
}

static void refused(const char *text, const char *place, const char *reason)
{
    assert_int_not_equal(load(text), ERR_OK);
    if (!strstr(why.detail, place) || !strstr(why.detail, reason))
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", why.detail, place, reason);
}

/* S0.45, S0.46, S0.47, S0.48, S0.49, S0.50, S0.54, S0.56 */
static void the_founding_document_is_a_job(void **state)
{
    (void)state;
    const char *text =
        HEAD "\n<name>Test Job 1</name>\n<priority>100</priority>\n"
             "<max-run-time>PT20M</max-run-time>\n"
             "<created>2010-08-23T14:02:53.031209+01:00</created>\n"
             "<module>/mybatch-job.xqy</module>\n"
             "<context-database>{xdmp:database()}</context-database>\n"
             "<modules-db>0</modules-db>\n<modules-root>/modules</modules-root>\n"
             "<document-uri>/mydocs/foo.xml</document-uri>\n"
             "<param>\n<batch-size>25</batch-size>\n</param>\n" TAIL;
    assert_int_equal(load(text), ERR_OK);
    assert_true(slice_is(job.name, "Test Job 1"));
    assert_int_equal(job.priority, 100);
    assert_int_equal(job.max_run_ms, 20 * MS_PER_MIN);
    char created[TIME_TEXT_BYTES];
    assert_string_equal(time_text(job.created_ms, created), "2010-08-23T13:02:53.031Z");
    assert_true(slice_is(job.command, "/modules/mybatch-job.xqy") ||
                memcmp(job.command.data, "/modules/mybatch-job.xqy", 25) == 0);
    assert_true(slice_is(job.document_uri, "/mydocs/foo.xml"));
    assert_true(slice_is(job.param, "\n<batch-size>25</batch-size>\n"));
    assert_true(slice_is(job.payload, text));
    assert_true(job.flags & JOB_CONTROL);
    assert_int_equal(job.max_retries, 0);
    assert_true(slice_is(job.type, "batch-job"));
}

static void the_module_gets_variables(void **state) /* S0.51, S0.52, S0.53, S0.57 */
{
    (void)state;
    Buf env = { 0 };
    control_variables(
        SLICE_LITERAL(
            HEAD "<module>m</module><context-db>Docs</context-db>"
                 "<modules-db>0</modules-db><modules-root>/m</modules-root>"
                 "<document-uri>/a</document-uri><param><batch-size>25"
                 "</batch-size><x.y>1</x.y><x.y>2</x.y><o><p>3</p></o></param>" TAIL),
        &env);
    const char *expected[] = { "BATCH_MODULE=m",        "BATCH_CONTEXT_DATABASE=Docs",
                               "BATCH_MODULES_DB=0",    "BATCH_MODULES_ROOT=/m",
                               "BATCH_DOCUMENT_URI=/a", "BATCH_PARAM_BATCH_SIZE=25",
                               "BATCH_PARAM_X_Y=1\n2",  "BATCH_PARAM_O=<p>3</p>" };
    Slice rest = buf_slice(&env);
    Slice item;
    size_t count = 0;
    while (list_next(&rest, &item))
        assert_true(slice_is(item, expected[count++]));
    assert_int_equal(count, sizeof expected / sizeof *expected);
    buf_done(&env);
}

static void little_is_needed(void **state)
{
    (void)state;
    assert_int_equal(load(HEAD "<module>a/b.sh</module>" TAIL), ERR_OK);
    assert_string_equal(job.command.data, "/nowhere/modules/a/b.sh");
    assert_true(job.priority == PRIORITY_UNSET);
    assert_int_equal(job.created_ms, 0);
}

static void a_type_stands_for_a_module(void **state) /* S0.23 */
{
    (void)state;
    assert_int_equal(load(HEAD "<module>type:mail.send</module>" TAIL), ERR_OK);
    assert_true(slice_is(job.type, "mail.send"));
    assert_int_equal(job.command.bytes, 0);
    refused(HEAD "<module>type:</module>" TAIL, "line 1, column 39", "name of a type");
}

static void a_module_stays_in_its_root(void **state)
{
    (void)state;
    refused(HEAD "\n<module>../x</module>" TAIL, "line 2, column 1", "leads out");
    refused(HEAD "<module>/a/../../x</module>" TAIL, "line 1", "leads out");
    refused(HEAD "<module>/</module>" TAIL, "line 1", "no file");
    refused(HEAD "<module/>" TAIL, "line 1", "no file");
    refused(HEAD "<name>x</name>" TAIL, "line 1, column 1", "<module>");
    refused(HEAD "<module>x</module><modules-root>etc</modules-root>" TAIL, "line 1",
            "absolute");
    refused(HEAD "<module>x</module><modules-root>/a/../</modules-root>" TAIL, "line 1",
            "without ..");
}

static void what_is_wrong_is_told_with_its_place(void **state)
{
    (void)state;
    refused("<batch-job><module>x</module>" TAIL, "line 1, column 1", "urn://batch-m");
    refused(HEAD "\n <module>x</module>\n <prioriti>1</prioriti>" TAIL,
            "line 3, column 2", "did you mean <priority>");
    refused(HEAD "<module>x</module>\n<module>y</module>" TAIL, "line 2, column 1",
            "twice");
    refused(HEAD "<module>x</module><context-db>a</context-db>"
                 "<context-database>b</context-database>" TAIL,
            "line 1", "twice");
    refused(HEAD "<priority>high</priority>" TAIL, "line 1", "whole number");
    refused(HEAD "<max-run-time>P1M</max-run-time>" TAIL, "line 1", "max-run-time");
    refused(HEAD "<created>today</created>" TAIL, "line 1", "created");
    refused(HEAD "<name><b>x</b></name>" TAIL, "line 1, column 45", "text");
    refused(HEAD "hello<module>x</module>" TAIL, "line 1", "no text");
    refused(HEAD "<user/>" TAIL, "line 1", "empty");
    refused(HEAD "<x xmlns=\"urn:other\"/>" TAIL, "line 1", "name space");
    refused("<!DOCTYPE x>" HEAD "<module>x</module>" TAIL, "line 1", "DTD");
    assert_string_equal(why.kind->code, "malformed_xml");
    refused(HEAD "<module>x</module>", "line 1", "no element");
    refused(HEAD "<module>x</mod", "line 1", "ends before");
    refused(HEAD "<priority>5<x/></priority>" TAIL, "line 1", "text, not");
    refused(HEAD "<max-run-time>PT5M<x/></max-run-time>" TAIL, "line 1", "text, not");
    refused(HEAD "<created>2010-08-23T14:02:53Z<x/></created>" TAIL, "line 1",
            "text, not");
}

/* What a value is written as an attribute would be lost without a word. */
static void attributes_of_no_meaning_are_refused(void **state)
{
    (void)state;
    refused(HEAD "\n<module>x</module><priority level=\"9\">5</priority>" TAIL,
            "line 2, column 19", "<priority> has no attribute \"level\"");
    refused(
        "<batch-job xmlns=\"urn://batch-master\" priority=\"9\"><module>x</module>" TAIL,
        "line 1, column 1", "<batch-job> has no attribute \"priority\"");
    refused(HEAD "<module>x</module><notify event=\"done\" to=\"command:true\" "
                 "retry=\"3\"/>" TAIL,
            "line 1", "<notify> has no attribute \"retry\"");
    assert_int_equal(load("<batch-job xmlns=\"urn://batch-master\" xml:lang=\"en\" "
                          "xmlns:i=\"http://www.w3.org/2001/XMLSchema-instance\" "
                          "i:schemaLocation=\"a b\"><module>x</module>"
                          "<param><size unit=\"kB\">25</size></param>" TAIL),
                     ERR_OK);
}

static void a_user_is_asked_for_at_once(void **state) /* S0.22, S0.55 */
{
    (void)state;
    refused(HEAD "<module>x</module><user>root</user>" TAIL, "root", "never");
    assert_string_equal(why.kind->code, "run_as_not_allowed");
}

static void notifications_are_checked_when_they_come(void **state) /* S0.44 */
{
    (void)state;
    assert_int_equal(load(HEAD "<module>x</module><notify><event>failed</event>"
                               "<to>command:true</to></notify>"
                               "<notify event=\"done\" to=\"webhook:http://h/\"/>" TAIL),
                     ERR_OK);
    Slice expected = SLICE_LITERAL("failed\0command:true\0done\0webhook:http://h/\0");
    assert_true(slice_equal(job.notify, expected));
    refused(HEAD "<notify><event>x</event><to>command:true</to></notify>" TAIL, "line 1",
            "event is");
    refused(HEAD "<notify><event>done</event><too>x</too></notify>" TAIL, "line 1",
            "<too>");
    refused(HEAD "<notify event=\"done\" to=\"command:true\"><event>error</event>"
                 "</notify>" TAIL,
            "line 1", "one event");
}

static void rerun_is_an_empty_element(void **state)
{
    (void)state;
    const char *text = HEAD "<module>x</module><rerun/>" TAIL;
    assert_int_equal(load(text), ERR_OK);
    assert_true(control_reruns(slice_text(text)));
    assert_false(control_reruns(SLICE_LITERAL(HEAD "<module>x</module>" TAIL)));
    assert_false(control_reruns(SLICE_LITERAL("<rerun/>")));
    refused(HEAD "<module>x</module><rerun>yes</rerun>" TAIL, "line 1", "empty");
}

static void a_document_is_told_from_other_output(void **state)
{
    (void)state;
    assert_true(control_meant(SLICE_LITERAL(" \n" HEAD TAIL)));
    assert_true(control_meant(SLICE_LITERAL("<batch-job xmlns=\"urn://batch-master\">")));
    assert_true(control_meant(
        SLICE_LITERAL("<b:batch-job xmlns:b=\"urn://batch-master\"></b:batch-job>")));
    assert_false(control_meant(SLICE_LITERAL("hello")));
    assert_false(control_meant(SLICE_LITERAL("<html/>")));
    assert_false(control_meant(SLICE_LITERAL("")));
}

static int close_arena(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_founding_document_is_a_job),
        cmocka_unit_test(the_module_gets_variables),
        cmocka_unit_test(little_is_needed),
        cmocka_unit_test(a_type_stands_for_a_module),
        cmocka_unit_test(a_module_stays_in_its_root),
        cmocka_unit_test(what_is_wrong_is_told_with_its_place),
        cmocka_unit_test(attributes_of_no_meaning_are_refused),
        cmocka_unit_test(a_user_is_asked_for_at_once),
        cmocka_unit_test(notifications_are_checked_when_they_come),
        cmocka_unit_test(rerun_is_an_empty_element),
        cmocka_unit_test(a_document_is_told_from_other_output),
    };
    return cmocka_run_group_tests(tests, NULL, close_arena);
}
