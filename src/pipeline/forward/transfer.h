/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.h - the shell script that carries one unit to another machine (S4.14-S4.16).
 *
 * On the receiving side, whatever the way there (copy_unit.h does the same on this node):
 *   - a delivery that has arrived before (.pawl/arrived/UNIT says so) is not repeated;
 *   - a unit that waits in `work` and came from the same sender goes back to `receive`,
 *     so that only the difference is sent; one of anybody else is a clash;
 *   - bytes go to `receive`; when all are there and synced the record is written and the
 *     unit renamed into `work`.
 * An rsync daemon cannot rename: there a mark asks the processor to do it (arrival.h). */
#ifndef PIPELINE_FORWARD_TRANSFER_H
#define PIPELINE_FORWARD_TRANSFER_H

#include "base/buf.h"
#include "pipeline/forward/plan.h"

/* Exit statuses of the script. */
typedef enum TransferExit {
    TRANSFER_NO_PLACE = 66,   /* the destination is not there */
    TRANSFER_NO_PROGRAM = 69, /* rsync or ssh is not installed */
    TRANSFER_CLASH = 73,      /* the destination has a unit of this name */
} TransferExit;

typedef struct TransferOrder {
    const Place *place;
    const Forward *forward;
    const char *source; /* path of the unit */
    const char *unit;
    const char *sender;
    const char *delivery; /* which state of the unit this is */
} TransferOrder;

/* The job's argv, each word ended by NUL. */
void transfer_command(Buf *out, const TransferOrder *order);

/* The unit, the destination's key and the delivery of such a command; false: it is none.
 */
bool transfer_parse(Slice command, Slice *out_unit, Slice *out_key, Slice *out_delivery);

/* What an exit status means, for people. */
const char *transfer_problem(int exit_status);

/* Quoted for a POSIX shell. */
void shell_quote(Buf *out, Slice text);

#endif
