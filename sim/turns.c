/* SPDX-License-Identifier: Apache-2.0 */
/* turns.c - see turns.h. */
#include "sim/turns.h"

#include "sim/machine.h"

#include "base/text.h"
#include "core/dispatch/slot_sharing.h"
#include "core/queue.h"
#include "core/resource.h"

#include <stdio.h>

#define TICK_MS 1000

const Slice sim_tenants[SIM_TENANTS] = { { "acme", 4 }, { "beta", 4 } };
const Slice sim_queues[SIM_QUEUES] = {
    { "fast", 4 }, { "slow", 4 }, { "mail", 4 }, { "etl", 3 }
};

void turns_begin(Machine *machine)
{
    int64_t boot_ms = machine_now(machine).boot_ms;
    machine->turns = (LaneTurns){ .begun_boot = boot_ms, .pass_boot = boot_ms };
    for (size_t i = 0; i < SIM_TENANTS; i++)
        for (size_t k = 0; k < SIM_QUEUES; k++)
            machine->turns.started[i][k] = boot_ms;
}

/* --- I16: no lane waits for ever
 * ------------------------------------------------------------------------------ */

typedef struct Want {
    char key[16];
    int64_t amount;
} Want;

typedef struct Open {
    const Machine *machine;
    size_t tenant_at;
    size_t queue_at;
    int64_t wall_ms;
    Slice tenant;
    Slice queue;
    bool shut;      /* its queue lets nothing start now */
    bool limited;   /* it has slots or a rate, and they let something start */
    bool unordered; /* others of the queue may go before its first */
    Want wants[2];  /* of its queue, of its first job */
    size_t want_count;
} Open;

static void add_want(Open *lane, Slice key, int64_t amount)
{
    Want *want = &lane->wants[lane->want_count++];
    snprintf(want->key, sizeof want->key, SLICE_FMT, SLICE_ARG(key));
    want->amount = amount;
}

/* How it stands with the queue's own limits at this moment. A rate allows one if none was
 * started for as long as it speaks of. */
static void take_queue(void *context, const Definition *definition)
{
    Open *open = context;
    const Machine *machine = open->machine;
    QueueDef def;
    if (!slice_equal(definition->tenant, open->tenant) ||
        !slice_equal(definition->key, open->queue) ||
        queue_unpack(definition->value, &def))
        return;
    int64_t since_ms = machine_now(machine).boot_ms -
                       machine->turns.started[open->tenant_at][open->queue_at];
    bool full =
        def.has_slots && limits_running(machine, open->tenant, open->queue) >= def.slots;
    open->shut = queue_paused(&def, open->wall_ms) || full ||
                 (def.rate_jobs && since_ms < def.rate_ms);
    open->limited = def.has_slots || def.rate_jobs;
    open->unordered = def.policy != POLICY_FAIR;
    Slice rest = def.resources;
    Slice key;
    if (list_next(&rest, &key))
        add_want(open, key, 1);
}

static bool is_window(const Ask *ask, const Open *lane)
{
    return !ask->is_news && ask->load.kind == LOAD_WINDOW &&
           (!lane || (slice_equal(ask->load.tenant, lane->tenant) &&
                      slice_equal(ask->load.queue, lane->queue)));
}

/* `lane` NULL: of any. */
static bool any_window(const Mail *mail, const Open *lane)
{
    for (; mail; mail = mail->next)
        if (is_window((const Ask *)(const void *)mail, lane))
            return true;
    return false;
}

