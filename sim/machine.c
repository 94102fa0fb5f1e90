/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - the daemon's loop, as src/serve has it: collect, decide, append, and act
 * only on what is durable. */
#include "sim/machine.h"

#include "base/pack.h"

#include <stdio.h>

Now machine_now(const Machine *machine)
{
    int64_t time_ms = machine->world->time_ms;
    return (Now){
        .wall_ms = WALL_START_MS + time_ms + machine->wall_offset_ms,
        .boot_ms = time_ms - machine->booted_ms + 1000,
    };
}

int64_t machine_wake_ms(const Machine *machine)
{
    if (!machine->node)
        return machine->restart_ms;
    int64_t boot_ms = node_next_wake(machine->node);
    return boot_ms - 1000 + machine->booted_ms;
}

void machine_call(Machine *machine, const Event *event)
{
    SimCall *call = MEM_NEW(SimCall);
    Arena *arena = &call->arena;
    call->event = *event; /* its jobs live as long as their submission */
    call->event.tenant = slice_copy(arena, event->tenant);
    call->event.key = slice_copy(arena, event->key);
    call->event.key_hash = slice_copy(arena, event->key_hash);
    call->event.reason = slice_copy(arena, event->reason);
    call->event.table = slice_copy(arena, event->table);
    call->event.value = slice_copy(arena, event->value);
    call->event.body = slice_copy(arena, event->body);
    ClaimItem *items = arena_take(arena, (event->count + 1) * sizeof *items);
    for (size_t i = 0; event->items && i < event->count; i++) {
        items[i] = event->items[i];
        items[i].ending.result = slice_copy(arena, event->items[i].ending.result);
    }
    call->event.items = event->items ? items : NULL;
    call->event.patch.queue = slice_copy(arena, event->patch.queue);
    call->event.patch.payload = slice_copy(arena, event->patch.payload);
    call->event.patch.tags = slice_copy(arena, event->patch.tags);
    MEM_PUSH(machine->calls, machine->call_count, machine->call_capacity) = call;
}

/* --- Collecting ----------------------------------------------------------------------
 */

/* What a turn has taken in; events borrow from it. */
typedef struct Collected {
    Event *events;
    size_t count;
    size_t capacity;
    SimAsk **asks;
    size_t ask_count;
    News **news;
    size_t news_count;
    size_t news_capacity;
    SimCall **calls;
    size_t call_count;
} Collected;

static Event *new_event(Collected *collected, EventKind kind)
{
    Event *event = &MEM_PUSH(collected->events, collected->count, collected->capacity);
    *event = (Event){ .kind = kind };
    return event;
}

/* The last turn wholly inside what the store has applied. */
static void applied_up_to(Machine *machine, uint64_t position)
{
    size_t passed = 0;
    while (passed < machine->mark_count && machine->marks[passed].end <= position)
        machine->applied_number = machine->marks[passed++].number;
    list_drop(machine->marks, &machine->mark_count, passed, sizeof *machine->marks);
}

static bool has_bug(const Machine *machine, Bug bug)
{
    return machine->world->options.bug == bug;
}

static void take_start(Machine *machine, Collected *collected, const SimAsk *ask)
{
    if (ask->sequence < machine->starts_from && !has_bug(machine, BUG_STALE_STARTS))
        return; /* its launcher is gone */
    if (!ask->err && ask->loaded.count) {
        launcher_start(machine, &ask->loaded.jobs[0], ask->attempt, ask->slot);
        return;
    }
    Event *event = new_event(collected, EVENT_ENDED);
    event->id = ask->load.id;
    event->attempt = ask->attempt;
    event->ending =
        (Ending){ .kind = END_NOT_STARTED, .node_fault = true, .progress = -1 };
}

static void take_answer(Machine *machine, Collected *collected, SimAsk *ask)
{
    applied_up_to(machine, ask->applied);
    if (ask->applied_only) {
        Event *event = new_event(collected, EVENT_APPLIED);
        event->number = machine->applied_number;
        if (has_bug(machine, BUG_APPLIED_TOO_EARLY) && machine->mark_count)
            event->number = machine->marks[machine->mark_count - 1].number;
        return;
    }
    if (ask->start) {
        take_start(machine, collected, ask);
        return;
    }
    Event *event = new_event(collected, EVENT_LOADED);
    event->token = ask->token;
    event->number = machine->applied_number;
    if (has_bug(machine, BUG_TOUCHED_SKIPPED))
        event->number = UINT64_MAX;
    event->err = ask->err;
    loaded_tell(&ask->loaded, event);
}

