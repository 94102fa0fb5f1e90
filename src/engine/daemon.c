/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.c - see daemon.h. Here: opening and closing in order. The loop is loop.c. */
#include "engine/daemon_state.h"

#include "watch/alerts.h"
#include "watch/notices.h"

#include "access/security.h"
#include "base/log.h"
#include "cluster/cluster.h"
#include "cluster/offline_start.h"
#include "cluster/remote_events.h"
#include "cluster/remote_order.h"
#include "config/in_force.h"
#include "config/settings.h"
#include "engine/claim_key.h"
#include "engine/leftovers.h"
#include "engine/loop.h"
#include "engine/processors.h"
#include "engine/store_await.h"
#include "http/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADOPT_WAIT_MS  (20 * MS_PER_S)    /* for the launcher to tell what it has */
#define LARGE_BYTES    ((size_t)4 << 20)  /* a record for which room is made first */
#define HERE_BYTES_MAX ((size_t)64 << 10) /* more would keep the caller too long */
#define LAST_SYNC_MS   (5 * MS_PER_S)     /* for adds that are not told yet */
#define LARGE_ROOM_MS  (2 * MS_PER_S)

/* Called by the journal's thread, or by the loop in the middle of a turn. */
static void on_durable(void *context, uint64_t position, Err err)
{
    Daemon *daemon = context;
    if (err)
        daemon->journal_err = (int)err;
    else
        engine_durable(&daemon->engine, position);
    if (daemon->ingest)
        ingest_thread_wake(daemon->ingest);
    if (err || !loop_is_turning())
        loop_wake(daemon);
}

static size_t event_bytes(const Event *event)
{
    size_t bytes = event->body.bytes;
    for (size_t i = 0; event->kind == EVENT_ADD && i < event->count; i++)
        bytes += event->jobs[i].payload.bytes;
    return bytes;
}

static size_t call_bytes(const Call *call)
{
    return call->kind == CALL_EVENT ? event_bytes(&call->event) : 0;
}

/* A large record must not find the disk full when it is its turn: the ends of jobs
 * behind it would have to wait. So its room is made before it enters the line. */
static bool has_room(Daemon *daemon, const Call *call)
{
    size_t bytes = call_bytes(call);
    return bytes < LARGE_BYTES ||
           !journal_make_room(daemon->journal, bytes + LARGE_BYTES, LARGE_ROOM_MS);
}

void daemon_call(Daemon *daemon, Call *call)
{
    if (!has_room(daemon, call)) {
        call->err = ERR_FULL;
        call->problem = "journal_full";
        call->done(call);
        return;
    }
    bool gathers = call->kind == CALL_EVENT;
    mailbox_put_quiet(&daemon->engine.calls, &call->mail);
    /* From here on the call is not ours: it may be done, and freed. */
    if (!gathers || !loop_comes(daemon))
        loop_wake(daemon);
}

