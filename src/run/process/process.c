/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - see process.h: the doors of the runner, and its thread's loop. */
#include "run/process/process.h"
#include "run/context/context.h"
#include "run/news.h"
#include "run/process/attempt.h"
#include "run/process/stream.h"
#include "run/thread.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_MAX 64
#define RETRY_MS   1000  /* between two tries to start a launcher */
#define SILENT_MS  10000 /* it answers a start within LAUNCH_TAKEN_MS, whatever hangs */

typedef enum OrderKind {
    ORDER_START,
    ORDER_PREPARE,
    ORDER_GO,
    ORDER_BATCH,
    ORDER_SIGNAL,
    ORDER_FORGET,
    ORDER_DEADLINE,
    ORDER_LEASE,
    ORDER_STOP,
} OrderKind;

typedef struct Order {
    Mail mail;
    OrderKind kind;
    JobId id;
    uint32_t attempt;
    int64_t number; /* signal, or boot time */
    Prepared prepared;
    RunBatch batch; /* its slices and items are in the arena */
    Arena arena;
} Order;

static void wake(void *context)
{
    Runner *runner = context;
    uint64_t one = 1;
    if (write(runner->wake_fd, &one, sizeof one) != sizeof one)
        return; /* it is full of ones: the thread is awake */
}

static Order *order_new(OrderKind kind, JobId id, uint32_t attempt)
{
    Order *order = MEM_NEW(Order);
    order->kind = kind;
    order->id = id;
    order->attempt = attempt;
    return order;
}

static void give(Runner *runner, Order *order)
{
    mailbox_put(&runner->orders, &order->mail);
}

static void give_run(Runner *runner, OrderKind kind, const RunOrder *run)
{
    Order *order = order_new(kind, run->job->id, run->job->attempt);
    prepare(&runner->base, run, &order->prepared);
    give(runner, order);
}

void runner_start(Runner *runner, const RunOrder *run)
{
    give_run(runner, ORDER_START, run);
}

void runner_prepare(Runner *runner, const RunOrder *run)
{
    give_run(runner, ORDER_PREPARE, run);
}

void runner_go(Runner *runner, JobId id, uint32_t number)
{
    bool done = false;
    if (pthread_mutex_trylock(&runner->lock) == 0) {
        done =
            runner->listed && !runner->contexts_dying && attempt_find(runner, id, number);
        if (done)
            attempt_go(runner, id, number);
        pthread_mutex_unlock(&runner->lock);
    }
    if (!done)
        give(runner, order_new(ORDER_GO, id, number));
}

void runner_give(Runner *runner, const RunBatch *batch)
{
    Order *order = order_new(ORDER_BATCH, 0, 0);
    Arena *arena = &order->arena;
    order->batch = *batch;
    order->batch.key = slice_copy(arena, batch->key);
    order->batch.tenant = slice_copy(arena, batch->tenant);
    order->batch.user = slice_copy(arena, batch->user);
    order->batch.argv = slice_copy(arena, batch->argv);
    order->batch.env = slice_copy(arena, batch->env);
    order->batch.cwd = slice_copy(arena, batch->cwd);
    order->batch.handler = slice_copy(arena, batch->handler);
    order->batch.define = slice_copy(arena, batch->define);
    order->batch.lines = slice_copy(arena, batch->lines);
    order->batch.items =
        arena_copy(arena, batch->items, batch->count * sizeof *batch->items);
    give(runner, order);
}

void runner_signal(Runner *runner, JobId id, uint32_t attempt, int signal_number)
{
    Order *order = order_new(ORDER_SIGNAL, id, attempt);
    order->number = signal_number;
    give(runner, order);
}

void runner_forget(Runner *runner, JobId id, uint32_t attempt)
{
    give(runner, order_new(ORDER_FORGET, id, attempt));
}

void runner_deadline(Runner *runner, JobId id, uint32_t attempt, int64_t boot_ms)
{
    Order *order = order_new(ORDER_DEADLINE, id, attempt);
    order->number = boot_ms;
    give(runner, order);
}

void runner_lease(Runner *runner, int64_t boot_ms)
{
    Order *order = order_new(ORDER_LEASE, 0, 0);
    order->number = boot_ms;
    give(runner, order);
}

void runner_erase(Runner *runner, JobId id, uint32_t attempts)
{
    sweeper_erase(runner->folders.sweeper, id, attempts);
}

void runner_sweep(Runner *runner, const char *path)
{
    sweeper_path(runner->folders.sweeper, path);
}

bool runner_silent(const Runner *runner)
{
    return atomic_load(&runner->silent);
}

int runner_hanging(const Runner *runner)
{
    return atomic_load(&runner->hanging);
}

static void order_free(Order *order)
{
    prepared_done(&order->prepared);
    arena_done(&order->arena);
    mem_free(order);
}

