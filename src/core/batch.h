/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - what a turn asks of a store: numbered, flat, guarded operations.
 *
 * A batch is one transaction. Every operation on an existing job is guarded (id and,
 * where given, state, attempt, lock); a guard that fails is the result of that one
 * operation, never an abort of the others. Applying the same batch number twice changes
 * nothing the second time. A batch can be packed into bytes (the journal of a node that
 * owns its store keeps it so) and read back equal. */
#ifndef CORE_BATCH_H
#define CORE_BATCH_H

#include "core/job.h"

typedef enum OpKind {
    OP_ADD = 1,   /* job: all of it, id included; an id that exists already: OP_EXISTS */
    OP_ADD_LINES, /* job as the pattern of `count` jobs, one per line of `body` */
    OP_CLAIM,     /* a ready job becomes running: attempt, lock, dt, at_ms */
    OP_BEAT,      /* all running jobs of `lock` but those of pull workers: dt (lease end)
                     and last heartbeat at_ms */
    OP_PROGRESS,  /* progress and message of a running attempt */
    OP_FINISH,    /* an attempt ended: outcome, error, result; job goes to state `to` */
    OP_MOVE,      /* a job that no one runs changes state (`to`, dt, reason) or fields */
    OP_PAUSE,     /* running <-> paused, guarded by attempt and lock */
    OP_REMOVE,    /* a job that no one runs disappears with its results and attempts */
    OP_PURGE,  /* removes up to `count` final jobs (from: which states) ended before dt */
    OP_PUT,    /* definition: table, tenant, key, value */
    OP_DELETE, /* definition: table, tenant, key */
    OP_NODE,   /* this node's own row: lock = sysid, value = packed facts, at_ms = beat */
    OP_KEY,    /* idempotency: tenant, key, value (answer), dt = expiry */
    OP_GIVE,   /* a job that waits becomes `node`'s; from */
    OP_MAIL,   /* a message into the inbox of `node`: value */
    OP_TAKEN,  /* message `count` of this node's inbox is dealt with; it goes */
    OP_FENCE,  /* what `node` decides counts no more, if its epoch is `count` and its
                  lease is over: else OP_LOST */
    OP_TAKE,   /* up to `count` live jobs of `node`, smallest ids first, become this
                  node's, but for those that stay (JOB_STAYS); OP_LOST if it is not
                  fenced, OP_MISSING if it has none */
    OP_JOIN,   /* this node begins its epoch `count`: its fence ends, its inbox is
                  emptied; OP_LOST unless it is larger than the last */
    OP_DROP,   /* final jobs (from: one family) that the store keeps in one piece may go
                  in one piece, if all of it ended before dt: see LOAD_OLD */
    OP_SWEPT,  /* of jobs that went so, those up to `id` (from: which family) are dealt
                  with: what stands beside them goes, too */
} OpKind;

typedef enum OpField { /* which fields OP_MOVE changes besides the state */
                       FIELD_PRIORITY = 1 << 0,
                       FIELD_QUEUE = 1 << 1,
                       FIELD_PAYLOAD = 1 << 2,
                       FIELD_TAGS = 1 << 3,
                       FIELD_MAX_RUN = 1 << 4,
                       FIELD_RUN_AT = 1 << 5,
                       FIELD_RETRY =
                           1
                           << 6, /* an operator's retry: counters and window start anew */
                       FIELD_HANDLER = 1 << 7, /* its first handler has come: op->job has
                                                  what job_take_handled takes */
                       FIELD_MET = 1 << 8, /* those of its `after` that `value` lists have
                                              ended as asked: it does not wait for them */
                       FIELD_FREED = 1 << 9, /* it waits for no job any more: its window
                                                begins at window_from */
} OpField;

#define FIELD_LANE (1 << 10) /* MOVE: flags has its JOB_PULL and JOB_SEGREGATED */
#define FIELD_KEYS (1 << 11) /* it takes those of its keys that no one holds */
#define FIELD_SURE (1 << 12) /* its keys are its own: JOB_UNSURE goes */

