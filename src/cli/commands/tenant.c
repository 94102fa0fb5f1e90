/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.c - pawl tenant: whose jobs there are, and what is set for each. */
#include "cli/command.h"

#include "base/json_out.h"
#include "cli/commands/noun_options.h"
#include "noun/tenant.h"

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

static int set(Cli *cli)
{
    Buf body = { 0 };
    JsonOut json = { .out = &body };
    json_object(&json, NULL);
    int code = noun_options(cli, &tenant_noun, &json);
    if (args_flag(&cli->args, "together"))
        json_bool(&json, "segregate_types", false);
    json_object_end(&json);
    bool both =
        args_flag(&cli->args, "together") && args_flag(&cli->args, "segregate-types");
    if (!code && (both || slice_is(buf_slice(&body), "{}")))
        code = cli_fail(cli,
                        usage("pawl tenant set NAME --segregate-types | --together | "
                              "--max-queued N | --max-running N | --max-requests N | "
                              "--max-bytes N"),
                        "nothing to change");
    if (!code)
        code = verb_set(cli, &tenant_verbs, buf_slice(&body));
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
