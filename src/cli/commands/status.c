/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - pawl status: how things are, on one screen. */
#include "cli/command.h"

#include "cli/print/safe.h"
#include "cli/print/table.h"

#include "base/json_out.h"
#include "base/times.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define QUEUES_SHOWN 8 /* more do not fit on one screen */

typedef struct Status {
    Cli *cli;
    bool ready;
    Buf readiness; /* what /readyz says */
    Doc *stats;
    Doc *nodes;
} Status;

static int ask(Status *status)
{
    Cli *cli = status->cli;
    Response response = { 0 };
    Error why;
    Request request = { .method = "GET", .path = "/readyz" };
    Err err = client_call(&cli->client, &request, &response, &why);
    if (err) {
        response_done(&response);
        return cli_fail_call(cli, err, &why);
    }
    status->ready = response.status == 200;
    buf_add_slice(&status->readiness, buf_slice(&response.body));
    response_done(&response);
    bool named = cli->client.tenant != NULL; /* else of all whom one may see */
    int code =
        cli_get(cli, named ? "/api/v1/stats" : "/api/v1/stats?tenant=*", &status->stats);
    return code ? code : cli_get(cli, "/api/v1/nodes", &status->nodes);
}

static void print_json(const Status *status)
{
    Buf out = { 0 };
    Buf part = { 0 };
    JsonOut json = { .out = &out };
    json_object(&json, NULL);
    json_cstr(&json, "server", buf_cstr(&status->cli->server));
    json_bool(&json, "ready", status->ready);
    doc_write(status->stats, &part);
    json_raw(&json, "stats", buf_slice(&part));
    buf_clear(&part);
    doc_write(doc_get(status->nodes, "items"), &part);
    json_raw(&json, "nodes", buf_slice(&part));
    json_object_end(&json);
    cli_print_json(buf_slice(&out));
    buf_done(&part);
    buf_done(&out);
}

static void add_head(const Status *status, Buf *out)
{
    const Term *term = &status->cli->out;
    const Doc *node = doc_at(doc_get(status->nodes, "items"), 0);
    char text[DURATION_TEXT_BYTES];
    Colour colour = status->ready ? COLOUR_GREEN : COLOUR_RED;
    buf_printf(out, "%spawl " SLICE_FMT "%s", term_on(term, COLOUR_BOLD),
               SLICE_ARG(doc_text(node, "version")), term_off(term, COLOUR_BOLD));
    buf_printf(out, "  %s%s%s", term_on(term, colour),
               status->ready ? "healthy" : "not ready", term_off(term, colour));
    int64_t started = doc_time(node, "started_at");
    if (started) {
        int64_t up_ms = clock_now().wall_ms - started;
        up_ms = up_ms > MS_PER_S ? up_ms / MS_PER_S * MS_PER_S : up_ms;
        buf_printf(out, "  up %s", duration_human(up_ms > 0 ? up_ms : 0, text));
    }
    buf_add_text(out, "  at ");
    safe_add(out, buf_slice(&status->cli->server));
    buf_add_char(out, '\n');
}

/* Running jobs are counted over all nodes, so their slots are too. */
static int64_t slots_of_all(const Doc *nodes)
{
    int64_t slots = 0;
    for (const Doc *node = doc_first(nodes); node; node = doc_next(node))
        slots += doc_int(node, "slots", 0);
    return slots;
}

static void add_counts(const Status *status, Buf *out)
{
    static const char *const states[] = {
        "ready",  "running", "deferred", "retrying", "blocked",  "held",
        "paused", "halted",  "done",     "failed",   "rejected", "cancelled",
    };
    const Doc *jobs = doc_get(status->stats, "jobs");
    int64_t slots = slots_of_all(doc_get(status->nodes, "items"));
    const Term *term = &status->cli->out;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        int64_t count = doc_int(jobs, states[i], 0);
        bool always = i < 2;
        if (!count && !always)
            continue;
        Colour colour = count ? term_state_colour(states[i]) : COLOUR_PLAIN;
        buf_printf(out, "  %s%s %lld%s", term_on(term, colour), states[i],
                   (long long)count, term_off(term, colour));
        if (i == 1 && slots)
            buf_printf(out, "/%lld", (long long)slots);
    }
    buf_add_char(out, '\n');
}

static bool only_default(const Doc *queues)
{
    for (const Doc *queue = doc_first(queues); queue; queue = doc_next(queue))
        if (!slice_is(doc_text(queue, "tenant"), "default"))
            return false;
    return true;
}

/* What is wrong, and the command that shows or mends it. */
PRINTF_LIKE(3, 4)
static void add_warning(const Status *status, Buf *out, const char *format, ...)
{
    const Term *term = &status->cli->out;
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_printf(out, "  %s!%s ", term_on(term, COLOUR_YELLOW),
               term_off(term, COLOUR_YELLOW));
    safe_add(out, slice_text(text));
    buf_add_char(out, '\n');
}

static void add_nodes_trouble(const Status *status, Buf *out)
{
    bool off = false;
    const Doc *node = doc_first(doc_get(status->nodes, "items"));
    for (; node; node = doc_next(node)) {
        Slice sysid = doc_text(node, "sysid");
        off =
            off || (!doc_is_null(doc_get(node, "enabled")) && !doc_bool(node, "enabled"));
        if (doc_bool(node, "draining"))
            add_warning(status, out,
                        "node " SLICE_FMT " is drained    pawl node resume " SLICE_FMT,
                        SLICE_ARG(sysid), SLICE_ARG(sysid));
    }
    if (off)
        add_warning(status, out, "no job is started    pawl config set enabled=true");
}

