/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h - one connection to a PostgreSQL server: connecting, transactions,
 * statements, bulk copies, errors.
 *
 * The first failure sticks (link->err): from then on nothing is sent until link_end.
 * So a transaction is written down without looking back at every step, and judged once
 * at its end. Statements are unnamed and nothing is set for longer than a transaction, so
 * a pooler may give each transaction another server connection. Nothing waits for ever:
 * a dead peer is noticed within seconds, and so is one that is only silent (answer_ms);
 * each host of the url gets its try, also behind one that does not answer. */
#ifndef STORE_POSTGRES_CONNECTION_H
#define STORE_POSTGRES_CONNECTION_H

#include "store/postgres/bind.h"
#include "store/store.h"

#include <libpq-fe.h>

#define LINK_ANSWER_MS 10000 /* for an answer, unless the link says otherwise */

typedef enum LinkMode { LINK_READ, LINK_WRITE } LinkMode;

typedef struct PgLink {
    PGconn *conn;
    char *url;
    int64_t answer_ms; /* how long to wait for one; 0: LINK_ANSWER_MS */
    unsigned silences; /* in a row: after each the wait is longer, up to four times */
    int host;          /* of the url: the last that worked */
    uint64_t connects; /* how often it was connected */
    Err err;           /* the first failure since link_begin; ERR_OK: none */
    char state[6];     /* its SQLSTATE; "" if the server did not say */
    char failure[256]; /* its words */
    bool committing;   /* COMMIT was sent: what failed since may have happened */
    Buf into;          /* a bulk copy is open; empty: none */
    unsigned untold;   /* statements that were sent and whose answers were not read yet */
} PgLink;

/* Begins to connect, as libpq's PQconnectStart does, with what the url leaves open. */
MUST_CHECK Err link_start(const char *url, PGconn **out, Error *why);

/* Connects if there is no connection. What will not change by waiting (a wrong password,
 * no such database) is ERR_DENIED, everything else ERR_UNAVAILABLE. */
MUST_CHECK Err link_connect(PgLink *link, Error *why);
void link_close(PgLink *link);

/* One statement that is a transaction by itself: no one waits for its locks while this
 * side is away. link_single_end judges it. */
PGresult *link_single(PgLink *link, const char *sql, PgParams *params);
MUST_CHECK Err link_single_end(PgLink *link, const char *doing, Error *why);

/* A transaction. Readers see one moment. */
void link_begin(PgLink *link, LinkMode mode);
MUST_CHECK Err link_end(PgLink *link, const char *doing, Error *why);
void link_rollback(PgLink *link);
void link_fail(PgLink *link, Err err, const char *text);

/* The rows of a statement, or NULL after a failure; the caller frees with PQclear, which
 * takes NULL. params may be NULL; it is empty afterwards. */
PGresult *link_query(PgLink *link, const char *sql, PgParams *params);
/* Likewise without rows; returns how many were changed. */
int64_t link_run(PgLink *link, const char *sql, PgParams *params);
/* Likewise, and no one asks how it went before anything else is said that has an answer:
 * both travel together (libpq's pipeline mode), and so do any number of them. What
 * follows one that fails is not carried out. */
void link_later(PgLink *link, const char *sql, PgParams *params);
/* Several statements without parameters. */
void link_script(PgLink *link, const char *sql);

/* A bulk copy of rows (bind.h) into "pawl.result(job, data)"; empties them. It
 * stays open for more rows until anything else is said: so the server works on some while
 * others are still made. */
void link_copy(PgLink *link, const char *into, Buf *rows);

/* Whether the failure is one that the same transaction may not meet again. */
bool link_may_repeat(const PgLink *link);

#endif
