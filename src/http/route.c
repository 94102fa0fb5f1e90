/* SPDX-License-Identifier: Apache-2.0 */
/* route.c - which route a request goes to, and what is refused on the way there, in
 * this order: how its body ends, where it comes from, whether there is such a path, who
 * asks, and what for. */
#include "http/server_state.h"

#include "base/log.h"
#include "http/origin_check.h"

#include <strings.h>

static bool changes_state(Method method)
{
    return method != METHOD_GET;
}

/* What a browser must not be used for. False after it refused. */
static bool check_origin(Conn *conn, Method method)
{
    Exchange *exchange = conn->exchange;
    Slice host = exchange_header(exchange, "Host");
    unsigned hosts = exchange_header_count(exchange, "Host");
    if (hosts > 1 || (hosts == 0 && !exchange->head.old)) {
        conn->close = true; /* who is between us may have gone by the other one */
        exchange_refuse(exchange, "bad_request",
                        hosts ? "Host is given more than once" : "there is no Host");
        return false;
    }
    if (exchange->head.authority.data)
        host = exchange->head.authority;
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

/* Exactly one way to know where the body ends, and an end within the limit. */
static bool check_body(Conn *conn)
{
    Exchange *exchange = conn->exchange;
    Slice coding = exchange_header(exchange, "Transfer-Encoding");
    Slice length = exchange_header(exchange, "Content-Length");
    uint64_t most = conn->listener->http->options.body_bytes_max;
    unsigned ways = exchange_header_count(exchange, "Content-Length") +
                    exchange_header_count(exchange, "Transfer-Encoding");
    /* Until it is known where the next request begins, there is none. */
    conn->close = true;
    if (ways > 1) {
        exchange_refuse(exchange, "bad_request",
                        "the length of the body is given more than once");
        return false;
    }
    if (coding.data && (exchange->head.old || strcasecmp(coding.data, "chunked") != 0)) {
        exchange_refuse(exchange, exchange->head.old ? "bad_request" : "not_implemented",
                        "only the transfer coding 'chunked' is known, of HTTP/1.1");
        return false;
    }
    if (length.data && !head_content_length(length, &conn->body_left)) {
        exchange_refuse(exchange, "bad_request", "Content-Length is no number");
        return false;
    }
    conn->in_chunks = coding.data != NULL;
    conn->close =
        exchange->head.old || head_field_has(&exchange->head, "Connection", "close");
    if (conn->body_left > most) {
        exchange_refuse(exchange, "body_too_large",
                        "the body has %llu bytes; the limit is %llu",
                        (unsigned long long)conn->body_left, (unsigned long long)most);
        return false;
    }
    return true;
}

static void refuse_method(Exchange *exchange, unsigned allowed)
{
    Buf list = { 0 };
    for (unsigned i = 0; i < METHODS; i++)
        if (allowed & 1u << i)
            buf_printf(&list, "%s%s%s", list.bytes ? ", " : "", method_name((Method)i),
                       i == METHOD_GET ? ", HEAD" : "");
    exchange_add_header(exchange, "Allow", buf_cstr(&list));
    if (slice_is(exchange->head.method, "OPTIONS"))
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
static bool find_route(Exchange *exchange, Method method, Slice *out_query)
{
    Slice query = exchange->head.target;
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
        refuse_method(exchange, allowed);
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

static Method method_of(Slice verb)
{
    if (slice_is(verb, "HEAD"))
        return METHOD_GET;
    for (unsigned i = 0; i < METHODS; i++)
        if (slice_is(verb, method_name((Method)i)))
            return (Method)i;
    return METHOD_NONE;
}

void http_begin(Conn *conn)
{
    Exchange *exchange = conn->exchange;
    Method method = method_of(exchange->head.method);
    Slice query;
    conn->no_body = slice_is(exchange->head.method, "HEAD");
    if (!check_body(conn) || !check_origin(conn, method))
        return;
    if (conn->listener->http->closing)
        exchange_refuse(exchange, "draining", "the server is closing");
    else if (find_route(exchange, method, &query) && http_admit(conn) &&
             take_params(exchange, query))
        http_bind_tenant(conn);
}
