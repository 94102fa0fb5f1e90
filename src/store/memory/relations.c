/* SPDX-License-Identifier: Apache-2.0 */
/* relations.c - rows beside jobs in the memory store: who waits for whom, groups,
 * unique keys. The same as sqlite/relations.c, by looking at everything. */
#include "core/unique.h"
#include "store/memory/inside.h"

/* --- Keys made of numbers ---------------------------------------------------------- */

typedef struct PairKey {
    char bytes[16];
} PairKey;

static void put_number(char *out, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        out[i] = (char)(number >> (56 - 8 * i));
}

static uint64_t get_number(const char *bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number = number << 8 | (unsigned char)bytes[i];
    return number;
}

static Entry *find_by_id(const SortedMap *table, JobId id)
{
    char key[8];
    put_number(key, id);
    return sorted_map_find(table, slice_of(key, sizeof key));
}

/* --- Who waits for whom ------------------------------------------------------------ */

static bool some_wait(const Memory *memory)
{
    const SortedMap *waits = &memory->tables[TABLE_WAITS];
    for (size_t i = 0; i < waits->count; i++)
        if (!(get_number(waits->items[i].key.data) & AFTER_FOREIGN))
            return true;
    return false;
}

static bool anyone_waits_for(const Memory *memory, JobId parent)
{
    const SortedMap *waits = &memory->tables[TABLE_WAITS];
    for (size_t i = 0; i < waits->count; i++)
        if (get_number(waits->items[i].key.data) == parent)
            return true;
    return false;
}

static void put_ended(Memory *memory, JobId parent, int32_t state)
{
    char key[8];
    put_number(key, parent);
    sorted_map_put(&memory->tables[TABLE_ENDED], slice_of(key, sizeof key),
                   (Slice){ NULL, 0 }, state);
}

static void drop_ended(Memory *memory, JobId parent)
{
    SortedMap *ended = &memory->tables[TABLE_ENDED];
    Entry *entry = find_by_id(ended, parent);
    if (entry)
        sorted_map_remove(ended, entry);
}

static void add_row(Memory *memory, JobId parent, JobId child, int32_t cond)
{
    PairKey key;
    put_number(key.bytes, parent);
    put_number(key.bytes + 8, child);
    Slice at = slice_of(key.bytes, sizeof key.bytes);
    if (!sorted_map_find(&memory->tables[TABLE_WAITS], at))
        sorted_map_put(&memory->tables[TABLE_WAITS], at, (Slice){ NULL, 0 }, cond);
}

static void add_broken(Memory *memory, JobId child, Slice list)
{
    AfterItem item;
    while (after_next(&list, &item))
        add_row(memory, after_broke(item.id), child, AFTER_BROKE);
}

/* `fields`: of the move that makes it wait; 0: it is new. */
static void add_waits(Memory *memory, const Job *job, uint32_t fields)
{
    Slice rest = job->after;
    AfterItem item;
    while (after_next(&rest, &item)) {
        const MemJob *parent = memory_find(memory, item.id);
        int32_t state = STATE_GONE;
        if (parent)
            state = (int32_t)parent->row.job.state;
        if (parent && !slice_equal(parent->row.job.tenant, job->tenant)) {
            item.id |= AFTER_FOREIGN;
            state = STATE_GONE;
        }
        bool over;
        item = after_begin(item, state, fields, job->attempt > 0, &over);
        add_row(memory, item.id, job->id, (int32_t)item.on);
        if (over)
            put_ended(memory, item.id, state);
    }
}

/* Of those that the child waits for the listed ones; no list: all. */
static void settle(Memory *memory, JobId child, const Slice *list)
{
    SortedMap *waits = &memory->tables[TABLE_WAITS];
    for (size_t i = waits->count; i-- > 0;) {
        JobId parent = get_number(waits->items[i].key.data);
        bool ended = find_by_id(&memory->tables[TABLE_ENDED], parent) != NULL;
        if (get_number(waits->items[i].key.data + 8) != child ||
            (list && !after_names(*list, after_id(parent))))
            continue;
        sorted_map_remove(waits, &waits->items[i]);
        if (ended && !anyone_waits_for(memory, parent))
            drop_ended(memory, parent);
    }
}

static AfterCount count_after(const Memory *memory, JobId child, Arena *arena)
{
    AfterTally tally = { 0 };
    const SortedMap *waits = &memory->tables[TABLE_WAITS];
    for (size_t i = 0; i < waits->count; i++) {
        const Entry *wait = &waits->items[i];
        JobId parent = get_number(wait->key.data);
        const Entry *ended = find_by_id(&memory->tables[TABLE_ENDED], parent);
        AfterRow row = { .parent = parent,
                         .cond = (int32_t)wait->number,
                         .ended = ended != NULL,
                         .state = ended ? (int32_t)ended->number : 0 };
        if (get_number(wait->key.data + 8) == child)
            after_tally(&tally, &row);
    }
    return after_tallied(&tally, arena);
}

