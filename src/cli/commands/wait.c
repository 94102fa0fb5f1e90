/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c - pawl wait ID...: until all have ended; the exit code tells how. */
#include "cli/command.h"

#include "cli/interrupt.h"
#include "cli/pages.h"
#include "cli/print/progress.h"
#include "cli/watch.h"

#include "base/times.h"

#include <stdio.h>

typedef struct Waiting {
    Cli *cli;
    Watch watch;
    JobIdText *ids;
    size_t count;
    bool *ended;
    Buf json; /* the final job objects, separated by commas */
    Progress progress;
    Progress told; /* what the last plain line said */
    int64_t since_boot;
    bool bar; /* one is on the screen */
    int exit;
} Waiting;

static void erase_bar(Waiting *waiting)
{
    if (waiting->bar)
        fputs("\r\x1b[K", stderr);
    waiting->bar = false;
}

static void show_progress(Waiting *waiting)
{
    Buf line = { 0 };
    Progress *progress = &waiting->progress;
    progress->elapsed_ms = clock_now().boot_ms - waiting->since_boot;
    if (waiting->count < 2 || waiting->cli->json)
        return;
    if (waiting->cli->err.is_terminal) {
        progress_bar(progress, &waiting->cli->err, &line);
        fprintf(stderr, "\r%s\x1b[K", buf_cstr(&line));
        waiting->bar = true;
    } else if (progress_due(&waiting->told, progress)) {
        progress_line(progress, &line);
        fprintf(stderr, "%s\n", buf_cstr(&line));
        waiting->told = *progress;
    }
    fflush(stderr);
    buf_done(&line);
}

static void say_end(Waiting *waiting, const Doc *job)
{
    JobEnd end = watch_job_end(job);
    char state[32];
    snprintf(state, sizeof state, SLICE_FMT, SLICE_ARG(end.state));
    const Term *term = &waiting->cli->out;
    Colour colour = term_state_colour(state);
    erase_bar(waiting);
    printf(SLICE_FMT "  %s%s%s", SLICE_ARG(doc_text(job, "id")), term_on(term, colour),
           state, term_off(term, colour));
    if (end.signal > 0)
        printf("  signal %lld", (long long)end.signal);
    else if (end.exit_status >= 0)
        printf("  exit %lld", (long long)end.exit_status);
    putchar('\n');
    fflush(stdout);
}

static void job_ended(Waiting *waiting, size_t at, const Doc *job)
{
    Slice state = doc_text(job, "state");
    waiting->ended[at] = true;
    waiting->exit = exit_worse(waiting->exit, exit_from_state(state));
    if (slice_is(state, "done"))
        waiting->progress.done++;
    else if (slice_is(state, "cancelled"))
        waiting->progress.cancelled++;
    else
        waiting->progress.failed++;
    if (!waiting->cli->json) {
        say_end(waiting, job);
        return;
    }
    if (waiting->json.bytes)
        buf_add_char(&waiting->json, ',');
    doc_write(job, &waiting->json);
}

/* Asks for every job that has not ended yet. */
static WatchEnd ask_all(Waiting *waiting)
{
    waiting->progress.running = 0;
    for (size_t i = 0; i < waiting->count; i++) {
        if (waiting->ended[i])
            continue;
        Doc *job = NULL;
        WatchEnd end = watch_read(&waiting->watch, waiting->ids[i], &job);
        if (end != WATCH_ENDED)
            return end;
        Slice state = doc_text(job, "state");
        if (state_is_final(state))
            job_ended(waiting, i, job);
        else if (slice_is(state, "running"))
            waiting->progress.running++;
        doc_free(job);
        if (interrupt_seen())
            return WATCH_DETACHED;
    }
    return WATCH_ENDED;
}

static WatchEnd wait_all(Waiting *waiting)
{
    for (int64_t asked = 0;; asked++) {
        WatchEnd end = ask_all(waiting);
        show_progress(waiting);
        if (end != WATCH_ENDED || progress_ended(&waiting->progress) == waiting->count)
            return end;
        int64_t deadline = waiting->watch.deadline_boot;
        int64_t left_ms = deadline ? deadline - clock_now().boot_ms : INT64_MAX;
        if (left_ms <= 0)
            return WATCH_TIMEOUT;
        int64_t pause_ms = watch_pause_ms(asked);
        interrupt_sleep(pause_ms < left_ms ? pause_ms : left_ms);
        if (interrupt_seen())
            return WATCH_DETACHED;
    }
}

static void print_json(const Waiting *waiting)
{
    Buf out = { 0 };
    buf_add_text(&out, "{\"items\":[");
    buf_add_slice(&out, buf_slice(&waiting->json));
    buf_add_text(&out, "]}");
    cli_print_json(buf_slice(&out));
    buf_done(&out);
}

static int finish(Waiting *waiting, WatchEnd end)
{
    size_t left = waiting->count - progress_ended(&waiting->progress);
    erase_bar(waiting);
    switch (end) {
    case WATCH_ENDED:
        if (waiting->cli->json)
            print_json(waiting);
        return waiting->exit;
    case WATCH_DETACHED:
        return watch_say_detached(waiting->ids[0]);
    case WATCH_TIMEOUT:
        return cli_fail(
            waiting->cli,
            (Fault){ CLI_TIMED_OUT, "timeout", "they go on; see them: pawl ls" },
            "%zu of %zu %s not ended in time", left, waiting->count,
            waiting->count == 1 ? "job has" : "jobs have");
    case WATCH_FAILED:
        break;
    }
    return waiting->watch.exit;
}

int cmd_wait(Cli *cli)
{
    Error why;
    int64_t timeout_ms;
    JobIdText *ids = NULL;
    size_t count = 0;
    if (args_duration(&cli->args, "timeout", &timeout_ms, &why))
        return cli_misused(cli, &why);
    int code = pages_ids(cli, &ids, &count);
    if (code)
        return code;
    if (!count)
        cli_note("no job matches: nothing to wait for");
    int64_t now = clock_now().boot_ms;
    Waiting waiting = {
        .cli = cli,
        .watch = { .cli = cli, .deadline_boot = timeout_ms < 0 ? 0 : now + timeout_ms },
        .ids = ids,
        .count = count,
        .ended = MEM_ARRAY(bool, count + 1),
        .progress = { .total = count },
        .told = { .total = count },
        .since_boot = now,
    };
    interrupt_catch();
    code = finish(&waiting, wait_all(&waiting));
    mem_free(waiting.ended);
    buf_done(&waiting.json);
    mem_free(ids);
    return code;
}