void daemon_call_here(Daemon *daemon, Call *call)
{
    if (call_bytes(call) > HERE_BYTES_MAX || !loop_turn_here(daemon, call))
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

void daemon_event_sources(Daemon *daemon, EventSources *out)
{
    *out = (EventSources){ .own = &daemon->event_log };
    if (!daemon->cluster_link)
        return;
    out->number = cluster_owner(daemon);
    out->peers = remote_order_neighbours(daemon);
    out->hear = remote_events_hear;
    out->far = remote_query_events(remote_order_afar(daemon));
}

const NodeSettings *daemon_first_settings(const Daemon *daemon)
{
    return &daemon->node_first;
}

void daemon_in_force(const Daemon *daemon, InForce *out)
{
    *out = (InForce){ .config = daemon->options.config,
                      .settings = node_settings(daemon->engine.node),
                      .stored = daemon->settings_stored,
                      .url_shown = store_url_shown };
}

bool daemon_declared(const Daemon *daemon, Slice table, Slice tenant, Slice key)
{
    return declares_has(daemon->declares, table, tenant, key);
}

const DaemonFacts *daemon_facts(const Daemon *daemon)
{
    return &daemon->facts;
}

typedef enum NotReady {
    READY,
    NOT_STARTED,
    NOT_DRAINING,
    NOT_ROOM,
    NOT_STORE,
    NOT_DATA,
    NOT_SYSID,
    NOT_LAUNCHER,
    READY_BUT_HANGING, /* a job's own trouble: others go on */
} NotReady;

/* What the runner knows by itself, when all else is well. */
static int runner_state(const Daemon *daemon)
{
    if (!daemon->runner)
        return READY;
    return runner_silent(daemon->runner)    ? NOT_LAUNCHER
           : runner_hanging(daemon->runner) ? READY_BUT_HANGING
                                            : READY;
}

bool daemon_ready(const Daemon *daemon, const char **out_why)
{
    static const char *const words[] = {
        [READY] = "ready",
        [NOT_STARTED] = "starting",
        [NOT_DRAINING] = "draining",
        [NOT_ROOM] = "journal_full",
        [NOT_STORE] = "store_failing",
        [NOT_DATA] = "data_directory_gone",
        [NOT_SYSID] = "sysid_lost",
        [NOT_LAUNCHER] = "launcher_silent",
        [READY_BUT_HANGING] = "starts_hang",
    };
    int state = daemon->not_ready;
    if (state == READY)
        state = runner_state(daemon);
    *out_why = words[state];
    bool goes_on = daemon->store->kind->shared && !daemon->options.ack_store;
    return state == READY || state == READY_BUT_HANGING ||
           (state == NOT_STORE && goes_on);
}

void daemon_state_changed(Daemon *daemon)
{
    NotReady state = READY;
    if (declares_pending(daemon->declares) || !pipeline_ready(daemon->pipeline))
        state = NOT_STARTED;
    if (daemon->engine.store_failing || cluster_silent(daemon))
        state = NOT_STORE;
    if (daemon->engine.no_room)
        state = NOT_ROOM;
    if (daemon->data_gone)
        state = NOT_DATA;
    if (daemon->stop || daemon->leaving || node_facts(daemon->engine.node).draining)
        state = NOT_DRAINING;
    if (daemon->name_lease.lost)
        state = NOT_SYSID;
    daemon->not_ready = (int)state;
}

/* --- opening, in order ------------------------------------------------------------ */

/* Which start this is: of whatever node had this number before, too. A data directory
 * counts its starts; and no two begin to count in the same second. */
static uint64_t event_epoch(const Identity *identity)
{
    const uint64_t starts = 1 << 20;
    uint64_t seconds = (uint64_t)(clock_now().wall_ms / MS_PER_S);
    return seconds * starts + identity->epoch % starts;
}

static Err open_data(Daemon *daemon, Error *why)
{
    const char *dir = daemon->options.data_dir;
    struct stat status;
    if (mkdir(dir, 0700) && errno != EEXIST)
        return error_errno(why, "cannot make the data directory %s", dir);
    if (stat(dir, &status))
        return error_errno(why, "cannot see the data directory %s", dir);
    daemon->data_device = status.st_dev;
    daemon->data_inode = status.st_ino;
    if (status.st_mode & 066) /* passing through, to their own jobs' folders, is fine */
        log_event(LOG_WARN, "daemon.data_open",
                  "msg=\"others may look into %s; chmod 700 keeps them out\"", dir);
    Err err = identity_lock(dir, &daemon->lock_fd, why);
    if (err)
        return err;
    err = identity_begin(dir, &daemon->identity, why);
    event_log_init(&daemon->event_log, event_epoch(&daemon->identity),
                   daemon->identity.sysid);
    return err ? err : claim_key_load(dir, &daemon->claim_key, why);
}

static Err open_store(Daemon *daemon, Error *why)
{
    if (strncmp(daemon->store_url, "postgres", 8) == 0)
        return offline_start_open_store(daemon, why);
    if (strncmp(daemon->store_url, "sqlite:", 7) == 0) {
        Err err = file_make_private(daemon->store_url + strlen("sqlite:"), why);
        if (err)
            return err;
    }
    snprintf(daemon->cluster, sizeof daemon->cluster, "%llx",
             (unsigned long long)daemon->identity.cluster);
    StoreOptions options = { .cluster = daemon->cluster };
    return store_await(daemon->store_url, &options, &(Patience){ 0 }, &daemon->store,
                       why);
}

static Err open_journal(Daemon *daemon, Error *why)
{
    char dir[PATH_MAX];
    ReadPoint point = { 0 };
    snprintf(dir, sizeof dir, "%s/journal", daemon->options.data_dir);
    Store *store = daemon->store;
    Err err = store->kind->read_point(store, daemon->identity.number, &point, why);
    if (err)
        return err;
    JournalOptions options = {
        .dir = dir,
        .segment_bytes = daemon->options.segment_bytes,
        .keep_bytes = daemon->options.journal_keep_bytes,
        .keep_ms = daemon->options.journal_keep_ms,
        .node = daemon->identity.number,
        .epoch = daemon->identity.epoch,
        .cluster = daemon->identity.cluster,
        .read_point = point.position,
        .on_durable = on_durable,
        .context = daemon,
    };
    err = journal_open(&options, &daemon->journal, why);
    if (err)
        return err;
    daemon->engine.applied = point.position;
    if (daemon->offline_start)
        err = offline_start_read_tail(daemon->offline_start, daemon->journal, why);
    else
        err =
            ingest_thread_catch_up(store, daemon->journal, &daemon->engine.applied, why);
    daemon->engine.durable = journal_durable(daemon->journal);
    return err;
}

typedef struct StoredSettings {
    NodeSettings *settings;
    uint32_t bits; /* which of them an API call has set */
} StoredSettings;

static void stored_setting(void *context, const Definition *definition)
{
    Error why = { 0 };
    StoredSettings *stored = context;
    if (settings_apply(stored->settings, definition->key, definition->value, &why)) {
        log_event(LOG_WARN, "config.ignored", "why=%s", LOG_QUOTED(why.text));
        return;
    }
    stored->bits |= setting_bit(definition->key);
}

/* Of the store, once the node has its definitions. */
static Err open_parts(void *world, Error *why)
{
    Daemon *daemon = world;
    Err err = daemon_open_parts(daemon, why);
    if (!err && !daemon->offline_start)
        daemon_declare(daemon);
    return err;
}

static Err open_node(Daemon *daemon, Error *why)
{
    Store *store = daemon->store;
    EngineStart start = {
        .store = store,
        .node = { .sysid = slice_text(daemon->identity.sysid),
                  .number = daemon->identity.number,
                  .seed = daemon->identity.cluster ^ daemon->identity.epoch,
                  .shared = daemon->cluster_link != NULL,
                  .settings = daemon->options.settings },
        .owner = cluster_owner(daemon),
        .bare = daemon->offline_start != NULL,
        .opened = open_parts,
    };
    daemon->node_first = start.node.settings;
    StoredSettings stored = { .settings = &start.node.settings };
    Err err = store->kind->definitions(store, SLICE_LITERAL(SETTINGS_TABLE),
                                       stored_setting, &stored, why);
    if (!err)
        err = store->kind->counts(store, metrics_load, daemon->metrics, why);
    if (err)
        return err;
    daemon->settings_stored = stored.bits;
    return engine_recover(&daemon->engine, &start, why);
}

static Err open_runner(Daemon *daemon, Error *why)
{
    RunnerOptions options = {
        .data_dir = daemon->options.data_dir,
        .launcher = daemon->options.launcher,
        .node = slice_text(daemon->identity.sysid),
        .api_url = slice_text(daemon->facts.api_url),
        .output_bytes_max = (int64_t)daemon->options.output_bytes_max,
        .result_bytes_max = (int64_t)daemon->options.result_bytes_max,
        .context_jobs = daemon->options.context_jobs,
        .context_idle_ms = daemon->options.context_idle_ms,
        .context_age_ms = daemon->options.context_age_ms,
        .news = &daemon->engine.news,
    };
    Err err = runner_open(&daemon->runner, &options, why);
    daemon->warm.runner = daemon->runner;
    if (err)
        return err;
    daemon->leftovers = leftovers_new(daemon);
    return engine_adopt(&daemon->engine, ADOPT_WAIT_MS, why);
}

static Err open_web(Daemon *daemon, Error *why)
{
    WebOptions options = {
        .news = &daemon->engine.news,
        .node = slice_text(daemon->identity.sysid),
        .result_bytes_max = (int64_t)daemon->options.result_bytes_max,
        .allow = daemon->options.allow_private,
    };
    return web_open(&daemon->web, &options, why);
}

static Err open_reader(Daemon *daemon, Error *why)
{
    return reader_open(daemon->store_url, &daemon->reader, why);
}

static void fill_facts(Daemon *daemon)
{
    const DaemonOptions *from = &daemon->options;
    daemon->facts = (DaemonFacts){
        .data_dir = from->data_dir,
        .sysid = daemon->identity.sysid,
        .node = daemon->identity.number,
        .started_ms = clock_now().wall_ms,
        .listen = daemon->listen,
        .api_url = daemon->api_url,
        .store_url = daemon->store_url,
        .modules_root = daemon->modules_root,
        .payload_bytes_max = from->payload_bytes_max,
        .body_bytes_max = from->body_bytes_max,
        .output_bytes_max = from->output_bytes_max,
        .result_bytes_max = from->result_bytes_max,
        .claim_key = &daemon->claim_key,
        .connections_max = from->connections_max,
        .legacy = from->legacy,
        .shared = daemon->cluster_link != NULL,
    };
}

/* --- opening it all ----------------------------------------------------------------- */

static void open_engine(Daemon *daemon)
{
    Engine *engine = &daemon->engine;
    engine_init(engine, &daemon_ports, daemon);
    engine->parts = daemon_parts;
    engine->daemon = daemon;
    engine->ack_store = daemon->options.ack_store;
    Mailbox *boxes[] = { &engine->calls, &engine->answers, &engine->news };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        boxes[i]->wake = loop_wake;
        boxes[i]->wake_context = daemon;
    }
}

