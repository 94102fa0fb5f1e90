/* SPDX-License-Identifier: Apache-2.0 */
/* checkup_test.c - a real server looked at, and servers judged that a test
 * cannot have: old ones, with other clocks, of other versions of pawl. */
#include "store/postgres/checkup.h"
#include "testing/testserver.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HOUR_MS 3600000

static const PgFacts healthy = { .version = 150004,
                                 .fsync = true,
                                 .full_page_writes = true,
                                 .synchronous_commit = "on",
                                 .names_standbys = true,
                                 .sees_standbys = true,
                                 .standbys = 1,
                                 .connections_left = 50,
                                 .skew_ms = 3,
                                 .unsure_ms = 5,
                                 .schema = { 4, 3 },
                                 .schema_known = 4 };

/* "check=status " of everything that is not good. */
static void write_down(void *context, const Finding *finding, const char *text)
{
    if (finding->health == HEALTH_GOOD)
        return;
    assert_non_null(finding->why);
    assert_non_null(finding->fix);
    assert_true(strlen(text) > 0);
    buf_printf(context, "%s=%s ", finding->check, health_name(finding->health));
}

static void expect(const PgFacts *facts, const char *wanted)
{
    Buf heard = { 0 };
    pgfacts_judge(facts, &(Findings){ write_down, &heard });
    assert_string_equal(buf_cstr(&heard), wanted);
    buf_done(&heard);
}

#define EXPECT(field, value, wanted)                                                     \
    do {                                                                                 \
        PgFacts facts = healthy;                                                         \
        facts.field = (value);                                                           \
        expect(&facts, wanted);                                                          \
    } while (0)

static void each_danger_is_told_alone(void **state)
{
    (void)state;
    expect(&healthy, "");
    EXPECT(version, 130009, "store-version=bad ");
    EXPECT(version, 140001, "");
    EXPECT(version, 170001, "");
    EXPECT(fsync, false, "store-fsync=bad ");
    EXPECT(full_page_writes, false, "store-pages=bad ");
    EXPECT(names_standbys, false, "store-standby=warning ");
    EXPECT(standbys, 0, "store-standby=bad ");
    EXPECT(connections_left, 7, "store-connections=warning ");
    EXPECT(pooled, true, "");
    EXPECT(schema, ((PgSchema){ 0 }), "");
    EXPECT(schema, ((PgSchema){ 3, 3 }), "store-schema=warning ");
    EXPECT(schema, ((PgSchema){ 5, 4 }), "");
    EXPECT(schema, ((PgSchema){ 6, 5 }), "store-schema=bad ");
}

static void clocks_are_compared_within_what_is_sure(void **state)
{
    (void)state;
    EXPECT(skew_ms, 1000, "");
    EXPECT(skew_ms, 2000, "store-clock=warning ");
    EXPECT(skew_ms, -2000, "store-clock=warning ");
    EXPECT(skew_ms, HOUR_MS, "store-clock=bad ");
    EXPECT(skew_ms, -HOUR_MS, "store-clock=bad ");
    PgFacts slow = healthy;
    slow.skew_ms = 4000;
    slow.unsure_ms = 3500; /* a link that took seven seconds proves nothing */
    expect(&slow, "");
}

static void what_a_commit_waits_for_matters(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool standby;
        const char *wanted;
    } rows[] = {
        { "off", true, "store-commit=bad " },
        { "local", true, "store-commit=warning " },
        { "local", false, "store-standby=warning " },
        { "remote_write", true, "" },
        { "remote_apply", true, "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PgFacts facts = healthy;
        facts.names_standbys = rows[i].standby;
        snprintf(facts.synchronous_commit, sizeof facts.synchronous_commit, "%s",
                 rows[i].value);
        expect(&facts, rows[i].wanted);
    }
}

static PgFacts look(const char *url)
{
    PgLink link = { .url = mem_copy(url, strlen(url) + 1) };
    PgFacts facts = { 0 };
    Error why = { 0 };
    assert_int_equal(link_connect(&link, &why), ERR_OK);
    assert_int_equal(pgfacts_read(&link, &facts, &why), ERR_OK);
    link_close(&link);
    return facts;
}

static void a_real_server_is_seen_as_it_is(void **state)
{
    (void)state;
    const char *url = testserver_fresh();
    PgFacts facts = look(url);
    assert_true(facts.version >= 150000);
    assert_false(facts.fsync); /* as test servers are */
    assert_true(facts.full_page_writes ==
                !strcmp(testserver_ask("SHOW full_page_writes"), "on"));
    assert_false(facts.names_standbys || facts.pooled);
    assert_true(facts.connections_left > 0);
    assert_int_equal(facts.schema.version, 0);
    assert_true(llabs(facts.skew_ms) <= facts.unsure_ms + 1000);
    testserver_ask("ALTER ROLE pawl SET synchronous_commit = off");
    facts = look(url);
    assert_string_equal(facts.synchronous_commit, "off");
    testserver_ask("ALTER ROLE pawl RESET synchronous_commit");
}

static void a_limit_of_the_role_or_the_database_counts(void **state)
{
    (void)state;
    const char *url = testserver_fresh();
    int64_t before = look(url).connections_left;
    testserver_ask("ALTER ROLE pawl CONNECTION LIMIT 9");
    int64_t of_role = look(url).connections_left;
    testserver_ask("ALTER ROLE pawl CONNECTION LIMIT -1");
    testserver_ask("ALTER DATABASE postgres CONNECTION LIMIT 5");
    int64_t of_database = look(url).connections_left;
    testserver_ask("ALTER DATABASE postgres CONNECTION LIMIT -1");
    assert_true(before > 9);
    assert_true(of_role <= 9);
    assert_true(of_database <= 5);
}

static void a_server_that_is_not_there_is_bad(void **state)
{
    (void)state;
    Buf heard = { 0 };
    Findings to = { write_down, &heard };
    postgres_checkup("postgresql://pawl@/postgres?host=/nowhere", &to);
    assert_string_equal(buf_cstr(&heard), "store=bad ");
    buf_done(&heard);
    assert_true(postgres_is_url("postgres://a/b"));
    assert_false(postgres_is_url("sqlite:postgresql://"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_danger_is_told_alone),
        cmocka_unit_test(clocks_are_compared_within_what_is_sure),
        cmocka_unit_test(what_a_commit_waits_for_matters),
        cmocka_unit_test(a_real_server_is_seen_as_it_is),
        cmocka_unit_test(a_limit_of_the_role_or_the_database_counts),
        cmocka_unit_test(a_server_that_is_not_there_is_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
