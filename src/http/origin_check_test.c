/* SPDX-License-Identifier: Apache-2.0 */
/* origin_check_test.c - where the server listens and whom it serves. */
#include "http/origin_check.h"

#include "http/listen.h"
#include "http/peer_credentials.h"
#include "testing/world_fake.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static void only_addresses_are_listened_on(void **state)
{
    (void)state;
    static const char *const bad[] = { "example.org:80",  "127.0.0.1",    "127.0.0.1:x",
                                       "127.0.0.1:99999", ":0",           "127.0.0.1:-1",
                                       "127.0.0.1:",      "[127.0.0.1]:0" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int fd;
        char text[LISTEN_TEXT_BYTES];
        Error why = { 0 };
        if (!listen_tcp(bad[i], &fd, text, &why))
            fail_msg("listens on %s", bad[i]);
        assert_non_null(strstr(why.text, bad[i]));
    }
    static const char *const good[] = { "127.0.0.1:0", "localhost:0", "[::1]:0",
                                        "127.0.0.9:0" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int fd;
        char text[LISTEN_TEXT_BYTES];
        Error why = { 0 };
        Err err = listen_tcp(good[i], &fd, text, &why);
        if (err == ERR_OK)
            close(fd);
        else if (!strstr(good[i], "::1")) /* a machine may lack IPv6 */
            fail_msg("%s: %s", good[i], why.text);
    }
}

static void what_other_machines_reach_needs_tls_and_a_token(void **state)
{
    static const char *const beyond[] = { "0.0.0.0:0", "192.168.1.1:0", "[::]:0",
                                          "[fe80::1]:7420" };
    static const char *const here[] = { "127.0.0.1:0", "127.9.9.9:1", "[::1]:0",
                                        "localhost:0", "" };
    (void)state;
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        HttpOptions options = { .tcp = beyond[i] };
        Http *http;
        Error why = { 0 };
        assert_true(listen_beyond(beyond[i]));
        assert_int_equal(http_open(&options, NULL, &http, &why), ERR_INVALID);
        assert_non_null(strstr(why.text, "TLS"));
        options.tls = true;
        assert_int_equal(http_open(&options, NULL, &http, &why), ERR_INVALID);
        assert_non_null(strstr(why.text, "token"));
    }
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        assert_false(listen_beyond(here[i]));
}

