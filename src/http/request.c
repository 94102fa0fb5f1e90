/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - a request, step by step: head, body, handler, answer, and the next.
 * What is known to be refused is answered as soon as the connection can go on behind it,
 * or else at once and for the last time. */
#include "http/server_state.h"

#include <assert.h>

#define BODY_ROOM_BYTES (64u << 10) /* reserved before the first byte */
#define DISCARD_BYTES_MAX                                                                \
    (64u << 10)             /* of a refused body: it is read, and one goes on            \
                             */
#define DISCARD_TIMES_MAX 4 /* of a chunked body over the limit */
#define ALONE_MS          2 /* see comes_alone */
#define ALONE_IN_ROW      4
#define ALONE_AFTER_MS    100 /* once there were many */

void request_end(Conn *conn, bool delivered)
{
    Http *http = conn->listener->http;
    Exchange *exchange = conn->exchange;
    if (exchange->stream)
        stream_end(conn);
    http->body_bytes -= conn->body_taken;
    conn->body_taken = 0;
    if (exchange_abandon(exchange)) {
        if (exchange->undelivered && !delivered)
            exchange->undelivered(exchange);
        exchange_reset(exchange);
    } else {
        conn->exchange = NULL;
    }
    conn->discarded = 0;
    /* Last: calls that are still out have been counted by then, so that closing waits
     * for them too. */
    if (conn->counted) {
        conn->counted = false;
        http_quiet(http);
    }
}

/* --- The head ------------------------------------------------------------------------
 */

/* For the last time: what follows on this connection cannot be told apart, or is not
 * worth reading. */
static Progress answer_and_close(Conn *conn)
{
    conn->close = true;
    conn->linger = true;
    http_answer(conn);
    return PROGRESS_ON;
}

static Progress refuse_head(Conn *conn, HeadFault fault)
{
    conn->exchange->head = (HttpHead){ 0 };
    conn->no_body = false;
    exchange_refuse(conn->exchange, fault.code, "%s", fault.detail);
    return answer_and_close(conn);
}

/* The answer is known before the body was read: a small body is read and dropped so that
 * the connection can go on. One that is only announced may never come. */
static Progress refused_early(Conn *conn)
{
    bool announced = exchange_header(conn->exchange, "Expect").data && !conn->view.bytes;
    if (conn->close || announced || conn->body_left > DISCARD_BYTES_MAX)
        return answer_and_close(conn);
    conn->phase = PHASE_BODY;
    return PROGRESS_ON;
}

/* Who waits to be told to go on with the body is told so. */
static Progress say_continue(Conn *conn)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    Slice line = { text, sizeof text - 1 };
    size_t sent;
    if (conn->view.bytes || (!conn->body_left && !conn->in_chunks) ||
        conn->exchange->head.old || /* would take it for the answer */
        !head_field_has(&conn->exchange->head, "Expect", "100-continue"))
        return PROGRESS_ON;
    /* Everything before is sent, so there is room. */
    Progress progress = conn_send(conn, line, (Slice){ NULL, 0 }, &sent);
    return progress == PROGRESS_ON && sent == line.bytes ? PROGRESS_ON : PROGRESS_GONE;
}

static Progress take_head(Conn *conn, size_t bytes)
{
    Exchange *exchange = conn->exchange;
    HeadFault fault;
    char *text = arena_copy(&exchange->arena, conn->view.data, bytes);
    conn_use(conn, bytes);
    conn->head_begun = false;
    conn->close = conn->linger = conn->no_body = conn->in_chunks = false;
    conn->body_left = 0;
    conn->chunks = (Chunks){ 0 };
    conn->deadline_ms = TIME_NEVER;
    if (!head_parse(text, bytes, &exchange->arena, &exchange->head, &fault))
        return refuse_head(conn, fault);
    http_begin(conn);
    conn->body_from_ms = 0;
    if (exchange->replied)
        return refused_early(conn);
    conn->phase = PHASE_BODY;
    /* A promise to send much is not yet a reason to reserve much. */
    if (conn->body_left)
        buf_room(&exchange->body, conn->body_left < BODY_ROOM_BYTES
                                      ? (size_t)conn->body_left
                                      : BODY_ROOM_BYTES);
    return say_continue(conn);
}

static Progress head_step(Conn *conn)
{
    const HttpOptions *options = &conn->listener->http->options;
    while (conn->view.bytes && !conn->head_begun &&
           (conn->view.data[0] == '\r' || conn->view.data[0] == '\n'))
        conn_use(conn, 1); /* RFC 9112, 2.2: some clients send them behind a body */
    size_t bytes = conn->view.bytes ? head_length(conn->view) : 0;
    if (conn->view.bytes && !conn->exchange)
        conn->exchange = exchange_new(conn);
    if (bytes > options->header_bytes_max ||
        (!bytes && conn->view.bytes >= options->header_bytes_max))
        return refuse_head(conn, head_too_long(conn->view, options->header_bytes_max));
    if (bytes)
        return take_head(conn, bytes);
    if (conn->view.bytes && !conn->head_begun) {
        conn->head_begun = true;
        conn_deadline(conn, options->header_ms);
    }
    return conn_fill(conn);
}

/* --- The body ------------------------------------------------------------------------
 */

/* Too much, of this request or of all together: the rest is read and dropped. */
static void refuse_body(Conn *conn, bool own)
{
    const HttpOptions *options = &conn->listener->http->options;
    Buf *body = &conn->exchange->body;
    conn->close = true;
    conn->discarded = body->bytes;
    conn->listener->http->body_bytes -= conn->body_taken;
    conn->body_taken = 0;
    buf_done(body);
    if (own)
        exchange_refuse(conn->exchange, "body_too_large", "the limit is %llu bytes",
                        (unsigned long long)options->body_bytes_max);
    else
        exchange_refuse(conn->exchange, "unavailable",
                        "too many large requests at the same time");
}

