/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.c - see keeper.h. */
#include "serve/keeper.h"

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

struct Keeper {
    KeeperOptions options;
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
static Err ingest(Store *store, Journal *journal, Intake *intake, bool *out_any,
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

Err keeper_catch_up(Store *store, Journal *journal, uint64_t *inout_applied, Error *why)
{
    Intake intake = { 0 };
    bool any = true;
    Err err = ERR_OK;
    while (any && !err) {
        err = ingest(store, journal, &intake, &any, why);
        if (any)
            *inout_applied = intake.batch.read_point.position;
    }
    intake_done(&intake);
    return err;
}

static void tell(Keeper *keeper, KeeperNews what)
{
    KeeperNews *news = MEM_NEW(KeeperNews);
    *news = what;
    news->is_news = true;
    news->applied = keeper->applied;
    mailbox_put(keeper->options.answers, &news->mail);
}

static void last_waiting(Keeper *keeper)
{
    keeper->waiting_last = &keeper->waiting;
    while (*keeper->waiting_last)
        keeper->waiting_last = (Ask **)(void *)&(*keeper->waiting_last)->mail.next;
}

/* The node may ask again; people behind it should not have to wait for who knows how
 * long. Starts and ends can. */
static void refuse_waiting(Keeper *keeper, Err err)
{
    for (Ask **at = &keeper->waiting; *at;) {
        Ask *ask = *at;
        if (ask->needs <= keeper->applied || ask->purpose != ASK_NODE) {
            at = (Ask **)(void *)&ask->mail.next;
            continue;
        }
        *at = (Ask *)(void *)ask->mail.next;
        ask->mail.next = NULL;
        ask->err = err;
        ask->applied = keeper->applied;
        mailbox_put(keeper->options.answers, &ask->mail);
    }
    last_waiting(keeper);
}

static void store_failed(Keeper *keeper, Err err, const Error *why)
{
    char text[LOG_QUOTE_BYTES];
    log_event(LOG_ERROR, "store.failing", "err=%s why=%s", err_name(err),
              log_quote(slice_text(why->text), text));
    keeper->failing = true;
    keeper->retry_boot = clock_now().boot_ms + FAILED_WAIT_MS;
    tell(keeper, (KeeperNews){ .err = err });
    refuse_waiting(keeper, err);
}

/* The store lacks what it had: it is told again, from where it stands. */
static Err go_back(Keeper *keeper, Error *why)
{
    ReadPoint point = { 0 };
    Store *store = keeper->options.store;
    Err err = store->kind->read_point(store, keeper->options.node, &point, why);
    if (!err)
        err = journal_rewind(keeper->options.journal, point.position, why);
    if (err)
        return err;
    log_event(LOG_WARN, "store.went_back", "position=%llu had=%llu",
              (unsigned long long)point.position, (unsigned long long)keeper->applied);
    keeper->intake.token = 0;
    keeper->intake.whole = false;
    if (keeper->applied > keeper->answers_from)
        keeper->answers_from = keeper->applied;
    keeper->applied = point.position;
    keeper->synced = point.position;
    return ERR_OK;
}

static Err ingest_one(Keeper *keeper, bool *out_any)
{
    Error why = { 0 };
    double begun = seconds_now();
    Intake *intake = &keeper->intake;
    Err err =
        ingest(keeper->options.store, keeper->options.journal, intake, out_any, &why);
    if (err == ERR_CONFLICT && !go_back(keeper, &why)) {
        *out_any = true; /* at once, from there */
        return ERR_OK;
    }
    if (err) {
        store_failed(keeper, err, &why);
        return err;
    }
    if (!*out_any)
        return ERR_OK;
    keeper->failing = false;
    uint64_t position = intake->batch.read_point.position;
    keeper->busy =
        keeper->options.store->kind->shared &&
        (intake->batch.count >= BUSY_OPS || position - keeper->applied >= BUSY_BYTES);
    keeper->applied = position;
    tell(keeper,
         (KeeperNews){ .commit_seconds = seconds_now() - begun,
                       .ops = intake->batch.count,
                       .refused = count_refused(intake->results, intake->batch.count),
                       .lost = count_lost(intake) });
    return ERR_OK;
}

static void answer(Keeper *keeper, Ask *ask)
{
    Error why = { 0 };
    Store *store = keeper->options.store;
    ask->err = store->kind->load(store, &ask->load, &ask->loaded, &why);
    ask->applied = keeper->applied;
    if (ask->err && ask->err != ERR_NOT_FOUND) {
        char text[LOG_QUOTE_BYTES];
        log_event(LOG_ERROR, "store.load_failed", "err=%s why=%s", err_name(ask->err),
                  log_quote(slice_text(why.text), text));
    }
    if (ask->err == ERR_NOT_FOUND)
        ask->err = ERR_OK; /* an answer without jobs says it */
    mailbox_put(keeper->options.answers, &ask->mail);
}

static void answer_waiting(Keeper *keeper)
{
    for (Ask **at = &keeper->waiting; *at;) {
        Ask *ask = *at;
        if (ask->needs > keeper->applied || keeper->applied < keeper->answers_from) {
            at = (Ask **)(void *)&ask->mail.next;
            continue;
        }
        *at = (Ask *)(void *)ask->mail.next;
        answer(keeper, ask);
    }
    last_waiting(keeper);
}

/* Makes the read point stable, so that journal segments behind it may go. */
static void sync_store(Keeper *keeper)
{
    Error why = { 0 };
    Now now = clock_now();
    bool due = now.boot_ms - keeper->synced_boot >= SYNC_EVERY_MS ||
               keeper->applied - keeper->synced >= SYNC_EVERY_BYTES;
    if (keeper->applied == keeper->synced || !due)
        return;
    uint64_t position = keeper->applied;
    Store *store = keeper->options.store;
    Err err = store->kind->sync(store, &why);
    keeper->synced_boot = now.boot_ms;
    if (err) {
        store_failed(keeper, err, &why);
        return;
    }
    keeper->synced = position;
    journal_trim(keeper->options.journal, position, now.boot_ms);
}

static void give_back_memory(Keeper *keeper)
{
    int64_t boot_ms = clock_now().boot_ms;
    uint64_t lag = journal_durable(keeper->options.journal) - keeper->applied;
    if (lag > TRIM_LAG_MAX || keeper->applied < keeper->trimmed + TRIM_BYTES_MIN ||
        boot_ms - keeper->trimmed_boot < TRIM_EVERY_MS)
        return;
    keeper->trimmed = keeper->applied;
    keeper->trimmed_boot = boot_ms;
    malloc_trim(0);
}

static void receive(Keeper *keeper, Mail *mail)
{
    while (mail) {
        Mail *next = mail->next;
        mail->next = NULL;
        Ask *ask = (Ask *)(void *)mail;
        if (ask->is_news) { /* a wake: nothing but its arrival matters */
            mem_free(mail);
        } else {
            *keeper->waiting_last = ask;
            keeper->waiting_last = (Ask **)(void *)&ask->mail.next;
        }
        mail = next;
    }
}

static bool must_not_gather(Keeper *keeper)
{
    uint64_t lag = journal_durable(keeper->options.journal) - keeper->applied;
    uint64_t lag_max = keeper->busy ? BUSY_BYTES_MAX : GATHER_BYTES_MAX;
    if (!lag || lag >= lag_max || keeper->options.at_once ||
        keeper->wanted > keeper->applied || mailbox_closed(&keeper->box))
        return true;
    for (const Ask *ask = keeper->waiting; ask; ask = (const Ask *)(void *)ask->mail.next)
        if (ask->needs > keeper->applied)
            return true;
    return false;
}

static void gather(Keeper *keeper)
{
    int64_t left_ms = keeper->busy ? BUSY_MS : GATHER_MS;
    int64_t until_ms = clock_now().boot_ms + left_ms;
    while (left_ms > 0 && !must_not_gather(keeper)) {
        receive(keeper, mailbox_wait(&keeper->box, left_ms));
        answer_waiting(keeper);
        left_ms = until_ms - clock_now().boot_ms;
    }
    keeper->woken = false; /* before the journal is read: what comes later wakes again */
}

static void *keeper_run(void *context)
{
    Keeper *keeper = context;
    for (;;) {
        receive(keeper, mailbox_wait(&keeper->box, MS_PER_S));
        answer_waiting(keeper);
        gather(keeper);
        bool any = !keeper->failing || clock_now().boot_ms >= keeper->retry_boot;
        while (any) {
            if (ingest_one(keeper, &any))
                break;
            answer_waiting(keeper);
            sync_store(keeper);
            receive(keeper, mailbox_take(&keeper->box));
            give_back_memory(keeper);
            gather(keeper);
        }
        answer_waiting(keeper);
        sync_store(keeper);
        give_back_memory(keeper);
        if (mailbox_closed(&keeper->box))
            return NULL;
    }
}

Keeper *keeper_open(const KeeperOptions *options)
{
    Keeper *keeper = MEM_NEW(Keeper);
    keeper->options = *options;
    keeper->applied = keeper->trimmed = options->applied;
    keeper->synced_boot = clock_now().boot_ms;
    keeper->waiting_last = &keeper->waiting;
    mailbox_init(&keeper->box);
    pthread_create(&keeper->thread, NULL, keeper_run, keeper);
    return keeper;
}

static void put_wake(Keeper *keeper)
{
    KeeperNews *wake = MEM_NEW(KeeperNews);
    wake->is_news = true;
    mailbox_put(&keeper->box, &wake->mail);
}

void keeper_wake(Keeper *keeper)
{
    if (!atomic_exchange(&keeper->woken, true))
        put_wake(keeper);
}

void keeper_hurry(Keeper *keeper, uint64_t position)
{
    if (atomic_exchange(&keeper->wanted, position) < position)
        put_wake(keeper);
}

void keeper_ask(Keeper *keeper, Ask *ask)
{
    ask->is_news = false;
    mailbox_put(&keeper->box, &ask->mail);
}

void keeper_stop(Keeper *keeper)
{
    if (!keeper)
        return;
    mailbox_close(&keeper->box);
    pthread_join(keeper->thread, NULL);
}

uint64_t keeper_applied(const Keeper *keeper)
{
    return keeper->applied;
}

void keeper_free(Keeper *keeper)
{
    if (!keeper)
        return;
    receive(keeper, mailbox_take(&keeper->box));
    for (Ask *ask = keeper->waiting; ask;) {
        Ask *next = (Ask *)(void *)ask->mail.next;
        ask_free(ask);
        ask = next;
    }
    intake_done(&keeper->intake);
    mailbox_done(&keeper->box);
    mem_free(keeper);
}
