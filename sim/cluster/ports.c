/* SPDX-License-Identifier: Apache-2.0 */
/* ports.c - the world of one member of the cluster, as its engine sees it. */
#include "sim/cluster/definitions.h"
#include "sim/cluster/processes.h"
#include "sim/cluster/requests.h"

#include <signal.h>

static int64_t boot_of(int64_t time_ms)
{
    return time_ms - TIME_BEGIN + 1;
}

Now member_now(const Member *member)
{
    int64_t time_ms = member->cluster->time_ms;
    return (Now){ .wall_ms = time_ms, .boot_ms = boot_of(time_ms) };
}

static Now port_now(void *world)
{
    return member_now(world);
}

/* --- The journal ----------------------------------------------------------------------
 */

static void port_journal_write(void *world, const Record *record, Buf *give)
{
    Member *member = world;
    (void)give;
    memory_journal_write(&member->journal, record);
}

static uint64_t port_journal_end(const void *world)
{
    const Member *member = world;
    return memory_journal_end(&member->journal);
}

static void port_journal_flush(void *world, bool here)
{
    (void)world; /* member_sync does it when its time comes */
    (void)here;
}

static bool port_journal_quick(const void *world)
{
    (void)world;
    return false;
}

static bool port_has_room(void *world, Now now)
{
    (void)world;
    (void)now;
    return true;
}

/* --- The store ------------------------------------------------------------------------
 */

static void port_ask(void *world, Ask *ask)
{
    Member *member = world;
    MEM_PUSH(member->asks, member->ask_count, member->ask_capacity) = ask;
}

static void port_hurry(void *world, uint64_t position)
{
    (void)world;
    (void)position;
}

static void port_read(void *world, Call *call)
{
    const Member *member = world;
    call->read(call, member->cluster->store);
    call->done(call);
}

/* --- The runner -----------------------------------------------------------------------
 */

