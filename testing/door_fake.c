/* SPDX-License-Identifier: Apache-2.0 */
/* door_fake.c - see door_fake.h. */
#include "testing/door_fake.h"

#include "config/in_force.h"
#include "config/settings.h"
#include "model/claim_token.h"
#include "pipeline/processor/signals.h"
#include "store/memory/memory.h"
#include "watch/alerts.h"
#include "watch/event_listener.h"
#include "watch/metrics.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef enum PokeKind { POKE_CALL, POKE_END, POKE_ROOM, POKE_NONE } PokeKind;

typedef struct Poke { /* what a test tells the fake */
    Mail mail;
    PokeKind kind;
    JobId id;
    int exit_status;
    char *result;
    bool flag;
} Poke;

typedef struct Question { /* a load that is answered in the next step */
    Loaded loaded;
    uint64_t token;
    Err err;
} Question;

struct Daemon {
    Mailbox calls;
    Mailbox pokes;
    pthread_t thread;
    Node *node;
    Store *store;
    Metrics *metrics;
    EventLog event_log;
    DaemonFacts facts;
    char *data_dir;
    Outbox out;
    uint64_t applied;

    Event *events;
    size_t event_count;
    size_t event_capacity;
    Question *questions;
    size_t question_count;
    size_t question_capacity;
    Call **waiters;
    size_t waiter_count;
    size_t waiter_capacity;
    Call **reads;
    size_t read_count;
    size_t read_capacity;
    Poke *used; /* of this step */

    atomic_bool stall;
    atomic_ullong answered;
    atomic_size_t held;
    const char *_Atomic not_ready;
};

static void answer(Daemon *daemon, Call *call)
{
    daemon->answered++;
    daemon->held--;
    call->done(call);
}

static Event *new_event(Daemon *daemon, EventKind kind)
{
    Event *event = &MEM_PUSH(daemon->events, daemon->event_count, daemon->event_capacity);
    *event = (Event){ .kind = kind };
    return event;
}

/* --- Effects ---------------------------------------------------------------------------
 */

static void reply(Daemon *daemon, const Effect *effect)
{
    Call *call = (Call *)(uintptr_t)effect->request;
    if (!call)
        return;
    call->err = effect->err;
    call->problem = effect->problem;
    call->allowed = effect->allowed;
    call->first = effect->first;
    call->count = effect->count;
    call->node = daemon->facts.node;
    call->replayed = effect->replayed;
    if (effect->added_items)
        call->added = arena_copy(&call->arena, effect->added_items,
                                 effect->count * sizeof *effect->added_items);
    if (effect->items)
        call->items = arena_copy(&call->arena, effect->items,
                                 effect->count * sizeof *effect->items);
    call->has_job = effect->job != NULL;
    if (effect->job)
        call->job = job_copy(&call->arena, effect->job);
    answer(daemon, call);
}

static void ask(Daemon *daemon, const Effect *effect)
{
    Arena arena = { 0 };
    Load load = load_of(effect, &arena);
    Question question = { .token = effect->token };
    Error why;
    question.err =
        daemon->store->kind->load(daemon->store, &load, &question.loaded, &why);
    arena_done(&arena);
    MEM_PUSH(daemon->questions, daemon->question_count, daemon->question_capacity) =
        question;
}

static void end_attempt(Daemon *daemon, JobId id, uint32_t attempt, int32_t signal)
{
    Event *event = new_event(daemon, EVENT_ENDED);
    event->id = id;
    event->attempt = attempt;
    event->ending = (Ending){ .kind = signal ? END_SIGNALLED : END_EXITED,
                              .signal = signal,
                              .exit_status = signal ? -1 : 0,
                              .progress = -1 };
}

static void define(Daemon *daemon, const Effect *effect)
{
    NodeSettings settings = *node_settings(daemon->node);
    Error why;
    if (slice_is(effect->table, SETTINGS_TABLE) &&
        !settings_apply(&settings, effect->key, effect->value, &why))
        node_settings_set(daemon->node, &settings);
}

