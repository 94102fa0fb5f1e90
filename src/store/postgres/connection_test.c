/* SPDX-License-Identifier: Apache-2.0 */
/* connection_test.c - servers that are silent, slow or behind others in the url. */
#include "store/postgres/connection.h"
#include "testing/testserver.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define SHORT_MS 300

/* A host that takes connections and never says a word. */
typedef struct Mute {
    char dir[64];
    int fd;
} Mute;

static Mute mute_begin(void)
{
    Mute mute = { .dir = "/tmp/pawl-mute-XXXXXX" };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    assert_non_null(mkdtemp(mute.dir));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", mute.dir);
    mute.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(mute.fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(mute.fd, 8), 0);
    return mute;
}

static void mute_end(const Mute *mute)
{
    char path[96];
    snprintf(path, sizeof path, "%s/.s.PGSQL.5432", mute->dir);
    close(mute->fd);
    unlink(path);
    rmdir(mute->dir);
}

static PgLink link_to(const char *hosts)
{
    char url[256];
    snprintf(url, sizeof url, "postgresql://pawl@/postgres?host=%s", hosts);
    return (PgLink){ .url = mem_copy(url, strlen(url) + 1) };
}

static PgLink link_to_server(void)
{
    testserver_url(); /* starts it */
    return link_to(testserver_directory());
}

static PgLink link_connected(void)
{
    Error why = { 0 };
    PgLink link = link_to_server();
    assert_int_equal(link_connect(&link, &why), ERR_OK);
    return link;
}

static void a_host_behind_a_silent_one_gets_its_try(void **state)
{
    (void)state;
    Error why = { 0 };
    char hosts[192];
    Mute mute = mute_begin();
    testserver_url();
    snprintf(hosts, sizeof hosts, "/nosuch,%s,%s", mute.dir, testserver_directory());
    PgLink link = link_to(hosts);
    link.answer_ms = SHORT_MS;
    while (link_connect(&link, &why)) /* a busy machine may be silent for a while, too */
        assert_true(link.silences);
    assert_int_equal(link.host, 2);
    assert_true(link.silences >= 1);
    link_begin(&link, LINK_READ);
    assert_int_equal(link_end(&link, "look", &why), ERR_OK);
    assert_int_equal(link.silences, 0);
    link_close(&link);
    mute_end(&mute);
}

static void a_silent_host_is_given_up(void **state)
{
    (void)state;
    Error why = { 0 };
    Mute mute = mute_begin();
    PgLink link = link_to(mute.dir);
    link.answer_ms = 1;
    assert_int_equal(link_connect(&link, &why), ERR_UNAVAILABLE);
    assert_non_null(strstr(why.text, "no answer"));
    link_close(&link);
    mute_end(&mute);
}

/* The wait for an answer ends, and the next one is longer. */
static void a_statement_without_an_answer_is_given_up(void **state)
{
    (void)state;
    Error why = { 0 };
    PgLink link = link_connected();
    link.answer_ms = SHORT_MS;
    PQclear(link_single(&link, "SELECT pg_sleep(60)", NULL));
    assert_int_equal(link_single_end(&link, "sleep", &why), ERR_UNAVAILABLE);
    assert_non_null(strstr(why.text, "does not answer"));
    assert_int_equal(link.silences, 1);
    link.answer_ms = LINK_ANSWER_MS;
    PQclear(link_single(&link, "SELECT 1", NULL));
    assert_int_equal(link_single_end(&link, "ask", &why), ERR_OK);
    link_close(&link);
}

static void a_lock_that_is_not_had_is_waited_for_elsewhere(void **state)
{
    (void)state;
    Error why = { 0 };
    PgLink holder = link_to_server();
    PgLink link = link_to_server();
    link_begin(&holder, LINK_WRITE);
    link_script(&holder, "SELECT pg_advisory_xact_lock(7)");
    assert_int_equal(holder.err, ERR_OK);
    link_begin(&link, LINK_WRITE);
    link_script(&link, "SET LOCAL lock_timeout = 20; SELECT pg_advisory_xact_lock(7)");
    assert_true(link_may_repeat(&link));
    assert_int_equal(link_end(&link, "lock", &why), ERR_UNAVAILABLE);
    link_rollback(&holder);
    link_close(&holder);
    link_close(&link);
}

