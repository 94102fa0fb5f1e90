/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - see context.h: the life of a warm context, from its first batch to its
 * end. What goes in and comes out is in context_io.c. */
#include "run/context/context.h"
#include "run/context/context_io.h"
#include "run/news.h"
#include "run/process/attempt.h"

#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS_MAX    64
#define LOOK_MS       100   /* at what a job prints while it runs */
#define RETIRE_MS     10000 /* for a context to leave by itself */
#define CONTEXTS_IDLE 64    /* more idle ones than this leave at once */
#define PIPE_BYTES    (1 << 20)

void contexts_init(Runner *runner, const RunnerOptions *options)
{
    runner->context_epoll = epoll_create1(EPOLL_CLOEXEC);
    /* No id of an earlier daemon, whose contexts may not be dead yet. */
    runner->context_count = (uint64_t)clock_now().wall_ms << 16;
    runner->context_jobs =
        options->context_jobs ? options->context_jobs : CONTEXT_JOBS_DEFAULT;
    runner->context_idle_ms =
        options->context_idle_ms ? options->context_idle_ms : CONTEXT_IDLE_MS_DEFAULT;
    runner->context_age_ms =
        options->context_age_ms ? options->context_age_ms : CONTEXT_AGE_MS_DEFAULT;
}

static Context *find(const Runner *runner, JobId id)
{
    Context *context = runner->contexts;
    while (context && context->id != id)
        context = context->next;
    return context;
}

/* --- Its end ----------------------------------------------------------------------- */

