/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - pawl queue: queues with their limits and counts, shown and changed. */
#include "cli/command.h"

#include "cli/commands/noun_options.h"
#include "cli/operation.h"
#include "cli/print/safe.h"
#include "cli/print/when.h"
#include "cli/verb.h"
#include "noun/queue.h"

#include "base/json_out.h"
#include "base/times.h"

#include <stdio.h>
#include <unistd.h>

#define QUEUES_PATH "/api/v1/queues"

static const VerbSet queue_verbs;

/* --- Lists ------------------------------------------------------------------------- */

static const Column ls_columns[] = {
    { .title = "QUEUE", .wide = true },
    { .title = "STATE" },
    { .title = "READY", .right = true },
    { .title = "RUNNING", .right = true },
    { .title = "SLOTS", .right = true },
    { .title = "HEAD WAITS", .right = true },
    { .title = "POLICY" },
    { .title = "RESOURCES", .wide = true },
};

static void add_row(Table *table, const Doc *queue)
{
    char age[WHEN_TEXT_BYTES];
    bool paused = doc_bool(queue, "paused");
    int64_t slots = doc_int(queue, "slots", -1);
    int64_t wait_ms = doc_int(queue, "head_wait_ms", -1);
    Buf keys = { 0 };
    const Doc *key = doc_first(doc_get(queue, "resources"));
    for (; key; key = doc_next(key)) {
        buf_add_text(&keys, keys.bytes ? "," : "");
        buf_add_slice(&keys, doc_as_text(key));
    }
    table_add(table, COLOUR_PLAIN, doc_text(queue, "name"));
    table_addf(table, paused ? COLOUR_YELLOW : COLOUR_PLAIN, "%s",
               paused ? "paused" : "open");
    table_addf(table, COLOUR_PLAIN, "%lld",
               (long long)doc_int(doc_get(queue, "jobs"), "ready", 0));
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(queue, "running", 0));
    if (slots < 0)
        table_add(table, COLOUR_PLAIN, SLICE_LITERAL("-"));
    else
        table_addf(table, COLOUR_PLAIN, "%lld", (long long)slots);
    table_addf(table, COLOUR_PLAIN, "%s", wait_ms < 0 ? "-" : when_age(wait_ms, age));
    table_add(table, COLOUR_PLAIN, doc_text(queue, "policy"));
    table_add(table, COLOUR_PLAIN, keys.bytes ? buf_slice(&keys) : SLICE_LITERAL("-"));
    buf_done(&keys);
}

static int ls(Cli *cli)
{
    return verb_list(cli,
                     &(VerbList){ .path = QUEUES_PATH,
                                  .columns = ls_columns,
                                  .column_count = sizeof ls_columns / sizeof *ls_columns,
                                  .row = add_row,
                                  .nothing = "no queues" });
}

/* --- One --------------------------------------------------------------------------- */

static int call(Cli *cli, const char *method, const char *rest, Slice body)
{
    return verb_call(cli, &queue_verbs,
                     &(VerbCall){ .method = method, .rest = rest, .body = body });
}

/* --- Changing ---------------------------------------------------------------------- */

static int set(Cli *cli)
{
    return verb_set_options(cli, &queue_verbs, &queue_noun);
}

static int pause_queue(Cli *cli)
{
    Buf body = { 0 };
    JsonOut json = { .out = &body };
    const char *reason = args_value(&cli->args, "reason");
    const char *until = args_value(&cli->args, "for");
    json_object(&json, NULL);
    if (reason)
        json_cstr(&json, "reason", reason);
    if (until)
        json_cstr(&json, "for", until);
    json_object_end(&json);
    int code = call(cli, "POST", "/pause", buf_slice(&body));
    buf_done(&body);
    return code;
}

/* On a terminal a person may have meant another queue. A script means what it says. */
static int ask_to_clear(Cli *cli)
{
    static const char *const states[] = { "ready",   "held",     "deferred",
                                          "blocked", "retrying", "halted" };
    Buf path = { 0 };
    Buf question = { 0 };
    Doc *queue = NULL;
    int64_t count = 0;
    if (!cli->err.is_terminal || !isatty(STDIN_FILENO))
        return CLI_DONE;
    verb_path(&path, cli, &queue_verbs, "");
    int code = cli_get(cli, buf_cstr(&path), &queue);
    buf_done(&path);
    if (code)
        return code;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        count += doc_int(doc_get(queue, "jobs"), states[i], 0);
    doc_free(queue);
    buf_printf(&question, "cancel %lld waiting job%s of queue %s at " SLICE_FMT,
               (long long)count, count == 1 ? "" : "s", cli->args.operands[1],
               SLICE_ARG(buf_slice(&cli->server)));
    if (!cli_confirm(cli, buf_cstr(&question)))
        code = cli_fail(cli, (Fault){ CLI_USAGE, "not_confirmed", "say --yes to do it" },
                        "%s: nothing done", buf_cstr(&question));
    buf_done(&question);
    return code;
}

/* What waits is cancelled by an operation, which may take longer than the request. */
static int clear(Cli *cli)
{
    int asked = ask_to_clear(cli);
    if (asked)
        return asked;
    Buf path = { 0 };
    Response response = { 0 };
    Doc *answer = NULL;
    verb_path(&path, cli, &queue_verbs, "/clear");
    Request request = { .method = "POST", .path = buf_cstr(&path) };
    int code = cli_call(cli, &request, &response);
    if (!code && response.status == 202 &&
        !doc_parse(buf_slice(&response.body), &answer, NULL))
        code = operation_follow(cli, doc_text(answer, "operation"));
    else if (!code && cli->json)
        cli_print_json(buf_slice(&response.body));
    else if (!code && !doc_parse(buf_slice(&response.body), &answer, NULL))
        verb_fields(cli, answer);
    if (answer)
        doc_free(answer);
    response_done(&response);
    buf_done(&path);
    return code;
}

static const Verb verbs[] = {
    { "ls", 1, 1, ls, NULL, NULL },
    { "show", 2, 2, NULL, "GET", "" },
    { "set", 2, 2, set, NULL, NULL },
    { "pause", 2, 2, pause_queue, NULL, NULL },
    { "resume", 2, 2, NULL, "POST", "/resume" },
    { "clear", 2, 2, clear, NULL, NULL },
    { "rm", 2, 2, NULL, "DELETE", "" },
};

static const VerbSet queue_verbs = { .command = "queue",
                                     .missing = "missing name of the queue",
                                     .verbs = verbs,
                                     .count = sizeof verbs / sizeof *verbs,
                                     .otherwise = "ls",
                                     .path = QUEUES_PATH,
                                     .say = verb_fields };

int cmd_queue(Cli *cli)
{
    return verb_run(cli, &queue_verbs);
}
