/* SPDX-License-Identifier: Apache-2.0 */
/* recover.c - how a simulated machine is made, dies, and comes back. */
#include "sim/links.h"
#include "sim/machine.h"

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
    machine->port_store = (SimStore){ { &sim_store_kind }, machine };
    machine->booted_ms = world->time_ms - 60000;
    machine->restart_ms = world->time_ms;
    return machine;
}

static void drop_prepared(Machine *machine)
{
    for (size_t i = 0; i < machine->prepared_count; i++) {
        arena_done(&machine->prepared[i]->arena);
        mem_free(machine->prepared[i]);
    }
    machine->prepared_count = 0;
}

static void drop_mail(Mail *mail)
{
    while (mail) {
        Mail *next = mail->next;
        ask_mail_free(mail);
        mail = next;
    }
}

static void drop_process(Machine *machine)
{
    for (size_t i = 0; i < machine->ask_count; i++)
        ask_free(machine->asks[i]);
    for (size_t i = 0; i < machine->call_count; i++) {
        arena_done(&machine->calls[i]->call.arena);
        mem_free(machine->calls[i]);
    }
    machine->ask_count = machine->call_count = machine->call_unread = 0;
    drop_prepared(machine);
    if (machine->node)
        machine->world->counts.late += node_facts(machine->node).late;
    machine->node = NULL;
    if (machine->engine.ports) {
        (void)mailbox_take(&machine->engine.calls);
        engine_done(&machine->engine);
        ingest_done(&machine->ingest);
        drop_mail(mailbox_take(&machine->told));
        mailbox_done(&machine->told);
    }
    machine->engine = (Engine){ 0 };
    store_close(machine->decided);
    machine->decided = NULL;
    machine->death = DEATH_NONE;
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
    mem_free(machine->asks);
    mem_free(machine->calls);
    mem_free(machine->prepared);
    mem_free(machine);
}

bool crash_here(Machine *machine, const char *where)
{
    World *world = machine->world;
    /* Recoveries are short and rare: they get more than their share. */
    uint64_t range = machine->node ? 10000 : 800;
    if (world->calm || world->failed || machine->death ||
        below(world, range) >= world->profile.crash_per_10000)
        return false;
    bool power = chance(world, world->profile.power_percent);
    trace(world, "m%u %s %s", machine->index, power ? "loses power" : "is killed", where);
    machine->death = power ? DEATH_POWER : DEATH_KILLED;
    return true;
}

void machine_bury(Machine *machine)
{
    if (machine->death)
        machine_crash(machine, machine->death == DEATH_POWER);
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
                    position + bytes <= machine->ingest.applied;
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
        if (position != machine->ingest.applied)
            violate(world, "I14", "m%u: the journal ends at %llu, the store at %llu",
                    machine->index, (unsigned long long)position,
                    (unsigned long long)machine->ingest.applied);
        else if (again != hash)
            violate(world, "I14", "m%u: replay %zu of the journal gives another state",
                    machine->index, i);
        world->counts.replays++;
    }
}

/* --- Starting
 * --------------------------------------------------------------------------- */

static void open_engine(Machine *machine)
{
    Engine *engine = &machine->engine;
    engine_init(engine, &sim_ports, machine);
    engine->parts = sim_parts;
    engine->number = machine->number;
    mailbox_init(&machine->told);
    machine->quick = chance(machine->world, 50);
}

/* As the daemon does: what the journal has goes into the store before all else. */
static bool open_disk(Machine *machine)
{
    World *world = machine->world;
    Store *store = &machine->port_store.store;
    ReadPoint point = { 0 };
    Error why = { 0 };
    (void)!store->kind->read_point(store, machine->number, &point, &why);
    if (world->options.bug == BUG_READ_POINT_FORGOTTEN)
        point.position = machine->journal.base;
    ingest_init(&machine->ingest, &(IngestOptions){ .ports = &sim_ingest_ports,
                                                    .world = machine,
                                                    .store = store,
                                                    .answers = &machine->told,
                                                    .applied = point.position,
                                                    .node = machine->number });
    if (memory_journal_reopen(&machine->journal, point.position, &why)) {
        violate(world, "J3", "m%u: %s", machine->index, why.text);
        return false;
    }
    Err err = ingest_catch_up(&machine->ingest, &why);
    if (err || world->failed) {
        world->counts.recoveries_cut_short += machine->death != DEATH_NONE;
        if (!machine->death && !world->failed)
            violate(world, "J3", "m%u cannot catch up: %s", machine->index, why.text);
        return false;
    }
    machine->engine.applied = machine->ingest.applied;
    engine_durable(&machine->engine, machine->journal.durable);
    return true;
}

static bool open_node(Machine *machine)
{
    Error why = { 0 };
    EngineStart start = { .store = &machine->port_store.store,
                          .node = { .sysid = slice_text(machine->sysid),
                                    .number = machine->number,
                                    .seed = machine->world->options.seed ^
                                            ++machine->epoch << 32,
                                    .settings = machine->settings } };
    Err err = engine_recover(&machine->engine, &start, &why);
    machine->decided = store_memory_clone(machine->store);
    if (!err) {
        launcher_list(machine);
        err = engine_adopt(&machine->engine, MS_PER_S, &why);
    }
    if (err || machine->death) {
        if (!machine->death)
            violate(machine->world, "J3", "m%u cannot recover: %s", machine->index,
                    why.text);
        return false;
    }
    launcher_adopted(machine);
    node_recovered(machine->engine.node);
    machine->node = machine->engine.node;
    return true;
}

void machine_start(Machine *machine)
{
    World *world = machine->world;
    machine->outage_until_ms = 0;
    machine->drain_told = false;
    turns_begin(machine);
    open_engine(machine);
    if (!open_disk(machine)) {
        machine_bury(machine);
        return;
    }
    truth_recovered(world, machine);
    links_check_groups(world, machine);
    if (!world->failed && (world->calm || chance(world, 30)))
        machine_replay_check(machine);
    if (!world->failed && world->options.sqlite)
        machine_differ(machine, world->options.sqlite);
    if (world->failed || crash_here(machine, "before it has begun") ||
        !open_node(machine)) {
        machine_bury(machine);
        return;
    }
    trace(world, "m%u runs: %u attempts taken over", machine->index,
          node_facts(machine->node).slots_used);
}
