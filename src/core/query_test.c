/* SPDX-License-Identifier: Apache-2.0 */
/* query_test.c - the query text: what it accepts, what it says when it does not, and
 * which jobs match. */
#include "core/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define NOW_MS 1790000000000LL
#define LIST(text)                                                                       \
    {                                                                                    \
        text, sizeof(text)                                                               \
    }

static Job sample(void)
{
    Job job = job_default();
    job.id = id_from_count(1234567890123, 7);
    job.parent = id_from_count(1234567890000, 7);
    job.state = JOB_FAILED;
    job.created_ms = NOW_MS - MS_PER_HOUR;
    job.started_ms = NOW_MS - 50 * MS_PER_S;
    job.finished_ms = NOW_MS - 10 * MS_PER_S;
    job.tenant = SLICE_LITERAL("acme");
    job.type = SLICE_LITERAL("mail.send");
    job.queue = SLICE_LITERAL("default");
    job.name = SLICE_LITERAL("Nightly letters");
    job.node = SLICE_LITERAL("n1");
    job.schedule = SLICE_LITERAL("nightly");
    job.group = SLICE_LITERAL("g1");
    job.error = SLICE_LITERAL("connect: Connection refused");
    job.tags = (Slice)LIST("import\0eu");
    job.payload = SLICE_LITERAL("{\"to\":\"word@example.org\"}");
    return job;
}

/* 1 or 0 for a match or none, -1 for text that is refused. */
static int matches(const char *text, const Job *job)
{
    Arena arena = { 0 };
    JobQuery query = { .wall_ms = NOW_MS };
    Error why;
    int answer = -1;
    if (!query_parse(slice_text(text), &arena, &query, &why))
        answer = query_matches(&query, job);
    arena_done(&arena);
    return answer;
}

static void every_field_matches_and_can_be_turned_round(void **state)
{
    (void)state;
    static const char *const terms[] = {
        "state:failed",
        "state:done,failed",
        "type:mail.send",
        "type:mail.*",
        "type:x,mail.*",
        "queue:default",
        "tag:import",
        "tag:eu",
        "tag:im*",
        "tag:none,eu",
        "name:Night*",
        "name:\"Nightly letters\"",
        "node:n1",
        "schedule:nightly",
        "group:g1",
        "priority:5",
        "priority:>=5",
        "priority:<6",
        "priority:4,5",
        "priority:<=5",
        "created:>-2h",
        "created:<-30m",
        "created:>=-1h",
        "created:>2020-01-01",
        "run:>30s",
        "run:<=40s",
        "run:<PT1M",
        "error:\"connection refused\"",
        "error:REFUSED",
        "payload:word",
        "payload:absent,ORG",
        "created_after:-2h",
    };
    Job job = sample();
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        char turned[128];
        snprintf(turned, sizeof turned, "-%s", terms[i]);
        if (matches(terms[i], &job) != 1 || matches(turned, &job) != 0)
            fail_msg("%s", terms[i]);
    }
}

static void what_does_not_hold_does_not_match(void **state)
{
    (void)state;
    static const char *const terms[] = {
        "state:done",         "type:mail",       "type:mail.send.*", "queue:Default",
        "tag:impor",          "tag:eu2",         "name:Nightly",     "node:n",
        "priority:>5",        "priority:4,6",    "created:>-30m",    "run:>40s",
        "error:accepted",     "payload:nowhere", "run:<40s",         "schedule:n",
        "created_before:-2h",
    };
    Job job = sample();
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        if (matches(terms[i], &job) != 0)
            fail_msg("%s", terms[i]);
}

static void all_terms_must_hold(void **state)
{
    (void)state;
    Job job = sample();
    assert_int_equal(matches("", &job), 1);
    assert_int_equal(matches("  state:failed\t tag:eu  -tag:test ", &job), 1);
    assert_int_equal(matches("state:failed tag:eu -tag:import", &job), 0);
}

static void ids_match_whole_or_by_their_beginning(void **state)
{
    (void)state;
    Job job = sample();
    char id[ID_TEXT_BYTES];
    char text[64];
    id_text(job.id, id);
    snprintf(text, sizeof text, "id:%s", id);
    assert_int_equal(matches(text, &job), 1);
    snprintf(text, sizeof text, "id:%.6s", id);
    assert_int_equal(matches(text, &job), 1);
    snprintf(text, sizeof text, "id:<%s", id);
    assert_int_equal(matches(text, &job), 0);
    snprintf(text, sizeof text, "id:<=%s", id);
    assert_int_equal(matches(text, &job), 1);
    snprintf(text, sizeof text, "parent:%s", id_text(job.parent, id));
    assert_int_equal(matches(text, &job), 1);
    job.parent = 0;
    assert_int_equal(matches(text, &job), 0);
    assert_int_equal(matches("parent:<7zzzzzzzzzzzz", &job), 0);
}

