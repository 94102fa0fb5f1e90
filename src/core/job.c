/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - see job.h.
 *
 * Invariants of a job at rest:
 *   J1  lock is empty exactly when the job waits, a sysid when it is owned, "__done"
 *       when it is final.
 *   J2  a final job's dt is its end + 1000 years (002's archive).
 *   J3  nothing else in the program assigns job->state. */
#include "core/job.h"

#include "base/fields.h"
#include "base/map.h"

#include <stddef.h>

#define TO(state) STATE_BIT(state)

/* The whole life of a job. A final state is left only by an operator's retry. */
static const JobStates job_steps[JOB_STATES] = {
    [JOB_DEFERRED] = TO(JOB_DEFERRED) | TO(JOB_READY) | TO(JOB_BLOCKED) | TO(JOB_HELD) |
                     TO(JOB_REJECTED) | TO(JOB_CANCELLED),
    [JOB_BLOCKED] = TO(JOB_BLOCKED) | TO(JOB_READY) | TO(JOB_DEFERRED) |
                    TO(JOB_RETRYING) | TO(JOB_HELD) | TO(JOB_REJECTED) |
                    TO(JOB_CANCELLED),
    [JOB_READY] = TO(JOB_READY) | TO(JOB_RUNNING) | TO(JOB_DEFERRED) | TO(JOB_RETRYING) |
                  TO(JOB_BLOCKED) | TO(JOB_HELD) | TO(JOB_REJECTED) | TO(JOB_CANCELLED),
    [JOB_HELD] = TO(JOB_HELD) | TO(JOB_READY) | TO(JOB_DEFERRED) | TO(JOB_RETRYING) |
                 TO(JOB_BLOCKED) | TO(JOB_CANCELLED),
    [JOB_RUNNING] = TO(JOB_READY) | TO(JOB_RETRYING) | TO(JOB_PAUSED) | TO(JOB_HALTED) |
                    TO(JOB_BLOCKED) | TO(JOB_DONE) | TO(JOB_FAILED) | TO(JOB_REJECTED) |
                    TO(JOB_CANCELLED),
    [JOB_PAUSED] = TO(JOB_RUNNING) | TO(JOB_READY) | TO(JOB_RETRYING) | TO(JOB_HALTED) |
                   TO(JOB_DONE) | TO(JOB_FAILED) | TO(JOB_REJECTED) | TO(JOB_CANCELLED),
    [JOB_HALTED] = TO(JOB_HALTED) | TO(JOB_READY) | TO(JOB_DEFERRED) | TO(JOB_HELD) |
                   TO(JOB_CANCELLED),
    [JOB_RETRYING] = TO(JOB_RETRYING) | TO(JOB_READY) | TO(JOB_DEFERRED) | TO(JOB_HELD) |
                     TO(JOB_BLOCKED) | TO(JOB_REJECTED) | TO(JOB_CANCELLED),
    [JOB_DONE] = TO(JOB_READY) | TO(JOB_BLOCKED),
    [JOB_FAILED] = TO(JOB_READY) | TO(JOB_BLOCKED),
    [JOB_REJECTED] = TO(JOB_READY) | TO(JOB_BLOCKED),
    [JOB_CANCELLED] = TO(JOB_READY) | TO(JOB_BLOCKED),
};

Job job_default(void)
{
    return (Job){
        .state = JOB_READY,
        .priority = PRIORITY_DEFAULT,
        .max_retries = RETRIES_UNSET,
        .progress = -1,
        .outcome = { .exit_status = -1 },
    };
}

const char *state_name(JobState state)
{
    switch (state) {
    case JOB_DEFERRED:
        return "deferred";
    case JOB_BLOCKED:
        return "blocked";
    case JOB_READY:
        return "ready";
    case JOB_HELD:
        return "held";
    case JOB_RUNNING:
        return "running";
    case JOB_PAUSED:
        return "paused";
    case JOB_HALTED:
        return "halted";
    case JOB_RETRYING:
        return "retrying";
    case JOB_DONE:
        return "done";
    case JOB_FAILED:
        return "failed";
    case JOB_REJECTED:
        return "rejected";
    case JOB_CANCELLED:
        return "cancelled";
    }
    return "?";
}

