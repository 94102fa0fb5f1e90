/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - pawl node: the nodes of the store, and draining them. */
#include "cli/command.h"

#include "base/json_out.h"
#include "base/text.h"
#include "base/times.h"
#include "cli/interrupt.h"
#include "cli/verb.h"
#include "cli/watch.h"

#include <stdio.h>

#define NODES_PATH "/api/v1/nodes"
#define SELF       "self"

static const Column columns[] = {
    { .title = "NODE", .wide = true },
    { .title = "HOST", .wide = true },
    { .title = "VERSION" },
    { .title = "STATE" },
    { .title = "SLOTS", .right = true },
    { .title = "RUNNING", .right = true },
    { .title = "LOAD", .right = true },
    { .title = "LEASE", .right = true },
    { .title = "EPOCH", .right = true },
    { .title = "DUTY" },
};

static Colour state_colour(Slice state)
{
    if (slice_is(state, "lost"))
        return COLOUR_RED;
    return slice_is(state, "up") ? COLOUR_GREEN : COLOUR_YELLOW;
}

static void add_row(Table *table, const Doc *node)
{
    Slice state = doc_text(node, "state");
    char lease[DURATION_TEXT_BYTES];
    int64_t left_ms = doc_int(node, "lease_left_ms", -1);
    const Doc *load = doc_first(doc_get(node, "load"));
    table_add(table, COLOUR_PLAIN, doc_text(node, "sysid"));
    table_add(table, COLOUR_PLAIN, doc_text(node, "host"));
    table_add(table, COLOUR_PLAIN, doc_text(node, "version"));
    table_add(table, state_colour(state), state);
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(node, "slots", 0));
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(node, "slots_used", 0));
    if (load)
        table_addf(table, COLOUR_PLAIN, "%.2f", doc_as_number(load, 0));
    else
        table_add(table, COLOUR_PLAIN, SLICE_LITERAL("-"));
    table_addf(table, COLOUR_PLAIN, "%s",
               left_ms < 0 ? "-" : duration_human(left_ms, lease));
    if (left_ms < 0)
        table_add(table, COLOUR_PLAIN, SLICE_LITERAL("-"));
    else
        table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(node, "epoch", 0));
    table_addf(table, COLOUR_PLAIN, "%s",
               doc_bool(node, "controller") ? "controller" : "-");
}

static int ls(Cli *cli)
{
    return verb_list(cli, &(VerbList){ .path = NODES_PATH,
                                       .columns = columns,
                                       .column_count = sizeof columns / sizeof *columns,
                                       .row = add_row,
                                       .nothing = "no nodes" });
}

/* --- Which one ------------------------------------------------------------------------
 */

/* A node that tells of its passes is the one that was asked. */
static bool is_meant(const Doc *node, const char *word)
{
    if (strcmp(word, SELF) == 0)
        return !doc_is_null(doc_get(node, "passes"));
    return slice_starts(doc_text(node, "sysid"), slice_text(word));
}

static int find(Cli *cli, Buf *out_sysid)
{
    const char *word = cli->args.operands[1];
    Doc *list = NULL;
    size_t count = 0;
    int code = cli_get(cli, NODES_PATH, &list);
    if (code)
        return code;
    const Doc *node = doc_first(doc_get(list, "items"));
    for (; node; node = doc_next(node)) {
        Slice sysid = doc_text(node, "sysid");
        bool exactly = slice_is(sysid, word);
        if (!exactly && !is_meant(node, word))
            continue;
        buf_clear(out_sysid);
        buf_add_slice(out_sysid, sysid);
        count++;
        if (exactly) {
            count = 1;
            break;
        }
    }
    doc_free(list);
    if (!count)
        return cli_fail(cli, (Fault){ CLI_NOT_FOUND, "node_not_found", "pawl node ls" },
                        "no node's sysid begins with \"%s\"", word);
    if (count > 1)
        return cli_fail(cli, (Fault){ CLI_NOT_FOUND, "node_not_found", "pawl node ls" },
                        "%zu nodes begin with \"%s\"", count, word);
    return CLI_DONE;
}

