/* SPDX-License-Identifier: Apache-2.0 */
/* ports.c - the world of a simulated machine, as its engine sees it. Every port is a
 * place where the machine may die; the ports of a dead one do nothing. */
#include "sim/machine.h"

#include <stdio.h>

static bool has_bug(const Machine *machine, Bug bug)
{
    return machine->world->options.bug == bug;
}

/* Whether this effect still happens. */
static bool lives(Machine *machine, const char *where)
{
    return !machine->death && !crash_here(machine, where);
}

static Now port_now(void *world)
{
    const Machine *machine = world;
    Now now = machine_now(machine);
    if (has_bug(machine, BUG_CLOCK_STUCK))
        now.boot_ms = machine->turns.begun_boot;
    return now;
}

/* --- The journal ----------------------------------------------------------------------
 */

/* Without the keys that make requests safe to repeat: a defect of the museum. */
static void write_without_keys(Machine *machine, const Record *record)
{
    Batch batch = { 0 };
    Buf body = { 0 };
    Record rest = *record;
    Err err = batch_unpack(record->body, &batch);
    size_t kept = 0;
    for (size_t i = 0; !err && i < batch.count; i++)
        if (batch.ops[i].kind != OP_KEY)
            batch.ops[kept++] = batch.ops[i];
    batch.count = kept;
    batch_pack(&body, &batch);
    rest.count = kept;
    rest.body = buf_slice(&body);
    memory_journal_write(&machine->journal, &rest);
    buf_done(&body);
    batch_done(&batch);
}

static void port_journal_write(void *world, const Record *record, Buf *give)
{
    Machine *machine = world;
    (void)give;
    if (!lives(machine, "before append"))
        return;
    if (record->kind == RECORD_TURN && has_bug(machine, BUG_KEYS_IN_MEMORY))
        write_without_keys(machine, record);
    else
        memory_journal_write(&machine->journal, record);
    (void)crash_here(machine, "after append");
}

static uint64_t port_journal_end(const void *world)
{
    const Machine *machine = world;
    return memory_journal_end(&machine->journal);
}

/* Others are synced when their time comes: machine_sync. */
static void port_journal_flush(void *world, bool here)
{
    Machine *machine = world;
    if (!here || !lives(machine, "before its own sync"))
        return;
    memory_journal_sync(&machine->journal, memory_journal_end(&machine->journal));
    engine_durable(&machine->engine, machine->journal.durable);
    (void)crash_here(machine, "after its own sync");
}

static bool port_journal_quick(const void *world)
{
    const Machine *machine = world;
    return machine->quick;
}

static bool port_has_room(void *world, Now now)
{
    const Machine *machine = world;
    (void)now;
    return machine->room;
}

/* --- The store ------------------------------------------------------------------------
 */

static void port_ask(void *world, Ask *ask)
{
    Machine *machine = world;
    if (has_bug(machine, BUG_LOADS_DO_NOT_WAIT))
        ask->needs = 0;
    MEM_PUSH(machine->asks, machine->ask_count, machine->ask_capacity) = ask;
}

static void port_hurry(void *world, uint64_t position)
{
    (void)world;
    (void)position;
}

static void port_read(void *world, Call *call)
{
    const Machine *machine = world;
    call->read(call, machine->store);
    call->done(call);
}

/* --- The runner -----------------------------------------------------------------------
 */

static void port_start(void *world, const Job *job, const StartHow *how)
{
    Machine *machine = world;
    if (lives(machine, "before a start"))
        launcher_start(machine, job, how->warm ? how->slot : 0);
}

static bool port_prepare(void *world, const Job *job, const StartHow *how)
{
    Machine *machine = world;
    if (!job->command.bytes || how->warm)
        return false;
    Prepared *prepared = MEM_NEW(Prepared);
    prepared->job = job_copy(&prepared->arena, job);
    MEM_PUSH(machine->prepared, machine->prepared_count, machine->prepared_capacity) =
        prepared;
    return true;
}