static void take_answers(Machine *machine, Collected *collected)
{
    /* Those that came until now; the rest come with the next turn. */
    size_t count = 1 + below(machine->world, machine->answer_count + 1);
    if (count > machine->answer_count || machine->world->calm)
        count = machine->answer_count;
    collected->asks = mem_copy(machine->answers, count * sizeof *machine->answers);
    collected->ask_count = count;
    list_drop(machine->answers, &machine->answer_count, count, sizeof(SimAsk *));
    for (size_t i = 0; i < count; i++)
        take_answer(machine, collected, collected->asks[i]);
}

static uint32_t attempt_of(Machine *machine, JobId id, uint32_t known)
{
    Loaded loaded = { 0 };
    Error why;
    Load load = { .kind = LOAD_JOB, .id = id };
    uint32_t attempt = known;
    if (!machine->decided->kind->load(machine->decided, &load, &loaded, &why) &&
        loaded.count)
        attempt = loaded.jobs[0].attempt;
    loaded_done(&loaded);
    return attempt;
}

static void take_news(Machine *machine, Collected *collected)
{
    Launcher *launcher = &machine->launcher;
    size_t kept = 0;
    for (size_t i = 0; i < launcher->news_count; i++) {
        News *news = launcher->news[i];
        if (news->at_ms > machine->world->time_ms) {
            launcher->news[kept++] = news;
            continue;
        }
        Event *event = new_event(collected, news->kind);
        event->id = news->id;
        event->attempt = news->attempt;
        event->ending = news->ending;
        event->progress = news->ending.progress;
        event->message = slice_text(news->text);
        if (news->kind == EVENT_LAUNCHER_LOST && !--machine->launcher.losses)
            machine->starts_from = machine->sequence + 1;
        if (has_bug(machine, BUG_LATE_ACCEPTED) && news->kind == EVENT_ENDED)
            event->attempt = attempt_of(machine, news->id, news->attempt);
        MEM_PUSH(collected->news, collected->news_count, collected->news_capacity) = news;
    }
    launcher->news_count = kept;
}

/* What the museum does to calls of workers. */
static void spoil_call(Machine *machine, SimCall *call)
{
    Event *event = &call->event;
    if (has_bug(machine, BUG_LEASES_CUT) && event->kind == EVENT_CLAIM)
        event->claim.lease_ms /= 4;
    if (!has_bug(machine, BUG_LATE_RESULT) || event->kind != EVENT_FINISH)
        return;
    ClaimItem *item = arena_take(&call->arena, sizeof *item);
    *item = *event->items;
    item->attempt = attempt_of(machine, item->id, item->attempt);
    event->items = item;
}

static void take_calls(Machine *machine, Collected *collected)
{
    if (machine->room != machine->room_told)
        new_event(collected, EVENT_ROOM)->flag = machine->room;
    machine->room_told = machine->room;
    if (machine->drain != machine->drain_told)
        new_event(collected, machine->drain ? EVENT_DRAIN : EVENT_RESUME);
    machine->drain_told = machine->drain;
    collected->calls =
        mem_copy(machine->calls, machine->call_count * sizeof *machine->calls);
    collected->call_count = machine->call_count;
    for (size_t i = 0; i < machine->call_count; i++) {
        spoil_call(machine, machine->calls[i]);
        *new_event(collected, EVENT_ACT) = machine->calls[i]->event;
    }
    machine->call_count = 0;
}

static void collected_free(Collected *collected)
{
    for (size_t i = 0; i < collected->ask_count; i++)
        ask_free(collected->asks[i]);
    for (size_t i = 0; i < collected->news_count; i++)
        news_free(collected->news[i]);
    for (size_t i = 0; i < collected->call_count; i++) {
        arena_done(&collected->calls[i]->arena);
        mem_free(collected->calls[i]);
    }
    mem_free(collected->events);
    mem_free(collected->asks);
    mem_free(collected->news);
    mem_free(collected->calls);
}

/* --- Appending ------------------------------------------------------------------------
 */

static Record record_base(const Machine *machine, const Outbox *out, RecordKind kind)
{
    return (Record){
        .kind = kind,
        .date_ms = machine_now(machine).wall_ms,
        .number = out->number,
        .node = machine->number,
    };
}

