/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - answers that go on: see exchange.h.
 *
 * A stream with nothing to send parks its connection, so it costs no polling; the ticker
 * or stream_wake() takes it up again. It lives as long as someone holds it: the answer,
 * and each call that it has out. */
#include "http/server_state.h"

#include <stdio.h>

/* Whoever closes waits until nobody is busy: after that nothing may begin, or its calls
 * would be done when the connections are gone. */
bool http_enter(Http *http)
{
    pthread_mutex_lock(&http->lock);
    bool open = !http->closing;
    http->busy += open;
    pthread_mutex_unlock(&http->lock);
    return open;
}

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
        conn_wake(stream->conn);
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

/* --- The connection's side ------------------------------------------------------------
 */

#define STREAM_PIECE (32u << 10)
#define SIZE_BYTES   10 /* of a chunk, in hex, with its line end */

void stream_begin(Stream *stream, Conn *conn)
{
    stream->conn = conn;
    conn->listener->streams++;
}

void stream_end(Conn *conn)
{
    Stream *stream = conn->exchange->stream;
    conn->exchange->stream = NULL;
    if (stream->conn)
        conn->listener->streams--;
    pthread_mutex_lock(&stream->lock);
    stream->gone = true; /* or calls of its own would go on for nobody */
    pthread_mutex_unlock(&stream->lock);
    stream_drop(stream);
}

/* False if it was woken since it last looked for something to send. */
static bool park(Stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool idle = !stream->woken;
    stream->woken = false;
    if (idle) {
        conn_deadline(stream->conn, -1);
        stream->parked = true;
        conn_suspend(stream->conn);
    }
    pthread_mutex_unlock(&stream->lock);
    return idle;
}

bool stream_next(Stream *stream, Conn *conn)
{
    Buf *out = &conn->reply;
    size_t frame = conn->chunked ? SIZE_BYTES : 0;
    ssize_t bytes;
    buf_clear(out);
    conn->reply_sent = 0;
    do {
        bytes = stream->read(stream, buf_room(out, frame + STREAM_PIECE) + frame,
                             STREAM_PIECE);
        if (bytes == 0 && park(stream))
            return true;
    } while (bytes == 0);
    if (bytes > 0 && conn->chunked) {
        char size[SIZE_BYTES + 1];
        snprintf(size, sizeof size, "%08x\r\n", (unsigned)bytes);
        memcpy(out->data, size, SIZE_BYTES);
    }
    out->bytes = bytes > 0 ? frame + (size_t)bytes : 0;
    conn->close = conn->close || bytes == STREAM_BROKEN;
    if (conn->chunked && bytes != STREAM_BROKEN)
        buf_add_text(out, bytes > 0 ? "\r\n" : "0\r\n\r\n");
    return bytes > 0;
}

void stream_tick(Conn *conn)
{
    Stream *stream = conn->exchange->stream;
    pthread_mutex_lock(&stream->lock);
    if (stream->parked && (conn->hung_up || conn->listener->http->closing))
        stream->gone = true;
    unpark(stream);
    pthread_mutex_unlock(&stream->lock);
}
