/* SPDX-License-Identifier: Apache-2.0 */
/* effects.c - what is done outside once it is safe: answers, starts, signals, questions.
 * All else goes to the parts. */
#include "engine/turn/engine.h"

#include "core/operation.h"
#include "run/process/process.h"

#include <signal.h>

/* What was sent to an attempt before it could be started. */
typedef enum EarlySignal {
    EARLY_NONE = 1, /* so that an entry is not NULL */
    EARLY_STOP = 2,
    EARLY_TERM = 4,
    EARLY_KILL = 8,
} EarlySignal;

/* With a claim go the jobs that were accepted a moment ago. */
static void reply_items(Engine *engine, Call *call, const Effect *effect)
{
    size_t count = (size_t)effect->count;
    call->items = arena_copy(&call->arena, effect->items, count * sizeof *effect->items);
    if (call->event.kind != EVENT_CLAIM)
        return;
    call->jobs = arena_take(&call->arena, count * sizeof *call->jobs);
    for (size_t i = 0; i < count; i++) {
        Body *body = job_cache_take(&engine->bodies, effect->items[i].id);
        Job job;
        if (body && !body_job(body, &job))
            call->jobs[i] = job_copy(&call->arena, &job);
        body_free(body);
    }
}

static const Refused *refused_copy(Arena *arena, const Effect *effect)
{
    if (!effect->refused_count)
        return NULL;
    Refused *copy =
        arena_copy(arena, effect->refused, effect->refused_count * sizeof *copy);
    for (size_t i = 0; i < effect->refused_count; i++) {
        copy[i].problem = slice_cstr(arena, slice_text(copy[i].problem));
        copy[i].detail = slice_copy(arena, copy[i].detail);
    }
    return copy;
}

static void reply(Engine *engine, const Effect *effect)
{
    Call *call = map_remove(&engine->waiting.calls, effect->request);
    if (!call)
        return; /* no one waits */
    call->err = effect->err;
    if (effect->problem) /* another node's word lives only as long as the turn */
        call->problem = slice_cstr(&call->arena, slice_text(effect->problem));
    if (effect->detail.bytes)
        error_set(&call->why, effect->err, SLICE_FMT, SLICE_ARG(effect->detail));
    call->refused_count = effect->refused_count;
    call->refused = refused_copy(&call->arena, effect);
    call->allowed = effect->allowed;
    call->first = effect->first;
    call->count = effect->count;
    call->node = engine->number;
    call->replayed = effect->replayed;
    if (effect->added_items)
        call->added = arena_copy(&call->arena, effect->added_items,
                                 effect->count * sizeof *effect->added_items);
    if (effect->job) {
        call->job = job_copy(&call->arena, effect->job);
        call->has_job = true;
    }
    if (effect->items)
        reply_items(engine, call, effect);
    call->done(call);
}

/* --- Starts ------------------------------------------------------------------------- */

/* Told as an end in this turn or the next. */
static void cannot_start(Engine *engine, const Effect *effect, const char *text)
{
    RunNews *news = MEM_NEW(RunNews);
    news->kind = RUN_FAILED;
    news->id = effect->id;
    news->attempt = effect->attempt;
    news->node_fault = true; /* not charged */
    buf_printf(&news->text, "cannot start: %s", text);
    mailbox_put(&engine->news, &news->mail);
}

static void ask_for_start(Engine *engine, const Effect *effect, const StartHow *how)
{
    Ask *ask = MEM_NEW(Ask);
    ask->purpose = ASK_START;
    ask->load = (Load){ .kind = LOAD_JOB, .id = effect->id };
    ask->attempt = effect->attempt;
    ask->how = *how;
    ask->needs = engine->durable;
    map_put(&engine->early_signals, effect->id, (void *)(uintptr_t)EARLY_NONE);
    engine->ports->ask(engine->world, ask);
}

static StartHow start_how(const Effect *effect)
{
    return (StartHow){ effect->deadline_ms, effect->slot, effect->warm };
}

/* The whole job: at hand if it was accepted a moment ago, else from the store. */
static void start(Engine *engine, const Effect *effect)
{
    StartHow how = start_how(effect);
    if (!engine->ports->may_start(engine->world)) {
        cannot_start(engine, effect, "the lease of this node is over");
        return;
    }
    Body *body = job_cache_take(&engine->bodies, effect->id);
    Job job;
    if (body && !body_job(body, &job)) {
        job.attempt = effect->attempt;
        job.bookings = effect->bookings;
        map_remove(&engine->early_signals, effect->id); /* of an attempt before */
        engine->ports->start(engine->world, &job, &how);
    } else {
        ask_for_start(engine, effect, &how);
    }
    body_free(body);
}

bool engine_start_early(Engine *engine, const Effect *effect)
{
    const Body *found = effect->warm ? NULL : job_cache_find(&engine->bodies, effect->id);
    StartHow how = start_how(effect);
    Job job;
    if (!found || body_job(found, &job))
        return false;
    job.attempt = effect->attempt;
    job.bookings = effect->bookings;
    if (!engine->ports->prepare(engine->world, &job, &how))
        return false;
    body_free(job_cache_take(&engine->bodies, effect->id));
    return true;
}