Err state_parse(Slice text, JobState *out_state)
{
    for (unsigned state = 0; state < JOB_STATES; state++) {
        if (!slice_is(text, state_name((JobState)state)))
            continue;
        *out_state = (JobState)state;
        return ERR_OK;
    }
    return ERR_INVALID;
}

const char *code_name(JobCode code)
{
    switch (code) {
    case CODE_NONE:
        return "";
    case CODE_OK:
        return "ok";
    case CODE_FAILED:
        return "failed";
    case CODE_RETRY:
        return "retry";
    case CODE_ERROR:
        return "error";
    }
    return "?";
}

const char *state_status(JobState state)
{
    switch (state) {
    case JOB_DEFERRED:
    case JOB_BLOCKED:
    case JOB_READY:
    case JOB_HELD:
    case JOB_HALTED:
        return "Pending";
    case JOB_RUNNING:
    case JOB_PAUSED:
        return "InProgress";
    case JOB_RETRYING:
    case JOB_FAILED:
        return "Failed";
    case JOB_DONE:
        return "Completed";
    case JOB_REJECTED:
        return "Rejected";
    case JOB_CANCELLED:
        return "Cancelled";
    }
    return "?";
}

bool state_step(JobState from, JobState to)
{
    return state_in(to, job_steps[from]);
}

Err job_move(Job *job, JobState to, int64_t dt_ms)
{
    if (!state_step(job->state, to))
        return ERR_CONFLICT;
    job->state = to;
    job->dt_ms = dt_ms;
    if (state_in(to, STATES_FINAL)) {
        job->dt_ms = job->finished_ms + MS_PER_1000_YEARS;
        job->lock = SLICE_LITERAL(LOCK_DONE);
    } else if (!state_in(to, STATES_OWNED)) {
        job->lock = (Slice){ NULL, 0 };
    }
    return ERR_OK;
}

JobState job_waiting_state(const Job *job, int64_t wall_ms)
{
    if (job->dt_ms <= wall_ms)
        return JOB_READY;
    return job->attempt ? JOB_RETRYING : JOB_DEFERRED;
}

void job_take_handled(Job *job, const Job *from)
{
    job->flags = from->flags;
    job->priority = from->priority;
    job->retry_delay_ms = from->retry_delay_ms;
    job->retry_window_ms = from->retry_window_ms;
    job->max_run_ms = from->max_run_ms;
    job->service_ms = from->service_ms;
    job->max_retries = from->max_retries;
    job->queue = from->queue;
    job->user = from->user;
    job->resources = from->resources;
    job->then = from->then;
    job->on_error = from->on_error;
    job->children = from->children;
}

int64_t job_ready_since(const Job *job)
{
    return job->dt_ms > job->run_at_ms ? job->dt_ms : job->run_at_ms;
}

uint64_t document_hash(Slice document)
{
    static const char space[] = " \t\r\n";
    while (document.bytes && memchr(space, document.data[0], sizeof space - 1))
        document = slice_from(document, 1);
    while (document.bytes &&
           memchr(space, document.data[document.bytes - 1], sizeof space - 1))
        document.bytes--;
    uint64_t hash = hash_bytes(document.data, document.bytes);
    return hash ? hash : 1;
}

#define ROW(tag, member, kind)                                                           \
    {                                                                                    \
        (tag), offsetof(Job, member), (kind)                                             \
    }

