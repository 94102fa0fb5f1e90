/* SPDX-License-Identifier: Apache-2.0 */
/* recover.c - how a simulated machine is made, dies, and comes back. */
#include "sim/links.h"
#include "sim/machine.h"

#include "core/queue.h"
#include "core/resource.h"

#include <stdio.h>

Machine *machine_new(World *world, unsigned index)
{
    Machine *machine = MEM_NEW(Machine);
    machine->world = world;
    machine->index = index;
    machine->number = (uint16_t)(index * 300 + 1);
    snprintf(machine->sysid, sizeof machine->sysid, "node-%u", index);
    memory_journal_init(&machine->journal, machine->number, rng_next(&world->rng));
    machine->first_chain = machine->journal.chain;
    machine->store = store_memory_new();
    machine->synced = store_memory_clone(machine->store);
    machine->settings = node_settings_default();
    machine->settings.slots = world->profile.slots;
    machine->settings.window_jobs = world->profile.window_jobs;
    machine->settings.grace_ms = 2 * MS_PER_S;
    machine->settings.retry_delay_ms = 300;
    machine->settings.retry_delay_max_ms = 5 * MS_PER_S;
    machine->settings.retry_window_ms = 10 * MS_PER_MIN;
    machine->settings.keep_done_ms = world->profile.keep_ms;
    machine->settings.keep_other_ms = 2 * world->profile.keep_ms;
    machine->room = true;
    machine->booted_ms = world->time_ms - 60000;
    machine->restart_ms = world->time_ms;
    return machine;
}

static void drop_process(Machine *machine)
{
    for (size_t i = 0; i < machine->held_count; i++) {
        outbox_done(&machine->held[i]->out);
        mem_free(machine->held[i]);
    }
    for (size_t i = 0; i < machine->ask_count; i++)
        ask_free(machine->asks[i]);
    for (size_t i = 0; i < machine->answer_count; i++)
        ask_free(machine->answers[i]);
    for (size_t i = 0; i < machine->call_count; i++) {
        arena_done(&machine->calls[i]->arena);
        mem_free(machine->calls[i]);
    }
    machine->held_count = machine->ask_count = machine->answer_count = 0;
    machine->call_count = machine->mark_count = 0;
    if (machine->node)
        machine->world->counts.late += node_facts(machine->node).late;
    node_free(machine->node);
    machine->node = NULL;
    store_close(machine->decided);
    machine->decided = NULL;
}

void machine_free(Machine *machine)
{
    drop_process(machine);
    launcher_done(&machine->launcher);
    memory_journal_done(&machine->journal);
    buf_done(&machine->archive);
    for (size_t i = 0; i < machine->snapshot_count; i++)
        store_close(machine->snapshots[i]);
    store_close(machine->store);
    store_close(machine->synced);
    mem_free(machine->held);
    mem_free(machine->marks);
    mem_free(machine->asks);
    mem_free(machine->answers);
    mem_free(machine->calls);
    mem_free(machine);
}

bool crash_here(Machine *machine, const char *where)
{
    World *world = machine->world;
    /* Recoveries are short and rare: they get more than their share. */
    uint64_t range = machine->node ? 10000 : 800;
    if (world->calm || world->failed ||
        below(world, range) >= world->profile.crash_per_10000)
        return false;
    bool power = chance(world, world->profile.power_percent);
    trace(world, "m%u %s %s", machine->index, power ? "loses power" : "is killed", where);
    machine_crash(machine, power);
    return true;
}

/* One of the states since the last sync; the journal has the rest. */
static void cut_store(Machine *machine)
{
    size_t which = below(machine->world, machine->snapshot_count + 2);
    Store *left = machine->store;
    if (which == machine->snapshot_count)
        left = machine->synced;
    else if (which < machine->snapshot_count)
        left = machine->snapshots[which];
    Store *kept = store_memory_clone(left);
    for (size_t i = 0; i < machine->snapshot_count; i++)
        store_close(machine->snapshots[i]);
    machine->snapshot_count = 0;
    store_close(machine->store);
    store_close(machine->synced);
    machine->store = kept;
    machine->synced = store_memory_clone(kept); /* what came back is on the disk */
}

void machine_crash(Machine *machine, bool power)
{
    World *world = machine->world;
    drop_process(machine);
    truth_crashed(world, machine->index);
    MemoryJournal *journal = &machine->journal;
    if (power) {
        world->counts.cuts++;
        memory_journal_crash(journal, &world->rng);
        cut_store(machine);
        launcher_power_cut(machine);
        machine->booted_ms = world->time_ms;
    } else {
        /* What was not yet given to the system goes with the process. */
        world->counts.kills++;
        launcher_daemon_dies(machine);
        size_t safe = (size_t)(journal->durable - journal->base);
        journal->bytes.bytes = safe + below(world, journal->bytes.bytes - safe + 1);
    }
    machine->restart_ms = world->time_ms + (int64_t)below(world, 4000);
}

/* --- I14: the same bytes give the same state -------------------------------------------
 */

uint64_t machine_replay_into(Machine *machine, Store *store, unsigned at_once)
{
    Buf all = { 0 };
    buf_add_slice(&all, buf_slice(&machine->archive));
    buf_add_slice(&all, buf_slice(&machine->journal.bytes));
    Slice rest = buf_slice(&all);
    Chain chain = machine->first_chain;
    Arena arena = { 0 };
    uint64_t position = 0;
    Batch batch = { 0 };
    for (unsigned count = 0;; count++) {
        Record record;
        size_t bytes = 0;
        bool more = record_read(rest, &chain, &arena, &record, &bytes) == RECORD_OK &&
                    position + bytes <= machine->applied;
        if ((!more || count % at_once == 0) && batch.has_read_point) {
            (void)!store->kind->commit(store, &batch, 1, NULL, NULL);
            batch_clear(&batch);
        }
        if (!more || record_to_batch(&record, &batch))
            break;
        position += bytes;
        rest = slice_from(rest, bytes);
        batch.has_read_point = true;
        batch.read_point = (ReadPoint){ machine->number, position };
    }
    batch_done(&batch);
    arena_done(&arena);
    buf_done(&all);
    return position;
}

