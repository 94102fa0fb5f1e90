/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c - sending an exchange's answer, and counting it. */
#include "http/server_state.h"

#include "watch/metrics.h"

#include <sys/socket.h>
#include <time.h>

#define JOINED_BYTES_MAX (8u << 10)  /* bodies that are sent together with their head */
#define REPLY_KEPT_BYTES (16u << 10) /* larger buffers are given back */

/* Every status that an answer of ours can have. */
static const unsigned statuses[] = {
    200, 201, 202, 204, 304, 307, 400, 401, 403, 404, 405, 409,
    413, 414, 415, 421, 422, 429, 431, 500, 501, 503, 504, 505,
};
#define STATUSES (sizeof statuses / sizeof *statuses)
_Static_assert(STATUSES <= STATUS_SLOTS, "one slot per status");

static void count(Conn *conn)
{
    const Exchange *exchange = conn->exchange;
    Http *http = conn->listener->http;
    size_t row = exchange->route ? (size_t)(exchange->route - routes) : ROUTES_MAX;
    for (size_t i = 0; i < STATUSES; i++)
        if (statuses[i] == exchange->status)
            http->requests[row][i]++;
}

void http_requests_write(Buf *out, Http *http)
{
    metric_head(out, "pawl_http_requests_total", "counter", "answers by route and code");
    for (size_t row = 0; row <= ROUTES_MAX; row++) {
        for (size_t i = 0; i < STATUSES; i++) {
            unsigned long long number = http->requests[row][i];
            if (!number)
                continue;
            buf_printf(
                out, "pawl_http_requests_total{route=\"%s%s%s\",code=\"%u\"} %llu\n",
                row < route_count ? method_name(routes[row].method) : "",
                row < route_count ? " " : "",
                row < route_count ? routes[row].path : "none", statuses[i], number);
        }
    }
}

static const char *reason(unsigned status)
{
    static const struct {
        unsigned status;
        const char *words;
    } reasons[] = {
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 304, "Not Modified" },
        { 307, "Temporary Redirect" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 409, "Conflict" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 415, "Unsupported Media Type" },
        { 421, "Misdirected Request" },
        { 422, "Unprocessable Content" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].words;
    return "Other";
}

/* The same for all answers of a second. */
static const char *date_now(Listener *listener)
{
    time_t now_s = clock_now().wall_ms / MS_PER_S;
    struct tm parts;
    if (now_s != listener->dated_s && gmtime_r(&now_s, &parts)) {
        strftime(listener->date, sizeof listener->date, "%a, %d %b %Y %H:%M:%S GMT",
                 &parts);
        listener->dated_s = now_s;
    }
    return listener->date;
}

static void add_header(Buf *out, const char *name, const char *value)
{
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at < ' ')
            return; /* it would be read as another header */
    buf_add_text(out, name);
    buf_add_text(out, ": ");
    buf_add_text(out, value);
    buf_add_text(out, "\r\n");
}

static void add_status(Buf *out, unsigned status)
{
    buf_add_text(out, "HTTP/1.1 ");
    buf_add_int(out, status);
    buf_add_char(out, ' ');
    buf_add_text(out, reason(status));
    buf_add_text(out, "\r\n");
}

static void add_length(Buf *out, size_t bytes)
{
    buf_add_text(out, "Content-Length: ");
    buf_add_int(out, (int64_t)bytes);
    buf_add_text(out, "\r\n");
}

static bool is_bodiless(unsigned status)
{
    return status == 204 || status == 304;
}

/* Answers are of the moment, unless the handler says otherwise. */
static void add_caching(const Exchange *exchange, Buf *out)
{
    for (size_t i = 0; i < exchange->header_count; i++)
        if (strcmp(exchange->headers[i].name, "Cache-Control") == 0)
            return;
    buf_add_text(out, "Cache-Control: no-store\r\n");
}

static void add_headers(Conn *conn)
{
    const Exchange *exchange = conn->exchange;
    Buf *out = &conn->reply;
    if (exchange->content_type)
        add_header(out, "Content-Type", exchange->content_type);
    add_caching(exchange, out);
    buf_add_text(out, "X-Content-Type-Options: nosniff\r\n");
    add_header(out, "Date", date_now(conn->listener));
    if (conn->close)
        buf_add_text(out, "Connection: close\r\n");
    for (size_t i = 0; i < exchange->header_count; i++)
        add_header(out, exchange->headers[i].name, exchange->headers[i].value);
    if (conn->chunked)
        buf_add_text(out, "Transfer-Encoding: chunked\r\n");
    else if (!exchange->stream && !is_bodiless(exchange->status))
        add_length(out, exchange->out.bytes);
    buf_add_text(out, "\r\n");
}

