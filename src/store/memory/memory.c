/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - see memory.h.
 *
 * Everything is a sorted array; whatever is asked is found by looking at all of it. What
 * must hold:
 *   M1  jobs are sorted by id, entries by their key.
 *   M2  a MemJob never changes: a change makes a new one, so that clones may share it. */
#include "store/memory/memory.h"

#include "base/map.h"
#include "base/pack.h"
#include "core/share/peer.h"
#include "store/memory/inside.h"

#include <assert.h>
#include <stdlib.h>

/* --- Jobs ------------------------------------------------------------------- */

static void job_release(MemJob *job)
{
    if (--job->users)
        return;
    buf_done(&job->packed);
    buf_done(&job->result);
    buf_done(&job->attempts);
    mem_free(job);
}

static MemJob *job_keep(const Row *row)
{
    MemJob *job = MEM_NEW(MemJob);
    job->users = 1;
    job->row = *row;
    job_pack(&job->packed, &row->job);
    Err err = job_unpack(buf_slice(&job->packed), &job->row.job);
    assert(!err);
    (void)err;
    return job;
}

/* Where id is, or would be. */
static size_t job_place(const Memory *memory, JobId id)
{
    size_t low = 0;
    size_t high = memory->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->jobs[middle]->row.job.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

MemJob *memory_find(const Memory *memory, JobId id)
{
    size_t at = job_place(memory, id);
    bool found = at < memory->count && memory->jobs[at]->row.job.id == id;
    return found ? memory->jobs[at] : NULL;
}

static OpResult job_add(Memory *memory, const Job *job)
{
    size_t at = job_place(memory, job->id);
    if (at < memory->count && memory->jobs[at]->row.job.id == job->id)
        return OP_EXISTS;
    mem_room((void **)&memory->jobs, memory->count, &memory->capacity, sizeof(MemJob *));
    memmove(&memory->jobs[at + 1], &memory->jobs[at],
            (memory->count++ - at) * sizeof(MemJob *));
    Row row = row_new(job);
    memory->jobs[at] = job_keep(&row);
    rollups_add(&memory->rollups, job, 1);
    point_added(points_of(&memory->points, id_node(job->id)), job->id);
    memory_added(memory, job);
    return OP_APPLIED;
}

static void job_remove_at(Memory *memory, size_t at)
{
    memory_removed(memory, &memory->jobs[at]->row.job);
    job_release(memory->jobs[at]);
    memmove(&memory->jobs[at], &memory->jobs[at + 1],
            (--memory->count - at) * sizeof(MemJob *));
}

static void attempt_pack(Buf *out, const Job *attempt)
{
    size_t begun = pack_begin(out, TAG_ATTEMPT);
    job_pack(out, attempt);
    pack_end(out, begun);
}

/* --- Operations --------------------------------------------------------------- */

/* `node` has joined the nodes that share this store. */
static bool joined(const Memory *memory, uint32_t node)
{
    MemLease lease;
    return memory_lease_of(memory, node, &lease) && lease.epoch;
}

static OpResult guard(const Memory *memory, const Op *op, const Row *row, uint32_t node)
{
    OpResult result = OP_APPLIED;
    if (joined(memory, node))
        result = cluster_guard(op, node, &row->job);
    return result == OP_APPLIED ? row_guard(row, op) : result;
}

static OpResult apply_to_job(Memory *memory, const Op *op, uint32_t node)
{
    size_t at = job_place(memory, op->id);
    MemJob *old = memory_find(memory, op->id);
    if (!old)
        return OP_MISSING;
    OpResult result = guard(memory, op, &old->row, node);
    if (result != OP_APPLIED)
        return result;
    if (op->kind == OP_REMOVE) {
        job_remove_at(memory, at);
        return OP_APPLIED;
    }
    Row row = old->row;
    Job attempt;
    bool forgets = row_forgets(&row, op) && row_attempt(&row, &attempt);
    rollups_change(&memory->rollups, &row, op);
    row_change(&row, op);
    if (joined(memory, node))
        cluster_claim_final(op, node, old->row.job.state, &row.job);
    MemJob *changed = job_keep(&row);
    buf_add_slice(&changed->attempts, buf_slice(&old->attempts));
    if (forgets)
        attempt_pack(&changed->attempts, &attempt);
    buf_add_slice(&changed->result,
                  op->kind == OP_FINISH ? op->result : buf_slice(&old->result));
    memory->jobs[at] = changed;
    memory_changed(memory, op, &old->row.job, &changed->row.job);
    job_release(old);
    return OP_APPLIED;
}

static OpResult apply_lines(Memory *memory, const Op *op, uint32_t node)
{
    Slice rest = op->body;
    Slice line;
    uint64_t added = 0;
    uint64_t k = 0;
    for (; (!op->count || k < op->count) && lines_next(&rest, &line); k++) {
        Job job = row_line(op, node, k, line);
        added += job_add(memory, &job) == OP_APPLIED;
    }
    return k && !added ? OP_EXISTS : OP_APPLIED;
}

void memory_replace(Memory *memory, size_t at, const Row *row)
{
    MemJob *old = memory->jobs[at];
    memory->jobs[at] = job_keep(row);
    buf_add_slice(&memory->jobs[at]->attempts, buf_slice(&old->attempts));
    buf_add_slice(&memory->jobs[at]->result, buf_slice(&old->result));
    job_release(old);
}

static void apply_beat(Memory *memory, const Op *op)
{
    for (size_t i = 0; i < memory->count; i++) {
        const MemJob *old = memory->jobs[i];
        if (!state_in(old->row.job.state, STATES_OWNED) ||
            (old->row.job.flags & JOB_PULL) || !slice_equal(old->row.job.lock, op->lock))
            continue;
        Row row = old->row;
        row.job.dt_ms = op->dt_ms;
        row.job.beat_ms = op->at_ms;
        memory_replace(memory, i, &row);
    }
}

/* The place of the job in `states` that ended first and before end_ms, or count. */
static size_t oldest(const Memory *memory, JobStates states, int64_t end_ms)
{
    size_t best = memory->count;
    for (size_t i = 0; i < memory->count; i++) {
        const Job *job = &memory->jobs[i]->row.job;
        if (!state_in(job->state, states) || job->dt_ms - MS_PER_1000_YEARS >= end_ms)
            continue;
        if (best == memory->count || job->dt_ms < memory->jobs[best]->row.job.dt_ms)
            best = i;
    }
    return best;
}

static void apply_purge(Memory *memory, const Op *op)
{
    JobStates states = (op->from ? op->from : STATES_FINAL) & STATES_FINAL;
    for (uint64_t i = 0; i < op->count; i++) {
        size_t at = oldest(memory, states, op->dt_ms);
        if (at == memory->count)
            return;
        job_remove_at(memory, at);
    }
}

/* --- Entries ------------------------------------------------------------------ */

void memory_key(Buf *out, const Slice *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add_char(out, '\0');
        buf_add_slice(out, parts[i]);
    }
}