/* False when so much was dropped that the client is, too. */
static bool take_data(Conn *conn, Slice data)
{
    Http *http = conn->listener->http;
    Buf *body = &conn->exchange->body;
    uint64_t most = http->options.body_bytes_max;
    if (!conn->exchange->replied) {
        bool fits = body->bytes + data.bytes <= most; /* only chunked bodies may not */
        if (fits && http->body_bytes + data.bytes <= most * HTTP_BODIES_MAX) {
            http->body_bytes += data.bytes;
            conn->body_taken += data.bytes;
            buf_add_slice(body, data);
            return true;
        }
        refuse_body(conn, !fits);
    }
    conn->discarded += data.bytes;
    return conn->discarded <= most * DISCARD_TIMES_MAX;
}

static Progress take_chunks(Conn *conn)
{
    while (conn->view.bytes && conn->chunks.state < CHUNKS_DONE)
        if (!take_data(conn, chunks_take(&conn->chunks, &conn->view)))
            return PROGRESS_GONE;
    if (conn->chunks.state != CHUNKS_BAD)
        return PROGRESS_ON;
    if (!conn->exchange->replied)
        exchange_refuse(conn->exchange, "bad_request", "the body is not in chunks");
    return answer_and_close(conn);
}

static Progress take_plain(Conn *conn)
{
    size_t bytes =
        conn->view.bytes < conn->body_left ? conn->view.bytes : (size_t)conn->body_left;
    Slice data = { conn->view.data, bytes };
    conn_use(conn, bytes);
    conn->body_left -= bytes;
    return !bytes || take_data(conn, data) ? PROGRESS_ON : PROGRESS_GONE;
}

static Progress more_body(Conn *conn)
{
    const HttpOptions *options = &conn->listener->http->options;
    int64_t so_far = (int64_t)(conn->exchange->body.bytes + conn->discarded);
    if (!conn->body_from_ms)
        conn->body_from_ms = clock_now().boot_ms;
    conn->deadline_ms =
        conn->body_from_ms + options->body_ms + so_far * MS_PER_S / HTTP_BYTES_PER_S;
    return conn_fill(conn);
}

static Progress body_step(Conn *conn)
{
    Progress progress = conn->in_chunks ? take_chunks(conn) : take_plain(conn);
    bool whole = conn->in_chunks ? conn->chunks.state == CHUNKS_DONE : !conn->body_left;
    if (progress != PROGRESS_ON || conn->phase != PHASE_BODY)
        return progress;
    if (!whole)
        return more_body(conn);
    conn->deadline_ms = TIME_NEVER;
    if (conn->exchange->replied)
        http_answer(conn);
    else
        conn->phase = PHASE_RUN;
    return PROGRESS_ON;
}

/* --- The handler ---------------------------------------------------------------------
 */

/* Whether requests come one at a time, so that this thread may do the daemon's work for
 * them: the same client again and again, or no one for a while. Where many ask, this
 * thread had better go on and let what they ask gather. */
static bool comes_alone(Conn *conn)
{
    Listener *listener = conn->listener;
    int64_t now_ms = clock_now().boot_ms;
    bool close_by = now_ms - listener->last_ms <= ALONE_MS;
    unsigned in_row = listener->last == conn ? listener->in_row + 1 : 0;
    if (close_by && listener->last && listener->last != conn)
        listener->many_ms = now_ms;
    bool rare = !close_by && now_ms - listener->many_ms > ALONE_AFTER_MS;
    listener->last = conn;
    listener->in_row = in_row;
    listener->last_ms = now_ms;
    return rare || in_row >= ALONE_IN_ROW;
}

static Progress run_step(Conn *conn)
{
    Exchange *exchange = conn->exchange;
    if (!conn->counted && !http_enter(conn->listener->http)) {
        exchange_refuse(exchange, "draining", "the server is closing");
        http_answer(conn);
        return PROGRESS_ON;
    }
    if (!conn->counted) {
        conn->counted = true;
        exchange->alone = comes_alone(conn);
        exchange->route->handle(exchange);
    }
    if (!exchange_drive(exchange))
        return PROGRESS_WAIT;
    http_answer(conn);
    return PROGRESS_ON;
}

/* --- The end -------------------------------------------------------------------------
 */

static Progress send_step(Conn *conn)
{
    bool all;
    Progress progress = http_send(conn, &all);
    if (!all)
        return progress;
    request_end(conn, true);
    conn->listener->last_ms = clock_now().boot_ms;
    conn->deadline_ms = conn->listener->last_ms + conn->listener->http->options.idle_ms;
    conn->phase = PHASE_HEAD;
    if (!conn->close)
        return PROGRESS_ON;
    if (!conn->linger && !conn->view.bytes && !conn->tls)
        return PROGRESS_GONE;
    conn_half_close(conn);
    conn->phase = PHASE_LINGER;
    return PROGRESS_ON;
}

static Progress tls_step(Conn *conn)
{
    Progress progress = conn_handshake(conn);
    if (progress == PROGRESS_ON)
        conn->phase = PHASE_HEAD;
    conn->readable = true; /* what came with the handshake may be read already */
    return progress;
}

Progress conn_step(Conn *conn)
{
    switch (conn->phase) {
    case PHASE_TLS:
        return tls_step(conn);
    case PHASE_HEAD:
        return head_step(conn);
    case PHASE_BODY:
        return body_step(conn);
    case PHASE_RUN:
        return run_step(conn);
    case PHASE_SEND:
        return send_step(conn);
    case PHASE_LINGER:
        return conn_drain(conn);
    }
    assert(false);
    return PROGRESS_GONE;
}