/* --- A server that takes nothing: what is sent fills the way to it -------------------
 */

#define MUCH_BYTES ((size_t)16 << 20)

typedef void SendMuch(PgLink *link, Buf *much);

static void send_rows(PgLink *link, Buf *much)
{
    link_copy(link, "much(bytes)", much);
}

static void send_parameter(PgLink *link, Buf *much)
{
    PgParams params = { 0 };
    param_bytes(&params, buf_slice(much));
    link_run(link, "INSERT INTO much VALUES ($1)", &params);
    params_done(&params);
}

static void is_given_up(SendMuch *send)
{
    Error why = { 0 };
    Buf much = { 0 };
    PgLink link = link_connected();
    link_begin(&link, LINK_WRITE);
    link_script(&link, "CREATE TEMP TABLE much(bytes bytea)");
    assert_int_equal(link.err, ERR_OK);
    pid_t server = PQbackendPID(link.conn);
    Slice piece = SLICE_LITERAL("0123456789abcdef");
    while (much.bytes < MUCH_BYTES)
        buf_add_slice(&much, piece);
    if (send == send_rows) { /* its answer is that the copy may begin */
        Buf first = { 0 };
        buf_add(&first, "\0\1\0\0\0\1x", 7);
        send_rows(&link, &first);
        buf_done(&first);
    }
    assert_int_equal(kill(server, SIGSTOP), 0);
    link.answer_ms = SHORT_MS;
    send(&link, &much);
    Err err = link_end(&link, "send much", &why);
    kill(server, SIGCONT);
    assert_int_equal(err, ERR_UNAVAILABLE);
    assert_non_null(strstr(why.text, "does not answer"));
    buf_done(&much);
    link_close(&link);
}

static void rows_that_no_one_takes_are_given_up(void **state)
{
    (void)state;
    is_given_up(send_rows);
}

static void a_statement_that_no_one_takes_is_given_up(void **state)
{
    (void)state;
    is_given_up(send_parameter);
}

/* A server that stops waiting for its standby at a time-out says that all is well. What a
 * COMMIT has to wait for is played by a deferred trigger here. */
static void a_commit_is_not_timed_by_the_server(void **state)
{
    (void)state;
    Error why = { 0 };
    PgLink link = link_to_server();
    link_begin(&link, LINK_WRITE);
    link_script(&link,
                "CREATE TEMP TABLE slow(n int4);"
                "CREATE FUNCTION pg_temp.wait() RETURNS trigger LANGUAGE plpgsql AS"
                " 'BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END';"
                "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow DEFERRABLE INITIALLY"
                " DEFERRED FOR EACH ROW EXECUTE FUNCTION pg_temp.wait();"
                "INSERT INTO slow VALUES (1);"
                "SET LOCAL statement_timeout = 100");
    assert_int_equal(link_end(&link, "commit", &why), ERR_OK);
    link_close(&link);
}

static int64_t number_of(PGresult *result)
{
    assert_non_null(result);
    int64_t number = field_int(result, 0, 0);
    PQclear(result);
    return number;
}

