/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.c - see ingest.h. */
#include "engine/turn/ingest.h"

#include "base/log.h"

#include <assert.h>
#include <time.h>

#define INGEST_BYTES_MAX ((size_t)2 << 20) /* of journal per transaction */
#define INGEST_SHARED    ((size_t)8 << 20) /* likewise: each costs round trips there */
#define SYNC_EVERY_MS    (5 * MS_PER_S)
#define SYNC_EVERY_BYTES ((uint64_t)64 << 20) /* keeps the store's own log short */
#define FAILED_WAIT_MS   MS_PER_S

/* A transaction of so much makes a shared store a busy one. */
#define BUSY_OPS   1000
#define BUSY_BYTES ((uint64_t)1 << 20)

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void ask_free(Ask *ask)
{
    loaded_done(&ask->loaded);
    arena_done(&ask->arena);
    mem_free(ask);
}

void ask_mail_free(Mail *mail)
{
    Ask *ask = (Ask *)(void *)mail;
    if (ask->is_news)
        mem_free(mail);
    else
        ask_free(ask);
}

void ingest_init(Ingest *ingest, const IngestOptions *options)
{
    *ingest = (Ingest){ .options = *options, .applied = options->applied };
    ingest->synced_boot = options->ports->now(options->world).boot_ms;
    ingest->waiting_last = &ingest->waiting;
}

void ingest_done(Ingest *ingest)
{
    for (Ask *ask = ingest->waiting; ask;) {
        Ask *next = (Ask *)(void *)ask->mail.next;
        ask_free(ask);
        ask = next;
    }
    batch_done(&ingest->batch);
    mem_free(ingest->results);
    *ingest = (Ingest){ 0 };
}

/* --- Into the store -------------------------------------------------------------------
 */

static uint64_t count_refused(const Ingest *ingest)
{
    uint64_t refused = 0;
    for (size_t i = 0; i < ingest->batch.count; i++)
        refused += ingest->results[i] != OP_APPLIED;
    return refused;
}

static uint64_t count_lost(const Ingest *ingest)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < ingest->batch.count; i++)
        lost +=
            ingest->results[i] == OP_LOST && cluster_needs_owner(&ingest->batch.ops[i]);
    return lost;
}

static void room_for_results(Ingest *ingest)
{
    while (ingest->result_capacity < ingest->batch.count) {
        ingest->result_capacity =
            ingest->result_capacity ? ingest->result_capacity * 2 : 1024;
        ingest->results =
            mem_grow(ingest->results, ingest->result_capacity * sizeof(OpResult));
    }
}

/* What is reserved, or the next, as a batch. False: there is nothing. */
static bool reserved(Ingest *ingest)
{
    const IngestOptions *options = &ingest->options;
    size_t bytes_max = options->store->kind->shared ? INGEST_SHARED : INGEST_BYTES_MAX;
    if (!ingest->token)
        ingest->token = options->ports->reserve(options->world, bytes_max,
                                                options->ports->now(options->world));
    if (!ingest->token)
        batch_clear(&ingest->batch); /* a huge record is not kept while nothing comes */
    return ingest->token != 0;
}

static Err read_reserved(Ingest *ingest, Error *why)
{
    const IngestOptions *options = &ingest->options;
    if (ingest->whole)
        return ERR_OK;
    batch_clear(&ingest->batch);
    Err err = options->ports->read(options->world, ingest->token, &ingest->batch, why);
    ingest->whole = !err;
    return err;
}

/* One transaction of what waits in the journal. *out_any: there was something. */
static Err transact(Ingest *ingest, bool *out_any, Error *why)
{
    const IngestOptions *options = &ingest->options;
    Store *store = options->store;
    *out_any = false;
    if (!reserved(ingest))
        return ERR_OK;
    Err err = read_reserved(ingest, why);
    if (err)
        return err;
    room_for_results(ingest);
    err = store->kind->commit(store, &ingest->batch, 1, ingest->results, why);
    if (err)
        return err;
    err = options->ports->rsync(options->world, ingest->token);
    ingest->token = 0;
    ingest->whole = false;
    *out_any = !err;
    return err;
}

/* The store has what the last transaction held. */
static void applied(Ingest *ingest)
{
    const Batch *batch = &ingest->batch;
    assert(batch->has_read_point);
    assert(batch->read_point.position > ingest->applied);
    ingest->busy = ingest->options.store->kind->shared &&
                   (batch->count >= BUSY_OPS ||
                    batch->read_point.position - ingest->applied >= BUSY_BYTES);
    ingest->applied = batch->read_point.position;
}

Err ingest_catch_up(Ingest *ingest, Error *why)
{
    bool any = true;
    Err err = ERR_OK;
    while (any && !err) {
        err = transact(ingest, &any, why);
        if (any)
            applied(ingest);
    }
    return err;
}

static void tell(Ingest *ingest, IngestNews what)
{
    IngestNews *news = MEM_NEW(IngestNews);
    *news = what;
    news->is_news = true;
    news->applied = ingest->applied;
    mailbox_put(ingest->options.answers, &news->mail);
}

static void last_waiting(Ingest *ingest)
{
    ingest->waiting_last = &ingest->waiting;
    while (*ingest->waiting_last)
        ingest->waiting_last = (Ask **)(void *)&(*ingest->waiting_last)->mail.next;
}

