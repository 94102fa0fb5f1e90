/* SPDX-License-Identifier: Apache-2.0 */
/* read_barrier.h - whether the store has what another node accepted.
 *
 * A node acknowledges a job when its journal has it; the store has it a moment later, and
 * only then do the others see it. Each node says with its lease how far its ids go and up
 * to which of them the store has all (PeerFacts: ids, settled). So whoever does not find
 * a job can tell "not yet" from "never": until then it looks again. */
#ifndef ENGINE_READ_BARRIER_H
#define ENGINE_READ_BARRIER_H

#include "base/id.h"
#include "cluster/neighbours.h"

#define SETTLE_WAIT_MS 5000 /* in all; then whoever asks is told to ask again */
#define SETTLE_LOOK_MS 30   /* between two looks */

typedef enum Settled {
    SETTLED_NOT_YET,
    SETTLED,        /* what the store does not have now was never accepted, or is gone */
    SETTLED_NO_ONE, /* its node is down: only that one's journal could tell */
} Settled;

/* One search for an id, from its first look on. */
typedef struct Settling {
    JobId id;
    uint64_t said;    /* `ids`, as last heard */
    unsigned changes; /* how often that changed since the first look */
    uint64_t bar;     /* of something said after the first look; 0: nothing yet */
} Settling;

Settled settle_judge(Settling *settling, const Neighbours *neighbours);

#endif
