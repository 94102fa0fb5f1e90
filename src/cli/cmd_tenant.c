/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_tenant.c - pawl tenant: whose jobs there are, and what is set for each. */
#include "cli/command.h"

#include "cli/client.h"
#include "cli/table.h"

#define TENANTS_PATH "/api/v1/tenants"

static Fault usage(const char *hint)
{
    return (Fault){ CLI_USAGE, "usage", hint };
}

static const Column columns[] = {
    { .title = "TENANT", .wide = true },   { .title = "TYPES" },
    { .title = "WAITING", .right = true }, { .title = "RUNNING", .right = true },
    { .title = "ENDED", .right = true },
};

static int64_t jobs_in(const Doc *tenant, const char *const *states)
{
    int64_t sum = 0;
    for (size_t i = 0; states[i]; i++)
        sum += doc_int(doc_get(tenant, "jobs"), states[i], 0);
    return sum;
}

static void add_row(Table *table, const Doc *tenant)
{
    static const char *const waiting[] = { "deferred", "blocked",  "ready", "held",
                                           "halted",   "retrying", NULL };
    static const char *const running[] = { "running", "paused", NULL };
    static const char *const ended[] = { "done", "failed", "rejected", "cancelled",
                                         NULL };
    bool apart = doc_bool(tenant, "segregate_types");
    table_add(table, COLOUR_PLAIN, doc_text(tenant, "name"));
    table_addf(table, COLOUR_PLAIN, "%s", apart ? "segregated" : "together");
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)jobs_in(tenant, waiting));
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)jobs_in(tenant, running));
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)jobs_in(tenant, ended));
}

static int ls(Cli *cli)
{
    Doc *page = NULL;
    Table table;
    Buf out = { 0 };
    int code = cli_get(cli, TENANTS_PATH "?limit=1000", &page);
    if (code)
        return code;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    const Doc *item = doc_first(doc_get(page, "items"));
    for (; item; item = doc_next(item))
        add_row(&table, item);
    if (cli->json) {
        doc_write(page, &out);
        buf_add_char(&out, '\n');
    } else if (table_rows(&table)) {
        table_print(&table, &cli->out, &out);
    } else {
        cli_note("no tenants");
    }
    cli_print(&out);
    if (doc_text(page, "next_cursor").bytes)
        cli_note("there are more: the first 1000 are shown");
    buf_done(&out);
    table_done(&table);
    doc_free(page);
    return CLI_DONE;
}

static int call(Cli *cli, const char *method, Slice body)
{
    Buf path = { 0 };
    Response response = { 0 };
    buf_add_text(&path, TENANTS_PATH "/");
    url_add(&path, slice_text(cli->args.operands[1]));
    Request request = { .method = method, .path = buf_cstr(&path), .body = body };
    int code = cli_call(cli, &request, &response);
    Doc *tenant = NULL;
    Buf out = { 0 };
    if (!code && cli->json) {
        cli_print_json(buf_slice(&response.body));
    } else if (!code && !doc_parse(buf_slice(&response.body), &tenant, NULL)) {
        Table table;
        table_init(&table, columns, sizeof columns / sizeof *columns);
        if (!doc_bool(tenant, "removed"))
            add_row(&table, tenant);
        table_print(&table, &cli->out, &out);
        table_done(&table);
        if (doc_bool(tenant, "removed")) {
            buf_clear(&out);
            buf_printf(&out, "%s has its defaults again\n", cli->args.operands[1]);
        }
        doc_free(tenant);
    }
    cli_print(&out);
    buf_done(&out);
    response_done(&response);
    buf_done(&path);
    return code;
}

static int set(Cli *cli)
{
    bool on = args_flag(&cli->args, "segregate-types");
    bool off = args_flag(&cli->args, "together");
    if (on == off)
        return cli_fail(cli, usage("pawl tenant set NAME --segregate-types | --together"),
                        "set what?");
    return call(cli, "PUT",
                on ? SLICE_LITERAL("{\"segregate_types\":true}")
                   : SLICE_LITERAL("{\"segregate_types\":false}"));
}

int cmd_tenant(Cli *cli)
{
    size_t count = cli->args.operand_count;
    Slice verb = count ? slice_text(cli->args.operands[0]) : SLICE_LITERAL("ls");
    if (slice_is(verb, "ls") && count < 2)
        return ls(cli);
    bool known = slice_is(verb, "show") || slice_is(verb, "set") || slice_is(verb, "rm");
    if (!known || count != 2)
        return cli_fail(cli, usage("pawl tenant ls | show NAME | set NAME ... | rm NAME"),
                        known ? "of which tenant?" : "pawl tenant does not know that");
    if (slice_is(verb, "set"))
        return set(cli);
    return call(cli, slice_is(verb, "rm") ? "DELETE" : "GET", (Slice){ NULL, 0 });
}
