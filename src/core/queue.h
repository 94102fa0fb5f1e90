/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - what someone has said about a queue of a tenant: limits, order, policy.
 *
 * A queue that nobody defined has all of it open. Plain data and pure rules; the node
 * keeps the definitions it has (limits.h) and obeys them. */
#ifndef CORE_QUEUE_H
#define CORE_QUEUE_H

#include "base/buf.h"
#include "base/times.h"

#include <stdbool.h>
#include <stdint.h>

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
MUST_CHECK Err policy_parse(Slice text, QueuePolicy *out_policy);

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

void queue_pack(Buf *out, const QueueDef *def);
MUST_CHECK Err queue_unpack(Slice packed, QueueDef *out_def);
QueueDef queue_copy(Arena *arena, const QueueDef *def);

bool queue_paused(const QueueDef *def, int64_t wall_ms);

/* def NULL in these: nobody defined the queue. */
bool queue_takes_priority(const QueueDef *def, int64_t priority);
int64_t queue_clamp_priority(const QueueDef *def, int64_t priority);
int64_t queue_default_priority(const QueueDef *def); /* of a job that says none */

/* 0 (most urgent) to 19: the range of the queue, else 003's 10 to 1, spread evenly. */
int queue_nice(const QueueDef *def, int64_t priority);

#define SLOTS_TABLE "node_slots" /* of definitions; the key is a sysid */

/* This node's own slots, where they differ from what the settings and queues say. */
typedef struct NodeSlots {
    bool has_slots;
    uint32_t slots;
    Slice queues; /* NAME=SLOTS, each ended by NUL */
} NodeSlots;

void slots_pack(Buf *out, const NodeSlots *slots);
MUST_CHECK Err slots_unpack(Slice packed, NodeSlots *out_slots);
NodeSlots slots_copy(Arena *arena, const NodeSlots *slots);
bool slots_of_queue(const NodeSlots *slots, Slice queue, uint32_t *out);

/* --- Aging -----------------------------------------------------------------------------
 *
 * A job's priority grows by the same rate for every job of the queue, so which of two
 * goes first never changes while they wait: p + a*(now - dt) > q + a*(now - et) does not
 * depend on now. One point is worth queue_age_ms() of waiting, and the order is that of
 * dt - priority * age_ms: fixed, exact, and the store can give jobs out in it. */
int64_t queue_age_ms(const QueueDef *def); /* ms of waiting per point; 0: no aging */

/* --- Rate: a bucket of tokens
 * ------------------------------------------------------------
 */

typedef struct Bucket {
    bool begun;
    int64_t filled_boot; /* when it was last looked at */
    int64_t parts;       /* tokens * rate_ms, at that time */
} Bucket;

/* Whether one may be taken now; if not, *out_boot is when. */
bool bucket_ready(Bucket *bucket, const QueueDef *def, int64_t boot_ms,
                  int64_t *out_boot);
void bucket_take(Bucket *bucket, const QueueDef *def, int64_t boot_ms);

#endif