/* A shared store that is too slow is there in a while. */
static Err start_err(const Daemon *daemon, bool local, Err err)
{
    if (local)
        return err == ERR_UNAVAILABLE ? ERR_IO : err;
    return daemon->cluster_link && err == ERR_TIMEOUT ? ERR_UNAVAILABLE : err;
}

/* ERR_UNAVAILABLE: the store is not there (and nothing else). */
static Err open_all(Daemon *daemon, Error *why)
{
    static const struct {
        Err (*open)(Daemon *, Error *);
        bool local; /* asks nothing of the store */
        bool joins; /* not for a node that is cut off */
    } steps[] = {
        { open_data, true, false },         { open_store, false, false },
        { cluster_begin, false, false },    { name_lease_begin, false, true },
        { open_journal, false, false },     { cluster_join, false, true },
        { open_node, false, false },        { processors_open, false, false },
        { daemon_open_doors, true, false }, { open_web, true, false },
        { open_runner, true, true },        { open_reader, false, true },
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].joins && daemon->offline_start)
            continue;
        if (steps[i].open == daemon_open_doors)
            fill_facts(daemon); /* its threads read them from the start */
        Err err = steps[i].open(daemon, why);
        if (err)
            return start_err(daemon, steps[i].local, err);
    }
    return ERR_OK;
}

