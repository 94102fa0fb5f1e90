/* SPDX-License-Identifier: Apache-2.0 */
/* held_jobs.c - see held_jobs.h. */
#include "store/held_jobs.h"

typedef struct HeldJob {
    struct HeldJob *next; /* of the same lane */
    Job job;              /* what lane and order are made of */
} HeldJob;

static bool same_lane(const Job *a, const Job *b)
{
    return slice_equal(a->tenant, b->tenant) && slice_equal(a->queue, b->queue) &&
           slice_equal(job_lane_type(a), job_lane_type(b)) &&
           (a->flags & JOB_PULL) == (b->flags & JOB_PULL);
}

static uint64_t lane_hash(const Job *job)
{
    uint64_t tenant = hash_bytes(job->tenant.data, job->tenant.bytes);
    return hash_u64(tenant ^ hash_bytes(job->queue.data, job->queue.bytes));
}

static void take_job(void *context, const Job *held)
{
    HeldJobs *frozen = context;
    HeldJob *kept = ARENA_NEW(&frozen->arena, HeldJob);
    kept->job = (Job){ .id = held->id,
                       .priority = held->priority,
                       .dt_ms = held->dt_ms,
                       .flags = held->flags,
                       .tenant = slice_copy(&frozen->arena, held->tenant),
                       .queue = slice_copy(&frozen->arena, held->queue),
                       .type = slice_copy(&frozen->arena, held->type) };
    kept->next = map_find(&frozen->lanes, lane_hash(held));
    map_put(&frozen->lanes, lane_hash(held), kept);
}

Err held_jobs_each(Store *store, const JobSink *sink, Error *why)
{
    JobQuery query = { .limit = QUERY_LIMIT_MAX };
    Arena arena = { 0 };
    Err err = query_parse(SLICE_LITERAL("state:held"), &arena, &query, why);
    for (int page = 0; !err && page < FROZEN_MAX / QUERY_LIMIT_MAX; page++) {
        QueryEnd end = { 0 };
        err = store->kind->query(store, &query, sink, &end, why);
        query.before = end.cursor;
        if (!end.cursor)
            break;
    }
    arena_done(&arena);
    return err;
}

Err held_jobs_load(HeldJobs *frozen, Store *store, Error *why)
{
    JobSink sink = { take_job, frozen };
    *frozen = (HeldJobs){ 0 };
    return held_jobs_each(store, &sink, why);
}

void held_jobs_done(HeldJobs *frozen)
{
    map_done(&frozen->lanes);
    arena_done(&frozen->arena);
}

static bool goes_before(const Job *a, const Job *b, int64_t age_ms)
{
    int64_t advantage_ms = (a->priority - b->priority) * age_ms;
    if (!age_ms && a->priority != b->priority)
        return a->priority > b->priority;
    if (a->dt_ms - advantage_ms != b->dt_ms)
        return a->dt_ms - advantage_ms < b->dt_ms;
    return a->id < b->id;
}

int64_t held_jobs_since(const HeldJobs *frozen, const Job *head, int64_t age_ms)
{
    int64_t since_ms = head->dt_ms;
    const HeldJob *held = map_find(&frozen->lanes, lane_hash(head));
    for (; held; held = held->next)
        if (held->job.dt_ms < since_ms && same_lane(&held->job, head) &&
            goes_before(&held->job, head, age_ms))
            since_ms = held->job.dt_ms;
    return since_ms;
}
