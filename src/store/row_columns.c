/* SPDX-License-Identifier: Apache-2.0 */
/* row_columns.c - see row_columns.h. */
#include "store/row_columns.h"

Place place_of(JobState state)
{
    if (state == JOB_DONE)
        return PLACE_DONE;
    return state_in(state, STATES_FINAL) ? PLACE_DEAD : PLACE_LIVE;
}

/* Everything that has a column of its own: taken from `from`, whatever `to` has. */
static void copy_hot(Job *to, const Job *from)
{
    to->id = from->id;
    to->parent = from->parent;
    to->state = from->state;
    to->flags = from->flags;
    to->priority = from->priority;
    to->dt_ms = from->dt_ms;
    to->created_ms = from->created_ms;
    to->run_at_ms = from->run_at_ms;
    to->started_ms = from->started_ms;
    to->finished_ms = from->finished_ms;
    to->beat_ms = from->beat_ms;
    to->service_ms = from->service_ms;
    to->result_bytes = from->result_bytes;
    to->attempt = from->attempt;
    to->retry_number = from->retry_number;
    to->progress = from->progress;
    to->outcome = from->outcome;
    to->tenant = from->tenant;
    to->type = from->type;
    to->queue = from->queue;
    to->lock = from->lock;
    to->node = from->node;
    to->name = from->name;
    to->reason = from->reason;
    to->error = from->error;
    to->message = from->message;
    to->payload = from->payload;
    to->bookings = from->bookings; /* in a table of its own */
}

Err row_columns_unpack(RowColumns *saved)
{
    if (saved->opened)
        return ERR_OK;
    saved->opened = true;
    Job cold;
    if (!saved->spec.bytes)
        return ERR_OK;
    if (job_unpack(saved->spec, &cold))
        return ERR_CORRUPT;
    copy_hot(&cold, &saved->row.job);
    saved->row.job = cold;
    return ERR_OK;
}

Slice row_columns_spec(const RowColumns *saved, Buf *scratch)
{
    if (!saved->opened)
        return saved->spec;
    const Job nothing = job_default();
    Job cold = saved->row.job;
    copy_hot(&cold, &nothing);
    buf_clear(scratch);
    job_pack(scratch, &cold);
    return buf_slice(scratch);
}

/* Whether anything about runs is worth a column: attempt is NULL in the rows of jobs
 * that only wait, and their other columns are not looked at. */
bool row_columns_has_run(const Row *row)
{
    const Job *job = &row->job;
    return job->attempt || job->retry_number || row->run_retry || row->slot ||
           job->node.bytes || job->started_ms || job->finished_ms || job->beat_ms ||
           job->outcome.code || job->outcome.exitcode || job->outcome.exit_status != -1 ||
           job->outcome.signal || job->progress != -1 || job->result_bytes ||
           row->run_state != RUN_NONE;
}
