/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - hints of other nodes' commits, by LISTEN and NOTIFY.
 *
 * A commit that has something for other nodes says so once. Whoever waits has a
 * connection of its own for it, which is made step by step while it waits: a server that
 * does not answer holds up nothing else. Behind a pooler that gives every transaction
 * another server connection no one can listen: that is noticed (the server's process is
 * not the one that the connection speaks of), and then there are no hints. They are hints
 * only: whoever waits polls in any case. */
#ifndef STORE_POSTGRES_WATCH_H
#define STORE_POSTGRES_WATCH_H

#include "store/postgres/bind.h"

typedef enum PgWatchState {
    WATCH_OFF,
    WATCH_CONNECTING,
    WATCH_ASKING, /* LISTEN was sent */
    WATCH_LISTENING,
} PgWatchState;

typedef struct PgWatch {
    PGconn *conn;
    PgWatchState state;
    bool writes;        /* what the connection waits for, while it is made */
    bool polls;         /* a pooler is in between */
    bool failed;        /* of the answer: something of it was an error */
    int pid;            /* likewise: the server's process */
    int64_t until_boot; /* then it is given up, or tried again */
} PgWatch;

/* See StoreKind.watch. */
bool pgwatch_wait(PgWatch *watch, const char *url, uint32_t node, int timeout_ms);
void pgwatch_close(PgWatch *watch);

/* Nodes that the commit under way has something for. */
typedef struct PgHints {
    uint32_t nodes[8];
    size_t count;
    bool all; /* every node, or too many to name */
} PgHints;

#define PG_HINT_ALL 0

void pghints_add(PgHints *hints, uint32_t node);
/* "2 5", or "*"; the text of the NOTIFY. Empty if there are none. */
void pghints_text(const PgHints *hints, Buf *out);
/* Whether such a text speaks of the node. */
bool pghints_name(const char *text, uint32_t node);

#endif
