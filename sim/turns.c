/* SPDX-License-Identifier: Apache-2.0 */
/* turns.c - see turns.h. */
#include "sim/turns.h"

#include "sim/machine.h"

#include "core/queue.h"

/* Each of the other lanes starts what its turns allow: one in the tour of the one that
 * waits, one in the next, and one that it was owed. */
#define OTHERS_MAX (3 * SIM_TENANTS * SIM_QUEUES)
#define TICK_MS    1000

const Slice sim_tenants[SIM_TENANTS] = { { "acme", 4 }, { "beta", 4 } };
const Slice sim_queues[SIM_QUEUES] = {
    { "fast", 4 }, { "slow", 4 }, { "mail", 4 }, { "etl", 3 }
};

void turns_begin(Machine *machine)
{
    int64_t boot_ms = machine_now(machine).boot_ms;
    machine->turns = (Turns){ .begun_boot = boot_ms, .pass_boot = boot_ms };
}

/* --- I16: no lane waits for ever
 * ------------------------------------------------------------------------------ */

typedef struct Open {
    Slice tenant;
    Slice queue;
    bool limited;
} Open;

static void take_queue(void *context, const Definition *definition)
{
    Open *open = context;
    QueueDef def;
    if (slice_equal(definition->tenant, open->tenant) &&
        slice_equal(definition->key, open->queue) &&
        !queue_unpack(definition->value, &def))
        open->limited =
            def.paused || def.has_slots || def.rate_jobs || def.resources.bytes;
}

static bool is_asked_for(const Machine *machine, const Open *lane)
{
    for (size_t i = 0; i < machine->ask_count; i++)
        if (machine->asks[i]->load.kind == LOAD_WINDOW &&
            slice_equal(machine->asks[i]->load.tenant, lane->tenant) &&
            slice_equal(machine->asks[i]->load.queue, lane->queue))
            return true;
    for (size_t i = 0; i < machine->answer_count; i++)
        if (machine->answers[i]->load.kind == LOAD_WINDOW)
            return true;
    return false;
}

/* Whether someone's action on the job is under way. */
static bool is_acted_on(World *world, JobId id)
{
    const JobTruth *truth = truth_job(world, id);
    for (size_t i = 0; truth && i < ACTIONS; i++)
        if (truth->waiting[i])
            return true;
    return !truth;
}

/* A lane whose first job needs nothing but a slot and its turn, and of which the node
 * can know. */
static bool could_start(World *world, const Machine *machine, Open *lane)
{
    Store *store = machine->decided;
    Loaded loaded = { 0 };
    Load load = {
        .kind = LOAD_WINDOW, .tenant = lane->tenant, .queue = lane->queue, .limit = 1
    };
    (void)!store->kind->definitions(store, SLICE_LITERAL(QUEUE_TABLE), take_queue, lane,
                                    NULL);
    if (lane->limited || is_asked_for(machine, lane))
        return false;
    (void)!store->kind->load(store, &load, &loaded, NULL);
    bool could = loaded.count && loaded.jobs[0].command.bytes &&
                 !loaded.jobs[0].resources.bytes &&
                 !is_acted_on(world, loaded.jobs[0].id);
    loaded_done(&loaded);
    return could;
}

void turns_claim(World *world, Machine *machine, const Job *job)
{
    const Profile *profile = &world->profile;
    /* A store that fails may keep a lane's jobs from the node. */
    if (!world->calm && (profile->load_fails_percent || profile->outage_per_1000))
        return;
    for (size_t i = 0; i < SIM_TENANTS; i++) {
        for (size_t k = 0; k < profile->queues; k++) {
            Open lane = { sim_tenants[i], sim_queues[k], false };
            uint32_t *others = &machine->turns.others[i][k];
            bool own = slice_equal(job->tenant, lane.tenant) &&
                       slice_equal(job->queue, lane.queue);
            *others = !own && could_start(world, machine, &lane) ? *others + 1 : 0;
            if (*others > OTHERS_MAX)
                violate(world, "I16", SLICE_FMT "/" SLICE_FMT " waits while others start",
                        SLICE_ARG(lane.tenant), SLICE_ARG(lane.queue));
        }
    }
}

/* --- I17: a nudge is followed by a pass
 * ------------------------------------------------------------------------------ */

static bool is_nudge(const Op *op)
{
    return op->kind == OP_FINISH || (op->kind == OP_MOVE && op->to == JOB_READY);
}

void turns_stepped(World *world, Machine *machine, const Outbox *out)
{
    uint64_t passes = node_facts(machine->node).passes;
    int64_t boot_ms = machine_now(machine).boot_ms;
    bool due = boot_ms - machine->turns.pass_boot >= TICK_MS;
    bool nudged = false;
    for (size_t i = 0; i < out->batch.count; i++)
        nudged = nudged || is_nudge(&out->batch.ops[i]);
    if (passes != machine->turns.passes)
        machine->turns.pass_boot = boot_ms;
    else if (due || nudged)
        violate(world, "I17", "m%u was %s, and no pass followed", machine->index,
                nudged ? "nudged" : "idle for a second");
    machine->turns.passes = passes;
}
