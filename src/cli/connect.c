/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c - which server a command talks to (cli_connect of cli.h).
 *
 * --server, $PAWL_SERVER, inside a job its own daemon, the socket in the data directory,
 * the address in its file `listen`, 127.0.0.1:7420: the first that is named or answers.
 * What listens at an address that nobody named must be ours or root's: it gets our jobs
 * and token. Only `run` and `add` start a private daemon, and only where no server was
 * named. */
#include "cli/cli.h"

#include "cli/command.h"
#include "cli/place.h"
#include "cli/start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

/* NULL unless this runs in a job. There, whoever names no other daemon means the one
 * that runs the job: a private one would end together with the job. */
static const char *own_daemon(const Cli *cli)
{
    const char *data = getenv("PAWL_DATA");
    bool elsewhere = args_value(&cli->args, "data") || (data && *data);
    return getenv("PAWL_JOB_ID") && !elsewhere ? getenv("PAWL_API_URL") : NULL;
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
        Fault fault = { CLI_UNREACHABLE, "daemon_unreachable",
                        "see what it says: pawl serve\ncheck everything: pawl doctor" };
        return cli_fail(cli, fault, "%s", why.text);
    }
    if (started)
        cli_note("started a private daemon for you in %s "
                 "(it leaves after 10 min without work)",
                 buf_cstr(&cli->data_dir));
    return prepare(cli, socket_server);
}

/* The port at 127.0.0.1 to try, and who listens there. */
static PlaceOwner find_port(Cli *cli, uint16_t *out_port)
{
    Buf path = { 0 };
    buf_printf(&path, "%s/listen", buf_cstr(&cli->data_dir));
    *out_port = cli->data_dir.bytes ? place_port(buf_cstr(&path)) : 0;
    buf_done(&path);
    if (*out_port && place_owner(PLACE_TABLES, *out_port, geteuid()) == PLACE_OURS)
        return PLACE_OURS;
    *out_port = PLACE_PORT_DEFAULT;
    return place_owner(PLACE_TABLES, *out_port, geteuid());
}

/* Over TCP, to an address that nobody named. *out_none: there is no daemon for us, and
 * the command may start one. */
static int connect_port(Cli *cli, bool *out_none)
{
    uint16_t port;
    char server[40];
    bool starts = cli->command->need == NEED_OR_START;
    PlaceOwner owner = find_port(cli, &port);
    const char *what =
        owner == PLACE_OTHERS ? "belongs to another user" : "may belong to another user";
    *out_none = false;
    if (owner == PLACE_OTHERS || owner == PLACE_UNKNOWN) {
        Fault fault = { CLI_UNREACHABLE, "daemon_unreachable",
                        "start your own: pawl serve    or just: pawl run -- CMD" };
        if (!starts)
            return cli_fail(cli, fault,
                            "the daemon at 127.0.0.1:%u %s; "
                            "name it with --server to use it all the same",
                            (unsigned)port, what);
        if (owner == PLACE_OTHERS)
            cli_note("the daemon at 127.0.0.1:%u %s; "
                     "name it with --server to use it all the same",
                     (unsigned)port, what);
        *out_none = true;
        return CLI_DONE;
    }
    snprintf(server, sizeof server, "http://127.0.0.1:%u", (unsigned)port);
    int code = prepare(cli, server);
    *out_none = starts && !code && (owner == PLACE_NOBODY || !serves_us(cli));
    return code;
}

int cli_connect(Cli *cli)
{
    Error why;
    const char *server = args_value(&cli->args, "server");
    if (!server)
        server = getenv("PAWL_SERVER");
    if (!server || !*server)
        server = own_daemon(cli);
    cli->server_named = server && *server;
    Err no_data = find_data(cli, &why);
    if (cli->server_named)
        return prepare(cli, server);

    Buf socket = { 0 };
    buf_printf(&socket, "unix:%s/pawl.sock", buf_cstr(&cli->data_dir));
    const char *socket_server = buf_cstr(&socket);
    int code;
    if (!no_data && place_listens(socket_server + strlen("unix:"))) {
        code = prepare(cli, socket_server);
    } else {
        bool none;
        code = connect_port(cli, &none);
        if (none)
            code = no_data ? cli_misused(cli, &why) : use_private(cli, socket_server);
    }
    buf_done(&socket);
    return code;
}
