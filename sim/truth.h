/* SPDX-License-Identifier: Apache-2.0 */
/* truth.h - what the outside knows: what was asked, answered, shown and really run.
 *
 * It never looks into a node. Every decision of a node is held against it at once (the
 * checks of operations), every recovery and the end of the world as a whole. */
#ifndef SIM_TRUTH_H
#define SIM_TRUTH_H

#include "base/map.h"
#include "core/effect.h"
#include "store/store.h"

struct World;
struct Machine;

/* What clients sent: one request to add jobs, perhaps sent more than once. */
typedef struct Submission {
    uint64_t serial;
    unsigned machine;
    uint32_t count;
    bool lines;
    bool keyed;
    bool refused;  /* and not keyed: nothing of it may ever be seen */
    bool answered; /* OK: `first` is the c of the first id */
    bool open;     /* a request is under way */
    uint64_t first;
    unsigned tries;
    int64_t again_ms; /* when to send it again; TIME_NEVER: not */
    Arena arena;
    Job *jobs; /* as sent; of lines, the pattern */
    Buf body;
    char key[24];
} Submission;

typedef struct JobTruth {
    JobId id;
    unsigned machine;
    Submission *submission; /* NULL: a child */
    uint64_t payload_hash;  /* of what it was added with */
    bool acked;
    bool durable; /* the store has had it */
    bool gone;    /* removed or purged */
    bool removal_acked;
    bool cancel_acked;         /* and no retry asked since */
    uint32_t halt_acked;       /* attempt that was to be halted; 0: none */
    uint64_t asked[ACTIONS];   /* step at which each was last asked; 0: never */
    uint32_t waiting[ACTIONS]; /* asked and not answered */
    bool alone;                /* a retry has set its `after` aside */
    uint64_t retried;          /* step at which an operator's retry was decided */
    uint64_t asked_any;        /* last step at which anything was asked */
    uint64_t patches;          /* payloads sent by patches so far */
    uint32_t retries;          /* operator's retries decided ... */
    uint32_t retries_shown;    /* ... of which the outside has seen so many */
    JobStates ends;            /* final states it was ever decided to be in */
    int shown;                 /* last final state shown outside; -1: none */
} JobTruth;

typedef enum RequestKind {
    REQUEST_ADD,
    REQUEST_ACT,
    REQUEST_DEFINE,
    REQUEST_PULL,
    REQUEST_READ, /* `id` is looked for */
    REQUEST_WAIT, /* until `id` has ended */
} RequestKind;

typedef struct SimRequest {
    Requester number;
    unsigned machine;
    unsigned worker; /* PULL */
    RequestKind kind;
    Submission *submission;
    JobId id;
    Action action;
} SimRequest;

/* A process that was really started, as its own witness tells. */
typedef struct Witness {
    JobId id;
    uint32_t attempt;
    unsigned machine;
    bool alive;
    bool launcher_lost; /* so that no one can know how it ended */
    bool warm;          /* in a context: what it answers may die with the daemon */
    bool pulled;        /* by a worker, which is sure of it until: */
    int64_t sure_until_ms;
    uint64_t epoch;      /* of its daemon then: another one goes by the wall clock */
    uint64_t contexts;   /* warm: an answer on its way dies with them */
    bool told;           /* what its worker or context said is in said_code */
    int32_t exit_status; /* -1: none */
    int32_t signal;
    int32_t said_code;
    char result[40];
} Witness;

typedef struct Truth {
    Submission **submissions;
    size_t submission_count;
    size_t submission_capacity;
    JobTruth **jobs;
    size_t job_count;
    size_t job_capacity;
    Map by_id;
    Map by_payload;       /* hash of the first payload -> JobTruth */
    SimRequest *requests; /* under way */
    size_t request_count;
    size_t request_capacity;
    Requester last_request;
    Witness *witnesses;
    size_t witness_count;
    size_t witness_capacity;
    bool handlers; /* someone has set one */
} Truth;

void truth_done(Truth *truth);

Submission *truth_submission(struct World *world, unsigned machine);
Requester truth_request(struct World *world, const SimRequest *request);
JobTruth *truth_job(struct World *world, JobId id); /* NULL: unknown */

/* A node decided these operations; called before they are applied to `decided`, which
 * holds everything decided so far. */
void truth_decided(struct World *world, struct Machine *machine, const Op *op);

void truth_reply(struct World *world, struct Machine *machine, const Effect *effect);
/* The answer to a REQUEST_READ or REQUEST_WAIT; found: the store had the job. */
void truth_seen(struct World *world, struct Machine *machine, const Effect *effect,
                bool found);
void truth_shown(struct World *world, const Effect *effect);

/* The machine's process is gone: answers to its requests never come. */
void truth_crashed(struct World *world, unsigned machine);

/* What the store holds after a recovery is all there is now. */
void truth_recovered(struct World *world, struct Machine *machine);

/* Everything has come to an end. */
void truth_final(struct World *world, struct Machine *machine);

Witness *truth_witness(struct World *world, JobId id, uint32_t attempt);
void truth_started(struct World *world, struct Machine *machine, const Job *job);

#endif
