/* SPDX-License-Identifier: Apache-2.0 */
/* carrier.h - threads that carry units between directories of this node, so that one
 * large unit holds up nobody else.
 *
 * An order has a lane: of one lane at most `wide` groups are carried at the same time,
 * and no two groups into the same directory. Orders of one lane, source and directory
 * are carried together. What is not done when the carrier ends is simply not done. */
#ifndef PIPELINE_FORWARD_CARRIER_H
#define PIPELINE_FORWARD_CARRIER_H

#include "pipeline/forward/copy_unit.h"

typedef struct Carrier Carrier;

typedef struct CarrierLane {
    uint64_t lane;
    uint32_t wide;
} CarrierLane;

/* Ended orders come into `ended`, from other threads. */
Carrier *carrier_new(Mailbox *ended);
void carrier_free(Carrier *carrier); /* frees the orders it still has; NULL: nothing */

/* Belongs to the carrier until it is in the mailbox; `carry_order_free` is the taker's.
 */
void carrier_give(Carrier *carrier, CarryOrder *order, CarrierLane lane);

CarryOrder *carry_order_new(const char *source, const char *dir);
void carry_order_free(CarryOrder *order);

#endif