static void run_effect(Daemon *daemon, const Effect *effect)
{
    switch (effect->kind) {
    case EFFECT_REPLY:
        reply(daemon, effect);
        return;
    case EFFECT_LOAD:
        ask(daemon, effect);
        return;
    case EFFECT_SIGNAL:
        if (effect->signal == 15 || effect->signal == 9)
            end_attempt(daemon, effect->id, effect->attempt, effect->signal);
        return;
    case EFFECT_CHANGED:
        metrics_changed(daemon->metrics, effect);
        event_log_add(&daemon->event_log, effect, clock_now().wall_ms);
        return;
    case EFFECT_DEFINED:
        define(daemon, effect);
        return;
    case EFFECT_START:
    case EFFECT_FORGET:
    case EFFECT_ERASE:
    case EFFECT_LETTER:
        return;
    }
}

/* --- Steps
 * -------------------------------------------------------------------------------- */

static void take_call(Daemon *daemon, Call *call)
{
    daemon->held++;
    switch (call->kind) {
    case CALL_EVENT: {
        Event *event = new_event(daemon, call->event.kind);
        *event = call->event;
        event->request = (Requester)(uintptr_t)call;
        return;
    }
    case CALL_READ:
        MEM_PUSH(daemon->reads, daemon->read_count, daemon->read_capacity) = call;
        return;
    case CALL_LOOK:
        call->look(call, daemon);
        answer(daemon, call);
        return;
    case CALL_TRY: /* nothing runs here */
        call->err = ERR_UNAVAILABLE;
        answer(daemon, call);
        return;
    case CALL_PIPELINE: /* no processors here */
        if (call->order->kind == ORDER_LIST) {
            buf_add_text(&call->order->out, "{\"items\":[],\"next_cursor\":null}");
        } else {
            call->err = ERR_NOT_FOUND;
            call->problem = "processor_not_found";
        }
        answer(daemon, call);
        return;
    case CALL_AFAR: /* no one else is here */
        call->err = ERR_NOT_FOUND;
        call->problem = "node_not_found";
        answer(daemon, call);
        return;
    case CALL_SETTLE: /* likewise */
        call->count = 1;
        answer(daemon, call);
        return;
    case CALL_WAIT:
        call->deadline_boot = clock_now().boot_ms + call->timeout_ms;
        MEM_PUSH(daemon->waiters, daemon->waiter_count, daemon->waiter_capacity) = call;
        return;
    }
}

typedef struct Find {
    JobId id;
    uint32_t attempt;
} Find;

static void find_running(void *context, const RunningJob *job)
{
    Find *find = context;
    if (job->id == find->id)
        find->attempt = job->attempt;
}

/* False: it does not run yet, so the poke must come again. */
static bool take_poke(Daemon *daemon, const Poke *poke)
{
    if (poke->kind == POKE_ROOM)
        new_event(daemon, EVENT_ROOM)->flag = poke->flag;
    if (poke->kind != POKE_END)
        return true;
    Find find = { .id = poke->id };
    node_running(daemon->node, find_running, &find);
    if (!find.attempt)
        return false;
    end_attempt(daemon, poke->id, find.attempt, 0);
    Ending *ending = &daemon->events[daemon->event_count - 1].ending;
    ending->exit_status = poke->exit_status;
    ending->result = slice_text(poke->result);
    return true;
}

static void take_pokes(Daemon *daemon)
{
    for (Mail *mail = mailbox_take(&daemon->pokes); mail;) {
        Poke *poke = (Poke *)(void *)mail;
        mail = mail->next;
        if (!take_poke(daemon, poke)) {
            mailbox_put(&daemon->pokes, &poke->mail);
            continue;
        }
        poke->mail.next = (Mail *)(void *)daemon->used;
        daemon->used = poke;
    }
}

static void free_used(Daemon *daemon)
{
    while (daemon->used) {
        Poke *poke = daemon->used;
        daemon->used = (Poke *)(void *)poke->mail.next;
        mem_free(poke->result);
        mem_free(poke);
    }
}

static void answer_questions(Daemon *daemon)
{
    for (size_t i = 0; i < daemon->question_count; i++) {
        const Question *question = &daemon->questions[i];
        Event *event = new_event(daemon, EVENT_LOADED);
        event->token = question->token;
        event->number = daemon->applied;
        event->err = question->err;
        loaded_tell(&question->loaded, event);
    }
}

