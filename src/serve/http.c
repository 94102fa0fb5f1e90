/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - see http.h. Here: opening and closing, and a request from its first line to
 * its handler.
 *
 * The order for each request: request line (on_uri), headers (begin: who asks, which
 * route, how large), body, handler, answer (http_reply.c), end (on_completed). What is
 * refused before the handler is refused there, in that order. */
#include "serve/http_inside.h"

#include "base/log.h"
#include "base/text.h"
#include "serve/guard.h"
#include "serve/peer.h"
#include "serve/tls.h"

#include <assert.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES_MAX  (16u << 10)
#define BODY_BYTES_MAX    (64ull << 20)
#define CONNECTIONS_MAX   10000
#define DESCRIPTORS_KEPT  128 /* for files, jobs and the rest of the daemon */
#define NOTES_BYTES       (4u << 10)
#define BODY_ROOM_BYTES   (64u << 10) /* reserved before the first byte */
#define DISCARD_TIMES_MAX 4           /* of a chunked body over the limit */
#define ALONE_MS          2           /* see comes_alone */
#define ALONE_IN_ROW      4
#define ALONE_AFTER_MS    100 /* once there were many */

/* --- Refusing before the handler ------------------------------------------------------
 */

static bool changes_state(Method method)
{
    return method != METHOD_GET;
}

/* What a browser must not be used for. False after it refused. */
static bool check_origin(Conn *conn, Method method)
{
    Exchange *exchange = conn->exchange;
    Slice host = exchange_header(exchange, "Host");
    if (exchange_header_count(exchange, "Host") > 1) {
        conn->close = true; /* who is between us may have gone by the other one */
        exchange_refuse(exchange, "bad_request", "Host is given more than once");
        return false;
    }
    /* A page cannot send a token that it does not have. */
    if (conn->listener->tcp && http_is_open(conn) && host.data && !host_is_local(host)) {
        exchange_refuse(exchange, "host_not_allowed",
                        "the Host header names another machine");
        return false;
    }
    if (!changes_state(method))
        return true;
    Slice origin = exchange_header(exchange, "Origin");
    if (!fetch_site_is_own(exchange_header(exchange, "Sec-Fetch-Site")) ||
        (origin.data && !origin_is_host(origin, host))) {
        exchange_refuse(exchange, "origin_not_allowed",
                        "the request comes from a page of another site");
        return false;
    }
    return true;
}

/* What the library has found to be a number; 0 where there is none. */
static uint64_t content_length(const Exchange *exchange)
{
    Slice text = exchange_header(exchange, "Content-Length");
    int64_t bytes = 0;
    return text.data && !int_parse(text, &bytes) && bytes > 0 ? (uint64_t)bytes : 0;
}

/* Exactly one way to know where the body ends, and an end within the limit. */
static bool check_body(Conn *conn)
{
    Exchange *exchange = conn->exchange;
    Http *http = conn->listener->http;
    Slice coding = exchange_header(exchange, "Transfer-Encoding");
    unsigned lengths = exchange_header_count(exchange, "Content-Length");
    if (lengths + (coding.data != NULL) > 1) {
        conn->close = true;
        exchange_refuse(exchange, "bad_request",
                        "the length of the body is given more than once");
        return false;
    }
    if (coding.data && strcasecmp(coding.data, "chunked") != 0) {
        conn->close = true;
        exchange_refuse(exchange, "not_implemented",
                        "only the transfer coding 'chunked' is known");
        return false;
    }
    uint64_t bytes = content_length(exchange);
    if (bytes > http->options.body_bytes_max) {
        exchange_refuse(
            exchange, "body_too_large", "the body has %llu bytes; the limit is %llu",
            (unsigned long long)bytes, (unsigned long long)http->options.body_bytes_max);
        return false;
    }
    return true;
}

static void refuse_method(Exchange *exchange, unsigned allowed, const char *method)
{
    Buf list = { 0 };
    for (unsigned i = 0; i < METHODS; i++)
        if (allowed & 1u << i)
            buf_printf(&list, "%s%s%s", list.bytes ? ", " : "", method_name((Method)i),
                       i == METHOD_GET ? ", HEAD" : "");
    exchange_add_header(exchange, "Allow", buf_cstr(&list));
    if (strcmp(method, "OPTIONS") == 0)
        exchange_reply(exchange, 204, NULL);
    else
        exchange_refuse(exchange, "method_not_allowed", "use %s", buf_cstr(&list));
    buf_done(&list);
}

