/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.c - the store's side of the simulated daemon, as src/engine/ingest.c has it. */
#include "sim/machine.h"

void machine_ask(Machine *machine, SimAsk *ask)
{
    MEM_PUSH(machine->asks, machine->ask_count, machine->ask_capacity) = ask;
}

void ask_free(SimAsk *ask)
{
    loaded_done(&ask->loaded);
    arena_done(&ask->arena);
    mem_free(ask);
}

static void push_answer(Machine *machine, SimAsk *ask)
{
    ask->applied = machine->applied;
    MEM_PUSH(machine->answers, machine->answer_count, machine->answer_capacity) = ask;
}

/* A state that a power cut may leave behind; some are enough. */
static void snapshot(Machine *machine)
{
    size_t at = machine->snapshot_count;
    if (machine->world->calm || !chance(machine->world, 40))
        return;
    if (at == SNAPSHOTS_MAX) {
        at = below(machine->world, SNAPSHOTS_MAX);
        store_close(machine->snapshots[at]);
    } else {
        machine->snapshot_count++;
    }
    machine->snapshots[at] = store_memory_clone(machine->store);
}

static void check_results(Machine *machine, const Batch *batch, const OpResult *results)
{
    for (size_t i = 0; i < batch->count; i++) {
        char id[ID_TEXT_BYTES];
        if (results[i] == OP_APPLIED)
            continue;
        violate(machine->world, "owner", "%s of %s is %s when ingested",
                op_name(batch->ops[i].kind), id_text(batch->ops[i].id, id),
                op_result_name(results[i]));
        return;
    }
}

static void note_durable(Machine *machine, const Batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const Op *op = &batch->ops[i];
        uint64_t count = op->kind == OP_ADD_LINES ? op->count : op->kind == OP_ADD;
        uint64_t first = op->kind == OP_ADD_LINES ? op->first : id_count(op->id);
        for (uint64_t k = 0; k < count; k++) {
            JobId id = id_from_count(first + k, machine->number);
            JobTruth *job = truth_job(machine->world, id);
            if (job)
                job->durable = true;
            if (id > machine->last_id)
                machine->last_id = id;
        }
    }
}

/* One transaction; false: it died, or the store failed. */
static bool commit(Machine *machine, Batch *batch)
{
    Store *store = machine->store;
    OpResult *results = MEM_ARRAY(OpResult, batch->count + 1);
    if (machine->world->options.bug == BUG_READ_POINT_APART) {
        Batch point = { .has_read_point = true,
                        .read_point = batch->read_point,
                        .node = batch->node };
        batch->has_read_point = false;
        (void)!store->kind->commit(store, batch, 1, results, NULL);
        snapshot(machine);
        if (crash_here(machine, "between jobs and read point")) {
            mem_free(results);
            return false;
        }
        (void)!store->kind->commit(store, &point, 1, NULL, NULL);
        batch->has_read_point = true;
    } else {
        (void)!store->kind->commit(store, batch, 1, results, NULL);
    }
    check_results(machine, batch, results);
    note_durable(machine, batch);
    mem_free(results);
    snapshot(machine);
    machine->world->counts.commits++;
    return true;
}

static Err read_journal(Machine *machine, Batch *batch, Error *why)
{
    MemoryJournal *journal = &machine->journal;
    uint64_t durable = journal->durable;
    if (machine->world->options.bug == BUG_UNDURABLE_INGESTED)
        journal->durable = memory_journal_end(journal);
    Err err =
        memory_journal_read(journal, machine->world->profile.ingest_bytes, batch, why);
    journal->durable = durable;
    return err;
}

/* Takes the next durable records into the store. */
static bool ingest(Machine *machine)
{
    World *world = machine->world;
    Batch batch = { 0 };
    Error why = { 0 };
    if (read_journal(machine, &batch, &why)) {
        violate(world, "J1", "%s", why.text);
    } else if (batch.has_read_point && commit(machine, &batch) &&
               !crash_here(machine, "after commit")) {
        machine->applied = batch.read_point.position;
        batch_done(&batch);
        return true;
    }
    batch_done(&batch);
    return false;
}

