/* SPDX-License-Identifier: Apache-2.0 */
/* requests.c - see requests.h. */
#include "sim/cluster/requests.h"

#include "core/group.h"
#include "core/unique.h"

#include <stdio.h>

static Request *request_new(Cluster *cluster, bool add, JobId id)
{
    Request *call = MEM_NEW(Request);
    *call = (Request){ .request = ++cluster->last_request, .add = add, .id = id };
    map_put(&cluster->requests, call->request, call);
    return call;
}

static const char *const keys[KEYS] = { "k1", "k2", "k3" };

static void set_key(Cluster *cluster, Arena *arena, Job *job, const char *key)
{
    static const OnConflict conflicts[] = { CONFLICT_IGNORE, CONFLICT_REJECT,
                                            CONFLICT_REPLACE };
    Buf text = { 0 };
    Unique unique = { .key = slice_text(key),
                      .on_conflict = conflicts[rng_below(&cluster->rng, 3)] };
    unique_write(&text, &unique);
    job->unique = slice_copy(arena, buf_slice(&text));
    buf_done(&text);
}

static Job some_job(Cluster *cluster)
{
    Job job = job_default();
    job.tenant = SLICE_LITERAL("default");
    job.type = SLICE_LITERAL("shell");
    job.queue = rng_percent(&cluster->rng, 50) ? SLICE_LITERAL("a") : SLICE_LITERAL("b");
    job.command = SLICE_LITERAL("true\0");
    if (rng_percent(&cluster->rng, 15))
        job.resources = SLICE_LITERAL("licence=1\0");
    if (rng_percent(&cluster->rng, 8))
        job.group = SLICE_LITERAL("g");
    if (rng_percent(&cluster->rng, 6)) {
        job.type = SLICE_LITERAL("one");
        job.command = (Slice){ NULL, 0 };
    }
    if (rng_percent(&cluster->rng, 20))
        job.run_at_ms = cluster->time_ms + (int64_t)rng_below(&cluster->rng, 8000);
    return job;
}

static Event add_event(Cluster *cluster, Job *jobs, size_t count)
{
    return (Event){ .kind = EVENT_ADD,
                    .request = request_new(cluster, true, 0)->request,
                    .tenant = SLICE_LITERAL("default"),
                    .key_hash = SLICE_LITERAL("same"),
                    .jobs = jobs,
                    .count = count };
}

static void send_jobs(Cluster *cluster, Member *member)
{
    size_t count = 1 + (size_t)rng_below(&cluster->rng, 4);
    MemberCall *call = member_call(member);
    Arena *arena = &call->call.arena;
    Job *jobs = arena_take(arena, count * sizeof *jobs);
    for (size_t i = 0; i < count; i++) {
        jobs[i] = some_job(cluster);
        if (rng_percent(&cluster->rng, 8))
            set_key(cluster, arena, &jobs[i], keys[rng_below(&cluster->rng, KEYS)]);
    }
    call->call.event = add_event(cluster, jobs, count);
    member_send(member, call, call->call.event.request);
}

/* A client that sends the same to whom it can reach: one job is wanted. */
static void send_everywhere(Cluster *cluster)
{
    const char *key = keys[rng_below(&cluster->rng, KEYS)];
    bool request = rng_percent(&cluster->rng, 50);
    for (unsigned i = 0; i < cluster->count; i++) {
        Member *member = &cluster->members[i];
        if (!member->node || cluster->time_ms < member->asleep_until_ms)
            continue;
        MemberCall *call = member_call(member);
        Arena *arena = &call->call.arena;
        Job *job = ARENA_NEW(arena, Job);
        Event *event = &call->call.event;
        *event = add_event(cluster, job, 1);
        *job = some_job(cluster);
        if (request)
            event->key = slice_text(key);
        else
            set_key(cluster, arena, job, key);
        member_send(member, call, event->request);
    }
}

static void send_cancel(Cluster *cluster, Member *member)
{
    MapEntry entry;
    size_t skip = cluster->jobs.count ? rng_below(&cluster->rng, cluster->jobs.count) : 0;
    for (size_t at = 0; map_next(&cluster->jobs, &at, &entry);) {
        if (skip--)
            continue;
        Request *request = request_new(cluster, false, entry.key);
        MemberCall *call = member_call(member);
        call->call.event =
            (Event){ .kind = EVENT_ACT, .action = ACT_KILL, .id = entry.key };
        member_send(member, call, request->request);
        return;
    }
}

void requests_step(Cluster *cluster)
{
    Member *member = &cluster->members[rng_below(&cluster->rng, cluster->count)];
    if (!member->node || cluster->time_ms < member->asleep_until_ms)
        return;
    uint64_t luck = rng_below(&cluster->rng, 100);
    if (luck < 77)
        send_jobs(cluster, member);
    else if (luck < 85)
        send_everywhere(cluster);
    else
        send_cancel(cluster, member);
}

static unsigned key_number(Slice key)
{
    for (unsigned i = 0; i < KEYS; i++)
        if (slice_is(key, keys[i]))
            return i + 1;
    return 0;
}