static OpResult apply_definition(Memory *memory, const Op *op, uint32_t node)
{
    SortedMap *table = &memory->tables[TABLE_DEFINITIONS];
    const Slice parts[] = { op->table, op->tenant, op->key };
    Buf key = { 0 };
    memory_key(&key, parts, 3);
    OpResult result = OP_APPLIED;
    Entry *entry = sorted_map_find(table, buf_slice(&key));
    if (slice_is(op->table, HOME_TABLE) && !memory_home_free(memory, op, node, entry))
        result = OP_LOST;
    else if (op->kind == OP_PUT)
        sorted_map_put(table, buf_slice(&key), op->value, 0);
    else if (entry)
        sorted_map_remove(table, entry);
    else
        result = OP_MISSING;
    if (result == OP_APPLIED && cluster_tells(op->table))
        memory_defined(memory, buf_slice(&key), node);
    buf_done(&key);
    return result;
}

static void expire_keys(SortedMap *table, int64_t now_ms)
{
    for (int i = 0; i < STORE_KEYS_EXPIRED_PER_ADD; i++) {
        Entry *first = NULL;
        for (size_t k = 0; k < table->count; k++) {
            Entry *entry = &table->items[k];
            if (entry->number <= now_ms && (!first || entry->number < first->number))
                first = entry;
        }
        if (!first)
            return;
        sorted_map_remove(table, first);
    }
}

static OpResult apply_key(Memory *memory, const Op *op)
{
    SortedMap *table = &memory->tables[TABLE_KEYS];
    const Slice parts[] = { op->tenant, op->key };
    Buf key = { 0 };
    memory_key(&key, parts, 2);
    Entry *entry = sorted_map_find(table, buf_slice(&key));
    OpResult result = OP_EXISTS;
    if (!entry || entry->number <= op->at_ms) {
        sorted_map_put(table, buf_slice(&key), op->value, op->dt_ms);
        expire_keys(table, op->at_ms);
        result = OP_APPLIED;
    }
    buf_done(&key);
    return result;
}

