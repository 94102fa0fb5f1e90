/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - a job, and the only way to change its state.
 *
 * A Job is plain data: it can be copied, compared, packed into bytes and built by hand
 * in a test. Its slices are borrowed from whoever made it. Lists (command, env, tags,
 * resources, after) are items each ended by a NUL byte. */
#ifndef CORE_JOB_H
#define CORE_JOB_H

#include "base/buf.h"
#include "base/id.h"
#include "base/times.h"
#include "core/job_flags.h"
#include "noun/limits.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum JobState {
    JOB_DEFERRED,  /* its time has not come */
    JOB_BLOCKED,   /* waits for other jobs or for a handler */
    JOB_READY,     /* may run now */
    JOB_HELD,      /* suspended before running */
    JOB_RUNNING,   /* claimed by a node: an attempt exists */
    JOB_PAUSED,    /* running, its processes stopped */
    JOB_HALTED,    /* stopped on purpose with its progress kept */
    JOB_RETRYING,  /* the last attempt ended RETRY or ERROR; waits for the next */
    JOB_DONE,      /* OK 2xx; this and all below are final */
    JOB_FAILED,    /* FAILED 4xx: by its own word it cannot succeed */
    JOB_REJECTED,  /* retries or the retry window are used up */
    JOB_CANCELLED, /* a person or program ended it */
} JobState;
#define JOB_STATES (JOB_CANCELLED + 1)

typedef uint32_t JobStates; /* a set: one bit per state */
#define STATE_BIT(state) (1u << (state))
#define STATES_FINAL                                                                     \
    (STATE_BIT(JOB_DONE) | STATE_BIT(JOB_FAILED) | STATE_BIT(JOB_REJECTED) |             \
     STATE_BIT(JOB_CANCELLED))
#define STATES_OWNED (STATE_BIT(JOB_RUNNING) | STATE_BIT(JOB_PAUSED))
#define STATES_WAITING                                                                   \
    (STATE_BIT(JOB_DEFERRED) | STATE_BIT(JOB_BLOCKED) | STATE_BIT(JOB_READY) |           \
     STATE_BIT(JOB_HELD) | STATE_BIT(JOB_HALTED) | STATE_BIT(JOB_RETRYING))
#define STATES_TIMED /* dt is when something becomes of them */                          \
    (STATE_BIT(JOB_DEFERRED) | STATE_BIT(JOB_BLOCKED) | STATE_BIT(JOB_RETRYING))

/* Why an attempt stopped, as 002 has it. */
typedef enum JobCode {
    CODE_NONE, /* it has not */
    CODE_OK,
    CODE_FAILED,
    CODE_RETRY,
    CODE_ERROR,
} JobCode;

typedef struct Outcome {
    JobCode code;
    int32_t exitcode;    /* 1xx, 2xx, 4xx, 5xx; 0 before the first end */
    int32_t exit_status; /* of the process; -1 when it did not exit by itself */
    int32_t signal;      /* that ended it, or 0 */
} Outcome;

#define RETRIES_UNSET (-1) /* no limit by count */
#define JOB_NAME_MAX  255

