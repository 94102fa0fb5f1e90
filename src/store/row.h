/* SPDX-License-Identifier: Apache-2.0 */
/* row.h - a job at rest, and what an operation makes of it: one truth for all stores.
 *
 * Pure: no storage here. A store finds the row, asks row_guard, and on OP_APPLIED lets
 * row_change do it; what the row is about to forget is kept first (row_forgets).
 *
 * The guards, in this order:
 *   FINISH, PROGRESS, PAUSE   attempt and lock must be the job's: else OP_LOST. Then it
 *             must be running or paused, and in `from`: else OP_CONFLICT. FINISH leads
 *             out of these two states, PAUSE from one to the other.
 *   CLAIM     a job that someone runs, or whose attempts have moved on (the new number
 *             must be the next): OP_LOST. Not ready, not in `from`, or no one claims it
 *             (an empty lock): OP_CONFLICT.
 *   MOVE, REMOVE   where given, attempt and lock must be the job's: else OP_LOST. A job
 *             that someone runs, or not in `from`: OP_CONFLICT. MOVE leads to no running
 *             state, and out of a final one only with FIELD_RETRY.
 *   GIVE      a job that does not wait, not in `from`, or to no one: OP_CONFLICT.
 *   A step that the life of a job does not have (state_step) is OP_CONFLICT.
 *
 * The changes:
 *
 *   CLAIM: attempt, lock and node, dt, message, started and beat at at_ms; end, outcome,
 *   error, progress, JOB_CUT, JOB_CANCELLING and JOB_HALTING start anew; count is the
 *   slot, bookings are what it holds of resources.
 *
 *   PROGRESS: progress unless -1, message and reason unless empty, flags are added, beat
 *   at at_ms; dt unless 0 (the lease of a pull worker).
 *
 *   FINISH: outcome, error, reason, retry_number and end (at_ms) are the op's; progress
 *   unless -1 and message unless empty; JOB_CANCELLING and JOB_HALTING go, flags are
 *   added; the result replaces an earlier one, an empty one removes it.
 *
 *   MOVE: state, dt, reason; into a final state the end is at_ms; RUN_AT takes dt, and
 *   window_from unless 0; RETRY takes window_from, clears retry_number and JOB_LOSSES;
 *   FREED takes window_from and clears JOB_WAITS, as does every final state; WAITS
 *   sets it.
 *
 *   With LANE the flags JOB_PULL and JOB_SEGREGATED are the op's. SURE clears JOB_UNSURE.
 *
 *   PAUSE: state; dt unless 0.
 *
 *   GIVE: owner. */
#ifndef STORE_ROW_H
#define STORE_ROW_H

#include "core/batch.h"

#define RUN_NONE (-1)

/* The last attempt is told by the job itself (started, finished, outcome, error, node)
 * and by the three fields behind it, until the row must forget it. */
typedef struct Row {
    Job job;
    uint32_t slot;      /* where it runs or ran; 0: none */
    uint32_t run_retry; /* its retry number: the job's own moves on at the end */
    int32_t run_state;  /* the state it is in or left the job in; RUN_NONE: there is none
                           or it was kept elsewhere */
} Row;

/* The row of a job that is added as it is. */
Row row_new(const Job *job);

OpResult row_guard(const Row *row, const Op *op);

/* Whether row_change will overwrite what the row tells about its last attempt. */
bool row_forgets(const Row *row, const Op *op);

/* Applies what row_guard has allowed. Slices are borrowed from op. */
void row_change(Row *row, const Op *op);

/* The last attempt as LOAD_ATTEMPTS gives it; false when the row has none. */
bool row_attempt(const Row *row, Job *out_attempt);

/* Line k of an ADD_LINES as a job; slices are borrowed from op and line. */
Job row_line(const Op *op, uint32_t node, uint64_t k, Slice line);

#endif
