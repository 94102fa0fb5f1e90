/* SPDX-License-Identifier: Apache-2.0 */
/* pull.h - what the node remembers of pull workers; for node/state.h. */
#ifndef CORE_NODE_PULL_H
#define CORE_NODE_PULL_H

#include "core/dispatch/lane.h"
#include "core/event.h"

/* A claim that waits for jobs, and what it would take. */
typedef struct Claim {
    struct Claim *next;
    Arena arena;
    Requester request;
    Slice tenant;
    ClaimAsk ask;
    size_t max;
    int64_t until_boot;
} Claim;

typedef struct PullLane {
    Lane *lane;
    size_t look; /* of the search that is under way: heads before it are out */
} PullLane;

/* The lanes of a tenant that pull workers are given jobs of. */
typedef struct PullTenant {
    PullLane *lanes; /* by queue */
    size_t count;
    size_t capacity;
    Map offered; /* what had its turn in this tour */
} PullTenant;

/* The names of a claim as numbers: what no job was ever called is not among them. */
typedef struct Wanted {
    bool any;
    size_t count;
    uint32_t numbers[CLAIM_NAMES_MAX];
} Wanted;

Wanted wanted_of(const struct Node *node, Slice list);
bool wants(const Wanted *wanted, uint32_t number);

/* Claims wait no longer, and leave with what they have. */
void node_pull_hurry(struct Node *node);

#endif