static OpResult apply(Memory *memory, const Op *op, uint32_t node)
{
    MemLease lease;
    if (memory_lease_of(memory, node, &lease) && lease.fenced &&
        !cluster_outlives_fence(op))
        return OP_LOST;
    switch (op->kind) {
    case OP_ADD:
        return job_add(memory, op->job);
    case OP_ADD_LINES:
        return apply_lines(memory, op, node);
    case OP_CLAIM:
    case OP_PROGRESS:
    case OP_FINISH:
    case OP_MOVE:
    case OP_PAUSE:
    case OP_REMOVE:
    case OP_GIVE:
        return apply_to_job(memory, op, node);
    case OP_BEAT:
        apply_beat(memory, op);
        return OP_APPLIED;
    case OP_PURGE:
        apply_purge(memory, op);
        return OP_APPLIED;
    case OP_PUT:
    case OP_DELETE:
        return apply_definition(memory, op, node);
    case OP_NODE:
        sorted_map_put(&memory->tables[TABLE_NODES], op->lock, op->value, op->at_ms);
        return OP_APPLIED;
    case OP_KEY:
        return apply_key(memory, op);
    case OP_MAIL:
        return memory_mail(memory, op, node);
    case OP_TAKEN:
        return memory_taken(memory, op, node);
    case OP_FENCE:
        return memory_fence(memory, op);
    case OP_TAKE:
        return memory_take(memory, op, node);
    case OP_JOIN:
        return memory_join(memory, op, node);
    case OP_DROP:
    case OP_SWEPT:
        return OP_APPLIED; /* nothing is kept in pieces */
    }
    return OP_CONFLICT;
}

/* As sqlite_rollups_save does. */
static void save_rollups(Memory *memory)
{
    Rollups *rollups = &memory->rollups;
    int64_t newest_ms = 0;
    for (size_t i = 0; i < rollups->count; i++) {
        rollup_table_add(&memory->statistics, &rollups->rows[i]);
        if (rollups->rows[i].at_ms > newest_ms)
            newest_ms = rollups->rows[i].at_ms;
    }
    rollups_clear(rollups);
    if (newest_ms / MS_PER_HOUR <= memory->folded_hour)
        return;
    rollup_table_fold(&memory->statistics, newest_ms);
    memory->folded_hour = newest_ms / MS_PER_HOUR;
}

static Err memory_rollups(Store *store, int64_t from_ms, RollupSink *sink, void *context,
                          Error *why)
{
    (void)why;
    const RollupTable *table = &memory_of(store)->statistics;
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].at_ms >= from_ms)
            sink(context, &table->rows[i]);
    return ERR_OK;
}

static Err memory_commit(Store *store, const Batch *batches, size_t count,
                         OpResult *out_results, Error *why)
{
    (void)why;
    Memory *memory = memory_of(store);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const Batch *batch = &batches[i];
        uint32_t node = point_node(batch);
        bool passed = point_passed(points_of(&memory->points, node), batch);
        for (size_t k = 0; k < batch->count; k++) {
            OpResult result =
                passed ? point_result(points_of(&memory->points, node), batch, k)
                       : apply(memory, &batch->ops[k], batch->node);
            point_note(points_of(&memory->points, node), batch, k, result);
            if (out_results)
                out_results[at++] = result;
        }
        point_move(points_of(&memory->points, node), batch);
    }
    save_rollups(memory);
    points_settle(&memory->points);
    return ERR_OK;
}

static Err memory_sync(Store *store, Error *why)
{
    (void)store;
    (void)why;
    return ERR_OK;
}

/* --- The rest ------------------------------------------------------------------- */

static Err memory_result(Store *store, JobId id, Buf *out, Error *why)
{
    const MemJob *job = memory_find(memory_of(store), id);
    if (!job || !job->result.bytes) {
        char text[ID_TEXT_BYTES];
        return error_set(why, ERR_NOT_FOUND, "store: job %s has no result",
                         id_text(id, text));
    }
    buf_add_slice(out, buf_slice(&job->result));
    return ERR_OK;
}

static Err memory_read_point(Store *store, uint32_t node, ReadPoint *out, Error *why)
{
    (void)why;
    const Point *point = points_find(&memory_of(store)->points, node);
    *out = (ReadPoint){ .node = node, .position = point ? point->position : 0 };
    return ERR_OK;
}

