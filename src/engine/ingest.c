/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.c - see ingest.h. */
#include "engine/ingest.h"

#include "base/log.h"
#include "base/times.h"

#include <malloc.h>
#include <stdatomic.h>
#include <time.h>

#define INGEST_BYTES_MAX ((size_t)2 << 20) /* of journal per transaction */
#define INGEST_SHARED    ((size_t)8 << 20) /* likewise: each costs round trips there */
#define SYNC_EVERY_MS    (5 * MS_PER_S)
#define SYNC_EVERY_BYTES ((uint64_t)64 << 20) /* keeps the store's own log short */
#define FAILED_WAIT_MS   MS_PER_S

/* As long as no one waits for the store, what becomes durable gathers for a moment: one
 * transaction instead of many, and the processor is free for the jobs that just began. */
#define GATHER_MS        25
#define GATHER_BYTES_MAX ((uint64_t)1 << 20)

/* A shared store that is busy gets fewer and larger ones: each costs round trips there,
 * every job that is running at its end is written once more, and its server works on the
 * processors that bulk requests need until they are accepted. */
#define BUSY_OPS       1000                /* in the last transaction, */
#define BUSY_BYTES     ((uint64_t)1 << 20) /* or so much */
#define BUSY_MS        200
#define BUSY_BYTES_MAX ((uint64_t)16 << 20)

/* What a burst needed and freed is given back to the system when all of it is stored: the
 * allocator would keep it for ever. */
#define TRIM_EVERY_MS  MS_PER_S
#define TRIM_BYTES_MIN ((uint64_t)128 << 10) /* of journal; less leaves little behind */
#define TRIM_LAG_MAX   ((uint64_t)256 << 10) /* not in the middle of a burst */

/* What one ingestion needs: a batch and as many results as it has operations. What was
 * reserved stays so until it is in the store: whatever fails, the order is kept. */
typedef struct Intake {
    JournalToken token; /* 0: nothing is reserved */
    bool whole;         /* batch holds what was reserved */
    Batch batch;
    OpResult *results;
    size_t capacity;
} Intake;

struct Ingest {
    IngestOptions options;
    Mailbox box;
    pthread_t thread;
    _Atomic bool woken;      /* a wake is in the box already, or has been taken out */
    _Atomic uint64_t wanted; /* someone waits until the store has come so far */
    Ask *waiting;            /* oldest first */
    Ask **waiting_last;
    Intake intake;
    uint64_t applied;
    uint64_t answers_from; /* nothing is answered before the store is there again */
    uint64_t synced;
    int64_t synced_boot;
    uint64_t trimmed; /* position at which memory was last given back */
    int64_t trimmed_boot;
    int64_t retry_boot;
    bool failing;
    bool busy; /* a shared store whose last transaction was a large one */
};

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

static uint64_t count_refused(const OpResult *results, size_t count)
{
    uint64_t refused = 0;
    for (size_t i = 0; i < count; i++)
        refused += results[i] != OP_APPLIED;
    return refused;
}

static uint64_t count_lost(const Intake *intake)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < intake->batch.count; i++)
        lost +=
            intake->results[i] == OP_LOST && cluster_needs_owner(&intake->batch.ops[i]);
    return lost;
}

static void intake_done(Intake *intake)
{
    batch_done(&intake->batch);
    mem_free(intake->results);
}

static void room_for_results(Intake *intake)
{
    while (intake->capacity < intake->batch.count) {
        intake->capacity = intake->capacity ? intake->capacity * 2 : 1024;
        intake->results = mem_grow(intake->results, intake->capacity * sizeof(OpResult));
    }
}

/* One transaction of what waits in the journal. *out_any: there was something. */
static Err ingest_records(Store *store, Journal *journal, Intake *intake, bool *out_any,
                          Error *why)
{
    *out_any = false;
    size_t bytes_max = store->kind->shared ? INGEST_SHARED : INGEST_BYTES_MAX;
    if (!intake->token)
        intake->token =
            journal_reserve(journal, bytes_max, TIME_NEVER, clock_now().boot_ms);
    if (!intake->token) {
        batch_clear(&intake->batch); /* a huge record is not kept while nothing comes */
        return ERR_OK;
    }
    Err err = ERR_OK;
    if (!intake->whole) {
        batch_clear(&intake->batch);
        err = journal_read(journal, intake->token, &intake->batch, why);
    }
    intake->whole = !err;
    if (err)
        return err;
    room_for_results(intake);
    err = store->kind->commit(store, &intake->batch, 1, intake->results, why);
    if (err)
        return err;
    err = journal_rsync(journal, intake->token);
    intake->token = 0;
    intake->whole = false;
    *out_any = !err;
    return err;
}