static const FieldRow job_rows[] = {
    ROW(1, id, FIELD_64),
    ROW(2, parent, FIELD_64),
    ROW(3, state, FIELD_32),
    ROW(4, flags, FIELD_32),
    ROW(5, priority, FIELD_64),
    ROW(6, dt_ms, FIELD_64),
    ROW(7, created_ms, FIELD_64),
    ROW(8, run_at_ms, FIELD_64),
    ROW(9, started_ms, FIELD_64),
    ROW(10, finished_ms, FIELD_64),
    ROW(11, beat_ms, FIELD_64),
    ROW(12, window_from_ms, FIELD_64),
    ROW(13, retry_delay_ms, FIELD_64),
    ROW(14, retry_window_ms, FIELD_64),
    ROW(15, max_run_ms, FIELD_64),
    ROW(16, service_ms, FIELD_64),
    ROW(17, result_bytes, FIELD_64),
    ROW(18, attempt, FIELD_32),
    ROW(19, retry_number, FIELD_32),
    ROW(20, max_retries, FIELD_32),
    ROW(21, progress, FIELD_32),
    ROW(22, outcome.code, FIELD_32),
    ROW(23, outcome.exitcode, FIELD_32),
    ROW(24, outcome.exit_status, FIELD_32),
    ROW(25, outcome.signal, FIELD_32),
    ROW(26, error_depth, FIELD_32),
    ROW(27, document_hash, FIELD_64),
    ROW(28, owner, FIELD_32),
    ROW(29, version, FIELD_32),
    ROW(30, chain, FIELD_32),
    ROW(40, tenant, FIELD_SLICE),
    ROW(41, type, FIELD_SLICE),
    ROW(42, queue, FIELD_SLICE),
    ROW(43, lock, FIELD_SLICE),
    ROW(44, node, FIELD_SLICE),
    ROW(45, name, FIELD_SLICE),
    ROW(46, reason, FIELD_SLICE),
    ROW(47, error, FIELD_SLICE),
    ROW(48, message, FIELD_SLICE),
    ROW(49, command, FIELD_SLICE),
    ROW(50, env, FIELD_SLICE),
    ROW(51, cwd, FIELD_SLICE),
    ROW(52, user, FIELD_SLICE),
    ROW(53, tags, FIELD_SLICE),
    ROW(54, resources, FIELD_SLICE),
    ROW(55, after, FIELD_SLICE),
    ROW(56, then, FIELD_SLICE),
    ROW(57, on_error, FIELD_SLICE),
    ROW(58, group, FIELD_SLICE),
    ROW(59, schedule, FIELD_SLICE),
    ROW(60, unique, FIELD_SLICE),
    ROW(61, document_uri, FIELD_SLICE),
    ROW(62, param, FIELD_SLICE),
    ROW(63, children, FIELD_SLICE),
    ROW(64, trace, FIELD_SLICE),
    ROW(65, payload, FIELD_SLICE),
    ROW(66, notify, FIELD_SLICE),
    ROW(67, bookings, FIELD_SLICE),
    ROW(68, request, FIELD_SLICE),
};

_Static_assert(sizeof(JobState) == sizeof(uint32_t), "enums are read as 32 bits");
_Static_assert(sizeof(JobCode) == sizeof(uint32_t), "enums are read as 32 bits");

void job_pack(Buf *out, const Job *job)
{
    const Job defaults = job_default();
    const Fields fields = { job_rows, FIELDS_COUNT(job_rows), &defaults };
    fields_pack(out, &fields, job);
}

static bool plausible(const Job *job)
{
    return (unsigned)job->state < JOB_STATES && (unsigned)job->outcome.code <= CODE_ERROR;
}

Err job_unpack(Slice packed, Job *out_job)
{
    const Job defaults = job_default();
    const Fields fields = { job_rows, FIELDS_COUNT(job_rows), &defaults };
    Job job = defaults;
    if (fields_unpack(packed, &fields, &job) || !plausible(&job))
        return ERR_CORRUPT;
    *out_job = job;
    return ERR_OK;
}

Job job_copy(Arena *arena, const Job *job)
{
    const Fields fields = { job_rows, FIELDS_COUNT(job_rows), NULL };
    Job copy = *job;
    fields_keep(&fields, arena, &copy);
    return copy;
}