static void obey(Runner *runner, Order *order)
{
    const RunAttempt *attempt = attempt_find(runner, order->id, order->attempt);
    bool runs = attempt && attempt->phase != PHASE_OVER;
    switch (order->kind) {
    case ORDER_START:
        attempt_prepare(runner, &order->prepared);
        attempt_go(runner, order->id, order->attempt);
        break;
    case ORDER_PREPARE:
        attempt_prepare(runner, &order->prepared);
        break;
    case ORDER_GO:
        attempt_go(runner, order->id, order->attempt);
        break;
    case ORDER_BATCH:
        context_give(runner, &order->batch);
        break;
    case ORDER_SIGNAL:
        if (context_signal(runner, order->id, order->attempt, (int)order->number))
            break;
        if (runs)
            launch_signal(runner->client, order->id, order->attempt, (int)order->number);
        break;
    case ORDER_FORGET:
        attempt_forget(runner, order->id, order->attempt);
        break;
    case ORDER_DEADLINE:
        if (runs)
            launch_deadline(runner->client, order->id, order->attempt, order->number);
        break;
    case ORDER_LEASE:
        contexts_lease(runner, order->number);
        break;
    case ORDER_STOP:
        break;
    }
}

/* Appends what has come to what waits; a stop does not wait. */
static void gather_orders(Runner *runner)
{
    Mail **last = &runner->waiting;
    while (*last)
        last = &(*last)->next;
    *last = mailbox_take(&runner->orders);
    for (Mail *mail = *last; mail; mail = mail->next)
        if (((Order *)mail)->kind == ORDER_STOP)
            runner->stop = true;
}

static void obey_orders(Runner *runner)
{
    while (runner->waiting && runner->listed && !runner->contexts_dying) {
        Order *order = (Order *)runner->waiting;
        runner->waiting = order->mail.next;
        obey(runner, order);
        order_free(order);
    }
}

static void watch_launcher(Runner *runner, int operation)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = runner };
    if (runner->writes)
        event.events |= EPOLLOUT;
    epoll_ctl(runner->epoll_fd, operation, launch_fd(runner->client), &event);
}

static void connected(Runner *runner)
{
    runner->writes = false;
    watch_launcher(runner, EPOLL_CTL_ADD);
    attempts_list_begin(runner);
    contexts_list_begin(runner);
    launch_list(runner->client);
}

static void launcher_gone(Runner *runner)
{
    log_event(LOG_ERROR, "launcher.gone", "pid=%d", (int)launch_pid(runner->client));
    launch_close(runner->client);
    runner->client = NULL;
    runner->listed = false;
    runner->retry_ms = 0;
    news_put(runner, news_new(RUN_LAUNCHER_GONE, NULL));
}

static void launcher_retry(Runner *runner)
{
    Error why = { 0 };
    Err err = launch_open(&runner->client, runner->base.data_dir, runner->launcher, &why);
    if (!err) {
        connected(runner);
        return;
    }
    char text[LOG_QUOTE_BYTES];
    log_event(LOG_ERROR, "launcher.failed", "error=%s",
              log_quote(slice_text(why.text), text));
    runner->client = NULL;
    runner->retry_ms = clock_now().boot_ms + RETRY_MS;
}

static void serve_launcher(Runner *runner)
{
    if (!runner->client) {
        if (clock_now().boot_ms >= runner->retry_ms)
            launcher_retry(runner);
        return;
    }
    if (launch_dispatch(runner->client, &attempt_handlers, runner)) {
        launcher_gone(runner);
        return;
    }
    bool writes = launch_wants_write(runner->client);
    if (writes != runner->writes) {
        runner->writes = writes;
        watch_launcher(runner, EPOLL_CTL_MOD);
    }
}

/* A launcher that was stopped, or waits for the disk, starts and ends nothing. */
static void watch_silence(Runner *runner)
{
    int64_t owes_boot = runner->client ? launch_owes(runner->client) : 0;
    bool silent = owes_boot && clock_now().boot_ms - owes_boot >= SILENT_MS;
    if (silent == atomic_load(&runner->silent))
        return;
    atomic_store(&runner->silent, silent);
    if (silent)
        log_event(LOG_ERROR, "launcher.silent",
                  "pid=%d msg=\"it does not answer: no job starts or ends\"",
                  (int)launch_pid(runner->client));
    else
        log_event(LOG_INFO, "launcher.answers", "msg=\"jobs start again\"");
}

static int next_wait(const Runner *runner)
{
    if (!runner->client) {
        int64_t left_ms = runner->retry_ms - clock_now().boot_ms;
        return left_ms > 0 ? (int)left_ms : 0;
    }
    int64_t due_ms = contexts_due(runner);
    if (runner->tick_ms && (!due_ms || runner->tick_ms < due_ms))
        due_ms = runner->tick_ms;
    if (!due_ms)
        return runner->attempts.count ? SILENT_MS : -1;
    int64_t left_ms = due_ms - clock_now().boot_ms;
    return left_ms > 0 ? (int)left_ms : 0;
}

