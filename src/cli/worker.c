/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - see worker.h. */
#include "cli/worker.h"

#include "cli/worker_lines.h"

#include "base/json_out.h"
#include "base/text.h"
#include "base/times.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPLY_FD       3
#define READ_BYTES     65536
#define AGAIN_MS       1000 /* between two tries to reach the daemon */
#define LOOK_MS        200  /* how soon a signal is noticed */
#define TELL_TRIES_MAX 600

typedef struct Slot {
    WorkerPlan *plan;
    Client client;
    pid_t pid;  /* 0: none */
    int input;  /* of the program: its standard input */
    int output; /* of the program: its descriptor 3 */
    Buf said;   /* read and not yet understood, from `at` on */
    size_t at;

    /* The job in hand. */
    Buf item;         /* {"id":…,"attempt":…,"token":… without its end */
    Slice id;         /* in `item` */
    Buf jobs;         /* of J: lines, as JSON */
    int64_t progress; /* -1: nothing new */
    Buf message;
    int64_t renew_boot;
} Slot;

/* --- The program ------------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static _Noreturn void become(char **command, int input, int output)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0);
    if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, REPLY_FD) >= 0)
        execvp(command[0], command);
    _exit(errno == ENOENT ? 127 : 126);
}

/* A descriptor that is neither standard nor REPLY_FD, so that dup2 makes a copy. */
static int above(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, REPLY_FD + 1);
    close(fd);
    return moved;
}

static bool program_start(Slot *slot)
{
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC))
        return false;
    if (pipe2(from, O_CLOEXEC)) {
        close(to[0]);
        close(to[1]);
        return false;
    }
    int input = above(to[0]);
    int output = above(from[1]);
    pid_t pid = fork();
    if (pid == 0)
        become(slot->plan->command, input, output);
    close(input);
    close(output);
    if (pid < 0) {
        close(to[1]);
        close(from[0]);
        return false;
    }
    setpgid(pid, pid);
    slot->pid = pid;
    slot->input = to[1];
    slot->output = from[0];
    slot->at = 0;
    buf_clear(&slot->said);
    return true;
}

static bool program_gone(Slot *slot, int64_t wait_ms, int *out_status)
{
    int64_t until = clock_now().boot_ms + wait_ms;
    for (;;) {
        if (waitpid(slot->pid, out_status, WNOHANG) == slot->pid)
            return true;
        if (clock_now().boot_ms >= until)
            return false;
        poll(NULL, 0, 20);
    }
}

/* Ends it: politely by the end of its input, then with signals. */
static int program_end(Slot *slot, bool politely)
{
    int status = 0;
    int64_t grace_ms = slot->plan->grace_ms;
    if (!slot->pid)
        return 0;
    close_fd(&slot->input);
    bool gone = politely && program_gone(slot, grace_ms, &status);
    if (!gone) {
        kill(-slot->pid, SIGTERM);
        gone = program_gone(slot, slot->plan->giving_up ? 0 : grace_ms, &status);
    }
    if (!gone) {
        kill(-slot->pid, SIGKILL);
        waitpid(slot->pid, &status, 0);
    }
    close_fd(&slot->output);
    slot->pid = 0;
    return status;
}

