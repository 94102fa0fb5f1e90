/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - people and programs: they add, act, ask again when no answer came, and in
 * the end let go of everything that is kept waiting. */
#include "sim/links.h"
#include "sim/machine.h"

#include <stdio.h>

#define TRIES_MAX 60 /* of a request with a key, before the calm */

static Machine *any_machine(World *world)
{
    Machine *machine = world->machines[below(world, world->profile.machines)];
    return machine->node ? machine : NULL; /* else: connection refused */
}

/* --- Adding
 * ------------------------------------------------------------------------------ */

static Job any_job(World *world, const Machine *machine)
{
    Job job = job_default();
    job.type = SLICE_LITERAL("run");
    job.queue = sim_queues[below(world, world->profile.queues)];
    job.command = SLICE_LITERAL("work\0");
    job.priority = (int64_t)below(world, 5) - 2;
    if (chance(world, 15))
        job.run_at_ms = machine_now(machine).wall_ms + (int64_t)below(world, 20000);
    if (chance(world, 5))
        job.state = JOB_HELD;
    if (chance(world, 5))
        job.command = (Slice){ NULL, 0 };
    if (workers_here(world) && chance(world, 40)) {
        job.command = (Slice){ NULL, 0 };
        job.type = SLICE_LITERAL(PULL_TYPE);
        job.max_retries = 3;
        job.retry_delay_ms = 1 + (int64_t)below(world, 500);
    }
    if (contexts_here(world) && chance(world, 60))
        job.command = (Slice){ NULL, 0 };
    if (chance(world, 60))
        job.max_retries = (int32_t)below(world, 4);
    if (chance(world, 20))
        job.retry_delay_ms = (int64_t)below(world, 3000);
    if (chance(world, 10))
        job.retry_window_ms = chance(world, 30) ? -1 : (int64_t)below(world, 30000);
    if (chance(world, 15))
        job.max_run_ms = 200 + (int64_t)below(world, 5000);
    return job;
}

static void send_add(World *world, Submission *submission)
{
    Machine *machine = world->machines[submission->machine];
    submission->again_ms = TIME_NEVER;
    SimRequest request = { .kind = REQUEST_ADD,
                           .machine = submission->machine,
                           .submission = submission };
    Event event = { .kind = submission->lines ? EVENT_ADD_LINES : EVENT_ADD,
                    .request = truth_request(world, &request),
                    .tenant = submission->jobs[0].tenant,
                    .jobs = submission->jobs,
                    .count = submission->count,
                    .body = buf_slice(&submission->body) };
    if (submission->keyed) {
        event.key = slice_text(submission->key);
        event.key_hash = slice_text(submission->key);
    }
    trace(world, "client adds s%llu to m%u: %u %s%s, request %llu",
          (unsigned long long)submission->serial, submission->machine, submission->count,
          submission->lines ? "lines" : "jobs", submission->keyed ? " with a key" : "",
          (unsigned long long)event.request);
    machine_call(machine, &event);
}

static void fill_jobs(World *world, Submission *submission, Slice tenant)
{
    const Machine *machine = world->machines[submission->machine];
    submission->jobs = arena_take(&submission->arena, submission->count * sizeof(Job));
    for (uint32_t k = 0; k < submission->count; k++) {
        char payload[48];
        snprintf(payload, sizeof payload, "s%llu.%u",
                 (unsigned long long)submission->serial, k);
        submission->jobs[k] = any_job(world, machine);
        submission->jobs[k].tenant = tenant;
        links_choose(world, submission, &submission->jobs[k]);
        submission->jobs[k].payload = slice_copy(&submission->arena, slice_text(payload));
    }
}

static void fill_lines(World *world, Submission *submission, Slice tenant)
{
    submission->jobs = arena_take(&submission->arena, sizeof(Job));
    submission->jobs[0] = any_job(world, world->machines[submission->machine]);
    submission->jobs[0].tenant = tenant;
    links_choose(world, submission, &submission->jobs[0]);
    for (uint32_t k = 0; k < submission->count; k++)
        buf_printf(&submission->body, "%ss%llu.%u\n", chance(world, 10) ? "\n" : "",
                   (unsigned long long)submission->serial, k);
}