static void add_trouble(const Status *status, Buf *out)
{
    bool all = !status->cli->client.tenant;
    const char *whose =
        all && !only_default(doc_get(status->stats, "queues")) ? " --tenant '*'" : "";
    const Doc *jobs = doc_get(status->stats, "jobs");
    int64_t bad = doc_int(jobs, "failed", 0) + doc_int(jobs, "rejected", 0);
    if (!status->ready)
        add_warning(status, out, "not ready: " SLICE_FMT,
                    SLICE_ARG(buf_slice(&status->readiness)));
    add_nodes_trouble(status, out);
    if (bad)
        add_warning(status, out,
                    "%lld failed or rejected    pawl ls state:failed,rejected%s",
                    (long long)bad, whose);
    if (doc_int(jobs, "blocked", 0))
        add_warning(status, out, "%lld blocked    pawl ls state:blocked%s",
                    (long long)doc_int(jobs, "blocked", 0), whose);
}

static bool several_tenants(const Doc *queues)
{
    const Doc *first = doc_first(queues);
    for (const Doc *queue = first; queue; queue = doc_next(queue))
        if (!slice_equal(doc_text(queue, "tenant"), doc_text(first, "tenant")))
            return true;
    return false;
}

/* What a queue's columns count. */
static const char *const counted[][3] = {
    { "ready" },
    { "running", "paused" },
    { "deferred", "retrying" },
    { "blocked", "held", "halted" },
    { "failed", "rejected" },
};
#define COUNTED (sizeof counted / sizeof *counted)

static int64_t count_of(const Doc *queue, size_t column)
{
    const Doc *jobs = doc_get(queue, "jobs");
    int64_t count = 0;
    for (size_t i = 0; i < 3 && counted[column][i]; i++)
        count += doc_int(jobs, counted[column][i], 0);
    return count;
}

typedef struct QueueLine {
    const Doc *queue;
    size_t at;      /* in the answer, which is sorted by name */
    int64_t counts; /* of all columns */
} QueueLine;

static int busier_first(const void *a, const void *b)
{
    const QueueLine *one = a, *other = b;
    if (one->counts != other->counts)
        return one->counts < other->counts ? 1 : -1;
    return one->at < other->at ? -1 : 1;
}

static QueueLine *lines_of(const Doc *queues, size_t *out_count)
{
    size_t count = 0, capacity = 0;
    QueueLine *lines = NULL;
    for (const Doc *queue = doc_first(queues); queue; queue = doc_next(queue)) {
        QueueLine *line = &MEM_PUSH(lines, count, capacity);
        *line = (QueueLine){ .queue = queue, .at = count };
        for (size_t i = 0; i < COUNTED; i++)
            line->counts += count_of(queue, i);
    }
    if (count > QUEUES_SHOWN)
        qsort(lines, count, sizeof *lines, busier_first);
    *out_count = count;
    return lines;
}

/* Of each queue what waits, what runs, and what went wrong; and whose it is, where that
 * is a question. When there are too many, the busiest ones. */
static void add_queues(const Status *status, Buf *out)
{
    static const Column columns[] = {
        { .title = "TENANT" },
        { .title = "QUEUE", .wide = true },
        { .title = "READY", .right = true },
        { .title = "RUNNING", .right = true },
        { .title = "LATER", .right = true },
        { .title = "BLOCKED", .right = true },
        { .title = "FAILED", .right = true },
    };
    Table table;
    const Doc *queues = doc_get(status->stats, "queues");
    bool several = several_tenants(queues);
    size_t skipped = several ? 0 : 1;
    size_t count;
    QueueLine *lines = lines_of(queues, &count);
    table_init(&table, columns + skipped, sizeof columns / sizeof *columns - skipped);
    for (size_t i = 0; i < count && i < QUEUES_SHOWN; i++) {
        if (several)
            table_add(&table, COLOUR_PLAIN, doc_text(lines[i].queue, "tenant"));
        table_add(&table, COLOUR_PLAIN, doc_text(lines[i].queue, "queue"));
        for (size_t column = 0; column < COUNTED; column++)
            table_addf(&table, COLOUR_PLAIN, "%lld",
                       (long long)count_of(lines[i].queue, column));
    }
    if (count) {
        buf_add_char(out, '\n');
        table_print(&table, &status->cli->out, out);
    }
    if (count > QUEUES_SHOWN)
        buf_printf(out, "... and %zu more: pawl queue ls\n", count - QUEUES_SHOWN);
    mem_free(lines);
    table_done(&table);
}

int cmd_status(Cli *cli)
{
    Status status = { .cli = cli };
    if (cli->args.operand_count) {
        Error why;
        error_set(&why, ERR_INVALID, "status takes no words: %s", cli->args.operands[0]);
        return cli_misused(cli, &why);
    }
    int code = ask(&status);
    if (!code && cli->json) {
        print_json(&status);
    } else if (!code) {
        Buf out = { 0 };
        add_head(&status, &out);
        add_counts(&status, &out);
        add_trouble(&status, &out);
        add_queues(&status, &out);
        cli_print(&out);
        buf_done(&out);
    }
    if (status.stats)
        doc_free(status.stats);
    if (status.nodes)
        doc_free(status.nodes);
    buf_done(&status.readiness);
    return code;
}
