/* SPDX-License-Identifier: Apache-2.0 */
/* door_fake.c - see door_fake.h. */
#include "testing/door_fake.h"

#include "config/in_force.h"
#include "config/settings.h"
#include "engine/turn/engine.h"
#include "engine/turn/ingest.h"
#include "journal/memory.h"
#include "model/claim_token.h"
#include "pipeline/processor/signals.h"
#include "run/process/process.h"
#include "store/memory/memory.h"
#include "watch/alerts.h"
#include "watch/event_listener.h"
#include "watch/metrics.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>

typedef struct Poke { /* what a test tells the fake */
    Mail mail;
    JobId id;
    int exit_status;
    char *result;
} Poke;

static Daemon *fake; /* a test has one at a time */

struct Daemon {
    Engine engine;
    Ingest ingest;
    MemoryJournal journal;
    Store *store;
    Mailbox doors; /* calls, until it takes them */
    Mailbox pokes;
    pthread_t thread;
    Metrics *metrics;
    EventLog event_log;
    DaemonFacts facts;
    char *data_dir;

    atomic_bool stall;
    atomic_bool no_room;
    atomic_ullong answered;
    atomic_size_t held;
    const char *_Atomic not_ready;
};

/* --- Ports: a journal and a store in memory, and nothing that runs --------------------
 */

static Now port_now(void *world)
{
    (void)world;
    return clock_now();
}

static void port_journal_write(void *world, const Record *record, Buf *give)
{
    Daemon *daemon = world;
    (void)give;
    memory_journal_write(&daemon->journal, record);
}

static uint64_t port_journal_end(const void *world)
{
    const Daemon *daemon = world;
    return memory_journal_end(&daemon->journal);
}

static void port_journal_flush(void *world, bool here)
{
    Daemon *daemon = world;
    (void)here;
    memory_journal_sync(&daemon->journal, memory_journal_end(&daemon->journal));
    engine_durable(&daemon->engine, daemon->journal.durable);
}

static bool port_journal_quick(const void *world)
{
    (void)world;
    return true;
}

static bool port_has_room(void *world, Now now)
{
    const Daemon *daemon = world;
    (void)now;
    return !daemon->no_room;
}

static void port_ask(void *world, Ask *ask)
{
    Daemon *daemon = world;
    ingest_take(&daemon->ingest, ask);
}

static void port_hurry(void *world, uint64_t position)
{
    (void)world;
    (void)position;
}

static void port_read(void *world, Call *call)
{
    const Daemon *daemon = world;
    call->read(call, daemon->store);
    call->done(call);
}

/* It "runs" until a test ends it. */
static void port_start(void *world, const Job *job, const StartHow *how)
{
    (void)world;
    (void)job;
    (void)how;
}

static bool port_prepare(void *world, const Job *job, const StartHow *how)
{
    (void)world;
    (void)job;
    (void)how;
    return false;
}

static void port_attempt(void *world, JobId id, uint32_t attempt)
{
    (void)world;
    (void)id;
    (void)attempt;
}

static RunNews *ended(JobId id, uint32_t attempt)
{
    RunNews *news = MEM_NEW(RunNews);
    news->kind = RUN_ENDED;
    news->id = id;
    news->attempt = attempt;
    news->end.progress = -1;
    return news;
}

static void port_signal(void *world, JobId id, uint32_t attempt, int number)
{
    Daemon *daemon = world;
    if (number != SIGTERM && number != SIGKILL)
        return;
    RunNews *news = ended(id, attempt);
    news->end.signal = number;
    news->end.exit_status = -1;
    mailbox_put(&daemon->engine.news, &news->mail);
}

static void port_starts_done(void *world)
{
    (void)world;
}

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

static bool port_refuse(void *world, Call *call)
{
    (void)world;
    (void)call;
    return false;
}