/* A request about the node that the second word means; the caller frees *out. */
static int ask(Cli *cli, const VerbCall *call, Doc **out)
{
    Buf sysid = { 0 };
    Buf path = { 0 };
    int code = find(cli, &sysid);
    if (!code) {
        buf_add_text(&path, NODES_PATH "/");
        url_add(&path, buf_slice(&sysid));
        buf_add_text(&path, call->rest);
        Request request = { .method = call->method,
                            .path = buf_cstr(&path),
                            .body = call->body };
        code = cli_call_doc(cli, &request, out);
    }
    buf_done(&sysid);
    buf_done(&path);
    return code;
}

/* --- Showing --------------------------------------------------------------------------
 */

static void line(Buf *out, const char *name, Slice text)
{
    if (text.bytes)
        buf_printf(out, "%-12s " SLICE_FMT "\n", name, SLICE_ARG(text));
}

static void say_running(Buf *out, const Doc *node)
{
    const Doc *job = doc_first(doc_get(node, "running"));
    for (; job; job = doc_next(job))
        buf_printf(out, "%-12s " SLICE_FMT " " SLICE_FMT " " SLICE_FMT "\n", "runs",
                   SLICE_ARG(doc_text(job, "id")), SLICE_ARG(doc_text(job, "queue")),
                   SLICE_ARG(doc_text(job, "type")));
}

static void say_drain(Buf *out, const Doc *node)
{
    const Doc *drain = doc_get(node, "drain");
    Slice reason = doc_text(drain, "reason");
    if (!doc_is_object(drain))
        return;
    buf_printf(out, "%-12s since " SLICE_FMT "%s" SLICE_FMT "\n", "drained",
               SLICE_ARG(doc_text(drain, "since")), reason.bytes ? ": " : "",
               SLICE_ARG(reason));
}

static void say(const Cli *cli, const Doc *node)
{
    Buf out = { 0 };
    Table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    add_row(&table, node);
    table_print(&table, &cli->out, &out);
    table_done(&table);
    say_drain(&out, node);
    line(&out, "listens on", doc_text(node, "listen"));
    line(&out, "data", doc_text(node, "data"));
    line(&out, "store", doc_text(node, "store"));
    line(&out, "started", doc_text(node, "started_at"));
    line(&out, "heard of", doc_text(node, "heartbeat_at"));
    const Doc *queue = doc_first(doc_get(node, "queues"));
    for (; queue; queue = doc_next(queue))
        buf_printf(&out, "%-12s " SLICE_FMT " has %lld slots here\n", "queue",
                   SLICE_ARG(doc_key(queue)),
                   (long long)doc_int(doc_get(node, "queues"),
                                      slice_cstr(&table.arena, doc_key(queue)), 0));
    say_running(&out, node);
    cli_print(&out);
    buf_done(&out);
}

static int tell(const Cli *cli, int code, Doc *node)
{
    if (code) {
        doc_free(node);
        return code;
    }
    if (cli->json) {
        Buf out = { 0 };
        doc_write(node, &out);
        cli_print_json(buf_slice(&out));
        buf_done(&out);
    } else {
        say(cli, node);
    }
    doc_free(node);
    return CLI_DONE;
}

static int show(Cli *cli)
{
    Doc *node = NULL;
    int code = ask(cli, &(VerbCall){ .method = "GET", .rest = "" }, &node);
    return tell(cli, code, node);
}

/* --- Draining -------------------------------------------------------------------------
 */

/* Until nothing runs there; *node is what it was last. */
static int await_empty(Cli *cli, int64_t timeout_ms, Doc **node)
{
    int64_t until = clock_now().boot_ms + timeout_ms;
    interrupt_catch();
    for (int64_t asked = 0; doc_int(*node, "slots_used", 0); asked++) {
        if (interrupt_seen())
            return CLI_DONE; /* it goes on draining */
        if (timeout_ms >= 0 && clock_now().boot_ms >= until)
            return cli_fail(
                cli, (Fault){ CLI_TIMED_OUT, "timeout", "it goes on draining" },
                "%lld jobs still run there", (long long)doc_int(*node, "slots_used", 0));
        interrupt_sleep(watch_pause_ms(asked));
        doc_free(*node);
        *node = NULL;
        int code = ask(cli, &(VerbCall){ .method = "GET", .rest = "" }, node);
        if (code)
            return code;
    }
    return CLI_DONE;
}

