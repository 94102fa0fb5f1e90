/* SPDX-License-Identifier: Apache-2.0 */
/* member.c - one node of the cluster: pieces of its work, its lease, its deaths. */
#include "sim/cluster/definitions.h"
#include "sim/cluster/processes.h"
#include "sim/cluster/requests.h"

#include <stdio.h>

static int64_t boot_of(int64_t time_ms)
{
    return time_ms - TIME_BEGIN + 1;
}

/* --- Calls ----------------------------------------------------------------------------
 */

static void forget_call(Member *member, MemberCall *call)
{
    size_t at = 0;
    while (member->calls[at] != call)
        at++;
    member->calls[at] = member->calls[--member->call_count];
    arena_done(&call->call.arena);
    mem_free(call);
}

static void done(Call *answered)
{
    MemberCall *call = (MemberCall *)(void *)answered;
    Member *member = call->member;
    Effect effect = { .kind = EFFECT_REPLY,
                      .request = call->number,
                      .err = answered->err,
                      .problem = answered->problem,
                      .first = answered->first,
                      .count = answered->count,
                      .added_items = answered->added,
                      .job = answered->has_job ? &answered->job : NULL };
    request_answered(member->cluster, &effect, member->number);
    forget_call(member, call);
}

MemberCall *member_call(Member *member)
{
    MemberCall *call = MEM_NEW(MemberCall);
    call->member = member;
    call->call.kind = CALL_EVENT;
    call->call.done = done;
    MEM_PUSH(member->calls, member->call_count, member->call_capacity) = call;
    return call;
}

void member_send(Member *member, MemberCall *call, Requester number)
{
    call->number = number;
    mailbox_put(&member->engine.calls, &call->call.mail);
}

/* --- Pieces of work -------------------------------------------------------------------
 */

void member_turn(Member *member)
{
    engine_turn(&member->engine);
}

void member_sync(Member *member)
{
    uint64_t end = memory_journal_end(&member->journal);
    memory_journal_sync(&member->journal, end);
    engine_durable(&member->engine, end);
}

void member_release(Member *member)
{
    engine_release(&member->engine);
}

void member_ingest(Member *member, size_t most)
{
    while (most-- && ingest_may_try(&member->ingest) && ingest_one(&member->ingest))
        ;
}

/* Some of the questions arrive, and those that can be are answered. */
void member_answer(Member *member)
{
    size_t taken = rng_below(&member->cluster->rng, member->ask_count + 1);
    for (size_t i = 0; i < taken; i++)
        ingest_take(&member->ingest, member->asks[i]);
    member->ask_count -= taken;
    if (member->ask_count)
        memmove(member->asks, member->asks + taken,
                member->ask_count * sizeof *member->asks);
    ingest_answer(&member->ingest);
    ingest_sync(&member->ingest);
}

/* --- The lease -----------------------------------------------------------------------
 */

static bool renew(Member *member, NodeRow *out)
{
    Error why = { 0 };
    Store *store = member->cluster->store;
    Buf facts = { 0 };
    if (!reaches_store(member))
        return false;
    if (member->node) {
        NodeFacts node = node_facts(member->node);
        peer_pack(&facts, &(PeerFacts){ .slots = node.slots,
                                        .used = node.slots_used,
                                        .ready = node.spare,
                                        .pull = node.pull,
                                        .draining = node.draining });
    }
    Renewal renewal = { .sysid = slice_text(member->sysid),
                        .number = member->index + 1,
                        .lease_ms = LEASE_MS,
                        .controls = member->node != NULL,
                        .facts = buf_slice(&facts) };
    Err err = store->kind->renew(store, &renewal, out, &why);
    buf_done(&facts);
    return !err;
}

void member_renew(Member *member)
{
    NodeRow row;
    int64_t time_ms = member->cluster->time_ms;
    member->renew_ms = time_ms + LEASE_MS / 5;
    if (!renew(member, &row))
        return;
    if (row.fenced || row.epoch != member->epoch) {
        member->rejoin = true;
        return;
    }
    member->lease_boot = boot_of(time_ms + LEASE_MS - MARGIN_MS);
    member->claims_boot = boot_of(time_ms + LEASE_MS * 2 / 3);
    member->deadline_ms = time_ms + LEASE_MS - MARGIN_MS;
    member->peers_due = true;
}

/* --- Life and death ------------------------------------------------------------------
 */

static void forget(Member *member)
{
    for (size_t i = 0; i < member->ask_count; i++)
        ask_free(member->asks[i]);
    for (size_t i = 0; i < member->call_count; i++) {
        arena_done(&member->calls[i]->call.arena);
        mem_free(member->calls[i]);
    }
    member->ask_count = member->call_count = 0;
    member->node = NULL;
    if (member->engine.ports) {
        (void)mailbox_take(&member->engine.calls);
        ingest_done(&member->ingest);
        engine_done(&member->engine);
    }
    member->engine = (Engine){ 0 };
}