/* Nothing runs here, there are no processors, and no one else. */
static void port_call(void *world, Call *call)
{
    (void)world;
    if (call->kind == CALL_PIPELINE && call->order->kind == ORDER_LIST) {
        buf_add_text(&call->order->out, "{\"items\":[],\"next_cursor\":null}");
        call->done(call);
    } else if (call->kind == CALL_PIPELINE) {
        engine_answer(call, ERR_NOT_FOUND, "processor_not_found");
    } else if (call->kind == CALL_SETTLE) {
        call->count = 1;
        call->done(call);
    } else if (call->kind == CALL_TRY) {
        engine_answer(call, ERR_UNAVAILABLE, NULL);
    } else {
        engine_answer(call, ERR_NOT_FOUND, "node_not_found");
    }
}

static const EnginePorts fake_ports = {
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
    .go = port_attempt,
    .signal = port_signal,
    .forget = port_attempt,
    .starts_done = port_starts_done,
    .may_start = port_may_start,
    .silent = port_silent,
    .call = port_call,
    .refuse = port_refuse,
};

static uint64_t ingest_durable(void *world)
{
    const Daemon *daemon = world;
    return daemon->journal.durable;
}

static JournalToken ingest_reserve(void *world, size_t bytes_max, Now now)
{
    const Daemon *daemon = world;
    (void)bytes_max;
    (void)now;
    return daemon->journal.read < daemon->journal.durable ? daemon->journal.read + 1 : 0;
}

static Err ingest_read(void *world, JournalToken token, Batch *out, Error *why)
{
    Daemon *daemon = world;
    (void)token;
    return memory_journal_read(&daemon->journal, 1 << 20, out, why);
}

static Err ingest_rsync(void *world, JournalToken token)
{
    (void)world;
    (void)token;
    return ERR_OK;
}

static Err ingest_rewind(void *world, uint64_t position, Error *why)
{
    (void)world;
    (void)position;
    return error_set(why, ERR_NOT_FOUND, "nothing goes back here");
}

static void ingest_trim(void *world, uint64_t position, Now now)
{
    Daemon *daemon = world;
    (void)now;
    memory_journal_trim(&daemon->journal, position);
}

static const IngestPorts fake_ingest_ports = {
    .now = port_now,
    .durable = ingest_durable,
    .reserve = ingest_reserve,
    .read = ingest_read,
    .rsync = ingest_rsync,
    .rewind = ingest_rewind,
    .trim = ingest_trim,
};

static void effect(void *world, const Effect *effect)
{
    Daemon *daemon = world;
    NodeSettings settings = *node_settings(daemon->engine.node);
    Error why;
    if (effect->kind == EFFECT_CHANGED) {
        metrics_changed(daemon->metrics, effect);
        event_log_add(&daemon->event_log, effect, clock_now().wall_ms);
    }
    if (effect->kind == EFFECT_DEFINED && slice_is(effect->table, SETTINGS_TABLE) &&
        !settings_apply(&settings, effect->key, effect->value, &why))
        node_settings_set(daemon->engine.node, &settings);
}

static const EnginePart fake_part = { .name = "fake", .effect = effect };
static const EnginePart *const fake_parts[] = { &fake_part, NULL };

/* --- Its thread -----------------------------------------------------------------------
 */

/* Tests ask how many calls it has: each goes back by way of here. */
static void done(Call *call)
{
    Daemon *daemon = fake;
    daemon->answered++;
    daemon->held--;
    call->done = call->on_loop;
    call->done(call);
}

static void take_calls(Daemon *daemon, Mail *mail)
{
    while (mail) {
        Mail *next = mail->next;
        Call *call = (Call *)(void *)mail;
        daemon->held++;
        call->on_loop = call->done;
        call->done = done;
        mailbox_put(&daemon->engine.calls, &call->mail);
        mail = next;
    }
}

static void poke_free(Poke *poke)
{
    mem_free(poke->result);
    mem_free(poke);
}

/* False: it does not run yet, so the poke must come again. */
static bool take_poke(Daemon *daemon, const Poke *poke)
{
    RunningJob running;
    if (!node_running_find(daemon->engine.node, poke->id, &running))
        return false;
    RunNews *news = ended(poke->id, running.attempt);
    news->end.exit_status = poke->exit_status;
    if (poke->result)
        buf_add_text(&news->text, poke->result);
    mailbox_put(&daemon->engine.news, &news->mail);
    return true;
}