static void add(World *world, const Machine *machine)
{
    Submission *submission = truth_submission(world, machine->index);
    Slice tenant = sim_tenants[below(world, 2)];
    submission->lines = chance(world, 25);
    submission->count = 1;
    if (submission->lines)
        submission->count = 1 + (uint32_t)below(world, 12);
    else if (chance(world, 25))
        submission->count = 1 + (uint32_t)below(world, 5);
    submission->keyed = !submission->lines && chance(world, world->profile.key_percent);
    snprintf(submission->key, sizeof submission->key, "key-%llu",
             (unsigned long long)submission->serial);
    if (submission->lines)
        fill_lines(world, submission, tenant);
    else
        fill_jobs(world, submission, tenant);
    /* Of several different ones some may be refused: not told apart here. */
    unsigned wants = seed_is_scarce(world->options.seed) ? 95 : 40;
    if ((submission->lines || submission->count == 1) && chance(world, wants))
        submission->jobs[0].resources =
            chance(world, 50) ? slice_of("gpu=1", 6) : slice_of("gpu=2", 6);
    send_add(world, submission);
}

void client_retries(World *world, bool all)
{
    for (size_t i = 0; i < world->truth.submission_count; i++) {
        Submission *submission = world->truth.submissions[i];
        if (submission->again_ms == TIME_NEVER || submission->open)
            continue;
        if (!all && submission->again_ms > world->time_ms)
            continue;
        if (!world->machines[submission->machine]->node)
            continue;
        if (all || submission->tries < TRIES_MAX)
            send_add(world, submission);
    }
}

/* --- Acting
 * ------------------------------------------------------------------------------ */

static void act(World *world, JobTruth *job, Action action, const Patch *patch)
{
    Machine *machine = world->machines[job->machine];
    char id[ID_TEXT_BYTES];
    if (!machine->node)
        return;
    SimRequest request = {
        .kind = REQUEST_ACT, .machine = job->machine, .id = job->id, .action = action
    };
    Event event = { .kind = EVENT_ACT,
                    .request = truth_request(world, &request),
                    .id = job->id,
                    .action = action,
                    .reason = chance(world, 50) ? SLICE_LITERAL("because")
                                                : (Slice){ NULL, 0 } };
    if (patch)
        event.patch = *patch;
    trace(world, "client asks m%u to %s %s, request %llu", job->machine,
          action_name(action), id_text(job->id, id), (unsigned long long)event.request);
    machine_call(machine, &event);
}

static void patch_job(World *world, JobTruth *job)
{
    Patch patch = { 0 };
    char payload[80];
    const Machine *machine = world->machines[job->machine];
    if (chance(world, 40)) {
        patch.fields |= FIELD_PRIORITY;
        patch.priority = (int64_t)below(world, 5) - 2;
    }
    if (chance(world, 30)) {
        patch.fields |= FIELD_QUEUE;
        patch.queue = sim_queues[below(world, world->profile.queues)];
    }
    if (chance(world, 30)) {
        patch.fields |= FIELD_RUN_AT;
        patch.run_at_ms = machine_now(machine).wall_ms + (int64_t)below(world, 15000);
    }
    const Submission *submission = job->submission;
    if (submission && !submission->lines && chance(world, 40)) {
        uint64_t item = id_count(job->id) - submission->first;
        snprintf(payload, sizeof payload, "s%llu.%llu/%llu",
                 (unsigned long long)submission->serial, (unsigned long long)item,
                 (unsigned long long)++job->patches);
        patch.fields |= FIELD_PAYLOAD;
        patch.payload = slice_text(payload);
    }
    if (!patch.fields)
        patch.fields = FIELD_MAX_RUN;
    act(world, job, ACT_PATCH, &patch);
}

static void act_on_any(World *world)
{
    Truth *truth = &world->truth;
    if (!truth->job_count)
        return;
    /* Mostly on jobs of the last minutes: older ones are done. */
    size_t recent = truth->job_count < 12 ? truth->job_count : 12;
    size_t back = chance(world, 70) ? recent : truth->job_count;
    JobTruth *job = truth->jobs[truth->job_count - 1 - below(world, back)];
    if (!job->acked)
        return; /* no one knows its id yet */
    Action action = (Action)below(world, ACTIONS);
    if (action == ACT_REMOVE && chance(world, 60))
        action = ACT_HOLD;
    if (action == ACT_PATCH)
        patch_job(world, job);
    else if (action == ACT_RETRY && chance(world, 30))
        act(world, job, action, &(Patch){ .fields = FIELD_ALONE });
    else
        act(world, job, action, NULL);
}

