/* SPDX-License-Identifier: Apache-2.0 */
/* submit.c - see submit.h. */
#include "cli/submit.h"

#include "cli/describe.h"
#include "cli/interrupt.h"
#include "cli/print/safe.h"
#include "cli/print/when.h"

#include "base/times.h"

#include <stdio.h>
#include <string.h>

#define RETRY_MS       15000 /* a daemon that restarts is back by then */
#define RETRY_PAUSE_MS 200

/* A node that is cut off from its store accepts jobs, but knows nothing of keys: then
 * nothing was added, and it is asked once more without one. */
static bool goes_without_key(Request *request, Response *response)
{
    static const char code[] = "\"store_unavailable\"";
    if (!request->key || response->status != 503 ||
        !memmem(response->body.data, response->body.bytes, code, sizeof code - 1))
        return false;
    request->key = NULL;
    return true;
}

int submit_call(Cli *cli, Request *request, Response *response)
{
    int64_t give_up = clock_now().boot_ms + RETRY_MS;
    bool sent = false;
    for (;;) {
        Error why;
        buf_clear(&response->body);
        Err err = client_call(&cli->client, request, response, &why);
        if (!err && !sent && goes_without_key(request, response))
            continue;
        /* Only an answer that got lost is asked for again, by its key. */
        sent = sent || (err == ERR_IO && request->key);
        if (!err || !sent || err == ERR_BUSY || clock_now().boot_ms > give_up) {
            if (err)
                return cli_fail_call(cli, err, &why);
            break;
        }
        interrupt_sleep(RETRY_PAUSE_MS);
    }
    if (response->status < 200 || response->status > 299)
        return cli_fail_response(cli, response);
    return CLI_DONE;
}

int submit_job(Cli *cli, const char *path, Slice body, Response *response)
{
    char key[KEY_TEXT_BYTES];
    Request request = {
        .method = "POST", .path = path, .body = body, .key = describe_key(key)
    };
    return submit_call(cli, &request, response);
}

static void say_terminal(const Cli *cli, const Doc *job, Slice id)
{
    Buf line = { 0 };
    char when[WHEN_TEXT_BYTES];
    Slice state = doc_text(job, "state");
    Slice name = doc_text(job, "name");
    buf_printf(&line, "queued  %s" SLICE_FMT "%s  ", term_on(&cli->out, COLOUR_BOLD),
               SLICE_ARG(id), term_off(&cli->out, COLOUR_BOLD));
    if (name.bytes) {
        safe_add(&line, name);
        buf_add_text(&line, "  ");
    }
    buf_add_text(&line, "queue ");
    safe_add(&line, doc_text(job, "queue"));
    buf_printf(&line, "  " SLICE_FMT, SLICE_ARG(state));
    if (doc_text(job, "reason").bytes) {
        buf_add_text(&line, ": ");
        safe_add(&line, doc_text(job, "reason"));
    }
    buf_add_char(&line, '\n');
    cli_print(&line);
    buf_done(&line);
    if (slice_is(state, "deferred"))
        fprintf(stderr, "starts  %s\n", when_echo(doc_time(job, "run_at"), when));
    fflush(stdout);
    if (slice_is(state, "held"))
        fprintf(stderr, "next:   pawl release " SLICE_FMT "\n", SLICE_ARG(id));
    else
        fprintf(stderr, "next:   pawl logs -f " SLICE_FMT "   pawl wait last\n",
                SLICE_ARG(id));
}

int submit_say(Cli *cli, const Response *response)
{
    Doc *answer = NULL;
    Error why;
    if (cli->json) {
        cli_print_json(buf_slice(&response->body));
        return CLI_DONE;
    }
    if (doc_parse(buf_slice(&response->body), &answer, &why))
        return cli_fail(cli, (Fault){ CLI_FAILED, "bad_answer", NULL },
                        "the server's answer is not JSON: %s", why.text);
    const Doc *job = doc_get(answer, "job");
    Slice id = doc_text(answer, "id");
    if (cli->out.is_terminal)
        say_terminal(cli, job, id);
    else
        printf(SLICE_FMT "\n", SLICE_ARG(id));
    /* Whoever names a moment should see which one was understood. */
    char when[WHEN_TEXT_BYTES];
    bool named = args_flag(&cli->args, "at") || args_flag(&cli->args, "in");
    if (named && !cli->out.is_terminal)
        fprintf(stderr, "starts  %s\n", when_echo(doc_time(job, "run_at"), when));
    doc_free(answer);
    return CLI_DONE;
}
