/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - pawl events [-f]: what happened to jobs, and what happens. */
#include "cli/command.h"

#include "cli/interrupt.h"
#include "cli/print/safe.h"

#include <stdio.h>

typedef struct Events {
    const Cli *cli;
    Buf line; /* of the stream, so far */
} Events;

/* "pawl.job.finished" as "finished". */
static Slice last_word(Slice text)
{
    Slice word = text;
    while (text.data)
        word = slice_cut(&text, '.');
    return word;
}

static void show(const Events *events, const Doc *event)
{
    const Doc *data = doc_get(event, "data");
    Slice code = doc_text(data, "code");
    Buf out = { 0 };
    safe_add(&out, doc_text(event, "time"));
    buf_printf(&out, " " SLICE_FMT " ", SLICE_ARG(last_word(doc_text(event, "type"))));
    safe_add(&out, doc_text(data, "id"));
    buf_add_char(&out, ' ');
    safe_add(&out, doc_text(data, "state"));
    buf_add_char(&out, ' ');
    safe_add(&out, doc_text(data, "type"));
    if (code.bytes)
        buf_printf(&out, " " SLICE_FMT, SLICE_ARG(code));
    if (doc_int(data, "count", 1) > 1)
        buf_printf(&out, " x%lld", (long long)doc_int(data, "count", 1));
    buf_add_char(&out, '\n');
    cli_print(&out);
    buf_done(&out);
    (void)events;
}

static void take_line(const Events *events, Slice line)
{
    Slice mark = SLICE_LITERAL("data: {\"");
    Doc *event = NULL;
    if (slice_is(line, "event: reset"))
        cli_note("some events may have been missed");
    if (!slice_starts(line, mark))
        return;
    line = slice_from(line, strlen("data: "));
    if (events->cli->json)
        cli_print_json(line);
    else if (!doc_parse(line, &event, NULL))
        show(events, event);
    doc_free(event);
}

static void take(void *context, Slice bytes)
{
    Events *events = context;
    while (bytes.bytes) {
        bool whole = memchr(bytes.data, '\n', bytes.bytes) != NULL;
        buf_add_slice(&events->line, slice_cut(&bytes, '\n'));
        if (!whole)
            return;
        take_line(events, buf_slice(&events->line));
        buf_clear(&events->line);
    }
    fflush(stdout);
}

int cmd_events(Cli *cli)
{
    Events events = { .cli = cli };
    Error why = { 0 };
    bool follow = args_flag(&cli->args, "follow");
    Tail tail = { .path = follow ? "/api/v1/events" : "/api/v1/events?follow=0",
                  .take = take,
                  .context = &events };
    if (cli->args.operand_count)
        return cli_fail(cli, (Fault){ CLI_USAGE, "usage", NULL },
                        "events takes no words: choose with --tenant");
    interrupt_catch();
    Err err = client_follow(&cli->client, &tail, 1, &why);
    int code = CLI_DONE;
    if (!interrupt_seen() && err)
        code = cli_fail_call(cli, err, &why);
    else if (!err && tail.status != 200)
        code = cli_fail_response(
            cli, &(Response){ .status = tail.status, .body = tail.problem });
    else if (follow && !interrupt_seen())
        code = cli_fail(cli, (Fault){ CLI_FAILED, "unavailable", "start it again" },
                        "the daemon has ended the stream of events");
    buf_done(&events.line);
    buf_done(&tail.problem);
    return code;
}
