/* SPDX-License-Identifier: Apache-2.0 */
/* listeners.c - opens the listeners of the daemon, and writes down where they are. */
#include "engine/daemon_state.h"

#include "access/security.h"
#include "base/log.h"
#include "http/tls.h"

#include <stdio.h>

static bool has_tls(const DaemonOptions *options)
{
    return (options->tls_key && options->tls_key[0]) ||
           (options->tls_certificate && options->tls_certificate[0]);
}

Err daemon_open_doors(Daemon *daemon, Error *why)
{
    const DaemonOptions *from = &daemon->options;
    snprintf(daemon->socket_path, sizeof daemon->socket_path, "%s/pawl.sock",
             from->data_dir);
    bool tls = has_tls(from);
    if (tls) {
        Err bad = tls_use(from->tls_certificate, from->tls_key, why);
        if (bad)
            return bad;
    }
    HttpOptions options = {
        .tcp = from->listen,
        .socket_path = daemon->socket_path,
        .header_bytes_max = from->header_bytes_max,
        .body_bytes_max = from->body_bytes_max,
        .connections_max = from->connections_max,
        .idle_ms = from->idle_ms,
        .tls = tls,
        .tokens = daemon->security->tokens,
    };
    Err err = http_open(&options, daemon, &daemon->http, why);
    if (err)
        return err;
    snprintf(daemon->listen, sizeof daemon->listen, "%s", http_address(daemon->http));
    daemon->options.listen = daemon->listen;
    if (daemon->listen[0])
        snprintf(daemon->api_url, sizeof daemon->api_url, "http%s://%s", tls ? "s" : "",
                 daemon->listen);
    else
        snprintf(daemon->api_url, sizeof daemon->api_url, "unix:%s", daemon->socket_path);
    char line[80];
    snprintf(line, sizeof line, "%s\n", daemon->listen);
    err = file_replace(from->data_dir, "listen", line, why);
    if (err != ERR_FULL)
        return err;
    log_event(LOG_WARN, "daemon.full", "why=%s", LOG_QUOTED(why->text));
    return ERR_OK; /* a full disk must not keep a daemon from making room again */
}

void daemon_reload_doors(Daemon *daemon)
{
    const DaemonOptions *from = &daemon->options;
    Error why = { 0 };
    if (!has_tls(from))
        return;
    if (tls_use(from->tls_certificate, from->tls_key, &why))
        log_event(LOG_ERROR, "tls.refused", "why=%s msg=\"the one before stays\"",
                  LOG_QUOTED(why.text));
    else
        log_event(LOG_INFO, "tls.reloaded", "certificate=%s", from->tls_certificate);
}
