/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - see watch.h. */
#include "cli/watch.h"

#include "cli/interrupt.h"
#include "cli/print/safe.h"
#include "cli/print/when.h"

#include "base/times.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define LOST_MAX_MS   60000 /* a restart with a long journal to read takes less */
#define LOST_PAUSE_MS 200
#define PAUSE_MIN_MS  4
#define PAUSE_MAX_MS  250

int64_t watch_pause_ms(int64_t asked)
{
    int64_t pause_ms = PAUSE_MIN_MS;
    for (int64_t i = 0; i < asked && pause_ms < PAUSE_MAX_MS; i += 4)
        pause_ms *= 2;
    return pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS;
}

JobEnd watch_job_end(const Doc *job)
{
    return (JobEnd){
        .state = doc_text(job, "state"),
        .exitcode = doc_int(job, "exitcode", 0),
        .exit_status = doc_int(job, "exit_status", -1),
        .signal = doc_int(job, "signal", 0),
        .error = doc_text(job, "error"),
    };
}

int watch_say_detached(const char *id)
{
    fflush(stdout);
    fprintf(stderr, "\npawl: detached; the job goes on. Come back: pawl logs -f %s\n",
            id);
    return CLI_SIGNAL_BASE + 2;
}

static bool past_deadline(const Watch *watch)
{
    return watch->deadline_boot && clock_now().boot_ms >= watch->deadline_boot;
}

static WatchEnd failed(Watch *watch, int code)
{
    watch->exit = code;
    return WATCH_FAILED;
}

/* After a call without an answer: whether to try again, having waited a little. */
static bool try_again(Watch *watch, Err err)
{
    if (err == ERR_BUSY || interrupt_seen() || past_deadline(watch))
        return false;
    int64_t now = clock_now().boot_ms;
    if (!watch->lost_since) {
        watch->lost_since = now;
        if (watch->cli->err.is_terminal)
            cli_note("the daemon does not answer; trying again for a minute");
    }
    if (now - watch->lost_since > LOST_MAX_MS)
        return false;
    watch->tries++;
    interrupt_sleep(LOST_PAUSE_MS);
    return true;
}

static WatchEnd gave_up(Watch *watch, Err err, const Error *why)
{
    if (interrupt_seen())
        return WATCH_DETACHED;
    if (past_deadline(watch))
        return WATCH_TIMEOUT;
    return failed(watch, cli_fail_call(watch->cli, err, why));
}

WatchEnd watch_read(Watch *watch, const char *id, Doc **out_job)
{
    Buf path = { 0 };
    cli_job_path(&path, id, "");
    WatchEnd end = watch_get(watch, buf_cstr(&path), out_job);
    buf_done(&path);
    return end;
}

WatchEnd watch_get(Watch *watch, const char *path, Doc **out_doc)
{
    Request request = { .method = "GET", .path = path, .timeout_ms = 10000 };
    Response response = { 0 };
    Error why;
    Err err;
    /* 503 is a daemon that starts or leaves. */
    while ((err = client_call(&watch->cli->client, &request, &response, &why)) ||
           response.status == 503) {
        if (!try_again(watch, err))
            break;
        buf_clear(&response.body);
    }
    WatchEnd end = WATCH_ENDED;
    if (err)
        end = gave_up(watch, err, &why);
    else if (response.status == 503 && past_deadline(watch))
        end = WATCH_TIMEOUT; /* who waits only so long is told that, whatever it was */
    else if (response.status != 200)
        end = failed(watch, cli_fail_response(watch->cli, &response));
    else if (doc_parse(buf_slice(&response.body), out_doc, &why))
        end =
            failed(watch, cli_fail(watch->cli, (Fault){ CLI_FAILED, "bad_answer", NULL },
                                   "the server's answer is not JSON: %s", why.text));
    if (end == WATCH_ENDED)
        watch->lost_since = 0;
    response_done(&response);
    return end;
}

/* What a watcher waits for. */
typedef enum News {
    NEWS_BEGUN, /* an attempt after `attempt` has begun, or the job is final */
    NEWS_OVER,  /* `attempt` is over */
    NEWS_FINAL,
} News;

static bool is_news(const Doc *job, News news, int64_t attempt)
{
    Slice state = doc_text(job, "state");
    bool later = doc_int(job, "attempt", 0) > attempt;
    if (state_is_final(state))
        return true;
    switch (news) {
    case NEWS_BEGUN:
        return later;
    case NEWS_OVER:
        return later || (!slice_is(state, "running") && !slice_is(state, "paused"));
    case NEWS_FINAL:
        return false;
    }
    return false;
}

