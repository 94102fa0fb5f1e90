/* SPDX-License-Identifier: Apache-2.0 */
/* operation.c - pawl operation: actions on many jobs that go on by themselves. */
#include "cli/command.h"

#include "cli/operation.h"
#include "cli/print/when.h"
#include "cli/verb.h"

#include "base/times.h"

#include <stdio.h>

static const Column columns[] = {
    { .title = "ID" },
    { .title = "ACTION" },
    { .title = "STATE" },
    { .title = "JOBS", .right = true },
    { .title = "ACTED", .right = true },
    { .title = "REFUSED", .right = true },
    { .title = "BEGUN", .right = true },
    { .title = "QUERY", .wide = true },
};

static void add_row(Table *table, const Doc *operation)
{
    static const char *const numbers[] = { "count", "acted", "refused" };
    char age[WHEN_TEXT_BYTES];
    bool dry = doc_bool(operation, "dry_run");
    int64_t since_ms = clock_now().wall_ms - doc_time(operation, "created_at");
    table_add(table, COLOUR_PLAIN, doc_text(operation, "id"));
    table_add(table, COLOUR_PLAIN, doc_text(operation, "action"));
    table_add(table, COLOUR_PLAIN,
              dry ? SLICE_LITERAL("dry run") : doc_text(operation, "state"));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        table_addf(table, COLOUR_PLAIN, "%lld",
                   (long long)doc_int(operation, numbers[i], 0));
    table_addf(table, COLOUR_PLAIN, "%s", when_age(since_ms < 0 ? 0 : since_ms, age));
    table_add(table, COLOUR_PLAIN, doc_text(operation, "q"));
}

static int ls(Cli *cli)
{
    return verb_list(cli, &(VerbList){ .path = OPERATIONS_PATH,
                                       .columns = columns,
                                       .column_count = sizeof columns / sizeof *columns,
                                       .row = add_row,
                                       .nothing = "no operations" });
}

static void say(const Cli *cli, const Doc *operation)
{
    Buf out = { 0 };
    Table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    add_row(&table, operation);
    table_print(&table, &cli->out, &out);
    table_done(&table);
    cli_print(&out);
    buf_done(&out);
}

static int wait_for(Cli *cli)
{
    return operation_follow(cli, slice_text(cli->args.operands[1]));
}

static const Verb verbs[] = {
    { "ls", 1, 1, ls, NULL, NULL },
    { "show", 2, 2, NULL, "GET", "" },
    { "wait", 2, 2, wait_for, NULL, NULL },
    { "stop", 2, 2, NULL, "DELETE", "" },
};

int cmd_operation(Cli *cli)
{
    static const VerbSet set = { .command = "operation",
                                 .missing = "which operation?",
                                 .verbs = verbs,
                                 .count = sizeof verbs / sizeof *verbs,
                                 .otherwise = "ls",
                                 .path = OPERATIONS_PATH,
                                 .say = say };
    return verb_run(cli, &set);
}
