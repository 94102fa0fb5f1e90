/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - pull workers: they claim, renew and finish, fall silent, come back with
 * results that no one waits for any more, or die with what they had.
 *
 * They are in every fourth world. A worker is sure of a job for as long as its lease, by
 * the time at which it sent the request that was answered: if it is taken from it before,
 * I18 is broken. */
#ifndef SIM_WORKER_H
#define SIM_WORKER_H

#include "core/effect.h"

struct World;
struct Machine;

#define WORKERS_MAX     3
#define WORKER_JOBS_MAX 4
#define PULL_TYPE       "pull"

typedef struct SimWork {
    JobId id;
    uint32_t attempt;
    int64_t end_ms;
    int32_t said; /* what it will tell */
} SimWork;

typedef struct SimWorker {
    SimWork jobs[WORKER_JOBS_MAX];
    size_t count;
    Requester request; /* under way; 0: none */
    unsigned machine;  /* whom it asks */
    EventKind asked;
    int64_t sent_ms;
    int64_t back_ms; /* it is silent until then */
} SimWorker;

bool workers_here(const struct World *world);
void workers_step(struct World *world);
void workers_crashed(struct World *world, unsigned machine);
void worker_reply(struct World *world, struct Machine *machine, unsigned worker,
                  const Effect *effect);

#endif
