/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.h - the one thread that writes the store: it ingests the journal and answers
 * the node's questions.
 *
 * What is durable in the journal goes into the store in order, in large transactions,
 * with the read point in the same one. A question is answered once the store has come
 * as far as the question needs. When the store fails, the keeper tries again every
 * second for as long as it takes; the journal goes on accepting meanwhile. When a shared
 * store has gone back (a standby that was behind was promoted), what it lacks is told
 * again out of the journal, and no question is answered before that. */
#ifndef ENGINE_INGEST_H
#define ENGINE_INGEST_H

#include "base/mailbox.h"
#include "journal/journal.h"
#include "store/store.h"

typedef struct Ingest Ingest;

typedef enum AskPurpose {
    ASK_NODE,   /* the core's EFFECT_LOAD: token */
    ASK_START,  /* the whole job of an attempt that is to start: attempt */
    ASK_NOTIFY, /* whom a control file's job wants told of its end */
    ASK_WAIT,   /* whether a job that someone waits for is final already */
} AskPurpose;

/* How a job that is asked for is to be started. */
typedef struct StartHow {
    int64_t deadline_ms; /* wall; 0: none */
    uint32_t slot;
    bool warm;
} StartHow;

/* A question; it comes back through the answers as it is, with `loaded` filled. */
typedef struct Ask {
    Mail mail; /* must be first, as in KeeperNews */
    bool is_news;
    AskPurpose purpose;
    Arena arena; /* holds what `load` points to */
    Load load;
    uint64_t needs; /* journal position that the store must have applied */
    uint64_t token;
    uint32_t attempt;
    StartHow how;
    Err err;
    Loaded loaded;
    uint64_t applied; /* position the store had come to */
} Ask;

typedef struct IngestNews {
    Mail mail;
    bool is_news; /* true: tells it from an Ask */
    uint64_t applied;
    Err err; /* the store fails; ERR_OK: it works (again) */
    double commit_seconds;
    uint64_t ops;
    uint64_t refused; /* operations whose guard failed: never on an owned store */
    uint64_t lost;    /* of them: decisions about jobs that are another node's */
} IngestNews;

typedef struct IngestOptions {
    Store *store;
    Journal *journal;
    Mailbox *answers; /* Asks and KeeperNews; the loop frees them */
    uint64_t applied; /* where the store is */
    uint32_t node;    /* whose read point counts */
    bool at_once;     /* answers wait for the store: never let it gather */
} IngestOptions;

/* Everything that the journal has and the store has not, before any thread runs. */
MUST_CHECK Err ingest_catch_up(Store *store, Journal *journal, uint64_t *inout_applied,
                               Error *why);

Ingest *ingest_open(const IngestOptions *options);
void ingest_wake(Ingest *ingest); /* more is durable */
/* Someone waits until the store has come so far; only the loop calls it, and positions
 * do not go back. */
void ingest_hurry(Ingest *ingest, uint64_t position);
void ingest_ask(Ingest *ingest, Ask *ask);
void ingest_stop(Ingest *ingest); /* ingests what is durable, then ends its thread */
uint64_t ingest_applied(const Ingest *ingest); /* after that: how far the store came */
void ingest_free(Ingest *ingest); /* after that, when no one wakes it any more */

void ask_free(Ask *ask);

#endif
