/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - one request and its answer, as the handlers of the API see it.
 *
 * A handler runs on an HTTP thread when the whole request is there. It either replies, or
 * gives calls to the daemon and names the step that goes on with each answer, again on
 * that thread. It never waits. While calls are out the exchange stays as it is, so their
 * read() and look() may write into `out`. Exactly one reply ends it. */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include "access/tokens.h"
#include "base/json_out.h"
#include "engine/call.h"
#include "http/head.h"
#include "noun/problem.h"

#include <pthread.h>
#include <sys/types.h>

#define API_PATH "/api/v1"

#define EXCHANGE_PARTS_MAX   4
#define EXCHANGE_HEADERS_MAX 8

typedef struct Exchange Exchange;
typedef struct Stream Stream;
typedef void Step(Exchange *exchange, Call *call);

typedef struct Param {
    Slice name;
    Slice value;
} Param;

typedef struct ReplyHeader {
    const char *name;
    const char *value;
} ReplyHeader;

struct Exchange {
    Daemon *daemon;
    const struct Route *route;
    Caller caller;                   /* who asks */
    Arena arena;                     /* until the answer is sent */
    Buf body;                        /* of the request */
    Buf out;                         /* of the answer */
    Slice parts[EXCHANGE_PARTS_MAX]; /* what the {...} of the route's path are */
    Param *params;                   /* of the query, decoded */
    size_t param_count;
    JobId id;    /* the job that the path names, once it is known */
    Slice whose; /* the tenant whose jobs are meant; empty: all; NULL: not known yet */
    void *state; /* the handler's own, in the arena */
    /* The client left before it had the answer: takes back what must not get lost. Any
     * thread; may be NULL. */
    void (*undelivered)(Exchange *exchange);

    /* Of exchange.c and http.c. */
    struct Http *http;
    struct Conn *conn; /* NULL once the client is gone and only calls are left */
    HttpHead head;
    struct Errand *errands;
    struct Errand *spare; /* for the next request; NULL: none */
    size_t pending;       /* calls that were sent and whose step has not run */
    bool alone;           /* no one else asks: its calls may be done on this thread */
    bool yielded;         /* wants to go on, but lets others come first */
    Step *yield_step;
    bool replied;
    unsigned status;
    const char *content_type;
    ReplyHeader headers[EXCHANGE_HEADERS_MAX];
    size_t header_count;
    Stream *stream;

    /* Between the HTTP thread and those that finish calls. */
    pthread_mutex_t lock;
    struct Errand *finished;
    struct Errand **finished_last;
    size_t out_count; /* calls that the daemon has */
    bool parked;
};

/* --- The request ------------------------------------------------------------------- */

/* The first parameter of that name; data is NULL when there is none. */
Slice exchange_param(const Exchange *exchange, const char *name);

/* A header's value, borrowed; data is NULL when it was not sent. */
Slice exchange_header(const Exchange *exchange, const char *name);
/* How often it was sent: exchange_header gives the first. */
unsigned exchange_header_count(const Exchange *exchange, const char *name);

/* The tokens; NULL: there can be none. */
Tokens *exchange_gate(const Exchange *exchange);

/* Whether the client has hung up meanwhile. */
bool exchange_gone(const Exchange *exchange);

/* --- Calls ------------------------------------------------------------------------- */

/* A call that lives as long as the exchange; fill it and give it to exchange_send. */
Call *exchange_call(Exchange *exchange, CallKind kind, Step *then);
void exchange_send(Exchange *exchange, Call *call);

/* Such a call, filled and sent. */
void exchange_read(Exchange *exchange, void (*read)(Call *call, Store *store),
                   Step *then);
void exchange_look(Exchange *exchange, void (*look)(Call *call, Daemon *daemon),
                   Step *then);

/* All calls of the exchange: the one after `call`; NULL begins and ends. */
const Call *exchange_next_call(const Exchange *exchange, const Call *call);

/* Comes back to `then` (with no call) after other connections had their turn. */
void exchange_yield(Exchange *exchange, Step *then);

/* --- The answer -------------------------------------------------------------------- */

JsonOut exchange_json(Exchange *exchange); /* writes to `out`, which is emptied */

/* The value is copied. */
void exchange_add_header(Exchange *exchange, const char *name, const char *value);

/* `out` is the body. */
void exchange_reply(Exchange *exchange, unsigned status, const char *content_type);
void exchange_reply_json(Exchange *exchange, unsigned status);

void exchange_problem(Exchange *exchange, const Problem *problem);
void exchange_refuse(Exchange *exchange, const char *code, const char *detail, ...)
    PRINTF_LIKE(3, 4);

/* The answer to a call that failed. */
void exchange_failed(Exchange *exchange, const Call *call);

/* Turns the failure of a call into a problem. */
void problem_of_call(Problem *problem, const Call *call);

/* --- Streams ----------------------------------------------------------------------- */

/* An answer of unknown length. read() is called on an HTTP thread: how many bytes it put
 * into `out`, 0 if there are none now, STREAM_END, or STREAM_BROKEN: there would be more,
 * but it cannot be had, and the client should see that the answer is not whole. After 0
 * it is asked again when stream_wake() was called, and every STREAM_TICK_MS anyhow. */
#define STREAM_END    (-1)
#define STREAM_BROKEN (-2)
struct Stream {
    ssize_t (*read)(Stream *stream, char *out, size_t max);
    void (*free)(Stream *stream); /* nobody uses it any more */

    /* Of http/stream.c. */
    struct Http *http;
    struct Conn *conn; /* NULL: its answer has not begun */
    pthread_mutex_t lock;
    unsigned holders;
    bool parked;
    bool woken; /* since the last read */
    bool gone;
};

#define STREAM_TICK_MS 100

/* Before anything else is done with it. Its creator holds it. */
void stream_init(Stream *stream, Exchange *exchange);

/* Replies with the stream, which belongs to the exchange from now on. */
void exchange_stream(Exchange *exchange, Stream *stream, const char *content_type);

/* Any thread, as long as the caller holds it. */
void stream_wake(Stream *stream);
void stream_hold(Stream *stream);
void stream_drop(Stream *stream);
bool stream_gone(Stream *stream); /* the client hung up, or the server is closing */

/* Gives a call of the stream's own to the daemon; its done() must end with stream_done,
 * which also drops a hold. */
void stream_send(Stream *stream, Call *call);
void stream_done(Stream *stream);

#endif
