/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - the command line's side of HTTP, over TCP or a Unix socket.
 *
 * libcurl stays behind this header. One call at a time, except client_follow, which
 * reads several answers side by side as they come. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Client {
    char *url;    /* "http://127.0.0.1:7420", without a slash at the end */
    char *socket; /* path of the Unix socket, or NULL */
    char *token;  /* or NULL */
    char *ca;     /* file with the certificates to trust; NULL: the system's */
    char *tenant; /* or NULL: the server's default */
    bool changes; /* the last call may have changed something */
    void *easy;   /* libcurl's, kept so that its connection is used again */
    void *multi;
} Client;

/* server: http://HOST:PORT, https://…, HOST:PORT or unix:PATH. */
MUST_CHECK Err client_init(Client *client, const char *server, Error *why);
void client_done(Client *client);

/* Another one to the same server, for another thread. */
void client_copy(Client *copy, const Client *client);

/* The server in the words of --server; for messages. */
void client_name(const Client *client, Buf *out);

/* Whether it is on this machine, as far as its address says. */
bool client_is_local(const Client *client);

typedef struct Request {
    const char *method;       /* "GET" */
    const char *path;         /* "/api/v1/jobs?limit=1" */
    const char *content_type; /* of the body; NULL: JSON */
    const char *accept;       /* what the answer should be; NULL: JSON */
    const char *key;          /* Idempotency-Key, or NULL */
    bool only_new;            /* refused if there is one already */
    Slice body;
    int64_t timeout_ms; /* 0: the default */
} Request;

typedef struct Response {
    int status;
    Buf body;
} Response;

/* ERR_UNAVAILABLE when no connection came about, ERR_IO when it was lost before the
 * answer was complete, ERR_TIMEOUT, ERR_BUSY when Ctrl-C came first. A status of 4xx or
 * 5xx is an answer, not an error. The caller does response_done. */
MUST_CHECK Err client_call(Client *client, const Request *request, Response *response,
                           Error *why);
void response_done(Response *response);

/* An answer that is read while it grows. */
typedef struct Tail {
    const char *path;
    void (*take)(void *context, Slice bytes); /* called for a 200 only */
    void *context;
    int status;     /* 0 until the answer begins */
    Buf problem;    /* the body of another status; the caller frees it */
    bool truncated; /* the connection was lost before the end */
} Tail;

/* Reads all of them to their ends. Errors as client_call; a lost connection is told by
 * `truncated` of its tail too. */
MUST_CHECK Err client_follow(Client *client, Tail *tails, size_t count, Error *why);

/* Pieces of a path: text with everything but letters, digits and -._~ escaped, and
 * ?key=value or &key=value as needed. */
void url_add(Buf *out, Slice text);
void url_query(Buf *out, const char *key, Slice value);

#endif
