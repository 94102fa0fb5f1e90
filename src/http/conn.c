/* SPDX-License-Identifier: Apache-2.0 */
/* conn.c - bytes of one connection, plain or through TLS.
 *
 * What is read goes into a piece that all connections of a thread share. Only what a
 * request leaves unused at the end of a round is copied: an idle connection has no
 * buffer. */
#include "http/server_state.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEPT_BYTES    (4u << 10)      /* larger buffers are given back */
#define LINGER_MS     (5 * MS_PER_S)  /* without a byte */
#define LINGER_ALL_MS (60 * MS_PER_S) /* with them */

void conn_deadline(Conn *conn, int64_t after_ms)
{
    conn->deadline_ms = after_ms < 0 ? TIME_NEVER : clock_now().boot_ms + after_ms;
}

static void watch(Conn *conn, int what)
{
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLRDHUP | EPOLLET | (conn->waits_to_send ? EPOLLOUT : 0),
        .data.ptr = conn,
    };
    epoll_ctl(conn->listener->poll_fd, what, conn->fd, &event);
}

static bool begin_tls(Conn *conn)
{
    Http *http = conn->listener->http;
    if (gnutls_init(&conn->tls, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL)) {
        conn->tls = NULL;
        return false;
    }
    gnutls_transport_set_int(conn->tls, conn->fd);
    return !gnutls_priority_set(conn->tls, http->priorities) &&
           !gnutls_credentials_set(conn->tls, GNUTLS_CRD_CERTIFICATE, http->credentials);
}

Conn *conn_new(Listener *listener, int fd)
{
    int on = 1;
    Conn *conn = MEM_NEW(Conn);
    conn->listener = listener;
    conn->fd = fd;
    conn->phase = listener->tls ? PHASE_TLS : PHASE_HEAD;
    conn_deadline(conn, listener->http->options.header_ms);
    if (listener->tcp)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    conn->next = listener->conns;
    if (listener->conns)
        listener->conns->previous = conn;
    listener->conns = conn;
    listener->conn_count++;
    if (listener->tls && !begin_tls(conn)) {
        conn_free(conn);
        return NULL;
    }
    watch(conn, EPOLL_CTL_ADD);
    return conn;
}

void conn_free(Conn *conn)
{
    Listener *listener = conn->listener;
    if (conn->exchange)
        request_end(conn, false);
    if (conn->previous)
        conn->previous->next = conn->next;
    else
        listener->conns = conn->next;
    if (conn->next)
        conn->next->previous = conn->previous;
    if (listener->last == conn)
        listener->last = NULL;
    if (conn->tls)
        gnutls_deinit(conn->tls);
    close(conn->fd);
    buf_done(&conn->in);
    buf_done(&conn->reply);
    exchange_free(conn->exchange);
    mem_free(conn);
    listener->conn_count--;
}

/* --- In ------------------------------------------------------------------------------
 */

Progress conn_handshake(Conn *conn)
{
    int result;
    do
        result = gnutls_handshake(conn->tls);
    while (result < 0 && result != GNUTLS_E_AGAIN && !gnutls_error_is_fatal(result));
    if (result == GNUTLS_E_AGAIN) {
        bool sends = gnutls_record_get_direction(conn->tls) == 1;
        if (sends != conn->waits_to_send) {
            conn->waits_to_send = sends;
            watch(conn, EPOLL_CTL_MOD);
        }
        return PROGRESS_WAIT;
    }
    return result < 0 ? PROGRESS_GONE : PROGRESS_ON;
}

static ssize_t read_tls(Conn *conn, char *out, size_t max)
{
    ssize_t got;
    do
        got = gnutls_record_recv(conn->tls, out, max);
    while (got == GNUTLS_E_INTERRUPTED);
    if (got == GNUTLS_E_AGAIN)
        conn->readable = false;
    return got;
}