static void append_lines(Machine *machine, const Outbox *out, const Op *op)
{
    Buf options = { 0 };
    Record record = record_base(machine, out, RECORD_LINES);
    record.first = op->first;
    record.count = op->count;
    record.tenant = op->job->tenant;
    record.type = op->job->type;
    record.body = op->body;
    job_pack(&options, op->job);
    record.options = buf_slice(&options);
    memory_journal_write(&machine->journal, &record);
    buf_done(&options);
}

static size_t append_jobs(Machine *machine, const Outbox *out, size_t from)
{
    const Batch *adds = &out->adds;
    Buf body = { 0 };
    size_t at = from;
    for (; at < adds->count && adds->ops[at].kind == OP_ADD; at++) {
        size_t begun = pack_begin(&body, RECORD_JOBS_TAG);
        job_pack(&body, adds->ops[at].job);
        pack_end(&body, begun);
    }
    Record record = record_base(machine, out, RECORD_JOBS);
    record.tenant = adds->ops[from].job->tenant;
    record.type = adds->ops[from].job->type;
    record.count = at - from;
    record.body = buf_slice(&body);
    memory_journal_write(&machine->journal, &record);
    buf_done(&body);
    return at;
}

static void append_batch(Machine *machine, const Outbox *out)
{
    Batch batch = out->batch; /* shares everything but the list of operations */
    batch.ops = mem_copy(out->batch.ops, out->batch.count * sizeof(Op));
    batch.count = 0;
    for (size_t i = 0; i < out->batch.count; i++)
        if (out->batch.ops[i].kind != OP_KEY || !has_bug(machine, BUG_KEYS_IN_MEMORY))
            batch.ops[batch.count++] = out->batch.ops[i];
    Buf body = { 0 };
    batch_pack(&body, &batch);
    Record record = record_base(machine, out, RECORD_TURN);
    record.count = batch.count;
    record.body = buf_slice(&body);
    memory_journal_write(&machine->journal, &record);
    buf_done(&body);
    mem_free(batch.ops);
}

/* False: it died in the middle. */
static bool append(Machine *machine, const Outbox *out)
{
    for (size_t i = 0; i < out->adds.count;) {
        if (out->adds.ops[i].kind == OP_ADD)
            i = append_jobs(machine, out, i);
        else
            append_lines(machine, out, &out->adds.ops[i++]);
        if (crash_here(machine, "during append"))
            return false;
    }
    if (out->batch.count)
        append_batch(machine, out);
    SimMark mark = { out->number, memory_journal_end(&machine->journal) };
    MEM_PUSH(machine->marks, machine->mark_count, machine->mark_capacity) = mark;
    return true;
}

/* --- Effects --------------------------------------------------------------------------
 */

static void ask_store(Machine *machine, const Effect *effect)
{
    SimAsk *ask = MEM_NEW(SimAsk);
    ask->token = effect->token;
    ask->needs = memory_journal_end(&machine->journal);
    ask->load = load_of(effect, &ask->arena);
    machine_ask(machine, ask);
}

static void start(Machine *machine, const Effect *effect, uint64_t sequence)
{
    SimAsk *ask = MEM_NEW(SimAsk);
    ask->start = true;
    ask->load = (Load){ .kind = LOAD_JOB, .id = effect->id };
    ask->attempt = effect->attempt;
    ask->slot = effect->warm ? effect->slot : 0;
    ask->sequence = sequence;
    ask->needs = machine->journal.durable;
    machine_ask(machine, ask);
}

static void carry_out(Machine *machine, const Effect *effect, uint64_t sequence)
{
    World *world = machine->world;
    switch (effect->kind) {
    case EFFECT_REPLY:
        if (!effect->request)
            return; /* of an operation: no one waits */
        truth_reply(world, machine, effect);
        return;
    case EFFECT_START:
        start(machine, effect, sequence);
        return;
    case EFFECT_SIGNAL:
        launcher_signal(machine, effect);
        return;
    case EFFECT_FORGET:
        launcher_forget(machine, effect->id, effect->attempt);
        return;
    case EFFECT_LOAD:
        ask_store(machine, effect);
        return;
    case EFFECT_CHANGED:
        truth_shown(world, effect);
        return;
    case EFFECT_ERASE:
    case EFFECT_DEFINED:
    case EFFECT_LETTER:
        return;
    }
}

static void turn_free(SimTurn *turn)
{
    outbox_done(&turn->out);
    mem_free(turn);
}

static bool goes_at_once(const Machine *machine, const Effect *effect)
{
    if (effect->wait == WAIT_NONE || has_bug(machine, BUG_EFFECTS_BEFORE_SYNC))
        return true;
    return has_bug(machine, BUG_REPLIES_BEFORE_SYNC) && effect->kind == EFFECT_REPLY;
}