/* The node may ask again; people behind it should not have to wait for who knows how
 * long. Starts and ends can. */
static void refuse_waiting(Ingest *ingest, Err err)
{
    for (Ask **at = &ingest->waiting; *at;) {
        Ask *ask = *at;
        if (ask->needs <= ingest->applied || ask->purpose != ASK_NODE) {
            at = (Ask **)(void *)&ask->mail.next;
            continue;
        }
        *at = (Ask *)(void *)ask->mail.next;
        ask->mail.next = NULL;
        ask->err = err;
        ask->applied = ingest->applied;
        mailbox_put(ingest->options.answers, &ask->mail);
    }
    last_waiting(ingest);
}

static void store_failed(Ingest *ingest, Err err, const Error *why)
{
    const IngestOptions *options = &ingest->options;
    log_event(LOG_ERROR, "store.failing", "err=%s why=%s", err_name(err),
              LOG_QUOTED(why->text));
    ingest->failing = true;
    ingest->retry_boot = options->ports->now(options->world).boot_ms + FAILED_WAIT_MS;
    tell(ingest, (IngestNews){ .err = err });
    refuse_waiting(ingest, err);
}

/* The store lacks what it had: it is told again, from where it stands. */
static Err go_back(Ingest *ingest, Error *why)
{
    ReadPoint point = { 0 };
    const IngestOptions *options = &ingest->options;
    Store *store = options->store;
    Err err = store->kind->read_point(store, options->node, &point, why);
    if (!err)
        err = options->ports->rewind(options->world, point.position, why);
    if (err)
        return err;
    log_event(LOG_WARN, "store.went_back", "position=%llu had=%llu",
              (unsigned long long)point.position, (unsigned long long)ingest->applied);
    ingest->token = 0;
    ingest->whole = false;
    if (ingest->applied > ingest->answers_from)
        ingest->answers_from = ingest->applied;
    ingest->applied = point.position;
    ingest->synced = point.position;
    return ERR_OK;
}

bool ingest_one(Ingest *ingest)
{
    Error why = { 0 };
    double begun = seconds_now();
    bool any = false;
    Err err = transact(ingest, &any, &why);
    if (err == ERR_CONFLICT && !go_back(ingest, &why))
        return true; /* at once, from there */
    if (err) {
        store_failed(ingest, err, &why);
        return false;
    }
    if (!any)
        return false;
    ingest->failing = false;
    applied(ingest);
    tell(ingest, (IngestNews){ .commit_seconds = seconds_now() - begun,
                               .ops = ingest->batch.count,
                               .refused = count_refused(ingest),
                               .lost = count_lost(ingest) });
    return true;
}

bool ingest_may_try(const Ingest *ingest)
{
    const IngestOptions *options = &ingest->options;
    return !ingest->failing ||
           options->ports->now(options->world).boot_ms >= ingest->retry_boot;
}

/* --- Questions ------------------------------------------------------------------------
 */

void ingest_take(Ingest *ingest, Ask *ask)
{
    assert(!ask->is_news);
    ask->mail.next = NULL;
    *ingest->waiting_last = ask;
    ingest->waiting_last = (Ask **)(void *)&ask->mail.next;
}

bool ingest_is_awaited(const Ingest *ingest)
{
    for (const Ask *ask = ingest->waiting; ask; ask = (const Ask *)(void *)ask->mail.next)
        if (ask->needs > ingest->applied)
            return true;
    return false;
}

static void answer(Ingest *ingest, Ask *ask)
{
    Error why = { 0 };
    Store *store = ingest->options.store;
    ask->err = store->kind->load(store, &ask->load, &ask->loaded, &why);
    ask->applied = ingest->applied;
    if (ask->err && ask->err != ERR_NOT_FOUND)
        log_event(LOG_ERROR, "store.load_failed", "err=%s why=%s", err_name(ask->err),
                  LOG_QUOTED(why.text));
    if (ask->err == ERR_NOT_FOUND)
        ask->err = ERR_OK; /* an answer without jobs says it */
    mailbox_put(ingest->options.answers, &ask->mail);
}

void ingest_answer(Ingest *ingest)
{
    for (Ask **at = &ingest->waiting; *at;) {
        Ask *ask = *at;
        if (ask->needs > ingest->applied || ingest->applied < ingest->answers_from) {
            at = (Ask **)(void *)&ask->mail.next;
            continue;
        }
        *at = (Ask *)(void *)ask->mail.next;
        answer(ingest, ask);
    }
    last_waiting(ingest);
}

void ingest_sync(Ingest *ingest)
{
    Error why = { 0 };
    const IngestOptions *options = &ingest->options;
    Now now = options->ports->now(options->world);
    bool due = now.boot_ms - ingest->synced_boot >= SYNC_EVERY_MS ||
               ingest->applied - ingest->synced >= SYNC_EVERY_BYTES;
    if (ingest->applied == ingest->synced || !due)
        return;
    uint64_t position = ingest->applied;
    Err err = options->store->kind->sync(options->store, &why);
    ingest->synced_boot = now.boot_ms;
    if (err) {
        store_failed(ingest, err, &why);
        return;
    }
    ingest->synced = position;
    options->ports->trim(options->world, position, now);
}