static void tell_attempt(const Doc *attempt, const Doc *job, bool last)
{
    char span[WHEN_TEXT_BYTES];
    Buf text = { 0 };
    Slice error = doc_text(attempt, "error");
    int64_t wait_ms = doc_time(job, "dt") - clock_now().wall_ms;
    bool waits = last && slice_is(doc_text(job, "state"), "retrying") && wait_ms > 0;
    buf_printf(&text, "attempt %lld failed: ", (long long)doc_int(attempt, "attempt", 0));
    safe_add(&text, error.bytes ? error : SLICE_LITERAL("it does not say why"));
    if (waits)
        buf_printf(&text, "; next try in %s", when_span(wait_ms, span));
    cli_note("%s", buf_cstr(&text));
    buf_done(&text);
}

/* A job may fail for hours before it is rejected: who waits should know. Attempts that
 * came and went between two looks are told, too; the last one of a job that has ended is
 * told with its end. */
static void tell_attempts(Watch *watch, const char *id, const Doc *job)
{
    Slice state = doc_text(job, "state");
    bool goes_on = slice_is(state, "running") || slice_is(state, "paused");
    int64_t over = doc_int(job, "attempt", 0) - (goes_on || state_is_final(state));
    if (!watch->tells_attempts || watch->cli->json || over <= watch->told)
        return;
    Buf path = { 0 };
    Doc *attempts = NULL;
    cli_job_path(&path, id, "/attempts");
    Response response = { 0 };
    Error why;
    Request request = { .method = "GET", .path = buf_cstr(&path), .timeout_ms = 10000 };
    if (!client_call(&watch->cli->client, &request, &response, &why) &&
        response.status == 200 && doc_parse(buf_slice(&response.body), &attempts, NULL))
        attempts = NULL;
    const Doc *attempt = doc_first(doc_get(attempts, "items"));
    for (; attempt; attempt = doc_next(attempt)) {
        int64_t number = doc_int(attempt, "attempt", 0);
        if (number > watch->told && number <= over)
            tell_attempt(attempt, job, number == over);
    }
    if (attempts)
        watch->told = over;
    doc_free(attempts);
    response_done(&response);
    buf_done(&path);
}

/* Reads the job again and again until there is news. */
static WatchEnd until_news(Watch *watch, const char *id, News news, int64_t attempt,
                           Doc **out_job)
{
    for (int64_t asked = 0;; asked++) {
        Doc *job = NULL;
        WatchEnd end = watch_read(watch, id, &job);
        if (end != WATCH_ENDED)
            return end;
        tell_attempts(watch, id, job);
        if (is_news(job, news, attempt)) {
            *out_job = job;
            return WATCH_ENDED;
        }
        doc_free(job);
        if (past_deadline(watch))
            return WATCH_TIMEOUT;
        interrupt_sleep(watch_pause_ms(asked));
        watch->tries++;
        if (interrupt_seen())
            return WATCH_DETACHED;
    }
}

WatchEnd watch_quietly(Watch *watch, const char *id, Doc **out_job)
{
    return until_news(watch, id, NEWS_FINAL, 0, out_job);
}

/* Where one stream goes; `skip` bytes were printed before the connection was lost. */
typedef struct Sink {
    int fd;
    uint64_t seen;
    uint64_t skip;
    int error; /* errno of a write that failed */
} Sink;

static void write_all(Sink *sink, Slice bytes)
{
    while (bytes.bytes && !sink->error) {
        ssize_t written = write(sink->fd, bytes.data, bytes.bytes);
        if (written >= 0)
            bytes = slice_from(bytes, (size_t)written);
        else if (errno == EAGAIN)
            poll(&(struct pollfd){ .fd = sink->fd, .events = POLLOUT }, 1, -1);
        else if (errno != EINTR)
            sink->error = errno;
    }
}

static void take(void *context, Slice bytes)
{
    Sink *sink = context;
    size_t known = sink->skip < bytes.bytes ? (size_t)sink->skip : bytes.bytes;
    sink->skip -= known;
    bytes = slice_from(bytes, known);
    sink->seen += bytes.bytes;
    write_all(sink, bytes);
}

static void log_path(Buf *path, const char *id, const char *stream, int64_t attempt)
{
    cli_job_path(path, id, "/log");
    url_query(path, "stream", slice_text(stream));
    if (attempt > 0) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)attempt);
        url_query(path, "attempt", slice_text(number));
    }
}

typedef struct Copy {
    Tail tails[2];
    Sink sinks[2];
    Buf paths[2];
    size_t count;
} Copy;

static void add_stream(Copy *copy, int fd, Buf path)
{
    size_t at = copy->count++;
    copy->paths[at] = path;
    copy->sinks[at] = (Sink){ .fd = fd };
    copy->tails[at] = (Tail){ .path = buf_cstr(&copy->paths[at]),
                              .take = take,
                              .context = &copy->sinks[at] };
}

