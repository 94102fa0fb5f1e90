/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.c - pawl tenant: whose jobs there are, and what is set for each. */
#include "cli/command.h"

#include "base/json_out.h"
#include "cli/client.h"
#include "cli/verb.h"

#include <stdio.h>

#define TENANTS_PATH "/api/v1/tenants"

static Fault usage(const char *hint)
{
    return (Fault){ CLI_USAGE, "usage", hint };
}

static const Column columns[] = {
    { .title = "TENANT", .wide = true },   { .title = "TYPES" },
    { .title = "WAITING", .right = true }, { .title = "RUNNING", .right = true },
    { .title = "ENDED", .right = true },   { .title = "STORED", .right = true },
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
    table_addf(table, COLOUR_PLAIN, "%lld",
               (long long)doc_int(tenant, "stored_bytes", 0));
}

static int ls(Cli *cli)
{
    return verb_list(cli, &(VerbList){ .path = TENANTS_PATH,
                                       .columns = columns,
                                       .column_count = sizeof columns / sizeof *columns,
                                       .row = add_row,
                                       .nothing = "no tenants" });
}

static void say(const Cli *cli, const Doc *tenant)
{
    Buf out = { 0 };
    Table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    if (doc_bool(tenant, "removed")) {
        buf_printf(&out, "%s has its defaults again\n", cli->args.operands[1]);
    } else {
        add_row(&table, tenant);
        table_print(&table, &cli->out, &out);
    }
    table_done(&table);
    cli_print(&out);
    buf_done(&out);
}

static const VerbSet tenant_verbs;

/* What is not said keeps its value: the daemon takes the whole object. */
static void keep_limit(const Cli *cli, const Doc *before, JsonOut *json,
                       const char *option, const char *field)
{
    const char *value = args_value(&cli->args, option);
    if (value)
        json_raw(json, field, slice_text(value));
    else
        json_int(json, field, doc_int(before, field, 0));
}

static bool is_number(const char *text)
{
    return !text || (*text && strspn(text, "0123456789") == strlen(text));
}

static int set(Cli *cli)
{
    static const char *const limits[] = { "max-queued", "max-running", "max-requests",
                                          "max-bytes" };
    bool on = args_flag(&cli->args, "segregate-types");
    bool off = args_flag(&cli->args, "together");
    bool any = on || off;
    Doc *before = NULL;
    Buf path = { 0 };
    Buf body = { 0 };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        any = any || args_value(&cli->args, limits[i]);
        if (!is_number(args_value(&cli->args, limits[i])))
            return cli_fail(cli, usage("a number; 0 is no limit"), "--%s needs a number",
                            limits[i]);
    }
    if (!any || (on && off))
        return cli_fail(cli,
                        usage("pawl tenant set NAME --segregate-types | --together | "
                              "--max-queued N | --max-running N | --max-requests N | "
                              "--max-bytes N"),
                        "nothing to change");
    buf_add_text(&path, TENANTS_PATH "/");
    url_add(&path, slice_text(cli->args.operands[1]));
    Response response = { 0 };
    Error why;
    Request request = { .method = "GET", .path = buf_cstr(&path) };
    if (!client_call(&cli->client, &request, &response, &why) && response.status == 200 &&
        doc_parse(buf_slice(&response.body), &before, &why))
        before = NULL;
    JsonOut json = { .out = &body };
    json_object(&json, NULL);
    json_bool(&json, "segregate_types",
              on || (!off && doc_bool(before, "segregate_types")));
    keep_limit(cli, before, &json, "max-queued", "max_queued");
    keep_limit(cli, before, &json, "max-running", "max_running");
    keep_limit(cli, before, &json, "max-requests", "max_requests");
    keep_limit(cli, before, &json, "max-bytes", "max_bytes");
    json_object_end(&json);
    int code = verb_call(cli, &tenant_verbs, &(VerbCall){ "PUT", "", buf_slice(&body) });
    response_done(&response);
    doc_free(before);
    buf_done(&path);
    buf_done(&body);
    return code;
}

static const Verb verbs[] = {
    { "ls", 1, 1, ls, NULL, NULL },
    { "show", 2, 2, NULL, "GET", "" },
    { "set", 2, 2, set, NULL, NULL },
    { "rm", 2, 2, NULL, "DELETE", "" },
};

static const VerbSet tenant_verbs = { .command = "tenant",
                                      .missing = "missing name of the tenant",
                                      .verbs = verbs,
                                      .count = sizeof verbs / sizeof *verbs,
                                      .otherwise = "ls",
                                      .path = TENANTS_PATH,
                                      .say = say };

int cmd_tenant(Cli *cli)
{
    return verb_run(cli, &tenant_verbs);
}
