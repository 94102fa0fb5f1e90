/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c - which server a command talks to (cli_connect of cli.h).
 *
 * Who names a daemon means that one: it answers, or the command fails. --server, --data,
 * $PAWL_SERVER and $PAWL_DATA name one; in a job that names none it is the job's own.
 * Only where nobody named one is it looked for: the socket in the default data directory,
 * that of the system service, 127.0.0.1:7420. What listens there must be ours or root's:
 * it gets our jobs and token. `run`, `map` and `add` start a private daemon in the data
 * directory, unless a server was named. */
#include "cli/cli.h"

#include "cli/command.h"
#include "cli/place.h"
#include "cli/start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_BYTES_MAX 4096

static Err find_data(Cli *cli, Error *why)
{
    char *cwd = getcwd(NULL, 0);
    PlaceEnv env = {
        .data_option = args_value(&cli->args, "data"),
        .pawl_data = getenv("PAWL_DATA"),
        .state_home = getenv("XDG_STATE_HOME"),
        .home = getenv("HOME"),
        .cwd = cwd ? cwd : "",
    };
    Err err = place_data(&env, &cli->data_dir, why);
    free(cwd);
    return err;
}

static char *keep(Slice text)
{
    char *copy = mem_alloc(text.bytes + 1);
    if (text.bytes)
        memcpy(copy, text.data, text.bytes);
    return copy;
}

/* The first line of the file. Tokens are never given on the command line itself: others
 * could see them in the list of processes. */
static Err read_token(const char *path, char **out_token, Error *why)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return error_errno(why, "cannot open the token file %s", path);
    char line[TOKEN_BYTES_MAX];
    Err err = ERR_OK;
    if (!fgets(line, sizeof line, file))
        err = error_set(why, ERR_INVALID, "the token file %s is empty", path);
    fclose(file);
    if (err)
        return err;
    line[strcspn(line, "\r\n")] = '\0';
    *out_token = keep(slice_text(line));
    return ERR_OK;
}

/* In a job the variable has a secret of the attempt, which opens nothing and is nobody
 * else's business, unless the job has put a token of its own there. */
static const char *own_token(void)
{
    const char *token = getenv("PAWL_TOKEN");
    if (!token || !*token)
        return NULL;
    return getenv("PAWL_JOB_ID") && place_attempts_token(token) ? NULL : token;
}

static int prepare(Cli *cli, const char *server)
{
    Error why;
    buf_clear(&cli->server);
    buf_add_text(&cli->server, server);
    if (client_init(&cli->client, server, &why))
        return cli_misused(cli, &why);
    const char *path = args_value(&cli->args, "token-file");
    const char *token = path ? NULL : own_token();
    const char *tenant = args_value(&cli->args, "tenant");
    if (!tenant)
        tenant = getenv("PAWL_TENANT"); /* also in a job that asks for others */
    const char *ca = args_value(&cli->args, "ca");
    ca = ca ? ca : getenv("PAWL_CA");
    if (ca && *ca)
        cli->client.ca = keep(slice_text(ca));
    if (path && read_token(path, &cli->client.token, &why))
        return cli_misused(cli, &why);
    if (token)
        cli->client.token = keep(slice_text(token));
    if (tenant && *tenant)
        cli->client.tenant = keep(slice_text(tenant));
    return CLI_DONE;
}

/* Whether there is a daemon that serves us. One of another user answers 403: that is as
 * good as none. */
static bool serves_us(Cli *cli)
{
    Response response = { 0 };
    Error why;
    Request request = { .method = "GET", .path = "/api/v1/jobs?limit=1" };
    Err err = client_call(&cli->client, &request, &response, &why);
    bool refused = response.status == 401 || response.status == 403;
    response_done(&response);
    return !err && (!refused || cli->client.token);
}

static int use_private(Cli *cli, const char *socket_server)
{
    Error why;
    bool started = false;
    client_done(&cli->client);
    if (start_private(buf_cstr(&cli->data_dir), &started, &why)) {
        Buf hint = { 0 };
        buf_printf(&hint,
                   "see what it says: pawl serve --data %s\n"
                   "check everything: pawl doctor --data %s",
                   buf_cstr(&cli->data_dir), buf_cstr(&cli->data_dir));
        Fault fault = { CLI_UNREACHABLE, "daemon_unreachable", buf_cstr(&hint) };
        int code = cli_fail(cli, fault, "%s", why.text);
        buf_done(&hint);
        return code;
    }
    if (started)
        cli_note("started a private daemon for you in %s "
                 "(it leaves after 10 min without work)",
                 buf_cstr(&cli->data_dir));
    return prepare(cli, socket_server);
}

#define DEFAULT_SERVER "http://127.0.0.1:7420"

/* At the default address, which nobody named. *out_none: there is no daemon for us, and
 * the command may start one. */