static void close_all(Runner *runner, Context *context)
{
    int fds[] = { context->in_w, context->reply_r, context->out[OUTPUT_OUT],
                  context->out[OUTPUT_ERR] };
    if (context->writes)
        epoll_ctl(runner->context_epoll, EPOLL_CTL_DEL, context->in_w, NULL);
    if (context->reply_r >= 0)
        epoll_ctl(runner->context_epoll, EPOLL_CTL_DEL, context->reply_r, NULL);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static void context_free(Runner *runner, Context *context)
{
    Context **at = &runner->contexts;
    while (*at != context)
        at = &(*at)->next;
    *at = context->next;
    close_all(runner, context);
    for (size_t i = context->first; i < context->count; i++) {
        buf_done(&context->jobs[i].children);
        line_note_done(&context->jobs[i].refused);
    }
    mem_free(context->jobs);
    reply_done(&context->replies);
    buf_done(&context->input);
    buf_done(&context->handlers);
    buf_done(&context->key);
    buf_done(&context->said);
    line_done(&context->lines);
    mem_free(context);
}

static void drop(Runner *runner, Context *context)
{
    folders_drop(&runner->folders, context->id, 0);
    if (runner->client)
        launch_forget(runner->client, context->id, 0);
    context_free(runner, context);
}

/* Whom the end of a context is held against: the job whose end was asked for, else the
 * one that ran. */
static JobId charged_job(const Context *context)
{
    if (context->stopped)
        return context->stopped;
    const ContextJob *first = context_first(context);
    return first ? first->id : 0;
}

/* Every job in hand ends: the one that is charged as `kind`, the others are given back.
 * Without a charged one all end as `kind`. */
static void end_jobs(Runner *runner, Context *context, JobId charged,
                     const RunAnswer *how, Slice text)
{
    while (context->in_hand) {
        ContextJob *job = context_first(context);
        bool own = !charged || job->id == charged;
        RunAnswer *answer =
            news_answer(runner, job->id, job->attempt, own ? how->kind : ANSWER_UNGOT);
        answer->progress = job->progress;
        if (own) {
            answer->exit_status = how->exit_status;
            answer->signal = how->signal;
            answer->node_fault = how->node_fault;
            news_answer_text(runner, answer, text);
        }
        context_job_over(runner, context, job);
    }
}

static void end_by(Runner *runner, Context *context, int signal_number)
{
    if (runner->client)
        launch_signal(runner->client, context->id, 0, signal_number);
    context->phase = CONTEXT_ENDING;
}

/* It gets no more jobs and leaves when it has answered those in hand. */
static void retire(Runner *runner, Context *context)
{
    if (context->phase == CONTEXT_ENDING || context->phase == CONTEXT_RETIRING)
        return;
    context->phase = CONTEXT_RETIRING;
    context->kill_ms = 0;
    context_write(runner, context);
}

/* --- Its birth --------------------------------------------------------------------- */

typedef struct ContextFds {
    int in[2];
    int reply[2];
    int out[OUTPUT_STREAMS];
} ContextFds;

static int text_file(void)
{
    int fd = memfd_create("pawl-context", MFD_CLOEXEC);
    if (fd >= 0)
        fcntl(fd, F_SETFL, O_APPEND);
    return fd;
}

static void fds_close(const ContextFds *fds)
{
    int all[] = { fds->in[0],    fds->in[1],  fds->reply[0],
                  fds->reply[1], fds->out[0], fds->out[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] >= 0)
            close(all[i]);
}

static bool fds_open(ContextFds *fds)
{
    *fds = (ContextFds){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
    bool done =
        pipe2(fds->in, O_CLOEXEC) == 0 && pipe2(fds->reply, O_CLOEXEC) == 0 &&
        fchmod(fds->reply[1], 0622) == 0; /* Lua opens it by name, as any account */
    for (int i = 0; done && i < OUTPUT_STREAMS; i++)
        done = (fds->out[i] = text_file()) >= 0;
    if (!done) {
        int error_number = errno;
        fds_close(fds);
        errno = error_number;
        return false;
    }
    /* As large as they may be: fewer turns between the two. */
    fcntl(fds->in[1], F_SETPIPE_SZ, PIPE_BYTES);
    fcntl(fds->reply[1], F_SETPIPE_SZ, PIPE_BYTES);
    fcntl(fds->in[1], F_SETFL, O_NONBLOCK);
    fcntl(fds->reply[0], F_SETFL, O_NONBLOCK);
    return true;
}

static bool hand_over(Runner *runner, Context *context, const Prepared *prepared,
                      const ContextFds *fds)
{
    Error why = { 0 };
    LaunchStart start = { .id = context->id,
                          .tenant = prepared->user.data,
                          .user = prepared_account(prepared),
                          .mark = prepared->token,
                          .argv = buf_slice(&prepared->argv),
                          .env = buf_slice(&prepared->env),
                          .cwd = prepared->cwd.data,
                          .mask = runner->base.mask,
                          .stdin_fd = fds->in[0],
                          .out_w = fcntl(fds->out[0], F_DUPFD_CLOEXEC, 3),
                          .err_w = fcntl(fds->out[1], F_DUPFD_CLOEXEC, 3),
                          .out_r = fds->out[0],
                          .err_r = fds->out[1],
                          .has_reply = true,
                          .reply_w = fds->reply[1],
                          .deadline_boot = runner->lease_boot };
    return !launch_start(runner->client, &start, &why);
}

static Context *context_new(Runner *runner, const RunBatch *batch)
{
    Context *context = MEM_NEW(Context);
    context->id = CONTEXT_ID_BIT | ++runner->context_count;
    buf_add_slice(&context->key, batch->key);
    context->in_order = batch->in_order;
    context->whole = batch->whole;
    context->lines.result_bytes_max = runner->result_bytes_max;
    context->in_w = context->reply_r = -1;
    context->out[0] = context->out[1] = -1;
    context->replies.result_bytes_max =
        runner->result_bytes_max ? runner->result_bytes_max : RESULT_BYTES_MAX;
    context->born_ms = context->idle_ms = clock_now().boot_ms;
    context->seen = true;
    context->next = runner->contexts;
    runner->contexts = context;
    return context;
}

/* A new context, or NULL with errno. */
static Context *context_start(Runner *runner, const RunBatch *batch)
{
    ContextFds fds;
    if (!launch_has_reply(runner->client)) {
        errno = EPROTONOSUPPORT; /* a launcher of an older version */
        return NULL;
    }
    if (!fds_open(&fds))
        return NULL;
    Context *context = context_new(runner, batch);
    Prepared prepared;
    prepare_context(&runner->base, batch, context->id, &prepared);
    memcpy(context->token, prepared.token, sizeof context->token);
    FolderWant want = { .id = context->id,
                        .document = SLICE_LITERAL("{}\n"),
                        .owner = prepared.owner };
    bool made = !folders_make(&runner->folders, &want);
    if (!made)
        fds_close(&fds);
    context->in_w = made ? fds.in[1] : -1;
    context->reply_r = made ? fds.reply[0] : -1;
    context->out[0] = made ? fds.out[0] : -1;
    context->out[1] = made ? fds.out[1] : -1;
    if (made && !hand_over(runner, context, &prepared, &fds)) {
        made = false;
        errno = E2BIG;
    }
    prepared_done(&prepared);
    if (!made) {
        int error_number = errno;
        context_free(runner, context);
        errno = error_number;
        return NULL;
    }
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = context };
    epoll_ctl(runner->context_epoll, EPOLL_CTL_ADD, context->reply_r, &event);
    return context;
}

/* --- Batches ----------------------------------------------------------------------- */

static bool usable(const Context *context, Slice key)
{
    return (context->phase == CONTEXT_STARTING || context->phase == CONTEXT_RUNNING) &&
           slice_equal(buf_slice(&context->key), key);
}

static bool worn(const Runner *runner, const Context *context)
{
    return context->given >= runner->context_jobs ||
           clock_now().boot_ms - context->born_ms >= runner->context_age_ms;
}

/* The context of the slot, or an idle one. */
static Context *choose(Runner *runner, const RunBatch *batch)
{
    Context *idle = NULL;
    for (Context *context = runner->contexts; context; context = context->next) {
        if (!usable(context, batch->key))
            continue;
        if (worn(runner, context)) {
            retire(runner, context);
            continue;
        }
        if (context->slot == batch->slot)
            return context;
        if (!context->slot && !idle)
            idle = context;
    }
    return idle;
}

static bool knows(const Context *context, Slice handler)
{
    Slice rest = buf_slice(&context->handlers);
    for (Slice item; list_next(&rest, &item);)
        if (slice_equal(item, handler))
            return true;
    return false;
}

static void keep_job(Context *context, const RunItem *item)
{
    if (context->count == context->capacity && context->first) {
        context->count -= context->first;
        memmove(context->jobs, context->jobs + context->first,
                context->count * sizeof *context->jobs);
        context->first = 0;
    }
    MEM_PUSH(context->jobs, context->count, context->capacity) = (ContextJob){
        .id = item->id,
        .attempt = item->attempt,
        .timed = item->timed,
        .children_now = item->children_now,
        .progress = -1,
    };
    context->in_hand++;
}

static void fail_jobs(Runner *runner, const RunItem *items, size_t count,
                      int error_number)
{
    Buf text = { 0 };
    buf_printf(&text, "cannot start its context: %s", strerror(error_number));
    for (size_t i = 0; i < count; i++) {
        RunAnswer *answer =
            news_answer(runner, items[i].id, items[i].attempt, ANSWER_FAILED);
        answer->node_fault = news_node_fault(LAUNCH_STEP_PREPARE, error_number);
        news_answer_text(runner, answer, buf_slice(&text));
    }
    buf_done(&text);
}

/* As many of the first items as this context may still serve. Returns how many. */
static size_t fill(Runner *runner, Context *context, const RunBatch *batch, size_t from,
                   size_t *inout_line)
{
    uint64_t room = runner->context_jobs - context->given;
    size_t count = batch->count - from;
    if (count > room && !batch->whole)
        count = (size_t)room;
    if (batch->handler.bytes && !knows(context, batch->handler)) {
        buf_add_slice(&context->input, batch->define);
        buf_add_slice(&context->handlers, batch->handler);
        buf_add_char(&context->handlers, '\0');
    }
    size_t line_bytes = 0;
    for (size_t i = from; i < from + count; i++) {
        keep_job(context, &batch->items[i]);
        line_bytes += batch->items[i].line_bytes;
    }
    buf_add(&context->input, batch->lines.data + *inout_line, line_bytes);
    *inout_line += line_bytes;
    if (!context->slot)
        context->busy_us = context_clock_us();
    context->slot = batch->slot;
    context->idle_ms = 0;
    context->given += count;
    return count;
}

void context_give(Runner *runner, const RunBatch *batch)
{
    size_t line = 0;
    for (size_t done = 0; done < batch->count;) {
        Context *context = batch->whole ? NULL : choose(runner, batch);
        if (!context)
            context = context_start(runner, batch);
        if (!context) {
            fail_jobs(runner, batch->items + done, batch->count - done, errno);
            return;
        }
        done += fill(runner, context, batch, done, &line);
        if (context->phase == CONTEXT_RUNNING)
            context_tell_started(runner, context);
        context_write(runner, context);
        if (context->whole || context->given >= runner->context_jobs)
            retire(runner, context);
    }
}

bool context_signal(Runner *runner, JobId id, uint32_t attempt, int signal_number)
{
    for (Context *context = runner->contexts; context; context = context->next) {
        const ContextJob *job = context_job(context, id);
        if (!job || job->attempt != attempt)
            continue;
        if (signal_number != SIGTERM && signal_number != SIGKILL)
            return true; /* others run in it too: it is not paused */
        if (!context->stopped)
            context->stopped = id;
        end_by(runner, context, signal_number);
        return true;
    }
    return false;
}

/* --- Descriptors and times ---------------------------------------------------------- */

static void not_protocol(Runner *runner, Context *context)
{
    RunAnswer how = { .kind = ANSWER_CRASHED, .exit_status = -1 };
    end_jobs(runner, context, charged_job(context), &how,
             SLICE_LITERAL("its context answered with something longer than any answer"));
    end_by(runner, context, SIGKILL);
}

void contexts_ready(Runner *runner)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(runner->context_epoll, events, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++) {
        Context *context = events[i].data.ptr;
        if (events[i].events & EPOLLOUT)
            context_write(runner, context);
        if ((events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) == 0)
            continue;
        if (!context_read(runner, context))
            not_protocol(runner, context);
        if (!(events[i].events & EPOLLIN) && context->reply_r >= 0) {
            epoll_ctl(runner->context_epoll, EPOLL_CTL_DEL, context->reply_r, NULL);
            close(context->reply_r);
            context->reply_r = -1;
        }
    }
}

