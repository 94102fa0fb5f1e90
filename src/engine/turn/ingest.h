/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.h - from the journal into the store, and the answers that wait for it.
 *
 * What is durable in the journal goes into the store in order, in large transactions,
 * with the read point in the same one. A question is answered once the store has come
 * as far as the question needs. When the store fails, it is tried again every second for
 * as long as it takes; the journal goes on accepting meanwhile. When a shared store has
 * gone back (a standby that was behind was promoted), what it lacks is told again out of
 * the journal, and no question is answered before that.
 *
 * No thread of its own: whoever owns it calls it piece by piece. The daemon does so from
 * one thread (engine/keeper.h), the simulation from its only one. What must hold:
 *   G1  records go into the store in the order of the journal, each exactly once.
 *   G2  a record is trimmed from the journal only when the store has it for good. */
#ifndef ENGINE_TURN_INGEST_H
#define ENGINE_TURN_INGEST_H

#include "engine/turn/ask.h"
#include "journal/journal.h"

/* The journal as it is read; see journal.h for each. */
typedef struct IngestPorts {
    Now (*now)(void *world);
    uint64_t (*durable)(void *world);
    JournalToken (*reserve)(void *world, size_t bytes_max, Now now);
    Err (*read)(void *world, JournalToken token, Batch *out, Error *why);
    Err (*rsync)(void *world, JournalToken token);
    Err (*rewind)(void *world, uint64_t position, Error *why);
    void (*trim)(void *world, uint64_t position, Now now);
} IngestPorts;

typedef struct IngestOptions {
    const IngestPorts *ports;
    void *world;
    Store *store;
    Mailbox *answers; /* Asks and IngestNews; the engine frees them */
    uint64_t applied; /* where the store is */
    uint32_t node;    /* whose read point counts */
} IngestOptions;

typedef struct Ingest {
    IngestOptions options;
    Ask *waiting; /* oldest first */
    Ask **waiting_last;
    /* What one transaction needs: a batch and as many results as it has operations. What
     * was reserved stays so until it is in the store: whatever fails, the order is kept.
     */
    JournalToken token; /* 0: nothing is reserved */
    bool whole;         /* batch holds what was reserved */
    Batch batch;
    OpResult *results;
    size_t result_capacity;
    uint64_t applied;
    uint64_t answers_from; /* nothing is answered before the store is there again */
    uint64_t synced;
    int64_t synced_boot;
    int64_t retry_boot;
    bool failing;
    bool busy; /* a shared store whose last transaction was a large one */
} Ingest;

void ingest_init(Ingest *ingest, const IngestOptions *options);
void ingest_done(Ingest *ingest);

/* Everything that the journal has and the store has not, before anyone waits. */
MUST_CHECK Err ingest_catch_up(Ingest *ingest, Error *why);

void ingest_take(Ingest *ingest, Ask *ask);   /* a question; waits for its position */
void ingest_answer(Ingest *ingest);           /* those whose position is reached */
bool ingest_is_awaited(const Ingest *ingest); /* a question waits for more */

/* One transaction. False: there was nothing, or the store failed (and that was told). */
bool ingest_one(Ingest *ingest);
bool ingest_may_try(const Ingest *ingest); /* not so soon after a failure */

/* Makes the read point stable now and then, so that journal segments behind it may go. */
void ingest_sync(Ingest *ingest);

#endif
