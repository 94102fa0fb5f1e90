/* SPDX-License-Identifier: Apache-2.0 */
/* context_io.c - see context_io.h.
 *
 * Printed text is read out of the context's memory files up to where an O: line says
 * that a job's part ends, or, without one, up to what is there when its answer is read.
 * What was read gives its memory back. */
#include "run/context/context_io.h"
#include "run/news.h"

#include "base/log.h"
#include "base/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES   (256 << 10)
#define PUNCH_BYTES  (64 << 10) /* whole pages, and not for every line */
#define LOG_COPY_MAX (1 << 20)
#define ERROR_MAX    4096 /* of an answer's text as the job's error */

static void watch_room(Runner *runner, Context *context, bool want)
{
    struct epoll_event event = { .events = EPOLLOUT, .data.ptr = context };
    if (want == context->writes || context->in_w < 0)
        return;
    context->writes = want;
    epoll_ctl(runner->context_epoll, want ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, context->in_w,
              &event);
}

void context_write(Runner *runner, Context *context)
{
    while (context->in_w >= 0 && context->input_at < context->input.bytes) {
        ssize_t put = write(context->in_w, context->input.data + context->input_at,
                            context->input.bytes - context->input_at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EAGAIN) {
            watch_room(runner, context, true);
            return;
        }
        if (put < 0)
            break; /* it has closed its input: its end tells */
        context->input_at += (size_t)put;
    }
    buf_clear(&context->input);
    context->input_at = 0;
    watch_room(runner, context, false);
    if (context->phase != CONTEXT_RETIRING || context->in_w < 0)
        return;
    close(context->in_w);
    context->in_w = -1;
}

ContextJob *context_first(const Context *context)
{
    return context->first < context->count ? &context->jobs[context->first] : NULL;
}

/* Most answers are for the first one: this looks from there. */
ContextJob *context_job(const Context *context, JobId id)
{
    for (size_t i = context->first; i < context->count; i++)
        if (context->jobs[i].id == id && !context->jobs[i].done)
            return &context->jobs[i];
    return NULL;
}

void context_tell_started(Runner *runner, Context *context)
{
    for (size_t i = context->first; i < context->count; i++) {
        ContextJob *job = &context->jobs[i];
        if (job->timed && !job->done) {
            RunNews *news = news_new(RUN_STARTED, NULL);
            news->id = job->id;
            news->attempt = job->attempt;
            news->pid = context->pid;
            news_put(runner, news);
            job->timed = false; /* told once */
        }
        if (context->in_order)
            return;
    }
}

void context_job_over(Runner *runner, Context *context, ContextJob *job)
{
    buf_done(&job->children);
    line_note_done(&job->refused);
    job->done = true;
    if (context->in_order) { /* the next one begins a line of its own */
        line_done(&context->lines);
        context->said_code = 0;
    }
    context->in_hand--;
    while (context->first < context->count && context->jobs[context->first].done)
        context->first++;
    if (context->first == context->count)
        context->first = context->count = 0;
    if (!context->in_hand) {
        context->slot = 0;
        context->idle_ms = clock_now().boot_ms;
        return;
    }
    context_tell_started(runner, context);
}

/* --- Jobs that a job adds ----------------------------------------------------------- */

static void take_child(Runner *runner, ContextJob *job, const Reply *reply)
{
    if (reply->kind == REPLY_CHILD && !job->children_now) {
        pack_bytes(&job->children, RUN_CHILD_TYPE, reply->type);
        pack_bytes(&job->children, RUN_CHILD_PAYLOAD, reply->text);
        job->child_count++;
        return;
    }
    RunAttempt attempt = { .id = job->id, .attempt = job->attempt };
    news_child(runner, &attempt, ++job->now_count, reply->type, reply->text);
}

static void give_children(Runner *runner, RunAnswer *answer, const ContextJob *job)
{
    Buf *children = &runner->answers->children;
    Buf *notes = &runner->answers->message;
    answer->refused = job->refused.count;
    answer->note_at = notes->bytes;
    answer->note_bytes = job->refused.first.bytes;
    buf_add_slice(notes, buf_slice(&job->refused.first));
    if (!job->child_count)
        return;
    answer->children_at = children->bytes;
    answer->children_bytes = job->children.bytes;
    answer->child_count = job->child_count;
    buf_add_slice(children, buf_slice(&job->children));
}

/* --- Lines of the output ------------------------------------------------------------ */

