/* SPDX-License-Identifier: Apache-2.0 */
/* poll.c - the thread of a listener: who can go on, and who has taken too long.
 *
 * epoll tells edges: a connection remembers that there may be bytes until it has read all
 * of them. One that waits for the daemon is suspended and nothing is done with it, not
 * even closing, until it is woken: so whoever wakes it need not ask whether it is still
 * there. Those who are woken while the thread is awake wait in a list and cost no system
 * call.
 *
 * Each step of a request has a deadline, not each byte: a client that sends one now and
 * then meets it. Connections that wait for the daemon have none. */
#include "http/server_state.h"

#include "base/log.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX    256
#define ACCEPTS_MAX   64 /* in a row */
#define STEPS_MAX     64 /* of one connection, then others have their turn */
#define TICK_MS       500
#define TICK_MS_LEAST 20
#define CLOSE_MS      (2 * MS_PER_S)

/* --- Waking --------------------------------------------------------------------------
 */

static void poke(const Listener *listener)
{
    uint64_t one = 1;
    ssize_t ignored = write(listener->wake_fd, &one, sizeof one);
    (void)ignored; /* full: it is awake anyhow */
}

/* Under its lock. */
static void rouse(Listener *listener)
{
    if (listener->sleeping)
        poke(listener);
    listener->sleeping = false;
}

void conn_suspend(Conn *conn)
{
    conn->suspended = true;
}

/* Nothing of the listener is touched behind the lock: it may be gone by then. */
void conn_wake(Conn *conn)
{
    Listener *listener = conn->listener;
    pthread_mutex_lock(&listener->lock);
    conn->woken_next = NULL;
    *listener->woken_last = conn;
    listener->woken_last = &conn->woken_next;
    rouse(listener);
    pthread_mutex_unlock(&listener->lock);
}

static Conn *take_woken(Listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    Conn *first = listener->woken;
    listener->woken = NULL;
    listener->woken_last = &listener->woken;
    pthread_mutex_unlock(&listener->lock);
    return first;
}

/* --- Connections ---------------------------------------------------------------------
 */

static void work(Conn *conn)
{
    Progress progress = PROGRESS_ON;
    for (int steps = 0; progress == PROGRESS_ON && steps < STEPS_MAX; steps++)
        progress = conn_step(conn);
    if (progress == PROGRESS_GONE) {
        conn_free(conn);
        return;
    }
    conn_keep(conn);
    if (progress == PROGRESS_ON) { /* it has had its share of this round */
        conn_suspend(conn);
        conn_wake(conn);
    }
}

/* Answers are made first and then sent in a row: whoever is at the other end of many
 * connections is woken once for all of them, and asks again for all of them. */
static void run_woken(Listener *listener)
{
    Conn *made = NULL;
    Conn **last = &made;
    for (Conn *conn = take_woken(listener); conn;) {
        Conn *next = conn->woken_next; /* before it can be woken again */
        conn->suspended = false;
        if (conn->phase != PHASE_RUN || conn_step(conn) == PROGRESS_ON) {
            conn->made_next = NULL;
            *last = conn;
            last = &conn->made_next;
        }
        conn = next;
    }
    while (made) {
        Conn *conn = made;
        made = conn->made_next;
        work(conn);
    }
}

static void on_event(Conn *conn, uint32_t events)
{
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        conn->hung_up = true;
    if (events & ~(uint32_t)EPOLLOUT)
        conn->readable = true;
    if (!conn->suspended)
        work(conn);
}

static void watch_listening(Listener *listener, bool wanted)
{
    struct epoll_event event = { .events = wanted ? EPOLLIN : 0, .data.ptr = listener };
    epoll_ctl(listener->poll_fd, EPOLL_CTL_MOD, listener->fd, &event);
}

static void on_accept(Listener *listener)
{
    Http *http = listener->http;
    for (int i = 0; i < ACCEPTS_MAX && listener->fd >= 0; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0 && errno != EAGAIN && !listener->full) {
            log_event(LOG_WARN, "http.accept", "errno=%d msg=\"trying again\"", errno);
            listener->full = true;
            watch_listening(listener, false);
        }
        if (fd < 0)
            return;
        if (listener->conn_count < http->options.connections_max) {
            conn_new(listener, fd);
            continue;
        }
        if (!listener->tls)
            http_refuse_now(fd, "unavailable", "there are too many connections");
        close(fd);
    }
}

/* --- Time ----------------------------------------------------------------------------
 */

/* The thread itself will see that it is closed. */
static void offline_start(Conn *conn)
{
    conn->deadline_ms = TIME_NEVER;
    conn->readable = true;
    conn->hung_up = true;
    shutdown(conn->fd, SHUT_RDWR);
}

