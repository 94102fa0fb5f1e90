/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - what nodes that share a store know of each other.
 *
 * Each says of itself what `facts` of its row hold (PeerFacts, packed) and hears of all
 * others with each renewal of its lease (EVENT_PEERS). */
#ifndef CORE_SHARE_PEER_H
#define CORE_SHARE_PEER_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define PEER_LOAD_PARTS 100

typedef struct PeerFacts {
    uint32_t slots;
    uint32_t used;
    uint64_t ready; /* jobs that others could have of it now */
    uint64_t pull;  /* likewise, for pull workers */
    uint32_t draining;
    uint32_t pid;
    uint32_t load[3];   /* of its machine: 1, 5, 15 minutes; in PEER_LOAD_PARTS */
    int64_t started_ms; /* the daemon */
    int64_t at_ms;      /* when it said this, by its own clock */
    uint64_t ids;       /* no id that it gives out from now on counts less */
    uint64_t settled;   /* the store has all that it accepted under ids below */
    Slice host;
    Slice version;
    Slice listen; /* address of its HTTP listener; empty: none */
    Slice loads;  /* what waits at its processors: lines "NAME UNITS" */
} PeerFacts;

void peer_pack(Buf *out, const PeerFacts *facts);
MUST_CHECK Err peer_unpack(Slice packed, PeerFacts *out); /* borrowed */

/* A node of the store, this one too. */
typedef struct Peer {
    uint32_t number;
    uint64_t epoch;
    int64_t left_ms; /* of its lease; 0 or less: over */
    bool fenced;
    bool controls;
    Slice sysid;
    PeerFacts facts;
} Peer;

/* Which node books what is counted over the whole cluster: a definition of the store that
 * changes hands as jobs do. It is written by who has it, or by who has fenced that one;
 * stores refuse any other (cluster_home_free). */
#define HOME_TABLE "home"

typedef struct Home {
    uint32_t node;  /* 0: no one yet */
    uint64_t count; /* of the times it changed hands */
} Home;

void home_write(Buf *out, const Home *home);
Home home_read(Slice text); /* what cannot be read is no one */

static inline bool peer_alive(const Peer *peer)
{
    return peer->left_ms > 0 && !peer->fenced && peer->epoch;
}

#endif
