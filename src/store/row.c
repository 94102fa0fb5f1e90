/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - see row.h. */
#include "store/row.h"

#include <assert.h>
#include <stdlib.h>

Row row_new(const Job *job)
{
    return (Row){
        .job = *job,
        .run_retry = job->retry_number,
        .run_state = job->attempt ? (int32_t)job->state : RUN_NONE,
    };
}

static bool from_allows(const Op *op, JobState state)
{
    return !op->from || state_in(state, op->from);
}

static OpResult guard_owned(const Job *job, const Op *op)
{
    if (op->attempt != job->attempt || !slice_equal(op->lock, job->lock))
        return OP_LOST;
    if (!state_in(job->state, STATES_OWNED) || !from_allows(op, job->state))
        return OP_CONFLICT;
    if (op->kind == OP_PROGRESS)
        return OP_APPLIED;
    bool stays_owned = state_in(op->to, STATES_OWNED);
    if (stays_owned != (op->kind == OP_PAUSE))
        return OP_CONFLICT;
    return state_step(job->state, op->to) ? OP_APPLIED : OP_CONFLICT;
}

static OpResult guard_claim(const Job *job, const Op *op)
{
    if (state_in(job->state, STATES_OWNED))
        return OP_LOST;
    if (job->state != JOB_READY || !from_allows(op, job->state) || !op->lock.bytes)
        return OP_CONFLICT;
    return op->attempt == job->attempt + 1 ? OP_APPLIED : OP_LOST;
}

static OpResult guard_free(const Job *job, const Op *op)
{
    if (op->attempt && op->attempt != job->attempt)
        return OP_LOST;
    if (op->lock.bytes && !slice_equal(op->lock, job->lock))
        return OP_LOST;
    if (state_in(job->state, STATES_OWNED) || !from_allows(op, job->state))
        return OP_CONFLICT;
    if (op->kind == OP_REMOVE)
        return OP_APPLIED;
    if (state_in(op->to, STATES_OWNED) || !state_step(job->state, op->to))
        return OP_CONFLICT;
    if (state_in(job->state, STATES_FINAL) && !(op->fields & FIELD_RETRY))
        return OP_CONFLICT;
    return OP_APPLIED;
}

static OpResult guard_give(const Job *job, const Op *op)
{
    bool waits = state_in(job->state, STATES_WAITING) && from_allows(op, job->state);
    return waits && op->node ? OP_APPLIED : OP_CONFLICT;
}

OpResult row_guard(const Row *row, const Op *op)
{
    switch (op->kind) {
    case OP_CLAIM:
        return guard_claim(&row->job, op);
    case OP_PROGRESS:
    case OP_FINISH:
    case OP_PAUSE:
        return guard_owned(&row->job, op);
    case OP_MOVE:
    case OP_REMOVE:
        return guard_free(&row->job, op);
    case OP_GIVE:
        return guard_give(&row->job, op);
    case OP_ADD:
    case OP_ADD_LINES:
    case OP_BEAT:
    case OP_PURGE:
    case OP_PUT:
    case OP_DELETE:
    case OP_NODE:
    case OP_KEY:
    case OP_MAIL:
    case OP_TAKEN:
    case OP_FENCE:
    case OP_TAKE:
    case OP_JOIN:
    case OP_DROP:
    case OP_SWEPT:
        break;
    }
    return OP_CONFLICT; /* not an operation on one job that is there */
}

bool row_forgets(const Row *row, const Op *op)
{
    if (row->run_state == RUN_NONE)
        return false;
    return op->kind == OP_CLAIM ||
           (op->kind == OP_MOVE && state_in(op->to, STATES_FINAL));
}

/* row_guard has seen that there is such a step. */
static void must_move(Job *job, JobState to, int64_t dt_ms)
{
    Err err = job_move(job, to, dt_ms);
    assert(!err);
    (void)err;
}

static void change_claim(Row *row, const Op *op)
{
    Job *job = &row->job;
    must_move(job, JOB_RUNNING, op->dt_ms);
    job->attempt = op->attempt;
    job->lock = op->lock;
    job->node = op->lock;
    job->bookings = op->bookings;
    job->version = op->version;
    job->started_ms = op->at_ms;
    job->beat_ms = op->at_ms;
    job->finished_ms = 0;
    job->outcome = job_default().outcome;
    job->progress = -1;
    job->error = (Slice){ NULL, 0 };
    job->message = op->message;
    job->flags &= ~(uint32_t)(JOB_CUT | JOB_CANCELLING | JOB_HALTING);
    row->slot = (uint32_t)op->count;
    row->run_retry = job->retry_number;
    row->run_state = JOB_RUNNING;
}

static void change_told(Job *job, const Op *op)
{
    if (op->progress >= 0)
        job->progress = op->progress;
    if (op->message.bytes)
        job->message = op->message;
    job->flags |= op->flags;
}

