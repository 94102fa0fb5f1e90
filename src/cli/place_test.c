/* SPDX-License-Identifier: Apache-2.0 */
/* place_test.c - which directory, which server, and addresses as text. */
#include "cli/place.h"

#include "cli/client.h"
#include "cli/start.h"
#include "cli/testing.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void expect_data(PlaceEnv env, const char *wanted)
{
    Buf path = { 0 };
    Error why;
    assert_int_equal(place_data(&env, &path, &why), ERR_OK);
    assert_string_equal(buf_cstr(&path), wanted);
    buf_done(&path);
}

static void the_first_named_directory_wins(void **state)
{
    (void)state;
    PlaceEnv env = { "opt", "/env", "/state", "/home/u", "/srv" };
    expect_data(env, "/srv/opt");
    env.cwd = "/";
    expect_data(env, "/opt");
    env.data_option = "/opt/";
    expect_data(env, "/opt");
    env.data_option = NULL;
    expect_data(env, "/env");
    env.pawl_data = "";
    expect_data(env, "/state/pawl");
    env.state_home = "relative";
    expect_data(env, "/home/u/.local/state/pawl");
    env.home = NULL;
    Buf path = { 0 };
    Error why;
    assert_int_equal(place_data(&env, &path, &why), ERR_NOT_FOUND);
    assert_int_equal(path.bytes, 0);
}

static void expect_meant(PlaceNames names, const char *server, bool data)
{
    PlaceMeant meant = place_meant(&names);
    if (server)
        assert_string_equal(meant.server, server);
    else
        assert_null(meant.server);
    assert_int_equal(meant.data, data);
}

static void who_names_a_daemon_means_that_one(void **state)
{
    (void)state;
    PlaceNames names = { "option", "dir", "variable", "directory", "job" };
    expect_meant(names, "option", false);
    names.server_option = NULL;
    expect_meant(names, NULL, true); /* closer than $PAWL_SERVER */
    names.data_option = "";
    expect_meant(names, "variable", false);
    names.pawl_server = "";
    expect_meant(names, NULL, true); /* not the job's own */
    names.pawl_data = NULL;
    expect_meant(names, "job", false);
    names.job_url = NULL;
    expect_meant(names, NULL, false);
}

static void expect_server(const char *server, const char *url, const char *socket)
{
    Client client;
    Error why;
    assert_int_equal(client_init(&client, server, &why), ERR_OK);
    assert_string_equal(client.url, url);
    if (socket)
        assert_string_equal(client.socket, socket);
    else
        assert_null(client.socket);
    client_done(&client);
}

static void servers_are_urls_or_sockets(void **state)
{
    (void)state;
    expect_server("http://127.0.0.1:7420", "http://127.0.0.1:7420", NULL);
    expect_server("http://127.0.0.1:7420///", "http://127.0.0.1:7420", NULL);
    expect_server("localhost:7420", "http://localhost:7420", NULL);
    expect_server("https://host/base", "https://host/base", NULL);
    expect_server("unix:/run/pawl.sock", "http://localhost", "/run/pawl.sock");
    expect_server("unix:///run/pawl.sock", "http://localhost", "/run/pawl.sock");
    expect_server("unix:pawl.sock", "http://localhost", "pawl.sock");
    static const char *const wrong[] = { "", "/", "unix:", "ftp://host", "file:///etc" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Client client;
        Error why;
        assert_int_equal(client_init(&client, wrong[i], &why), ERR_INVALID);
        client_done(&client);
    }
}

static void parts_of_a_path_are_escaped(void **state)
{
    (void)state;
    Buf path = { 0 };
    buf_add_text(&path, "/jobs");
    url_query(&path, "q", SLICE_LITERAL("state:failed a&b=\xc3\xa9/%"));
    url_query(&path, "limit", SLICE_LITERAL("2"));
    assert_string_equal(buf_cstr(&path),
                        "/jobs?q=state%3Afailed%20a%26b%3D%C3%A9%2F%25&limit=2");
    buf_done(&path);
}

static void nobody_there_is_told_as_such(void **state)
{
    (void)state;
    Client client;
    Error why;
    Response response = { 0 };
    assert_int_equal(client_init(&client, "unix:/nonexistent/pawl.sock", &why), ERR_OK);
    assert_int_equal(client_call(&client, &(Request){ .method = "GET", .path = "/livez" },
                                 &response, &why),
                     ERR_UNAVAILABLE);
    response_done(&response);
    client_done(&client);
}

