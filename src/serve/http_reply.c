/* SPDX-License-Identifier: Apache-2.0 */
/* http_reply.c - sending an exchange's answer, and counting it. */
#include "serve/http_inside.h"

#include "serve/metrics.h"

/* Every status that an answer of ours can have. */
static const unsigned statuses[] = {
    200, 201, 202, 204, 400, 401, 403, 404, 405, 409,
    413, 415, 421, 422, 429, 500, 501, 503, 504,
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

static void add_headers(struct MHD_Response *response, const Conn *conn)
{
    const Exchange *exchange = conn->exchange;
    if (exchange->content_type)
        MHD_add_response_header(response, "Content-Type", exchange->content_type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    const Http *http = conn->listener->http;
    if (conn->close || http->leaving || http->closing)
        MHD_add_response_header(response, "Connection", "close");
    for (size_t i = 0; i < exchange->header_count; i++)
        MHD_add_response_header(response, exchange->headers[i].name,
                                exchange->headers[i].value);
}

enum MHD_Result http_queue(Conn *conn)
{
    Exchange *exchange = conn->exchange;
    Http *http = conn->listener->http;
    struct MHD_Response *response =
        exchange->stream
            ? stream_response(exchange->stream, conn)
            : MHD_create_response_from_buffer(exchange->out.bytes, exchange->out.data,
                                              MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    add_headers(response, conn);
    conn->phase = PHASE_SENT;
    conn_deadline(conn, http->options.send_ms +
                            (int64_t)exchange->out.bytes * MS_PER_S / HTTP_BYTES_PER_S);
    count(conn);
    enum MHD_Result result =
        MHD_queue_response(conn->connection, exchange->status, response);
    MHD_destroy_response(response);
    return result;
}