void member_crash(Member *member, bool power)
{
    Cluster *cluster = member->cluster;
    MemoryJournal *journal = &member->journal;
    say(cluster, member, power ? "loses power" : "is killed", 0);
    cluster->crashes++;
    forget(member);
    if (power) {
        memory_journal_crash(journal, &cluster->rng);
        processes_end(member);
    } else { /* what was not yet given to the system goes with the process */
        size_t safe = (size_t)(journal->durable - journal->base);
        journal->bytes.bytes =
            safe + rng_below(&cluster->rng, journal->bytes.bytes - safe + 1);
    }
    member->asleep_until_ms = 0;
    member->restart_ms =
        cluster->time_ms + (int64_t)rng_below(&cluster->rng, 4 * LEASE_MS);
}

/* The journal as the store knows it, and what the store lacks of it. */
static bool open_disk(Member *member)
{
    Error why = { 0 };
    ReadPoint point = { 0 };
    Store *store = &member->store.store;
    member->store = (MemberStore){ { &member_store_kind }, member };
    if (!member->has_journal)
        memory_journal_init(&member->journal, member->number, member->cluster->seed);
    member->has_journal = true;
    (void)!store->kind->read_point(store, member->number, &point, &why);
    if (memory_journal_reopen(&member->journal, point.position, &why)) {
        violate(member->cluster, "J3: its journal is damaged", 0);
        return false;
    }
    ingest_init(&member->ingest, &(IngestOptions){ .ports = &member_ingest_ports,
                                                   .world = member,
                                                   .store = store,
                                                   .answers = &member->engine.answers,
                                                   .applied = point.position,
                                                   .node = member->number });
    return !ingest_catch_up(&member->ingest, &why);
}

static void open_engine(Member *member)
{
    engine_init(&member->engine, &member_ports, member);
    member->engine.parts = member_parts;
}

void member_goes(Member *member)
{
    member->cut_until_ms = 0;
    member_crash(member, rng_percent(&member->cluster->rng, 50));
    open_engine(member);
    (void)open_disk(member);
    forget(member);
    say(member->cluster, member, "does not return", 0);
    member->gone = true;
    member->cluster->gone++;
    member->cluster->owed += requests_owed(member->cluster, member->number);
}

static void join(Member *member, uint64_t epoch)
{
    Op op = { .kind = OP_JOIN, .count = epoch };
    Batch batch = { .node = member->number, .ops = &op, .count = 1 };
    Error why = { 0 };
    Store *store = member->cluster->store;
    (void)!store->kind->commit(store, &batch, 1, NULL, &why);
}

/* Number, journal and epoch; false: later again. */
static bool enter(Member *member)
{
    NodeRow row;
    if (!renew(member, &row))
        return false;
    member->number = row.number;
    open_engine(member);
    if (!open_disk(member))
        return false;
    member->epoch = row.epoch;
    if (row.fenced || !row.epoch)
        join(member, ++member->epoch);
    return renew(member, &row) && !row.fenced && row.epoch == member->epoch;
}

static bool open_node(Member *member)
{
    Cluster *cluster = member->cluster;
    Error why = { 0 };
    EngineStart start = { .store = &member->store.store,
                          .node = { .sysid = slice_text(member->sysid),
                                    .number = (uint16_t)member->number,
                                    .seed = cluster->seed + member->index,
                                    .shared = true,
                                    .settings = node_settings_default() },
                          .owner = member->number };
    start.node.settings.slots = 2 + member->index;
    start.node.settings.window_jobs = 3;
    member_changes_begin(member);
    member->engine.applied = member->ingest.applied;
    engine_durable(&member->engine, member->journal.durable);
    if (engine_recover(&member->engine, &start, &why))
        return false;
    processes_list(member);
    return !engine_adopt(&member->engine, MS_PER_S, &why);
}

void member_open(Member *member)
{
    Cluster *cluster = member->cluster;
    if (member->node) { /* it found itself fenced */
        cluster->rejoins++;
        say(cluster, member, "begins anew", 0);
        member_sync(member);
        forget(member);
    }
    member->rejoin = false;
    if (!enter(member) || !open_node(member)) {
        forget(member);
        return;
    }
    member->rejoin = false;
    member->node = member->engine.node;
    member_renew(member);
    node_recovered(member->node);
    say(cluster, member, "runs", 0);
    member_turn(member); /* what no one knows must not go on */
}

void member_close(Member *member)
{
    forget(member);
    memory_journal_done(&member->journal);
    mem_free(member->asks);
    mem_free(member->calls);
}
