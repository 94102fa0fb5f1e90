/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c - whom a request comes from, and whether its route is for them.
 *
 * While there are no tokens, a loopback listener serves the daemon's own user and root,
 * with every right. Once there is one, TCP needs a token; the Unix socket, which only
 * that user and root can open, does not: it is the way back in. A token that is sent is
 * always looked at, on the socket too, so that one can act with less than one has.
 *
 * The tenant of a token becomes the parameter `tenant` of its requests: handlers need not
 * know about tokens. Routes that know no tenant are about all of them, and are not for
 * tokens of one. */
#include "http/server_state.h"

#include "access/token.h"
#include "base/log.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#define REFUSED_LOG_MS MS_PER_S /* one line for all refusals within it */

static bool is_closed(const Conn *conn)
{
    const Listener *listener = conn->listener;
    return listener->tcp &&
           (listener->beyond || tokens_closed(listener->http->options.tokens));
}

bool http_is_open(const Conn *conn)
{
    return !is_closed(conn);
}

static void find_from(const Conn *conn, char from[CALLER_FROM_BYTES])
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_storage room;
    } peer = { 0 };
    socklen_t bytes = sizeof peer;
    char host[INET6_ADDRSTRLEN] = "";
    if (!conn->listener->tcp || getpeername(conn->fd, &peer.any, &bytes)) {
        snprintf(from, CALLER_FROM_BYTES, "unix");
    } else if (peer.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &peer.six.sin6_addr, host, sizeof host);
        snprintf(from, CALLER_FROM_BYTES, "[%s]:%u", host, ntohs(peer.six.sin6_port));
    } else {
        inet_ntop(AF_INET, &peer.four.sin_addr, host, sizeof host);
        snprintf(from, CALLER_FROM_BYTES, "%s:%u", host, ntohs(peer.four.sin_port));
    }
}

/* Found out once for a connection. */
static void set_from(Conn *conn, Caller *caller)
{
    if (!conn->from[0])
        find_from(conn, conn->from);
    memcpy(caller->from, conn->from, sizeof caller->from);
}

/* By whose process it is; found out once for a connection. */
static bool admit_peer(Conn *conn, Caller *caller)
{
    Http *http = conn->listener->http;
    if (!conn->peer_known) {
        conn->peer_known = true;
        conn->peer_allowed = http->options.peer_uid(conn->fd, &conn->peer) &&
                             (conn->peer == http->own_uid || conn->peer == 0);
        snprintf(conn->peer_who, PEER_WHO_BYTES, "uid:%u", (unsigned)conn->peer);
    }
    caller->scopes = conn->peer_allowed ? SCOPES_ALL : 0;
    memcpy(caller->who, conn->peer_who, PEER_WHO_BYTES);
    return conn->peer_allowed;
}

/* The secret that was sent; data NULL: none. False after it refused. */
static bool read_bearer(Conn *conn, Slice *out)
{
    static const Slice scheme = { "Bearer ", 7 };
    *out = (Slice){ NULL, 0 };
    if (exchange_header_count(conn->exchange, "Authorization") > 1) {
        exchange_refuse(conn->exchange, "bad_request",
                        "Authorization is given more than once");
        return false;
    }
    Slice value = exchange_header(conn->exchange, "Authorization");
    if (value.bytes < scheme.bytes ||
        strncasecmp(value.data, scheme.data, scheme.bytes) != 0)
        return true;
    value = slice_from(value, scheme.bytes);
    while (value.bytes && value.data[0] == ' ')
        value = slice_from(value, 1);
    while (value.bytes && value.data[value.bytes - 1] == ' ')
        value.bytes--;
    *out = value;
    return true;
}

/* Guessing 256 bits is hopeless, so nobody is locked out for trying (which would let
 * strangers lock out others); but it is told. */
static void refuse(Conn *conn, const char *code)
{
    Http *http = conn->listener->http;
    int64_t now_ms = clock_now().boot_ms;
    int64_t last_ms = atomic_load(&http->refused_ms);
    http->refused++;
    if (now_ms - last_ms >= REFUSED_LOG_MS &&
        atomic_compare_exchange_strong(&http->refused_ms, &last_ms, now_ms))
        log_event(LOG_WARN, "auth.refused", "from=%s why=%s so_far=%llu",
                  conn->exchange->caller.from, code, (unsigned long long)http->refused);
    exchange_add_header(conn->exchange, "WWW-Authenticate", "Bearer realm=\"pawl\"");
    exchange_refuse(conn->exchange, code,
                    strcmp(code, "token_missing") == 0
                        ? "this daemon has tokens: send one"
                        : "the token is not known, was revoked, or has expired");
}

