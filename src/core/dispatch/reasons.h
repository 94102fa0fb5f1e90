/* SPDX-License-Identifier: Apache-2.0 */
/* reasons.h - what stands in the way of a ready job, told in order.
 *
 * For people: pawl explain, GET /jobs/{id}/explain. Looks and changes nothing. */
#ifndef CORE_DISPATCH_REASONS_H
#define CORE_DISPATCH_REASONS_H

#include "core/node/node.h"
#include "core/queue.h"
#include "core/resource.h"

#define REASON_HOLDERS_MAX 8

typedef enum ReasonKind {
    REASON_DRAINING,
    REASON_DISABLED,         /* the switch `enabled` is off */
    REASON_QUEUE_PAUSED,     /* text: why; until_ms, or 0 */
    REASON_QUEUE_FULL,       /* used of total */
    REASON_QUEUE_RATE,       /* total jobs per every_ms; until_ms */
    REASON_TENANT_FULL,      /* its max_running: total */
    REASON_NODE_FULL,        /* used of total */
    REASON_RESOURCE_MISSING, /* key */
    REASON_RESOURCE_SMALL,   /* key; amount wanted of total: never as it is */
    REASON_RESOURCE_BUSY,    /* key; amount wanted, free left; until_ms where known */
    REASON_RESOURCE_KEPT,    /* key; there is enough, but another waits longer: holder */
    REASON_HIGHLANDER,       /* another of its type runs: holder */
} ReasonKind;

typedef struct Reason {
    ReasonKind kind;
    Slice key;
    Slice text;
    int64_t amount;
    int64_t free;
    int64_t used;
    int64_t total;
    int64_t every_ms;
    int64_t until_ms; /* 0: not known */
    JobId holder;     /* one who is in the way; 0: not known, or another tenant's */
    JobId holders[REASON_HOLDERS_MAX]; /* of a resource, the first to end first */
    uint32_t holder_count;             /* all of its tenant, be they listed or not */
    uint32_t other_count;              /* and those of other tenants */
    bool own;                          /* QUEUE_FULL: by this node's own slots */
} Reason;

static inline uint32_t reason_listed(const Reason *reason)
{
    return reason->holder_count < REASON_HOLDERS_MAX ? reason->holder_count
                                                     : REASON_HOLDERS_MAX;
}

typedef void ReasonSink(void *context, const Reason *reason);
void node_reasons(const Node *node, const Job *job, Now now, ReasonSink *sink,
                  void *context);

/* A manager, for lists. */
typedef struct ResourceFacts {
    ResourceDef def;
    int64_t used;
    int64_t free;
    int64_t waiting; /* lanes in its line */
} ResourceFacts;
typedef void ResourceSink(void *context, const ResourceFacts *facts);
void node_resources(const Node *node, ResourceSink *sink, void *context);

/* This node's own slots by queue, where they differ. */
const NodeSlots *node_own_slots(const Node *node);

#endif