static bool is_asked_for(const Machine *machine, const Open *lane)
{
    const Ask *waiting = machine->ingest.waiting;
    for (size_t i = 0; i < machine->ask_count; i++)
        if (is_window(machine->asks[i], lane))
            return true;
    return (waiting && any_window(&waiting->mail, lane)) ||
           any_window(machine->told.first, NULL) ||
           any_window(machine->engine.answers.first, NULL);
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

/* The first job of a lane that needs a slot, its turn, and at most two resources, and of
 * which the node can know; 0: there is none. */
static JobId first_that_could(World *world, Open *lane)
{
    Store *store = lane->machine->decided;
    Loaded loaded = { 0 };
    Load load = {
        .kind = LOAD_WINDOW, .tenant = lane->tenant, .queue = lane->queue, .limit = 1
    };
    JobId id = 0;
    (void)!store->kind->definitions(store, SLICE_LITERAL(QUEUE_TABLE), take_queue, lane,
                                    NULL);
    if (lane->shut || is_asked_for(lane->machine, lane))
        return 0;
    (void)!store->kind->load(store, &load, &loaded, NULL);
    if (loaded.count && loaded.jobs[0].command.bytes &&
        !is_acted_on(world, loaded.jobs[0].id))
        id = loaded.jobs[0].id;
    Slice wants = id ? loaded.jobs[0].resources : (Slice){ NULL, 0 };
    Slice want;
    if (list_next(&wants, &want)) {
        int64_t amount = 1;
        Slice key = slice_cut(&want, '=');
        (void)!int_parse(want, &amount);
        add_want(lane, key, amount);
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

/* Whether others get what the lane waits for. Of one resource what is left is kept for
 * those who were refused. Of two it waits for one after the other, and may lose the first
 * while it waits for the second: what is bounded is how often others get one of them
 * while there is enough of both. */
static bool is_passed_over(const Open *lane, const Op *op)
{
    bool books_any = false;
    for (size_t i = 0; i < lane->want_count; i++) {
        const Want *want = &lane->wants[i];
        Slice key = slice_text(want->key);
        books_any = books_any || books(op, want->key);
        if (lane->want_count > 1 && limits_held(lane->machine, key) + want->amount >
                                        limits_capacity(lane->machine, key))
            return false;
    }
    return books_any;
}

static bool is_beyond_all(const Open *lane)
{
    for (size_t i = 0; i < lane->want_count; i++)
        if (lane->wants[i].amount >
            limits_capacity(lane->machine, slice_text(lane->wants[i].key)))
            return true;
    return false;
}

/* Each of the other lanes has the turns that it may have: one in the tour of the one that
 * waits, one in the next, and one that it was owed. If that one gave a context several
 * jobs in its last turn, it has used up as many, and the others have theirs first. */
static uint32_t others_max(const World *world, const Open *lane)
{
    uint32_t lanes = SIM_TENANTS * world->profile.queues;
    uint32_t took = lane->machine->turns.took[lane->tenant_at][lane->queue_at];
    return (3 + (took ? took - 1 : 0)) * lanes;
}

/* Whether the claim belongs to the same turn as the one before: jobs of a lane that go
 * into the same context together. */
static bool same_turn(const Machine *machine, const Op *op, const size_t at[2])
{
    const struct LastClaim *last = &machine->turns.last;
    uint32_t took = machine->turns.took[at[0]][at[1]];
    return last->sequence == machine->sequence && last->slot == op->count &&
           last->at[0] == at[0] && last->at[1] == at[1] && took % BATCH_QUANTUM != 0;
}

static void count_booked(World *world, const Open *lane, struct Wanting *wanting,
                         JobId first)
{
    const char *what = lane->want_count > 1 ? "resources" : "resource";
    if (wanting->first != first)
        *wanting = (struct Wanting){ .first = first };
    else if (++wanting->booked > others_max(world, lane))
        violate(world, "I16",
                "%s: " SLICE_FMT "/" SLICE_FMT " waits for %s while others get it", what,
                SLICE_ARG(lane->tenant), SLICE_ARG(lane->queue), lane->wants[0].key);
}

static void look_at_lane(World *world, Machine *machine, const Job *job, const Op *op,
                         size_t at[2])
{
    Open lane = { .machine = machine,
                  .tenant_at = at[0],
                  .queue_at = at[1],
                  .wall_ms = op->at_ms,
                  .tenant = sim_tenants[at[0]],
                  .queue = sim_queues[at[1]] };
    uint32_t *others = &machine->turns.others[at[0]][at[1]];
    struct Wanting *wanting = &machine->turns.wanting[at[0]][at[1]];
    bool own =
        slice_equal(job->tenant, lane.tenant) && slice_equal(job->queue, lane.queue);
    if (own)
        machine->turns.started[at[0]][at[1]] = machine_now(machine).boot_ms;
    JobId first = own ? 0 : first_that_could(world, &lane);
    *others = first && !lane.want_count ? *others + 1 : 0;
    if (*others > others_max(world, &lane))
        violate(world, "I16", "%s: " SLICE_FMT "/" SLICE_FMT " waits while others start",
                lane.limited ? "limits" : "turn", SLICE_ARG(lane.tenant),
                SLICE_ARG(lane.queue));
    if (own || !first || !lane.want_count || lane.unordered || is_beyond_all(&lane))
        *wanting = (struct Wanting){ 0 };
    else if (is_passed_over(&lane, op) && limits_ordered(machine, job))
        count_booked(world, &lane, wanting, first);
}

static size_t name_at(const Slice *names, size_t count, Slice name)
{
    size_t at = 0;
    while (at < count - 1 && !slice_equal(names[at], name))
        at++;
    return at;
}

void turns_claim(World *world, Machine *machine, const Job *job, const Op *op)
{
    const Profile *profile = &world->profile;
    LaneTurns *turns = &machine->turns;
    size_t own[2] = { name_at(sim_tenants, SIM_TENANTS, job->tenant),
                      name_at(sim_queues, SIM_QUEUES, job->queue) };
    uint32_t *took = &turns->took[own[0]][own[1]];
    bool follows = same_turn(machine, op, own);
    *took = follows ? *took + 1 : 1;
    turns->last = (struct LastClaim){ { own[0], own[1] }, op->count, machine->sequence };
    if (follows)
        return;
    /* A store that fails may keep a lane's jobs from the node. */
    if (!world->calm && (profile->load_fails_percent || profile->outage_per_1000))
        return;
    for (size_t i = 0; i < SIM_TENANTS; i++)
        for (size_t k = 0; k < profile->queues; k++)
            look_at_lane(world, machine, job, op, (size_t[2]){ i, k });
}

bool turns_loses(const Machine *machine, const Ask *ask)
{
    Open lane = { .machine = machine,
                  .tenant = ask->load.tenant,
                  .queue = ask->load.queue };
    bool wants = ask->loaded.count && ask->loaded.jobs[0].resources.bytes;
    Store *store = machine->decided;
    (void)!store->kind->definitions(store, SLICE_LITERAL(QUEUE_TABLE), take_queue, &lane,
                                    NULL);
    Bug bug = machine->world->options.bug;
    return (bug == BUG_WANTING_LOST && wants && !lane.want_count) ||
           (bug == BUG_WANTING_TWO_LOST && wants && lane.want_count) ||
           (bug == BUG_LIMITED_LOST && lane.limited);
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
