/* SPDX-License-Identifier: Apache-2.0 */
/* copy_unit.h - units to a processor of this node: copied into its `receive`, noted in
 * its .pawl/arrived, renamed into its `work` (S4.14-S4.16), as transfer.h says.
 *
 * Several are carried together: what each needs on disk before its next step is waited
 * for once. Half a unit is never seen in `work`, whatever dies meanwhile. */
#ifndef PIPELINE_FORWARD_COPY_UNIT_H
#define PIPELINE_FORWARD_COPY_UNIT_H

#include "base/mailbox.h"
#include "pipeline/processor/bucket.h"
#include "pipeline/processor/tree.h"

#define CARRY_TOGETHER_MAX 64

typedef enum CarryEnd {
    CARRY_DONE,     /* it is there, or was there before */
    CARRY_CLASH,    /* the destination has a unit of this name */
    CARRY_NO_PLACE, /* the destination is no directory of a processor */
    CARRY_FAILED,   /* why says it */
    CARRY_NOT_YET,  /* others took so long that it was not begun */
} CarryEnd;

typedef struct CarryOrder {
    Mail mail;
    uint64_t number; /* the caller's */
    char *source;    /* directory of the unit */
    char *dir;       /* of the processor it goes to */
    char unit[UNIT_BYTES_MAX + 1];
    char record[512];    /* "SENDER DELIVERY" */
    size_t sender_bytes; /* of it, with the blank */
    int64_t rate;        /* bytes per second; 0: no limit */
    CarryEnd end;
    Error why;
} CarryOrder;

/* Orders with the same source and dir. Fills `end` of each. */
void carry_all(CarryOrder **orders, size_t count, const atomic_bool *stop);

#endif
