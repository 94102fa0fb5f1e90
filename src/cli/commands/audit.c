/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - pawl audit: who changed what. */
#include "cli/command.h"

#include "cli/client.h"
#include "cli/print/safe.h"
#include "cli/print/table.h"

#define CHANGES_WIDTH 72

static const Column columns[] = {
    { .title = "AT" },     { .title = "WHO" },
    { .title = "FROM" },   { .title = "ACTION" },
    { .title = "WHAT" },   { .title = "TENANT" },
    { .title = "TARGET" }, { .title = "BECAME", .wide = true },
};

/* field=value of what is not as before, as far as a line goes; --json has all of it. */
static void add_changes(Table *table, const Doc *before, const Doc *after)
{
    Buf changes = { 0 };
    for (const Doc *field = doc_first(after); field; field = doc_next(field)) {
        Arena arena = { 0 };
        Buf now = { 0 };
        Buf then = { 0 };
        const Doc *old = doc_get(before, slice_cstr(&arena, doc_key(field)));
        doc_show_setting(field, &now);
        if (old)
            doc_show_setting(old, &then);
        bool same =
            old ? slice_equal(buf_slice(&now), buf_slice(&then)) : doc_is_null(field);
        if (!same)
            buf_printf(&changes, "%s" SLICE_FMT "=" SLICE_FMT, changes.bytes ? " " : "",
                       SLICE_ARG(doc_key(field)), SLICE_ARG(buf_slice(&now)));
        buf_done(&now);
        buf_done(&then);
        arena_done(&arena);
    }
    Buf safe = { 0 };
    safe_add(&safe, buf_slice(&changes));
    Slice line = buf_slice(&safe);
    line.bytes = safe_fit(line, CHANGES_WIDTH);
    table_addf(table, COLOUR_PLAIN, SLICE_FMT "%s", SLICE_ARG(line),
               line.bytes < safe.bytes ? "..." : "");
    buf_done(&safe);
    buf_done(&changes);
}

static void add_row(Table *table, const Doc *row)
{
    static const char *const texts[] = { "at",   "who",    "from",  "action",
                                         "kind", "tenant", "target" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        table_add(table, COLOUR_PLAIN, doc_text(row, texts[i]));
    add_changes(table, doc_get(row, "before"), doc_get(row, "after"));
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
