/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c - pawl stats: how much was done, how fast, and by which kind of job. */
#include "cli/command.h"

#include "cli/print/table.h"
#include "cli/print/when.h"

#include "base/text.h"
#include "base/times.h"

#include <stdio.h>

#define CURVE_MAX 60

static const struct Period {
    const char *name;
    const char *from;
    const char *step;
    int64_t minutes;
} periods[] = {
    { "hour", "-1h", "PT1M", 60 },
    { "day", "-1d", "PT30M", 24 * 60 },
    { "month", "-30d", "PT24H", 30 * 24 * 60 },
};

static const char *const metrics[] = { "added", "started", "finished",
                                       "ok",    "wait_ms", "run_ms" };
enum { ADDED, STARTED, FINISHED, OK, WAIT, RUN, METRIC_COUNT };

static const Column columns[] = {
    { .title = "KEY", .wide = true },      { .title = "ADDED", .right = true },
    { .title = "STARTED", .right = true }, { .title = "FINISHED", .right = true },
    { .title = "PER MIN", .right = true }, { .title = "NOT OK", .right = true },
    { .title = "WAIT", .right = true },    { .title = "RUN", .right = true },
    { .title = "FINISHED OVER TIME" },
};

static const Doc *find(const Doc *answer, Slice key, const char *metric)
{
    const Doc *item = doc_first(doc_get(answer, "items"));
    for (; item; item = doc_next(item))
        if (slice_equal(doc_text(item, "key"), key) &&
            slice_is(doc_text(item, "metric"), metric))
            return item;
    return NULL;
}

static int64_t number_of(const Doc *value)
{
    Buf text = { 0 };
    int64_t number = 0;
    doc_show(value, &text);
    if (int_parse(buf_slice(&text), &number))
        number = 0;
    buf_done(&text);
    return number;
}

/* Eight heights of bars; plain digits where there is no terminal. */
static void add_curve(Table *table, const Cli *cli, const Doc *points)
{
    static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    int64_t values[CURVE_MAX] = { 0 };
    int64_t most = 0;
    size_t count = 0;
    size_t all = doc_count(points);
    size_t per = (all + CURVE_MAX - 1) / CURVE_MAX;
    const Doc *point = doc_first(points);
    for (size_t i = 0; point && per; point = doc_next(point), i++) {
        values[i / per] += number_of(point);
        count = i / per + 1;
        most = values[i / per] > most ? values[i / per] : most;
    }
    Buf curve = { 0 };
    for (size_t i = 0; i < count && most && cli->out.is_terminal && cli->out.utf8; i++)
        buf_add_text(&curve, values[i] ? bars[(values[i] * 7) / most] : " ");
    table_add(table, COLOUR_PLAIN, buf_slice(&curve));
    buf_done(&curve);
}

static void add_row(Table *table, const Cli *cli, const Doc *answer, Slice key,
                    const struct Period *period)
{
    int64_t totals[METRIC_COUNT];
    char wait[DURATION_TEXT_BYTES];
    char run[DURATION_TEXT_BYTES];
    for (size_t i = 0; i < METRIC_COUNT; i++)
        totals[i] = doc_int(find(answer, key, metrics[i]), "total", 0);
    table_add(table, COLOUR_PLAIN, key);
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)totals[ADDED]);
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)totals[STARTED]);
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)totals[FINISHED]);
    table_addf(table, COLOUR_PLAIN, "%.2f",
               (double)totals[FINISHED] / (double)period->minutes);
    int64_t not_ok = totals[FINISHED] - totals[OK];
    table_addf(table, not_ok ? COLOUR_YELLOW : COLOUR_PLAIN, "%lld", (long long)not_ok);
    table_addf(table, COLOUR_PLAIN, "%s", duration_human(totals[WAIT], wait));
    table_addf(table, COLOUR_PLAIN, "%s", duration_human(totals[RUN], run));
    add_curve(table, cli, doc_get(find(answer, key, "finished"), "points"));
}

static int ask(Cli *cli, const struct Period *period, const char *by, Doc **out)
{
    Buf url = { 0 };
    buf_add_text(&url, "/api/v1/stats/series");
    url_query(&url, "metric", SLICE_LITERAL("added,started,finished,ok,wait_ms,run_ms"));
    url_query(&url, "from", slice_text(period->from));
    url_query(&url, "step", slice_text(period->step));
    url_query(&url, "by", slice_text(by));
    if (!cli->client.tenant)
        url_query(&url, "tenant", SLICE_LITERAL("*")); /* of all whom one may see */
    int code = cli_get(cli, buf_cstr(&url), out);
    buf_done(&url);
    return code;
}

static void add_rows(Table *table, const Cli *cli, const Doc *answer,
                     const struct Period *period)
{
    Slice last = { NULL, 0 };
    const Doc *item = doc_first(doc_get(answer, "items"));
    for (; item; item = doc_next(item)) {
        Slice key = doc_text(item, "key");
        if (!slice_equal(key, last))
            add_row(table, cli, answer, key, period);
        last = key;
    }
}

static int show(Cli *cli, const struct Period *period, const char *by)
{
    Doc *all = NULL;
    Doc *parts = NULL;
    Buf out = { 0 };
    int code = ask(cli, period, cli->json ? by : "none", &all);
    if (!code && !cli->json && strcmp(by, "none") != 0)
        code = ask(cli, period, by, &parts);
    if (!code && cli->json) {
        doc_write(all, &out);
        buf_add_char(&out, '\n');
    }
    if (!code && !cli->json) {
        Table table;
        table_init(&table, columns, sizeof columns / sizeof *columns);
        add_rows(&table, cli, all, period);
        add_rows(&table, cli, parts, period);
        if (table_rows(&table))
            table_print(&table, &cli->out, &out);
        else
            cli_note("nothing happened in the last %s", period->name);
        table_done(&table);
    }
    cli_print(&out);
    buf_done(&out);
    doc_free(all);
    doc_free(parts);
    return code;
}

int cmd_stats(Cli *cli)
{
    const char *last = args_value(&cli->args, "last");
    const char *by = args_value(&cli->args, "by");
    const struct Period *period = NULL;
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++)
        if (strcmp(last ? last : "hour", periods[i].name) == 0)
            period = &periods[i];
    if (!period)
        return cli_fail(cli, (Fault){ CLI_USAGE, "usage", "one of: hour, day, month" },
                        "--last cannot be \"%s\"", last);
    return show(cli, period, by ? by : "none");
}
