/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - see http.h. Here: opening and closing. A request goes from poll.c (whose
 * turn it is) and http/conn.c (bytes) to request.c (its steps), http/route.c and
 * auth.c (whether it is let in), its handler, and http/reply.c. */
#include "http/server_state.h"

#include "base/log.h"
#include "http/peer_credentials.h"
#include "http/tls.h"

#include <assert.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define HEADER_BYTES_MAX (16u << 10)
#define BODY_BYTES_MAX   (64ull << 20)
#define CONNECTIONS_MAX  10000
#define DESCRIPTORS_KEPT 128 /* for files, jobs and the rest of the daemon */

static Err make_tls(Http *http, Error *why)
{
    int err = gnutls_certificate_allocate_credentials(&http->credentials);
    if (!err)
        err = gnutls_priority_init(&http->priorities, TLS_PRIORITIES, NULL);
    if (err)
        return error_set(why, ERR_LIMIT, "cannot prepare TLS: %s", gnutls_strerror(err));
    gnutls_certificate_set_retrieve_function2(http->credentials, tls_certificate);
    return ERR_OK;
}

static Err start(Http *http, int fd, bool tcp, Error *why)
{
    Listener *listener = &http->listeners[http->listener_count++];
    *listener = (Listener){ .http = http,
                            .tcp = tcp,
                            .beyond = tcp && listen_beyond(http->address),
                            .tls = tcp && http->options.tls,
                            .fd = fd,
                            .poll_fd = -1,
                            .wake_fd = -1 };
    return poll_open(listener, why);
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
    if (!tokens_closed(options->tokens))
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
    if (!refused && options->tls)
        refused = make_tls(http, why);
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
    pthread_mutex_init(&http->lock, NULL);
    pthread_cond_init(&http->quiet, NULL);
    Err err = open_listeners(http, why);
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
    pthread_mutex_lock(&http->lock);
    http->closing = true;
    pthread_mutex_unlock(&http->lock);
    if (http->socket_path)
        unlink(http->socket_path);
    for (size_t i = 0; i < http->listener_count; i++)
        poll_quiesce(&http->listeners[i]);
    wait_until_quiet(http);
    for (size_t i = 0; i < http->listener_count; i++)
        poll_close(&http->listeners[i]);
    wait_until_quiet(http); /* calls of clients that were cut off just now */
    if (http->credentials)
        gnutls_certificate_free_credentials(http->credentials);
    if (http->priorities)
        gnutls_priority_deinit(http->priorities);
    pthread_mutex_destroy(&http->lock);
    pthread_cond_destroy(&http->quiet);
    mem_free(http->socket_path);
    mem_free(http);
}
