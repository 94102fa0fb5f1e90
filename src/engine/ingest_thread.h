/* SPDX-License-Identifier: Apache-2.0 */
/* ingest_thread.h - the one thread that writes the store: it ingests the journal and
 * answers the engine's questions (engine/turn/ingest.h). */
#ifndef ENGINE_INGEST_THREAD_H
#define ENGINE_INGEST_THREAD_H

#include "engine/turn/ingest.h"

typedef struct IngestThread IngestThread;

typedef struct IngestThreadOptions {
    Store *store;
    Journal *journal;
    Mailbox *answers; /* Asks and IngestNews; the engine frees them */
    uint64_t applied; /* where the store is */
    uint32_t node;    /* whose read point counts */
    bool at_once;     /* answers wait for the store: never let it gather */
} IngestThreadOptions;

/* Everything that the journal has and the store has not, before any thread runs. */
MUST_CHECK Err ingest_thread_catch_up(Store *store, Journal *journal,
                                      uint64_t *inout_applied, Error *why);

IngestThread *ingest_thread_open(const IngestThreadOptions *options);
void ingest_thread_wake(IngestThread *thread); /* more is durable */
/* Someone waits until the store has come so far; only the loop calls it, and positions
 * do not go back. */
void ingest_thread_hurry(IngestThread *thread, uint64_t position);
void ingest_thread_ask(IngestThread *thread, Ask *ask);
void ingest_thread_stop(IngestThread *thread); /* ingests what is durable, then ends */
uint64_t ingest_thread_applied(const IngestThread *thread); /* after that: how far */
void ingest_thread_free(IngestThread *thread); /* after that, when no one wakes it */

#endif
