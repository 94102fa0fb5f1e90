/* SPDX-License-Identifier: Apache-2.0 */
/* ls.c - pawl ls [QUERY]: jobs in a table, newest first. */
#include "cli/command.h"

#include "cli/pages.h"
#include "cli/print/table.h"
#include "cli/print/when.h"

#include "base/json_out.h"
#include "base/times.h"

#include <stdio.h>

#define LIMIT_DEFAULT 50

static const Column columns[] = {
    { .title = "TENANT" }, /* where they are of all tenants */
    { .title = "ID" },
    { .title = "STATE" },
    { .title = "QUEUE", .wide = true },
    { .title = "PRIO", .right = true },
    { .title = "TRY", .right = true },
    { .title = "AGE", .right = true },
    { .title = "TIME", .right = true },
    { .title = "DUE" }, /* where deferred or retrying ones are asked for */
    { .title = "WHAT", .wide = true },
};
#define COLUMNS (sizeof columns / sizeof *columns)

typedef struct Listing {
    bool json;
    bool everyones;
    bool due;
    Buf items; /* JSON */
    Table table;
    size_t count;
    int64_t now_ms;
} Listing;

/* The words of a command as one would type them. */
static void add_command(Buf *out, const Doc *command)
{
    for (const Doc *word = doc_first(command); word; word = doc_next(word)) {
        if (out->bytes)
            buf_add_char(out, ' ');
        buf_add_slice(out, doc_as_text(word));
    }
}

/* Its name, else its command, else its type; and what is wrong with it. */
static void add_what(Table *table, const Doc *job)
{
    Buf what = { 0 };
    Slice name = doc_text(job, "name");
    Slice error = doc_text(job, "error");
    Slice state = doc_text(job, "state");
    if (name.bytes)
        buf_add_slice(&what, name);
    else
        add_command(&what, doc_get(job, "command"));
    if (!what.bytes)
        buf_add_slice(&what, doc_text(job, "type"));
    if (error.bytes && !slice_is(state, "done")) {
        buf_add_text(&what, "  (");
        buf_add_slice(&what, error);
        buf_add_char(&what, ')');
    }
    table_add(table, COLOUR_PLAIN, buf_slice(&what));
    buf_done(&what);
}

static void add_run_time(Table *table, const Doc *job, int64_t now_ms)
{
    int64_t started = doc_time(job, "started_at");
    int64_t finished = doc_time(job, "finished_at");
    char text[WHEN_TEXT_BYTES];
    if (!started || (finished && finished < started)) {
        table_add(table, COLOUR_PLAIN, SLICE_LITERAL("-"));
        return;
    }
    int64_t ended = finished ? finished : now_ms;
    table_addf(table, COLOUR_PLAIN, "%s", when_span(ended - started, text));
}

/* When it may start or be tried again, by the clock here. */
static void add_due(Table *table, const Doc *job)
{
    Slice state = doc_text(job, "state");
    char text[WHEN_TEXT_BYTES];
    bool waits = slice_is(state, "deferred") || slice_is(state, "retrying");
    table_addf(table, COLOUR_PLAIN, "%s",
               waits ? when_local(doc_time(job, "dt"), text) : "-");
}

static void add_row(Listing *listing, const Doc *job)
{
    Table *table = &listing->table;
    char state[32];
    char age[WHEN_TEXT_BYTES];
    snprintf(state, sizeof state, SLICE_FMT, SLICE_ARG(doc_text(job, "state")));
    int64_t created = doc_time(job, "created_at");
    if (listing->everyones)
        table_add(table, COLOUR_PLAIN, doc_text(job, "tenant"));
    table_add(table, COLOUR_PLAIN, doc_text(job, "id"));
    table_addf(table, term_state_colour(state), "%s", state);
    table_add(table, COLOUR_PLAIN, doc_text(job, "queue"));
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(job, "priority", 0));
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(job, "attempt", 0));
    table_addf(table, COLOUR_PLAIN, "%s", when_age(listing->now_ms - created, age));
    add_run_time(table, job, listing->now_ms);
    if (listing->due)
        add_due(table, job);
    add_what(table, job);
}

static void each_job(void *context, const Doc *job)
{
    Listing *listing = context;
    if (!listing->json) {
        add_row(listing, job);
    } else {
        if (listing->count)
            buf_add_char(&listing->items, ',');
        doc_write(job, &listing->items);
    }
    listing->count++;
}

static void print(const Cli *cli, const Listing *listing, const Pages *pages)
{
    Buf out = { 0 };
    if (listing->json) {
        buf_add_text(&out, "{\"items\":[");
        buf_add_slice(&out, buf_slice(&listing->items));
        buf_add_char(&out, ']');
        JsonOut json = { .out = &out, .comma = true };
        if (pages->more)
            json_text(&json, "next_cursor", buf_slice(&pages->cursor));
        else
            json_null(&json, "next_cursor");
        buf_add_text(&out, "}\n");
    } else if (listing->count) {
        table_print(&listing->table, &cli->out, &out);
    }
    cli_print(&out);
    buf_done(&out);
    if (listing->json)
        return;
    if (!listing->count)
        cli_note("no jobs");
    else if (pages->more)
        cli_note("there are more: --limit N or --all");
}

static size_t choose_columns(const Listing *listing, Column out[COLUMNS])
{
    size_t count = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        bool tenant = strcmp(columns[i].title, "TENANT") == 0;
        bool due = strcmp(columns[i].title, "DUE") == 0;
        if ((!tenant || listing->everyones) && (!due || listing->due))
            out[count++] = columns[i];
    }
    return count;
}

int cmd_ls(Cli *cli)
{
    const Args *args = &cli->args;
    int64_t limit;
    Error why;
    if (args_int(args, "limit", LIMIT_DEFAULT, &limit, &why))
        return cli_misused(cli, &why);
    if (limit < 1) {
        error_set(&why, ERR_INVALID, "--limit must be 1 or more");
        return cli_misused(cli, &why);
    }
    if (args_flag(args, "all"))
        limit = INT64_MAX;
    Buf query = { 0 };
    for (size_t i = 0; i < args->operand_count; i++)
        buf_printf(&query, "%s%s", i ? " " : "", args->operands[i]);
    Listing listing = { .json = cli->json, .now_ms = clock_now().wall_ms };
    listing.everyones = cli->client.tenant && strcmp(cli->client.tenant, "*") == 0;
    listing.due =
        strstr(buf_cstr(&query), "deferred") || strstr(buf_cstr(&query), "retrying");
    Column shown[COLUMNS];
    table_init(&listing.table, shown, choose_columns(&listing, shown));
    Pages pages = {
        .query = buf_cstr(&query),
        .limit = (size_t)limit,
        .each = each_job,
        .context = &listing,
    };
    int code = pages_walk(cli, &pages);
    if (!code)
        print(cli, &listing, &pages);
    table_done(&listing.table);
    buf_done(&pages.cursor);
    buf_done(&listing.items);
    buf_done(&query);
    return code;
}