static void a_socket_without_a_listener_is_no_daemon(void **state)
{
    (void)state;
    char directory[] = "/tmp/pawl-place-XXXXXX";
    assert_non_null(mkdtemp(directory));
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s/pawl.sock", directory);
    assert_false(place_listens(address.sun_path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_false(place_listens(address.sun_path));
    assert_int_equal(listen(fd, 1), 0);
    assert_true(place_listens(address.sun_path));
    close(fd);
    assert_false(place_listens(address.sun_path));
    unlink(address.sun_path);
    rmdir(directory);
}

static void directories_are_made_for_their_owner_only(void **state)
{
    (void)state;
    char directory[] = "/tmp/pawl-place-XXXXXX";
    assert_non_null(mkdtemp(directory));
    char deep[64];
    snprintf(deep, sizeof deep, "%s/a/b", directory);
    Error why;
    assert_int_equal(start_make_dir(deep, &why), ERR_OK);
    assert_int_equal(start_make_dir(deep, &why), ERR_OK);
    struct stat facts;
    assert_int_equal(stat(deep, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    rmdir(deep);
    deep[strlen(deep) - 2] = '\0';
    rmdir(deep);
    rmdir(directory);
    assert_int_not_equal(start_make_dir("/dev/null/x", &why), ERR_OK);
}

static void write_file(const char *directory, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A line of the kernel's table, with words in the order of the network. */
static void add_entry(Buf *table, unsigned address, unsigned state, unsigned user)
{
    buf_printf(table,
               "   0: %08X:1CFC 00000000:0000 %02X 00000000:00000000 00:00000000 "
               "00000000 %5u        0 3260446 1 0 100 0 0 10 0\n",
               address, state, user);
}

static void listeners_of_other_users_are_known(void **state)
{
    (void)state;
    static const struct {
        unsigned address;
        unsigned state;
        unsigned user;
        PlaceOwner owner;
    } cases[] = {
        { INADDR_LOOPBACK, 0x0A, 1000, PLACE_OURS },
        { INADDR_LOOPBACK, 0x0A, 0, PLACE_OURS },
        { INADDR_LOOPBACK, 0x0A, 1001, PLACE_OTHERS },
        { INADDR_ANY, 0x0A, 1001, PLACE_OTHERS },
        { INADDR_ANY, 0x0A, 1000, PLACE_OURS },
        { INADDR_LOOPBACK, 0x01, 1001, PLACE_NOBODY },     /* a connection */
        { INADDR_LOOPBACK + 1, 0x0A, 1000, PLACE_NOBODY }, /* another address */
    };
    char directory[] = "/tmp/pawl-place-XXXXXX";
    assert_non_null(mkdtemp(directory));
    assert_int_equal(place_owner(directory, 7420, 1000), PLACE_UNKNOWN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf table = { 0 };
        buf_add_text(&table, "  sl  local_address rem_address   st\n");
        add_entry(&table, htonl(cases[i].address), cases[i].state, cases[i].user);
        write_file(directory, "tcp", buf_cstr(&table));
        assert_int_equal(place_owner(directory, 7420, 1000), cases[i].owner);
        assert_int_equal(place_owner(directory, 7421, 1000), PLACE_NOBODY);
        buf_done(&table);
    }
    /* Somebody else at :: gets what 127.0.0.1 itself does not take. */
    write_file(directory, "tcp6",
               "   0: 00000000000000000000000000000000:1CFC "
               "00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 "
               "00000000  1001        0 1 1 0 100 0 0 10 0\n");
    assert_int_equal(place_owner(directory, 7420, 1000), PLACE_OTHERS);
    Buf table = { 0 };
    add_entry(&table, htonl(INADDR_LOOPBACK), 0x0A, 1000);
    write_file(directory, "tcp", buf_cstr(&table));
    assert_int_equal(place_owner(directory, 7420, 1000), PLACE_OURS);
    buf_done(&table);
    char path[64];
    snprintf(path, sizeof path, "%s/tcp", directory);
    unlink(path);
    snprintf(path, sizeof path, "%s/tcp6", directory);
    unlink(path);
    rmdir(directory);
}

static void the_kernel_tells_of_our_own_listener(void **state)
{
    (void)state;
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t bytes = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    uint16_t port = ntohs(address.sin_port);
    assert_int_equal(place_owner(PLACE_TABLES, port, geteuid()), PLACE_OURS);
    if (geteuid() != 0)
        assert_int_equal(place_owner(PLACE_TABLES, port, geteuid() + 1), PLACE_OTHERS);
    close(fd);
}

static void ports_are_read_from_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint16_t port;
    } cases[] = {
        { "127.0.0.1:7421\n", 7421 },
        { "127.0.0.1:65535", 65535 },
        { "", 0 },
        { "127.0.0.1:65536\n", 0 },
        { "127.0.0.1:0\n", 0 },
        { "10.0.0.1:7421\n", 0 },
        { "127.0.0.1:74x\n", 0 },
    };
    char directory[] = "/tmp/pawl-place-XXXXXX";
    assert_non_null(mkdtemp(directory));
    char path[64];
    snprintf(path, sizeof path, "%s/listen", directory);
    assert_int_equal(place_port(path), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(directory, "listen", cases[i].text);
        assert_int_equal(place_port(path), cases[i].port);
    }
    unlink(path);
    rmdir(directory);
}

static void tokens_of_attempts_are_known_by_their_form(void **state)
{
    (void)state;
    assert_true(place_attempts_token("0123456789abcdef0123456789abcdef"));
    assert_false(place_attempts_token("0123456789abcdef0123456789abcde"));
    assert_false(place_attempts_token("0123456789abcdef0123456789abcdef0"));
    assert_false(place_attempts_token("pawl_6789abcdef0123456789abcdef01"));
    assert_false(place_attempts_token(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_named_directory_wins),
        cmocka_unit_test(who_names_a_daemon_means_that_one),
        cmocka_unit_test(servers_are_urls_or_sockets),
        cmocka_unit_test(parts_of_a_path_are_escaped),
        cmocka_unit_test(nobody_there_is_told_as_such),
        cmocka_unit_test(a_socket_without_a_listener_is_no_daemon),
        cmocka_unit_test(directories_are_made_for_their_owner_only),
        cmocka_unit_test(listeners_of_other_users_are_known),
        cmocka_unit_test(the_kernel_tells_of_our_own_listener),
        cmocka_unit_test(ports_are_read_from_the_file),
        cmocka_unit_test(tokens_of_attempts_are_known_by_their_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