static void take_progress(Runner *runner, ContextJob *job, const Reply *reply)
{
    int64_t now_ms = clock_now().boot_ms;
    job->progress = reply->number;
    if (job->progress_told_ms && now_ms - job->progress_told_ms < RUNNER_PROGRESS_MS)
        return;
    job->progress_told_ms = now_ms;
    RunNews *news = news_new(RUN_PROGRESS, NULL);
    news->id = job->id;
    news->attempt = job->attempt;
    news->number = reply->number;
    buf_add_slice(&news->text, reply->text);
    news_put(runner, news);
}

/* Of a whole batch J: lines are of the first job, and an R: line speaks for all. */
static void take_line(Runner *runner, Context *context, const LineEvent *event)
{
    ContextJob *first = context_first(context);
    Reply reply = { .kind = REPLY_CHILD,
                    .type = event->type,
                    .text = event->payload,
                    .number = event->number };
    switch (event->kind) {
    case LINE_CHILD_NOW:
        reply.kind = REPLY_CHILD_NOW;
        take_child(runner, first, &reply);
        break;
    case LINE_CHILD:
        take_child(runner, first, &reply);
        break;
    case LINE_RESULT:
        context->said_code = event->number;
        context->said_cut = event->cut;
        buf_clear(&context->said);
        buf_add_slice(&context->said, event->payload);
        break;
    case LINE_PROGRESS:
        if (!context->whole) /* else of which of them? */
            take_progress(runner, first, &reply);
        break;
    case LINE_REFUSED:
        line_note_add(&first->refused, event);
        break;
    }
}

static void read_lines(Runner *runner, Context *context, Slice bytes)
{
    LineEvent event;
    while (context_first(context) && line_next(&context->lines, &bytes, &event))
        take_line(runner, context, &event);
}

/* A last line needs no newline. */
static void end_lines(Runner *runner, Context *context)
{
    LineEvent event;
    while (context_first(context) && line_end(&context->lines, &event))
        take_line(runner, context, &event);
}

void context_whole_over(Runner *runner, Context *context, const RunAnswer *how)
{
    end_lines(runner, context);
    while (context->in_hand) {
        ContextJob *job = context_first(context);
        RunAnswer *answer = news_answer(runner, job->id, job->attempt, ANSWER_EXITED);
        answer->exit_status = how->exit_status;
        answer->signal = how->signal;
        answer->code = context->said_code;
        answer->cut = context->said_cut;
        news_answer_text(runner, answer, buf_slice(&context->said));
        give_children(runner, answer, job);
        context_job_over(runner, context, job);
    }
}

/* --- What is printed --------------------------------------------------------------- */

static void log_stream(Runner *runner, Context *context, ContextJob *job, int stream,
                       int64_t end)
{
    int64_t *read = &context->read[stream];
    if (end <= *read)
        return;
    OutputName name = { runner->base.data_dir, job->id, job->attempt,
                        (OutputStream)stream };
    Spool spool;
    spool_init(&spool, &name, runner->output_bytes_max, !job->logged[stream]);
    bool speaks = stream == OUTPUT_OUT && (context->whole || context->in_order);
    if (!speaks && end - *read > spool.cap) { /* only the tail would be kept */
        spool.total += end - spool.cap - *read;
        *read = end - spool.cap;
    }
    while (*read < end) {
        size_t part =
            end - *read < LOG_COPY_MAX ? (size_t)(end - *read) : (size_t)LOG_COPY_MAX;
        buf_clear(&runner->scratch);
        ssize_t got =
            pread(context->out[stream], buf_room(&runner->scratch, part), part, *read);
        if (got <= 0)
            break;
        Slice bytes = slice_of(runner->scratch.data, (size_t)got);
        spool_put(&spool, bytes);
        if (speaks)
            read_lines(runner, context, bytes);
        *read += got;
    }
    *read = end;
    job->logged[stream] = spool.total;
    spool_done(&spool);
}

static void give_back(const Context *context, int stream)
{
    int64_t end = context->read[stream] / PUNCH_BYTES * PUNCH_BYTES;
    if (end && context->read[stream] - end < PUNCH_BYTES)
        fallocate(context->out[stream], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  end);
}

static int64_t printed(const Context *context, int stream)
{
    struct stat file;
    return fstat(context->out[stream], &file) ? 0 : file.st_size;
}

static void log_up_to(Runner *runner, Context *context, ContextJob *job,
                      const int64_t ends[OUTPUT_STREAMS])
{
    for (int i = 0; i < OUTPUT_STREAMS; i++) {
        int64_t before = context->read[i];
        log_stream(runner, context, job, i, ends[i]);
        if (before / PUNCH_BYTES != context->read[i] / PUNCH_BYTES)
            give_back(context, i);
    }
}

