/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - the HTTP door: one server on a loopback address and a Unix socket.
 *
 * A thread for each listener reads and checks requests, gives Calls to the daemon and
 * answers when the calls are done; it waits for nothing but work. HTTP/1.1 and 1.0.
 *
 * Who is served: without tokens only the daemon's own user and root, on both listeners;
 * on TCP only with a local Host. With tokens: see auth.c. Everything has a limit:
 * header, body, connections, and the time that each step of a request may take. */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "engine/call.h"

#include <sys/types.h>

typedef struct Http Http;

/* Zero stands for the default of each. */
typedef struct HttpOptions {
    const char *tcp;          /* "127.0.0.1:7420"; port 0: any; NULL or "": none */
    const char *socket_path;  /* made with mode 0600; NULL or "": none */
    size_t header_bytes_max;  /* 16 KiB: request line and headers */
    uint64_t body_bytes_max;  /* 64 MiB */
    uint32_t connections_max; /* 10,000, or what the limit of open files leaves */
    int64_t header_ms;        /* 20 s: from the request line to the last header */
    int64_t body_ms;          /* 30 s, and a second for each HTTP_BYTES_PER_S */
    int64_t idle_ms;          /* 75 s: between two requests */
    int64_t send_ms;          /* 60 s, and likewise */
    bool tls;                 /* on TCP, with the certificate of tls.h */
    struct Tokens *tokens;    /* tokens; NULL: none, the door is open to its own user */
    /* Who is at the other end of a connection; for tests. */
    bool (*peer_uid)(int fd, uid_t *out_uid);
} HttpOptions;

#define HTTP_BYTES_PER_S (16 << 10) /* slower clients are dropped */
#define HTTP_BODIES_MAX  8          /* full-size bodies in memory at once */

/* Opens the listeners and starts serving. Refuses other than loopback addresses without
 * TLS and a token, and a socket on which another process still listens. */
MUST_CHECK Err http_open(const HttpOptions *options, Daemon *daemon, Http **out_http,
                         Error *why);

/* Stops accepting, waits until every call is done, closes. The daemon must go on
 * answering calls until this returns. NULL does nothing. */
void http_close(Http *http);

/* From now on each answer is the last of its connection: who keeps them open finds
 * another server before this one closes. Any thread. */
void http_leave(Http *http);

/* "127.0.0.1:7420" as really bound, or "". */
const char *http_address(const Http *http);

/* pawl_http_requests_total{route,code}; any thread. */
void http_requests_write(Buf *out, Http *http);

#endif
