/* SPDX-License-Identifier: Apache-2.0 */
/* resource.c - pawl resource: scarce things, who holds them, and how many there are.
 */
#include "cli/command.h"

#include "cli/commands/noun_options.h"
#include "noun/resource.h"

#include <stdio.h>

#define RESOURCES_PATH "/api/v1/resources"

static const Column ls_columns[] = {
    { .title = "RESOURCE", .wide = true },
    { .title = "KIND" },
    { .title = "SCOPE" },
    { .title = "TOTAL", .right = true },
    { .title = "IN USE", .right = true },
    { .title = "WAITING", .right = true },
    { .title = "HELD BY", .wide = true },
};

static void add_row(Table *table, const Doc *resource)
{
    Buf holders = { 0 };
    const Doc *holder = doc_first(doc_get(resource, "holders"));
    for (; holder; holder = doc_next(holder)) {
        buf_add_text(&holders, holders.bytes ? " " : "");
        buf_add_slice(&holders, doc_text(holder, "id"));
        if (doc_text(holder, "items").bytes)
            buf_printf(&holders, "(" SLICE_FMT ")", SLICE_ARG(doc_text(holder, "items")));
    }
    int64_t used = doc_int(resource, "in_use", 0);
    int64_t left = doc_int(resource, "free", -1);
    int64_t listed = (int64_t)doc_count(doc_get(resource, "list"));
    int64_t total = doc_int(resource, "quantity", listed);
    table_add(table, COLOUR_PLAIN, doc_text(resource, "key"));
    table_add(table, COLOUR_PLAIN, doc_text(resource, "kind"));
    table_add(table, COLOUR_PLAIN, doc_text(resource, "scope"));
    if (left < 0)
        table_add(table, COLOUR_PLAIN, SLICE_LITERAL("-"));
    else
        table_addf(table, COLOUR_PLAIN, "%lld", (long long)total);
    table_addf(table, left == 0 ? COLOUR_YELLOW : COLOUR_PLAIN, "%lld", (long long)used);
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(resource, "waiting", 0));
    table_add(table, COLOUR_PLAIN,
              holders.bytes ? buf_slice(&holders) : SLICE_LITERAL("-"));
    buf_done(&holders);
}

static int ls(Cli *cli)
{
    return verb_list(cli,
                     &(VerbList){ .path = RESOURCES_PATH,
                                  .columns = ls_columns,
                                  .column_count = sizeof ls_columns / sizeof *ls_columns,
                                  .row = add_row,
                                  .nothing = "no resources" });
}

static void say(const Cli *cli, const Doc *answer)
{
    printf("%s %s\n", cli->args.operands[1],
           doc_bool(answer, "removed") ? "removed" : "set");
}

static const VerbSet resource_verbs;

static int set(Cli *cli)
{
    return verb_set_options(cli, &resource_verbs, &resource_noun);
}

static int show(Cli *cli)
{
    return verb_show(cli, &resource_verbs);
}

static const Verb verbs[] = { { "ls", 1, 1, ls, NULL, NULL },
                              { "show", 2, 2, show, NULL, NULL },
                              { "set", 2, 2, set, NULL, NULL },
                              { "rm", 2, 2, NULL, "DELETE", "" } };

static const VerbSet resource_verbs = { .command = "resource",
                                        .missing = "missing key of the resource",
                                        .verbs = verbs,
                                        .count = sizeof verbs / sizeof *verbs,
                                        .otherwise = "ls",
                                        .path = RESOURCES_PATH,
                                        .say = say };

int cmd_resource(Cli *cli)
{
    return verb_run(cli, &resource_verbs);
}
