/* SPDX-License-Identifier: Apache-2.0 */
/* http_tick.c - the server's sense of time: one thread that drops slow clients, wakes
 * streams and drains what early answers left unread.
 *
 * libmicrohttpd's own timeout counts from the last byte, so a client that sends one byte
 * a second never meets it. Here each step of a request has a deadline; an overdue socket
 * is shut down, which its HTTP thread then sees as closed. Connections that wait for the
 * daemon have none. */
#include "serve/http_inside.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS       500
#define TICK_MS_LEAST 20
#define CLOSE_MS      (2 * MS_PER_S)
#define LINGER_MS     (5 * MS_PER_S) /* without a byte */
#define LINGER_READS  64             /* per turn, of one socket */
#define LINGER_PIECE  (64 << 10)

void conn_deadline(Conn *conn, int64_t after_ms)
{
    conn->deadline_ms = after_ms < 0 ? TIME_NEVER : clock_now().boot_ms + after_ms;
}

/* While closing, answers have a moment to be read. */
static void drop_overdue(Http *http, int64_t boot_ms)
{
    bool all = http->closing && boot_ms - http->close_boot > CLOSE_MS;
    for (Conn *conn = http->conns; conn; conn = conn->next) {
        if (conn->deadline_ms > boot_ms && !all)
            continue;
        conn->deadline_ms = TIME_NEVER;
        conn->linger = false;
        shutdown(conn->fd, SHUT_RDWR);
    }
}

/* --- Lingering ------------------------------------------------------------------------
 *
 * A socket closed with unread bytes resets the connection, and the client may lose the
 * answer that explains why. So the rest of a refused body is read and dropped first. */

void conn_linger(Conn *conn)
{
    Http *http = conn->listener->http;
    pthread_mutex_lock(&http->lock);
    if (!http->closing && http->linger_count < LINGERS_MAX) {
        int fd = dup(conn->fd);
        if (fd >= 0)
            http->lingers[http->linger_count++] =
                (Linger){ fd, clock_now().boot_ms + LINGER_MS };
    }
    pthread_mutex_unlock(&http->lock);
    tick_wake(http);
}

/* False when it is over. */
static bool drain(Linger *linger, int64_t boot_ms)
{
    static char dropped[LINGER_PIECE]; /* only this thread reads into it */
    for (int i = 0; i < LINGER_READS; i++) {
        ssize_t bytes = recv(linger->fd, dropped, sizeof dropped, MSG_DONTWAIT);
        if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
            return boot_ms < linger->until_ms;
        if (bytes <= 0)
            return false;
        linger->until_ms = boot_ms + LINGER_MS;
    }
    return true;
}

static void drain_all(Http *http, int64_t boot_ms)
{
    for (size_t i = 0; i < http->linger_count;) {
        if (!http->closing && drain(&http->lingers[i], boot_ms)) {
            i++;
            continue;
        }
        close(http->lingers[i].fd);
        http->lingers[i] = http->lingers[--http->linger_count];
    }
}

/* --- The thread ------------------------------------------------------------------------
 */

static void wait_for_next(Http *http)
{
    struct pollfd fds[LINGERS_MAX + 1] = { { .fd = http->wake_fd, .events = POLLIN } };
    pthread_mutex_lock(&http->lock);
    size_t count = http->linger_count;
    for (size_t i = 0; i < count; i++)
        fds[i + 1] = (struct pollfd){ .fd = http->lingers[i].fd, .events = POLLIN };
    int wait_ms =
        http->streams && http->tick_ms > STREAM_TICK_MS ? STREAM_TICK_MS : http->tick_ms;
    pthread_mutex_unlock(&http->lock);
    poll(fds, (nfds_t)(count + 1), wait_ms);
    uint64_t ignored;
    if (fds[0].revents && read(http->wake_fd, &ignored, sizeof ignored) < 0)
        return; /* another wake took it */
}

static void *tick_run(void *context)
{
    Http *http = context;
    for (;;) {
        wait_for_next(http);
        int64_t boot_ms = clock_now().boot_ms;
        pthread_mutex_lock(&http->lock);
        bool stop = !http->ticking;
        drop_overdue(http, boot_ms);
        streams_wake(http);
        drain_all(http, boot_ms);
        pthread_mutex_unlock(&http->lock);
        if (stop)
            return NULL;
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

Err tick_open(Http *http, Error *why)
{
    const HttpOptions *options = &http->options;
    int64_t shortest = least(least(options->header_ms, options->body_ms),
                             least(options->idle_ms, options->send_ms));
    int64_t tick_ms = least(TICK_MS, shortest / 4);
    http->tick_ms = (int)(tick_ms > TICK_MS_LEAST ? tick_ms : TICK_MS_LEAST);
    http->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (http->wake_fd < 0)
        return error_errno(why, "cannot make an eventfd");
    http->ticking = true;
    if (pthread_create(&http->ticker, NULL, tick_run, http)) {
        http->ticking = false;
        return error_set(why, ERR_LIMIT, "cannot start a thread");
    }
    return ERR_OK;
}

void tick_wake(Http *http)
{
    uint64_t one = 1;
    ssize_t ignored = write(http->wake_fd, &one, sizeof one);
    (void)ignored; /* full: it is awake anyhow */
}

void tick_close(Http *http)
{
    if (http->ticking) {
        pthread_mutex_lock(&http->lock);
        http->ticking = false;
        pthread_mutex_unlock(&http->lock);
        tick_wake(http);
        pthread_join(http->ticker, NULL);
    }
    if (http->wake_fd >= 0)
        close(http->wake_fd);
}