static void refuse_param(Exchange *exchange, const Param *param)
{
    Problem problem;
    char quoted[LOG_QUOTE_BYTES];
    problem_set(&problem, "unknown_parameter", "there is no parameter %.120s here",
                log_quote(param->name, quoted));
    problem_hint(&problem, "%s%.160s",
                 exchange->route->params[0] ? "there are: " : "there are none",
                 exchange->route->params);
    exchange_problem(exchange, &problem);
}

/* Method and path to a route; *out_query is the rest. False after it refused. */
static bool find_route(Conn *conn, Method method, const char *verb, Slice *out_query)
{
    Exchange *exchange = conn->exchange;
    Slice query = slice_text(exchange->state);
    Slice path = slice_cut(&query, '?');
    unsigned allowed = 0;
    if (!path.bytes || path.data[0] != '/') {
        exchange_refuse(exchange, "bad_request", "the path must begin with a slash");
        return false;
    }
    exchange->route =
        route_find(method, path, &exchange->arena, exchange->parts, &allowed);
    *out_query = query;
    if (!exchange->route && allowed)
        refuse_method(exchange, allowed, verb);
    else if (!exchange->route)
        exchange_refuse(exchange, "path_not_found", "there is nothing at this path");
    return exchange->route != NULL;
}

static bool take_params(Exchange *exchange, Slice query)
{
    if (params_parse(query, &exchange->arena, &exchange->params,
                     &exchange->param_count)) {
        exchange_refuse(exchange, "bad_request", "the query of the URL is not valid");
        return false;
    }
    const Param *unknown =
        route_unknown_param(exchange->route, exchange->params, exchange->param_count);
    unsigned tenants = 0;
    for (size_t i = 0; i < exchange->param_count; i++)
        tenants += slice_is(exchange->params[i].name, "tenant");
    if (unknown)
        refuse_param(exchange, unknown);
    else if (tenants > 1)
        exchange_refuse(exchange, "bad_request", "tenant is given more than once");
    return !unknown && tenants < 2;
}

static Method method_of(const char *verb)
{
    if (strcmp(verb, "HEAD") == 0)
        return METHOD_GET;
    for (unsigned i = 0; i < METHODS; i++)
        if (strcmp(verb, method_name((Method)i)) == 0)
            return (Method)i;
    return METHOD_NONE;
}

/* All headers are there. */
static void begin(Conn *conn, const char *verb)
{
    Exchange *exchange = conn->exchange;
    Method method = method_of(verb);
    Slice query;
    if (conn->listener->http->closing)
        exchange_refuse(exchange, "draining", "the server is closing");
    else if (check_origin(conn, method) && check_body(conn) &&
             find_route(conn, method, verb, &query) && http_admit(conn) &&
             take_params(exchange, query))
        http_bind_tenant(conn);
}

/* --- libmicrohttpd's callbacks
 * ----------------------------------------------------------- */

static uint64_t body_expected(const Conn *conn)
{
    if (exchange_header(conn->exchange, "Transfer-Encoding").data)
        return UINT64_MAX;
    return content_length(conn->exchange);
}

/* The answer is known before the body was read: a small body is read and dropped so that
 * the connection can go on, else the answer goes out at once. */
static enum MHD_Result refused_early(Conn *conn)
{
    if (!conn->close && body_expected(conn) <= DISCARD_BYTES_MAX) {
        conn->phase = PHASE_REFUSED;
        return MHD_YES;
    }
    conn->close = true;
    conn->linger = true;
    return http_queue(conn);
}

static enum MHD_Result on_headers(Conn *conn, const char *verb)
{
    const HttpOptions *options = &conn->listener->http->options;
    uint64_t expected = body_expected(conn);
    begin(conn, verb);
    conn->body_from_ms = clock_now().boot_ms;
    conn_deadline(conn, options->body_ms);
    if (conn->exchange->replied)
        return refused_early(conn);
    conn->phase = PHASE_BODY;
    /* A promise to send much is not yet a reason to reserve much. */
    buf_room(&conn->exchange->body,
             expected < BODY_ROOM_BYTES ? (size_t)expected : BODY_ROOM_BYTES);
    return MHD_YES;
}

