/* SPDX-License-Identifier: Apache-2.0 */
/* requests.c - see requests.h. */
#include "sim/cluster/requests.h"

#include <stdio.h>

static Call *call_new(Cluster *cluster, bool add, JobId id)
{
    Call *call = MEM_NEW(Call);
    *call = (Call){ .request = ++cluster->last_request, .add = add, .id = id };
    map_put(&cluster->requests, call->request, call);
    return call;
}

static void send_jobs(Cluster *cluster, Member *member)
{
    size_t count = 1 + (size_t)rng_below(&cluster->rng, 4);
    Job *jobs = arena_take(&member->arena, count * sizeof *jobs);
    for (size_t i = 0; i < count; i++) {
        jobs[i] = job_default();
        jobs[i].tenant = SLICE_LITERAL("default");
        jobs[i].type = SLICE_LITERAL("shell");
        jobs[i].queue =
            rng_percent(&cluster->rng, 50) ? SLICE_LITERAL("a") : SLICE_LITERAL("b");
        jobs[i].command = SLICE_LITERAL("true\0");
        if (rng_percent(&cluster->rng, 20))
            jobs[i].run_at_ms =
                cluster->time_ms + (int64_t)rng_below(&cluster->rng, 8000);
    }
    MEM_PUSH(member->events, member->event_count, member->event_capacity) =
        (Event){ .kind = EVENT_ADD,
                 .request = call_new(cluster, true, 0)->request,
                 .jobs = jobs,
                 .count = count };
}

static void send_cancel(Cluster *cluster, Member *member)
{
    MapEntry entry;
    size_t skip = cluster->jobs.count ? rng_below(&cluster->rng, cluster->jobs.count) : 0;
    for (size_t at = 0; map_next(&cluster->jobs, &at, &entry);) {
        if (skip--)
            continue;
        Call *call = call_new(cluster, false, entry.key);
        MEM_PUSH(member->events, member->event_count, member->event_capacity) =
            (Event){ .kind = EVENT_ACT,
                     .action = ACT_KILL,
                     .request = call->request,
                     .id = entry.key };
        return;
    }
}

void requests_step(Cluster *cluster)
{
    Member *member = &cluster->members[rng_below(&cluster->rng, cluster->count)];
    if (!member->node || cluster->time_ms < member->asleep_until_ms)
        return;
    if (rng_percent(&cluster->rng, 85))
        send_jobs(cluster, member);
    else
        send_cancel(cluster, member);
}

/* Before anything of the turn is durable: these ids exist, if anyone hears of them. */
void requests_sent(Cluster *cluster, const Outbox *out, uint32_t node)
{
    (void)node;
    for (size_t i = 0; i < out->adds.count; i++) {
        Known *known = MEM_NEW(Known);
        known->id = out->adds.ops[i].job->id;
        if (map_find(&cluster->jobs, known->id))
            violate(cluster, "K2: an id was given twice", known->id);
        map_put(&cluster->jobs, known->id, known);
        cluster->sent++;
    }
}

bool request_adds(const Cluster *cluster, Requester request)
{
    const Call *call = map_find(&cluster->requests, request);
    return call && call->add;
}

void request_answered(Cluster *cluster, const Effect *effect)
{
    Call *call = map_remove(&cluster->requests, effect->request);
    if (!call)
        return;
    for (uint64_t i = 0; call->add && !effect->err && i < effect->count; i++) {
        uint16_t node = effect->job ? id_node(effect->job->id) : 0;
        for (unsigned k = 0; !node && k < cluster->count; k++)
            if (map_find(&cluster->jobs,
                         id_from_count(effect->first + i,
                                       (uint16_t)cluster->members[k].number)))
                node = (uint16_t)cluster->members[k].number;
        known_job(cluster, id_from_count(effect->first + i, node))->acknowledged = true;
        cluster->acknowledged++;
    }
    if (!call->add && !effect->err)
        known_job(cluster, call->id)->cancelled = true;
    mem_free(call);
}

static void look_at(void *context, const Job *job)
{
    Cluster *cluster = context;
    Known *known = map_find(&cluster->jobs, job->id);
    if (!known) {
        violate(cluster, "K2: no one sent it", job->id);
        return;
    }
    bool is_final = state_in(job->state, STATES_FINAL);
    if (known->final && known->final != job->state)
        violate(cluster, "K4: it was final", job->id);
    if (is_final)
        known->final = job->state;
    if (job->state == JOB_DONE && !known->completed)
        violate(cluster, "K1: done, but it never ran to its end", job->id);
}

void requests_look(Cluster *cluster)
{
    Error why = { 0 };
    JobQuery query = { .limit = QUERY_LIMIT_MAX };
    JobSink sink = { look_at, cluster };
    QueryEnd end = { 0 };
    do {
        query.before = end.cursor;
        (void)!cluster->store->kind->query(cluster->store, &query, &sink, &end, &why);
    } while (end.cursor);
}

bool requests_done(Cluster *cluster)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&cluster->jobs, &at, &entry);) {
        const Known *known = entry.value;
        if (known->acknowledged && !known->final)
            return false;
        if (known->cancelled && known->final == JOB_DONE)
            violate(cluster, "K6: it was cancelled", known->id);
    }
    return true;
}

void requests_unfinished(Cluster *cluster)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&cluster->jobs, &at, &entry);) {
        const Known *known = entry.value;
        char id[ID_TEXT_BYTES];
        Loaded loaded = { 0 };
        Error why = { 0 };
        Load load = { .kind = LOAD_JOB, .id = known->id };
        if (!known->acknowledged || known->final)
            continue;
        (void)!cluster->store->kind->load(cluster->store, &load, &loaded, &why);
        Job job = loaded.count ? loaded.jobs[0] : job_default();
        printf("unfinished %s: %s owner=%u attempt=%u lock=" SLICE_FMT "\n",
               id_text(known->id, id), loaded.count ? state_name(job.state) : "missing",
               loaded.count ? job_owner(&job) : 0, job.attempt, SLICE_ARG(job.lock));
        loaded_done(&loaded);
    }
}

void requests_free(Cluster *cluster)
{
    Map *maps[] = { &cluster->jobs, &cluster->requests };
    MapEntry entry;
    for (size_t i = 0; i < 2; i++) {
        for (size_t at = 0; map_next(maps[i], &at, &entry);)
            mem_free(entry.value);
        map_done(maps[i]);
    }
}
