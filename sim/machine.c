/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - the pieces of work of a simulated daemon, and what its clients ask. */
#include "sim/machine.h"

#include "run/process/process.h"

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
    int64_t boot_ms = engine_wake_boot(&machine->engine, machine_now(machine));
    if (machine->ingest.failing && machine->ingest.retry_boot < boot_ms)
        boot_ms = machine->ingest.retry_boot;
    return boot_ms - 1000 + machine->booted_ms;
}

bool machine_has_asked(const Machine *machine)
{
    return machine->ask_count || machine->ingest.waiting || machine->told.first ||
           machine->engine.answers.first || machine->engine.news.first;
}

static bool has_bug(const Machine *machine, Bug bug)
{
    return machine->world->options.bug == bug;
}

/* --- Calls ----------------------------------------------------------------------------
 */

static void forget_call(Machine *machine, SimCall *call)
{
    size_t at = 0;
    while (machine->calls[at] != call)
        at++;
    machine->calls[at] = machine->calls[--machine->call_count];
    arena_done(&call->call.arena);
    mem_free(call);
}

/* What a client hears; one of a dead machine hears nothing. */
static void done(Call *answered)
{
    SimCall *call = (SimCall *)(void *)answered;
    Machine *machine = call->machine;
    if (machine->death || crash_here(machine, "before an answer"))
        return;
    Effect effect = { .kind = EFFECT_REPLY,
                      .request = call->number,
                      .err = answered->err,
                      .problem = answered->problem,
                      .first = answered->first,
                      .count = answered->count,
                      .items = answered->items };
    if (answered->kind == CALL_EVENT)
        truth_reply(machine->world, machine, &effect);
    else
        truth_seen(machine->world, machine, &effect, call->found);
    forget_call(machine, call);
}