static void *work(void *context)
{
    Runner *runner = context;
    pthread_mutex_lock(&runner->lock);
    connected(runner);
    while (!runner->stop) {
        struct epoll_event events[EVENTS_MAX];
        int wait_ms = next_wait(runner);
        pthread_mutex_unlock(&runner->lock);
        int count = epoll_wait(runner->epoll_fd, events, EVENTS_MAX, wait_ms);
        pthread_mutex_lock(&runner->lock);
        for (int i = 0; i < count; i++) {
            uint64_t ones;
            if (events[i].data.ptr == &runner->wake_fd) {
                if (read(runner->wake_fd, &ones, sizeof ones) < 0 && errno != EAGAIN)
                    log_event(LOG_WARN, "runner.wake", "errno=%d", errno);
            } else if (events[i].data.ptr == &runner->context_epoll) {
                contexts_ready(runner);
            } else if (events[i].data.ptr != runner) {
                /* No attempt goes before all streams of this round are done. */
                stream_ready(runner, events[i].data.ptr,
                             (events[i].events & (EPOLLHUP | EPOLLERR)) != 0);
            }
        }
        gather_orders(runner);
        serve_launcher(runner);
        obey_orders(runner);
        if (runner->tick_ms && clock_now().boot_ms >= runner->tick_ms)
            streams_tick(runner);
        contexts_tick(runner);
        watch_silence(runner);
        news_tell_answers(runner);
    }
    contexts_done(runner);
    if (runner->client)
        launch_quit(runner->client);
    pthread_mutex_unlock(&runner->lock);
    return NULL;
}

static void runner_free(Runner *runner)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&runner->attempts, &at, &entry);)
        for (RunAttempt *attempt = entry.value; attempt;) {
            RunAttempt *next = attempt->next;
            attempt_free(attempt);
            attempt = next;
        }
    map_done(&runner->attempts);
    if (runner->client)
        launch_close(runner->client);
    folders_close(&runner->folders);
    mailbox_done(&runner->orders);
    pthread_mutex_destroy(&runner->lock);
    close(runner->wake_fd);
    close(runner->epoll_fd);
    close(runner->context_epoll);
    close(runner->null_fd);
    prepare_base_done(&runner->base);
    buf_done(&runner->scratch);
    mem_free(runner->launcher);
    mem_free(runner);
}

Err runner_open(Runner **out_runner, const RunnerOptions *options, Error *why)
{
    Folders folders;
    LaunchClient *client;
    Err err = folders_open(&folders, options->data_dir, why);
    if (err)
        return err;
    err = launch_open(&client, options->data_dir, options->launcher, why);
    if (err) {
        folders_close(&folders);
        return err;
    }
    Runner *runner = MEM_NEW(Runner);
    runner->folders = folders;
    runner->client = client;
    if (options->launcher)
        runner->launcher = mem_copy(options->launcher, strlen(options->launcher) + 1);
    runner->output_bytes_max =
        options->output_bytes_max ? options->output_bytes_max : OUTPUT_BYTES_MAX_DEFAULT;
    runner->result_bytes_max = (size_t)options->result_bytes_max;
    contexts_init(runner, options);
    runner->news = options->news;
    prepare_base_init(&runner->base, options);
    mailbox_init(&runner->orders);
    pthread_mutex_init(&runner->lock, NULL);
    runner->orders.wake = wake;
    runner->orders.wake_context = runner;
    runner->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    runner->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    runner->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = &runner->wake_fd };
    struct epoll_event contexts = { .events = EPOLLIN,
                                    .data.ptr = &runner->context_epoll };
    if (runner->wake_fd < 0 || runner->context_epoll < 0 || runner->epoll_fd < 0 ||
        runner->null_fd < 0 ||
        epoll_ctl(runner->epoll_fd, EPOLL_CTL_ADD, runner->wake_fd, &event) ||
        epoll_ctl(runner->epoll_fd, EPOLL_CTL_ADD, runner->context_epoll, &contexts)) {
        err = error_errno(why, "cannot watch for jobs");
        runner_free(runner);
        return err;
    }
    runner->thread = thread_start(work, runner);
    *out_runner = runner;
    return ERR_OK;
}

void runner_close(Runner *runner)
{
    give(runner, order_new(ORDER_STOP, 0, 0));
    pthread_join(runner->thread, NULL);
    gather_orders(runner);
    while (runner->waiting) {
        Order *order = (Order *)runner->waiting;
        runner->waiting = order->mail.next;
        order_free(order);
    }
    runner_free(runner);
}