static void answer_reads(Daemon *daemon)
{
    for (size_t i = 0; i < daemon->read_count; i++) {
        daemon->reads[i]->read(daemon->reads[i], daemon->store);
        answer(daemon, daemon->reads[i]);
    }
    daemon->read_count = 0;
}

static bool job_is_over(Daemon *daemon, JobId id, Err *out_err)
{
    Load load = { .kind = LOAD_JOB, .id = id };
    Loaded loaded = { 0 };
    Error why;
    *out_err = daemon->store->kind->load(daemon->store, &load, &loaded, &why);
    bool over = !loaded.count || state_in(loaded.jobs[0].state, STATES_FINAL);
    if (!loaded.count)
        *out_err = ERR_NOT_FOUND;
    loaded_done(&loaded);
    return over;
}

static void answer_waiters(Daemon *daemon)
{
    for (size_t i = 0; i < daemon->waiter_count;) {
        Call *call = daemon->waiters[i];
        Err err = ERR_OK;
        bool over = job_is_over(daemon, call->event.id, &err);
        if (!over && call->deadline_boot > clock_now().boot_ms) {
            i++;
            continue;
        }
        call->err = over ? err : ERR_TIMEOUT;
        daemon->waiters[i] = daemon->waiters[--daemon->waiter_count];
        answer(daemon, call);
    }
}

static void step(Daemon *daemon)
{
    answer_questions(daemon);
    size_t questions = daemon->question_count;
    outbox_clear(&daemon->out);
    node_step(daemon->node, clock_now(), daemon->events, daemon->event_count,
              &daemon->out);
    const Batch batches[2] = { daemon->out.adds, daemon->out.batch };
    Error why;
    for (size_t i = 0; i < 2; i++) {
        Batch batch = batches[i];
        batch.number = 0; /* both carry the turn's number, and each must be applied */
        if (batch.count &&
            daemon->store->kind->commit(daemon->store, &batch, 1, NULL, &why))
            abort();
    }
    daemon->applied = daemon->out.number;
    daemon->event_count = 0;
    for (size_t i = 0; i < questions; i++)
        loaded_done(&daemon->questions[i].loaded);
    daemon->question_count = 0;
    free_used(daemon);
    for (size_t i = 0; i < daemon->out.effect_count; i++)
        run_effect(daemon, &daemon->out.effects[i]);
    new_event(daemon, EVENT_APPLIED)->number = daemon->applied;
}

static void *run(void *context)
{
    Daemon *daemon = context;
    while (!mailbox_closed(&daemon->calls)) {
        bool stall = daemon->stall;
        Mail *mail = stall ? NULL : mailbox_wait(&daemon->calls, 5);
        if (stall)
            poll(NULL, 0, 2);
        while (mail) {
            Mail *next = mail->next;
            take_call(daemon, (Call *)(void *)mail);
            mail = next;
        }
        take_pokes(daemon);
        do {
            step(daemon);
        } while (daemon->question_count || daemon->event_count > 1);
        answer_reads(daemon);
        answer_waiters(daemon);
    }
    return NULL;
}

/* --- call.h
 * --------------------------------------------------------------------------------- */

void daemon_call(Daemon *daemon, Call *call)
{
    mailbox_put(&daemon->calls, &call->mail);
}

void daemon_call_here(Daemon *daemon, Call *call)
{
    daemon_call(daemon, call);
}

Node *daemon_node(Daemon *daemon)
{
    return daemon->node;
}

const Metrics *daemon_metrics(const Daemon *daemon)
{
    return daemon->metrics;
}

void daemon_in_force(const Daemon *daemon, InForce *out)
{
    *out = (InForce){ .settings = daemon_first_settings(daemon) };
}

const NodeSettings *daemon_first_settings(const Daemon *daemon)
{
    static NodeSettings first;
    (void)daemon;
    first = node_settings_default();
    return &first;
}

void daemon_quit(Daemon *daemon)
{
    daemon->facts.legacy = false; /* what a test can see */
}

/* The fake watches no rules. */
void alerts_firing(const Alerts *alerts, AlertSink *sink, void *context)
{
    (void)alerts;
    (void)sink;
    (void)context;
}

