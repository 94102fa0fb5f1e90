/* SPDX-License-Identifier: Apache-2.0 */
/* turns.c - see turns.h. */
#include "sim/turns.h"

#include "sim/machine.h"

#include "base/text.h"
#include "core/queue.h"
#include "core/resource.h"

#include <stdio.h>

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
    bool limited;    /* by other things than resources */
    bool unordered;  /* others of the queue may go before its first */
    char wanted[16]; /* the resource that the queue asks for; "": none */
} Open;

static void take_queue(void *context, const Definition *definition)
{
    Open *open = context;
    QueueDef def;
    if (slice_equal(definition->tenant, open->tenant) &&
        slice_equal(definition->key, open->queue) &&
        !queue_unpack(definition->value, &def)) {
        open->limited = def.paused || def.has_slots || def.rate_jobs;
        open->unordered = def.policy != POLICY_FAIR;
        snprintf(open->wanted, sizeof open->wanted, SLICE_FMT,
                 (int)strnlen(def.resources.data ? def.resources.data : "",
                              def.resources.bytes),
                 def.resources.data ? def.resources.data : "");
    }
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

/* The first job of a lane that needs a slot, its turn, and at most one resource, and of
 * which the node can know; 0: there is none. */
static JobId first_that_could(World *world, const Machine *machine, Open *lane,
                              int64_t *out_amount)
{
    Store *store = machine->decided;
    Loaded loaded = { 0 };
    Load load = {
        .kind = LOAD_WINDOW, .tenant = lane->tenant, .queue = lane->queue, .limit = 1
    };
    JobId id = 0;
    *out_amount = 1;
    (void)!store->kind->definitions(store, SLICE_LITERAL(QUEUE_TABLE), take_queue, lane,
                                    NULL);
    if (lane->limited || is_asked_for(machine, lane))
        return 0;
    (void)!store->kind->load(store, &load, &loaded, NULL);
    if (loaded.count && loaded.jobs[0].command.bytes &&
        !is_acted_on(world, loaded.jobs[0].id))
        id = loaded.jobs[0].id;
    Slice wants = id ? loaded.jobs[0].resources : (Slice){ NULL, 0 };
    Slice want;
    if (wants.bytes && lane->wanted[0])
        id = 0; /* it needs two */
    else if (list_next(&wants, &want)) {
        Slice key = slice_cut(&want, '=');
        snprintf(lane->wanted, sizeof lane->wanted, SLICE_FMT, SLICE_ARG(key));
        (void)!int_parse(want, out_amount);
    }
    loaded_done(&loaded);
    return id;
}

static bool books(const Op *op, const char *key)
{
    Slice rest = op->bookings;
    for (Slice value; list_next(&rest, &value);)
        if (slice_is(slice_cut(&value, '='), key))
            return true;
    return false;
}

/* A lane that lacks a resource goes first when there is some: others book no more of it
 * than those who were refused before, and those whose turn came before. */
static void count_booked(World *world, const Open *lane, struct Wanting *wanting,
                         JobId first)
{
    if (wanting->first != first)
        *wanting = (struct Wanting){ .first = first };
    else if (++wanting->booked > OTHERS_MAX)
        violate(world, "I16", SLICE_FMT "/" SLICE_FMT " waits for %s while others get it",
                SLICE_ARG(lane->tenant), SLICE_ARG(lane->queue), lane->wanted);
}

static void look_at_lane(World *world, Machine *machine, const Job *job, const Op *op,
                         size_t at[2])
{
    Open lane = { .tenant = sim_tenants[at[0]], .queue = sim_queues[at[1]] };
    uint32_t *others = &machine->turns.others[at[0]][at[1]];
    struct Wanting *wanting = &machine->turns.wanting[at[0]][at[1]];
    bool own =
        slice_equal(job->tenant, lane.tenant) && slice_equal(job->queue, lane.queue);
    int64_t amount;
    JobId first = own ? 0 : first_that_could(world, machine, &lane, &amount);
    *others = first && !lane.wanted[0] ? *others + 1 : 0;
    if (*others > OTHERS_MAX)
        violate(world, "I16", SLICE_FMT "/" SLICE_FMT " waits while others start",
                SLICE_ARG(lane.tenant), SLICE_ARG(lane.queue));
    if (own || !first || !lane.wanted[0] || lane.unordered ||
        amount > limits_capacity(machine, slice_text(lane.wanted)))
        *wanting = (struct Wanting){ 0 };
    else if (books(op, lane.wanted) && limits_ordered(machine, job))
        count_booked(world, &lane, wanting, first);
}

void turns_claim(World *world, Machine *machine, const Job *job, const Op *op)
{
    const Profile *profile = &world->profile;
    /* A store that fails may keep a lane's jobs from the node. */
    if (!world->calm && (profile->load_fails_percent || profile->outage_per_1000))
        return;
    for (size_t i = 0; i < SIM_TENANTS; i++)
        for (size_t k = 0; k < profile->queues; k++)
            look_at_lane(world, machine, job, op, (size_t[2]){ i, k });
}

/* --- I17: a nudge is followed by a pass
 * ------------------------------------------------------------------------------ */

static bool is_nudge(const Op *op)
{
    return op->kind == OP_FINISH || (op->kind == OP_MOVE && op->to == JOB_READY);
}

static bool is_rule(const Op *op)
{
    return (op->kind == OP_PUT || op->kind == OP_DELETE) &&
           (slice_is(op->table, QUEUE_TABLE) || slice_is(op->table, RESOURCE_TABLE));
}

void turns_stepped(World *world, Machine *machine, const Outbox *out)
{
    uint64_t passes = node_facts(machine->node).passes;
    int64_t boot_ms = machine_now(machine).boot_ms;
    bool due = boot_ms - machine->turns.pass_boot >= TICK_MS;
    bool nudged = false;
    for (size_t i = 0; i < out->batch.count; i++) {
        nudged = nudged || is_nudge(&out->batch.ops[i]);
        if (is_rule(&out->batch.ops[i])) /* who was refused is asked anew */
            memset(machine->turns.wanting, 0, sizeof machine->turns.wanting);
    }
    if (passes != machine->turns.passes)
        machine->turns.pass_boot = boot_ms;
    else if (due || nudged)
        violate(world, "I17", "m%u was %s, and no pass followed", machine->index,
                nudged ? "nudged" : "idle for a second");
    machine->turns.passes = passes;
}