static bool write_all(int fd, Slice text)
{
    while (text.bytes) {
        ssize_t written = write(fd, text.data, text.bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        text = slice_from(text, (size_t)written);
    }
    return true;
}

/* --- The daemon -------------------------------------------------------------------- */

/* A call whose answer is wanted: asked again while the daemon cannot be reached. False
 * when it refused, or nobody waits for it any more. */
static bool call(Slot *slot, const Request *request, Response *response, int tries)
{
    for (int i = 0; i < tries && !slot->plan->giving_up; i++) {
        Error why = { 0 };
        response_done(response);
        Err err = client_call(&slot->client, request, response, &why);
        if (!err && response->status / 100 == 2)
            return true;
        if (!err && response->status < 500) {
            cli_note("the daemon refuses: " SLICE_FMT,
                     SLICE_ARG(buf_slice(&response->body)));
            return false;
        }
        if (i == 0)
            cli_note("the daemon does not answer (%s); trying again",
                     err ? why.text : "it is not ready");
        if (slot->plan->stopping && tries == 1)
            return false;
        poll(NULL, 0, AGAIN_MS);
    }
    return false;
}

/* "ok", "lost", "cancel", "late", or nothing; valid until the next call. */
static Slice status_of(const Response *response, Doc **out_doc)
{
    if (doc_parse(buf_slice(&response->body), out_doc, NULL))
        return (Slice){ NULL, 0 };
    return doc_text(doc_first(doc_get(*out_doc, "items")), "status");
}

static void text_or_base64(JsonOut *json, const char *key, const char *key64, Slice text)
{
    if (utf8_valid(text))
        json_text(json, key, text);
    else
        json_base64(json, key64, text);
}

static void finish(Slot *slot, int64_t code, Slice result, const char *error)
{
    Buf body = { 0 };
    Response response = { 0 };
    Doc *doc = NULL;
    buf_printf(&body, "{\"items\":[" SLICE_FMT, SLICE_ARG(buf_slice(&slot->item)));
    JsonOut json = { .out = &body, .comma = true };
    json_int(&json, "exitcode", code >= 100 && code <= 599 ? code : 500);
    if (result.bytes)
        text_or_base64(&json, "result", "result_base64", result);
    if (error)
        json_cstr(&json, "error", error);
    else if (code / 100 != 2 && result.bytes && utf8_valid(result))
        json_text(&json, "error", result);
    if (slot->jobs.bytes)
        buf_printf(&body, ",\"jobs\":[" SLICE_FMT "]", SLICE_ARG(buf_slice(&slot->jobs)));
    buf_add_text(&body, "}]}");
    Request request = { .method = "POST",
                        .path = "/api/v1/claims/finish",
                        .body = buf_slice(&body) };
    if (call(slot, &request, &response, TELL_TRIES_MAX) &&
        slice_is(status_of(&response, &doc), "late"))
        cli_note("the result of " SLICE_FMT " came too late", SLICE_ARG(slot->id));
    doc_free(doc);
    response_done(&response);
    buf_done(&body);
}

/* True: go on with the job. */
static bool renew(Slot *slot, bool *out_cancel)
{
    Buf body = { 0 };
    Response response = { 0 };
    Doc *doc = NULL;
    buf_printf(&body, "{\"items\":[" SLICE_FMT, SLICE_ARG(buf_slice(&slot->item)));
    JsonOut json = { .out = &body, .comma = true };
    if (slot->progress >= 0 && slot->progress <= 100)
        json_int(&json, "progress", slot->progress);
    if (slot->message.bytes && utf8_valid(buf_slice(&slot->message)))
        json_text(&json, "message", buf_slice(&slot->message));
    buf_add_text(&body, "}]}");
    slot->progress = -1;
    buf_clear(&slot->message);
    slot->renew_boot = clock_now().boot_ms + slot->plan->lease_ms / 3;
    Request request = { .method = "POST",
                        .path = "/api/v1/claims/renew",
                        .body = buf_slice(&body) };
    bool goes_on = true;
    *out_cancel = false;
    if (call(slot, &request, &response, 1)) {
        Slice status = status_of(&response, &doc);
        *out_cancel = slice_is(status, "cancel");
        goes_on = !*out_cancel && !slice_is(status, "lost");
    }
    doc_free(doc);
    response_done(&response);
    buf_done(&body);
    return goes_on;
}

/* --- A job ------------------------------------------------------------------------- */

static void add_job(Slot *slot, Slice text)
{
    JsonOut json = { .out = &slot->jobs, .comma = slot->jobs.bytes > 0 };
    json_object(&json, NULL);
    json_text(&json, "type", slice_cut(&text, '|'));
    text_or_base64(&json, "payload", "payload_base64", text);
    json_object_end(&json);
}

typedef enum Heard { HEARD_NOTHING, HEARD_END } Heard;

/* What the program has said; HEARD_END when the job was answered, and finished. */
static Heard hear(Slot *slot)
{
    WorkerLine line;
    Heard heard = HEARD_NOTHING;
    while (heard == HEARD_NOTHING &&
           worker_line_next(buf_slice(&slot->said), &slot->at, &line)) {
        bool ours = slice_equal(line.id, slot->id);
        switch (line.kind) {
        case WORKER_RESULT:
            if (!ours)
                break;
            finish(slot, line.number, line.text, NULL);
            heard = HEARD_END;
            break;
        case WORKER_PROGRESS:
            if (!ours)
                break;
            slot->progress = line.number;
            buf_clear(&slot->message);
            buf_add_slice(&slot->message, line.text);
            slot->renew_boot = 0; /* tell it */
            break;
        case WORKER_JOB:
            if (ours)
                add_job(slot, line.text);
            break;
        case WORKER_OTHER:
            break;
        }
    }
    memmove(slot->said.data, slot->said.data + slot->at, slot->said.bytes - slot->at);
    slot->said.bytes -= slot->at;
    slot->at = 0;
    return heard;
}

static void finish_crashed(Slot *slot, int status)
{
    char text[80];
    if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "the program was ended by signal %d",
                 WTERMSIG(status));
    else
        snprintf(text, sizeof text, "the program ended with exit status %d",
                 WEXITSTATUS(status));
    cli_note("%s", text);
    finish(slot, 500, (Slice){ NULL, 0 }, text);
}

