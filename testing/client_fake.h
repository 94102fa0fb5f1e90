/* SPDX-License-Identifier: Apache-2.0 */
/* client_fake.h - a plain HTTP client for tests: it sends whatever bytes it is told to,
 * and reads one answer at a time. Every wait has an end. */
#ifndef TESTING_CLIENT_FAKE_H
#define TESTING_CLIENT_FAKE_H

#include "base/buf.h"
#include "json/json_in.h"

#define CLIENT_WAIT_MS 120000 /* a test that hangs fails */

typedef struct Client {
    int fd;
    char host[64];
    Buf in; /* read and not yet used */
} Client;

typedef struct Reply {
    int status; /* 0: the connection was closed without an answer */
    Buf head;   /* status line and headers */
    Buf body;
    Arena arena;
    const JsonIn *json; /* of the body, if it is JSON */
} Reply;

void client_tcp(Client *client, const char *address);
void client_unix(Client *client, const char *path);
void client_close(Client *client);
void client_reset(Client *client); /* closes so that the other side sees an error */

void client_send(Client *client, Slice bytes);
/* Reads one answer; `no_body` for HEAD. */
void client_read(Client *client, bool no_body, Reply *out);
/* The headers only; the body follows piece by piece. */
void client_read_head(Client *client, Reply *out);
/* One chunk of a chunked body; false at its end. */
bool client_read_chunk(Client *client, Buf *out);
/* Whether the other side closes the connection within wait_ms. */
bool client_closed(Client *client, int wait_ms);

/* A whole request and its answer. headers: lines ended by \r\n, or "". */
typedef struct Ask {
    const char *method;
    const char *path;
    const char *headers;
    Slice body;
} Ask;
void client_ask(Client *client, const Ask *ask, Reply *out);

/* NULL when it is absent; valid until the next call. */
const char *reply_header(Reply *reply, const char *name);
void reply_done(Reply *reply);

#endif