static void port_go(void *world, JobId id, uint32_t attempt)
{
    Machine *machine = world;
    char text[ID_TEXT_BYTES];
    size_t at = 0;
    if (!lives(machine, "before a start"))
        return;
    while (at < machine->prepared_count &&
           (machine->prepared[at]->job.id != id ||
            machine->prepared[at]->job.attempt != attempt))
        at++;
    if (at == machine->prepared_count) {
        violate(machine->world, "E2", "%s #%u is told to go, but was not prepared",
                id_text(id, text), attempt);
        return;
    }
    Prepared *prepared = machine->prepared[at];
    machine->prepared[at] = machine->prepared[--machine->prepared_count];
    launcher_start(machine, &prepared->job, 0);
    arena_done(&prepared->arena);
    mem_free(prepared);
}

static void port_signal(void *world, JobId id, uint32_t attempt, int number)
{
    Machine *machine = world;
    if (lives(machine, "before a signal"))
        launcher_signal(machine, id, attempt, number);
}

static void port_forget(void *world, JobId id, uint32_t attempt)
{
    Machine *machine = world;
    if (lives(machine, "before it forgets an attempt"))
        launcher_forget(machine, id, attempt);
}

static void port_starts_done(void *world)
{
    (void)world;
}

/* --- No other nodes, no other calls ---------------------------------------------------
 */

static bool port_may_start(const void *world)
{
    (void)world;
    return true;
}

static bool port_silent(const void *world)
{
    (void)world;
    return false;
}

static void port_call(void *world, Call *call)
{
    (void)world;
    engine_answer(call, ERR_UNSUPPORTED, NULL);
}

static bool port_refuse(void *world, Call *call)
{
    (void)world;
    (void)call;
    return false;
}

const EnginePorts sim_ports = {
    .now = port_now,
    .journal_write = port_journal_write,
    .journal_end = port_journal_end,
    .journal_flush = port_journal_flush,
    .journal_quick = port_journal_quick,
    .has_room = port_has_room,
    .ask = port_ask,
    .hurry = port_hurry,
    .read = port_read,
    .start = port_start,
    .prepare = port_prepare,
    .go = port_go,
    .signal = port_signal,
    .forget = port_forget,
    .starts_done = port_starts_done,
    .may_start = port_may_start,
    .silent = port_silent,
    .call = port_call,
    .refuse = port_refuse,
};

/* --- Ingestion ------------------------------------------------------------------------
 */

static Now ingest_now(void *world)
{
    return machine_now(world);
}

static uint64_t readable(const Machine *machine)
{
    return has_bug(machine, BUG_UNDURABLE_INGESTED)
               ? memory_journal_end(&machine->journal)
               : machine->journal.durable;
}

static uint64_t ingest_durable(void *world)
{
    return readable(world);
}

/* One at a time: the token is the position that reading begins at, and one. */
static JournalToken ingest_reserve(void *world, size_t bytes_max, Now now)
{
    const Machine *machine = world;
    (void)bytes_max;
    (void)now;
    return machine->journal.read < readable(machine) ? machine->journal.read + 1 : 0;
}

static Err ingest_read(void *world, JournalToken token, Batch *out, Error *why)
{
    Machine *machine = world;
    MemoryJournal *journal = &machine->journal;
    uint64_t durable = journal->durable;
    if (token != journal->read + 1)
        return error_set(why, ERR_TIMEOUT, "the reservation has lapsed");
    journal->durable = readable(machine);
    Err err =
        memory_journal_read(journal, machine->world->profile.ingest_bytes, out, why);
    journal->durable = durable;
    if (err)
        violate(machine->world, "J1", "%s", why->text);
    return err;
}

static Err ingest_rsync(void *world, JournalToken token)
{
    Machine *machine = world;
    (void)token;
    if (has_bug(machine, BUG_TRIM_BEFORE_SYNC))
        machine_trim(machine, machine->journal.read);
    return ERR_OK;
}

static Err ingest_rewind(void *world, uint64_t position, Error *why)
{
    const Machine *machine = world;
    violate(machine->world, "G1", "m%u: its store went back to %llu", machine->index,
            (unsigned long long)position);
    return error_set(why, ERR_NOT_FOUND, "nothing goes back here");
}