static void take_pokes(Daemon *daemon)
{
    for (Mail *mail = mailbox_take(&daemon->pokes); mail;) {
        Poke *poke = (Poke *)(void *)mail;
        mail = mail->next;
        if (take_poke(daemon, poke))
            poke_free(poke);
        else
            mailbox_put(&daemon->pokes, &poke->mail);
    }
}

static void turn(Daemon *daemon)
{
    do {
        engine_turn(&daemon->engine);
        while (ingest_one(&daemon->ingest))
            ;
        ingest_answer(&daemon->ingest);
        ingest_sync(&daemon->ingest);
    } while (daemon->engine.answers.first || daemon->engine.news.first);
}

static void *run(void *context)
{
    Daemon *daemon = context;
    while (!mailbox_closed(&daemon->doors)) {
        if (daemon->stall)
            poll(NULL, 0, 2);
        else
            take_calls(daemon, mailbox_wait(&daemon->doors, 5));
        take_pokes(daemon);
        turn(daemon);
    }
    return NULL;
}

void daemon_call(Daemon *daemon, Call *call)
{
    mailbox_put(&daemon->doors, &call->mail);
}

void daemon_call_here(Daemon *daemon, Call *call)
{
    daemon_call(daemon, call);
}

Node *daemon_node(Daemon *daemon)
{
    return daemon->engine.node;
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

static void open_engine(Daemon *daemon, uint32_t slots)
{
    Error why = { 0 };
    EngineStart start = { .store = daemon->store,
                          .node = { .sysid = SLICE_LITERAL("fake"),
                                    .number = daemon->facts.node,
                                    .seed = 1,
                                    .settings = node_settings_default() } };
    start.node.settings.slots = slots;
    memory_journal_init(&daemon->journal, daemon->facts.node, 1);
    engine_init(&daemon->engine, &fake_ports, daemon);
    daemon->engine.parts = fake_parts;
    daemon->engine.daemon = daemon;
    ingest_init(&daemon->ingest, &(IngestOptions){ .ports = &fake_ingest_ports,
                                                   .world = daemon,
                                                   .store = daemon->store,
                                                   .answers = &daemon->engine.answers,
                                                   .node = daemon->facts.node });
    Err err = engine_recover(&daemon->engine, &start, &why);
    assert(!err);
    (void)err;
    node_recovered(daemon->engine.node);
}

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
    daemon->store = store_memory_new();
    daemon->metrics = metrics_new();
    event_log_init(&daemon->event_log, 1, "fake");
    mailbox_init(&daemon->doors);
    mailbox_init(&daemon->pokes);
    open_engine(daemon, slots);
    fake = daemon;
    pthread_create(&daemon->thread, NULL, run, daemon);
    return daemon;
}

void fake_free(Daemon *daemon)
{
    mailbox_close(&daemon->doors);
    pthread_join(daemon->thread, NULL);
    for (Mail *mail = mailbox_take(&daemon->pokes); mail;) {
        Poke *poke = (Poke *)(void *)mail;
        mail = mail->next;
        poke_free(poke);
    }
    ingest_done(&daemon->ingest);
    engine_done(&daemon->engine);
    memory_journal_done(&daemon->journal);
    store_close(daemon->store);
    metrics_free(daemon->metrics);
    event_log_done(&daemon->event_log);
    mailbox_done(&daemon->doors);
    mailbox_done(&daemon->pokes);
    mem_free(daemon->data_dir);
    mem_free(daemon);
}

void fake_end(Daemon *daemon, JobId id, int exit_status, const char *result)
{
    Poke *poke = MEM_NEW(Poke);
    poke->id = id;
    poke->exit_status = exit_status;
    poke->result = result ? mem_copy(result, strlen(result) + 1) : NULL;
    mailbox_put(&daemon->pokes, &poke->mail);
}

void fake_room(Daemon *daemon, bool room)
{
    daemon->no_room = !room;
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