bool machine_release(Machine *machine)
{
    if (!machine->node || !machine->held_count)
        return false;
    SimTurn *turn = machine->held[0];
    if (turn->end > machine->journal.durable)
        return false;
    while (turn->done < turn->out.effect_count) {
        const Effect *effect = &turn->out.effects[turn->done++];
        if (goes_at_once(machine, effect))
            continue;
        carry_out(machine, effect, turn->sequence);
        (void)crash_here(machine, "between effects"); /* takes the turn with it */
        return true;
    }
    list_drop(machine->held, &machine->held_count, 1, sizeof *machine->held);
    turn_free(turn);
    return true;
}

/* --- The turn -------------------------------------------------------------------------
 */

/* Every decision is held against the truth, and against the store as it will be. */
static void check_decisions(Machine *machine, const Batch *batch)
{
    World *world = machine->world;
    for (size_t i = 0; i < batch->count && !world->failed; i++) {
        Op *op = &batch->ops[i];
        truth_decided(world, machine, op);
        Batch one = { .ops = op, .count = 1, .node = batch->node };
        OpResult result = OP_CONFLICT;
        Store *decided = machine->decided;
        Err err = decided->kind->commit(decided, &one, 1, &result, NULL);
        char id[ID_TEXT_BYTES];
        if (err || result != OP_APPLIED)
            violate(world, "owner", "%s of %s is %s when decided", op_name(op->kind),
                    id_text(op->id, id), op_result_name(result));
    }
}

static void trace_turn(Machine *machine, const SimTurn *turn, size_t events)
{
    Buf line = { 0 };
    buf_printf(&line, "m%u turn %llu: %zu events", machine->index,
               (unsigned long long)turn->out.number, events);
    const Batch *batches[] = { &turn->out.adds, &turn->out.batch };
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

static void run_at_once(Machine *machine, SimTurn *turn)
{
    for (size_t i = 0; i < turn->out.effect_count; i++) {
        const Effect *effect = &turn->out.effects[i];
        check_unheld(machine, effect);
        if (goes_at_once(machine, effect))
            carry_out(machine, effect, turn->sequence);
    }
}

static void decide(Machine *machine, SimTurn *turn)
{
    Collected collected = { 0 };
    take_answers(machine, &collected);
    take_news(machine, &collected);
    take_calls(machine, &collected);
    turn->sequence = ++machine->sequence;
    Now now = machine_now(machine);
    if (machine->world->options.bug == BUG_CLOCK_STUCK)
        now.boot_ms = machine->turns.begun_boot;
    node_step(machine->node, now, collected.events, collected.count, &turn->out);
    node_check(machine->node);
    turns_stepped(machine->world, machine, &turn->out);
    machine->world->counts.turns++;
    if (collected.count || turn->out.adds.count || turn->out.batch.count)
        trace_turn(machine, turn, collected.count);
    check_decisions(machine, &turn->out.adds);
    check_decisions(machine, &turn->out.batch);
    /* Lines are journalled as received: their bytes must outlive the events. */
    for (size_t i = 0; i < turn->out.adds.count; i++)
        turn->out.adds.ops[i].body =
            slice_copy(&turn->out.adds.arena, turn->out.adds.ops[i].body);
    collected_free(&collected);
}

void machine_turn(Machine *machine)
{
    if (!machine->node)
        return;
    SimTurn *turn = MEM_NEW(SimTurn);
    decide(machine, turn);
    bool wrote = turn->out.adds.count || turn->out.batch.count;
    if (machine->world->failed || crash_here(machine, "before append") ||
        (wrote && !append(machine, &turn->out))) {
        turn_free(turn);
        return;
    }
    turn->end = memory_journal_end(&machine->journal);
    run_at_once(machine, turn);
    MEM_PUSH(machine->held, machine->held_count, machine->held_capacity) = turn;
    (void)crash_here(machine, "after append");
}

bool machine_sync(Machine *machine, bool all)
{
    uint64_t end = memory_journal_end(&machine->journal);
    if (!machine->node || machine->journal.durable == end)
        return false;
    if (!all && machine->held_count) {
        uint64_t some = machine->held[below(machine->world, machine->held_count)]->end;
        end = some > machine->journal.durable ? some : end;
    }
    memory_journal_sync(&machine->journal, end);
    (void)crash_here(machine, "after sync");
    return true;
}