static ssize_t read_plain(Conn *conn, char *out, size_t max)
{
    ssize_t got;
    do
        got = recv(conn->fd, out, max, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    /* A piece that is not full was all there is, but for the end. */
    if ((got < 0 && errno == EAGAIN) || (got > 0 && (size_t)got < max && !conn->hung_up))
        conn->readable = false;
    return got;
}

static bool view_is_kept(const Conn *conn)
{
    return conn->in.bytes && conn->view.data >= conn->in.data &&
           conn->view.data <= conn->in.data + conn->in.bytes;
}

void conn_keep(Conn *conn)
{
    if (!conn->view.bytes) {
        if (conn->in.capacity > KEPT_BYTES)
            buf_done(&conn->in);
        else
            buf_clear(&conn->in);
    } else if (view_is_kept(conn)) {
        buf_drop(&conn->in, (size_t)(conn->view.data - conn->in.data));
    } else {
        buf_clear(&conn->in);
        buf_add_slice(&conn->in, conn->view);
    }
    conn->view = buf_slice(&conn->in);
}

void conn_use(Conn *conn, size_t bytes)
{
    conn->view = (Slice){ conn->view.data + bytes, conn->view.bytes - bytes };
}

Progress conn_fill(Conn *conn)
{
    char *piece = conn->listener->piece;
    if (conn->ended)
        return PROGRESS_GONE;
    if (!conn->readable)
        return PROGRESS_WAIT;
    if (conn->view.bytes)
        conn_keep(conn);
    ssize_t got = conn->tls ? read_tls(conn, piece, PIECE_BYTES)
                            : read_plain(conn, piece, PIECE_BYTES);
    if (got > 0 && conn->view.bytes) {
        buf_add(&conn->in, piece, (size_t)got);
        conn->view = buf_slice(&conn->in);
    } else if (got > 0) {
        conn->view = (Slice){ piece, (size_t)got };
    }
    if (got > 0)
        return PROGRESS_ON;
    if (!conn->readable)
        return PROGRESS_WAIT;
    conn->ended = true;
    return PROGRESS_GONE;
}

/* --- Out -----------------------------------------------------------------------------
 */

static ssize_t send_tls(Conn *conn, Slice first, Slice second)
{
    Slice out = first.bytes ? first : second;
    ssize_t sent;
    do
        sent = gnutls_record_send(conn->tls, out.data, out.bytes);
    while (sent == GNUTLS_E_INTERRUPTED);
    errno = sent == GNUTLS_E_AGAIN ? EAGAIN : EIO;
    return sent;
}

static ssize_t send_plain(const Conn *conn, Slice first, Slice second)
{
    struct iovec parts[2] = { { (void *)(uintptr_t)first.data, first.bytes },
                              { (void *)(uintptr_t)second.data, second.bytes } };
    struct msghdr message = { .msg_iov = first.bytes ? parts : parts + 1,
                              .msg_iovlen = first.bytes && second.bytes ? 2 : 1 };
    ssize_t sent;
    do
        sent = sendmsg(conn->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent;
}

Progress conn_send(Conn *conn, Slice first, Slice second, size_t *out_sent)
{
    ssize_t sent =
        conn->tls ? send_tls(conn, first, second) : send_plain(conn, first, second);
    bool full = sent < 0 && errno == EAGAIN;
    *out_sent = sent > 0 ? (size_t)sent : 0;
    if (sent < 0 && !full)
        return PROGRESS_GONE;
    if (full != conn->waits_to_send) {
        conn->waits_to_send = full;
        watch(conn, EPOLL_CTL_MOD);
    }
    return full ? PROGRESS_WAIT : PROGRESS_ON;
}

/* --- The end ---------------------------------------------------------------------------
 *
 * A socket closed with unread bytes resets the connection, and the client may lose the
 * answer that explains why. So the rest of a refused body is read and dropped first. */

void conn_half_close(Conn *conn)
{
    if (conn->tls)
        gnutls_bye(conn->tls, GNUTLS_SHUT_WR); /* as far as there is room for it */
    shutdown(conn->fd, SHUT_WR);
    conn->view = (Slice){ NULL, 0 };
    buf_done(&conn->in);
    conn->linger_end_ms = clock_now().boot_ms + LINGER_ALL_MS;
    conn_deadline(conn, LINGER_MS);
    conn->readable = true;
}

Progress conn_drain(Conn *conn)
{
    conn->readable = true;
    ssize_t got = read_plain(conn, conn->listener->piece, PIECE_BYTES);
    if (got == 0 || (got < 0 && conn->readable))
        return PROGRESS_GONE;
    if (got < 0)
        return PROGRESS_WAIT;
    conn_deadline(conn, LINGER_MS);
    return conn->deadline_ms < conn->linger_end_ms ? PROGRESS_ON : PROGRESS_GONE;
}
