/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_ports.c - the daemon's journal, threads, launcher and clock as the engine sees
 * them (engine/turn/ports.h). Nothing is decided here. */
#include "engine/daemon_state.h"

#include "access/security.h"
#include "base/log.h"
#include "cluster/cluster.h"
#include "cluster/remote_order.h"
#include "cluster/remote_query.h"
#include "engine/starts.h"

#include <sys/stat.h>

#define DATA_LOOK_MS     100
#define SYNC_HERE_NS_MAX 2000000 /* slower disks must not hold up the loop */

static Now port_now(void *world)
{
    (void)world;
    return clock_now();
}

/* --- The journal ----------------------------------------------------------------------
 */

static void port_journal_write(void *world, const Record *record, Buf *give)
{
    const Daemon *daemon = world;
    journal_write(daemon->journal, record, give);
}

static uint64_t port_journal_end(const void *world)
{
    const Daemon *daemon = world;
    return journal_end(daemon->journal);
}

static void port_journal_flush(void *world, bool here)
{
    const Daemon *daemon = world;
    if (here)
        journal_flush_here(daemon->journal);
    else
        journal_flush(daemon->journal);
}

static bool port_journal_quick(const void *world)
{
    const Daemon *daemon = world;
    return daemon->sync_ns < SYNC_HERE_NS_MAX;
}

/* What of the data directory is not where the next start would look for it; NULL: all of
 * it is there. */
static const char *what_is_gone(Daemon *daemon)
{
    struct stat status;
    if (stat(daemon->data_dir, &status) || status.st_ino != daemon->data_inode ||
        status.st_dev != daemon->data_device)
        return "it";
    const Store *store = daemon->store;
    if (store->kind->there && !store->kind->there(daemon->store))
        return "the store in it";
    return journal_there(daemon->journal) ? NULL : "a journal segment in it";
}

/* A data directory that was moved or removed under us, or a part of it, keeps nothing for
 * the next start: from then on nothing new may be acknowledged. */
static void look_at_data(Daemon *daemon, Now now)
{
    if (now.boot_ms < daemon->data_look_boot)
        return;
    daemon->data_look_boot = now.boot_ms + DATA_LOOK_MS;
    const char *gone = what_is_gone(daemon);
    if (gone && !daemon->data_gone)
        log_event(LOG_ERROR, "daemon.data_gone",
                  "data=%s msg=\"%s is not there any more; nothing is accepted\"",
                  daemon->data_dir, gone);
    daemon->data_gone = gone != NULL;
}

static bool port_has_room(void *world, Now now)
{
    Daemon *daemon = world;
    look_at_data(daemon, now);
    uint64_t lag = journal_end(daemon->journal) - daemon->engine.applied;
    const StoreKind *kind = daemon->store->kind;
    bool full = journal_full(daemon->journal) || daemon->engine.store_full ||
                (kind->full && kind->full(daemon->store));
    bool no_room = full || daemon->data_gone || lag > daemon->options.journal_lag_max;
    if (no_room != daemon->engine.no_room)
        log_event(
            no_room ? LOG_ERROR : LOG_INFO, no_room ? "journal.no_room" : "journal.room",
            "room_bytes=%llu lag_bytes=%llu",
            (unsigned long long)journal_room(daemon->journal), (unsigned long long)lag);
    return !no_room;
}

/* --- The store ------------------------------------------------------------------------
 */

static void port_ask(void *world, Ask *ask)
{
    const Daemon *daemon = world;
    ingest_thread_ask(daemon->ingest, ask);
}

static void port_hurry(void *world, uint64_t position)
{
    const Daemon *daemon = world;
    ingest_thread_hurry(daemon->ingest, position);
}

static void port_read(void *world, Call *call)
{
    const Daemon *daemon = world;
    reader_give(daemon->reader, call);
}

/* --- The runner -----------------------------------------------------------------------
 */

static void port_start(void *world, const Job *job, const StartHow *how)
{
    starts_start(world, job, how);
}

static bool port_prepare(void *world, const Job *job, const StartHow *how)
{
    return starts_prepare(world, job, how);
}

static void port_go(void *world, JobId id, uint32_t attempt)
{
    const Daemon *daemon = world;
    runner_go(daemon->runner, id, attempt);
}

static void port_signal(void *world, JobId id, uint32_t attempt, int number)
{
    starts_signal(world, id, attempt, number);
}

static void port_forget(void *world, JobId id, uint32_t attempt)
{
    const Daemon *daemon = world;
    runner_forget(daemon->runner, id, attempt);
}

static void port_starts_done(void *world)
{
    Daemon *daemon = world;
    warm_flush(&daemon->warm);
}

/* --- Other nodes, and calls that are not the engine's own -----------------------------
 */

static bool port_may_start(const void *world)
{
    return cluster_may_start(world);
}

static bool port_silent(const void *world)
{
    return cluster_silent(world);
}

/* What stands in the configuration file is changed there; only switches may be turned. */
static bool port_refuse(void *world, Call *call)
{
    Daemon *daemon = world;
    const Event *event = &call->event;
    if (event->kind != EVENT_DEFINE || event->flag ||
        !declares_has(daemon->declares, event->table, event->tenant, event->key))
        return false;
    error_set(&call->why, ERR_CONFLICT,
              "it is declared in the configuration file of a node: change it there "
              "and reload");
    engine_answer(call, ERR_CONFLICT, "declared");
    return true;
}

static void port_call(void *world, Call *call)
{
    Daemon *daemon = world;
    switch (call->kind) {
    case CALL_PIPELINE:
        audit_note(daemon->security->audit, call);
        remote_order_take(daemon, call);
        return;
    case CALL_AFAR:
        remote_query_take(remote_order_afar(daemon), call);
        return;
    case CALL_SETTLE:
        cluster_settle(daemon, call);
        return;
    case CALL_TRY:
        if (daemon->offline_start) { /* it runs nothing */
            engine_answer(call, ERR_UNAVAILABLE, "store_failing");
            return;
        }
        audit_note(daemon->security->audit, call);
        daemon_trial_begin(daemon, call);
        return;
    case CALL_EVENT:
    case CALL_READ:
    case CALL_LOOK:
    case CALL_WAIT:
        break;
    }
    engine_answer(call, ERR_UNSUPPORTED, NULL); /* the engine takes these itself */
}

const EnginePorts daemon_ports = {
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
    .go = port_go,
    .signal = port_signal,
    .forget = port_forget,
    .starts_done = port_starts_done,
    .may_start = port_may_start,
    .silent = port_silent,
    .call = port_call,
    .refuse = port_refuse,
};
