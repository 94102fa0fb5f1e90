/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - see columns.h. */
#include "store/columns.h"

#include "store/sum.h"

#include <assert.h>

#define COLUMN_INFO(number, NAME, column, type, changes)                                 \
    [COL_##NAME] = { #column, COLUMN_##type, changes },

/* clang-format off */
const ColumnInfo job_columns[JOB_COLUMNS] = {
    JOB_FIRST_COLUMNS(COLUMN_INFO)
    JOB_COLUMN_LIST(COLUMN_INFO)
    JOB_PAYLOAD_COLUMN(COLUMN_INFO)
    JOB_SHARED_COLUMN(COLUMN_INFO)
};
/* clang-format on */

/* --- Out of a row ------------------------------------------------------------------ */

static void must(RowValues *out, JobColumn column, int64_t value)
{
    out->numbers[column] = value;
    out->given[column] = true;
}

static void unless(RowValues *out, JobColumn column, int64_t value, int64_t none)
{
    out->numbers[column] = value;
    out->given[column] = value != none;
}

static void text(RowValues *out, JobColumn column, Slice bytes)
{
    out->bytes[column] = bytes;
    out->given[column] = bytes.bytes > 0;
}

static void fill_run(RowValues *out, const Row *row, uint32_t node)
{
    const Job *job = &row->job;
    must(out, COL_ATTEMPT, job->attempt);
    unless(out, COL_RETRY, job->retry_number, 0);
    unless(out, COL_RUN_RETRY, row->run_retry, 0);
    unless(out, COL_RUN_STATE, row->run_state, RUN_NONE);
    unless(out, COL_SLOT, row->slot, 0);
    unless(out, COL_NODE, node, 0);
    unless(out, COL_STARTED, job->started_ms, 0);
    unless(out, COL_FINISHED, job->finished_ms, 0);
    unless(out, COL_BEAT, job->beat_ms, 0);
    unless(out, COL_CODE, job->outcome.code, 0);
    unless(out, COL_EXITCODE, job->outcome.exitcode, 0);
    unless(out, COL_EXIT_STATUS, job->outcome.exit_status, -1);
    unless(out, COL_SIGNAL, job->outcome.signal, 0);
    unless(out, COL_PROGRESS, job->progress, -1);
    unless(out, COL_RESULT_BYTES, job->result_bytes, 0);
}

void columns_fill(RowValues *out, const RowColumns *saved, const RowNumbers *numbers,
                  Slice spec)
{
    const Job *job = &saved->row.job;
    assert(numbers->lane);
    memset(out->given, 0, sizeof out->given);
    must(out, COL_ID, (int64_t)job->id);
    must(out, COL_STATE, job->state);
    must(out, COL_LANE, numbers->lane);
    must(out, COL_OWNER, job_owner(job));
    must(out, COL_RANK, ~job->priority);
    must(out, COL_DT, job->dt_ms);
    unless(out, COL_LOCK, numbers->lock, 0);
    unless(out, COL_FLAGS, (int32_t)job->flags, 0);
    unless(out, COL_RUN_AT, job->run_at_ms, 0);
    unless(out, COL_TYPE, numbers->type, 0);
    unless(out, COL_CREATED, job->created_ms, 0);
    unless(out, COL_PARENT, (int64_t)job->parent, 0);
    unless(out, COL_SERVICE, job->service_ms, 0);
    unless(out, COL_APART, saved->apart, 0);
    text(out, COL_REASON, job->reason);
    text(out, COL_ERROR, job->error);
    text(out, COL_MESSAGE, job->message);
    text(out, COL_NAME, job->name);
    text(out, COL_SPEC, spec);
    text(out, COL_PAYLOAD, job->payload);
    if (row_columns_has_run(&saved->row))
        fill_run(out, &saved->row, numbers->node);
    out->body_sum = sum_body(&saved->row, spec);
    uint32_t payload_sum = saved->payload_sum;
    if (!payload_sum && !saved->apart)
        payload_sum = sum_payload(job->payload);
    must(out, COL_SUM, sum_join(out->body_sum, job->id, saved->apart, payload_sum));
}

void columns_refill(RowValues *values, JobId id, Slice payload, bool apart)
{
    must(values, COL_SUM, sum_join(values->body_sum, id, apart, sum_payload(payload)));
    must(values, COL_ID, (int64_t)id);
    unless(values, COL_APART, apart, 0);
    text(values, COL_PAYLOAD, apart ? (Slice){ NULL, 0 } : payload);
}

/* --- Into a row -------------------------------------------------------------------- */

static int64_t number(const RowValues *in, JobColumn column)
{
    return in->given[column] ? in->numbers[column] : 0;
}

static int32_t small(const RowValues *in, JobColumn column, int32_t absent)
{
    return in->given[column] ? (int32_t)in->numbers[column] : absent;
}

static Slice bytes(const RowValues *in, JobColumn column)
{
    return in->given[column] ? in->bytes[column] : (Slice){ NULL, 0 };
}

bool columns_make_sense(const RowValues *values)
{
    int64_t state = number(values, COL_STATE);
    int64_t code = number(values, COL_CODE);
    int64_t run_state = small(values, COL_RUN_STATE, RUN_NONE);
    return state >= 0 && state < JOB_STATES && code >= 0 && code <= CODE_ERROR &&
           run_state >= RUN_NONE && run_state < JOB_STATES;
}

static void read_run(Row *row, const RowValues *in, const RowTexts *texts)
{
    Job *job = &row->job;
    job->attempt = (uint32_t)number(in, COL_ATTEMPT);
    job->retry_number = (uint32_t)number(in, COL_RETRY);
    job->node = texts->node;
    job->started_ms = number(in, COL_STARTED);
    job->finished_ms = number(in, COL_FINISHED);
    job->beat_ms = number(in, COL_BEAT);
    job->outcome.code = (JobCode)number(in, COL_CODE);
    job->outcome.exitcode = small(in, COL_EXITCODE, 0);
    job->outcome.exit_status = small(in, COL_EXIT_STATUS, -1);
    job->outcome.signal = small(in, COL_SIGNAL, 0);
    job->progress = small(in, COL_PROGRESS, -1);
    job->result_bytes = number(in, COL_RESULT_BYTES);
    row->run_state = small(in, COL_RUN_STATE, RUN_NONE);
    row->run_retry = (uint32_t)number(in, COL_RUN_RETRY);
    row->slot = (uint32_t)number(in, COL_SLOT);
}

static bool is_damaged(const RowColumns *saved, const RowValues *in)
{
    if (!in->given[COL_SUM] || in->trusted)
        return false;
    int64_t sum = in->numbers[COL_SUM];
    const Job *job = &saved->row.job;
    int64_t now = sum_join(sum_body(&saved->row, saved->spec), job->id, saved->apart, 0);
    if (sum_row_half(sum) != sum_row_half(now))
        return true;
    return in->whole && !saved->apart && saved->payload_sum &&
           saved->payload_sum != sum_payload(job->payload);
}

bool columns_payload_sound(const RowColumns *saved, Slice payload)
{
    return !saved->payload_sum || saved->payload_sum == sum_payload(payload);
}

void columns_read(RowColumns *out, const RowValues *in, const RowTexts *texts)
{
    assert(columns_make_sense(in));
    *out = (RowColumns){ .row.job = job_default(), .row.run_state = RUN_NONE };
    Job *job = &out->row.job;
    job->id = (JobId)number(in, COL_ID);
    job->state = (JobState)number(in, COL_STATE);
    if (in->given[COL_OWNER])
        job_set_owner(job, (uint32_t)number(in, COL_OWNER));
    job->tenant = texts->tenant;
    job->queue = texts->queue;
    job->priority = ~number(in, COL_RANK);
    job->dt_ms = number(in, COL_DT);
    job->lock = texts->lock;
    job->type = texts->type;
    job->flags = (uint32_t)number(in, COL_FLAGS);
    job->created_ms = number(in, COL_CREATED);
    job->run_at_ms = number(in, COL_RUN_AT);
    job->parent = (JobId)number(in, COL_PARENT);
    job->service_ms = number(in, COL_SERVICE);
    job->name = bytes(in, COL_NAME);
    job->reason = bytes(in, COL_REASON);
    job->error = bytes(in, COL_ERROR);
    job->message = bytes(in, COL_MESSAGE);
    if (in->given[COL_ATTEMPT])
        read_run(&out->row, in, texts);
    out->lane = (uint32_t)number(in, COL_LANE);
    out->type = (uint32_t)number(in, COL_TYPE);
    out->apart = number(in, COL_APART) != 0;
    out->spec = bytes(in, COL_SPEC);
    out->payload_sum = sum_payload_half(number(in, COL_SUM));
    job->payload = bytes(in, COL_PAYLOAD);
    out->damaged = is_damaged(out, in);
}