Err ingest_catch_up(Store *store, Journal *journal, uint64_t *inout_applied, Error *why)
{
    Intake intake = { 0 };
    bool any = true;
    Err err = ERR_OK;
    while (any && !err) {
        err = ingest_records(store, journal, &intake, &any, why);
        if (any)
            *inout_applied = intake.batch.read_point.position;
    }
    intake_done(&intake);
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
    char text[LOG_QUOTE_BYTES];
    log_event(LOG_ERROR, "store.failing", "err=%s why=%s", err_name(err),
              log_quote(slice_text(why->text), text));
    ingest->failing = true;
    ingest->retry_boot = clock_now().boot_ms + FAILED_WAIT_MS;
    tell(ingest, (IngestNews){ .err = err });
    refuse_waiting(ingest, err);
}

/* The store lacks what it had: it is told again, from where it stands. */
static Err go_back(Ingest *ingest, Error *why)
{
    ReadPoint point = { 0 };
    Store *store = ingest->options.store;
    Err err = store->kind->read_point(store, ingest->options.node, &point, why);
    if (!err)
        err = journal_rewind(ingest->options.journal, point.position, why);
    if (err)
        return err;
    log_event(LOG_WARN, "store.went_back", "position=%llu had=%llu",
              (unsigned long long)point.position, (unsigned long long)ingest->applied);
    ingest->intake.token = 0;
    ingest->intake.whole = false;
    if (ingest->applied > ingest->answers_from)
        ingest->answers_from = ingest->applied;
    ingest->applied = point.position;
    ingest->synced = point.position;
    return ERR_OK;
}

static Err ingest_one(Ingest *ingest, bool *out_any)
{
    Error why = { 0 };
    double begun = seconds_now();
    Intake *intake = &ingest->intake;
    Err err = ingest_records(ingest->options.store, ingest->options.journal, intake,
                             out_any, &why);
    if (err == ERR_CONFLICT && !go_back(ingest, &why)) {
        *out_any = true; /* at once, from there */
        return ERR_OK;
    }
    if (err) {
        store_failed(ingest, err, &why);
        return err;
    }
    if (!*out_any)
        return ERR_OK;
    ingest->failing = false;
    uint64_t position = intake->batch.read_point.position;
    ingest->busy =
        ingest->options.store->kind->shared &&
        (intake->batch.count >= BUSY_OPS || position - ingest->applied >= BUSY_BYTES);
    ingest->applied = position;
    tell(ingest,
         (IngestNews){ .commit_seconds = seconds_now() - begun,
                       .ops = intake->batch.count,
                       .refused = count_refused(intake->results, intake->batch.count),
                       .lost = count_lost(intake) });
    return ERR_OK;
}

static void answer(Ingest *ingest, Ask *ask)
{
    Error why = { 0 };
    Store *store = ingest->options.store;
    ask->err = store->kind->load(store, &ask->load, &ask->loaded, &why);
    ask->applied = ingest->applied;
    if (ask->err && ask->err != ERR_NOT_FOUND) {
        char text[LOG_QUOTE_BYTES];
        log_event(LOG_ERROR, "store.load_failed", "err=%s why=%s", err_name(ask->err),
                  log_quote(slice_text(why.text), text));
    }
    if (ask->err == ERR_NOT_FOUND)
        ask->err = ERR_OK; /* an answer without jobs says it */
    mailbox_put(ingest->options.answers, &ask->mail);
}

static void answer_waiting(Ingest *ingest)
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

/* Makes the read point stable, so that journal segments behind it may go. */
static void sync_store(Ingest *ingest)
{
    Error why = { 0 };
    Now now = clock_now();
    bool due = now.boot_ms - ingest->synced_boot >= SYNC_EVERY_MS ||
               ingest->applied - ingest->synced >= SYNC_EVERY_BYTES;
    if (ingest->applied == ingest->synced || !due)
        return;
    uint64_t position = ingest->applied;
    Store *store = ingest->options.store;
    Err err = store->kind->sync(store, &why);
    ingest->synced_boot = now.boot_ms;
    if (err) {
        store_failed(ingest, err, &why);
        return;
    }
    ingest->synced = position;
    journal_trim(ingest->options.journal, position, now.boot_ms);
}