static void port_start(void *world, const Job *job, const StartHow *how)
{
    (void)how;
    process_start(world, job->id, job->attempt);
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

static void port_signal(void *world, JobId id, uint32_t attempt, int number)
{
    if (number == SIGTERM || number == SIGKILL)
        process_signal(world, id, attempt);
}

static void port_starts_done(void *world)
{
    (void)world;
}

/* --- Other nodes ----------------------------------------------------------------------
 */

static bool port_may_start(const void *world)
{
    const Member *member = world;
    return !member->rejoin && member_now(member).boot_ms < member->lease_boot;
}

static bool port_silent(const void *world)
{
    (void)world;
    return false;
}

static void port_call(void *world, Call *call)
{
    (void)world;
    engine_answer(call, ERR_UNSUPPORTED, NULL);
}

static bool port_refuse(void *world, Call *call)
{
    (void)world;
    (void)call;
    return false;
}

const EnginePorts member_ports = {
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

/* --- Ingestion: one record at a time --------------------------------------------------
 */

static uint64_t ingest_durable(void *world)
{
    const Member *member = world;
    return member->journal.durable;
}

static JournalToken ingest_reserve(void *world, size_t bytes_max, Now now)
{
    const Member *member = world;
    (void)bytes_max;
    (void)now;
    return member->journal.read < member->journal.durable ? member->journal.read + 1 : 0;
}

static Err ingest_read(void *world, JournalToken token, Batch *out, Error *why)
{
    Member *member = world;
    (void)token;
    return memory_journal_read(&member->journal, 1, out, why);
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
    Member *member = world;
    (void)now;
    memory_journal_trim(&member->journal, position);
}

const IngestPorts member_ingest_ports = {
    .now = port_now,
    .durable = ingest_durable,
    .reserve = ingest_reserve,
    .read = ingest_read,
    .rsync = ingest_rsync,
    .rewind = ingest_rewind,
    .trim = ingest_trim,
};

/* --- The shared store, while it can be reached ----------------------------------------
 */

static Member *member_of(Store *store)
{
    return ((MemberStore *)(void *)store)->member;
}

static Store *inner(Store *store)
{
    return member_of(store)->cluster->store;
}

static Err cut(Error *why)
{
    return error_set(why, ERR_UNAVAILABLE, "the store is not there");
}

/* No one looks again whether the key was really free. */
static void believe_keys(const Batch *batch, const char *type)
{
    for (size_t i = 0; i < batch->count; i++) {
        Op *op = &batch->ops[i];
        if (op->kind != OP_ADD || !(op->job->flags & JOB_UNSURE) ||
            !slice_is(op->job->type, type))
            continue;
        Job *job = (Job *)(uintptr_t)op->job; /* the batch's own */
        job->flags &= ~(uint32_t)JOB_UNSURE;
    }
}

static Err shared_commit(Store *store, const Batch *batches, size_t count,
                         OpResult *out_results, Error *why)
{
    Member *member = member_of(store);
    Cluster *cluster = member->cluster;
    if (!reaches_store(member))
        return cut(why);
    if (cluster->flaw == FLAW_KEYS_BELIEVED)
        believe_keys(batches, "shell");
    if (cluster->flaw == FLAW_COMPLETED_TWICE)
        believe_keys(batches, "after");
    Err err = inner(store)->kind->commit(inner(store), batches, count, out_results, why);
    for (size_t i = 0; !err && i < batches->count; i++) {
        const Op *op = &batches->ops[i];
        cluster->given += op->kind == OP_GIVE && out_results[i] == OP_APPLIED;
        cluster->taken += op->kind == OP_TAKE && out_results[i] == OP_APPLIED;
    }
    requests_look(cluster);
    return err;
}

static Err shared_sync(Store *store, Error *why)
{
    return reaches_store(member_of(store)) ? ERR_OK : cut(why);
}

static Err shared_load(Store *store, const Load *load, Loaded *out, Error *why)
{
    const Member *member = member_of(store);
    if (!reaches_store(member))
        return cut(why);
    Err err = inner(store)->kind->load(inner(store), load, out, why);
    if (member->cluster->flaw == FLAW_OWED_FORGOTTEN && load->kind == LOAD_OWED)
        out->count = 0;
    return err;
}

static Err shared_query(Store *store, const JobQuery *query, const JobSink *sink,
                        QueryEnd *out_end, Error *why)
{
    return inner(store)->kind->query(inner(store), query, sink, out_end, why);
}

static Err shared_read_point(Store *store, uint32_t node, ReadPoint *out, Error *why)
{
    return inner(store)->kind->read_point(inner(store), node, out, why);
}

static Err shared_last_id(Store *store, uint32_t node, JobId *out, Error *why)
{
    return inner(store)->kind->last_id(inner(store), node, out, why);
}

static Err shared_last_number(Store *store, uint32_t node, uint64_t *out, Error *why)
{
    return inner(store)->kind->last_number(inner(store), node, out, why);
}

static Err shared_definitions(Store *store, Slice table, DefinitionSink *sink,
                              void *context, Error *why)
{
    return inner(store)->kind->definitions(inner(store), table, sink, context, why);
}

static Err shared_groups(Store *store, const GroupCount *one, GroupSink *sink,
                         void *context, Error *why)
{
    return inner(store)->kind->groups(inner(store), one, sink, context, why);
}

const StoreKind member_store_kind = {
    .name = "shared",
    .shared = true,
    .commit = shared_commit,
    .sync = shared_sync,
    .load = shared_load,
    .query = shared_query,
    .read_point = shared_read_point,
    .last_id = shared_last_id,
    .last_number = shared_last_number,
    .definitions = shared_definitions,
    .groups = shared_groups,
};

/* --- What hangs on a turn -------------------------------------------------------------
 */

typedef struct PeerList {
    Arena *arena;
    Peer peers[NODES_MAX];
    size_t count;
} PeerList;

static void take_row(void *context, const NodeRow *row)
{
    PeerList *list = context;
    Peer *peer = &list->peers[list->count++];
    *peer = (Peer){ .number = row->number,
                    .epoch = row->epoch,
                    .left_ms = row->left_ms,
                    .fenced = row->fenced,
                    .controls = row->controls,
                    .sysid = slice_copy(list->arena, row->sysid) };
    if (peer_unpack(row->facts, &peer->facts))
        peer->facts = (PeerFacts){ 0 };
}

static void tell_peers(Member *member)
{
    Error why = { 0 };
    Store *store = member->cluster->store;
    Arena *arena = &member->engine.in.step;
    PeerList *list = ARENA_NEW(arena, PeerList);
    *list = (PeerList){ .arena = arena };
    (void)!store->kind->nodes(store, take_row, list, &why);
    Event *event = engine_event(&member->engine, EVENT_PEERS);
    event->peers = list->peers;
    event->count = list->count;
    event->lease_boot = member->lease_boot;
    event->claims_boot = member->claims_boot;
    member->peers_due = false;
}

static bool collect(void *world, Now now)
{
    Member *member = world;
    (void)now;
    if (!member->peers_due)
        return true;
    tell_peers(member);
    member_tell_changes(member);
    return true;
}

static void decided(void *world, Outbox *out, Now now)
{
    Member *member = world;
    (void)now;
    node_check(member->engine.node);
    requests_sent(member->cluster, out, member->number);
}

/* It has decided about what is not its own. */
static void stored(void *world, const IngestNews *news)
{
    Member *member = world;
    member->rejoin = member->rejoin || news->lost;
}

static const EnginePart member_part = {
    .name = "cluster", .collect = collect, .decided = decided, .stored = stored
};

const EnginePart *const member_parts[] = { &member_part, NULL };