void context_log(Runner *runner, Context *context)
{
    ContextJob *job = context_first(context);
    if (!job)
        return;
    int64_t ends[] = { printed(context, OUTPUT_OUT), printed(context, OUTPUT_ERR) };
    log_up_to(runner, context, job, ends);
}

/* A job that ends says so before the next one prints: what was there before all answers
 * were read, and is not theirs, is of the job that is first after it. */
void context_look(Runner *runner, Context *context)
{
    int64_t ends[] = { printed(context, OUTPUT_OUT), printed(context, OUTPUT_ERR) };
    if (ends[0] == context->read[0] && ends[1] == context->read[1])
        return;
    ContextJob *job = context_read(runner, context) ? context_first(context) : NULL;
    if (job)
        log_up_to(runner, context, job, ends);
}

/* Of a job whose answer has come. */
static void log_answered(Runner *runner, Context *context, ContextJob *job)
{
    if (job->has_ends)
        log_up_to(runner, context, job, job->ends);
    if (context->in_order) {
        end_lines(runner, context);
        return; /* no O: line: it printed nothing */
    }
    int64_t ends[] = { printed(context, OUTPUT_OUT), printed(context, OUTPUT_ERR) };
    log_up_to(runner, context, job, ends);
}

/* --- What is answered -------------------------------------------------------------- */

static void take_result(Runner *runner, Context *context, ContextJob *job,
                        const Reply *reply)
{
    log_answered(runner, context, job);
    RunAnswer *answer = news_answer(runner, job->id, job->attempt, ANSWER_SAID);
    answer->code = reply->number;
    answer->cut = reply->cut;
    answer->progress = job->progress;
    if (context->said_code && reply->number == 200 && !reply->text.bytes) {
        answer->code = context->said_code; /* it returned nothing, but printed R: */
        answer->cut = context->said_cut;
        news_answer_text(runner, answer, buf_slice(&context->said));
    } else {
        news_answer_text(runner, answer, reply->text);
    }
    give_children(runner, answer, job);
    context_job_over(runner, context, job);
    context->answered++;
}

int64_t context_clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The time since the last answers is that of these, an equal part for each. */
static void share_time(Runner *runner, Context *context)
{
    int64_t now_us = context_clock_us();
    size_t count = context->answered;
    RunNews *news = runner->answers;
    for (size_t i = 0; i < count; i++)
        news->answers[news->answer_count - 1 - i].took_us =
            (now_us - context->busy_us) / (int64_t)count;
    if (count)
        context->busy_us = now_us;
    context->answered = 0;
}

static void bad_answer(Context *context, Slice line)
{
    char text[LOG_QUOTE_BYTES];
    if (context->told_bad)
        return;
    context->told_bad = true;
    log_event(LOG_WARN, "context.bad_answer", "pid=%d line=%s", (int)context->pid,
              log_quote(line, text));
}

static void take(Runner *runner, Context *context, const Reply *reply)
{
    ContextJob *job = reply->kind == REPLY_BAD ? NULL : context_job(context, reply->id);
    if (!job) {
        bad_answer(context, reply->kind == REPLY_BAD
                                ? reply->text
                                : SLICE_LITERAL("(of a job that it does not have)"));
        return;
    }
    switch (reply->kind) {
    case REPLY_RESULT:
        take_result(runner, context, job, reply);
        break;
    case REPLY_CHILD:
    case REPLY_CHILD_NOW:
        take_child(runner, job, reply);
        break;
    case REPLY_PROGRESS:
        take_progress(runner, job, reply);
        break;
    case REPLY_OUTPUT:
        job->has_ends = true;
        job->ends[OUTPUT_OUT] = reply->ends[OUTPUT_OUT];
        job->ends[OUTPUT_ERR] = reply->ends[OUTPUT_ERR];
        break;
    case REPLY_BAD:
        break;
    }
}

bool context_read(Runner *runner, Context *context)
{
    for (;;) {
        char *room = reply_room(&context->replies, READ_BYTES);
        ssize_t got = read(context->reply_r, room, READ_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true; /* nothing more, or it has closed it: its end tells */
        reply_put(&context->replies, (size_t)got);
        Reply reply;
        while (reply_next(&context->replies, &reply))
            take(runner, context, &reply);
        share_time(runner, context);
        if (reply_over(&context->replies))
            return false;
        if (got < READ_BYTES)
            return true;
    }
}
