/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - what someone has said about a queue of a tenant, and what a node says about
 * its own slots. What follows from it is in core/queue.h. */
#ifndef NOUN_QUEUE_H
#define NOUN_QUEUE_H

#include "noun/noun.h"

#define QUEUE_TABLE        "queue" /* of definitions */
#define QUEUE_SLOTS_MAX    1000000
#define QUEUE_RATE_MAX     1000000
#define QUEUE_AGING_MAX    1000000 /* points per minute */
#define QUEUE_REASON_BYTES 255

typedef enum QueuePolicy {
    POLICY_FAIR,     /* a refusal ends the lane for the pass and closes the manager */
    POLICY_SKIP,     /* "not enough" passes over the job and looks at the next */
    POLICY_BACKFILL, /* as fair; a job that ends before the refused one can start may go
                      */
} QueuePolicy;
#define QUEUE_POLICIES (POLICY_BACKFILL + 1)

const char *policy_name(QueuePolicy policy);

typedef struct QueueDef {
    Slice tenant;
    Slice name;
    bool paused;
    int64_t paused_until_ms; /* wall; 0: until someone resumes it */
    Slice pause_reason;
    bool has_slots;
    uint32_t slots; /* running at once on each node */
    bool has_min;
    int64_t priority_min;
    bool has_max;
    int64_t priority_max;
    bool has_default;
    int64_t default_priority;
    QueuePolicy policy;
    Slice resources;    /* keys of managers that charge every job, each ended by NUL */
    uint32_t rate_jobs; /* starts per rate_ms; 0: no limit */
    int64_t rate_ms;
    int64_t aging_milli; /* thousandths of a priority point per minute waited */
    bool nice;           /* priorities become niceness of the processes */
} QueueDef;

extern const Noun queue_noun;

void queue_pack(Buf *out, const QueueDef *def);
MUST_CHECK Err queue_unpack(Slice packed, QueueDef *out_def);
QueueDef queue_copy(Arena *arena, const QueueDef *def);

#define SLOTS_TABLE "node_slots" /* of definitions; the key is a sysid */

/* This node's own slots, where they differ from what the settings and queues say. */
typedef struct NodeSlots {
    bool has_slots;
    uint32_t slots;
    Slice queues; /* NAME=SLOTS, each ended by NUL */
} NodeSlots;

extern const Noun slots_noun;

void slots_pack(Buf *out, const NodeSlots *slots);
MUST_CHECK Err slots_unpack(Slice packed, NodeSlots *out_slots);
NodeSlots slots_copy(Arena *arena, const NodeSlots *slots);

#endif