static bool given(const Loaded *out, JobId id)
{
    for (size_t i = 0; i < out->count; i++)
        if (out->jobs[i].id == id)
            return true;
    return false;
}

void memory_load_after(Memory *memory, const Load *load, Loaded *out)
{
    const SortedMap *waits = &memory->tables[TABLE_WAITS];
    uint32_t seen = 0;
    if (some_wait(memory))
        out->value = slice_copy(&out->arena, SLICE_LITERAL("some"));
    out->after = arena_take(&out->arena, (waits->count + 1) * sizeof *out->after);
    for (size_t i = 0; i < waits->count; i++) {
        const char *key = waits->items[i].key.data;
        JobId child = get_number(key + 8);
        if (!find_by_id(&memory->tables[TABLE_ENDED], get_number(key)))
            continue;
        const MemJob *job = memory_find(memory, child);
        if (load->owner && job && job_owner(&job->row.job) != load->owner)
            continue;
        if (load->limit && seen++ == load->limit) {
            out->more = true;
            return;
        }
        if (!job || given(out, child))
            continue;
        Job copy = job_copy(&out->arena, &job->row.job);
        copy.payload = (Slice){ NULL, 0 };
        out->after[out->count] = count_after(memory, child, &out->arena);
        MEM_PUSH(out->jobs, out->count, out->capacity) = copy;
    }
}

/* --- Groups --------------------------------------------------------------------------
 */

static void count_group(Memory *memory, const Job *job, JobState state, int64_t change)
{
    SortedMap *groups = &memory->tables[TABLE_GROUPS];
    char last = (char)state;
    const Slice parts[] = { job->tenant, job->group, slice_of(&last, 1) };
    Buf key = { 0 };
    memory_key(&key, parts, 3);
    Entry *entry = sorted_map_find(groups, buf_slice(&key));
    int64_t count = (entry ? entry->number : 0) + change;
    if (count)
        sorted_map_put(groups, buf_slice(&key), (Slice){ NULL, 0 }, count);
    else if (entry)
        sorted_map_remove(groups, entry);
    buf_done(&key);
}

Err memory_groups(Store *store, const GroupCount *one, GroupSink *sink, void *context,
                  Error *why)
{
    (void)why;
    const SortedMap *groups = &memory_of(store)->tables[TABLE_GROUPS];
    for (size_t i = 0; i < groups->count; i++) {
        Slice rest = buf_slice(&groups->items[i].key);
        GroupCount count = { .count = (uint64_t)groups->items[i].number };
        count.state = (JobState)rest.data[rest.bytes - 1];
        count.tenant = slice_cut(&rest, '\0');
        count.name = slice_of(rest.data, rest.bytes - 2);
        if (!one || (slice_equal(one->tenant, count.tenant) &&
                     slice_equal(one->name, count.name)))
            sink(context, &count);
    }
    return ERR_OK;
}

/* --- Unique keys ---------------------------------------------------------------------
 */

static void expire_keys(SortedMap *table, int64_t now_ms)
{
    for (int i = 0; i < STORE_KEYS_EXPIRED_PER_ADD; i++) {
        Entry *first = NULL;
        for (size_t k = 0; k < table->count; k++) {
            Entry *entry = &table->items[k];
            if (entry->number && entry->number <= now_ms &&
                (!first || entry->number < first->number))
                first = entry;
        }
        if (!first)
            return;
        sorted_map_remove(table, first);
    }
}

/* Whether a job that comes now may have the key. */
static bool is_free(const Memory *memory, const Entry *entry, const Job *job,
                    UniqueKind kind)
{
    if (!entry || (entry->number && entry->number <= job->created_ms))
        return true;
    const MemJob *holder = memory_find(memory, get_number(entry->value.data));
    bool over = !holder || state_in(holder->row.job.state, STATES_FINAL);
    return over && unique_replaces(job, kind);
}

static void take_key(Memory *memory, const Job *job, UniqueKind kind)
{
    Buf own = { 0 };
    Buf key = { 0 };
    char id[8];
    SortedMap *table = &memory->tables[TABLE_UNIQUE];
    put_number(id, job->id);
    if (unique_key(job, kind, &own)) {
        const Slice parts[] = { job->tenant, buf_slice(&own) };
        memory_key(&key, parts, 2);
        if (is_free(memory, sorted_map_find(table, buf_slice(&key)), job, kind))
            sorted_map_put(table, buf_slice(&key), slice_of(id, sizeof id),
                           unique_until(job, kind));
    }
    buf_done(&own);
    buf_done(&key);
}