static void use_saved(Call *call)
{
    Http *http = call->context;
    arena_done(&call->arena);
    mem_free(call);
    http_quiet(http);
}

/* Nobody waits for it. */
static void save_use(Http *http, const Caller *caller, int64_t now_ms)
{
    Call *call = MEM_NEW(Call);
    Buf value = { 0 };
    TokenUse use = { now_ms, slice_text(caller->from) };
    token_use_pack(&value, &use);
    call->kind = CALL_EVENT;
    call->done = use_saved;
    call->context = http;
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(TOKEN_USES);
    call->event.key =
        slice_copy(&call->arena, slice_text(caller->who + strlen("token:")));
    call->event.value = slice_copy(&call->arena, buf_slice(&value));
    buf_done(&value);
    http_busy(http);
    daemon_call(http->daemon, call);
}

static bool admit_token(Conn *conn, Slice secret)
{
    Http *http = conn->listener->http;
    Caller *caller = &conn->exchange->caller;
    int64_t now_ms = clock_now().wall_ms;
    bool save;
    if (!tokens_admit(http->options.tokens, secret, now_ms, caller, &save)) {
        refuse(conn, "token_invalid");
        return false;
    }
    if (save)
        save_use(http, caller, now_ms);
    return true;
}

bool http_admit(Conn *conn)
{
    Exchange *exchange = conn->exchange;
    Caller *caller = &exchange->caller;
    bool free_for_all = exchange->route->scope == SCOPE_NONE;
    bool closed = is_closed(conn);
    Slice secret;
    *caller = (Caller){ 0 };
    set_from(conn, caller);
    if (!read_bearer(conn, &secret))
        return false;
    /* Other texts on an open door are not ours to judge: jobs have a PAWL_TOKEN too. */
    bool sent = secret.data && (closed || token_formed(secret));
    if (sent && !free_for_all) {
        if (!admit_token(conn, secret))
            return false;
    } else if (closed && !free_for_all) {
        refuse(conn, "token_missing");
        return false;
    } else if (!closed && !admit_peer(conn, caller) && !free_for_all) {
        exchange_refuse(exchange, "user_not_allowed",
                        "only the daemon's own user and root may use it");
        return false;
    }
    if (!free_for_all && !tokens_allows(conn->listener->http->options.tokens, caller,
                                        clock_now().boot_ms)) {
        exchange_refuse(exchange, "quota_exceeded", "tenant %s asks too often",
                        caller->tenant);
        return false;
    }
    if (scopes_allow(caller->scopes, exchange->route->scope))
        return true;
    exchange_refuse(exchange, "scope_missing", "this needs a token with the scope %s",
                    scope_name(exchange->route->scope));
    return false;
}

/* --- Tenants -------------------------------------------------------------------------
 */

static void give_param(Exchange *exchange, const char *name, Slice value)
{
    Param *params =
        arena_take(&exchange->arena, (exchange->param_count + 1) * sizeof *params);
    if (exchange->param_count)
        memcpy(params, exchange->params, exchange->param_count * sizeof *params);
    params[exchange->param_count++] = (Param){ slice_text(name), value };
    exchange->params = params;
}

bool http_bind_tenant(Conn *conn)
{
    Exchange *exchange = conn->exchange;
    const Caller *caller = &exchange->caller;
    Slice own = slice_text(caller->tenant);
    RouteTenant of = route_tenant(exchange->route);
    bool own_only = of != ROUTE_BY_PATH || slice_equal(exchange->parts[0], own);
    if (!caller->bound || exchange->route->scope == SCOPE_NONE)
        return true;
    for (size_t i = 0; i < exchange->param_count; i++)
        own_only = own_only && (!slice_is(exchange->params[i].name, "tenant") ||
                                slice_equal(exchange->params[i].value, own));
    if (of == ROUTE_OF_ALL) {
        exchange_refuse(exchange, "tenant_not_allowed",
                        "this is about all tenants, the token is for one");
        return false;
    }
    if (!own_only) {
        exchange_refuse(exchange, "tenant_not_allowed",
                        "the token is for another tenant");
        return false;
    }
    if (of == ROUTE_BY_PARAM && !exchange_param(exchange, "tenant").data)
        give_param(exchange, "tenant", slice_copy(&exchange->arena, own));
    return true;
}