static void a_running_job_has_run_until_now(void **state)
{
    (void)state;
    Job job = sample();
    job.state = JOB_RUNNING;
    job.finished_ms = 0;
    assert_int_equal(matches("run:>=50s", &job), 1);
    assert_int_equal(matches("run:>50s", &job), 0);
    job.started_ms = 0;
    assert_int_equal(matches("run:<1h", &job), 0);
}

/* Its slice has no data: a sanitized build ends here if that is compared. */
static void a_star_alone_matches_a_field_that_is_not_set(void **state)
{
    (void)state;
    Job job = job_default();
    assert_int_equal(matches("group:*", &job), 1);
}

static void a_tenant_sees_only_its_own(void **state)
{
    (void)state;
    Job job = sample();
    JobQuery query = { .tenant = SLICE_LITERAL("acme") };
    assert_true(query_matches(&query, &job));
    query.tenant = SLICE_LITERAL("acm");
    assert_false(query_matches(&query, &job));
}

static void expect_refusal(const char *text, const char *part)
{
    Arena arena = { 0 };
    JobQuery query = { .wall_ms = NOW_MS, .term_count = 1 };
    Error why = { 0 };
    assert_int_not_equal(query_parse(slice_text(text), &arena, &query, &why), ERR_OK);
    if (!strstr(why.text, part))
        fail_msg("%s: '%s' does not say '%s'", text, why.text, part);
    assert_int_equal(query.term_count, 1);
    arena_done(&arena);
}

static void refusals_name_the_term_and_the_nearest_word(void **state)
{
    (void)state;
    expect_refusal("stat:failed", "did you mean 'state'");
    expect_refusal("colour:red", "there is no field 'colour'");
    expect_refusal("state:runing", "did you mean 'running'");
    expect_refusal("tag:a failed", "'failed' is not field:value");
    expect_refusal("tag:", "tag: a value is missing");
    expect_refusal("tag:a,,b", "tag: a value is missing");
    expect_refusal("priority:high", "'high' is not a number");
    expect_refusal("priority:>1,2", "one value");
    expect_refusal("created:-2h", "needs < or >");
    expect_refusal("created:>yesterday", "'yesterday' is not a time");
    expect_refusal("run:>long", "'long' is not a duration");
    expect_refusal("id:!", "'!' is not an id");
    expect_refusal("error:\"open", "quote is not closed");
    expect_refusal("error:\"a\"b", "missing before 'b'");
    Buf many = { 0 };
    for (int i = 0; i < QUERY_TERMS_MAX; i++)
        buf_add_text(&many, "tag:a ");
    expect_refusal(buf_cstr(&many), "more than 32 terms");
    buf_done(&many);
}

static void a_term_takes_its_whole_value(void **state)
{
    (void)state;
    Arena arena = { 0 };
    JobQuery query = { .wall_ms = NOW_MS };
    Job job = sample();
    assert_int_equal(
        query_term("name", SLICE_LITERAL("Nightly letters,x"), &arena, &query, NULL),
        ERR_OK);
    assert_int_equal(query.terms[0].word_count, 2);
    assert_int_equal(
        query_term("state", SLICE_LITERAL("failed,done"), &arena, &query, NULL), ERR_OK);
    assert_int_equal(query_term("priority", SLICE_LITERAL(">=5"), &arena, &query, NULL),
                     ERR_OK);
    assert_true(query_matches(&query, &job));
    assert_int_equal(query_term("priority", SLICE_LITERAL(""), &arena, &query, NULL),
                     ERR_INVALID);
    arena_done(&arena);
}

static void quotes_keep_spaces_commas_and_quotes(void **state)
{
    (void)state;
    Arena arena = { 0 };
    JobQuery query = { 0 };
    assert_int_equal(
        query_parse(SLICE_LITERAL("error:\"a, \\\"b\\\\\",c"), &arena, &query, NULL),
        ERR_OK);
    assert_int_equal(query.terms[0].word_count, 2);
    assert_true(slice_is(query.terms[0].words[0], "a, \"b\\"));
    assert_true(slice_is(query.terms[0].words[1], "c"));
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_matches_and_can_be_turned_round),
        cmocka_unit_test(what_does_not_hold_does_not_match),
        cmocka_unit_test(all_terms_must_hold),
        cmocka_unit_test(ids_match_whole_or_by_their_beginning),
        cmocka_unit_test(a_running_job_has_run_until_now),
        cmocka_unit_test(a_star_alone_matches_a_field_that_is_not_set),
        cmocka_unit_test(a_tenant_sees_only_its_own),
        cmocka_unit_test(refusals_name_the_term_and_the_nearest_word),
        cmocka_unit_test(a_term_takes_its_whole_value),
        cmocka_unit_test(quotes_keep_spaces_commas_and_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
