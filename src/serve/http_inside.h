/* SPDX-License-Identifier: Apache-2.0 */
/* http_inside.h - the HTTP server's own state, shared by http*.c and exchange.c only. */
#ifndef SERVE_HTTP_INSIDE_H
#define SERVE_HTTP_INSIDE_H

#include "serve/exchange.h"
#include "serve/http.h"
#include "serve/listen.h"
#include "serve/routes.h"
#include "serve/settle.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#define PARAMS_MAX 64
#define DISCARD_BYTES_MAX                                                                \
    (64u << 10) /* of a refused body: read it, keep the connection */
#define LINGERS_MAX 64

typedef enum Phase {
    PHASE_IDLE,    /* between requests */
    PHASE_HEAD,    /* the request line is there */
    PHASE_BODY,    /* being received */
    PHASE_REFUSED, /* the answer is known: the body is read and dropped */
    PHASE_RUN,     /* with its handler */
    PHASE_SENT,    /* the answer is queued */
} Phase;

/* A call and the step that goes on with it. */
typedef struct Errand {
    Call call; /* must be first */
    Step *then;
    Exchange *exchange;
    struct Errand *next;     /* of all of the exchange */
    struct Errand *finished; /* of those that are done */
    /* exchange_settle.c */
    Call *settle;       /* waits for the node that accepted its job; NULL: not needed */
    struct Errand *of;  /* SETTLE: for which one */
    int64_t until_boot; /* how long it is looked for */
    bool settled;       /* what is not found now is not there */
} Errand;

typedef struct Listener {
    struct Http *http;
    struct MHD_Daemon *daemon;
    bool tcp;
    bool beyond; /* reached from other machines: tokens are needed in any case */
    int fd;      /* after it was taken back from the daemon; else -1 */
    /* Who asked last, how often in a row, and when: see comes_alone. */
    struct Conn *_Atomic last;
    _Atomic unsigned in_row;
    _Atomic int64_t last_ms; /* boot time */
    _Atomic int64_t many_ms; /* when two clients last came close together */
} Listener;

typedef struct Conn {
    struct Conn *previous;
    struct Conn *next;
    Listener *listener;
    struct MHD_Connection *connection;
    int fd;
    _Atomic int64_t deadline_ms; /* boot time; TIME_NEVER: none */
    uid_t peer;
    char from[CALLER_FROM_BYTES]; /* as Caller has it; "": not asked for yet */
    bool peer_known;
    bool peer_allowed;
    atomic_bool linger; /* answered before all was read: drain before closing */
    bool close;         /* after this answer */

    Phase phase;
    bool counted;       /* as busy: from its handler to the end of the answer */
    uint64_t discarded; /* of a refused body */
    int64_t body_from_ms;
    Exchange *exchange; /* NULL: to be made for the next request */
} Conn;

typedef struct Linger { /* a connection that is closed, but not to the client's face */
    int fd;
    int64_t until_ms;
} Linger;

#define STATUS_SLOTS 32

struct Http {
    HttpOptions options;
    Daemon *daemon;
    uid_t own_uid;
    Listener listeners[2];
    size_t listener_count;
    char address[LISTEN_TEXT_BYTES];
    char *socket_path;
    _Atomic int64_t close_boot; /* when closing began */
    atomic_bool leaving;        /* see http_leave */
    atomic_bool closing;

    pthread_t ticker;
    bool ticking;
    int wake_fd;
    int tick_ms;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t quiet; /* nothing is being answered any more */
    size_t busy;          /* requests being answered, streams, calls of clients gone */
    Conn *conns;
    Stream *streams;
    Linger lingers[LINGERS_MAX];
    size_t linger_count;

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

/* exchange_settle.c: the call has ended; true if what it looks for may still come, and it
 * was sent again. */
bool exchange_settles(Exchange *exchange, Errand *errand);

/* Who asks: http_auth.c. Both are false after they refused. */
bool http_is_open(const Conn *conn); /* no token is needed */
bool http_admit(Conn *conn);         /* the route is known: is it for the caller? */
bool http_bind_tenant(Conn *conn);   /* the parameters too: keeps them to its tenant */

/* Answers: http_reply.c. */
enum MHD_Result http_queue(Conn *conn);

/* Time: http_tick.c. */
Err tick_open(Http *http, Error *why);
void tick_close(Http *http);
void tick_wake(Http *http);
void conn_deadline(Conn *conn, int64_t after_ms); /* from now; negative: none */
void conn_linger(Conn *conn);                     /* called when it is about to close */

/* Streams: http_stream.c. */
struct MHD_Response *stream_response(Stream *stream, Conn *conn);
void stream_unlink(Stream *stream); /* its connection goes */
void streams_wake(Http *http);      /* under http->lock */

void http_busy(Http *http);
void http_quiet(Http *http);

#endif