/* A signal must not overtake the start that waits for its job. */
static void send_signal(Engine *engine, const Effect *effect)
{
    uintptr_t early = (uintptr_t)map_find(&engine->early_signals, effect->id);
    if (!early) {
        engine->ports->starts_done(engine->world); /* it may be among them */
        engine->ports->signal(engine->world, effect->id, effect->attempt, effect->signal);
        return;
    }
    if (effect->signal == SIGCONT)
        early &= ~(uintptr_t)EARLY_STOP;
    else
        early |= effect->signal == SIGSTOP   ? EARLY_STOP
                 : effect->signal == SIGKILL ? EARLY_KILL
                                             : EARLY_TERM;
    map_put(&engine->early_signals, effect->id, (void *)early);
}

static void send_early_signals(Engine *engine, const Job *job)
{
    static const struct {
        EarlySignal bit;
        int number;
    } signals[] = { { EARLY_STOP, SIGSTOP },
                    { EARLY_TERM, SIGTERM },
                    { EARLY_KILL, SIGKILL } };
    uintptr_t early = (uintptr_t)map_remove(&engine->early_signals, job->id);
    if (early > EARLY_NONE)
        engine->ports->starts_done(engine->world); /* it must be there to get them */
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (early & signals[i].bit)
            engine->ports->signal(engine->world, job->id, job->attempt,
                                  signals[i].number);
}

/* Meanwhile it may have been given up as lost, and perhaps begun again: then signals are
 * for the new attempt. */
static bool still_starts(Engine *engine, const Ask *ask)
{
    RunningJob running;
    if (node_running_find(engine->node, ask->load.id, &running))
        return running.attempt == ask->attempt;
    map_remove(&engine->early_signals, ask->load.id);
    return false;
}

void engine_start_asked(Engine *engine, const Ask *ask)
{
    if (!still_starts(engine, ask))
        return;
    if (!ask->err && ask->loaded.count && engine->ports->may_start(engine->world)) {
        Job job = ask->loaded.jobs[0];
        job.attempt = ask->attempt;
        engine->ports->start(engine->world, &job, &ask->how);
        send_early_signals(engine, &job);
        return;
    }
    map_remove(&engine->early_signals, ask->load.id);
    Event *event = engine_event(engine, EVENT_ENDED);
    event->id = ask->load.id;
    event->attempt = ask->attempt;
    event->ending = (Ending){ .kind = END_NOT_STARTED,
                              .node_fault = true,
                              .progress = -1,
                              .error = SLICE_LITERAL("cannot start: the store could not "
                                                     "give the job") };
}

/* --- All effects -------------------------------------------------------------------- */

static void ask_store(Engine *engine, const Effect *effect)
{
    Ask *ask = MEM_NEW(Ask);
    ask->purpose = ASK_NODE;
    ask->token = effect->token;
    ask->needs = engine->ports->journal_end(engine->world);
    ask->load = load_of(effect, &ask->arena);
    engine->ports->ask(engine->world, ask);
}

bool engine_holds(const Engine *engine, const Effect *effect)
{
    if (!engine->shared)
        return false;
    if (effect->kind == EFFECT_CHANGED)
        return state_in(effect->state, STATES_FINAL);
    if (effect->kind != EFFECT_REPLY)
        return false;
    const Call *call = map_find(&engine->waiting.calls, effect->request);
    return call && !engine_accepts(call->event.kind);
}

static void tell_parts(Engine *engine, const Effect *effect)
{
    for (const EnginePart *const *part = engine->parts; *part; part++)
        if ((*part)->effect)
            (*part)->effect(engine->world, effect);
}

static void defined(Engine *engine, const Effect *effect)
{
    JobId operation;
    tell_parts(engine, effect);
    if (slice_is(effect->table, OPERATION_TABLE) && !id_parse(effect->key, &operation))
        engine_wait_answer(engine, operation, ERR_OK);
}

void engine_effect(Engine *engine, const Effect *effect)
{
    switch (effect->kind) {
    case EFFECT_REPLY:
        reply(engine, effect);
        return;
    case EFFECT_START:
        start(engine, effect);
        return;
    case EFFECT_SIGNAL:
        send_signal(engine, effect);
        return;
    case EFFECT_FORGET:
        engine->ports->forget(engine->world, effect->id, effect->attempt);
        return;
    case EFFECT_LOAD:
        ask_store(engine, effect);
        return;
    case EFFECT_CHANGED:
        tell_parts(engine, effect); /* before anyone hears that it is final */
        if (state_in(effect->state, STATES_FINAL))
            engine_wait_answer(engine, effect->id, ERR_OK);
        return;
    case EFFECT_DEFINED:
        defined(engine, effect);
        return;
    case EFFECT_ERASE:
    case EFFECT_LETTER:
        tell_parts(engine, effect);
        return;
    }
}