/* People see them in the store before the first job has run. */
static void tell_slots(Daemon *daemon)
{
    Error why = { 0 };
    const StoreKind *kind = daemon->store->kind;
    if (!kind->slots || daemon->offline_start)
        return;
    uint32_t slots = node_facts(daemon->engine.node).slots;
    if (kind->slots(daemon->store, slice_text(daemon->identity.sysid), slots, &why))
        log_event(LOG_WARN, "store.slots", "why=%s", LOG_QUOTED(why.text));
}

Err daemon_open(const DaemonOptions *options, Daemon **out, Error *why)
{
    Daemon *daemon = MEM_NEW(Daemon);
    daemon->options = *options;
    snprintf(daemon->data_dir, sizeof daemon->data_dir, "%s", options->data_dir);
    snprintf(daemon->store_url, sizeof daemon->store_url, "%s", options->store_url);
    snprintf(daemon->listen, sizeof daemon->listen, "%s", options->listen);
    snprintf(daemon->modules_root, sizeof daemon->modules_root, "%s",
             options->modules_root);
    daemon->options.data_dir = daemon->data_dir;
    daemon->options.store_url = daemon->store_url;
    daemon->options.listen = daemon->listen;
    daemon->lock_fd = -1;
    daemon->not_ready = NOT_STARTED;
    daemon->metrics = metrics_new();
    daemon->declares = declares_new();
    loop_open(daemon);
    open_engine(daemon);
    Err err = open_all(daemon, why);
    if (err) {
        daemon_close(daemon);
        return err;
    }
    loop_obey(daemon);
    IngestThreadOptions ingest = { .store = daemon->store,
                                   .journal = daemon->journal,
                                   .answers = &daemon->engine.answers,
                                   .applied = daemon->engine.applied,
                                   .node = daemon->identity.number,
                                   .at_once = options->ack_store };
    tell_slots(daemon);
    daemon->ingest = ingest_thread_open(&ingest);
    node_recovered(daemon->engine.node);
    cluster_start(daemon);
    if (!daemon->offline_start) /* else nothing is known of what their units are doing */
        processors_start(daemon);
    err = drop_open(daemon, &daemon->drop, why);
    if (err == ERR_FULL) {
        log_event(LOG_WARN, "daemon.full", "why=%s", LOG_QUOTED(why->text));
    } else if (err) {
        daemon_close(daemon);
        return err;
    }
    daemon_state_changed(daemon);
    *out = daemon;
    return ERR_OK;
}