void machine_replay_check(Machine *machine)
{
    World *world = machine->world;
    uint64_t hash = store_memory_hash(machine->store);
    static const unsigned sizes[] = { 1, 7 };
    for (size_t i = 0; i < 2; i++) {
        Store *store = store_memory_new();
        uint64_t position = machine_replay_into(machine, store, sizes[i]);
        uint64_t again = store_memory_hash(store);
        store_close(store);
        if (position != machine->applied)
            violate(world, "I14", "m%u: the journal ends at %llu, the store at %llu",
                    machine->index, (unsigned long long)position,
                    (unsigned long long)machine->applied);
        else if (again != hash)
            violate(world, "I14", "m%u: replay %zu of the journal gives another state",
                    machine->index, i);
        world->counts.replays++;
    }
}

/* --- Starting
 * --------------------------------------------------------------------------- */

static bool open_disk(Machine *machine)
{
    World *world = machine->world;
    Store *store = machine->store;
    ReadPoint point = { 0 };
    Error why = { 0 };
    (void)!store->kind->read_point(store, machine->number, &point, &why);
    if (world->options.bug == BUG_READ_POINT_FORGOTTEN)
        point.position = machine->journal.base;
    if (memory_journal_reopen(&machine->journal, point.position, &why)) {
        violate(world, "J3", "m%u: %s", machine->index, why.text);
        return false;
    }
    machine->applied = point.position;
    machine->synced_position = 0;
    if (!machine_catch_up(machine)) {
        world->counts.recoveries_cut_short += !world->failed;
        return false;
    }
    machine->applied = machine->journal.durable;
    return true;
}

static void load_into(Machine *machine, const Load *load,
                      void (*put)(Node *node, const Job *job))
{
    Loaded loaded = { 0 };
    Error why = { 0 };
    if (!machine->store->kind->load(machine->store, load, &loaded, &why))
        for (size_t i = 0; i < loaded.count; i++) {
            Bug bug = machine->world->options.bug;
            Slice *bookings = &loaded.jobs[i].bookings;
            bool items = bookings->bytes && !memchr(bookings->data, '#', bookings->bytes);
            if (bug == BUG_BOOKINGS_FORGOTTEN || (bug == BUG_ITEMS_FORGOTTEN && items))
                *bookings = (Slice){ NULL, 0 };
            put(machine->node, &loaded.jobs[i]);
        }
    loaded_done(&loaded);
}

typedef struct StoredTable {
    Node *node;
    Slice table;
} StoredTable;

static void load_definition(void *context, const Definition *definition)
{
    const StoredTable *stored = context;
    node_load_definition(stored->node, stored->table, definition);
}

static void load_group(void *context, const GroupCount *count)
{
    node_load_group(context, count->tenant, count->name, count->state, count->count);
}

static void load_definitions(Machine *machine)
{
    const char *table;
    for (size_t i = 0; (table = node_definitions(i)); i++) {
        StoredTable stored = { machine->node, slice_text(table) };
        bool limits =
            slice_is(stored.table, QUEUE_TABLE) || slice_is(stored.table, RESOURCE_TABLE);
        if (limits && machine->world->options.bug == BUG_LIMITS_FORGOTTEN)
            continue;
        (void)!machine->store->kind->definitions(machine->store, stored.table,
                                                 load_definition, &stored, NULL);
    }
    (void)!machine->store->kind->groups(machine->store, NULL, load_group, machine->node,
                                        NULL);
}

static void open_node(Machine *machine)
{
    Store *store = machine->store;
    NodeOptions options = {
        .sysid = slice_text(machine->sysid),
        .number = machine->number,
        .seed = machine->world->options.seed ^ ++machine->epoch << 32,
        .settings = machine->settings,
    };
    (void)!store->kind->last_id(store, machine->number, &options.last_id, NULL);
    (void)!store->kind->last_number(store, machine->number, &options.turn, NULL);
    if (machine->world->options.bug == BUG_IDS_FROM_CLOCK)
        options.last_id = 0;
    machine->applied_number = options.turn;
    machine->node = node_new(&options);
    machine->decided = store_memory_clone(store);
    load_definitions(machine);
    load_into(machine, &(Load){ .kind = LOAD_LANES }, node_load_lane);
    Load running = { .kind = LOAD_RUNNING, .lock = options.sysid };
    load_into(machine, &running, node_load_running);
    launcher_listed(machine);
    node_recovered(machine->node);
}

void machine_start(Machine *machine)
{
    World *world = machine->world;
    machine->outage_until_ms = 0;
    machine->starts_from = 0;
    machine->room_told = true;
    machine->drain_told = false;
    turns_begin(machine);
    if (!open_disk(machine))
        return;
    truth_recovered(world, machine);
    links_check_groups(world, machine);
    if (!world->failed && (world->calm || chance(world, 30)))
        machine_replay_check(machine);
    if (!world->failed && world->options.sqlite)
        machine_differ(machine, world->options.sqlite);
    if (world->failed || crash_here(machine, "before it has begun"))
        return;
    open_node(machine);
    trace(world, "m%u runs: %u attempts taken over", machine->index,
          node_facts(machine->node).slots_used);
}
