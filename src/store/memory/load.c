/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - loads and queries of the memory store: see memory.h. */
#include "base/pack.h"
#include "store/ages.h"
#include "store/held_jobs.h"
#include "store/memory/inside.h"

#include <stdlib.h>

/* --- Loads -------------------------------------------------------------------- */

/* Order in which ready jobs of a lane with aging are given out. */
static int aged_order(const Job *a, const Job *b, int64_t age_ms)
{
    int64_t first = a->dt_ms - a->priority * age_ms;
    int64_t second = b->dt_ms - b->priority * age_ms;
    if (first != second)
        return first < second ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* ... of any other lane. */
static int dispatch_order(const Job *a, const Job *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->dt_ms != b->dt_ms)
        return a->dt_ms < b->dt_ms ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int by_dispatch(const void *a, const void *b)
{
    return dispatch_order(*(const Job *const *)a, *(const Job *const *)b);
}

static int by_dt(const void *a, const void *b)
{
    const Job *first = *(const Job *const *)a;
    const Job *second = *(const Job *const *)b;
    if (first->dt_ms != second->dt_ms)
        return first->dt_ms < second->dt_ms ? -1 : 1;
    return first->id < second->id ? -1 : first->id > second->id;
}

static bool same_lane(const Job *a, const Job *b)
{
    return slice_equal(a->tenant, b->tenant) && slice_equal(a->queue, b->queue) &&
           slice_equal(job_lane_type(a), job_lane_type(b)) &&
           (a->flags & JOB_PULL) == (b->flags & JOB_PULL);
}

typedef struct Found {
    const Job **items;
    size_t count;
    size_t capacity;
} Found;

static void found_add(Found *found, const Job *job)
{
    MEM_PUSH(found->items, found->count, found->capacity) = job;
}

static void found_sort(Found *found, int (*order)(const void *, const void *))
{
    if (found->count)
        qsort(found->items, found->count, sizeof(Job *), order);
}

static bool in_window(const Load *load, const Job *job)
{
    Job key = { .id = load->behind_id, .priority = load->priority, .dt_ms = load->dt_ms };
    return job->state == JOB_READY && slice_equal(job->tenant, load->tenant) &&
           slice_equal(job_lane_type(job), load->key) &&
           slice_equal(job->queue, load->queue) &&
           ((job->flags & JOB_PULL) != 0) == load->pull &&
           (!load->behind || (load->age_ms ? aged_order(&key, job, load->age_ms)
                                           : dispatch_order(&key, job)) < 0);
}

static bool listed(Slice ids, JobId id)
{
    for (size_t at = 0; at + sizeof id <= ids.bytes; at += sizeof id)
        if (!memcmp(ids.data + at, &id, sizeof id))
            return true;
    return false;
}

static bool of_interest(const Load *load, const Job *job)
{
    if (load->owner && job_owner(job) != load->owner)
        return false;
    switch (load->kind) {
    case LOAD_LANES:
        return job->state == JOB_READY;
    case LOAD_WINDOW:
        return in_window(load, job);
    case LOAD_DUE:
        return state_in(job->state, STATES_TIMED);
    case LOAD_BLOCKED:
        return job->state == JOB_BLOCKED && !(job->flags & JOB_WAITS) &&
               slice_equal(job->tenant, load->tenant) &&
               slice_equal(job->type, load->key);
    case LOAD_RUNNING:
        return state_in(job->state, STATES_OWNED) &&
               (!load->lock.bytes || slice_equal(load->lock, job->lock));
    case LOAD_OLD:
        return state_in(job->state, load->states & STATES_FINAL) &&
               job->dt_ms - MS_PER_1000_YEARS < load->dt_ms;
    case LOAD_JOB:
    case LOAD_ATTEMPTS:
        return job->id == load->id &&
               (!load->tenant.bytes || slice_equal(load->tenant, job->tenant));
    case LOAD_IDS:
        return listed(load->key, job->id);
    case LOAD_KEY:
    case LOAD_AFTER:
    case LOAD_UNIQUE:
    case LOAD_MATCH:
    case LOAD_INBOX:
    case LOAD_GROUP:
    case LOAD_OWED:
        break;
    }
    return false;
}

/* qsort cannot be told the rate. */
static void sort_aged(Found *found, int64_t age_ms)
{
    for (size_t i = 1; i < found->count; i++) {
        const Job *job = found->items[i];
        size_t at = i;
        for (; at > 0 && aged_order(job, found->items[at - 1], age_ms) < 0; at--)
            found->items[at] = found->items[at - 1];
        found->items[at] = job;
    }
}

static void find(const Memory *memory, const Load *load, Found *out)
{
    for (size_t i = 0; i < memory->count; i++)
        if (of_interest(load, &memory->jobs[i]->row.job))
            found_add(out, &memory->jobs[i]->row.job);
    if (load->kind == LOAD_WINDOW || load->kind == LOAD_LANES)
        found_sort(out, by_dispatch);
    if (load->kind == LOAD_WINDOW && load->age_ms)
        sort_aged(out, load->age_ms);
    if (load->kind == LOAD_DUE || load->kind == LOAD_OLD)
        found_sort(out, by_dt);
}

static void give(Loaded *out, const Load *load, const Job *job)
{
    Job copy = *job;
    bool with_payload = load->kind == LOAD_JOB && !load->bare;
    if (load->kind == LOAD_WINDOW) {
        with_payload = copy.payload.bytes <= STORE_PAYLOAD_SMALL;
        copy.flags |= with_payload ? 0 : JOB_PAYLOAD_APART;
    }
    if (!with_payload)
        copy.payload = (Slice){ NULL, 0 };
    if (load->kind != LOAD_JOB && load->kind != LOAD_RUNNING &&
        load->kind != LOAD_ATTEMPTS)
        copy.bookings = (Slice){ NULL, 0 };
    MEM_PUSH(out->jobs, out->count, out->capacity) = job_copy(&out->arena, &copy);
}

/* The first of each lane; `found` is in the order of giving out. */
static void keep_heads(Found *found)
{
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        size_t k = 0;
        while (k < kept && !same_lane(found->items[k], found->items[i]))
            k++;
        if (k == kept)
            found->items[kept++] = found->items[i];
    }
    found->count = kept;
}