/* Someone looks for a job that was acknowledged, or waits for its end. */
static void look(World *world)
{
    Truth *truth = &world->truth;
    if (!truth->job_count)
        return;
    const JobTruth *job =
        truth->jobs[truth->job_count - 1 - below(world, truth->job_count)];
    Machine *machine = world->machines[job->machine];
    if (!job->acked || job->gone || !machine->node)
        return;
    bool read = chance(world, 60);
    SimRequest request = { .kind = read ? REQUEST_READ : REQUEST_WAIT,
                           .machine = job->machine,
                           .id = job->id };
    machine_read(machine, read ? CALL_READ : CALL_WAIT, truth_request(world, &request),
                 job->id);
}

/* Of the type that all jobs have; those with a command do not mind. */
static void define_handler(World *world, Machine *machine)
{
    SimRequest request = { .kind = REQUEST_DEFINE, .machine = machine->index };
    Handler handler = { .lang = LANG_SH, .body = SLICE_LITERAL("true") };
    Buf value = { 0 };
    Event event = { .kind = EVENT_DEFINE,
                    .request = truth_request(world, &request),
                    .table = SLICE_LITERAL(HANDLER_TABLE),
                    .tenant = sim_tenants[below(world, 2)],
                    .key = SLICE_LITERAL("run"),
                    .flag = chance(world, 30) };
    handler.disabled = chance(world, 25);
    if (contexts_here(world) && chance(world, 80))
        handler.lang = LANG_PYTHON;
    if (chance(world, 30))
        handler.queue = sim_queues[below(world, world->profile.queues)];
    if (chance(world, 70))
        handler_pack(&value, &handler);
    event.value = buf_slice(&value);
    world->truth.handlers = true;
    machine_call(machine, &event);
    buf_done(&value);
}

void client_step(World *world)
{
    client_retries(world, false);
    if (chance(world, 20))
        look(world);
    Machine *machine = any_machine(world);
    if (!machine)
        return;
    if (chance(world, 5) || !machine->limited)
        limits_change(world, machine, sim_tenants[below(world, 2)],
                      sim_queues[below(world, world->profile.queues)]);
    else if (chance(world, contexts_here(world) ? 10 : 2))
        define_handler(world, machine);
    else if (chance(world, world->profile.act_percent))
        act_on_any(world);
    else
        add(world, machine);
}

/* --- The calm
 * ---------------------------------------------------------------------------- */

typedef struct Calm {
    World *world;
    Machine *machine;
} Calm;

static void let_go(void *context, const Job *job)
{
    const Calm *calm = context;
    JobTruth *truth = truth_job(calm->world, job->id);
    if (!truth)
        return;
    for (size_t i = 0; i < ACTIONS; i++)
        if (truth->waiting[i])
            return; /* something is under way already */
    if (job->state == JOB_HELD)
        act(calm->world, truth, ACT_RELEASE, NULL);
    if (job->state == JOB_HALTED || job->state == JOB_PAUSED)
        act(calm->world, truth, ACT_RESUME, NULL);
    /* One that was retried may wait for a job that no one retries. */
    if (job->state == JOB_BLOCKED && (!(job->flags & JOB_WAITS) || truth->retried))
        act(calm->world, truth, ACT_CANCEL, NULL);
}

void client_calm(World *world)
{
    client_retries(world, true);
    for (unsigned i = 0; i < world->profile.machines; i++) {
        Machine *machine = world->machines[i];
        if (!machine->node)
            continue;
        if (!machine->lifted)
            limits_lift(world, machine, sim_tenants, sim_queues);
        machine->lifted = true;
        Calm calm = { world, machine };
        JobQuery all = { .limit = 1000000 };
        QueryEnd end;
        JobSink sink = { let_go, &calm };
        (void)!machine->store->kind->query(machine->store, &all, &sink, &end, NULL);
    }
}