/* Too much, of this request or of all together: the rest is read and dropped. */
static void refuse_body(Conn *conn, bool own)
{
    const HttpOptions *options = &conn->listener->http->options;
    Buf *body = &conn->exchange->body;
    conn->close = true;
    conn->phase = PHASE_REFUSED;
    conn->discarded = body->bytes;
    conn->listener->http->body_bytes -= body->bytes;
    buf_done(body);
    if (own)
        exchange_refuse(conn->exchange, "body_too_large", "the limit is %llu bytes",
                        (unsigned long long)options->body_bytes_max);
    else
        exchange_refuse(conn->exchange, "unavailable",
                        "too many large requests at the same time");
}

static enum MHD_Result on_body(Conn *conn, const char *bytes, size_t count)
{
    Http *http = conn->listener->http;
    Buf *body = &conn->exchange->body;
    uint64_t most = http->options.body_bytes_max;
    int64_t so_far = (int64_t)(body->bytes + conn->discarded);
    conn->deadline_ms =
        conn->body_from_ms + http->options.body_ms + so_far * MS_PER_S / HTTP_BYTES_PER_S;
    if (conn->phase == PHASE_BODY) {
        bool fits = body->bytes + count <= most; /* only chunked bodies may not */
        if (fits && http->body_bytes + count <= most * HTTP_BODIES_MAX) {
            http->body_bytes += count;
            buf_add(body, bytes, count);
            return MHD_YES;
        }
        refuse_body(conn, !fits);
    }
    conn->discarded += count;
    return conn->discarded > most * DISCARD_TIMES_MAX ? MHD_NO : MHD_YES;
}

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

static enum MHD_Result run(Conn *conn)
{
    Exchange *exchange = conn->exchange;
    conn_deadline(conn, -1);
    if (conn->phase == PHASE_BODY) {
        conn->phase = PHASE_RUN;
        conn->counted = true;
        exchange->alone = comes_alone(conn);
        http_busy(conn->listener->http);
        exchange->state = NULL;
        exchange->route->handle(exchange);
    }
    if (conn->phase == PHASE_RUN && !exchange_drive(exchange))
        return MHD_YES;
    return http_queue(conn);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *url, const char *verb, const char *version,
                                  const char *body, size_t *body_bytes, void **request)
{
    (void)context;
    (void)connection;
    (void)url;
    (void)version;
    Conn *conn = *request;
    if (!conn)
        return MHD_NO;
    if (conn->phase == PHASE_HEAD)
        return on_headers(conn, verb);
    if (*body_bytes) {
        size_t count = *body_bytes;
        *body_bytes = 0;
        return on_body(conn, body, count);
    }
    return run(conn);
}

/* The request line is there, as it was sent. Its text is kept in `state` until the
 * handler has it. */
static void *on_uri(void *context, const char *uri, struct MHD_Connection *connection)
{
    Listener *listener = context;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    Conn *conn = info ? info->socket_context : NULL;
    if (!conn)
        return NULL;
    if (!conn->exchange)
        conn->exchange = exchange_new(conn);
    conn->exchange->state = slice_cstr(&conn->exchange->arena, slice_text(uri));
    conn->phase = PHASE_HEAD;
    conn_deadline(conn, listener->http->options.header_ms);
    return conn;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
    (void)connection;
    Listener *listener = context;
    Conn *conn = *request;
    if (!conn)
        return;
    *request = NULL;
    if (conn->exchange->stream)
        stream_unlink(conn->exchange->stream);
    listener->http->body_bytes -= conn->exchange->body.bytes;
    if (exchange_abandon(conn->exchange)) {
        if (conn->exchange->undelivered && code != MHD_REQUEST_TERMINATED_COMPLETED_OK)
            conn->exchange->undelivered(conn->exchange);
        exchange_reset(conn->exchange);
    } else {
        conn->exchange = NULL;
    }
    conn->phase = PHASE_IDLE;
    conn->discarded = 0;
    conn->close = false;
    conn_deadline(conn, listener->http->options.idle_ms);
    listener->last_ms = clock_now().boot_ms;
    /* Last: calls that are still out have been counted by then, so that closing waits
     * for them too. */
    if (conn->counted) {
        conn->counted = false;
        http_quiet(listener->http);
    }
}

