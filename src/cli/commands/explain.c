/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - pawl explain ID: why it runs, or why not. */
#include "cli/command.h"

#include "cli/print/safe.h"
#include "cli/print/when.h"

#include <stdio.h>

static void add_time(Buf *out, const char *label, int64_t wall_ms)
{
    char when[WHEN_TEXT_BYTES];
    if (wall_ms)
        buf_printf(out, "  %-7s%s\n", label, when_echo(wall_ms, when));
}

static void print(const Cli *cli, const Doc *answer)
{
    Buf out = { 0 };
    char state[32];
    snprintf(state, sizeof state, SLICE_FMT, SLICE_ARG(doc_text(answer, "state")));
    Colour colour = term_state_colour(state);
    buf_printf(&out, SLICE_FMT "  %s%s%s: ", SLICE_ARG(doc_text(answer, "id")),
               term_on(&cli->out, colour), state, term_off(&cli->out, colour));
    safe_add(&out, doc_text(answer, "text"));
    buf_add_char(&out, '\n');
    add_time(&out, "since", doc_time(answer, "since"));
    add_time(&out, "until", doc_time(answer, "until"));
    const Doc *reason = doc_first(doc_get(answer, "reasons"));
    for (; reason; reason = doc_next(reason)) {
        if (slice_equal(doc_text(reason, "text"), doc_text(answer, "text")))
            continue;
        buf_add_text(&out, "  also   ");
        safe_add(&out, doc_text(reason, "text"));
        buf_add_char(&out, '\n');
    }
    if (doc_text(answer, "help").bytes) {
        buf_add_text(&out, "  help   ");
        safe_add(&out, doc_text(answer, "help"));
        buf_add_char(&out, '\n');
    }
    cli_print(&out);
    buf_done(&out);
}

int cmd_explain(Cli *cli)
{
    char id[ID_TEXT_BYTES];
    if (cli->args.operand_count != 1)
        return cli_fail(cli,
                        (Fault){ CLI_USAGE, "usage", "for example: pawl explain last" },
                        "expected one job id");
    int code = cli_job_id(cli, cli->args.operands[0], id);
    if (code)
        return code;
    Buf path = { 0 };
    Response response = { 0 };
    Doc *answer = NULL;
    cli_job_path(&path, id, "/explain");
    code =
        cli_call(cli, &(Request){ .method = "GET", .path = buf_cstr(&path) }, &response);
    if (!code && cli->json) {
        cli_print_json(buf_slice(&response.body));
    } else if (!code && !doc_parse(buf_slice(&response.body), &answer, NULL)) {
        print(cli, answer);
        doc_free(answer);
    }
    response_done(&response);
    buf_done(&path);
    return code;
}
