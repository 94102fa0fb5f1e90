/* SPDX-License-Identifier: Apache-2.0 */
/* server_state.h - the HTTP server's own state, shared by http*.c and exchange.c only.
 *
 * Each listener has a thread, and connections belong to the thread of theirs: nobody else
 * touches one, but for conn_wake. */
#ifndef HTTP_SERVER_STATE_H
#define HTTP_SERVER_STATE_H

#include "api/routes.h"
#include "engine/read_barrier.h"
#include "http/conn.h"
#include "http/exchange.h"
#include "http/http.h"
#include "http/listen.h"

#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdatomic.h>

#define PARAMS_MAX 64

/* A call and the step that goes on with it. */
typedef struct Errand {
    Call call; /* must be first */
    Step *then;
    Exchange *exchange;
    struct Errand *next;     /* of all of the exchange */
    struct Errand *finished; /* of those that are done */
    /* exchange_barrier.c */
    Call *settle;       /* waits for the node that accepted its job; NULL: not needed */
    struct Errand *of;  /* SETTLE: for which one */
    int64_t until_boot; /* how long it is looked for */
    bool settled;       /* what is not found now is not there */
} Errand;

typedef struct Listener {
    struct Http *http;
    bool tcp;
    bool beyond; /* reached from other machines: tokens are needed in any case */
    bool tls;
    int fd; /* -1: closed */
    int poll_fd;
    int wake_fd;
    bool full; /* no descriptor was left: it is not asked for new ones until the tick */
    pthread_t thread;
    bool running;
    struct Conn *conns;
    size_t conn_count;
    size_t streams; /* connections with one */
    int tick_ms;
    int64_t tick_boot;
    char *piece;       /* PIECE_BYTES: what was read just now */
    int64_t dated_s;   /* for when `date` is */
    char date[32];     /* of answers */
    struct Conn *last; /* who asked last, how often in a row, and when: see comes_alone */
    unsigned in_row;
    int64_t last_ms; /* boot time */
    int64_t many_ms; /* when two clients last came close together */

    pthread_mutex_t lock; /* of all below */
    struct Conn *woken;   /* to be gone on with */
    struct Conn **woken_last;
    bool sleeping; /* in epoll: has to be woken */
    bool stop;
} Listener;

#define STATUS_SLOTS 32

struct Http {
    HttpOptions options;
    Daemon *daemon;
    uid_t own_uid;
    Listener listeners[2];
    size_t listener_count;
    char address[LISTEN_TEXT_BYTES];
    char *socket_path;
    _Atomic int64_t close_boot;                   /* when closing began */
    atomic_bool leaving;                          /* see http_leave */
    atomic_bool closing;                          /* set under the lock: see http_enter */
    gnutls_certificate_credentials_t credentials; /* with TLS */
    gnutls_priority_t priorities;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t quiet; /* nothing is being answered any more */
    size_t busy;          /* requests being answered, streams, calls of clients gone */

    _Atomic int64_t refused_ms; /* boot time at which a refused token was last told */
    atomic_ullong refused;

    atomic_ullong body_bytes;                             /* of all requests now */
    atomic_ullong requests[ROUTES_MAX + 1][STATUS_SLOTS]; /* last row: no route */
};

/* Exchanges: exchange.c. A connection has one at a time, used again and again. */
Exchange *exchange_new(Conn *conn);
void exchange_reset(Exchange *exchange); /* for the next request */
void exchange_free(Exchange *exchange);

/* The client is gone. False if calls are still out: then the exchange is on its own, and
 * goes with the last of them. */
bool exchange_abandon(Exchange *exchange);

/* Runs steps until there is a reply (true) or everything is out (false, and the
 * connection is parked). */
bool exchange_drive(Exchange *exchange);

/* exchange_barrier.c: the call has ended; true if what it looks for may still come, and
 * it was sent again. */
bool exchange_settles(Exchange *exchange, Errand *errand);

/* Who asks: auth.c. Both are false after they refused. */
bool http_is_open(const Conn *conn); /* no token is needed */
bool http_admit(Conn *conn);         /* the route is known: is it for the caller? */
bool http_bind_tenant(Conn *conn);   /* the parameters too: keeps them to its tenant */

/* Which route, and what is refused before its handler: http/route.c. */
void http_begin(Conn *conn);

/* A request, step by step: request.c. */
Progress conn_step(Conn *conn);
void request_end(Conn *conn, bool delivered); /* however it ended */

/* Answers: http/reply.c. */
void http_answer(Conn *conn); /* the exchange has replied: makes the answer's head */
/* A piece of it: who reads an endless one as fast as it comes must not keep others
 * waiting. ON: the next step can follow, or all of it is sent. */
Progress http_send(Conn *conn, bool *out_all);
bool http_refuse_now(int fd, const char *code, const char *detail); /* and nothing else */

/* Streams: http/stream.c. */
void stream_begin(Stream *stream, Conn *conn);
void stream_end(Conn *conn); /* its connection goes, or it has said all */
/* Puts its next bytes into conn->reply; false at the end. Without bytes it is parked. */
bool stream_next(Stream *stream, Conn *conn);
void stream_tick(Conn *conn);

/* Threads and time: poll.c. */
Err poll_open(Listener *listener, Error *why);
void poll_quiesce(Listener *listener); /* no new connections; any thread */
void poll_close(Listener *listener);
void conn_suspend(Conn *conn); /* until it is woken */
void conn_wake(Conn *conn);    /* any thread, once for each time that it was suspended */

bool http_enter(Http *http); /* busy with a request; false: it is closing */
void http_busy(Http *http);  /* with more, while it is busy */
void http_quiet(Http *http);

#endif