static int drain(Cli *cli)
{
    Buf body = { 0 };
    JsonOut json = { .out = &body };
    Doc *node = NULL;
    Error why;
    int64_t timeout_ms;
    if (args_duration(&cli->args, "timeout", &timeout_ms, &why))
        return cli_misused(cli, &why);
    json_object(&json, NULL);
    if (args_value(&cli->args, "reason"))
        json_cstr(&json, "reason", args_value(&cli->args, "reason"));
    json_object_end(&json);
    int code = ask(
        cli, &(VerbCall){ .method = "POST", .rest = "/drain", .body = buf_slice(&body) },
        &node);
    buf_done(&body);
    if (!code && args_flag(&cli->args, "wait"))
        code = await_empty(cli, timeout_ms, &node);
    if (!code && !doc_bool(node, "draining"))
        cli_note("it has not heard of it yet: it drains when it does");
    return tell(cli, code, node);
}

static int resume(Cli *cli)
{
    Doc *node = NULL;
    int code = ask(cli, &(VerbCall){ .method = "POST", .rest = "/resume" }, &node);
    if (!code && doc_bool(node, "draining"))
        cli_note("it has not heard of it yet, or is about to stop");
    return tell(cli, code, node);
}

/* --- Slots ----------------------------------------------------------------------------
 */

static int slots_value(const Cli *cli, JsonOut *json, const char *key, const char *text)
{
    int64_t number;
    if (strcmp(text, "none") == 0)
        json_null(json, key);
    else if (!int_parse(slice_text(text), &number) && number >= 0)
        json_int(json, key, number);
    else
        return cli_fail(cli, (Fault){ CLI_USAGE, "usage", NULL },
                        "slots are a number or none, not \"%s\"", text);
    return CLI_DONE;
}

static int queue_values(const Cli *cli, JsonOut *json)
{
    int code = CLI_DONE;
    const char *text;
    json_object(json, "queues");
    for (size_t at = 0; !code && (text = args_next(&cli->args, "queue", &at));) {
        Arena arena = { 0 };
        Slice rest = slice_text(text);
        const char *name = slice_cstr(&arena, slice_cut(&rest, '='));
        code = slots_value(cli, json, name, slice_cstr(&arena, rest));
        arena_done(&arena);
    }
    json_object_end(json);
    return code;
}

static int set(Cli *cli)
{
    Buf body = { 0 };
    JsonOut json = { .out = &body };
    Doc *node = NULL;
    const char *slots = args_value(&cli->args, "slots");
    bool queues = args_value(&cli->args, "queue") != NULL;
    if (!slots && !queues)
        return cli_fail(cli, (Fault){ CLI_USAGE, "usage", "pawl node --help" },
                        "set what? --slots N or --queue NAME=N");
    json_object(&json, NULL);
    int code = slots ? slots_value(cli, &json, "slots", slots) : CLI_DONE;
    if (!code && queues)
        code = queue_values(cli, &json);
    json_object_end(&json);
    if (!code)
        code = ask(cli,
                   &(VerbCall){ .method = "PATCH", .rest = "", .body = buf_slice(&body) },
                   &node);
    buf_done(&body);
    return tell(cli, code, node);
}

static int forget(Cli *cli)
{
    Doc *told = NULL;
    int code = ask(cli, &(VerbCall){ .method = "DELETE", .rest = "" }, &told);
    if (!code && !cli->json)
        cli_note("forgotten: " SLICE_FMT, SLICE_ARG(doc_text(told, "name")));
    if (!code && cli->json) {
        Buf out = { 0 };
        doc_write(told, &out);
        cli_print_json(buf_slice(&out));
        buf_done(&out);
    }
    doc_free(told);
    return code;
}

int cmd_node(Cli *cli)
{
    static const Verb verbs[] = {
        { "ls", 1, 1, ls, NULL, NULL },       { "show", 2, 2, show, NULL, NULL },
        { "drain", 2, 2, drain, NULL, NULL }, { "resume", 2, 2, resume, NULL, NULL },
        { "set", 2, 2, set, NULL, NULL },     { "forget", 2, 2, forget, NULL, NULL },
    };
    static const VerbSet node_verbs = { .command = "node",
                                        .missing = "which node? see pawl node ls",
                                        .verbs = verbs,
                                        .count = sizeof verbs / sizeof *verbs,
                                        .otherwise = "ls",
                                        .path = NODES_PATH,
                                        .say = say };
    return verb_run(cli, &node_verbs);
}