static SimCall *new_call(Machine *machine, CallKind kind, Requester number)
{
    SimCall *call = MEM_NEW(SimCall);
    call->machine = machine;
    call->number = number;
    call->call.kind = kind;
    call->call.done = done;
    MEM_PUSH(machine->calls, machine->call_count, machine->call_capacity) = call;
    machine->call_unread++;
    return call;
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

static const ClaimItem *copy_items(Machine *machine, Arena *arena, const Event *event)
{
    if (!event->items)
        return NULL;
    ClaimItem *items = arena_take(arena, (event->count + 1) * sizeof *items);
    for (size_t i = 0; i < event->count; i++) {
        items[i] = event->items[i];
        items[i].ending.result = slice_copy(arena, event->items[i].ending.result);
        if (has_bug(machine, BUG_LATE_RESULT) && event->kind == EVENT_FINISH)
            items[i].attempt = attempt_of(machine, items[i].id, items[i].attempt);
    }
    return items;
}

void machine_call(Machine *machine, const Event *event)
{
    SimCall *call = new_call(machine, CALL_EVENT, event->request);
    Arena *arena = &call->call.arena;
    Event *copy = &call->call.event;
    *copy = *event; /* its jobs live as long as their submission */
    Slice *slices[] = { &copy->tenant,    &copy->key,         &copy->key_hash,
                        &copy->reason,    &copy->table,       &copy->value,
                        &copy->body,      &copy->patch.queue, &copy->patch.payload,
                        &copy->patch.tags };
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
        *slices[i] = slice_copy(arena, *slices[i]);
    copy->items = copy_items(machine, arena, event);
    if (has_bug(machine, BUG_LEASES_CUT) && event->kind == EVENT_CLAIM)
        copy->claim.lease_ms /= 4;
    mailbox_put(&machine->engine.calls, &call->call.mail);
}

static void read_job(Call *call, Store *store)
{
    Loaded loaded = { 0 };
    Load load = { .kind = LOAD_JOB, .id = call->event.id };
    (void)!store->kind->load(store, &load, &loaded, NULL);
    ((SimCall *)(void *)call)->found = loaded.count > 0;
    loaded_done(&loaded);
}

void machine_read(Machine *machine, CallKind kind, Requester number, JobId id)
{
    SimCall *call = new_call(machine, kind, number);
    call->call.event.id = id;
    call->call.read = read_job;
    call->call.timeout_ms = (int64_t)below(machine->world, 5000);
    mailbox_put(&machine->engine.calls, &call->call.mail);
}

/* --- What comes to the engine ---------------------------------------------------------
 */

/* Planted defects of windows; whether the answer gets lost. */
static bool loses(const Machine *machine, Ask *ask)
{
    if (ask->is_news || ask->load.kind != LOAD_WINDOW || ask->err)
        return false;
    if (has_bug(machine, BUG_FIRST_LEFT_OUT) && ask->loaded.count > 1)
        memmove(ask->loaded.jobs, ask->loaded.jobs + 1,
                --ask->loaded.count * sizeof *ask->loaded.jobs);
    if (has_bug(machine, BUG_WINDOW_LOST))
        return slice_equal(ask->load.queue, sim_queues[0]);
    return turns_loses(machine, ask);
}

/* Some of what the ingestion has told; the rest comes with the next turn. */
static void deliver_answers(Machine *machine)
{
    Mail *mail = mailbox_take(&machine->told);
    size_t count = 0;
    for (const Mail *at = mail; at; at = at->next)
        count++;
    size_t some = 1 + below(machine->world, count + 1);
    if (machine->world->calm)
        some = count;
    for (size_t i = 0; mail; i++) {
        Mail *next = mail->next;
        if (i >= some)
            mailbox_put(&machine->told, mail);
        else if (loses(machine, (Ask *)(void *)mail))
            ask_mail_free(mail);
        else
            mailbox_put(&machine->engine.answers, mail);
        mail = next;
    }
}

static void deliver_news(Machine *machine)
{
    Launcher *launcher = &machine->launcher;
    size_t kept = 0;
    for (size_t i = 0; i < launcher->news_count; i++) {
        LateNews *late = &launcher->news[i];
        if (late->at_ms > machine->world->time_ms) {
            launcher->news[kept++] = *late;
            continue;
        }
        RunNews *news = late->news;
        if (has_bug(machine, BUG_LATE_ACCEPTED) && news->kind == RUN_ENDED)
            news->attempt = attempt_of(machine, news->id, news->attempt);
        mailbox_put(&machine->engine.news, &news->mail);
    }
    launcher->news_count = kept;
}

/* --- Pieces of work -------------------------------------------------------------------
 */

void machine_turn(Machine *machine)
{
    if (!machine->node)
        return;
    deliver_answers(machine);
    deliver_news(machine);
    machine->call_unread = 0;
    engine_turn(&machine->engine);
    machine_bury(machine);
}

/* Where one of the turns that wait has ended. */
static uint64_t some_end(Machine *machine)
{
    size_t count = 0;
    for (const Turn *turn = machine->engine.turns.held; turn; turn = turn->next)
        count++;
    if (!count)
        return 0;
    const Turn *turn = machine->engine.turns.held;
    for (uint64_t i = below(machine->world, count); i; i--)
        turn = turn->next;
    return turn->end;
}

bool machine_sync(Machine *machine, bool all)
{
    uint64_t end = memory_journal_end(&machine->journal);
    if (!machine->node || machine->journal.durable == end)
        return false;
    uint64_t some = all ? 0 : some_end(machine);
    if (some > machine->journal.durable)
        end = some;
    memory_journal_sync(&machine->journal, end);
    engine_durable(&machine->engine, end);
    (void)crash_here(machine, "after sync");
    machine_bury(machine);
    return true;
}

bool machine_release(Machine *machine)
{
    if (!machine->node || !machine->engine.turns.held ||
        machine->engine.turns.held->end > machine->engine.durable)
        return false;
    engine_release(&machine->engine);
    machine_bury(machine);
    return true;
}

bool machine_ingest(Machine *machine)
{
    if (!machine->node || !ingest_may_try(&machine->ingest))
        return false;
    bool any = ingest_one(&machine->ingest);
    machine_bury(machine);
    return any;
}

bool machine_answer(Machine *machine)
{
    if (!machine->node || !(machine->ask_count || machine->ingest.waiting))
        return false;
    size_t taken = below(machine->world, machine->ask_count + 1);
    if (machine->world->calm)
        taken = machine->ask_count;
    for (size_t i = 0; i < taken; i++)
        ingest_take(&machine->ingest, machine->asks[i]);
    machine->ask_count -= taken;
    if (machine->ask_count)
        memmove(machine->asks, machine->asks + taken,
                machine->ask_count * sizeof *machine->asks);
    ingest_answer(&machine->ingest);
    return taken > 0;
}

void machine_store_sync(Machine *machine)
{
    if (!machine->node)
        return;
    ingest_sync(&machine->ingest);
    machine_bury(machine);
}
