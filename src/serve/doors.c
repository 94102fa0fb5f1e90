/* SPDX-License-Identifier: Apache-2.0 */
/* doors.c - opens the listeners of the daemon, and writes down where they are. */
#include "serve/inside.h"

#include "base/log.h"
#include "serve/security.h"

#include <stdio.h>

Err daemon_open_doors(Daemon *daemon, Error *why)
{
    const DaemonOptions *from = &daemon->options;
    snprintf(daemon->socket_path, sizeof daemon->socket_path, "%s/pawl.sock",
             from->data_dir);
    HttpOptions options = {
        .tcp = from->listen,
        .socket_path = daemon->socket_path,
        .header_bytes_max = from->header_bytes_max,
        .body_bytes_max = from->body_bytes_max,
        .connections_max = from->connections_max,
        .idle_ms = from->idle_ms,
        .gate = daemon->security->gate,
    };
    Err err = http_open(&options, daemon, &daemon->http, why);
    if (err)
        return err;
    snprintf(daemon->listen, sizeof daemon->listen, "%s", http_address(daemon->http));
    daemon->options.listen = daemon->listen;
    if (daemon->listen[0])
        snprintf(daemon->api_url, sizeof daemon->api_url, "http://%s", daemon->listen);
    else
        snprintf(daemon->api_url, sizeof daemon->api_url, "unix:%s", daemon->socket_path);
    char line[80];
    snprintf(line, sizeof line, "%s\n", daemon->listen);
    err = file_replace(from->data_dir, "listen", line, why);
    if (err != ERR_FULL)
        return err;
    log_event(LOG_WARN, "daemon.full", "why=\"%s\"", why->text);
    return ERR_OK; /* a full disk must not keep a daemon from making room again */
}