static Err memory_last_id(Store *store, uint32_t node, JobId *out, Error *why)
{
    (void)why;
    const Point *point = points_find(&memory_of(store)->points, node);
    *out = point ? point->last_id : 0;
    return ERR_OK;
}

static Err memory_last_number(Store *store, uint32_t node, uint64_t *out, Error *why)
{
    (void)why;
    const Point *point = points_find(&memory_of(store)->points, node);
    *out = point ? point->number : 0;
    return ERR_OK;
}

static Err memory_definitions(Store *store, Slice table, DefinitionSink *sink,
                              void *context, Error *why)
{
    (void)why;
    Memory *memory = memory_of(store);
    bool nodes = slice_is(table, STORE_TABLE_NODE);
    const SortedMap *entries = &memory->tables[nodes ? TABLE_NODES : TABLE_DEFINITIONS];
    for (size_t i = 0; i < entries->count; i++) {
        Definition definition = { .value = buf_slice(&entries->items[i].value) };
        Slice rest = buf_slice(&entries->items[i].key);
        if (!nodes && !slice_equal(slice_cut(&rest, '\0'), table))
            continue;
        if (!nodes)
            definition.tenant = slice_cut(&rest, '\0');
        definition.key = rest;
        sink(context, &definition);
    }
    return ERR_OK;
}

static Err memory_definition(Store *store, const DefinitionName *name,
                             DefinitionSink *sink, void *context, Error *why)
{
    (void)why;
    const Slice parts[] = { name->table, name->tenant, name->key };
    Buf key = { 0 };
    memory_key(&key, parts, 3);
    const Entry *entry =
        sorted_map_find(&memory_of(store)->tables[TABLE_DEFINITIONS], buf_slice(&key));
    if (entry)
        sink(context, &(Definition){ name->tenant, name->key, buf_slice(&entry->value) });
    buf_done(&key);
    return ERR_OK;
}

static int by_lane(const void *a, const void *b)
{
    const LaneCount *first = a;
    const LaneCount *second = b;
    int order = bytes_order(first->tenant, second->tenant);
    if (!order)
        order = bytes_order(first->queue, second->queue);
    if (!order)
        order = (int)first->pull - (int)second->pull;
    return order ? order : (int)first->state - (int)second->state;
}

static Err memory_counts(Store *store, CountSink *sink, void *context, Error *why)
{
    (void)why;
    Memory *memory = memory_of(store);
    LaneCount *all = MEM_ARRAY(LaneCount, memory->count + 1);
    for (size_t i = 0; i < memory->count; i++) {
        const Job *job = &memory->jobs[i]->row.job;
        all[i] = (LaneCount){ .tenant = job->tenant,
                              .queue = job->queue,
                              .pull = (job->flags & JOB_PULL) != 0,
                              .state = job->state };
    }
    if (memory->count)
        qsort(all, memory->count, sizeof *all, by_lane);
    for (size_t i = 0; i < memory->count;) {
        LaneCount count = all[i];
        for (; i < memory->count && !by_lane(&count, &all[i]); i++)
            count.count++;
        sink(context, &count);
    }
    mem_free(all);
    return ERR_OK;
}

static int by_tenant(const void *a, const void *b)
{
    return bytes_order(((const TenantUse *)a)->tenant, ((const TenantUse *)b)->tenant);
}

static Err memory_uses(Store *store, uint32_t node, UseSink *sink, void *context,
                       Error *why)
{
    (void)why;
    (void)node; /* no one counts by node here */
    const Memory *memory = memory_of(store);
    TenantUse *all = MEM_ARRAY(TenantUse, memory->count + 1);
    for (size_t i = 0; i < memory->count; i++) {
        const Job *job = &memory->jobs[i]->row.job;
        all[i] = (TenantUse){ .tenant = job->tenant,
                              .bytes = (int64_t)job->payload.bytes + job->result_bytes,
                              .queued_here = state_in(job->state, STATES_WAITING),
                              .running_here = state_in(job->state, STATES_OWNED) };
    }
    if (memory->count)
        qsort(all, memory->count, sizeof *all, by_tenant);
    for (size_t i = 0; i < memory->count;) {
        TenantUse use = { .tenant = all[i].tenant };
        for (; i < memory->count && slice_equal(use.tenant, all[i].tenant); i++) {
            use.bytes += all[i].bytes;
            use.queued_here += all[i].queued_here;
            use.running_here += all[i].running_here;
        }
        sink(context, &use);
    }
    mem_free(all);
    return ERR_OK;
}

