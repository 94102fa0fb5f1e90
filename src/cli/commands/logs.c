/* SPDX-License-Identifier: Apache-2.0 */
/* logs.c - pawl logs [-f] ID: what a job has written, byte for byte. */
#include "cli/command.h"

#include "cli/interrupt.h"
#include "cli/watch.h"

#include "base/json_out.h"
#include "base/text.h"

static int follow(Watch *watch, const char *id, int64_t attempt)
{
    Doc *job = NULL;
    interrupt_catch();
    WatchEnd end;
    if (attempt > 0) {
        end = watch_copy(watch, id, attempt, true);
    } else {
        end = watch_read(watch, id, &job);
        int64_t last = job ? doc_int(job, "attempt", 0) : 0;
        if (job && !last)
            cli_note("job %s has not started yet: waiting (pawl explain %s says why)", id,
                     id);
        if (job)
            doc_free(job);
        job = NULL;
        if (end == WATCH_ENDED)
            end = watch_output(watch, id, last > 0 ? last : 1, &job);
    }
    if (job)
        doc_free(job);
    if (end == WATCH_DETACHED)
        return watch_say_detached(id);
    return end == WATCH_FAILED ? watch->exit : CLI_DONE;
}

static int copy_now(Watch *watch, const char *id, int64_t attempt)
{
    Doc *job = NULL;
    if (watch_read(watch, id, &job) != WATCH_ENDED)
        return watch->exit;
    int64_t last = doc_int(job, "attempt", 0);
    doc_free(job);
    if (!last && !attempt) {
        cli_note("job %s has not started yet; follow it: pawl logs -f %s", id, id);
        return CLI_DONE;
    }
    return watch_copy(watch, id, attempt ? attempt : last, false) == WATCH_ENDED
               ? CLI_DONE
               : watch->exit;
}

static int add_stream(Cli *cli, const char *id, int64_t attempt, const char *stream,
                      JsonOut *json)
{
    Response response = { 0 };
    Buf path = { 0 };
    Buf key = { 0 };
    buf_printf(&path, "/api/v1/jobs/%s/log?stream=%s", id, stream);
    if (attempt)
        buf_printf(&path, "&attempt=%lld", (long long)attempt);
    buf_printf(&key, "%s_base64", stream);
    Request request = { .method = "GET", .path = buf_cstr(&path) };
    int code = cli_call(cli, &request, &response);
    Slice bytes = buf_slice(&response.body);
    if (!code && utf8_valid(bytes))
        json_text(json, stream, bytes);
    else if (!code)
        json_base64(json, buf_cstr(&key), bytes);
    response_done(&response);
    buf_done(&path);
    buf_done(&key);
    return code;
}

/* Both streams of one attempt in one document; bytes that are no text in base 64. */
static int print_json(Cli *cli, const Watch *watch, const char *id, int64_t attempt)
{
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    json_object(&json, NULL);
    json_cstr(&json, "id", id);
    if (attempt)
        json_int(&json, "attempt", attempt);
    int code = CLI_DONE;
    if (watch->wants_stdout)
        code = add_stream(cli, id, attempt, "stdout", &json);
    if (watch->wants_stderr && !code)
        code = add_stream(cli, id, attempt, "stderr", &json);
    json_object_end(&json);
    if (!code)
        cli_print_json(buf_slice(&out));
    buf_done(&out);
    return code;
}

int cmd_logs(Cli *cli)
{
    const Args *args = &cli->args;
    char id[ID_TEXT_BYTES];
    int64_t attempt;
    Error why;
    if (args->operand_count != 1)
        return cli_fail(cli,
                        (Fault){ CLI_USAGE, "usage", "for example: pawl logs -f last" },
                        "expected one job id");
    if (args_int(args, "attempt", 0, &attempt, &why))
        return cli_misused(cli, &why);
    if (attempt < 1 && args_value(args, "attempt")) {
        error_set(&why, ERR_INVALID, "--attempt must be 1 or more");
        return cli_misused(cli, &why);
    }
    int code = cli_job_id(cli, args->operands[0], id);
    if (code)
        return code;
    bool only_stdout = args_flag(args, "stdout") && !args_flag(args, "stderr");
    bool only_stderr = args_flag(args, "stderr") && !args_flag(args, "stdout");
    Watch watch = { .cli = cli,
                    .wants_stdout = !only_stderr,
                    .wants_stderr = !only_stdout };
    if (cli->json && args_flag(args, "follow"))
        return cli_fail(cli, (Fault){ CLI_USAGE, "usage", NULL },
                        "--json and --follow exclude each other");
    if (cli->json)
        return print_json(cli, &watch, id, attempt);
    return args_flag(args, "follow") ? follow(&watch, id, attempt)
                                     : copy_now(&watch, id, attempt);
}