static Conn *conn_new(Listener *listener, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    Conn *conn = MEM_NEW(Conn);
    conn->listener = listener;
    conn->connection = connection;
    conn->fd = info->connect_fd;
    conn_deadline(conn, listener->http->options.header_ms);
    Http *http = listener->http;
    pthread_mutex_lock(&http->lock);
    conn->next = http->conns;
    if (http->conns)
        http->conns->previous = conn;
    http->conns = conn;
    pthread_mutex_unlock(&http->lock);
    return conn;
}

static void conn_free(Conn *conn)
{
    Http *http = conn->listener->http;
    pthread_mutex_lock(&http->lock);
    if (conn->previous)
        conn->previous->next = conn->next;
    else
        http->conns = conn->next;
    if (conn->next)
        conn->next->previous = conn->previous;
    pthread_mutex_unlock(&http->lock);
    if (conn->linger)
        conn_linger(conn);
    exchange_free(conn->exchange);
    mem_free(conn);
}

static void on_connection(void *context, struct MHD_Connection *connection,
                          void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = conn_new(context, connection);
        return;
    }
    conn_free(*socket_context);
    *socket_context = NULL;
}

/* Paths and queries stay as they were sent; routes.c decodes them part by part. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

static void log_library(void *context, const char *format, va_list args)
    PRINTF_LIKE(2, 0);
static void log_library(void *context, const char *format, va_list args)
{
    (void)context;
    char text[256];
    char quoted[LOG_QUOTE_BYTES];
    vsnprintf(text, sizeof text, format, args);
    log_event(LOG_DEBUG, "http.note", "msg=%s", log_quote(slice_text(text), quoted));
}

/* --- Opening and closing
 * -------------------------------------------------------------------- */

static Err start(Http *http, int fd, bool tcp, Error *why)
{
    Listener *listener = &http->listeners[http->listener_count];
    const HttpOptions *options = &http->options;
    *listener = (Listener){
        .http = http, .tcp = tcp, .beyond = tcp && listen_beyond(http->address), .fd = -1
    };
    unsigned flags = MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD |
                     MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG;
    /* The head of a request as it came, what the library notes of it, and the head of the
     * answer. No more: all of it is cleared for each request. */
    size_t least = options->header_bytes_max / 4;
    size_t memory =
        options->header_bytes_max + (least > NOTES_BYTES ? least : NOTES_BYTES);
    const struct MHD_OptionItem with_tls[] = {
        { MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)tls_certificate },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES },
        { MHD_OPTION_END, 0, NULL },
    };
    bool tls = tcp && options->tls;
    flags |= tls ? MHD_USE_TLS : 0;
    unsigned threads = tcp && options->threads > 1 ? options->threads : 0;
    listener->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, listener, /* */
        MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, memory / 8, MHD_OPTION_CONNECTION_LIMIT,
        options->connections_max, MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, listener, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, listener, MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_ARRAY,
        tls ? with_tls : with_tls + 2, MHD_OPTION_END);
    if (!listener->daemon) {
        close(fd);
        return error_set(why, ERR_LIMIT, "cannot start the HTTP server");
    }
    http->listener_count++;
    return ERR_OK;
}

