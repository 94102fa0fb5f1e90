/* SPDX-License-Identifier: Apache-2.0 */
/* add.c - pawl add TYPE [PAYLOAD | - | @FILE]: queue typed jobs, one or many. */
#include "cli/command.h"

#include "cli/describe.h"
#include "cli/feed.h"
#include "cli/interrupt.h"
#include "cli/submit.h"
#include "cli/watch.h"

#include "base/text.h"
#include "base/times.h"

#include <stdio.h>

/* The payload as it was typed, or the bytes of a file. The newline that ends a text file
 * is not part of it: the job's standard input gets one anyway. */
static int read_payload(Cli *cli, const char *word, Buf *out)
{
    if (strcmp(word, "-") != 0 && word[0] != '@') {
        buf_add_text(out, word);
        return CLI_DONE;
    }
    int code = describe_read(cli, word[0] == '@' ? word + 1 : word, out);
    bool text = !code && utf8_valid(buf_slice(out));
    if (text && out->bytes && out->data[out->bytes - 1] == '\n')
        out->bytes--;
    return code;
}

static int describe(Cli *cli, Buf *body)
{
    const Args *args = &cli->args;
    JsonOut json = { .out = body };
    int code = CLI_DONE;
    json_object(&json, NULL);
    json_cstr(&json, "type", args->operands[0]);
    if (args->operand_count > 1) {
        Buf payload = { 0 };
        code = read_payload(cli, args->operands[1], &payload);
        if (!code)
            describe_payload(&json, buf_slice(&payload), false);
        buf_done(&payload);
    }
    if (!code)
        code = describe_options(cli, clock_now().wall_ms, NULL, &json);
    json_object_end(&json);
    return code;
}

static int print_result(Cli *cli, const char *id)
{
    Buf path = { 0 };
    Response response = { 0 };
    cli_job_path(&path, id, "/result");
    int code =
        cli_call(cli, &(Request){ .method = "GET", .path = buf_cstr(&path) }, &response);
    Slice result = buf_slice(&response.body);
    if (!code && cli->out.is_terminal && result.bytes &&
        result.data[result.bytes - 1] != '\n')
        buf_add_char(&response.body, '\n'); /* for people: the prompt has its own line */
    if (!code)
        cli_print(&response.body);
    response_done(&response);
    buf_done(&path);
    return code;
}

static int wait_for(Cli *cli, const Response *response)
{
    char id[ID_TEXT_BYTES] = "";
    Doc *answer = NULL;
    if (!doc_parse(buf_slice(&response->body), &answer, NULL)) {
        snprintf(id, sizeof id, SLICE_FMT, SLICE_ARG(doc_text(answer, "id")));
        doc_free(answer);
    }
    Watch watch = { .cli = cli, .tells_attempts = true };
    Doc *job = NULL;
    interrupt_catch();
    WatchEnd end = watch_quietly(&watch, id, &job);
    if (end == WATCH_DETACHED)
        return watch_say_detached(id);
    if (end != WATCH_ENDED)
        return watch.exit;
    JobEnd ended = watch_job_end(job);
    int code = exit_from_state(ended.state);
    if (cli->json) {
        Buf text = { 0 };
        doc_write(job, &text);
        cli_print_json(buf_slice(&text));
        buf_done(&text);
    } else if (code) {
        cli_fail(cli, (Fault){ code, "job_failed", NULL },
                 "job %s " SLICE_FMT ": " SLICE_FMT, id, SLICE_ARG(ended.state),
                 SLICE_ARG(ended.error));
    } else if (doc_int(job, "result_size", 0)) {
        code = print_result(cli, id);
    }
    doc_free(job);
    return code;
}

static int add_one(Cli *cli)
{
    Buf body = { 0 };
    Response response = { 0 };
    int code = describe(cli, &body);
    if (!code)
        code = submit_job(cli, "/api/v1/jobs", buf_slice(&body), &response);
    if (!code)
        code = args_flag(&cli->args, "wait") ? wait_for(cli, &response)
                                             : submit_say(cli, &response);
    response_done(&response);
    buf_done(&body);
    return code;
}

static int add_control(Cli *cli, const char *path)
{
    Buf body = { 0 };
    Response response = { 0 };
    int code = describe_read(cli, path, &body);
    Request request = { .method = "POST",
                        .path = "/api/v1/jobs",
                        .content_type = "application/xml",
                        .body = buf_slice(&body) };
    if (!code)
        code = cli_call(cli, &request, &response);
    if (!code)
        code = submit_say(cli, &response);
    response_done(&response);
    buf_done(&body);
    return code;
}

int cmd_add(Cli *cli)
{
    const Args *args = &cli->args;
    const char *ndjson = args_value(args, "ndjson");
    const char *control = args_value(args, "control");
    Fault usage = { CLI_USAGE, "usage", "for example: pawl add mail.send 'to ann'" };
    if (control && !args->operand_count && !ndjson)
        return add_control(cli, control);
    if (control)
        return cli_fail(cli, usage, "--control stands alone: the document says it all");
    if (args->operand_count > 2 || (ndjson && args->operand_count > 1))
        return cli_fail(cli, usage, "too many words: \"%s\"",
                        args->operands[args->operand_count - 1]);
    if (ndjson)
        return feed_lines(cli, ndjson, args->operand_count ? args->operands[0] : NULL);
    if (!args->operand_count)
        return cli_fail(cli, usage, "missing job type");
    return add_one(cli);
}
