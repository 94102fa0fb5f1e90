/* SPDX-License-Identifier: Apache-2.0 */
/* http_stream.c - answers that go on: see exchange.h.
 *
 * A stream with nothing to send parks its connection, so it costs no polling; the ticker
 * or stream_wake() takes it up again. It lives as long as someone holds it: the answer,
 * and each call that it has out. */
#include "serve/http_inside.h"

#include <poll.h>

void http_busy(Http *http)
{
    pthread_mutex_lock(&http->lock);
    http->busy++;
    pthread_mutex_unlock(&http->lock);
}

void http_quiet(Http *http)
{
    pthread_mutex_lock(&http->lock);
    if (--http->busy == 0)
        pthread_cond_broadcast(&http->quiet);
    pthread_mutex_unlock(&http->lock);
}

void stream_init(Stream *stream, Exchange *exchange)
{
    stream->http = exchange->http;
    stream->holders = 1;
    pthread_mutex_init(&stream->lock, NULL);
    http_busy(stream->http);
}

void stream_hold(Stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->holders++;
    pthread_mutex_unlock(&stream->lock);
}

void stream_drop(Stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool last = --stream->holders == 0;
    pthread_mutex_unlock(&stream->lock);
    if (!last)
        return;
    Http *http = stream->http;
    pthread_mutex_destroy(&stream->lock);
    stream->free(stream);
    http_quiet(http);
}

static void unpark(Stream *stream)
{
    bool parked = stream->parked;
    stream->parked = false;
    if (parked)
        MHD_resume_connection(stream->connection);
}

void stream_wake(Stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->woken = true;
    unpark(stream);
    pthread_mutex_unlock(&stream->lock);
}

bool stream_gone(Stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool gone = stream->gone;
    pthread_mutex_unlock(&stream->lock);
    return gone || stream->http->closing;
}

void stream_send(Stream *stream, Call *call)
{
    stream_hold(stream);
    daemon_call(stream->http->daemon, call);
}

void stream_done(Stream *stream)
{
    stream_wake(stream);
    stream_drop(stream);
}

/* --- libmicrohttpd's side ------------------------------------------------------------
 */

/* False if it was woken since it last looked for something to send. */
static bool park(Stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool idle = !stream->woken;
    stream->woken = false;
    if (idle) {
        conn_deadline(stream->conn, -1);
        stream->parked = true;
        MHD_suspend_connection(stream->connection);
    }
    pthread_mutex_unlock(&stream->lock);
    return idle;
}

static ssize_t on_read(void *context, uint64_t position, char *out, size_t max)
{
    (void)position;
    Stream *stream = context;
    for (;;) {
        ssize_t bytes = stream->read(stream, out, max);
        if (bytes < 0)
            return MHD_CONTENT_READER_END_OF_STREAM;
        conn_deadline(stream->conn, stream->http->options.send_ms);
        if (bytes > 0)
            return bytes;
        if (park(stream))
            return 0;
    }
}

void stream_unlink(Stream *stream)
{
    Http *http = stream->http;
    pthread_mutex_lock(&http->lock);
    if (stream->linked) {
        if (stream->previous)
            stream->previous->next = stream->next;
        else
            http->streams = stream->next;
        if (stream->next)
            stream->next->previous = stream->previous;
        stream->conn->exchange->stream = NULL;
        stream->linked = false;
    }
    pthread_mutex_unlock(&http->lock);
}

static void on_free(void *context)
{
    Stream *stream = context;
    stream_unlink(stream);
    stream_drop(stream);
}

struct MHD_Response *stream_response(Stream *stream, Conn *conn)
{
    Http *http = conn->listener->http;
    stream->connection = conn->connection;
    stream->conn = conn;
    pthread_mutex_lock(&http->lock);
    stream->linked = true;
    stream->next = http->streams;
    if (http->streams)
        http->streams->previous = stream;
    http->streams = stream;
    pthread_mutex_unlock(&http->lock);
    tick_wake(http);
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32 << 10, on_read, stream,
                                             on_free);
}

static bool hung_up(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLRDHUP };
    return poll(&poll_fd, 1, 0) > 0 && poll_fd.revents;
}

/* Under http->lock: a stream in the list has its connection. */
void streams_wake(Http *http)
{
    for (Stream *stream = http->streams; stream; stream = stream->next) {
        pthread_mutex_lock(&stream->lock);
        if (stream->parked && hung_up(stream->conn->fd))
            stream->gone = true;
        unpark(stream);
        pthread_mutex_unlock(&stream->lock);
    }
}
