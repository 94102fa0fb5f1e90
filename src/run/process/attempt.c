/* SPDX-License-Identifier: Apache-2.0 */
/* attempt.c - see attempt.h: the life of an attempt, from the order to being forgotten.
 *
 * R1  an attempt becomes PHASE_OVER once, with the one news of its end.
 * R2  the launcher is asked to forget exactly what the loop has said is recorded. */
#include "run/process/attempt.h"
#include "run/context/context.h"
#include "run/news.h"
#include "run/process/stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

RunAttempt *attempt_find(const Runner *runner, JobId id, uint32_t number)
{
    RunAttempt *attempt = map_find(&runner->attempts, id);
    while (attempt && attempt->attempt != number)
        attempt = attempt->next;
    return attempt;
}

static RunAttempt *attempt_new(Runner *runner, JobId id, uint32_t number, uint32_t flags)
{
    RunAttempt *attempt = MEM_NEW(RunAttempt);
    char dir[FOLDER_PATH_BYTES];
    attempt->id = id;
    attempt->attempt = number;
    attempt->flags = flags;
    attempt->seen = true;
    folder_path(runner->base.data_dir, FOLDER_RUN, id, number, dir);
    attempt->dir = mem_copy(dir, strlen(dir) + 1);
    if (flags & JOB_PROTOCOL) {
        attempt->said = MEM_NEW(OutputLines);
        output_lines_init(attempt->said, attempt->dir, runner->result_bytes_max);
    }
    attempt->next = map_find(&runner->attempts, id);
    map_put(&runner->attempts, id, attempt);
    return attempt;
}

static void streams_open(Runner *runner, RunAttempt *attempt, const int fds[2],
                         bool fresh)
{
    for (int i = 0; i < OUTPUT_STREAMS; i++) {
        Stream *stream = &attempt->streams[i];
        OutputName name = { runner->base.data_dir, attempt->id, attempt->attempt,
                            (OutputStream)i };
        stream->attempt = attempt;
        stream->fd = fds[i];
        spool_init(&stream->spool, &name, runner->output_bytes_max, fresh);
    }
    streams_tick_soon(runner);
}

void attempt_free(RunAttempt *attempt)
{
    for (int i = 0; i < OUTPUT_STREAMS; i++) {
        if (attempt->streams[i].fd >= 0)
            close(attempt->streams[i].fd);
        spool_done(&attempt->streams[i].spool);
    }
    if (attempt->packet)
        launch_drop(attempt->packet);
    if (attempt->said)
        output_lines_done(attempt->said);
    mem_free(attempt->said);
    mem_free(attempt->dir);
    buf_done(&attempt->names);
    mem_free(attempt);
}

static void forget(Runner *runner, RunAttempt *attempt)
{
    RunAttempt *first = map_find(&runner->attempts, attempt->id);
    if (first == attempt) {
        if (attempt->next)
            map_put(&runner->attempts, attempt->id, attempt->next);
        else
            map_remove(&runner->attempts, attempt->id);
    } else {
        while (first->next != attempt)
            first = first->next;
        first->next = attempt->next;
    }
    folders_drop(&runner->folders, attempt->id, attempt->attempt);
    if (runner->client)
        launch_forget(runner->client, attempt->id, attempt->attempt);
    attempt_free(attempt);
}

void attempt_forget(Runner *runner, JobId id, uint32_t number)
{
    RunAttempt *attempt = attempt_find(runner, id, number);
    if (!attempt)
        return;
    attempt->forget = true;
    if (attempt->phase == PHASE_OVER)
        forget(runner, attempt);
}

static void set_hangs(Runner *runner, RunAttempt *attempt, bool hangs)
{
    atomic_fetch_add(&runner->hanging, (int)hangs - (int)attempt->hangs);
    attempt->hangs = hangs;
}

static void over(Runner *runner, RunAttempt *attempt, RunNews *news)
{
    assert(attempt->phase != PHASE_OVER);
    set_hangs(runner, attempt, false);
    attempt->phase = PHASE_OVER;
    news_put(runner, news);
    if (attempt->forget)
        forget(runner, attempt);
}

