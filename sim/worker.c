/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - see worker.h. */
#include "sim/worker.h"

#include "sim/machine.h"

#include <stdio.h>

#define LEASE_MS (4 * MS_PER_S)

bool workers_here(const World *world)
{
    Bug bug = world->options.bug;
    return world->options.seed % 4 == 1 || bug == BUG_LATE_RESULT ||
           bug == BUG_LEASES_CUT;
}

static void send(World *world, unsigned number, Event *event)
{
    SimWorker *worker = &world->workers[number];
    SimRequest request = { .kind = REQUEST_PULL,
                           .machine = worker->machine,
                           .worker = number };
    event->request = worker->request = truth_request(world, &request);
    worker->asked = event->kind;
    worker->sent_ms = world->time_ms;
    machine_call(world->machines[worker->machine], event);
}

static void claim(World *world, unsigned number)
{
    SimWorker *worker = &world->workers[number];
    worker->machine = (unsigned)below(world, world->profile.machines);
    if (!world->machines[worker->machine]->node)
        return;
    Event event = { .kind = EVENT_CLAIM,
                    .tenant = sim_tenants[below(world, 2)],
                    .count =
                        world->calm ? WORKER_JOBS_MAX : 1 + below(world, WORKER_JOBS_MAX),
                    .claim = { .lease_ms = LEASE_MS,
                               .wait_ms = world->calm ? 0 : (int64_t)below(world, 2000),
                               .worker = SLICE_LITERAL("w") } };
    send(world, number, &event);
}

static void renew(World *world, unsigned number)
{
    SimWorker *worker = &world->workers[number];
    ClaimItem items[WORKER_JOBS_MAX] = { 0 };
    for (size_t i = 0; i < worker->count; i++)
        items[i] = (ClaimItem){ .id = worker->jobs[i].id,
                                .attempt = worker->jobs[i].attempt,
                                .trusted = true,
                                .progress = -1 };
    Event event = { .kind = EVENT_RENEW, .items = items, .count = worker->count };
    send(world, number, &event);
}

/* The first job is over: whether it is late, the node must know. */
static void finish(World *world, unsigned number)
{
    char text[ID_TEXT_BYTES];
    const SimWork *work = &world->workers[number].jobs[0];
    Witness *witness = truth_witness(world, work->id, work->attempt);
    witness->told = true;
    witness->said_code = work->said;
    snprintf(witness->result, sizeof witness->result, "r%s.%u", id_text(work->id, text),
             work->attempt);
    ClaimItem item = { .id = work->id,
                       .attempt = work->attempt,
                       .trusted = true,
                       .progress = -1,
                       .ending = { .kind = END_EXITED,
                                   .exit_status = -1,
                                   .said_code = work->said,
                                   .progress = -1,
                                   .result = slice_text(witness->result) } };
    Event event = { .kind = EVENT_FINISH, .items = &item, .count = 1 };
    send(world, number, &event);
}

/* Of every tenant and machine, again and again: requests may get lost. */
static void define(World *world)
{
    Machine *machine = world->machines[below(world, world->profile.machines)];
    if (!machine->node)
        return;
    SimRequest request = { .kind = REQUEST_DEFINE, .machine = machine->index };
    Handler handler = { .lang = LANG_PULL };
    Buf value = { 0 };
    handler_pack(&value, &handler);
    Event event = { .kind = EVENT_DEFINE,
                    .request = truth_request(world, &request),
                    .table = SLICE_LITERAL(HANDLER_TABLE),
                    .tenant = sim_tenants[below(world, 2)],
                    .key = SLICE_LITERAL(PULL_TYPE),
                    .value = buf_slice(&value) };
    world->truth.handlers = true;
    machine_call(machine, &event);
    buf_done(&value);
}

/* --- What may go wrong -------------------------------------------------------------- */

static void drop_work(SimWorker *worker, size_t at)
{
    worker->count--;
    memmove(&worker->jobs[at], &worker->jobs[at + 1],
            (worker->count - at) * sizeof *worker->jobs);
}

