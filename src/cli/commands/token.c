/* SPDX-License-Identifier: Apache-2.0 */
/* token.c - pawl token: who may use the daemon over TCP, and for what. */
#include "cli/command.h"

#include "base/json_out.h"
#include "cli/client.h"
#include "cli/print/table.h"

#define TOKENS_PATH "/api/v1/tokens"

static Fault usage(const char *hint)
{
    return (Fault){ CLI_USAGE, "usage", hint };
}

static const Column columns[] = {
    { .title = "TOKEN", .wide = true },
    { .title = "TENANT" },
    { .title = "SCOPES" },
    { .title = "EXPIRES" },
    { .title = "LAST USED" },
    { .title = "FROM" },
};

static void add_time(Table *table, const Doc *token, const char *key)
{
    Slice text = doc_text(token, key);
    table_add(table, COLOUR_PLAIN, text.bytes ? text : SLICE_LITERAL("never"));
}

static void add_row(Table *table, const Doc *token)
{
    Buf scopes = { 0 };
    const Doc *scope = doc_first(doc_get(token, "scopes"));
    for (; scope; scope = doc_next(scope)) {
        buf_add_text(&scopes, scopes.bytes ? "," : "");
        buf_add_slice(&scopes, doc_as_text(scope));
    }
    table_add(table, COLOUR_PLAIN, doc_text(token, "name"));
    table_add(table, COLOUR_PLAIN, doc_text(token, "tenant"));
    table_add(table, COLOUR_PLAIN, buf_slice(&scopes));
    if (doc_bool(token, "expired"))
        table_add(table, COLOUR_PLAIN, SLICE_LITERAL("expired"));
    else
        add_time(table, token, "expires_at");
    add_time(table, token, "last_used_at");
    table_add(table, COLOUR_PLAIN, doc_text(token, "last_used_from"));
    buf_done(&scopes);
}

static int ls(Cli *cli)
{
    Doc *page = NULL;
    int code = cli_get(cli, TOKENS_PATH "?limit=1000", &page);
    if (code)
        return code;
    cli_print_list(
        cli, page,
        &(ListShape){
            columns, sizeof columns / sizeof *columns, add_row,
            "no tokens: the daemon serves its own user and root, and no one else" });
    doc_free(page);
    return CLI_DONE;
}

static void write_new(const Cli *cli, Buf *out)
{
    JsonOut json = { .out = out };
    const char *tenant = args_value(&cli->args, "tenant");
    const char *expires = args_value(&cli->args, "expires");
    json_object(&json, NULL);
    json_cstr(&json, "name", cli->args.operands[1]);
    json_cstr(&json, "scopes", args_value(&cli->args, "scopes"));
    if (tenant)
        json_cstr(&json, "tenant", tenant);
    if (expires)
        json_cstr(&json, "expires_in", expires);
    json_object_end(&json);
}

/* The secret goes to standard output alone: `pawl token create ci ... > file`. */
static int create(Cli *cli)
{
    Buf body = { 0 };
    Response response = { 0 };
    Doc *made = NULL;
    if (!args_value(&cli->args, "scopes"))
        return cli_fail(cli, usage("pawl token create NAME --scopes read,enqueue"),
                        "what may it do?");
    write_new(cli, &body);
    Request request = { .method = "POST", .path = TOKENS_PATH, .body = buf_slice(&body) };
    int code = cli_call(cli, &request, &response);
    if (!code && cli->json) {
        cli_print_json(buf_slice(&response.body));
    } else if (!code && !doc_parse(buf_slice(&response.body), &made, NULL)) {
        Buf out = { 0 };
        buf_add_slice(&out, doc_text(made, "token"));
        buf_add_char(&out, '\n');
        cli_note("this is the only time that the token is shown; use it as PAWL_TOKEN");
        cli_print(&out);
        buf_done(&out);
        doc_free(made);
    }
    response_done(&response);
    buf_done(&body);
    return code;
}

static int revoke(Cli *cli)
{
    Buf path = { 0 };
    Response response = { 0 };
    buf_add_text(&path, TOKENS_PATH "/");
    url_add(&path, slice_text(cli->args.operands[1]));
    Request request = { .method = "DELETE", .path = buf_cstr(&path) };
    int code = cli_call(cli, &request, &response);
    if (!code && cli->json)
        cli_print_json(buf_slice(&response.body));
    else if (!code)
        cli_note("revoked: %s", cli->args.operands[1]);
    response_done(&response);
    buf_done(&path);
    return code;
}

int cmd_token(Cli *cli)
{
    size_t count = cli->args.operand_count;
    Slice verb = count ? slice_text(cli->args.operands[0]) : SLICE_LITERAL("ls");
    if (slice_is(verb, "ls") && count < 2)
        return ls(cli);
    bool known = slice_is(verb, "create") || slice_is(verb, "revoke");
    if (!known || count != 2)
        return cli_fail(
            cli, usage("pawl token ls | create NAME --scopes S,S | revoke NAME"),
            known ? "missing name of the token" : "pawl token does not know that");
    return slice_is(verb, "create") ? create(cli) : revoke(cli);
}