int64_t contexts_due(const Runner *runner)
{
    int64_t due_ms = 0;
    int64_t now_ms = runner->contexts ? clock_now().boot_ms : 0;
    for (const Context *context = runner->contexts; context; context = context->next) {
        int64_t next_ms = context->in_hand   ? now_ms + LOOK_MS
                          : context->kill_ms ? context->kill_ms
                                             : context->idle_ms + runner->context_idle_ms;
        if (!due_ms || next_ms < due_ms)
            due_ms = next_ms;
    }
    return due_ms;
}

static void look_at(Runner *runner, Context *context, int64_t now_ms, size_t *idle_count)
{
    if (context->in_hand) {
        context_look(runner, context);
        return;
    }
    if (context->phase == CONTEXT_RETIRING || context->phase == CONTEXT_ENDING) {
        if (!context->kill_ms)
            context->kill_ms = now_ms + RETIRE_MS;
        if (now_ms >= context->kill_ms) {
            end_by(runner, context, SIGKILL);
            context->kill_ms = now_ms + RETIRE_MS;
        }
        return;
    }
    if (now_ms - context->idle_ms >= runner->context_idle_ms ||
        ++*idle_count > CONTEXTS_IDLE)
        retire(runner, context);
}

void contexts_tick(Runner *runner)
{
    if (!runner->contexts)
        return;
    int64_t now_ms = clock_now().boot_ms;
    size_t idle_count = 0;
    for (Context *context = runner->contexts; context; context = context->next)
        look_at(runner, context, now_ms, &idle_count);
}