static void memory_close(Store *store)
{
    Memory *memory = memory_of(store);
    for (size_t i = 0; i < memory->count; i++)
        job_release(memory->jobs[i]);
    mem_free(memory->jobs);
    for (size_t i = 0; i < TABLES; i++)
        sorted_map_done(&memory->tables[i]);
    points_done(&memory->points);
    rollups_done(&memory->rollups);
    rollup_table_done(&memory->statistics);
    mem_free(memory);
}

static const StoreKind memory_kind = {
    .name = "memory",
    .close = memory_close,
    .commit = memory_commit,
    .sync = memory_sync,
    .load = memory_load,
    .query = memory_query,
    .result = memory_result,
    .read_point = memory_read_point,
    .last_id = memory_last_id,
    .last_number = memory_last_number,
    .definitions = memory_definitions,
    .definition = memory_definition,
    .counts = memory_counts,
    .uses = memory_uses,
    .rollups = memory_rollups,
    .groups = memory_groups,
    .renew = memory_renew,
    .nodes = memory_nodes,
    .changes = memory_changes,
};

Store *store_memory_new(void)
{
    Memory *memory = MEM_NEW(Memory);
    memory->kind = memory_kind;
    memory->store.kind = &memory->kind;
    return &memory->store;
}

void store_memory_share(Store *store)
{
    memory_of(store)->kind.shared = true;
}

static Buf copy_of(const Buf *buf)
{
    Buf copy = { 0 };
    buf_add_slice(&copy, buf_slice(buf));
    return copy;
}

Store *store_memory_clone(const Store *store)
{
    const Memory *from = (const Memory *)(const void *)store;
    Store *clone = store_memory_new();
    Memory *to = memory_of(clone);
    to->jobs = mem_copy(from->jobs, from->count * sizeof *from->jobs);
    to->count = from->count;
    to->capacity = from->count;
    for (size_t i = 0; i < to->count; i++)
        to->jobs[i]->users++;
    for (size_t i = 0; i < TABLES; i++)
        sorted_map_copy(&from->tables[i], &to->tables[i]);
    for (size_t i = 0; i < from->points.count; i++) {
        const Point *point = &from->points.items[i];
        Point *copy = points_of(&to->points, point->node);
        *copy = *point;
        copy->results = copy_of(&point->results);
        copy->fresh = (Buf){ 0 };
    }
    rollup_table_copy(&from->statistics, &to->statistics);
    to->folded_hour = from->folded_hour;
    to->kind = from->kind;
    to->now_ms = from->now_ms;
    to->letters = from->letters;
    to->changes = from->changes;
    return clone;
}

static uint64_t mix(uint64_t hash, Slice bytes)
{
    return hash_u64(hash ^ hash_bytes(bytes.data, bytes.bytes));
}

static uint64_t mix_number(uint64_t hash, uint64_t number)
{
    return hash_u64(hash ^ hash_u64(number + 1));
}

static uint64_t job_hash(uint64_t hash, const MemJob *job)
{
    hash = mix(hash, buf_slice(&job->packed));
    hash = mix(hash, buf_slice(&job->result));
    hash = mix(hash, buf_slice(&job->attempts));
    hash = mix_number(hash, job->row.slot);
    hash = mix_number(hash, job->row.run_retry);
    return mix_number(hash, (uint64_t)job->row.run_state);
}

uint64_t store_memory_hash(const Store *store)
{
    const Memory *memory = (const Memory *)(const void *)store;
    uint64_t hash = memory->count;
    for (size_t i = 0; i < memory->count; i++)
        hash = job_hash(hash, memory->jobs[i]);
    for (size_t i = 0; i < TABLES; i++)
        for (size_t k = 0; k < memory->tables[i].count; k++) {
            const Entry *entry = &memory->tables[i].items[k];
            hash = mix(hash, buf_slice(&entry->key));
            hash = mix(hash, buf_slice(&entry->value));
            hash = mix_number(hash, (uint64_t)entry->number);
        }
    for (size_t i = 0; i < memory->points.count; i++) {
        const Point *point = &memory->points.items[i];
        hash = mix_number(hash, point->node);
        hash = mix_number(hash, point->position);
        hash = mix_number(hash, point->number);
        hash = mix_number(hash, point->last_id);
        hash = mix(hash, buf_slice(&point->results));
    }
    return hash;
}