static void copy_init(Copy *copy, const Watch *watch, const char *id, int64_t attempt,
                      bool follow)
{
    static const char *const names[] = { "stdout", "stderr" };
    bool wanted[] = { watch->wants_stdout, watch->wants_stderr };
    *copy = (Copy){ 0 };
    for (size_t i = 0; i < 2; i++) {
        if (!wanted[i])
            continue;
        Buf path = { 0 };
        log_path(&path, id, names[i], attempt);
        if (follow)
            url_query(&path, "follow", SLICE_LITERAL("1"));
        bool both = wanted[0] && wanted[1];
        add_stream(copy, both && i == 1 ? STDERR_FILENO : STDOUT_FILENO, path);
    }
}

static void copy_done(Copy *copy)
{
    for (size_t i = 0; i < copy->count; i++) {
        buf_done(&copy->paths[i]);
        buf_done(&copy->tails[i].problem);
    }
}

/* Before another try: what was printed is not printed again. */
static void copy_rewind(Copy *copy)
{
    for (size_t i = 0; i < copy->count; i++) {
        copy->sinks[i].skip = copy->sinks[i].seen;
        buf_clear(&copy->tails[i].problem);
        copy->tails[i].status = 0;
    }
}

static const Tail *refused(const Copy *copy)
{
    for (size_t i = 0; i < copy->count; i++)
        if (copy->tails[i].status != 200)
            return &copy->tails[i];
    return NULL;
}

static WatchEnd copy_end(Watch *watch, const Copy *copy)
{
    for (size_t i = 0; i < copy->count; i++) {
        errno = copy->sinks[i].error;
        if (errno)
            return failed(watch,
                          cli_fail(watch->cli, (Fault){ CLI_FAILED, "io", NULL },
                                   "cannot write the output: %s", strerror(errno)));
    }
    const Tail *tail = refused(copy);
    if (!tail)
        return WATCH_ENDED;
    Response response = { .status = tail->status, .body = tail->problem };
    return failed(watch, cli_fail_response(watch->cli, &response));
}

/* Copies one attempt from where `seen` says it was left, and keeps count in it. */
static WatchEnd copy_on(Watch *watch, const char *id, int64_t attempt, bool follow,
                        uint64_t seen[2])
{
    Copy copy;
    Error why;
    Err err;
    copy_init(&copy, watch, id, attempt, follow);
    for (size_t i = 0; i < copy.count; i++)
        copy.sinks[i].skip = copy.sinks[i].seen = seen[i];
    fflush(stdout);
    while ((err = client_follow(&watch->cli->client, copy.tails, copy.count, &why)) ||
           (refused(&copy) && refused(&copy)->status == 503)) {
        if (!try_again(watch, err))
            break;
        copy_rewind(&copy);
    }
    WatchEnd end = err ? gave_up(watch, err, &why) : copy_end(watch, &copy);
    if (end == WATCH_ENDED)
        watch->lost_since = 0;
    for (size_t i = 0; i < copy.count; i++)
        seen[i] = copy.sinks[i].seen;
    copy_done(&copy);
    return end;
}

WatchEnd watch_copy(Watch *watch, const char *id, int64_t attempt, bool follow)
{
    uint64_t seen[2] = { 0 };
    return copy_on(watch, id, attempt, follow, seen);
}

/* Copies an attempt to its very end. A stream also ends when the daemon leaves or the
 * job closes its output: then the rest is fetched once the attempt is over. */
static WatchEnd copy_attempt(Watch *watch, const char *id, int64_t attempt)
{
    uint64_t seen[2] = { 0 };
    Doc *job = NULL;
    int64_t tries = watch->tries;
    WatchEnd end = copy_on(watch, id, attempt, true, seen);
    if (end == WATCH_ENDED)
        end = until_news(watch, id, NEWS_OVER, attempt, &job);
    if (end != WATCH_ENDED)
        return end;
    doc_free(job);
    return watch->tries == tries ? WATCH_ENDED : copy_on(watch, id, attempt, false, seen);
}

WatchEnd watch_output(Watch *watch, const char *id, int64_t attempt, Doc **out_job)
{
    for (int64_t copied = attempt - 1;;) {
        Doc *job = NULL;
        WatchEnd end = until_news(watch, id, NEWS_BEGUN, copied, &job);
        if (end != WATCH_ENDED)
            return end;
        if (doc_int(job, "attempt", 0) <= copied) {
            *out_job = job;
            return WATCH_ENDED;
        }
        doc_free(job);
        end = copy_attempt(watch, id, ++copied);
        if (end != WATCH_ENDED)
            return end;
    }
}
