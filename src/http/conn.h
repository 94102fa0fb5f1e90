/* SPDX-License-Identifier: Apache-2.0 */
/* conn.h - a connection of the HTTP server: how far its request is, and its bytes in
 * and out, plain or through TLS. Only the thread of its listener touches it. */
#ifndef HTTP_CONN_H
#define HTTP_CONN_H

#include "http/chunks.h"
#include "http/exchange.h"

#include <gnutls/gnutls.h>

#define PIECE_BYTES (64u << 10) /* read at a time */

typedef enum Phase {
    PHASE_TLS,    /* the handshake */
    PHASE_HEAD,   /* between requests, or in the head of one */
    PHASE_BODY,   /* being received; dropped once the answer is known */
    PHASE_RUN,    /* with its handler */
    PHASE_SEND,   /* the answer goes out */
    PHASE_LINGER, /* answered before all was read: the rest is dropped */
} Phase;

/* What a step of a connection came to. */
typedef enum Progress {
    PROGRESS_ON,   /* the next one can follow */
    PROGRESS_WAIT, /* for bytes, for room to send, or for the daemon */
    PROGRESS_GONE, /* to be closed */
} Progress;

#define PEER_WHO_BYTES 16 /* "uid:4294967295" */

typedef struct Conn {
    struct Conn *previous;
    struct Conn *next;
    struct Listener *listener;
    int fd;
    gnutls_session_t tls; /* NULL: none */
    Phase phase;
    bool readable;      /* there may be bytes */
    bool hung_up;       /* the client sends no more */
    bool ended;         /* ... and everything it sent has been read */
    bool waits_to_send; /* epoll tells when there is room */
    bool suspended;     /* until conn_wake */
    bool head_begun;
    bool close;   /* after this answer */
    bool linger;  /* ... which is known before all was read */
    bool no_body; /* of the answer: HEAD and the like */
    bool chunked; /* a stream in chunks */
    bool counted; /* as busy: from its handler to the end of the answer */
    struct Conn *woken_next;
    struct Conn *made_next; /* whose answers are to be sent */

    int64_t deadline_ms;   /* boot time; TIME_NEVER: none */
    int64_t linger_end_ms; /* however much still comes */
    uid_t peer;
    char peer_who[PEER_WHO_BYTES]; /* as Caller has it, once peer_known */
    char from[CALLER_FROM_BYTES];  /* as Caller has it; "": not asked for yet */
    bool peer_known;
    bool peer_allowed;

    Buf in;             /* bytes that were read and not used, between two rounds */
    Slice view;         /* what of them, or of the piece, is not used yet */
    Exchange *exchange; /* NULL: to be made for the next request */
    bool in_chunks;     /* the body comes in them */
    Chunks chunks;
    uint64_t body_left;
    uint64_t body_taken; /* of the bytes that all bodies may have */
    uint64_t discarded;  /* of a refused body */
    int64_t body_from_ms;
    Buf reply;       /* head of the answer, small bodies, chunks of a stream */
    bool send_begun; /* and its deadline is set */
    size_t reply_sent;
    size_t body_sent; /* of exchange->out */
} Conn;

Conn *conn_new(struct Listener *listener,
               int fd); /* NULL: there is no room, fd is closed */
void conn_free(Conn *conn);
Progress conn_handshake(Conn *conn);
/* More bytes into `view`, behind those that are there. */
Progress conn_fill(Conn *conn);
void conn_keep(Conn *conn);              /* the round ends: the piece is for others now */
void conn_use(Conn *conn, size_t bytes); /* takes them off the view */
Progress conn_send(Conn *conn, Slice first, Slice second, size_t *out_sent);
void conn_half_close(Conn *conn);
Progress conn_drain(Conn *conn);
void conn_deadline(Conn *conn, int64_t after_ms); /* from now; negative: none */

#endif