static bool suffers(World *world, unsigned number)
{
    SimWorker *worker = &world->workers[number];
    if (!fault_per_1000(world, 30))
        return false;
    if (chance(world, 50)) {
        trace(world, "worker %u dies with %zu jobs", number, worker->count);
        worker->count = 0;
    } else { /* until its leases are over, or almost */
        worker->back_ms = world->time_ms + (int64_t)below(world, 5 * LEASE_MS);
        trace(world, "worker %u is silent", number);
    }
    return true;
}

static void step(World *world, unsigned number)
{
    SimWorker *worker = &world->workers[number];
    if (worker->request || (worker->back_ms > world->time_ms && !world->calm))
        return;
    if (!worker->count) {
        claim(world, number);
        return;
    }
    if (suffers(world, number) || !world->machines[worker->machine]->node)
        return;
    if (world->calm || worker->jobs[0].end_ms <= world->time_ms)
        finish(world, number);
    else if (chance(world, 30))
        renew(world, number);
}

void workers_step(World *world)
{
    if (!workers_here(world))
        return;
    if (chance(world, 3))
        define(world);
    unsigned first = (unsigned)below(world, WORKERS_MAX);
    for (unsigned i = 0; i < WORKERS_MAX && (i == 0 || world->calm); i++)
        step(world, (first + i) % WORKERS_MAX);
}

/* --- Answers --------------------------------------------------------------------------
 */

void workers_crashed(World *world, unsigned machine)
{
    for (unsigned i = 0; i < WORKERS_MAX; i++)
        if (world->workers[i].machine == machine)
            world->workers[i].request = 0; /* it will never be known */
}

static void begin(World *world, Machine *machine, SimWorker *worker,
                  const ClaimItem *item)
{
    static const int32_t said[] = { 404, 500, 503, 103 };
    Loaded loaded = { 0 };
    Load load = { .kind = LOAD_JOB, .id = item->id };
    (void)!machine->decided->kind->load(machine->decided, &load, &loaded, NULL);
    if (loaded.count && worker->count < WORKER_JOBS_MAX) {
        Job job = loaded.jobs[0];
        job.attempt = item->attempt;
        truth_started(world, machine, &job);
        bool bad = chance(world, world->profile.bad_end_percent);
        worker->jobs[worker->count++] =
            (SimWork){ .id = item->id,
                       .attempt = item->attempt,
                       .end_ms = world->time_ms + (int64_t)below(world, 6000),
                       .said = bad ? said[below(world, 4)] : 200 };
    }
    loaded_done(&loaded);
    Witness *witness = truth_witness(world, item->id, item->attempt);
    if (!witness)
        return;             /* removed meanwhile */
    witness->alive = false; /* no one but its worker can see it */
    witness->pulled = true;
    witness->sure_until_ms = worker->sent_ms + LEASE_MS;
    witness->epoch = machine->epoch;
    world->counts.pulled++;
}

static size_t find(const SimWorker *worker, const ClaimItem *item)
{
    size_t at = 0;
    while (at < worker->count &&
           (worker->jobs[at].id != item->id || worker->jobs[at].attempt != item->attempt))
        at++;
    return at;
}

static void heard(World *world, SimWorker *worker, const ClaimItem *item)
{
    size_t at = find(worker, item);
    if (at == worker->count)
        return;
    world->counts.late_results +=
        worker->asked == EVENT_FINISH && item->status != CLAIM_OK;
    if (worker->asked == EVENT_FINISH || item->status == CLAIM_LOST)
        drop_work(worker, at);
    else if (item->status == CLAIM_OK)
        truth_witness(world, item->id, item->attempt)->sure_until_ms =
            worker->sent_ms + LEASE_MS;
    else if (chance(world, 50))
        worker->jobs[at].end_ms = world->time_ms; /* cancelled: it hurries, */
    else
        drop_work(worker, at); /* or just stops */
}

void worker_reply(World *world, Machine *machine, unsigned number, const Effect *effect)
{
    SimWorker *worker = &world->workers[number];
    if (worker->request != effect->request)
        return;
    worker->request = 0;
    for (size_t i = 0; !effect->err && i < effect->count; i++)
        if (worker->asked == EVENT_CLAIM)
            begin(world, machine, worker, &effect->items[i]);
        else
            heard(world, worker, &effect->items[i]);
}