static bool store_fails(Machine *machine, unsigned percent)
{
    return !machine->world->calm && (machine->outage_until_ms > machine->world->time_ms ||
                                     fault_percent(machine->world, percent));
}

static bool anything_to_ingest(const Machine *machine)
{
    const MemoryJournal *journal = &machine->journal;
    uint64_t until = machine->world->options.bug == BUG_UNDURABLE_INGESTED
                         ? memory_journal_end(journal)
                         : journal->durable;
    return machine->node && journal->read < until;
}

bool machine_ingest(Machine *machine)
{
    if (!anything_to_ingest(machine))
        return false;
    if (store_fails(machine, machine->world->profile.commit_fails_percent)) {
        machine->world->counts.commit_failures++;
        return false;
    }
    if (!ingest(machine))
        return false;
    SimAsk *news = MEM_NEW(SimAsk);
    news->applied_only = true;
    push_answer(machine, news);
    if (machine->world->options.bug == BUG_TRIM_BEFORE_SYNC)
        machine_trim(machine, machine->applied);
    return true;
}

/* Planted defects of windows; whether the answer gets lost. */
static bool loses(const Machine *machine, SimAsk *ask)
{
    Bug bug = machine->world->options.bug;
    if (ask->load.kind != LOAD_WINDOW || ask->err)
        return false;
    if (bug == BUG_FIRST_LEFT_OUT && ask->loaded.count > 1)
        memmove(ask->loaded.jobs, ask->loaded.jobs + 1,
                --ask->loaded.count * sizeof *ask->loaded.jobs);
    if (bug == BUG_WINDOW_LOST)
        return slice_equal(ask->load.queue, sim_queues[0]);
    return turns_loses(machine, ask);
}

bool machine_answer(Machine *machine)
{
    if (!machine->node)
        return false;
    bool any = machine->world->options.bug == BUG_LOADS_DO_NOT_WAIT;
    for (size_t i = 0; i < machine->ask_count; i++) {
        SimAsk *ask = machine->asks[i];
        if (ask->needs > machine->applied && !any)
            continue;
        machine->ask_count--;
        memmove(&machine->asks[i], &machine->asks[i + 1],
                (machine->ask_count - i) * sizeof *machine->asks);
        Error why = { 0 };
        if (store_fails(machine, machine->world->profile.load_fails_percent))
            ask->err = ERR_IO;
        else
            ask->err = machine->store->kind->load(machine->store, &ask->load,
                                                  &ask->loaded, &why);
        machine->world->counts.load_failures += ask->err != ERR_OK;
        if (loses(machine, ask))
            ask_free(ask);
        else
            push_answer(machine, ask);
        return true;
    }
    return false;
}

void machine_trim(Machine *machine, uint64_t position)
{
    MemoryJournal *journal = &machine->journal;
    uint64_t base = journal->base;
    char *bytes = mem_copy(journal->bytes.data, journal->bytes.bytes);
    memory_journal_trim(journal, position);
    buf_add(&machine->archive, bytes, (size_t)(journal->base - base));
    mem_free(bytes);
}

void machine_store_sync(Machine *machine)
{
    if (!machine->node || machine->applied == machine->synced_position)
        return;
    for (size_t i = 0; i < machine->snapshot_count; i++)
        store_close(machine->snapshots[i]);
    machine->snapshot_count = 0;
    store_close(machine->synced);
    machine->synced = store_memory_clone(machine->store);
    machine->synced_position = machine->applied;
    if (crash_here(machine, "between store sync and trim"))
        return;
    machine_trim(machine, machine->synced_position);
}

/* Everything durable, before the node begins. False: it died again. */
bool machine_catch_up(Machine *machine)
{
    while (!machine->world->failed && machine->journal.read < machine->journal.durable)
        if (!ingest(machine))
            return false;
    return !machine->world->failed;
}
