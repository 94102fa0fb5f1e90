/* SPDX-License-Identifier: Apache-2.0 */
/* turns.h - that everyone's turn comes: no lane waits for ever (I16), and whatever
 * happens is followed by a pass (I17). */
#ifndef SIM_TURNS_H
#define SIM_TURNS_H

#include "core/effect.h"
#include "core/node/node.h"

struct World;
struct Machine;
struct Ask;

#define SIM_TENANTS 2
#define SIM_QUEUES  4
extern const Slice sim_tenants[SIM_TENANTS];
extern const Slice sim_queues[SIM_QUEUES];

typedef struct LaneTurns {
    uint32_t others[SIM_TENANTS]
                   [SIM_QUEUES]; /* starts while this lane could have had one */
    int64_t started[SIM_TENANTS]
                   [SIM_QUEUES];            /* boot time of its last one, or the begin */
    uint32_t took[SIM_TENANTS][SIM_QUEUES]; /* jobs of its last turn */
    struct LastClaim {
        size_t at[2]; /* tenant and queue */
        uint64_t slot;
        uint64_t sequence; /* of the node's turn; 0: there was none */
    } last;
    uint64_t passes;
    int64_t begun_boot;
    int64_t pass_boot;   /* when the last one was */
    struct Wanting {     /* a lane whose first job waits for one or two resources: */
        JobId first;     /* that one, */
        uint32_t booked; /* and how often others have booked it since */
    } wanting[SIM_TENANTS][SIM_QUEUES];
} LaneTurns;

/* The node begins: nothing is owed to anyone. */
void turns_begin(struct Machine *machine);

/* It is about to decide this claim. */
void turns_claim(struct World *world, struct Machine *machine, const Job *job,
                 const Op *op);

/* Planted defects: whether the answer about this lane gets lost. */
bool turns_loses(const struct Machine *machine, const struct Ask *ask);

/* It has taken a step. */
void turns_stepped(struct World *world, struct Machine *machine, const Outbox *out);

#endif