static void change_finish(Row *row, const Op *op)
{
    Job *job = &row->job;
    job->finished_ms = op->at_ms;
    job->outcome = op->outcome;
    job->error = op->error;
    job->reason = op->reason;
    job->retry_number = op->retry_number;
    if (op->window_from_ms)
        job->window_from_ms = op->window_from_ms;
    job->result_bytes = (int64_t)op->result.bytes;
    job->flags &= ~(uint32_t)(JOB_CANCELLING | JOB_HALTING);
    change_told(job, op);
    must_move(job, op->to, op->dt_ms);
    row->run_state = (int32_t)op->to;
}

static void change_fields(Job *job, const Op *op)
{
    if (op->fields & FIELD_HANDLER)
        job_take_handled(job, op->job);
    if (op->fields & FIELD_PRIORITY) {
        job->priority = op->priority;
        job->flags &= ~(uint32_t)JOB_OPEN_PRIORITY;
    }
    if (op->fields & FIELD_QUEUE) {
        job->queue = op->queue;
        job->flags &= ~(uint32_t)JOB_OPEN_QUEUE;
    }
    if (op->fields & FIELD_LANE) {
        uint32_t lane = JOB_PULL | JOB_SEGREGATED;
        job->flags = (job->flags & ~lane) | (op->flags & lane);
    }
    if (op->fields & FIELD_SURE)
        job->flags &= ~(uint32_t)JOB_UNSURE;
    if (op->fields & FIELD_PAYLOAD)
        job->payload = op->payload;
    if (op->fields & FIELD_TAGS)
        job->tags = op->tags;
    if (op->fields & FIELD_MAX_RUN)
        job->max_run_ms = op->max_run_ms;
    if (op->fields & FIELD_RUN_AT)
        job->run_at_ms = op->dt_ms;
    if (op->fields & FIELD_RETRY) {
        job->retry_number = 0;
        job->flags &= ~(uint32_t)JOB_LOSSES;
        job->window_from_ms = op->window_from_ms;
    }
    if ((op->fields & FIELD_RUN_AT) && op->window_from_ms)
        job->window_from_ms = op->window_from_ms;
    if (op->fields & FIELD_WAITS)
        job->flags |= JOB_WAITS;
    if (op->fields & FIELD_ALONE)
        job->flags &= ~(uint32_t)JOB_WAITS;
    if (op->fields & FIELD_FREED) {
        job->window_from_ms = op->window_from_ms;
        job->flags &= ~(uint32_t)JOB_WAITS;
    }
}

static void change_move(Row *row, const Op *op)
{
    Job *job = &row->job;
    if (state_in(op->to, STATES_FINAL)) {
        job->finished_ms = op->at_ms;
        job->flags &= ~(uint32_t)JOB_WAITS;
        row->run_state = RUN_NONE; /* kept by the store: see row_forgets */
    }
    job->reason = op->reason;
    change_fields(job, op);
    must_move(job, op->to, op->dt_ms);
}

void row_change(Row *row, const Op *op)
{
    switch (op->kind) {
    case OP_CLAIM:
        change_claim(row, op);
        return;
    case OP_PROGRESS:
        change_told(&row->job, op);
        if (op->reason.bytes)
            row->job.reason = op->reason;
        row->job.beat_ms = op->at_ms;
        if (op->dt_ms)
            row->job.dt_ms = op->dt_ms;
        return;
    case OP_FINISH:
        change_finish(row, op);
        return;
    case OP_MOVE:
        change_move(row, op);
        return;
    case OP_PAUSE:
        must_move(&row->job, op->to, op->dt_ms ? op->dt_ms : row->job.dt_ms);
        row->run_state = (int32_t)op->to;
        return;
    case OP_GIVE:
        job_set_owner(&row->job, op->node);
        return;
    case OP_ADD:
    case OP_ADD_LINES:
    case OP_BEAT:
    case OP_REMOVE:
    case OP_PURGE:
    case OP_PUT:
    case OP_DELETE:
    case OP_NODE:
    case OP_KEY:
    case OP_MAIL:
    case OP_TAKEN:
    case OP_FENCE:
    case OP_TAKE:
    case OP_JOIN:
    case OP_DROP:
    case OP_SWEPT:
        break;
    }
    abort(); /* not a change of one job: row_guard has refused it */
}

bool row_attempt(const Row *row, Job *out_attempt)
{
    const Job *job = &row->job;
    if (row->run_state == RUN_NONE)
        return false;
    Job attempt = job_default();
    attempt.id = job->id;
    attempt.state = (JobState)row->run_state;
    attempt.attempt = job->attempt;
    attempt.retry_number = row->run_retry;
    attempt.run_at_ms = job->run_at_ms;
    attempt.service_ms = job->service_ms;
    attempt.started_ms = job->started_ms;
    attempt.finished_ms = job->finished_ms;
    attempt.beat_ms = job->beat_ms;
    attempt.outcome = job->outcome;
    attempt.error = job->error;
    attempt.node = job->node;
    attempt.bookings = job->bookings;
    attempt.version = job->version;
    *out_attempt = attempt;
    return true;
}

Job row_line(const Op *op, uint32_t node, uint64_t k, Slice line)
{
    Job job = *op->job;
    job.id = id_from_count(op->first + k, (uint16_t)node);
    job.payload = line;
    return job;
}
