/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_model.h - which jobs start: a slow and obvious model, for
 * scheduler_model_test.c.
 *
 * It says what docs/explanation/scheduling.md says under "The rule": in every pass it
 * looks at every lane and every job, and keeps nothing but turns, what is owed, and what
 * runs. The node, with its heaps and lines, must start the same jobs. */
#ifndef TESTING_SCHEDULER_MODEL_H
#define TESTING_SCHEDULER_MODEL_H

#include "base/id.h"
#include "core/queue.h"

#define MODEL_LANES    4
#define MODEL_TENANTS  2
#define MODEL_MANAGERS 2    /* that count units; */
#define MODEL_NEEDS    3    /* one more lets only one job run at a time */
#define MODEL_JOBS_MAX 4096 /* as many as the rig has */

typedef enum ModelState { MODEL_READY, MODEL_HELD, MODEL_RUNS, MODEL_OVER } ModelState;

typedef struct ModelJob {
    JobId id;
    unsigned lane;
    int64_t priority;
    int64_t dt_ms;
    int64_t needs[MODEL_NEEDS];
    int64_t service_ms;
    int64_t started_ms;
    ModelState state;
} ModelJob;

typedef struct ModelLane {
    unsigned tenant;
    QueueDef def;
    Bucket bucket;
    uint64_t turn; /* the tour in which it has its next one */
    uint64_t owed; /* which refusal it was; 0: it is owed nothing */
    bool in_line;  /* of `manager`: the job `refused` lacks that */
    unsigned manager;
    JobId refused;
} ModelLane;

typedef struct Model {
    ModelJob jobs[MODEL_JOBS_MAX];
    size_t count;
    ModelLane lanes[MODEL_LANES];
    unsigned lane_count;
    int64_t capacity[MODEL_MANAGERS];
    unsigned slots;
    bool by_tenant;
    uint64_t tour;
    uint64_t refusals;
    uint64_t tenant_turn[MODEL_TENANTS];
} Model;

/* The job of this lane, in this state, that comes first; NULL: none. */
ModelJob *model_first(Model *model, unsigned lane, ModelState state);
unsigned model_running(const Model *model);
/* The lane has nothing ready any more, and is owed nothing. */
void model_forget(Model *model, unsigned lane);
void model_pass(Model *model, Now now);

#endif