static void ingest_trim(void *world, uint64_t position, Now now)
{
    Machine *machine = world;
    (void)now;
    if (!machine->death)
        machine_trim(machine, position);
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

const IngestPorts sim_ingest_ports = {
    .now = ingest_now,
    .durable = ingest_durable,
    .reserve = ingest_reserve,
    .read = ingest_read,
    .rsync = ingest_rsync,
    .rewind = ingest_rewind,
    .trim = ingest_trim,
};

/* --- What hangs on a turn -------------------------------------------------------------
 */

static bool collect(void *world, Now now)
{
    Machine *machine = world;
    (void)now;
    if (machine->drain && !machine->drain_told)
        engine_event(&machine->engine, EVENT_DRAIN)->flag = chance(machine->world, 50);
    machine->drain_told = machine->drain;
    return true;
}

/* Every decision is held against the truth, and against the store as it will be. */
static void check_decisions(Machine *machine, const Batch *batch)
{
    World *world = machine->world;
    for (size_t i = 0; i < batch->count && !world->failed; i++) {
        Op *op = &batch->ops[i];
        truth_decided(world, machine, op);
        Batch one = { .ops = op, .count = 1, .node = batch->node };
        OpResult result = OP_CONFLICT;
        Store *store = machine->decided;
        Err err = store->kind->commit(store, &one, 1, &result, NULL);
        char id[ID_TEXT_BYTES];
        if (err || result != OP_APPLIED)
            violate(world, "owner", "%s of %s is %s when decided", op_name(op->kind),
                    id_text(op->id, id), op_result_name(result));
    }
}

static void trace_turn(Machine *machine, const Outbox *out)
{
    Buf line = { 0 };
    buf_printf(&line, "m%u turn %llu: %zu events", machine->index,
               (unsigned long long)out->number, machine->engine.in.count);
    const Batch *batches[] = { &out->adds, &out->batch };
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < batches[k]->count; i++) {
            const Op *op = &batches[k]->ops[i];
            char id[ID_TEXT_BYTES];
            buf_printf(&line, "; %s %s", op_name(op->kind), id_text(op->id, id));
            if (op->kind == OP_FINISH || op->kind == OP_MOVE || op->kind == OP_PAUSE)
                buf_printf(&line, " -> %s", state_name(op->to));
            if (op->kind == OP_CLAIM || op->kind == OP_FINISH)
                buf_printf(&line, " #%u", op->attempt);
        }
    }
    trace(machine->world, "%s", buf_cstr(&line));
    buf_done(&line);
}

/* N4: only questions, and refusals that speak of the node itself, wait for nothing. */
static void check_unheld(Machine *machine, const Effect *effect)
{
    bool refusal = effect->kind == EFFECT_REPLY &&
                   (effect->err == ERR_UNAVAILABLE || effect->err == ERR_FULL);
    if (effect->wait == WAIT_NONE && effect->kind != EFFECT_LOAD && !refusal)
        violate(machine->world, "N4", "an effect of kind %d waits for nothing",
                (int)effect->kind);
}

static void decided(void *world, Outbox *out, Now now)
{
    Machine *machine = world;
    (void)now;
    if (machine->death)
        return;
    machine->sequence++;
    node_check(machine->engine.node);
    turns_stepped(machine->world, machine, out);
    machine->world->counts.turns++;
    if (machine->engine.in.count || out->adds.count || out->batch.count)
        trace_turn(machine, out);
    check_decisions(machine, &out->adds);
    check_decisions(machine, &out->batch);
    for (size_t i = 0; i < out->effect_count; i++)
        check_unheld(machine, &out->effects[i]);
}

static void effect(void *world, const Effect *effect)
{
    Machine *machine = world;
    if (effect->kind == EFFECT_CHANGED && lives(machine, "before a change is shown"))
        truth_shown(machine->world, effect);
}

static const EnginePart sim_part = {
    .name = "simulation", .collect = collect, .decided = decided, .effect = effect
};

const EnginePart *const sim_parts[] = { &sim_part, NULL };