static void know(Cluster *cluster, const Job *job)
{
    Known *known = MEM_NEW(Known);
    Unique unique = { 0 };
    Slice rest = job->request;
    known->id = job->id;
    known->licence = job->resources.bytes > 0;
    known->highlander = slice_is(job->type, "one");
    known->completion = slice_is(job->type, "after");
    if (known->completion)
        known->acknowledged = true; /* no one waits for it, but it must come to its end */
    if (unique_read(job->unique, &unique))
        known->key = key_number(unique.key);
    if (rest.bytes) {
        known->request = key_number(slice_cut(&rest, '\0'));
        known->requested = hash_bytes(rest.data, rest.bytes);
    }
    map_put(&cluster->jobs, known->id, known);
    cluster->sent++;
}

/* The store takes the first of those who add what is owed. */
static void know_added(Cluster *cluster, const Op *op)
{
    const Known *known = map_find(&cluster->jobs, op->job->id);
    if (!known)
        know(cluster, op->job);
    else if (!known->owed || !op->own)
        violate(cluster, "K2: an id was given twice", known->id);
}

/* K10: its cause is in the store, so it must come to its end. */
static void look_at_owed(void *context, const Definition *definition)
{
    Cluster *cluster = context;
    Job job;
    if (job_unpack(definition->value, &job))
        return;
    if (!map_find(&cluster->jobs, job.id))
        know(cluster, &job);
    Known *known = map_find(&cluster->jobs, job.id);
    known->owed = known->acknowledged = true;
}

static void look_for_owed(Cluster *cluster)
{
    Error why = { 0 };
    (void)!cluster->store->kind->definitions(cluster->store, SLICE_LITERAL(OWED_TABLE),
                                             look_at_owed, cluster, &why);
}

typedef struct Owing {
    uint32_t node;
    uint64_t count;
} Owing;

static void count_owed(void *context, const Definition *definition)
{
    Owing *owing = context;
    Job job;
    owing->count +=
        !job_unpack(definition->value, &job) && id_node(job.id) == owing->node;
}

uint64_t requests_owed(Cluster *cluster, uint32_t node)
{
    Owing owing = { .node = node };
    Error why = { 0 };
    (void)!cluster->store->kind->definitions(cluster->store, SLICE_LITERAL(OWED_TABLE),
                                             count_owed, &owing, &why);
    return owing.count;
}

/* Before anything of the turn is durable: these ids exist, if anyone hears of them. */
void requests_sent(Cluster *cluster, const Outbox *out, uint32_t node)
{
    (void)node;
    const Batch *batches[] = { &out->adds, &out->batch };
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < batches[k]->count; i++)
            if (batches[k]->ops[i].kind == OP_ADD)
                know_added(cluster, &batches[k]->ops[i]);
}

static void acknowledge(Cluster *cluster, JobId id)
{
    known_job(cluster, id)->acknowledged = true;
    cluster->acknowledged++;
}

void request_answered(Cluster *cluster, const Effect *effect, uint32_t by)
{
    Request *call = map_remove(&cluster->requests, effect->request);
    if (!call)
        return;
    for (uint64_t i = 0; call->add && effect->added_items && i < effect->count; i++)
        if (!effect->added_items[i].problem)
            acknowledge(cluster, effect->added_items[i].id);
    bool in_a_row = call->add && !effect->err && !effect->added_items;
    for (uint64_t i = 0; in_a_row && i < effect->count; i++) {
        uint16_t node = effect->job ? id_node(effect->job->id) : (uint16_t)by;
        acknowledge(cluster, id_from_count(effect->first + i, node));
    }
    if (!call->add && !call->id && !effect->err)
        cluster->grouped = true;
    if (!call->add && call->id && !effect->err)
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
    look_for_owed(cluster);
    Error why = { 0 };
    JobQuery query = { .limit = QUERY_LIMIT_MAX };
    JobSink sink = { look_at, cluster };
    QueryEnd end = { 0 };
    do {
        query.before = end.cursor;
        (void)!cluster->store->kind->query(cluster->store, &query, &sink, &end, &why);
    } while (end.cursor);
}

/* Once no one adds any more: its members end on several nodes, some at once. */
void requests_complete(Cluster *cluster)
{
    Member *member = &cluster->members[rng_below(&cluster->rng, cluster->count)];
    if (cluster->defined || !member->node || !reaches_store(member) ||
        cluster->time_ms < member->asleep_until_ms)
        return;
    Buf value = { 0 };
    group_pack(&value, &(GroupDefinition){ .then = SLICE_LITERAL("after") });
    MemberCall *call = member_call(member);
    call->call.event =
        (Event){ .kind = EVENT_DEFINE,
                 .table = SLICE_LITERAL(GROUP_TABLE),
                 .tenant = SLICE_LITERAL("default"),
                 .key = SLICE_LITERAL("g"),
                 .value = slice_copy(&call->call.arena, buf_slice(&value)) };
    member_send(member, call, request_new(cluster, false, 0)->request);
    buf_done(&value);
    cluster->defined = true;
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
    if (cluster->completions > 1)
        violate(cluster, "K9: two completion jobs have run", 0);
    return !cluster->grouped || cluster->completions == 1;
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
        printf("unfinished %s: %s owner=%u attempt=%u lock=" SLICE_FMT " type=" SLICE_FMT
               " " SLICE_FMT "\n",
               id_text(known->id, id), loaded.count ? state_name(job.state) : "missing",
               loaded.count ? job_owner(&job) : 0, job.attempt, SLICE_ARG(job.lock),
               SLICE_ARG(job.type), SLICE_ARG(job.error));
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
