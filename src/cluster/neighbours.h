/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours.h - the other nodes of a shared store, as this daemon last heard of them. */
#ifndef CLUSTER_NEIGHBOURS_H
#define CLUSTER_NEIGHBOURS_H

#include "core/share/peer.h"

#define NEIGHBOUR_SYSID_BYTES 130

typedef struct Neighbour {
    uint32_t number;
    uint64_t epoch;
    bool alive;
    bool fenced;      /* it was lost, and what it had is another's */
    uint64_t ids;     /* see PeerFacts */
    uint64_t settled; /* likewise */
    char sysid[NEIGHBOUR_SYSID_BYTES];
} Neighbour;

typedef struct Neighbours {
    Neighbour *list;
    size_t count;
} Neighbours;

/* All of them anew; `own` is not among them. */
void neighbours_hear(Neighbours *neighbours, const Peer *peers, size_t count,
                     uint32_t own);
void neighbours_done(Neighbours *neighbours);

/* NULL: there is no such node. Valid until the next is heard. */
const Neighbour *neighbour_numbered(const Neighbours *neighbours, uint32_t number);
const Neighbour *neighbour_named(const Neighbours *neighbours, Slice sysid);

#endif
