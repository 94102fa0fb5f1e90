/* SPDX-License-Identifier: Apache-2.0 */
/* recover.c - a node out of what its store holds, and the attempts that outlived the last
 * daemon. There is no other recovery: the journal's tail is in the store by now. */
#include "engine/turn/engine.h"

#include "base/log.h"
#include "run/process/process.h"
#include "store/held_jobs.h"

#include <assert.h>
#include <signal.h>

typedef struct StoredTable {
    Node *node;
    Slice table;
} StoredTable;

static void stored_definition(void *context, const Definition *definition)
{
    const StoredTable *stored = context;
    node_load_definition(stored->node, stored->table, definition);
}

static void stored_group(void *context, const GroupCount *count)
{
    node_load_group(context, count->tenant, count->name, count->state, count->count);
}

static Err load_definitions(Node *node, Store *store, Error *why)
{
    const char *table;
    Err err = ERR_OK;
    for (size_t i = 0; !err && (table = node_definitions(i)); i++) {
        StoredTable stored = { node, slice_text(table) };
        err = store->kind->definitions(store, stored.table, stored_definition, &stored,
                                       why);
    }
    return err ? err : store->kind->groups(store, NULL, stored_group, node, why);
}

static void stored_version(void *context, const Definition *definition)
{
    node_load_version(context, definition);
}

/* Of the handlers of what runs. */
static Err load_versions(Node *node, Store *store, Error *why)
{
    if (!node_wants_versions(node))
        return ERR_OK;
    return store->kind->definitions(store, SLICE_LITERAL(HANDLER_VERSIONS),
                                    stored_version, node, why);
}

static Err load_into(Node *node, Store *store, const Load *load,
                     void (*put)(Node *, const Job *), Error *why)
{
    Loaded loaded = { 0 };
    Err err = store->kind->load(store, load, &loaded, why);
    for (size_t i = 0; !err && i < loaded.count; i++)
        put(node, &loaded.jobs[i]);
    loaded_done(&loaded);
    return err;
}

typedef struct HeldOf {
    Node *node;
    uint32_t owner;
} HeldOf;

static void take_held(void *context, const Job *job)
{
    const HeldOf *held = context;
    if (!held->owner || job_owner(job) == held->owner)
        node_load_held(held->node, job);
}

static Err load_jobs(Node *node, const EngineStart *start, Error *why)
{
    Load lanes = { .kind = LOAD_LANES, .owner = start->owner };
    Err err = load_into(node, start->store, &lanes, node_load_lane, why);
    HeldOf held = { node, start->owner };
    JobSink sink = { take_held, &held };
    if (!err)
        err = held_jobs_each(start->store, &sink,
                             why); /* they count for their lanes' wait */
    Load running = { .kind = LOAD_RUNNING,
                     .lock = start->node.sysid,
                     .owner = start->owner };
    if (!err)
        err = load_into(node, start->store, &running, node_load_running, why);
    return err ? err : load_versions(node, start->store, why);
}

Err engine_recover(Engine *engine, const EngineStart *start, Error *why)
{
    assert(!engine->node);
    Store *store = start->store;
    NodeOptions options = start->node;
    engine->number = options.number;
    engine->shared = options.shared;
    Err err = store->kind->last_id(store, options.number, &options.last_id, why);
    if (!err && !start->bare) /* turns are counted on, as far as the store can say */
        err = store->kind->last_number(store, options.number, &options.turn, why);
    if (err)
        return err;
    engine->applied_number = options.turn;
    engine->node = node_new(&options);
    err = load_definitions(engine->node, store, why);
    if (!err && start->opened)
        err = start->opened(engine->world, why);
    if (err || start->bare)
        return err;
    return load_jobs(engine->node, start, why);
}

/* --- Attempts that are alive ----------------------------------------------------------
 */

/* Whether a taken-over job should be stopped is told to the launcher again: the last
 * daemon may have died between recording it and saying so. */
static void say_paused(void *context, const RunningJob *job)
{
    Engine *engine = context;
    if (!job->stopping)
        engine->ports->signal(engine->world, job->id, job->attempt,
                              job->paused ? SIGSTOP : SIGCONT);
}

static bool adopts(Engine *engine, const RunNews *news)
{
    return news->kind == RUN_ADOPTED && node_adopt(engine->node, news->id, news->attempt,
                                                   engine->ports->now(engine->world));
}

Err engine_adopt(Engine *engine, int64_t wait_ms, Error *why)
{
    Mail **last = &engine->in.early_news;
    bool listed = false;
    unsigned adopted = 0;
    int64_t give_up = engine->ports->now(engine->world).boot_ms + wait_ms;
    while (!listed) {
        int64_t left_ms = give_up - engine->ports->now(engine->world).boot_ms;
        if (left_ms <= 0)
            return error_set(why, ERR_TIMEOUT, "the launcher does not answer");
        for (Mail *mail = mailbox_wait(&engine->news, left_ms); mail;) {
            RunNews *news = (RunNews *)(void *)mail;
            mail = mail->next;
            if (adopts(engine, news)) {
                adopted++;
                run_news_free(news);
                continue;
            }
            listed = listed || news->kind == RUN_LISTED;
            news->mail.next = NULL;
            *last = &news->mail;
            last = &news->mail.next;
        }
    }
    node_running(engine->node, say_paused, engine);
    if (adopted)
        log_event(LOG_INFO, "jobs.adopted", "count=%u", adopted);
    return ERR_OK;
}
