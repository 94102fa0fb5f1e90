/* SPDX-License-Identifier: Apache-2.0 */
/* collect.c - everything that has happened since the last turn, as events: calls of the
 * doors and answers of the store. News of the runner are news.c.
 *
 * Events borrow from the calls, news and answers they came from; those live until
 * engine_collected_free. */
#include "engine/turn/engine.h"

#include "run/process/process.h"

#include <assert.h>

Event *engine_event(Engine *engine, EventKind kind)
{
    Collected *in = &engine->in;
    Event *event = &MEM_PUSH(in->events, in->count, in->capacity);
    *event = (Event){ .kind = kind };
    return event;
}

void engine_answer(Call *call, Err err, const char *problem)
{
    call->err = err;
    call->problem = problem;
    call->done(call);
}

/* --- Reads -------------------------------------------------------------------------- */

static void take_read(Engine *engine, Call *call)
{
    Waiting *waiting = &engine->waiting;
    call->needs = engine->ports->journal_end(engine->world);
    if (engine->ports->silent(engine->world)) {
        engine_answer(call, ERR_UNAVAILABLE, "store_failing");
        return;
    }
    if (call->needs <= engine->applied) {
        engine->ports->read(engine->world, call);
        return;
    }
    if (engine->store_failing) {
        engine_answer(call, ERR_UNAVAILABLE, "store_failing");
        return;
    }
    call->mail.next = NULL;
    *waiting->reads_last = call;
    waiting->reads_last = (Call **)(void *)&call->mail.next;
    engine->ports->hurry(engine->world, call->needs);
}

static void release_reads(Engine *engine)
{
    Waiting *waiting = &engine->waiting;
    while (waiting->reads && waiting->reads->needs <= engine->applied) {
        Call *call = waiting->reads;
        waiting->reads = (Call *)(void *)call->mail.next;
        if (!waiting->reads)
            waiting->reads_last = &waiting->reads;
        engine->ports->read(engine->world, call);
    }
}

/* Nobody knows when the store will have what they want to see. */
static void refuse_reads(Engine *engine)
{
    Call *call = engine->waiting.reads;
    engine->waiting.reads = NULL;
    engine->waiting.reads_last = &engine->waiting.reads;
    while (call) {
        Call *next = (Call *)(void *)call->mail.next;
        engine_answer(call, ERR_UNAVAILABLE, "store_failing");
        call = next;
    }
}

/* --- Calls -------------------------------------------------------------------------- */

bool engine_accepts(EventKind kind)
{
    return kind == EVENT_ADD || kind == EVENT_ADD_LINES || kind == EVENT_CLAIM;
}

/* Jobs are accepted without the store, unless the store is to have them first. */
static bool waits_for_store(const Engine *engine, EventKind kind)
{
    return engine->ack_store || !engine_accepts(kind);
}

/* For what needs the store people would wait for who knows how long. What was decided
 * already takes effect when the store is back. */
void engine_refuse_calls(Engine *engine)
{
    Map *calls = &engine->waiting.calls;
    refuse_reads(engine);
    MapEntry entry;
    for (size_t at = 0; map_next(calls, &at, &entry);) {
        Call *call = entry.value;
        if (!waits_for_store(engine, call->event.kind))
            continue;
        map_remove(calls, entry.key);
        error_set(&call->why, ERR_UNAVAILABLE,
                  "the store does not answer; it may take effect when it does again");
        engine_answer(call, ERR_UNAVAILABLE, "store_failing");
        at = 0; /* what follows may have moved */
    }
}

static void take_event(Engine *engine, Call *call)
{
    if (engine->closing) {
        engine_answer(call, ERR_UNAVAILABLE, "draining");
        return;
    }
    if (engine->ports->refuse(engine->world, call))
        return;
    bool away = engine->ports->silent(engine->world) ||
                (engine->ack_store && engine->store_failing);
    if (away && waits_for_store(engine, call->event.kind)) {
        engine_answer(call, ERR_UNAVAILABLE, "store_failing");
        return;
    }
    Event *event = engine_event(engine, call->event.kind);
    *event = call->event;
    event->request = ++engine->waiting.last;
    map_put(&engine->waiting.calls, event->request, call);
}

static void take_call(Engine *engine, Call *call)
{
    switch (call->kind) {
    case CALL_EVENT:
        take_event(engine, call);
        return;
    case CALL_READ:
        take_read(engine, call);
        return;
    case CALL_LOOK:
        call->look(call, engine->daemon);
        call->done(call);
        return;
    case CALL_WAIT:
        engine_wait_add(engine, call);
        return;
    case CALL_PIPELINE:
    case CALL_AFAR:
    case CALL_SETTLE:
    case CALL_TRY:
        engine->ports->call(engine->world, call);
        return;
    }
}

static void take_calls(Engine *engine)
{
    for (Mail *mail = mailbox_take(&engine->calls); mail;) {
        Mail *next = mail->next;
        take_call(engine, (Call *)(void *)mail);
        mail = next;
    }
}

/* --- Answers of the store ----------------------------------------------------------- */

/* The last turn wholly inside what the store has applied. */
static void applied_up_to(Engine *engine, uint64_t position)
{
    Turns *turns = &engine->turns;
    if (position > engine->applied)
        engine->applied = position;
    while (turns->mark_first < turns->mark_count &&
           turns->marks[turns->mark_first].end <= position)
        engine->applied_number = turns->marks[turns->mark_first++].number;
    if (!turns->mark_first || turns->mark_first * 2 < turns->mark_count)
        return;
    turns->mark_count -= turns->mark_first;
    memmove(turns->marks, turns->marks + turns->mark_first,
            turns->mark_count * sizeof *turns->marks);
    turns->mark_first = 0;
}