static void what_travels_together_is_answered_by_the_last(void **state)
{
    (void)state;
    Error why = { 0 };
    PgParams params = { 0 };
    PgLink link = link_to_server();
    link_begin(&link, LINK_WRITE);
    link_later(&link, "CREATE TEMP TABLE seen(n int8)", NULL);
    for (int64_t i = 1; i <= 100; i++) {
        param_int(&params, i);
        link_later(&link, "INSERT INTO seen VALUES ($1)", &params);
    }
    assert_int_equal(link.untold, 103); /* those of the beginning, too */
    assert_int_equal(number_of(link_query(&link, "SELECT sum(n)::int8 FROM seen", NULL)),
                     5050);
    assert_int_equal(link.untold, 0);
    link_later(&link, "DELETE FROM seen WHERE n > 10", NULL);
    Buf rows = { 0 };
    copy_row(&rows, 1);
    copy_int(&rows, PG_INT8, 1000);
    link_copy(&link, "seen", &rows); /* which cannot travel with others */
    link_later(&link, "DELETE FROM seen WHERE n = 1", NULL);
    assert_int_equal(link_run(&link, "DELETE FROM seen", NULL), 10);
    assert_int_equal(link_end(&link, "write", &why), ERR_OK);
    buf_done(&rows);
    params_done(&params);
    link_close(&link);
}

/* Whatever lies at the place of its name by then. */
static void rows_go_into_the_table_that_was_named(void **state)
{
    (void)state;
    Error why = { 0 };
    char into[16];
    PgLink link = link_to_server();
    link_begin(&link, LINK_WRITE);
    link_script(&link, "CREATE TEMP TABLE t1(n int8); CREATE TEMP TABLE t2(n int8)");
    for (int i = 1; i <= 2; i++) {
        Buf rows = { 0 };
        snprintf(into, sizeof into, "t%d", i);
        copy_row(&rows, 1);
        copy_int(&rows, PG_INT8, i);
        link_copy(&link, into, &rows);
        buf_done(&rows);
    }
    assert_int_equal(number_of(link_query(&link,
                                          "SELECT sum(t1.n * 10 + t2.n)::int8"
                                          " FROM t1, t2",
                                          NULL)),
                     12);
    assert_int_equal(link_end(&link, "write", &why), ERR_OK);
    link_close(&link);
}

static void nothing_behind_a_failure_is_carried_out(void **state)
{
    (void)state;
    Error why = { 0 };
    PgLink link = link_to_server();
    link_begin(&link, LINK_WRITE);
    link_later(&link, "CREATE TABLE half(n int8)", NULL);
    link_later(&link, "SELECT 1 / 0", NULL);
    link_later(&link, "SELECT pg_notify('half', '')", NULL);
    assert_int_equal(link_end(&link, "write", &why), ERR_IO);
    assert_non_null(strstr(why.text, "division by zero"));
    assert_string_equal(link.state, "22012");
    assert_false(link.committing); /* the server has said so */
    link_begin(&link, LINK_READ);
    assert_int_equal(
        number_of(link_query(&link, "SELECT (to_regclass('half') IS NULL)::int4", NULL)),
        1);
    assert_int_equal(link_end(&link, "look", &why), ERR_OK);
    link_close(&link);
}

/* Whatever was told before: no one knows. */
static void a_commit_without_an_answer_may_have_happened(void **state)
{
    (void)state;
    Error why = { 0 };
    PgLink link = link_connected();
    link.answer_ms = SHORT_MS;
    link_begin(&link, LINK_WRITE);
    link_later(&link, "SELECT pg_sleep(60)", NULL);
    assert_int_equal(link_end(&link, "commit", &why), ERR_UNAVAILABLE);
    assert_true(link.committing);
    assert_int_equal(link.untold, 0);
    link_close(&link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_behind_a_silent_one_gets_its_try),
        cmocka_unit_test(a_silent_host_is_given_up),
        cmocka_unit_test(a_statement_without_an_answer_is_given_up),
        cmocka_unit_test(a_lock_that_is_not_had_is_waited_for_elsewhere),
        cmocka_unit_test(rows_that_no_one_takes_are_given_up),
        cmocka_unit_test(a_statement_that_no_one_takes_is_given_up),
        cmocka_unit_test(a_commit_is_not_timed_by_the_server),
        cmocka_unit_test(what_travels_together_is_answered_by_the_last),
        cmocka_unit_test(rows_go_into_the_table_that_was_named),
        cmocka_unit_test(nothing_behind_a_failure_is_carried_out),
        cmocka_unit_test(a_commit_without_an_answer_may_have_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