/* RETRY: it waits (again) for the jobs that `value` lists, which is its `after`. With
 * PATIENT one of them that has ended otherwise than asked counts as one that has not
 * ended: a person may retry it. */
#define FIELD_WAITS   (1 << 13)
#define FIELD_PATIENT (1 << 14)
#define FIELD_BROKEN                                                                     \
    (1 << 15) /* it is cancelled because of the jobs that `value` lists: it waits again  \
                 when one of them is retried */
#define FIELD_ALONE (1 << 16) /* RETRY, also of a Patch: without its `after` */

typedef enum OpResult {
    OP_APPLIED,
    OP_MISSING, /* no such job */
    OP_LOST,    /* another attempt or owner has it: the guard on attempt or lock failed */
    OP_CONFLICT, /* the guard on the state failed */
    OP_EXISTS,   /* already there */
} OpResult;

typedef struct Op {
    OpKind kind;
    JobId id;
    JobStates from;   /* guard: the job is in one of these; 0: any */
    uint32_t attempt; /* guard for FINISH, PAUSE, PROGRESS; the new number for CLAIM */
    Slice lock;       /* guard for the same; the new owner for CLAIM */
    JobState to;
    int64_t dt_ms;
    int64_t at_ms; /* wall time of the decision */
    uint32_t fields;
    uint32_t flags; /* FINISH: flags to set (JOB_CUT) */
    int64_t priority;
    int64_t max_run_ms;
    int64_t window_from_ms;
    uint32_t retry_number; /* FINISH: the job's from now on */
    int32_t progress;
    Outcome outcome;
    Slice queue;
    Slice payload;
    Slice tags;
    Slice reason;
    Slice error;
    Slice message;
    Slice result;
    const Job *job; /* ADD, ADD_LINES; MOVE with FIELD_HANDLER */
    Slice body;     /* ADD_LINES: as received */
    uint64_t first; /* ADD_LINES: c of the first id (id.h) */
    uint64_t count; /* ADD_LINES, PURGE, TAKEN, FENCE, TAKE, JOIN */
    uint32_t node;  /* GIVE, MAIL, FENCE, TAKE: which */
    uint32_t own; /* ADD, ADD_LINES, KEY, PUT, DELETE: 1: of the node's own making, not a
                     door's: refused with its decisions once it is fenced */
    uint32_t version; /* CLAIM: of the handler that it runs with */
    bool near;        /* ADD: in its lane's window; not stored */
    Slice table;      /* PUT, DELETE: "handler", "queue", "config", ... */
    Slice tenant;
    Slice key;
    Slice value;
    Slice bookings; /* CLAIM: what the attempt holds of resources; see resource.h */
} Op;

/* What OP_PUT keeps in a table: handler, tenant, setting, ... */
typedef struct Definition {
    Slice tenant;
    Slice key;
    Slice value;
} Definition;

/* Where in a node's journal its store has arrived; kept in the same transaction. */
typedef struct ReadPoint {
    uint32_t node;
    uint64_t position; /* end of the last record ingested */
} ReadPoint;

typedef struct Batch {
    Arena arena;     /* what the ops' slices and jobs point into */
    uint64_t number; /* 0: not numbered (tests, tools) */
    uint32_t node;
    bool has_read_point;
    ReadPoint read_point;
    Op *ops;
    size_t count;
    size_t capacity;
} Batch;

/* A new zeroed operation at the end; valid until the next one is added. */
Op *batch_op(Batch *batch, OpKind kind, JobId id);
void batch_clear(Batch *batch);
void batch_done(Batch *batch);

/* Packs number and ops (not the read point). */
void batch_pack(Buf *out, const Batch *batch);

/* Adds the ops of `packed` to *batch; slices are copied into its arena. */
MUST_CHECK Err batch_unpack(Slice packed, Batch *batch);

/* Job k (0-based) of an OP_ADD_LINES and the rest of its lines: empty lines do not
 * count. False after the last. */
bool lines_next(Slice *rest, Slice *out_line);
uint64_t lines_count(Slice body);

const char *op_name(OpKind kind);
const char *op_result_name(OpResult result);

#endif
