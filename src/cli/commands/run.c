/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - pawl run [options] -- CMD ARG...: queue a command, perhaps wait for it. */
#include "cli/command.h"

#include "cli/describe.h"
#include "cli/interrupt.h"
#include "cli/print/safe.h"
#include "cli/submit.h"
#include "cli/watch.h"

#include "base/text.h"
#include "base/times.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int add_stdin(Cli *cli, JsonOut *json)
{
    const char *path = args_value(&cli->args, "stdin");
    if (!path)
        return CLI_DONE;
    Buf input = { 0 };
    int code = describe_read(cli, path, &input);
    if (!code)
        describe_payload(json, buf_slice(&input), true);
    buf_done(&input);
    return code;
}

static int describe(Cli *cli, Buf *body)
{
    JsonOut json = { .out = body };
    json_object(&json, NULL);
    int code = describe_command(cli, cli->args.operands, cli->args.operand_count, &json);
    if (!code)
        code = describe_cwd(cli, &json);
    if (!code)
        code = describe_options(cli, clock_now().wall_ms, NULL, &json);
    /* A command that failed is run again only when that was asked for. */
    if (!code && !args_flag(&cli->args, "retries"))
        json_int(&json, "max_retries", 0);
    if (!code)
        code = add_stdin(cli, &json);
    json_object_end(&json);
    return code;
}

/* A whole line of shell in one word, and a script that names no interpreter. */
static void say_hint(const Cli *cli, const JobEnd *end)
{
    const char *command = cli->args.operands[0];
    const char *no_format = strerror(ENOEXEC);
    int code = exit_from_command(end);
    if (code == CLI_NO_COMMAND && strpbrk(command, " |&;<>$"))
        cli_note("for a line of shell: pawl run -- sh -c '%s'", command);
    if (code == CLI_NOT_EXECUTABLE && end->error.bytes &&
        memmem(end->error.data, end->error.bytes, no_format, strlen(no_format)))
        cli_note("does its first line name an interpreter, such as #!/bin/sh?");
}

/* A command that did not end by itself said nothing about it. */
static void say_end(const char *id, const JobEnd *end)
{
    if (end->exit_status >= 0)
        return;
    Buf text = { 0 };
    safe_add(&text, end->error);
    cli_note("job %s " SLICE_FMT "%s%s", id, SLICE_ARG(end->state),
             text.bytes ? ": " : "", buf_cstr(&text));
    buf_done(&text);
}

static int wait_for(Cli *cli, const char *id)
{
    Watch watch = { .cli = cli, .wants_stdout = true, .wants_stderr = true };
    Doc *job = NULL;
    interrupt_catch();
    if (cli->err.is_terminal)
        fprintf(stderr, "%sjob %s%s\n", term_on(&cli->err, COLOUR_DIM), id,
                term_off(&cli->err, COLOUR_DIM));
    WatchEnd ended =
        cli->json ? watch_quietly(&watch, id, &job) : watch_output(&watch, id, 1, &job);
    switch (ended) {
    case WATCH_DETACHED:
        return watch_say_detached(id);
    case WATCH_TIMEOUT:
        return CLI_TIMED_OUT;
    case WATCH_FAILED:
        return watch.exit;
    case WATCH_ENDED:
        break;
    }
    JobEnd end = watch_job_end(job);
    int code = exit_from_command(&end);
    if (cli->json) {
        Buf text = { 0 };
        doc_write(job, &text);
        cli_print_json(buf_slice(&text));
        buf_done(&text);
    } else if (code != CLI_DONE) {
        say_end(id, &end);
        say_hint(cli, &end);
    }
    doc_free(job);
    return code;
}

static int wait_for_answer(Cli *cli, const Response *response)
{
    Doc *answer = NULL;
    char id[ID_TEXT_BYTES] = "";
    if (!doc_parse(buf_slice(&response->body), &answer, NULL)) {
        snprintf(id, sizeof id, SLICE_FMT, SLICE_ARG(doc_text(answer, "id")));
        doc_free(answer);
    }
    if (!id[0])
        return cli_fail(cli, (Fault){ CLI_FAILED, "bad_answer", NULL },
                        "the server's answer has no id");
    return wait_for(cli, id);
}

int cmd_run(Cli *cli)
{
    if (!cli->args.operand_count)
        return cli_fail(
            cli, (Fault){ CLI_USAGE, "usage", "for example: pawl run -- echo hello" },
            "missing command");
    Buf body = { 0 };
    Response response = { 0 };
    int code = describe(cli, &body);
    if (!code)
        code = submit_job(cli, "/api/v1/jobs", buf_slice(&body), &response);
    if (!code)
        code = cli->waits ? wait_for_answer(cli, &response) : submit_say(cli, &response);
    response_done(&response);
    buf_done(&body);
    return code;
}
