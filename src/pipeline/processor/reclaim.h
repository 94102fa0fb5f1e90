/* SPDX-License-Identifier: Apache-2.0 */
/* reclaim.h - a broker takes back what it had given to a node that is lost, and divides
 * it anew.
 *
 * What must hold: a unit is in one place. So it is taken only from a processor whose node
 * is fenced (nothing it decides counts any more) and whose directory nobody has open:
 * the lock of it is held meanwhile. Its way back is written down first (.pawl/back/UNIT),
 * it leaves the buckets by one rename, and until it is back in the source and nowhere
 * else the broker gives it to no one. What had ended there stays; what others gave to the
 * processor stays; what lies on a disk that cannot be seen from here waits for its node.
 */
#ifndef PIPELINE_PROCESSOR_RECLAIM_H
#define PIPELINE_PROCESSOR_RECLAIM_H

#include "pipeline/forward/broker.h"

/* After a start: what was on its way goes on. */
void reclaim_open(Broker *broker);

/* Looks for lost nodes, takes back some. True: there is more. */
bool reclaim_step(Broker *broker, int64_t boot_ms);

/* Whether a unit of the source is still on its way back. */
bool reclaim_holds(const Broker *broker, const char *unit);

/* --- One unit --------------------------------------------------------------------------
 */

typedef struct ReclaimUnit {
    Buckets *from; /* of the lost processor, locked */
    Bucket bucket; /* where the unit is */
    const char *name;
    Slice key; /* of the destination */
} ReclaimUnit;

/* False: it is where it was, or on its way, and the broker tells why. */
bool reclaim_unit(Broker *broker, const ReclaimUnit *unit);

/* What a crash or an error has left on its way. */
void reclaim_go_on(Broker *broker, Buckets *from, const char *unit);

#endif