/* --- The launcher's word ------------------------------------------------------------ */

void context_started(Runner *runner, const LaunchMessage *message)
{
    Context *context = find(runner, (JobId)message->id);
    if (!context || context->phase != CONTEXT_STARTING)
        return;
    context->phase = CONTEXT_RUNNING;
    context->pid = message->pid;
    context->busy_us = context_clock_us();
    context_tell_started(runner, context);
}

/* Its jobs cannot wait for ever, and their time has not begun: this try is charged. */
void context_slow(Runner *runner, const LaunchMessage *message)
{
    Context *context = find(runner, (JobId)message->id);
    if (!context || context->phase != CONTEXT_STARTING)
        return;
    static const char text[] =
        "cannot start its context: its program, working directory or account hangs";
    RunAnswer how = { .kind = ANSWER_FAILED, .exit_status = -1 };
    log_event(LOG_ERROR, "context.hangs", "pid=%d msg=\"it is killed\"", message->pid);
    launch_signal(runner->client, context->id, 0, SIGKILL);
    end_jobs(runner, context, 0, &how, slice_text(text));
    drop(runner, context);
}

void context_failed(Runner *runner, const LaunchMessage *message)
{
    Context *context = find(runner, (JobId)message->id);
    if (!context)
        return;
    Buf text = { 0 };
    LaunchStep step = (LaunchStep)message->step;
    RunAnswer how = { .kind = ANSWER_FAILED,
                      .exit_status = -1,
                      .node_fault = news_node_fault(step, message->number) };
    buf_printf(&text, "cannot start its context: %s: %s", launch_step_text(step),
               strerror(message->number));
    end_jobs(runner, context, 0, &how, buf_slice(&text));
    buf_done(&text);
    drop(runner, context);
}

