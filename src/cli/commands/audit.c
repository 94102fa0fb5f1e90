/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - pawl audit: who changed what. */
#include "cli/command.h"

#include "cli/client.h"
#include "cli/print/table.h"

static const Column columns[] = {
    { .title = "AT" },     { .title = "WHO" },
    { .title = "FROM" },   { .title = "ACTION" },
    { .title = "WHAT" },   { .title = "TENANT" },
    { .title = "TARGET" }, { .title = "BECAME", .wide = true },
};

static void add_row(Table *table, const Doc *row)
{
    static const char *const texts[] = { "at",   "who",    "from",  "action",
                                         "kind", "tenant", "target" };
    Buf after = { 0 };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        table_add(table, COLOUR_PLAIN, doc_text(row, texts[i]));
    if (!doc_is_null(doc_get(row, "after")))
        doc_write(doc_get(row, "after"), &after);
    table_add(table, COLOUR_PLAIN, buf_slice(&after));
    buf_done(&after);
}

static void make_path(const Cli *cli, Buf *path)
{
    static const struct {
        const char *option;
        const char *param;
    } filters[] = {
        { "who", "who" },       { "action", "action" }, { "kind", "kind" },
        { "target", "target" }, { "tenant", "of" },     { "limit", "limit" }
    };
    buf_add_text(path, "/api/v1/audit");
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        const char *value = args_value(&cli->args, filters[i].option);
        if (value)
            url_query(path, filters[i].param, slice_text(value));
    }
}

int cmd_audit(Cli *cli)
{
    Doc *page = NULL;
    Buf path = { 0 };
    make_path(cli, &path);
    int code = cli_get(cli, buf_cstr(&path), &page);
    buf_done(&path);
    if (code)
        return code;
    cli_print_list(cli, page,
                   &(ListShape){ columns, sizeof columns / sizeof *columns, add_row,
                                 "nobody has changed anything" });
    if (!cli->json && doc_text(page, "next_cursor").bytes)
        cli_note("there are older ones: --limit N shows more");
    doc_free(page);
    return CLI_DONE;
}
