/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_notify.c - pawl __notify URL: sends standard input to a webhook.
 *
 * What the daemon starts, as a job with retries, to tell of the end of a control file's
 * job. Its exit status says whether another try makes sense. */
#include "cli/command.h"

#include "cli/describe.h"

#include <sysexits.h>

#define TIMEOUT_MS 30000

/* The part of a URL before its path. */
static Slice base_of(Slice url)
{
    const char *scheme = memmem(url.data, url.bytes, "://", 3);
    size_t at = scheme ? (size_t)(scheme - url.data) + 3 : 0;
    while (at < url.bytes && !strchr("/?", url.data[at]))
        at++;
    return slice_of(url.data, at);
}

static int post(Cli *cli, Client *client, Slice path, Slice body)
{
    Error why = { 0 };
    Response response = { 0 };
    Arena arena = { 0 };
    Request request = { .method = "POST",
                        .path = path.bytes ? slice_cstr(&arena, path) : "/",
                        .body = body,
                        .timeout_ms = TIMEOUT_MS };
    int code = EX_OK;
    if (client_call(client, &request, &response, &why)) {
        code = EX_TEMPFAIL;
        cli_fail(cli, (Fault){ code, "unreachable", NULL }, "%s", why.text);
    } else if (response.status < 200 || response.status > 299) {
        bool later =
            response.status == 408 || response.status == 429 || response.status >= 500;
        code = later ? EX_TEMPFAIL : EX_DATAERR;
        cli_fail(cli, (Fault){ code, "refused", NULL }, "the answer is %d",
                 response.status);
    }
    response_done(&response);
    arena_done(&arena);
    return code;
}

int cmd_notify(Cli *cli)
{
    Fault usage = { CLI_USAGE, "usage",
                    "for example: pawl __notify https://example.org/x" };
    if (cli->args.operand_count != 1)
        return cli_fail(cli, usage, "notify takes one URL");
    Slice url = slice_text(cli->args.operands[0]);
    Slice base = base_of(url);
    Arena arena = { 0 };
    Error why = { 0 };
    Client client;
    Buf body = { 0 };
    if (client_init(&client, slice_cstr(&arena, base), &why)) {
        arena_done(&arena);
        return cli_fail(cli, usage, "%s", why.text);
    }
    int code = describe_read(cli, "-", &body);
    if (!code)
        code = post(cli, &client, slice_from(url, base.bytes), buf_slice(&body));
    client_done(&client);
    buf_done(&body);
    arena_done(&arena);
    return code;
}
