/* SPDX-License-Identifier: Apache-2.0 */
/* marks.h - what a sender must know after a restart, as notes below its .pawl:
 *
 *     sent-to/KEY/UNIT   "DELIVERY": this destination has this state of the unit
 *     route/N/UNIT       "DELIVERY KEY": forwarder N gave the unit to this destination
 *
 * Another state of a unit is another delivery, so what is said about an older one counts
 * for nothing. */
#ifndef PIPELINE_PROCESSOR_MARKS_H
#define PIPELINE_PROCESSOR_MARKS_H

#include "pipeline/forward/plan.h"
#include "pipeline/processor/bucket.h"

#define DELIVERY_BYTES 64

/* Names the state in which a unit is now. False: it is not there. */
bool delivery_of(int source_fd, const char *unit, char out[DELIVERY_BYTES]);

typedef struct Delivery {
    const char *unit;
    const char *state; /* of delivery_of */
} Delivery;

bool mark_has(const Buckets *own, const Place *place, const Delivery *what);
MUST_CHECK Err mark_set(const Buckets *own, const Place *place, const Delivery *what,
                        Error *why); /* durable */

/* False: none was chosen, or it is no destination any more. */
bool choice_find(const Buckets *own, const Plan *plan, size_t forward,
                 const Delivery *what, size_t *out_place);
/* Durable after choice_sync. */
MUST_CHECK Err choice_set(const Buckets *own, size_t forward, const Place *place,
                          const Delivery *what, Error *why);
MUST_CHECK Err choice_sync(const Buckets *own, size_t forward, Error *why);

/* Everything about a unit goes; or about all units that are not in the source. */
void marks_forget(const Buckets *own, const Plan *plan, const char *unit);
void marks_tidy(const Buckets *own, const Plan *plan, int source_fd);

#endif
