/* SPDX-License-Identifier: Apache-2.0 */
/* node_pull.h - what the node remembers of pull workers; for node_state.h. */
#ifndef CORE_NODE_PULL_H
#define CORE_NODE_PULL_H

#include "core/event.h"
#include "core/lane.h"

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

/* Claims wait no longer, and leave with what they have. */
void node_pull_hurry(struct Node *node);

#endif