static void load_attempts(const Memory *memory, const Load *load, Loaded *out)
{
    const MemJob *job = memory_find(memory, load->id);
    if (!job || !of_interest(load, &job->row.job))
        return;
    Slice rest = buf_slice(&job->attempts);
    PackField in;
    Job attempt;
    while (pack_next(&rest, &in))
        if (!job_unpack(in.bytes, &attempt))
            give(out, load, &attempt);
    if (row_attempt(&job->row, &attempt))
        give(out, load, &attempt);
}

static void load_key(const Memory *memory, const Load *load, Loaded *out)
{
    const Slice parts[] = { load->tenant, load->key };
    Buf key = { 0 };
    memory_key(&key, parts, 2);
    const Entry *entry = sorted_map_find(&memory->tables[TABLE_KEYS], buf_slice(&key));
    buf_done(&key);
    if (!entry || (load->dt_ms && entry->number <= load->dt_ms))
        return;
    out->value = buf_slice(&entry->value);
    out->value.data = arena_copy(&out->arena, out->value.data, out->value.bytes);
}

static void load_found(const Memory *memory, const Load *load, Loaded *out)
{
    Found found = { 0 };
    find(memory, load, &found);
    if (load->kind == LOAD_LANES)
        keep_heads(&found);
    for (size_t i = 0; i < found.count; i++) {
        const Job *job = found.items[i];
        bool due = load->kind != LOAD_DUE || job->dt_ms <= load->dt_ms;
        bool room = !load->limit || out->count < load->limit;
        if (due && room) {
            give(out, load, job);
            continue;
        }
        out->more = due;
        if (load->kind == LOAD_DUE)
            out->next_due_ms = job->dt_ms;
        break;
    }
    mem_free(found.items);
}

Err memory_load(Store *store, const Load *load, Loaded *out, Error *why)
{
    Memory *memory = memory_of(store);
    *out = (Loaded){ .next_due_ms = TIME_NEVER };
    if (load->kind == LOAD_MATCH)
        return load_match(store, load, out, why);
    if (load->kind == LOAD_GROUP)
        return load_group_counts(store, load, out, why);
    if (load->kind == LOAD_OWED)
        return load_owed(store, out, why);
    if (load->kind == LOAD_KEY)
        load_key(memory, load, out);
    else if (load->kind == LOAD_ATTEMPTS)
        load_attempts(memory, load, out);
    else if (load->kind == LOAD_AFTER)
        memory_load_after(memory, load, out);
    else if (load->kind == LOAD_UNIQUE)
        memory_load_unique(memory, load, out);
    else if (load->kind == LOAD_INBOX)
        memory_load_inbox(memory, load, out);
    else
        load_found(memory, load, out);
    return ERR_OK;
}

