/* SPDX-License-Identifier: Apache-2.0 */
/* operation.h - one action on every job that matches a query, in the background.
 *
 * An operation is a definition in the store: what is asked, how far it has come and what
 * became of it. It goes from the newest job that was there when it was asked to the
 * oldest, so every job is acted on at most once, and none that came later. */
#ifndef CORE_OPERATION_H
#define CORE_OPERATION_H

#include "core/event.h"

#define OPERATION_TABLE "operation"
/* "operation ID": why a job is held or cancelled, if the operation gave no reason. */
#define REASON_OPERATION "operation"
#define OPERATIONS_MAX   1000 /* kept; the oldest that are over go first */

typedef enum OperationState {
    OPERATION_RUNNING,
    OPERATION_DONE,
    OPERATION_STOPPED, /* by a person */
    OPERATION_FAILED,  /* the store cannot read its query */
} OperationState;

typedef struct Operation {
    JobId id;
    OperationState state;
    Action action;
    bool dry_run;
    JobId before;  /* jobs below this one are still to come */
    int64_t count; /* jobs that matched when it was asked */
    int64_t acted;
    int64_t refused; /* not in a state for it, or changed meanwhile */
    int64_t created_ms;
    int64_t finished_ms;
    Patch patch;  /* ACT_PATCH; no payload: what jobs carry is their own */
    Slice tenant; /* of the jobs; empty: of all */
    Slice query;
    Slice reason;
} Operation;

const char *operation_state_name(OperationState state);

void operation_pack(Buf *out, const Operation *operation);
MUST_CHECK Err operation_unpack(Slice packed, Operation *out);

#endif