/* --- closing, the other way round -----------------------------------------------------
 */

/* Whoever still waits is told. */
static void refuse(Call *call)
{
    call->err = ERR_UNAVAILABLE;
    call->problem = "draining";
    call->done(call);
}

static void refuse_list(Call *call)
{
    while (call) {
        Call *next = (Call *)(void *)call->mail.next;
        refuse(call);
        call = next;
    }
}

static void refuse_all(Daemon *daemon)
{
    remote_order_refuse(daemon->remote_order);
    daemon_trials_drop(daemon);
    engine_refuse_all(&daemon->engine);
}

/* The listeners end only when every request is answered, and requests may still come in
 * while they do: this thread answers them. */
static void *refuse_late(void *context)
{
    Daemon *daemon = context;
    while (!mailbox_closed(&daemon->engine.calls))
        refuse_list((Call *)(void *)mailbox_wait(&daemon->engine.calls, -1));
    return NULL;
}

/* A node that begins anew has adds in its journal that are not told yet. They are good:
 * who has been refused would add again what will run. */
static void answer_adds(Daemon *daemon)
{
    MapEntry entry;
    uint64_t end = journal_end(daemon->journal);
    for (size_t at = 0; map_next(&daemon->engine.waiting.calls, &at, &entry);) {
        const Call *call = entry.value;
        if (call->event.kind == EVENT_ADD || call->event.kind == EVENT_ADD_LINES)
            continue;
        refuse(map_remove(&daemon->engine.waiting.calls, entry.key));
        at = 0; /* what follows may have moved */
    }
    if (journal_wsync(daemon->journal, end, LAST_SYNC_MS))
        return;
    engine_durable(&daemon->engine, end);
    engine_release(&daemon->engine);
}

static void close_http(Daemon *daemon)
{
    pthread_t thread;
    daemon->engine.calls.wake = NULL;
    refuse_all(daemon);
    pthread_create(&thread, NULL, refuse_late, daemon);
    pipeline_free(daemon->pipeline); /* its calls are refused by now */
    remote_order_free(daemon->remote_order);
    drop_close(daemon->drop);
    http_close(daemon->http);
    tls_close();
    mailbox_close(&daemon->engine.calls);
    pthread_join(thread, NULL);
}

static void free_memory(Daemon *daemon)
{
    warm_done(&daemon->warm);
    metrics_free(daemon->metrics);
    event_log_done(&daemon->event_log);
    declares_free(daemon->declares);
    alerts_free(daemon->alerts);
    security_close(daemon->security);
    notices_free(daemon->notices);
    leftovers_free(daemon->leftovers);
    engine_done(&daemon->engine);
}

void daemon_close(Daemon *daemon)
{
    daemon->not_ready = NOT_DRAINING;
    if (cluster_must_restart(daemon))
        answer_adds(daemon);
    cluster_stop(daemon);
    ingest_thread_stop(daemon->ingest);
    cluster_close(daemon);
    reader_close(daemon->reader);
    close_http(daemon);
    if (daemon->runner) /* a start may have ended anywhere before */
        runner_close(daemon->runner);
    if (daemon->web)
        web_close(daemon->web);
    if (daemon->journal)
        journal_close(daemon->journal);
    ingest_thread_free(daemon->ingest);
    name_lease_end(daemon);
    if (daemon->store)
        store_close(daemon->store);
    offline_start_free(daemon->offline_start);
    loop_close(daemon);
    free_memory(daemon);
    if (daemon->lock_fd >= 0)
        close(daemon->lock_fd);
    mem_free(daemon);
}
