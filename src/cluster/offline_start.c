/* SPDX-License-Identifier: Apache-2.0 */
/* offline_start.c - see offline_start.h. */
#include "cluster/offline_start.h"

#include "base/log.h"
#include "cluster/store_offline.h"
#include "core/unique.h"
#include "engine/daemon_state.h"
#include "engine/store_await.h"

#include <stdio.h>

#define PATIENCE_MS  (5 * MS_PER_S)
#define READ_BYTES   ((size_t)8 << 20) /* of the journal at once */
#define PROBE_MS     (5 * MS_PER_S)    /* for an answer of the store */
#define REASON_BYTES (ERROR_TEXT_BYTES + 80)

/* --- Beginning ---------------------------------------------------------------------- */

/* Whether the snapshot is of this node on this store. */
static Err check_owner(const Daemon *daemon, const Snapshot *snapshot, Error *why)
{
    Buf url = { 0 };
    store_url_shown(daemon->store_url, &url);
    bool same_store = slice_equal(snapshot->store, buf_slice(&url));
    bool same_node = slice_is(snapshot->sysid, daemon->identity.sysid) &&
                     snapshot->number == daemon->identity.number;
    buf_done(&url);
    if (same_store && same_node)
        return ERR_OK;
    return error_set(why, ERR_CONFLICT, "%s/" SNAPSHOT_FILE " is of another %s",
                     daemon->data_dir, same_node ? "store" : "node");
}

/* Older segments may have gone since it was written. */
static Err find_point(const Daemon *daemon, OfflineStart *offline_start, Error *why)
{
    char dir[DAEMON_PATH_BYTES + 16];
    uint64_t begin;
    snprintf(dir, sizeof dir, "%s/journal", daemon->data_dir);
    Err err = journal_begin(dir, &begin, why);
    if (err || begin <= offline_start->snapshot.position)
        return err;
    offline_start->snapshot.position = begin;
    offline_start->ids_unsure = true;
    return ERR_OK;
}

static OfflineStart *recall(const Daemon *daemon, Error *why)
{
    OfflineStart *offline_start = MEM_NEW(OfflineStart);
    Err err = snapshot_read(daemon->data_dir, &offline_start->snapshot, why);
    if (!err && daemon->options.ack_store)
        err = error_set(why, ERR_CONFLICT, "journal.ack is store");
    if (!err)
        err = check_owner(daemon, &offline_start->snapshot, why);
    if (!err)
        err = find_point(daemon, offline_start, why);
    if (!err)
        return offline_start;
    offline_start_free(offline_start);
    return NULL;
}

void offline_start_free(OfflineStart *offline_start)
{
    if (!offline_start)
        return;
    snapshot_done(&offline_start->snapshot);
    mem_free(offline_start);
}

Err offline_start_open_store(Daemon *daemon, Error *why)
{
    char msg[REASON_BYTES];
    Error reason = { 0 };
    StoreOptions options = { 0 };
    Patience patience = { .most_ms = PATIENCE_MS };
    OfflineStart *offline_start = recall(daemon, &reason);
    if (!offline_start) {
        snprintf(msg, sizeof msg, "no job is accepted until it answers: %s", reason.text);
        patience = (Patience){ .msg = msg };
    }
    Err err = store_await(daemon->store_url, &options, &patience, &daemon->store, why);
    if (err != ERR_UNAVAILABLE || !offline_start) {
        offline_start_free(offline_start);
        return err;
    }
    log_event(
        LOG_WARN, "node.cut_off",
        "sysid=%s why=%s msg=\"it accepts jobs into its journal, and runs none until "
        "the store answers\"",
        daemon->identity.sysid, LOG_QUOTED(why->text));
    daemon->offline_start = offline_start;
    daemon->store = store_away_new(&offline_start->snapshot);
    return ERR_OK;
}

/* --- What the journal has behind the snapshot ----------------------------------------
 */

static void see_id(OfflineStart *offline_start, JobId id)
{
    Snapshot *snapshot = &offline_start->snapshot;
    if (id_node(id) != snapshot->number)
        return; /* what it had inherited of another */
    offline_start->ids_unsure = false;
    if (id_count(id) >= snapshot->ids)
        snapshot->ids = id_count(id) + 1;
}

static void see_jobs(OfflineStart *offline_start, const Job *job, uint64_t count,
                     size_t bytes)
{
    TenantUse *use = snapshot_use(&offline_start->snapshot, job->tenant);
    if (state_in(job->state, STATES_WAITING))
        use->queued_here += (int64_t)count;
    use->bytes += (int64_t)bytes;
}

static void see(OfflineStart *offline_start, const Op *op)
{
    Job owed;
    if (op->kind == OP_ADD) {
        see_id(offline_start, op->job->id);
        see_jobs(offline_start, op->job, 1, op->job->payload.bytes);
    } else if (op->kind == OP_ADD_LINES) {
        uint64_t last = op->first + op->count - 1;
        see_id(offline_start,
               id_from_count(last, (uint16_t)offline_start->snapshot.number));
        see_jobs(offline_start, op->job, op->count, op->body.bytes);
    } else if (op->kind == OP_PUT && slice_is(op->table, OWED_TABLE) &&
               !job_unpack(op->value, &owed)) {
        see_id(offline_start, owed.id); /* given, and added later */
    }
}

Err offline_start_read_tail(OfflineStart *offline_start, Journal *journal, Error *why)
{
    Batch batch = { 0 };
    JournalToken token;
    Err err = ERR_OK;
    while (!err && (token = journal_reserve(journal, READ_BYTES, TIME_NEVER,
                                            clock_now().boot_ms)) != 0) {
        batch_clear(&batch);
        err = journal_read(journal, token, &batch, why);
        for (size_t i = 0; !err && i < batch.count; i++)
            see(offline_start, &batch.ops[i]);
        if (!err)
            err = journal_rsync(journal, token);
    }
    batch_done(&batch);
    if (!err)
        err = journal_rewind(journal, offline_start->snapshot.position, why);
    if (!err && offline_start->ids_unsure)
        err = error_set(why, ERR_UNAVAILABLE,
                        "the store does not answer, and neither " SNAPSHOT_FILE
                        " nor the journal knows which ids were given last");
    return err;
}

/* --- The end ------------------------------------------------------------------------ */

bool offline_start_is_over(const Daemon *daemon, Err *inout_said)
{
    Error why = { 0 };
    Store *store;
    ReadPoint point;
    StoreOptions options = { .answer_ms = PROBE_MS };
    Err err = store_open(daemon->store_url, &options, &store, &why);
    if (!err) {
        err = store->kind->read_point(store, daemon->identity.number, &point, &why);
        store_close(store);
    }
    if (err && err != ERR_UNAVAILABLE && err != ERR_TIMEOUT && err != *inout_said)
        log_event(LOG_ERROR, "node.cut_off", "sysid=%s err=%s why=%s",
                  daemon->identity.sysid, err_name(err), LOG_QUOTED(why.text));
    *inout_said = err;
    return !err;
}