static void drop_overdue(Listener *listener, int64_t boot_ms)
{
    const Http *http = listener->http;
    /* While closing, answers have a moment to be read. */
    bool all = http->closing && boot_ms - http->close_boot > CLOSE_MS;
    for (Conn *conn = listener->conns; conn;) {
        Conn *next = conn->next;
        if (conn->suspended && conn->exchange && conn->exchange->stream)
            stream_tick(conn);
        if (conn->deadline_ms <= boot_ms || all) {
            if (conn->suspended)
                offline_start(conn);
            else
                conn_free(conn);
        }
        conn = next;
    }
}

static void tick(Listener *listener)
{
    int64_t boot_ms = clock_now().boot_ms;
    if (listener->http->closing && listener->fd >= 0) {
        close(listener->fd);
        listener->fd = -1;
    }
    if (boot_ms < listener->tick_boot)
        return;
    if (listener->full) {
        listener->full = false;
        if (listener->fd >= 0)
            watch_listening(listener, true);
    }
    drop_overdue(listener, boot_ms);
    int64_t tick_ms = listener->tick_ms;
    if (listener->streams && tick_ms > STREAM_TICK_MS)
        tick_ms = STREAM_TICK_MS;
    listener->tick_boot = boot_ms + tick_ms;
}

/* --- The thread ----------------------------------------------------------------------
 */

/* How long epoll may sleep; from here on it has to be woken. */
static int fall_asleep(Listener *listener, bool *out_stop)
{
    int64_t wait_ms = listener->tick_boot - clock_now().boot_ms;
    pthread_mutex_lock(&listener->lock);
    /* Here, or who begins to close now would not know that this sleeps for ever. */
    bool idle = !listener->conns && !listener->full &&
                (listener->fd < 0 || !listener->http->closing);
    *out_stop = listener->stop;
    listener->sleeping = !listener->woken && !listener->stop;
    bool sleeps = listener->sleeping;
    pthread_mutex_unlock(&listener->lock);
    if (!sleeps || (!idle && wait_ms < 0))
        return 0;
    return idle ? -1 : (int)wait_ms;
}

static void wake_up(Listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    listener->sleeping = false;
    pthread_mutex_unlock(&listener->lock);
}

static void *poll_run(void *context)
{
    Listener *listener = context;
    struct epoll_event events[EVENTS_MAX];
    bool stop = false;
    while (!stop) {
        int wait_ms = fall_asleep(listener, &stop);
        int count = epoll_wait(listener->poll_fd, events, EVENTS_MAX, wait_ms);
        bool accepts = false;
        wake_up(listener);
        for (int i = 0; i < count; i++) {
            uint64_t ignored;
            if (events[i].data.ptr == listener)
                accepts = true;
            else if (events[i].data.ptr)
                on_event(events[i].data.ptr, events[i].events);
            else if (read(listener->wake_fd, &ignored, sizeof ignored) < 0)
                continue; /* nothing to read: woken all the same */
        }
        run_woken(listener);
        if (accepts)
            on_accept(listener);
        tick(listener);
    }
    while (listener->conns)
        conn_free(listener->conns);
    return NULL;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static Err watch_both(Listener *listener, Error *why)
{
    struct epoll_event accepting = { .events = EPOLLIN, .data.ptr = listener };
    struct epoll_event waking = { .events = EPOLLIN, .data.ptr = NULL };
    listener->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    listener->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listener->poll_fd < 0 || listener->wake_fd < 0 ||
        epoll_ctl(listener->poll_fd, EPOLL_CTL_ADD, listener->fd, &accepting) ||
        epoll_ctl(listener->poll_fd, EPOLL_CTL_ADD, listener->wake_fd, &waking))
        return error_errno(why, "cannot watch connections");
    return ERR_OK;
}

Err poll_open(Listener *listener, Error *why)
{
    const HttpOptions *options = &listener->http->options;
    int64_t shortest = least(least(options->header_ms, options->body_ms),
                             least(options->idle_ms, options->send_ms));
    int64_t tick_ms = least(TICK_MS, shortest / 4);
    listener->tick_ms = (int)(tick_ms > TICK_MS_LEAST ? tick_ms : TICK_MS_LEAST);
    listener->piece = mem_alloc(PIECE_BYTES);
    listener->woken_last = &listener->woken;
    pthread_mutex_init(&listener->lock, NULL);
    Err err = watch_both(listener, why);
    if (err)
        return err;
    if (pthread_create(&listener->thread, NULL, poll_run, listener))
        return error_set(why, ERR_LIMIT, "cannot start a thread");
    listener->running = true;
    return ERR_OK;
}

void poll_quiesce(Listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    rouse(listener);
    pthread_mutex_unlock(&listener->lock);
}

void poll_close(Listener *listener)
{
    if (listener->running) {
        pthread_mutex_lock(&listener->lock);
        listener->stop = true;
        rouse(listener);
        pthread_mutex_unlock(&listener->lock);
        pthread_join(listener->thread, NULL);
    }
    pthread_mutex_destroy(&listener->lock);
    mem_free(listener->piece);
    int fds[] = { listener->fd, listener->poll_fd, listener->wake_fd };
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}