/* False: the program has closed its side. */
static bool read_more(Slot *slot)
{
    char bytes[READ_BYTES];
    ssize_t got = read(slot->output, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR)
        return true;
    if (got <= 0 || slot->said.bytes > WORKER_LINE_MAX)
        return false;
    buf_add(&slot->said, bytes, (size_t)got);
    return true;
}

/* Until the job is answered, the program has ended, or the daemon wants it back. */
static void attend(Slot *slot)
{
    bool cancel;
    while (!slot->plan->giving_up) {
        struct pollfd fd = { .fd = slot->output, .events = POLLIN };
        int64_t left_ms = slot->renew_boot - clock_now().boot_ms;
        if (left_ms <= 0 && !renew(slot, &cancel)) {
            program_end(slot, false);
            if (cancel)
                finish(slot, 499, (Slice){ NULL, 0 }, "cancelled");
            return;
        }
        if (left_ms > LOOK_MS || left_ms <= 0)
            left_ms = LOOK_MS;
        if (poll(&fd, 1, (int)left_ms) <= 0)
            continue;
        if (!read_more(slot)) {
            finish_crashed(slot, program_end(slot, true));
            return;
        }
        if (hear(slot) == HEARD_END)
            return;
    }
}

static void take_item(Slot *slot, const Doc *job)
{
    JsonOut json = { .out = &slot->item };
    buf_clear(&slot->item);
    buf_clear(&slot->jobs);
    buf_clear(&slot->message);
    slot->progress = -1;
    json_object(&json, NULL);
    json_text(&json, "id", doc_text(job, "id"));
    json_int(&json, "attempt", doc_int(job, "attempt", 0));
    json_text(&json, "token", doc_text(job, "token"));
    slot->renew_boot = clock_now().boot_ms + slot->plan->lease_ms / 3;
}

static void work(Slot *slot, const Doc *job)
{
    Buf line = { 0 };
    take_item(slot, job);
    slot->id = doc_text(job, "id");
    doc_write(job, &line);
    buf_add_char(&line, '\n');
    if (!slot->pid && !program_start(slot))
        finish(slot, 500, (Slice){ NULL, 0 }, "the program cannot be started");
    else if (!write_all(slot->input, buf_slice(&line)))
        finish_crashed(slot, program_end(slot, true));
    else
        attend(slot);
    buf_done(&line);
}

/* One claim, and the jobs it brought. */
static void claim(Slot *slot)
{
    Request request = { .method = "POST",
                        .path = "/api/v1/claims",
                        .body = buf_slice(&slot->plan->claim) };
    Response response = { 0 };
    Doc *doc = NULL;
    if (!call(slot, &request, &response, 1)) {
        if (response.status / 100 == 4) {
            slot->plan->failed = CLI_FAILED;
            slot->plan->stopping = true;
        }
    } else if (response.status == 200 &&
               !doc_parse(buf_slice(&response.body), &doc, NULL)) {
        const Doc *job = doc_first(doc_get(doc, "jobs"));
        for (; job; job = doc_next(job))
            work(slot, job);
    }
    doc_free(doc);
    response_done(&response);
}

void *worker_run(void *context)
{
    WorkerPlan *plan = context;
    Slot slot = { .plan = plan, .input = -1, .output = -1 };
    client_copy(&slot.client, plan->client);
    while (!plan->stopping)
        claim(&slot);
    program_end(&slot, !plan->giving_up);
    client_done(&slot.client);
    buf_done(&slot.said);
    buf_done(&slot.item);
    buf_done(&slot.jobs);
    buf_done(&slot.message);
    plan->ended++;
    return NULL;
}