/* Through no fault of any of its jobs. */
static void lost(Runner *runner, Context *context, const char *why)
{
    RunAnswer how = { .kind = ANSWER_LOST, .exit_status = -1 };
    context_log(runner, context);
    end_jobs(runner, context, 0, &how, slice_text(why));
}

static void crashed(Runner *runner, Context *context, const LaunchMessage *message)
{
    Buf text = { 0 };
    RunAnswer how = { .kind = ANSWER_CRASHED, .exit_status = -1 };
    if (WIFEXITED(message->status)) {
        how.exit_status = WEXITSTATUS(message->status);
        buf_printf(&text, "its context ended with exit status %d before it answered",
                   how.exit_status);
    } else {
        how.signal = WTERMSIG(message->status);
        buf_printf(&text, "its context was ended by signal %d before it answered",
                   how.signal);
    }
    context_log(runner, context);
    if (context->whole && !context->stopped)
        context_whole_over(runner, context, &how);
    else
        end_jobs(runner, context, charged_job(context), &how, buf_slice(&text));
    buf_done(&text);
}

void context_exited(Runner *runner, const LaunchMessage *message)
{
    Context *context = find(runner, (JobId)message->id);
    if (!context) { /* of the daemon before */
        if (runner->contexts_dying)
            runner->contexts_dying--;
        launch_forget(runner->client, (JobId)message->id, 0);
        return;
    }
    if (context->reply_r >= 0 && !context_read(runner, context))
        not_protocol(runner, context);
    if (attempt_ended_by_lease(message))
        lost(runner, context, "the lease of its node was over");
    else
        crashed(runner, context, message);
    drop(runner, context);
}

void contexts_lease(Runner *runner, int64_t boot_ms)
{
    runner->lease_boot = boot_ms;
    for (const Context *context = runner->contexts; context && runner->client;
         context = context->next)
        launch_deadline(runner->client, context->id, 0, boot_ms);
}

void context_item(Runner *runner, const LaunchMessage *message)
{
    Context *context = find(runner, (JobId)message->id);
    if (context) {
        context->seen = true;
        if (message->state == LAUNCH_IS_EXITED)
            context_exited(runner, message);
        else if (message->state == LAUNCH_IS_FAILED)
            context_failed(runner, message);
        else
            context_started(runner, message);
        return;
    }
    if (message->state != LAUNCH_IS_RUNNING) {
        launch_forget(runner->client, (JobId)message->id, 0);
        return;
    }
    runner->contexts_dying++;
    launch_signal(runner->client, (JobId)message->id, 0, SIGKILL);
}

void contexts_list_begin(Runner *runner)
{
    runner->contexts_dying = 0;
    for (Context *context = runner->contexts; context; context = context->next)
        context->seen = false;
}

void contexts_list_end(Runner *runner)
{
    for (Context *context = runner->contexts; context;) {
        Context *next = context->next;
        if (!context->seen) {
            lost(runner, context, "its warm context was lost together with its launcher");
            drop(runner, context);
        }
        context = next;
    }
}

/* The daemon goes: so do they, and their jobs are run again by the next one. */
void contexts_done(Runner *runner)
{
    while (runner->contexts) {
        Context *context = runner->contexts;
        if (runner->client) {
            launch_signal(runner->client, context->id, 0, SIGKILL);
            launch_forget(runner->client, context->id, 0);
        }
        folders_drop(&runner->folders, context->id, 0);
        context_free(runner, context);
    }
    if (runner->answers)
        run_news_free(runner->answers);
    runner->answers = NULL;
}
