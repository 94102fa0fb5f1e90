/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - pawl show ID...: everything about a job, in words. */
#include "cli/command.h"

#include "cli/print/safe.h"
#include "cli/print/table.h"
#include "cli/print/when.h"

#include <stdio.h>

#define PAYLOAD_BYTES_MAX 2000 /* all of it: --json */
#define LABEL_WIDTH       14

static void label(Buf *out, const Cli *cli, const char *name)
{
    buf_printf(out, "%s%-*s%s", term_on(&cli->out, COLOUR_DIM), LABEL_WIDTH, name,
               term_off(&cli->out, COLOUR_DIM));
}

static void line(Buf *out, const Cli *cli, const char *name, Slice value)
{
    if (!value.bytes)
        return;
    label(out, cli, name);
    safe_add(out, value);
    buf_add_char(out, '\n');
}

static void line_time(Buf *out, const Cli *cli, const char *name, int64_t wall_ms)
{
    char when[WHEN_TEXT_BYTES];
    if (wall_ms)
        line(out, cli, name, slice_text(when_echo(wall_ms, when)));
}

/* Whatever kind the field is; nothing when it is null, false or empty. */
static void line_field(Buf *out, const Cli *cli, const char *name, const Doc *value)
{
    Buf text = { 0 };
    doc_show_setting(value, &text);
    bool empty = doc_is_null(value) || slice_is(buf_slice(&text), "false") ||
                 ((doc_is_array(value) || doc_is_object(value)) && !doc_count(value));
    if (!empty)
        line(out, cli, name, buf_slice(&text));
    buf_done(&text);
}

/* A command as a shell would take it. */
static void line_command(Buf *out, const Cli *cli, const Doc *command)
{
    Buf text = { 0 };
    for (const Doc *item = doc_first(command); item; item = doc_next(item)) {
        Slice word = doc_as_text(item);
        bool plain = word.bytes > 0;
        for (size_t i = 0; i < word.bytes; i++)
            plain = plain && word.data[i] &&
                    !strchr(" \t\n'\"\\$`&|;<>()*?[]#~!{}", word.data[i]);
        if (text.bytes)
            buf_add_char(&text, ' ');
        if (!plain)
            buf_add_char(&text, '\'');
        for (size_t i = 0; i < word.bytes; i++) {
            if (word.data[i] == '\'')
                buf_add_text(&text, "'\\''");
            else
                buf_add_char(&text, word.data[i]);
        }
        if (!plain)
            buf_add_char(&text, '\'');
    }
    line(out, cli, "command", buf_slice(&text));
    buf_done(&text);
}

static void line_state(Buf *out, const Cli *cli, const Doc *job)
{
    Buf text = { 0 };
    char state[32];
    snprintf(state, sizeof state, SLICE_FMT, SLICE_ARG(doc_text(job, "state")));
    Colour colour = term_state_colour(state);
    label(out, cli, "state");
    buf_printf(out, "%s%s%s", term_on(&cli->out, colour), state,
               term_off(&cli->out, colour));
    if (doc_bool(job, "cancelling"))
        buf_add_text(&text, " (its end is asked for)");
    if (doc_text(job, "reason").bytes) {
        buf_add_text(&text, ": ");
        safe_add(&text, doc_text(job, "reason"));
    }
    buf_add_slice(out, buf_slice(&text));
    buf_add_char(out, '\n');
    buf_done(&text);
}

static void line_end(Buf *out, const Cli *cli, const Doc *job)
{
    Buf text = { 0 };
    int64_t exitcode = doc_int(job, "exitcode", 0);
    int64_t status = doc_int(job, "exit_status", -1);
    int64_t signal = doc_int(job, "signal", 0);
    if (exitcode)
        buf_printf(&text, SLICE_FMT " %lld", SLICE_ARG(doc_text(job, "code")),
                   (long long)exitcode);
    if (status >= 0)
        buf_printf(&text, ", exit status %lld", (long long)status);
    if (signal > 0)
        buf_printf(&text, ", signal %lld", (long long)signal);
    line(out, cli, "outcome", buf_slice(&text));
    buf_done(&text);
    line(out, cli, "error", doc_text(job, "error"));
    if (doc_int(job, "progress", -1) >= 0)
        line_field(out, cli, "progress", doc_get(job, "progress"));
    line(out, cli, "message", doc_text(job, "message"));
    if (doc_int(job, "result_size", 0))
        line_field(out, cli, "result bytes", doc_get(job, "result_size"));
}

static void line_payload(Buf *out, const Cli *cli, const Doc *job)
{
    Slice payload = doc_text(job, "payload");
    if (payload.bytes > PAYLOAD_BYTES_MAX) {
        payload.bytes = PAYLOAD_BYTES_MAX;
        line(out, cli, "payload", payload);
        line(out, cli, "", SLICE_LITERAL("... (all of it: pawl show --json)"));
        return;
    }
    line(out, cli, "payload", payload);
    if (doc_text(job, "payload_base64").bytes)
        line(out, cli, "payload", SLICE_LITERAL("(bytes; see them: pawl show --json)"));
}

