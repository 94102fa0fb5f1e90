/* SPDX-License-Identifier: Apache-2.0 */
/* rollup.c - see rollup.h. */
#include "store/rollup.h"

#define PRIORITY_LOW  (-1) /* all below 0 */
#define PRIORITY_HIGH 11   /* all above 10 */

void rollups_clear(Rollups *rollups)
{
    arena_done(&rollups->arena);
    rollups->arena = (Arena){ 0 };
    map_done(&rollups->index);
    rollups->index = (Map){ 0 };
    rollups->count = 0;
    rollups->last = 0;
}

void rollups_done(Rollups *rollups)
{
    rollups_clear(rollups);
    mem_free(rollups->rows);
    rollups->rows = NULL;
    rollups->capacity = 0;
}

static int32_t priority_class(int64_t priority)
{
    if (priority < 0)
        return PRIORITY_LOW;
    return priority > 10 ? PRIORITY_HIGH : (int32_t)priority;
}

static bool is_of(const Rollup *row, const Job *job, int64_t at_ms)
{
    return row->at_ms == at_ms && row->priority == priority_class(job->priority) &&
           slice_equal(row->type, job->type) && slice_equal(row->queue, job->queue) &&
           slice_equal(row->tenant, job->tenant);
}

static uint64_t key_hash(const Job *job, int64_t at_ms)
{
    uint64_t hash = hash_bytes(job->type.data, job->type.bytes);
    hash = hash_u64(hash ^ hash_bytes(job->queue.data, job->queue.bytes));
    hash = hash_u64(hash ^ hash_bytes(job->tenant.data, job->tenant.bytes));
    return hash_u64(hash ^ (uint64_t)at_ms ^ (uint64_t)priority_class(job->priority));
}

static Rollup *new_row(Rollups *rollups, const Job *job, int64_t at_ms)
{
    Rollup row = { .span_ms = MS_PER_MIN,
                   .at_ms = at_ms,
                   .priority = priority_class(job->priority),
                   .tenant = slice_copy(&rollups->arena, job->tenant),
                   .queue = slice_copy(&rollups->arena, job->queue),
                   .type = slice_copy(&rollups->arena, job->type) };
    MEM_PUSH(rollups->rows, rollups->count, rollups->capacity) = row;
    rollups->last = rollups->count - 1;
    return &rollups->rows[rollups->last];
}

/* What a commit holds is mostly of one kind: the last one is looked at first. Two keys of
 * one hash give two rows of one key now and then, which is no harm: they are summed when
 * they are written. */
static RollupCounts *counts_of(Rollups *rollups, const Job *job, int64_t wall_ms)
{
    int64_t at_ms = rollup_floor(wall_ms, MS_PER_MIN);
    if (rollups->count && is_of(&rollups->rows[rollups->last], job, at_ms))
        return &rollups->rows[rollups->last].counts;
    uint64_t hash = key_hash(job, at_ms);
    size_t number = (size_t)(uintptr_t)map_find(&rollups->index, hash);
    if (number && is_of(&rollups->rows[number - 1], job, at_ms)) {
        rollups->last = number - 1;
        return &rollups->rows[rollups->last].counts;
    }
    RollupCounts *counts = &new_row(rollups, job, at_ms)->counts;
    map_put(&rollups->index, hash, (void *)(uintptr_t)rollups->count);
    return counts;
}

void rollups_add(Rollups *rollups, const Job *job, uint64_t count)
{
    counts_of(rollups, job, job->created_ms)->added += count;
}

void rollups_change(Rollups *rollups, const Row *before, const Op *op)
{
    const Job *job = &before->job;
    if (op->kind == OP_CLAIM) {
        RollupCounts *counts = counts_of(rollups, job, op->at_ms);
        counts->started++;
        counts->wait_ms += op->at_ms > job->dt_ms ? op->at_ms - job->dt_ms : 0;
    }
    if (op->kind != OP_FINISH || op->outcome.code == CODE_NONE)
        return;
    RollupCounts *counts = counts_of(rollups, job, op->at_ms);
    counts->finished[op->outcome.code - CODE_OK]++;
    counts->run_ms += op->at_ms > job->started_ms ? op->at_ms - job->started_ms : 0;
}

int64_t rollup_kept_from(int64_t span_ms, int64_t now_ms, int64_t *out_next_ms)
{
    static const struct {
        int64_t span_ms;
        int64_t kept_ms;
        int64_t next_ms;
    } spans[] = { { MS_PER_MIN, ROLLUP_MINUTES_KEPT, MS_PER_HOUR },
                  { MS_PER_HOUR, ROLLUP_HOURS_KEPT, MS_PER_DAY },
                  { MS_PER_DAY, ROLLUP_DAYS_KEPT, 0 } };
    size_t i = span_ms == MS_PER_MIN ? 0 : span_ms == MS_PER_HOUR ? 1 : 2;
    *out_next_ms = spans[i].next_ms;
    /* Only whole periods of the next span: they are complete then. */
    return rollup_floor(now_ms - spans[i].kept_ms, i < 2 ? spans[i].next_ms : span_ms);
}