static void fill_options(HttpOptions *to)
{
    struct rlimit files = { 0 };
    to->header_bytes_max = to->header_bytes_max ? to->header_bytes_max : HEADER_BYTES_MAX;
    to->body_bytes_max = to->body_bytes_max ? to->body_bytes_max : BODY_BYTES_MAX;
    to->connections_max = to->connections_max ? to->connections_max : CONNECTIONS_MAX;
    to->header_ms = to->header_ms ? to->header_ms : 20 * MS_PER_S;
    to->body_ms = to->body_ms ? to->body_ms : 30 * MS_PER_S;
    to->idle_ms = to->idle_ms ? to->idle_ms : 75 * MS_PER_S;
    to->send_ms = to->send_ms ? to->send_ms : 60 * MS_PER_S;
    to->peer_uid = to->peer_uid ? to->peer_uid : peer_uid;
    if (!getrlimit(RLIMIT_NOFILE, &files) &&
        files.rlim_cur < to->connections_max + DESCRIPTORS_KEPT) {
        uint32_t most = files.rlim_cur > 2 * DESCRIPTORS_KEPT
                            ? (uint32_t)files.rlim_cur - DESCRIPTORS_KEPT
                            : DESCRIPTORS_KEPT;
        log_event(LOG_WARN, "http.connections", "max=%u wanted=%u why=\"open files\"",
                  most, to->connections_max);
        to->connections_max = most;
    }
}

/* Nothing listens beyond this machine that strangers could use or overhear. */
static Err check_reach(const HttpOptions *options, Error *why)
{
    if (!listen_beyond(options->tcp))
        return ERR_OK;
    if (!options->tls)
        return error_set(why, ERR_INVALID,
                         "cannot listen on %s: only loopback addresses without TLS "
                         "(tls.certificate, tls.key)",
                         options->tcp);
    if (!gate_closed(options->gate))
        return error_set(why, ERR_INVALID,
                         "cannot listen on %s: there is no token yet; start it on "
                         "127.0.0.1, make one (pawl token create), then start it here",
                         options->tcp);
    return ERR_OK;
}

static Err open_listeners(Http *http, Error *why)
{
    const HttpOptions *options = &http->options;
    int fd;
    Err refused = check_reach(options, why);
    if (refused)
        return refused;
    if (options->tcp && options->tcp[0]) {
        Err err = listen_tcp(options->tcp, &fd, http->address, why);
        if (!err)
            err = start(http, fd, true, why);
        if (err)
            return err;
    }
    if (!options->socket_path || !options->socket_path[0])
        return ERR_OK;
    Err err = listen_unix(options->socket_path, &fd, why);
    if (err)
        return err;
    http->socket_path = mem_copy(options->socket_path, strlen(options->socket_path) + 1);
    return start(http, fd, false, why);
}

Err http_open(const HttpOptions *options, Daemon *daemon, Http **out_http, Error *why)
{
    assert(route_count <= ROUTES_MAX);
    Http *http = MEM_NEW(Http);
    http->options = *options;
    fill_options(&http->options);
    http->daemon = daemon;
    http->own_uid = geteuid();
    http->wake_fd = -1;
    pthread_mutex_init(&http->lock, NULL);
    pthread_cond_init(&http->quiet, NULL);
    Err err = tick_open(http, why);
    if (!err)
        err = open_listeners(http, why);
    if (err) {
        http_close(http);
        return err;
    }
    *out_http = http;
    return ERR_OK;
}

void http_leave(Http *http)
{
    http->leaving = true;
}

const char *http_address(const Http *http)
{
    return http->address;
}

static void wait_until_quiet(Http *http)
{
    pthread_mutex_lock(&http->lock);
    while (http->busy)
        pthread_cond_wait(&http->quiet, &http->lock);
    pthread_mutex_unlock(&http->lock);
}

void http_close(Http *http)
{
    if (!http)
        return;
    http->close_boot = clock_now().boot_ms;
    http->closing = true;
    if (http->socket_path)
        unlink(http->socket_path);
    for (size_t i = 0; i < http->listener_count; i++)
        http->listeners[i].fd = MHD_quiesce_daemon(http->listeners[i].daemon);
    if (http->ticking)
        tick_wake(http);
    wait_until_quiet(http);
    for (size_t i = 0; i < http->listener_count; i++) {
        MHD_stop_daemon(http->listeners[i].daemon);
        if (http->listeners[i].fd >= 0)
            close(http->listeners[i].fd);
    }
    wait_until_quiet(http); /* calls of clients that were cut off just now */
    tick_close(http);
    pthread_mutex_destroy(&http->lock);
    pthread_cond_destroy(&http->quiet);
    mem_free(http->socket_path);
    mem_free(http);
}