/* A file that no one can change, read from its start. Or -1 with errno. */
static int input_file(const Runner *runner, Slice input)
{
    if (!input.bytes)
        return fcntl(runner->null_fd, F_DUPFD_CLOEXEC, 3);
    int fd = memfd_create("pawl-payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    size_t done = 0;
    while (done < input.bytes) { /* pwrite: the job's reading begins at 0 */
        ssize_t put = pwrite(fd, input.data + done, input.bytes - done, (off_t)done);
        if (put <= 0) {
            close(fd);
            errno = put < 0 ? errno : ENOMEM;
            return -1;
        }
        done += (size_t)put;
    }
    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    return fd;
}

typedef struct Pipes {
    int input;
    int out[2];
    int err[2];
} Pipes;

static bool pipes_open(const Runner *runner, Slice input, Pipes *out)
{
    Pipes pipes = { -1, { -1, -1 }, { -1, -1 } };
    pipes.input = input_file(runner, input);
    if (pipes.input >= 0 && pipe2(pipes.out, O_CLOEXEC) == 0 &&
        pipe2(pipes.err, O_CLOEXEC) == 0) {
        *out = pipes;
        return true;
    }
    int error_number = errno;
    if (pipes.input >= 0)
        close(pipes.input);
    if (pipes.out[0] >= 0) {
        close(pipes.out[0]);
        close(pipes.out[1]);
    }
    errno = error_number;
    return false;
}

static void make_packet(Runner *runner, RunAttempt *attempt, const Prepared *prepared,
                        const Pipes *pipes)
{
    LaunchStart start = { .id = prepared->id,
                          .attempt = prepared->attempt,
                          .flags = prepared->flags,
                          .mark = prepared->token,
                          .argv = buf_slice(&prepared->argv),
                          .env = buf_slice(&prepared->env),
                          .cwd = prepared->cwd.data,
                          .tenant = prepared->user.data,
                          .user = prepared_account(prepared),
                          .mask = runner->base.mask,
                          .nice = prepared->nice,
                          .deadline_boot = prepared->lease_boot,
                          .limits = prepared->limits,
                          .limit_count = prepared->limit_count,
                          .stdin_fd = pipes->input,
                          .out_w = pipes->out[1],
                          .err_w = pipes->err[1],
                          .out_r = pipes->out[0],
                          .err_r = pipes->err[0] };
    Error why = { 0 };
    Err err = launch_prepare(runner->client, &start, &attempt->packet, &why);
    if (!err)
        return;
    RunNews *news = news_new(RUN_FAILED, attempt);
    if (err == ERR_UNSUPPORTED) /* the launcher is older than the daemon */
        news_failed(news, attempt, LAUNCH_STEP_USER, ENOSYS);
    else
        news_failed(news, attempt, LAUNCH_STEP_PREPARE,
                    err == ERR_LIMIT ? E2BIG : ENOMEM);
    over(runner, attempt, news);
}

void attempt_prepare(Runner *runner, Prepared *prepared)
{
    if (attempt_find(runner, prepared->id, prepared->attempt))
        return;
    RunAttempt *attempt =
        attempt_new(runner, prepared->id, prepared->attempt, prepared->flags);
    memcpy(attempt->token, prepared->token, sizeof attempt->token);
    Pipes pipes;
    Slice argv = buf_slice(&prepared->argv);
    Slice program = { 0 };
    list_next(&argv, &program);
    buf_add_slice(&attempt->names, program);
    buf_add_char(&attempt->names, '\0');
    buf_add_slice(&attempt->names, buf_slice(&prepared->cwd));
    if (prepared->user.bytes)
        buf_add_text(&attempt->names, prepared_account(prepared));
    buf_add_char(&attempt->names, '\0');
    FolderWant want = { prepared->id, prepared->attempt, prepared->flags,
                        buf_slice(&prepared->document), prepared->owner };
    Err err = folders_make(&runner->folders, &want);
    if (err || !pipes_open(runner, buf_slice(&prepared->input), &pipes)) {
        attempt->streams[0].fd = attempt->streams[1].fd = -1;
        attempt->streams[0].spool.fd = attempt->streams[1].spool.fd = -1;
        RunNews *news = news_new(RUN_FAILED, attempt);
        news_failed(news, attempt, LAUNCH_STEP_PREPARE, errno);
        over(runner, attempt, news);
        return;
    }
    int fds[] = { pipes.out[0], pipes.err[0] };
    streams_open(runner, attempt, fds, true);
    make_packet(runner, attempt, prepared, &pipes);
}

void attempt_go(Runner *runner, JobId id, uint32_t number)
{
    RunAttempt *attempt = attempt_find(runner, id, number);
    if (!attempt || attempt->phase != PHASE_PREPARED)
        return; /* it could not be prepared, which was told */
    attempt->phase = PHASE_STARTING;
    launch_go(runner->client, attempt->packet);
    attempt->packet = NULL;
}

static void started(Runner *runner, RunAttempt *attempt, const LaunchMessage *message)
{
    if (attempt->hangs) { /* what was said of it is over */
        set_hangs(runner, attempt, false);
        RunNews *told = news_new(RUN_PROGRESS, attempt);
        told->number = -1;
        news_put(runner, told);
    }
    if (attempt->phase != PHASE_STARTING)
        return;
    attempt->phase = PHASE_RUNNING;
    attempt->pid = message->pid;
    attempt->started_ms = message->started_wall_ms;
    buf_done(&attempt->names);
    news_put(runner, news_new(RUN_STARTED, attempt));
}

/* Its time was that of the node's lease, and others may run the job by now: that it was
 * ended is no fault of its own. What ended by itself just before has its own end. */
bool attempt_ended_by_lease(const LaunchMessage *message)
{
    return message->overdue && WIFSIGNALED(message->status) &&
           WTERMSIG(message->status) == SIGKILL;
}

static void ended(Runner *runner, RunAttempt *attempt, const LaunchMessage *message)
{
    stream_finish(runner, attempt);
    if (attempt_ended_by_lease(message)) {
        RunNews *lost = news_new(RUN_LOST, attempt);
        buf_add_text(&lost->text, "the lease of its node was over");
        over(runner, attempt, lost);
        return;
    }
    RunNews *news = news_new(RUN_ENDED, attempt);
    news_ended(runner, news, attempt, message);
    over(runner, attempt, news);
}

static void failed(Runner *runner, RunAttempt *attempt, const LaunchMessage *message)
{
    for (int i = 0; i < OUTPUT_STREAMS; i++)
        stream_close(runner, &attempt->streams[i]);
    RunNews *news = news_new(RUN_FAILED, attempt);
    news_failed(news, attempt, (LaunchStep)message->step, message->number);
    over(runner, attempt, news);
}

static RunAttempt *open_attempt(Runner *runner, const LaunchMessage *message)
{
    RunAttempt *attempt = attempt_find(runner, message->id, message->attempt);
    return attempt && attempt->phase != PHASE_OVER ? attempt : NULL;
}

static void on_started(void *context, const LaunchMessage *message)
{
    if (message->id & CONTEXT_ID_BIT) {
        context_started(context, message);
        return;
    }
    RunAttempt *attempt = open_attempt(context, message);
    if (attempt)
        started(context, attempt, message);
}

static void on_slow(void *context, const LaunchMessage *message)
{
    if (message->id & CONTEXT_ID_BIT) {
        context_slow(context, message);
        return;
    }
    RunAttempt *attempt = open_attempt(context, message);
    if (!attempt)
        return;
    set_hangs(context, attempt, true);
    news_put(context, news_new(RUN_HANGS, attempt));
}

static void on_failed(void *context, const LaunchMessage *message)
{
    if (message->id & CONTEXT_ID_BIT) {
        context_failed(context, message);
        return;
    }
    RunAttempt *attempt = open_attempt(context, message);
    if (attempt)
        failed(context, attempt, message);
}

static void on_exited(void *context, const LaunchMessage *message)
{
    if (message->id & CONTEXT_ID_BIT) {
        context_exited(context, message);
        return;
    }
    RunAttempt *attempt = open_attempt(context, message);
    if (!attempt)
        return;
    started(context, attempt, message); /* if it went too fast to be told */
    ended(context, attempt, message);
}

static RunAttempt *adopt(Runner *runner, const LaunchMessage *message, const int fds[2])
{
    RunAttempt *attempt =
        attempt_new(runner, message->id, message->attempt, message->flags);
    attempt->phase = PHASE_RUNNING;
    attempt->pid = message->pid;
    attempt->started_ms = message->started_wall_ms;
    size_t bytes = strnlen(message->mark, RUN_TOKEN_BYTES - 1);
    memcpy(attempt->token, message->mark, bytes);
    news_put(runner, news_new(RUN_ADOPTED, attempt));
    streams_open(runner, attempt, fds, false);
    stream_catch_up(runner, attempt);
    return attempt;
}

static void on_item(void *context, const LaunchMessage *message, int out_r, int err_r)
{
    Runner *runner = context;
    int fds[] = { out_r, err_r };
    if (message->id & CONTEXT_ID_BIT) {
        for (int i = 0; i < OUTPUT_STREAMS; i++)
            if (fds[i] >= 0)
                close(fds[i]);
        context_item(runner, message);
        return;
    }
    RunAttempt *attempt = attempt_find(runner, message->id, message->attempt);
    if (attempt) { /* only the connection was lost: we have its pipes already */
        attempt->seen = true;
        for (int i = 0; i < OUTPUT_STREAMS; i++)
            if (fds[i] >= 0)
                close(fds[i]);
        if (attempt->phase == PHASE_OVER)
            return;
        if (message->state != LAUNCH_IS_FAILED)
            started(runner, attempt, message);
    } else {
        attempt = adopt(runner, message, fds);
    }
    if (message->state == LAUNCH_IS_EXITED)
        ended(runner, attempt, message);
    else if (message->state == LAUNCH_IS_FAILED)
        failed(runner, attempt, message);
}

static bool known(void *context, JobId id, uint32_t number)
{
    return attempt_find(context, id, number) != NULL;
}

static void on_list_end(void *context)
{
    Runner *runner = context;
    attempts_list_end(runner);
    contexts_list_end(runner);
    if (!runner->told_listed)
        folders_tidy(&runner->folders, known, runner);
    news_put(runner,
             news_new(runner->told_listed ? RUN_LAUNCHER_BACK : RUN_LISTED, NULL));
    runner->told_listed = true;
    runner->listed = true;
}

const LaunchHandlers attempt_handlers = {
    .started = on_started,
    .slow = on_slow,
    .failed = on_failed,
    .exited = on_exited,
    .item = on_item,
    .list_end = on_list_end,
};

void attempts_list_begin(Runner *runner)
{
    MapEntry entry;
    runner->listed = false;
    for (size_t at = 0; map_next(&runner->attempts, &at, &entry);)
        for (RunAttempt *attempt = entry.value; attempt; attempt = attempt->next)
            attempt->seen = false;
}

/* The first attempt that the launcher does not know; being over, it may leave the map,
 * which must not be walked meanwhile. */
static RunAttempt *find_lost(const Runner *runner)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&runner->attempts, &at, &entry);)
        for (RunAttempt *attempt = entry.value; attempt; attempt = attempt->next)
            if (!attempt->seen && attempt->phase != PHASE_OVER &&
                attempt->phase != PHASE_PREPARED)
                return attempt;
    return NULL;
}

void attempts_list_end(Runner *runner)
{
    for (RunAttempt *attempt; (attempt = find_lost(runner));) {
        stream_finish(runner, attempt);
        over(runner, attempt, news_new(RUN_LOST, attempt));
    }
}