/* --- Queries ------------------------------------------------------------------ */

/* The tour in which each ready job's turn comes: its place in its own lane. */
typedef struct Turn {
    const Job *job;
    JobId head;       /* of its lane */
    int64_t since_ms; /* when its lane began to wait */
    size_t tour;
} Turn;

static int by_turn(const void *a, const void *b)
{
    const Turn *first = a;
    const Turn *second = b;
    if (first->tour != second->tour)
        return first->tour < second->tour ? -1 : 1;
    if (first->since_ms != second->since_ms)
        return first->since_ms < second->since_ms ? -1 : 1;
    return first->head < second->head ? -1 : first->head > second->head;
}

/* Jobs of lanes with aging, in the places that jobs of their lane have. */
static void sort_aged_lanes(Found *ready, const Ages *ages)
{
    for (size_t i = 1; i < ready->count; i++) {
        const Job *job = ready->items[i];
        int64_t age_ms = ages_find(ages, job->tenant, job->queue);
        size_t at = i;
        for (size_t k = i; age_ms && k-- > 0;) {
            if (!same_lane(ready->items[k], job))
                continue;
            if (aged_order(job, ready->items[k], age_ms) >= 0)
                break;
            ready->items[at] = ready->items[k];
            at = k;
        }
        ready->items[at] = job;
    }
}

static void query_turns(const Memory *memory, const Ages *ages, const HeldJobs *frozen,
                        Found *out)
{
    Found ready = { 0 };
    find(memory, &(Load){ .kind = LOAD_LANES }, &ready);
    sort_aged_lanes(&ready, ages);
    Turn *turns = MEM_ARRAY(Turn, ready.count + 1);
    for (size_t i = 0; i < ready.count; i++) {
        const Job *job = ready.items[i];
        int64_t age_ms = ages_find(ages, job->tenant, job->queue);
        turns[i] = (Turn){ .job = job,
                           .head = job->id,
                           .since_ms = held_jobs_since(frozen, job, age_ms) };
        for (size_t k = i; k-- > 0;) {
            if (!same_lane(ready.items[k], ready.items[i]))
                continue;
            turns[i].head = turns[k].head;
            turns[i].since_ms = turns[k].since_ms;
            turns[i].tour = turns[k].tour + 1;
            break;
        }
    }
    if (ready.count)
        qsort(turns, ready.count, sizeof *turns, by_turn);
    for (size_t i = 0; i < ready.count; i++)
        found_add(out, turns[i].job);
    mem_free(turns);
    mem_free(ready.items);
}

static void query_newest(const Memory *memory, JobId before, Found *out)
{
    for (size_t i = memory->count; i-- > 0;)
        if (!before || memory->jobs[i]->row.job.id < before)
            found_add(out, &memory->jobs[i]->row.job);
}

Err memory_query(Store *store, const JobQuery *query, const JobSink *sink,
                 QueryEnd *out_end, Error *why)
{
    Memory *memory = memory_of(store);
    Found found = { 0 };
    Ages ages = { 0 };
    HeldJobs frozen = { 0 };
    bool newest = query->order == QUERY_NEWEST;
    Err err = newest ? ERR_OK : ages_load(&ages, store, why);
    if (!newest && !err)
        err = held_jobs_load(&frozen, store, why);
    if (newest)
        query_newest(memory, query->before, &found);
    else
        query_turns(memory, &ages, &frozen, &found);
    ages_done(&ages);
    held_jobs_done(&frozen);
    uint32_t limit = store_query_limit(query);
    uint64_t matched = 0;
    uint32_t given = 0;
    JobId last = 0;
    *out_end = (QueryEnd){ 0 };
    for (size_t i = 0; i < found.count; i++) {
        if (!query_matches(query, found.items[i]))
            continue;
        if (!newest && matched++ < query->skip)
            continue;
        if (given == limit) {
            out_end->cursor = newest ? last : (JobId)query->skip + given;
            break;
        }
        Job job = *found.items[i];
        if (!query->with_payload)
            job.payload = (Slice){ NULL, 0 };
        job.bookings = (Slice){ NULL, 0 };
        sink->take(sink->context, &job);
        last = job.id;
        given++;
    }
    mem_free(found.items);
    return err;
}