void http_answer(Conn *conn)
{
    Exchange *exchange = conn->exchange;
    const Http *http = conn->listener->http;
    size_t bytes = exchange->out.bytes;
    conn->no_body = conn->no_body || is_bodiless(exchange->status);
    conn->chunked = exchange->stream && !exchange->head.old;
    conn->close = conn->close || http->leaving || http->closing ||
                  (exchange->stream && exchange->head.old);
    conn->phase = PHASE_SEND;
    conn->reply_sent = 0;
    conn->body_sent = 0;
    buf_clear(&conn->reply);
    add_status(&conn->reply, exchange->status);
    add_headers(conn);
    count(conn);
    if (exchange->stream && conn->no_body)
        stream_end(conn);
    else if (exchange->stream)
        stream_begin(exchange->stream, conn);
    conn->body_sent = conn->no_body || exchange->stream ? bytes : 0;
    if (bytes <= JOINED_BYTES_MAX && !conn->body_sent) {
        buf_add_slice(&conn->reply, buf_slice(&exchange->out));
        conn->body_sent = bytes;
    }
    conn->send_begun = false;
}

/* When nobody reads, each step of a stream and the whole of another answer has its
 * time. */
static void begin_waiting(Conn *conn)
{
    const HttpOptions *options = &conn->listener->http->options;
    int64_t bytes = (int64_t)conn->exchange->out.bytes;
    if (!conn->send_begun)
        conn_deadline(conn, options->send_ms + bytes * MS_PER_S / HTTP_BYTES_PER_S);
    conn->send_begun = true;
}

/* One piece of what is left. */
static Progress send_piece(Conn *conn)
{
    Slice head = slice_from(buf_slice(&conn->reply), conn->reply_sent);
    Slice body = slice_from(buf_slice(&conn->exchange->out), conn->body_sent);
    size_t sent;
    if (!head.bytes && !body.bytes)
        return PROGRESS_ON;
    Progress progress = conn_send(conn, head, body, &sent);
    if (progress == PROGRESS_WAIT)
        begin_waiting(conn);
    size_t of_head = sent < head.bytes ? sent : head.bytes;
    conn->reply_sent += of_head;
    conn->body_sent += sent - of_head;
    return progress;
}

Progress http_send(Conn *conn, bool *out_all)
{
    const Exchange *exchange = conn->exchange;
    Progress progress = send_piece(conn);
    *out_all = false;
    if (progress != PROGRESS_ON || conn->reply_sent < conn->reply.bytes ||
        conn->body_sent < exchange->out.bytes)
        return progress;
    if (exchange->stream) {
        conn->send_begun = false;
        if (!stream_next(exchange->stream, conn))
            stream_end(conn);
        return conn->suspended ? PROGRESS_WAIT : PROGRESS_ON;
    }
    *out_all = true;
    if (conn->reply.capacity > REPLY_KEPT_BYTES)
        buf_done(&conn->reply);
    return PROGRESS_ON;
}

bool http_refuse_now(int fd, const char *code, const char *detail)
{
    Problem problem;
    Buf text = { 0 };
    Buf body = { 0 };
    JsonOut json = { .out = &body };
    problem_set(&problem, code, "%s", detail);
    json_object(&json, NULL);
    problem_members(&json, &problem);
    json_object_end(&json);
    add_status(&text, (unsigned)problem.kind->status);
    buf_add_text(&text, "Content-Type: application/problem+json\r\n"
                        "Connection: close\r\nRetry-After: 1\r\n");
    add_length(&text, body.bytes);
    buf_add_text(&text, "\r\n");
    buf_add_slice(&text, buf_slice(&body));
    ssize_t sent = send(fd, text.data, text.bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    bool whole = sent == (ssize_t)text.bytes;
    shutdown(fd, SHUT_WR);
    buf_done(&text);
    buf_done(&body);
    return whole;
}