static void give_back_memory(Ingest *ingest)
{
    int64_t boot_ms = clock_now().boot_ms;
    uint64_t lag = journal_durable(ingest->options.journal) - ingest->applied;
    if (lag > TRIM_LAG_MAX || ingest->applied < ingest->trimmed + TRIM_BYTES_MIN ||
        boot_ms - ingest->trimmed_boot < TRIM_EVERY_MS)
        return;
    ingest->trimmed = ingest->applied;
    ingest->trimmed_boot = boot_ms;
    malloc_trim(0);
}

static void receive(Ingest *ingest, Mail *mail)
{
    while (mail) {
        Mail *next = mail->next;
        mail->next = NULL;
        Ask *ask = (Ask *)(void *)mail;
        if (ask->is_news) { /* a wake: nothing but its arrival matters */
            mem_free(mail);
        } else {
            *ingest->waiting_last = ask;
            ingest->waiting_last = (Ask **)(void *)&ask->mail.next;
        }
        mail = next;
    }
}

static bool must_not_gather(Ingest *ingest)
{
    uint64_t lag = journal_durable(ingest->options.journal) - ingest->applied;
    uint64_t lag_max = ingest->busy ? BUSY_BYTES_MAX : GATHER_BYTES_MAX;
    if (!lag || lag >= lag_max || ingest->options.at_once ||
        ingest->wanted > ingest->applied || mailbox_closed(&ingest->box))
        return true;
    for (const Ask *ask = ingest->waiting; ask; ask = (const Ask *)(void *)ask->mail.next)
        if (ask->needs > ingest->applied)
            return true;
    return false;
}

static void gather(Ingest *ingest)
{
    int64_t left_ms = ingest->busy ? BUSY_MS : GATHER_MS;
    int64_t until_ms = clock_now().boot_ms + left_ms;
    while (left_ms > 0 && !must_not_gather(ingest)) {
        receive(ingest, mailbox_wait(&ingest->box, left_ms));
        answer_waiting(ingest);
        left_ms = until_ms - clock_now().boot_ms;
    }
    ingest->woken = false; /* before the journal is read: what comes later wakes again */
}

static void *ingest_run(void *context)
{
    Ingest *ingest = context;
    for (;;) {
        receive(ingest, mailbox_wait(&ingest->box, MS_PER_S));
        answer_waiting(ingest);
        gather(ingest);
        bool any = !ingest->failing || clock_now().boot_ms >= ingest->retry_boot;
        while (any) {
            if (ingest_one(ingest, &any))
                break;
            answer_waiting(ingest);
            sync_store(ingest);
            receive(ingest, mailbox_take(&ingest->box));
            give_back_memory(ingest);
            gather(ingest);
        }
        answer_waiting(ingest);
        sync_store(ingest);
        give_back_memory(ingest);
        if (mailbox_closed(&ingest->box))
            return NULL;
    }
}

Ingest *ingest_open(const IngestOptions *options)
{
    Ingest *ingest = MEM_NEW(Ingest);
    ingest->options = *options;
    ingest->applied = ingest->trimmed = options->applied;
    ingest->synced_boot = clock_now().boot_ms;
    ingest->waiting_last = &ingest->waiting;
    mailbox_init(&ingest->box);
    pthread_create(&ingest->thread, NULL, ingest_run, ingest);
    return ingest;
}

static void put_wake(Ingest *ingest)
{
    IngestNews *wake = MEM_NEW(IngestNews);
    wake->is_news = true;
    mailbox_put(&ingest->box, &wake->mail);
}

void ingest_wake(Ingest *ingest)
{
    if (!atomic_exchange(&ingest->woken, true))
        put_wake(ingest);
}

void ingest_hurry(Ingest *ingest, uint64_t position)
{
    if (atomic_exchange(&ingest->wanted, position) < position)
        put_wake(ingest);
}

void ingest_ask(Ingest *ingest, Ask *ask)
{
    ask->is_news = false;
    mailbox_put(&ingest->box, &ask->mail);
}

void ingest_stop(Ingest *ingest)
{
    if (!ingest)
        return;
    mailbox_close(&ingest->box);
    pthread_join(ingest->thread, NULL);
}

uint64_t ingest_applied(const Ingest *ingest)
{
    return ingest->applied;
}

void ingest_free(Ingest *ingest)
{
    if (!ingest)
        return;
    receive(ingest, mailbox_take(&ingest->box));
    for (Ask *ask = ingest->waiting; ask;) {
        Ask *next = (Ask *)(void *)ask->mail.next;
        ask_free(ask);
        ask = next;
    }
    intake_done(&ingest->intake);
    mailbox_done(&ingest->box);
    mem_free(ingest);
}