void rollup_sum(RollupCounts *sum, const RollupCounts *more)
{
    sum->added += more->added;
    sum->started += more->started;
    for (size_t i = 0; i < ROLLUP_CODES; i++)
        sum->finished[i] += more->finished[i];
    sum->wait_ms += more->wait_ms;
    sum->run_ms += more->run_ms;
}

/* --- Tables ---------------------------------------------------------------------------
 */

static int slice_order(Slice a, Slice b)
{
    size_t least = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = least ? memcmp(a.data, b.data, least) : 0;
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static int row_order(const Rollup *a, const Rollup *b)
{
    if (a->span_ms != b->span_ms)
        return a->span_ms < b->span_ms ? -1 : 1;
    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    int order = slice_order(a->tenant, b->tenant);
    if (!order)
        order = slice_order(a->queue, b->queue);
    if (!order)
        order = slice_order(a->type, b->type);
    return order ? order : (a->priority > b->priority) - (a->priority < b->priority);
}

Rollup rollup_other(const Rollup *row)
{
    Rollup other = *row;
    other.tenant = other.queue = other.type = SLICE_LITERAL(ROLLUP_OTHER);
    other.priority = 0;
    return other;
}

/* The place of a row, or where it belongs. */
static size_t place_of(const RollupTable *table, const Rollup *row, bool *out_there)
{
    size_t low = 0;
    size_t high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (row_order(&table->rows[middle], row) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *out_there = low < table->count && !row_order(&table->rows[low], row);
    return low;
}

static bool same_period(const Rollup *a, const Rollup *b)
{
    return a->span_ms == b->span_ms && a->at_ms == b->at_ms;
}

static bool is_full(const RollupTable *table, const Rollup *row, size_t place)
{
    size_t count = 0;
    for (size_t i = place; i > 0 && same_period(&table->rows[i - 1], row); i--)
        count++;
    for (size_t i = place; i < table->count && same_period(&table->rows[i], row); i++)
        count++;
    return count >= ROLLUP_KEYS_MAX;
}

void rollup_table_add(RollupTable *table, const Rollup *row)
{
    bool there;
    Rollup added = *row;
    size_t place = place_of(table, &added, &there);
    if (!there && is_full(table, &added, place)) {
        added = rollup_other(row);
        place = place_of(table, &added, &there);
    }
    if (there) {
        rollup_sum(&table->rows[place].counts, &row->counts);
        return;
    }
    added.tenant = slice_copy(&table->arena, added.tenant);
    added.queue = slice_copy(&table->arena, added.queue);
    added.type = slice_copy(&table->arena, added.type);
    MEM_PUSH(table->rows, table->count, table->capacity) = added;
    memmove(&table->rows[place + 1], &table->rows[place],
            (table->count - 1 - place) * sizeof *table->rows);
    table->rows[place] = added;
}

static void fold_span(RollupTable *table, int64_t span_ms, int64_t now_ms)
{
    RollupTable next = { 0 };
    int64_t next_ms;
    int64_t before_ms = rollup_kept_from(span_ms, now_ms, &next_ms);
    for (size_t i = 0; i < table->count; i++) {
        Rollup row = table->rows[i];
        bool moves = row.span_ms == span_ms && row.at_ms < before_ms;
        if (moves && !next_ms)
            continue;
        row.span_ms = moves ? next_ms : row.span_ms;
        row.at_ms = rollup_floor(row.at_ms, row.span_ms);
        rollup_table_add(&next, &row);
    }
    rollup_table_done(table);
    *table = next;
}

void rollup_table_fold(RollupTable *table, int64_t now_ms)
{
    fold_span(table, MS_PER_MIN, now_ms);
    fold_span(table, MS_PER_HOUR, now_ms);
    fold_span(table, MS_PER_DAY, now_ms);
}

void rollup_table_copy(const RollupTable *from, RollupTable *to)
{
    *to = (RollupTable){ .rows = mem_copy(from->rows, from->count * sizeof *from->rows),
                         .count = from->count,
                         .capacity = from->count };
    for (size_t i = 0; i < to->count; i++) {
        Rollup *row = &to->rows[i];
        row->tenant = slice_copy(&to->arena, row->tenant);
        row->queue = slice_copy(&to->arena, row->queue);
        row->type = slice_copy(&to->arena, row->type);
    }
}

void rollup_table_done(RollupTable *table)
{
    mem_free(table->rows);
    arena_done(&table->arena);
    *table = (RollupTable){ 0 };
}
