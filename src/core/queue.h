/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - what follows from what someone has said about a queue (noun/queue.h).
 *
 * A queue that nobody defined has all of it open. Plain data and pure rules; the node
 * keeps the definitions it has (limits.h) and obeys them. */
#ifndef CORE_QUEUE_H
#define CORE_QUEUE_H

#include "base/times.h"
#include "noun/queue.h"

bool queue_paused(const QueueDef *def, int64_t wall_ms);

/* def NULL in these: nobody defined the queue. */
bool queue_takes_priority(const QueueDef *def, int64_t priority);
int64_t queue_clamp_priority(const QueueDef *def, int64_t priority);
int64_t queue_default_priority(const QueueDef *def); /* of a job that says none */

/* 0 (most urgent) to 19: the range of the queue, else 003's 10 to 1, spread evenly. */
int queue_nice(const QueueDef *def, int64_t priority);

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