static void a_socket_is_private_and_replaces_only_dead_ones(void **state)
{
    World *world = *state;
    char path[128];
    struct stat found;
    Error why = { 0 };
    int fd;
    assert_int_equal(stat(world->socket, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    assert_int_equal(listen_unix(world->socket, &fd, &why), ERR_BUSY);
    snprintf(path, sizeof path, "%s/dead.sock", world->dir);
    assert_int_equal(listen_unix(path, &fd, &why), ERR_OK);
    close(fd); /* its file stays, as after a crash */
    assert_int_equal(listen_unix(path, &fd, &why), ERR_OK);
    close(fd);
    unlink(path);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(fd);
    assert_int_equal(listen_unix(path, &fd, &why), ERR_CONFLICT);
    unlink(path);
}

static void a_socket_may_have_a_long_path(void **state)
{
    World *world = *state;
    char dir[256];
    char path[300];
    snprintf(dir, sizeof dir, "%s/%0120d", world->dir, 7);
    snprintf(path, sizeof path, "%s/pawl.sock", dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    int fd;
    Error why = { 0 };
    if (listen_unix(path, &fd, &why))
        fail_msg("%s", why.text);
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    assert_true(S_ISSOCK(found.st_mode));
    close(fd);
    unlink(path);
    rmdir(dir);
}

static uid_t told_uid;
static bool told_known;

static bool tell_uid(int fd, uid_t *out_uid)
{
    (void)fd;
    *out_uid = told_uid;
    return told_known;
}

static void other_users_are_refused(void **state)
{
    (void)state;
    World *world = world_open((HttpOptions){ .peer_uid = tell_uid });
    static const struct {
        uid_t uid;
        bool known;
        int status;
    } cases[] = { { 0, true, 200 }, { 54321, true, 403 }, { 0, false, 403 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        told_uid = cases[i].uid;
        told_known = cases[i].known;
        Reply reply;
        world_ask(world, &(Ask){ "GET", "/api/v1/me", "", { NULL, 0 } }, &reply);
        assert_int_equal(reply.status, cases[i].status);
        if (reply.status == 403)
            expect_problem(&reply, 403, "user_not_allowed");
        reply_done(&reply);
        /* What says nothing about jobs answers everyone. */
        world_ask(world, &(Ask){ "GET", "/livez", "", { NULL, 0 } }, &reply);
        assert_int_equal(reply.status, 200);
        reply_done(&reply);
    }
    world_close(world);
}

static void the_owner_of_a_connection_is_found(void **state)
{
    World *world = *state;
    char text[LISTEN_TEXT_BYTES];
    Error why;
    int listener;
    assert_int_equal(listen_tcp("127.0.0.1:0", &listener, text, &why), ERR_OK);
    Client client;
    client_tcp(&client, text);
    struct pollfd ready = { .fd = listener, .events = POLLIN };
    assert_int_equal(poll(&ready, 1, CLIENT_WAIT_MS), 1);
    int fd = accept(listener, NULL, NULL);
    uid_t uid = 77;
    assert_true(peer_uid(fd, &uid));
    assert_int_equal(uid, geteuid());
    uid = 77;
    assert_true(peer_uid_by_proc(fd, &uid));
    assert_int_equal(uid, geteuid());
    /* A closed end belongs to no one, and least of all to root. */
    client_close(&client);
    assert_false(peer_uid(fd, &uid));
    assert_false(peer_uid_by_proc(fd, &uid));
    close(fd);
    close(listener);
    client_unix(&client, world->socket);
    uid = 77;
    assert_true(peer_uid(client.fd, &uid));
    assert_int_equal(uid, geteuid());
    client_close(&client);
}

static void hosts_and_origins_are_judged(void **state)
{
    (void)state;
    static const char *const local[] = { "localhost",    "LOCALHOST:7420", "127.0.0.1",
                                         "127.0.0.1:80", "127.1.2.3:1",    "[::1]",
                                         "[::1]:7420" };
    static const char *const foreign[] = { "",
                                           "evil.example",
                                           "localhost.evil",
                                           "127.0.0.1.evil.example",
                                           "10.0.0.1",
                                           "[::2]",
                                           "[::1]x",
                                           "localhost:",
                                           "localhost:x",
                                           "localhost:123456" };
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        assert_true(host_is_local(slice_text(local[i])));
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (host_is_local(slice_text(foreign[i])))
            fail_msg("%s", foreign[i]);
    Slice host = SLICE_LITERAL("localhost:7420");
    assert_true(origin_is_host(SLICE_LITERAL("http://localhost:7420"), host));
    assert_false(origin_is_host(SLICE_LITERAL("http://localhost:7421"), host));
    assert_false(origin_is_host(SLICE_LITERAL("http://evil.example"), host));
    assert_false(origin_is_host(SLICE_LITERAL("null"), host));
    assert_true(fetch_site_is_own(SLICE_LITERAL("")));
    assert_true(fetch_site_is_own(SLICE_LITERAL("same-origin")));
    assert_false(fetch_site_is_own(SLICE_LITERAL("cross-site")));
}

static void other_sites_cannot_use_a_browser(void **state)
{
    World *world = *state;
    static const struct {
        const char *headers;
        int status;
    } cases[] = {
        { "Origin: http://evil.example\r\n", 403 },
        { "Origin: null\r\n", 403 },
        { "Sec-Fetch-Site: cross-site\r\n", 403 },
        { "Sec-Fetch-Site: same-site\r\n", 403 },
        { "Sec-Fetch-Site: same-origin\r\n", 201 },
        { "", 201 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Reply reply;
        world_ask(world,
                  &(Ask){ "POST", "/api/v1/jobs", cases[i].headers,
                          SLICE_LITERAL("{\"type\":\"t\"}") },
                  &reply);
        assert_int_equal(reply.status, cases[i].status);
        reply_done(&reply);
    }
    assert_int_equal(jobs_added(world), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_addresses_are_listened_on),
        cmocka_unit_test(what_other_machines_reach_needs_tls_and_a_token),
        TEST(a_socket_is_private_and_replaces_only_dead_ones),
        TEST(a_socket_may_have_a_long_path),
        cmocka_unit_test(other_users_are_refused),
        TEST(the_owner_of_a_connection_is_found),
        cmocka_unit_test(hosts_and_origins_are_judged),
        TEST(other_sites_cannot_use_a_browser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