static int connect_port(Cli *cli, bool *out_none)
{
    bool starts = cli->command->need == NEED_OR_START;
    PlaceOwner owner = place_owner(PLACE_TABLES, PLACE_PORT_DEFAULT, geteuid());
    const char *what =
        owner == PLACE_OTHERS ? "belongs to another user" : "may belong to another user";
    *out_none = false;
    if (owner == PLACE_OTHERS || owner == PLACE_UNKNOWN) {
        Fault fault = { CLI_UNREACHABLE, "daemon_unreachable",
                        "start your own: pawl serve    or just: pawl run -- CMD" };
        if (!starts)
            return cli_fail(cli, fault,
                            "the daemon at " DEFAULT_SERVER " %s; "
                            "name it with --server to use it all the same",
                            what);
        if (owner == PLACE_OTHERS)
            cli_note("the daemon at " DEFAULT_SERVER " %s; "
                     "name it with --server to use it all the same",
                     what);
        *out_none = true;
        return CLI_DONE;
    }
    int code = prepare(cli, DEFAULT_SERVER);
    *out_none = starts && !code && (owner == PLACE_NOBODY || !serves_us(cli));
    return code;
}

/* Two daemons of one user, and the command goes to the one that is less in sight: a
 * private one, while another was started at the default address. */
static void tell_of_other(Cli *cli)
{
    Buf path = { 0 };
    buf_printf(&path, "%s/listen", buf_cstr(&cli->data_dir));
    bool same = place_port(buf_cstr(&path)) == PLACE_PORT_DEFAULT;
    buf_done(&path);
    if (!same && place_owner(PLACE_TABLES, PLACE_PORT_DEFAULT, geteuid()) == PLACE_OURS)
        cli_note("this is the daemon in %s; for the one at " DEFAULT_SERVER
                 " say --server " DEFAULT_SERVER " or --data DIR",
                 buf_cstr(&cli->data_dir));
}

static bool same_directory(const char *a, const char *b)
{
    struct stat one;
    struct stat other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* Whether the daemon that answers keeps its data in our directory. */
static bool lives_here(Cli *cli)
{
    Response response = { 0 };
    Doc *nodes = NULL;
    Error why;
    bool here = false;
    Request request = { .method = "GET", .path = "/api/v1/nodes", .timeout_ms = 5000 };
    if (!client_call(&cli->client, &request, &response, &why) && response.status == 200 &&
        !doc_parse(buf_slice(&response.body), &nodes, NULL)) {
        const Doc *node = doc_first(doc_get(nodes, "items"));
        Arena arena = { 0 };
        for (; node; node = doc_next(node))
            here = here || same_directory(slice_cstr(&arena, doc_text(node, "data")),
                                          buf_cstr(&cli->data_dir));
        arena_done(&arena);
    }
    if (nodes)
        doc_free(nodes);
    response_done(&response);
    return here;
}

/* A daemon whose socket somebody removed is still at the address in its file. The file
 * outlives the daemon, and others may listen there since. */
static bool connect_listen(Cli *cli)
{
    char server[40];
    Buf path = { 0 };
    buf_printf(&path, "%s/listen", buf_cstr(&cli->data_dir));
    uint16_t port = place_port(buf_cstr(&path));
    buf_done(&path);
    if (!port || place_owner(PLACE_TABLES, port, geteuid()) != PLACE_OURS)
        return false;
    snprintf(server, sizeof server, "http://127.0.0.1:%u", (unsigned)port);
    if (prepare(cli, server) == CLI_DONE && lives_here(cli))
        return true;
    client_done(&cli->client);
    return false;
}

/* Nobody named a daemon. */
static int connect_found(Cli *cli, const char *socket_server, const Error *no_data)
{
    bool none;
    if (!no_data && place_listens(socket_server + strlen("unix:"))) {
        tell_of_other(cli);
        return prepare(cli, socket_server);
    }
    if (!no_data && connect_listen(cli))
        return CLI_DONE;
    if (place_listens(PLACE_SERVICE))
        return prepare(cli, "unix:" PLACE_SERVICE);
    int code = connect_port(cli, &none);
    if (none)
        code = no_data ? cli_misused(cli, no_data) : use_private(cli, socket_server);
    return code;
}

/* The daemon in the data directory that was named, and no other. */
static int connect_named(Cli *cli, const char *socket_server)
{
    bool listens = place_listens(socket_server + strlen("unix:"));
    if (!listens && connect_listen(cli))
        return CLI_DONE;
    if (!listens && cli->command->need == NEED_OR_START)
        return use_private(cli, socket_server);
    return prepare(cli, socket_server);
}

int cli_connect(Cli *cli)
{
    Error why;
    PlaceMeant meant = place_meant(&(PlaceNames){
        .server_option = args_value(&cli->args, "server"),
        .data_option = args_value(&cli->args, "data"),
        .pawl_server = getenv("PAWL_SERVER"),
        .pawl_data = getenv("PAWL_DATA"),
        .job_url = getenv("PAWL_JOB_ID") ? getenv("PAWL_API_URL") : NULL,
    });
    cli->server_named = meant.server != NULL;
    cli->data_named = meant.data;
    Err no_data = find_data(cli, &why);
    if (meant.server)
        return prepare(cli, meant.server);
    Buf socket = { 0 };
    buf_printf(&socket, "unix:%s/pawl.sock", buf_cstr(&cli->data_dir));
    int code = meant.data ? connect_named(cli, buf_cstr(&socket))
                          : connect_found(cli, buf_cstr(&socket), no_data ? &why : NULL);
    buf_done(&socket);
    return code;
}
