/* SPDX-License-Identifier: Apache-2.0 */
/* ingest_thread.c - see ingest_thread.h. Here: when to ingest, not how. */
#include "engine/ingest_thread.h"

#include "base/times.h"

#include <malloc.h>
#include <stdatomic.h>

/* As long as no one waits for the store, what becomes durable gathers for a moment: one
 * transaction instead of many, and the processor is free for the jobs that just began. */
#define GATHER_MS        25
#define GATHER_BYTES_MAX ((uint64_t)1 << 20)

/* A shared store that is busy gets fewer and larger ones: each costs round trips there,
 * every job that is running at its end is written once more, and its server works on the
 * processors that bulk requests need until they are accepted. */
#define BUSY_MS        200
#define BUSY_BYTES_MAX ((uint64_t)16 << 20)

/* What a burst needed and freed is given back to the system when all of it is stored: the
 * allocator would keep it for ever. */
#define TRIM_EVERY_MS  MS_PER_S
#define TRIM_BYTES_MIN ((uint64_t)128 << 10) /* of journal; less leaves little behind */
#define TRIM_LAG_MAX   ((uint64_t)256 << 10) /* not in the middle of a burst */

struct IngestThread {
    IngestThreadOptions options;
    Ingest ingest;
    Mailbox box;
    pthread_t thread;
    _Atomic bool woken;      /* a wake is in the box already, or has been taken out */
    _Atomic uint64_t wanted; /* someone waits until the store has come so far */
    uint64_t trimmed;        /* position at which memory was last given back */
    int64_t trimmed_boot;
};

/* --- The real journal as a port -------------------------------------------------------
 */

static Now real_now(void *world)
{
    (void)world;
    return clock_now();
}

static uint64_t real_durable(void *world)
{
    return journal_durable(world);
}

static JournalToken real_reserve(void *world, size_t bytes_max, Now now)
{
    return journal_reserve(world, bytes_max, TIME_NEVER, now.boot_ms);
}

static Err real_read(void *world, JournalToken token, Batch *out, Error *why)
{
    return journal_read(world, token, out, why);
}

static Err real_rsync(void *world, JournalToken token)
{
    return journal_rsync(world, token);
}

static Err real_rewind(void *world, uint64_t position, Error *why)
{
    return journal_rewind(world, position, why);
}

static void real_trim(void *world, uint64_t position, Now now)
{
    journal_trim(world, position, now.boot_ms);
}

static const IngestPorts real_ports = {
    .now = real_now,
    .durable = real_durable,
    .reserve = real_reserve,
    .read = real_read,
    .rsync = real_rsync,
    .rewind = real_rewind,
    .trim = real_trim,
};

Err ingest_thread_catch_up(Store *store, Journal *journal, uint64_t *inout_applied,
                           Error *why)
{
    Ingest ingest;
    ingest_init(&ingest, &(IngestOptions){ .ports = &real_ports,
                                           .world = journal,
                                           .store = store,
                                           .applied = *inout_applied });
    Err err = ingest_catch_up(&ingest, why);
    *inout_applied = ingest.applied;
    ingest_done(&ingest);
    return err;
}

/* --- The thread -----------------------------------------------------------------------
 */

static void give_back_memory(IngestThread *thread)
{
    int64_t boot_ms = clock_now().boot_ms;
    uint64_t applied = thread->ingest.applied;
    uint64_t lag = journal_durable(thread->options.journal) - applied;
    if (lag > TRIM_LAG_MAX || applied < thread->trimmed + TRIM_BYTES_MIN ||
        boot_ms - thread->trimmed_boot < TRIM_EVERY_MS)
        return;
    thread->trimmed = applied;
    thread->trimmed_boot = boot_ms;
    malloc_trim(0);
}

static void receive(IngestThread *thread, Mail *mail)
{
    while (mail) {
        Mail *next = mail->next;
        Ask *ask = (Ask *)(void *)mail;
        if (ask->is_news) /* a wake: nothing but its arrival matters */
            mem_free(mail);
        else
            ingest_take(&thread->ingest, ask);
        mail = next;
    }
}

static bool must_not_gather(IngestThread *thread)
{
    const Ingest *ingest = &thread->ingest;
    uint64_t lag = journal_durable(thread->options.journal) - ingest->applied;
    uint64_t lag_max = ingest->busy ? BUSY_BYTES_MAX : GATHER_BYTES_MAX;
    return !lag || lag >= lag_max || thread->options.at_once ||
           thread->wanted > ingest->applied || mailbox_closed(&thread->box) ||
           ingest_is_awaited(ingest);
}

static void gather(IngestThread *thread)
{
    int64_t left_ms = thread->ingest.busy ? BUSY_MS : GATHER_MS;
    int64_t until_ms = clock_now().boot_ms + left_ms;
    while (left_ms > 0 && !must_not_gather(thread)) {
        receive(thread, mailbox_wait(&thread->box, left_ms));
        ingest_answer(&thread->ingest);
        left_ms = until_ms - clock_now().boot_ms;
    }
    thread->woken = false; /* before the journal is read: what comes later wakes again */
}

static void *run(void *context)
{
    IngestThread *thread = context;
    Ingest *ingest = &thread->ingest;
    for (;;) {
        receive(thread, mailbox_wait(&thread->box, MS_PER_S));
        ingest_answer(ingest);
        gather(thread);
        while (ingest_may_try(ingest) && ingest_one(ingest)) {
            ingest_answer(ingest);
            ingest_sync(ingest);
            receive(thread, mailbox_take(&thread->box));
            give_back_memory(thread);
            gather(thread);
        }
        ingest_answer(ingest);
        ingest_sync(ingest);
        give_back_memory(thread);
        if (mailbox_closed(&thread->box))
            return NULL;
    }
}

IngestThread *ingest_thread_open(const IngestThreadOptions *options)
{
    IngestThread *thread = MEM_NEW(IngestThread);
    thread->options = *options;
    thread->trimmed = options->applied;
    ingest_init(&thread->ingest, &(IngestOptions){ .ports = &real_ports,
                                                   .world = options->journal,
                                                   .store = options->store,
                                                   .answers = options->answers,
                                                   .applied = options->applied,
                                                   .node = options->node });
    mailbox_init(&thread->box);
    pthread_create(&thread->thread, NULL, run, thread);
    return thread;
}

static void put_wake(IngestThread *thread)
{
    IngestNews *wake = MEM_NEW(IngestNews);
    wake->is_news = true;
    mailbox_put(&thread->box, &wake->mail);
}

void ingest_thread_wake(IngestThread *thread)
{
    if (!atomic_exchange(&thread->woken, true))
        put_wake(thread);
}

void ingest_thread_hurry(IngestThread *thread, uint64_t position)
{
    if (atomic_exchange(&thread->wanted, position) < position)
        put_wake(thread);
}

void ingest_thread_ask(IngestThread *thread, Ask *ask)
{
    ask->is_news = false;
    mailbox_put(&thread->box, &ask->mail);
}

void ingest_thread_stop(IngestThread *thread)
{
    if (!thread)
        return;
    mailbox_close(&thread->box);
    pthread_join(thread->thread, NULL);
}

uint64_t ingest_thread_applied(const IngestThread *thread)
{
    return thread->ingest.applied;
}

void ingest_thread_free(IngestThread *thread)
{
    if (!thread)
        return;
    receive(thread, mailbox_take(&thread->box));
    ingest_done(&thread->ingest);
    mailbox_done(&thread->box);
    mem_free(thread);
}