size_t alerts_firing_count(const Alerts *alerts)
{
    (void)alerts;
    return 0;
}

const struct Alerts *daemon_alerts(const Daemon *daemon)
{
    (void)daemon;
    return NULL;
}

bool daemon_declared(const Daemon *daemon, Slice table, Slice tenant, Slice key)
{
    (void)daemon;
    (void)table;
    (void)tenant;
    return slice_is(key, "declared");
}

void daemon_event_sources(Daemon *daemon, EventSources *out)
{
    *out = (EventSources){ .own = &daemon->event_log };
}

const DaemonFacts *daemon_facts(const Daemon *daemon)
{
    return &daemon->facts;
}

bool daemon_ready(const Daemon *daemon, const char **out_why)
{
    *out_why = daemon->not_ready;
    return !daemon->not_ready;
}

/* --- The tests' side
 * -------------------------------------------------------------------------- */

static const ClaimKey fake_key = { { 1, 2, 3 } };

Daemon *fake_new(const char *data_dir, uint32_t slots)
{
    Daemon *daemon = MEM_NEW(Daemon);
    daemon->data_dir = mem_copy(data_dir, strlen(data_dir) + 1);
    daemon->facts = (DaemonFacts){
        .data_dir = daemon->data_dir,
        .sysid = "fake",
        .node = 3,
        .started_ms = clock_now().wall_ms,
        .listen = "",
        .store_url = "memory:",
        .payload_bytes_max = 1 << 20,
        .body_bytes_max = 64 << 20,
        .result_bytes_max = 1 << 20,
        .claim_key = &fake_key,
    };
    NodeOptions options = { .sysid = SLICE_LITERAL("fake"),
                            .number = daemon->facts.node,
                            .seed = 1,
                            .settings = node_settings_default() };
    options.settings.slots = slots;
    daemon->node = node_new(&options);
    node_recovered(daemon->node);
    daemon->store = store_memory_new();
    daemon->metrics = metrics_new();
    event_log_init(&daemon->event_log, 1, "fake");
    mailbox_init(&daemon->calls);
    mailbox_init(&daemon->pokes);
    pthread_create(&daemon->thread, NULL, run, daemon);
    return daemon;
}

void fake_free(Daemon *daemon)
{
    mailbox_close(&daemon->calls);
    pthread_join(daemon->thread, NULL);
    take_pokes(daemon);
    free_used(daemon);
    for (Mail *mail = mailbox_take(&daemon->pokes); mail;) {
        Poke *poke = (Poke *)(void *)mail;
        mail = mail->next;
        mem_free(poke->result);
        mem_free(poke);
    }
    node_free(daemon->node);
    store_close(daemon->store);
    metrics_free(daemon->metrics);
    event_log_done(&daemon->event_log);
    outbox_done(&daemon->out);
    mem_free(daemon->events);
    mem_free(daemon->questions);
    mem_free(daemon->waiters);
    mem_free(daemon->reads);
    mailbox_done(&daemon->calls);
    mailbox_done(&daemon->pokes);
    mem_free(daemon->data_dir);
    mem_free(daemon);
}

static Poke *poke_new(PokeKind kind)
{
    Poke *poke = MEM_NEW(Poke);
    poke->kind = kind;
    return poke;
}

void fake_end(Daemon *daemon, JobId id, int exit_status, const char *result)
{
    Poke *poke = poke_new(POKE_END);
    poke->id = id;
    poke->exit_status = exit_status;
    poke->result = result ? mem_copy(result, strlen(result) + 1) : NULL;
    mailbox_put(&daemon->pokes, &poke->mail);
}

void fake_room(Daemon *daemon, bool room)
{
    Poke *poke = poke_new(POKE_ROOM);
    poke->flag = room;
    mailbox_put(&daemon->pokes, &poke->mail);
}

void fake_stall(Daemon *daemon, bool stall)
{
    daemon->stall = stall;
}

uint64_t fake_answered(const Daemon *daemon)
{
    return daemon->answered;
}

size_t fake_held(const Daemon *daemon)
{
    return daemon->held;
}

void fake_not_ready(Daemon *daemon, const char *why)
{
    daemon->not_ready = why;
}