typedef struct Job {
    JobId id;
    JobId parent;
    JobState state;
    uint32_t flags;
    int64_t priority; /* larger first */
    int64_t dt_ms;    /* due; lease end while running; end + 1000 years when final */
    int64_t created_ms;
    int64_t run_at_ms;       /* first due time, as asked */
    int64_t started_ms;      /* of the last attempt; 0 before the first */
    int64_t finished_ms;     /* of the last attempt; 0 before it */
    int64_t beat_ms;         /* last sign of life of the running attempt */
    int64_t window_from_ms;  /* the retry window counts from here */
    int64_t retry_delay_ms;  /* 0: the default, doubling */
    int64_t retry_window_ms; /* 0: the default; negative: none */
    int64_t max_run_ms;      /* 0: no limit */
    int64_t service_ms;      /* expected run time; 0: unknown */
    int64_t result_bytes;
    uint32_t attempt;      /* runs started so far */
    uint32_t retry_number; /* charged runs before the current or next one */
    int32_t max_retries;   /* RETRIES_UNSET or a count */
    int32_t progress;      /* percent; -1: none told */
    uint32_t error_depth;  /* on_error steps that led to it, in a row */
    uint32_t chain;        /* `then` steps that led to it, in a row */
    uint32_t owner;        /* node that decides about it; 0: the one in its id */
    uint32_t version; /* of the handler that its last attempt was claimed with; before
                         that, of the one that was there when it was added */
    uint64_t document_hash; /* CONTROL: document_hash() of its payload */
    Outcome outcome;        /* of the last attempt */

    Slice tenant;
    Slice type;
    Slice queue;
    Slice lock; /* "": free; sysid: running there; "__done": final */
    Slice node; /* sysid of the last attempt */
    Slice name;
    Slice reason; /* why it is blocked, held or cancelled */
    Slice error;
    Slice message;
    Slice command; /* argv, each ended by NUL; empty: run its type's handler */
    Slice env;     /* NAME=VALUE, each ended by NUL */
    Slice cwd;
    Slice user;
    Slice tags;      /* each ended by NUL */
    Slice resources; /* KEY=AMOUNT, each ended by NUL */
    Slice after;     /* ok:ID, any:ID or fail:ID, each ended by NUL */
    Slice then;
    Slice on_error;
    Slice group;
    Slice schedule;
    Slice unique;       /* key, NUL, ISO duration, NUL, on_conflict, NUL */
    Slice request;      /* its idempotency key, NUL, which request of that key, NUL */
    Slice document_uri; /* 000 */
    Slice param;        /* 000's options node, as XML or JSON text */
    Slice children;     /* "" or "immediate" */
    Slice notify;       /* CONTROL: event, NUL, target, NUL, ... */
    Slice trace;        /* TRACEPARENT */
    Slice payload;
    Slice bookings; /* what its last attempt holds or held of resources */
} Job;

#define LOCK_DONE "__done"

/* A job with every default: priority, no retry count, no progress. */
Job job_default(void);

const char *state_name(JobState state);
MUST_CHECK Err state_parse(Slice text, JobState *out_state);
const char *code_name(JobCode code);      /* "" for CODE_NONE */
const char *state_status(JobState state); /* 001's word: Pending, InProgress, ... */

static inline bool state_in(JobState state, JobStates set)
{
    return (STATE_BIT(state) & set) != 0;
}

/* Whether the life of a job has a step from one state to another. */
bool state_step(JobState from, JobState to);

/* Moves job to another state and keeps dt and lock true to it: the caller says the dt
 * that goes with the state (ignored for final states: it is end_ms + 1000 years).
 * ERR_CONFLICT, with job as it was, if there is no such step. */
MUST_CHECK Err job_move(Job *job, JobState to, int64_t dt_ms);

/* The state a free job has by its due time alone: ready, deferred or, after a first
 * attempt, retrying. */
JobState job_waiting_state(const Job *job, int64_t wall_ms);

/* Packed form, the one used in journal and store; unpacked slices borrow from
 * `packed`. Unknown fields are skipped. */
void job_pack(Buf *out, const Job *job);
MUST_CHECK Err job_unpack(Slice packed, Job *out_job);

/* A copy whose slices live in the arena. */
Job job_copy(Arena *arena, const Job *job);

/* Gives *job what a handler has said for the waiting job in *from: queue, priority,
 * limits, retries, followers, flags. */
void job_take_handled(Job *job, const Job *from);

/* The number of the node that decides about it. */
static inline uint32_t job_owner(const Job *job)
{
    return job->owner ? job->owner : id_node(job->id);
}

static inline void job_set_owner(Job *job, uint32_t node)
{
    job->owner = node == id_node(job->id) ? 0 : node;
}

/* The type whose lane it waits in; empty: the one lane of its queue. */
static inline Slice job_lane_type(const Job *job)
{
    return job->flags & JOB_SEGREGATED ? job->type : (Slice){ NULL, 0 };
}

/* Since when a ready job could have run: a control file may be dated before it came. */
int64_t job_ready_since(const Job *job);

/* Of a control document, whatever white space is around it. Never 0. */
uint64_t document_hash(Slice document);

#endif