static void describe(Buf *out, const Cli *cli, const Doc *job)
{
    static const char *const others[] = {
        "tags",         "group",        "resources",    "env",         "cwd",
        "user",         "after",        "then",         "on_error",    "parent",
        "unique",       "schedule",     "max_run_time", "max_retries", "retry_delay",
        "retry_window", "service_time", "protocol",     "node",
    };
    line(out, cli, "job", doc_text(job, "id"));
    line(out, cli, "name", doc_text(job, "name"));
    line_state(out, cli, job);
    line_end(out, cli, job);
    line(out, cli, "type", doc_text(job, "type"));
    line_command(out, cli, doc_get(job, "command"));
    line(out, cli, "queue", doc_text(job, "queue"));
    line_field(out, cli, "priority", doc_get(job, "priority"));
    line_time(out, cli, "created", doc_time(job, "created_at"));
    if (doc_time(job, "run_at") != doc_time(job, "created_at"))
        line_time(out, cli, "not before", doc_time(job, "run_at"));
    line_time(out, cli, "started", doc_time(job, "started_at"));
    line_time(out, cli, "finished", doc_time(job, "finished_at"));
    if (slice_is(doc_text(job, "state"), "retrying"))
        line_time(out, cli, "next try", doc_time(job, "dt"));
    if (!slice_is(doc_text(job, "tenant"), "default"))
        line(out, cli, "tenant", doc_text(job, "tenant"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        line_field(out, cli, others[i], doc_get(job, others[i]));
    line_payload(out, cli, job);
}

static void add_attempts(Buf *out, const Cli *cli, const Doc *items)
{
    static const Column columns[] = {
        { .title = "TRY", .right = true },  { .title = "STARTED" },
        { .title = "TIME", .right = true }, { .title = "CODE" },
        { .title = "EXIT", .right = true }, { .title = "ERROR", .wide = true },
    };
    Table table;
    char text[WHEN_TEXT_BYTES];
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (const Doc *item = doc_first(items); item; item = doc_next(item)) {
        int64_t run_ms = doc_int(item, "run_ms", -1);
        int64_t signal = doc_int(item, "signal", 0);
        table_addf(&table, COLOUR_PLAIN, "%lld", (long long)doc_int(item, "attempt", 0));
        table_addf(&table, COLOUR_PLAIN, "%s",
                   when_local(doc_time(item, "started_at"), text));
        table_addf(&table, COLOUR_PLAIN, "%s",
                   run_ms < 0 ? "-" : when_span(run_ms, text));
        table_add(&table, COLOUR_PLAIN, doc_text(item, "code"));
        if (signal > 0)
            table_addf(&table, COLOUR_PLAIN, "sig %lld", (long long)signal);
        else if (doc_is_null(doc_get(item, "exit_status")))
            table_add(&table, COLOUR_PLAIN, SLICE_LITERAL("-"));
        else
            table_addf(&table, COLOUR_PLAIN, "%lld",
                       (long long)doc_int(item, "exit_status", 0));
        table_add(&table, COLOUR_PLAIN, doc_text(item, "error"));
    }
    if (table_rows(&table)) {
        buf_add_char(out, '\n');
        table_print(&table, &cli->out, out);
    }
    table_done(&table);
}

static int show_one(Cli *cli, const char *id, bool first)
{
    Buf path = { 0 };
    Doc *job = NULL;
    cli_job_path(&path, id, "");
    int code = cli_get(cli, buf_cstr(&path), &job);
    if (code) {
        buf_done(&path);
        return code;
    }
    Buf out = { 0 };
    if (!first)
        buf_add_char(&out, '\n');
    describe(&out, cli, job);
    bool ran = doc_int(job, "attempt", 0) > 0;
    doc_free(job);
    Doc *attempts = NULL;
    buf_clear(&path);
    cli_job_path(&path, id, "/attempts");
    if (ran && !cli_get(cli, buf_cstr(&path), &attempts)) {
        add_attempts(&out, cli, doc_get(attempts, "items"));
        doc_free(attempts);
    }
    if (ran && cli->out.is_terminal)
        buf_printf(&out, "\noutput:       pawl logs %s\n", id);
    cli_print(&out);
    buf_done(&out);
    buf_done(&path);
    return code;
}

static int show_json(Cli *cli, const char *id)
{
    Buf path = { 0 };
    Response response = { 0 };
    cli_job_path(&path, id, "");
    int code =
        cli_call(cli, &(Request){ .method = "GET", .path = buf_cstr(&path) }, &response);
    if (!code)
        cli_print_json(buf_slice(&response.body));
    response_done(&response);
    buf_done(&path);
    return code;
}

int cmd_show(Cli *cli)
{
    if (!cli->args.operand_count)
        return cli_fail(cli, (Fault){ CLI_USAGE, "usage", "for example: pawl show last" },
                        "missing job id");
    int worst = CLI_DONE;
    for (size_t i = 0; i < cli->args.operand_count; i++) {
        char id[ID_TEXT_BYTES];
        int code = cli_job_id(cli, cli->args.operands[i], id);
        if (!code)
            code = cli->json ? show_json(cli, id) : show_one(cli, id, i == 0);
        worst = worst ? worst : code;
    }
    return worst;
}