static void take_keys(Memory *memory, const Job *job)
{
    for (unsigned kind = 0; kind < UNIQUE_KINDS; kind++)
        take_key(memory, job, (UniqueKind)kind);
    if (job->unique.bytes || job->request.bytes)
        expire_keys(&memory->tables[TABLE_UNIQUE], job->created_ms);
}

static void drop_key(Memory *memory, const Job *job, UniqueKind kind, bool timed_too)
{
    SortedMap *table = &memory->tables[TABLE_UNIQUE];
    Buf own = { 0 };
    Buf key = { 0 };
    if (unique_key(job, kind, &own)) {
        const Slice parts[] = { job->tenant, buf_slice(&own) };
        memory_key(&key, parts, 2);
        Entry *entry = sorted_map_find(table, buf_slice(&key));
        if (entry && get_number(entry->value.data) == job->id &&
            (timed_too || !entry->number))
            sorted_map_remove(table, entry);
    }
    buf_done(&own);
    buf_done(&key);
}

void memory_load_unique(Memory *memory, const Load *load, Loaded *out)
{
    Slice rest = load->key;
    Slice tenant;
    Slice own;
    while (list_next(&rest, &tenant) && list_next(&rest, &own)) {
        const Slice parts[] = { tenant, own };
        Buf key = { 0 };
        memory_key(&key, parts, 2);
        const Entry *entry =
            sorted_map_find(&memory->tables[TABLE_UNIQUE], buf_slice(&key));
        bool held = entry && (!entry->number || entry->number > load->dt_ms);
        const MemJob *job =
            held ? memory_find(memory, get_number(entry->value.data)) : NULL;
        MEM_PUSH(out->jobs, out->count, out->capacity) =
            job ? job_copy(&out->arena, &job->row.job) : job_default();
        buf_done(&key);
    }
}

/* --- Jobs that come, change and go ----------------------------------------------------
 */

void memory_added(Memory *memory, const Job *job)
{
    if (!(job->flags & (JOB_LINKED | JOB_MERGES)))
        return;
    if (job->group.bytes)
        count_group(memory, job, job->state, 1);
    take_keys(memory, job);
    if (job->flags & JOB_WAITS)
        add_waits(memory, job, 0);
}

static void change_waits(Memory *memory, const Job *job, const Op *op, uint32_t had)
{
    AfterSteps steps = after_steps(job, op, had);
    if (steps.settles_all || steps.settles_listed)
        settle(memory, job->id, steps.settles_all ? NULL : &op->value);
    if (steps.breaks)
        add_broken(memory, job->id, op->value);
    if (steps.waits)
        add_waits(memory, job, op->fields);
}

void memory_changed(Memory *memory, const Op *op, const Job *was, const Job *job)
{
    bool final = state_in(job->state, STATES_FINAL);
    bool was_final = state_in(was->state, STATES_FINAL);
    if (final && !was_final && anyone_waits_for(memory, job->id))
        put_ended(memory, job->id, (int32_t)job->state);
    if (was_final && !final)
        drop_ended(memory, job->id);
    if (was_final && !final && anyone_waits_for(memory, after_broke(job->id)))
        put_ended(memory, after_broke(job->id), STATE_REOPENED);
    change_waits(memory, job, op, was->flags);
    if (job->group.bytes && job->state != was->state) {
        count_group(memory, job, was->state, -1);
        count_group(memory, job, job->state, 1);
    }
    if (op->kind == OP_MOVE && (op->fields & FIELD_KEYS))
        take_keys(memory, job);
    if (final && !was_final)
        drop_key(memory, job, UNIQUE_OWN, false);
    if ((final && !was_final) || op->kind == OP_CLAIM)
        drop_key(memory, job, UNIQUE_MERGE, false);
}

void memory_removed(Memory *memory, const Job *job)
{
    bool final = state_in(job->state, STATES_FINAL);
    if (anyone_waits_for(memory, job->id))
        put_ended(memory, job->id, final ? (int32_t)job->state : JOB_CANCELLED);
    if (job->after.bytes)
        settle(memory, job->id, NULL);
    if (job->group.bytes)
        count_group(memory, job, job->state, -1);
    for (unsigned kind = 0; kind < UNIQUE_KINDS; kind++)
        drop_key(memory, job, (UniqueKind)kind, true);
}