static void take_ingest_news(Engine *engine, const IngestNews *news)
{
    engine->store_failing = news->err != ERR_OK;
    /* The disk of a shared store is another one: then the journal has room as before. */
    engine->store_full = news->err == ERR_FULL && !engine->shared;
    engine->refused = engine->refused || news->lost;
    for (const EnginePart *const *part = engine->parts; *part; part++)
        if ((*part)->stored)
            (*part)->stored(engine->world, news);
    applied_up_to(engine, news->applied);
    engine_event(engine, EVENT_APPLIED)->number = engine->applied_number;
    release_reads(engine);
    if (engine->store_failing && engine->ack_store)
        engine_refuse_calls(engine);
    else if (engine->store_failing)
        refuse_reads(engine);
}

/* What comes into a lane's window will start soon: then its job is at hand. One that was
 * changed since the store was read is another by now. */
static void keep_bodies(Engine *engine, const Ask *ask)
{
    size_t kept = 0;
    for (size_t i = 0; i < ask->loaded.count && kept < BODIES_AT_ONCE; i++) {
        const Job *job = &ask->loaded.jobs[i];
        if (!(job->flags & JOB_PAYLOAD_APART) &&
            !node_changed_since(engine->node, job->id, engine->applied_number))
            kept += job_cache_put(&engine->bodies, job);
    }
}

static void take_node_answer(Engine *engine, const Ask *ask)
{
    if (ask->load.kind == LOAD_WINDOW && !ask->load.pull)
        keep_bodies(engine, ask);
    Event *event = engine_event(engine, EVENT_LOADED);
    event->token = ask->token;
    event->number = engine->applied_number;
    event->err = ask->err;
    loaded_tell(&ask->loaded, event);
}

static void take_wait_answer(Engine *engine, const Ask *ask)
{
    if (ask->err)
        return; /* its end will be told */
    if (!ask->loaded.count)
        engine_wait_answer(engine, ask->load.id, ERR_NOT_FOUND);
    else if (state_in(ask->loaded.jobs[0].state, STATES_FINAL))
        engine_wait_answer(engine, ask->load.id, ERR_OK);
}

static void take_answer(Engine *engine, const Ask *ask)
{
    assert(ask->err || ask->applied >= ask->needs); /* it saw what it had to see */
    applied_up_to(engine, ask->applied);
    switch (ask->purpose) {
    case ASK_NODE:
        take_node_answer(engine, ask);
        return;
    case ASK_START:
        engine_start_asked(engine, ask);
        return;
    case ASK_NOTIFY:
        for (const EnginePart *const *part = engine->parts; *part; part++)
            if ((*part)->answered)
                (*part)->answered(engine->world, ask);
        return;
    case ASK_WAIT:
        take_wait_answer(engine, ask);
        return;
    }
}

static Mail **last_of(Mail **list)
{
    while (*list)
        list = &(*list)->next;
    return list;
}

static void take_answers(Engine *engine)
{
    Mail **last = last_of(&engine->in.used_asks);
    *last = mailbox_take(&engine->answers);
    for (Mail *mail = *last; mail; mail = mail->next) {
        const Ask *ask = (const Ask *)(const void *)mail;
        if (ask->is_news)
            take_ingest_news(engine, (const IngestNews *)(const void *)mail);
        else
            take_answer(engine, ask);
    }
}

static void take_runner(Engine *engine)
{
    Mail **last = last_of(&engine->in.used_news);
    Mail *first = engine->in.early_news;
    engine->in.early_news = NULL;
    *last_of(&first) = mailbox_take(&engine->news);
    *last = first;
    for (Mail *mail = first; mail; mail = mail->next)
        engine_take_news(engine, (RunNews *)(void *)mail);
}

static void take_room(Engine *engine, Now now)
{
    bool no_room = !engine->ports->has_room(engine->world, now);
    if (no_room == engine->no_room)
        return;
    engine->no_room = no_room;
    engine_event(engine, EVENT_ROOM)->flag = !no_room;
}

void engine_collect(Engine *engine, Now now)
{
    take_room(engine, now);
    for (const EnginePart *const *part = engine->parts; *part; part++)
        if ((*part)->collect && !(*part)->collect(engine->world, now))
            return;
    take_answers(engine);
    take_runner(engine);
    take_calls(engine);
    for (const EnginePart *const *part = engine->parts; *part; part++)
        if ((*part)->collect_last)
            (*part)->collect_last(engine->world, now);
}

void engine_collected_free(Engine *engine)
{
    Collected *in = &engine->in;
    for (Mail *mail = in->used_news; mail;) {
        Mail *next = mail->next;
        run_news_free((RunNews *)(void *)mail);
        mail = next;
    }
    for (Mail *mail = in->used_asks; mail;) {
        Mail *next = mail->next;
        ask_mail_free(mail);
        mail = next;
    }
    in->used_news = in->used_asks = NULL;
    in->count = 0;
    arena_reset(&in->step);
}

void engine_collected_drop(Engine *engine)
{
    Collected *in = &engine->in;
    *last_of(&in->used_news) = in->early_news;
    in->early_news = NULL;
    *last_of(&in->used_news) = mailbox_take(&engine->news);
    *last_of(&in->used_asks) = mailbox_take(&engine->answers);
    engine_collected_free(engine);
}
