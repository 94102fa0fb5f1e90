/* SPDX-License-Identifier: Apache-2.0 */
/* member.c - one node of the cluster: its turn, journal, keeper, lease; its deaths. */
#include "sim/cluster/definitions.h"
#include "sim/cluster/processes.h"
#include "sim/cluster/requests.h"

#include <assert.h>
#include <stdio.h>

static Now now_of(const Member *member)
{
    int64_t time_ms = member->cluster->time_ms;
    return (Now){ .wall_ms = time_ms, .boot_ms = time_ms - TIME_BEGIN + 1 };
}

static int64_t boot_of(int64_t time_ms)
{
    return time_ms - TIME_BEGIN + 1;
}

/* --- The journal -------------------------------------------------------------------- */

static void append(Member *member, const Batch *batch)
{
    if (!batch->count)
        return;
    Buf record = { 0 };
    batch_pack(&record, batch);
    MEM_PUSH(member->records, member->record_count, member->record_capacity) = record;
}

void member_sync(Member *member)
{
    member->durable = member->record_count;
}

/* No one looks again whether the key was really free. */
static void believe_keys(Batch *batch, const char *type)
{
    for (size_t i = 0; i < batch->count; i++) {
        Op *op = &batch->ops[i];
        if (op->kind != OP_ADD || !(op->job->flags & JOB_UNSURE) ||
            !slice_is(op->job->type, type))
            continue;
        Job *job = ARENA_NEW(&batch->arena, Job);
        *job = *op->job;
        job->flags &= ~(uint32_t)JOB_UNSURE;
        op->job = job;
    }
}

/* One record as a transaction; the store may say of it later that it was applied. */
static void ingest_one(Member *member)
{
    Cluster *cluster = member->cluster;
    Batch batch = { 0 };
    Error why = { 0 };
    Err err = batch_unpack(buf_slice(&member->records[member->applied]), &batch);
    assert(!err);
    (void)err;
    batch.has_read_point = true;
    batch.node = member->number;
    batch.read_point = (ReadPoint){ member->number, member->applied + 1 };
    OpResult *results = MEM_ARRAY(OpResult, batch.count + 1);
    if (cluster->flaw == FLAW_KEYS_BELIEVED)
        believe_keys(&batch, "shell");
    if (cluster->flaw == FLAW_COMPLETED_TWICE)
        believe_keys(&batch, "after");
    err = cluster->store->kind->commit(cluster->store, &batch, 1, results, &why);
    assert(!err);
    for (size_t i = 0; i < batch.count; i++) {
        cluster->given += batch.ops[i].kind == OP_GIVE && results[i] == OP_APPLIED;
        cluster->taken += batch.ops[i].kind == OP_TAKE && results[i] == OP_APPLIED;
        if (cluster_needs_owner(&batch.ops[i]) && results[i] != OP_APPLIED)
            member->rejoin = true; /* it has decided about what is not its own */
    }
    mem_free(results);
    batch_done(&batch);
    member->applied++;
    requests_look(cluster);
}

void member_ingest(Member *member, size_t most)
{
    for (; most && member->applied < member->durable && reaches_store(member); most--)
        ingest_one(member);
}

static uint64_t applied_number(const Member *member)
{
    uint64_t number = 0;
    for (size_t i = 0; i < member->turned_count; i++)
        if (member->turned[i].end <= member->applied)
            number = member->turned[i].number;
    return number;
}

/* --- Effects ------------------------------------------------------------------------ */

static void ask(Member *member, const Effect *effect)
{
    Question *question = MEM_NEW(Question);
    question->load = load_of(effect, &question->arena);
    question->token = effect->token;
    question->needs = member->record_count;
    MEM_PUSH(member->questions, member->question_count, member->question_capacity) =
        question;
}

static void carry_out(Member *member, const Effect *effect)
{
    switch (effect->kind) {
    case EFFECT_REPLY:
        request_answered(member->cluster, effect, member->number);
        return;
    case EFFECT_START:
        process_start(member, effect->id, effect->attempt);
        return;
    case EFFECT_SIGNAL:
        process_signal(member, effect->id, effect->attempt);
        return;
    case EFFECT_LOAD:
        ask(member, effect);
        return;
    case EFFECT_FORGET:
    case EFFECT_CHANGED:
    case EFFECT_ERASE:
    case EFFECT_DEFINED:
    case EFFECT_LETTER:
        return;
    }
}

/* Jobs that were accepted are safe in the journal; every other answer speaks of what the
 * store must have. */
static bool may_go(const Member *member, const HeldTurn *turn, const Effect *effect)
{
    bool promise =
        effect->kind == EFFECT_REPLY && !request_adds(member->cluster, effect->request);
    return turn->end <= (promise ? member->applied : member->durable);
}

static void held_free(HeldTurn *turn)
{
    outbox_done(&turn->out);
    mem_free(turn);
}

void member_release(Member *member)
{
    while (member->held_count) {
        HeldTurn *turn = member->held[0];
        for (; turn->done < turn->out.effect_count; turn->done++) {
            const Effect *effect = &turn->out.effects[turn->done];
            if (effect->wait == WAIT_NONE)
                continue;
            if (!may_go(member, turn, effect))
                return;
            carry_out(member, effect);
        }
        held_free(turn);
        memmove(member->held, member->held + 1,
                --member->held_count * sizeof *member->held);
    }
}

/* --- The turn ----------------------------------------------------------------------- */

static void tell_news(Member *member)
{
    for (size_t i = 0; i < member->news_count; i++) {
        const NewsItem *item = &member->news[i];
        MEM_PUSH(member->events, member->event_count, member->event_capacity) =
            (Event){ .kind = item->kind,
                     .id = item->id,
                     .attempt = item->attempt,
                     .ending = item->ending };
    }
    member->news_count = 0;
}

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
    PeerList *list = ARENA_NEW(&member->arena, PeerList);
    *list = (PeerList){ .arena = &member->arena };
    (void)!store->kind->nodes(store, take_row, list, &why);
    MEM_PUSH(member->events, member->event_count, member->event_capacity) =
        (Event){ .kind = EVENT_PEERS,
                 .peers = list->peers,
                 .count = list->count,
                 .lease_boot = member->lease_boot,
                 .claims_boot = member->claims_boot };
    member->peers_due = false;
}

void member_turn(Member *member)
{
    HeldTurn *turn = MEM_NEW(HeldTurn);
    tell_news(member);
    if (member->peers_due) {
        tell_peers(member);
        member_tell_changes(member);
    }
    node_step(member->node, now_of(member), member->events, member->event_count,
              &turn->out);
    node_check(member->node);
    member->event_count = 0;
    arena_reset(&member->arena);
    requests_sent(member->cluster, &turn->out, member->number);
    append(member, &turn->out.adds);
    append(member, &turn->out.batch);
    turn->end = member->record_count;
    if (turn->out.adds.count || turn->out.batch.count)
        MEM_PUSH(member->turned, member->turned_count, member->turned_capacity) =
            (Turned){ turn->out.number, turn->end };
    for (size_t i = 0; i < turn->out.effect_count; i++)
        if (turn->out.effects[i].wait == WAIT_NONE)
            carry_out(member, &turn->out.effects[i]);
    MEM_PUSH(member->held, member->held_count, member->held_capacity) = turn;
}

/* --- The keeper's answers ------------------------------------------------------------
 */

static void question_free(Question *question)
{
    arena_done(&question->arena);
    mem_free(question);
}

/* Answers one question in a turn of its own. */
static void answer_one(Member *member, Question *question)
{
    Cluster *cluster = member->cluster;
    Loaded loaded = { 0 };
    Error why = { 0 };
    Event *event = &MEM_PUSH(member->events, member->event_count, member->event_capacity);
    *event = (Event){ .kind = EVENT_LOADED,
                      .token = question->token,
                      .number = applied_number(member) };
    if (!reaches_store(member))
        event->err = ERR_UNAVAILABLE;
    else
        event->err =
            cluster->store->kind->load(cluster->store, &question->load, &loaded, &why);
    if (cluster->flaw == FLAW_OWED_FORGOTTEN && question->load.kind == LOAD_OWED)
        loaded.count = 0;
    if (!event->err)
        loaded_tell(&loaded, event);
    member_turn(member);
    loaded_done(&loaded);
}

void member_answer(Member *member)
{
    for (size_t i = 0; i < member->question_count; i++) {
        Question *question = member->questions[i];
        if (reaches_store(member) && question->needs > member->applied)
            continue;
        member->questions[i] = member->questions[--member->question_count];
        answer_one(member, question);
        question_free(question);
        return;
    }
    MEM_PUSH(member->events, member->event_count, member->event_capacity) =
        (Event){ .kind = EVENT_APPLIED, .number = applied_number(member) };
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
    for (size_t i = 0; i < member->held_count; i++)
        held_free(member->held[i]);
    for (size_t i = 0; i < member->question_count; i++)
        question_free(member->questions[i]);
    member->held_count = member->question_count = member->event_count = 0;
    member->news_count = member->turned_count = 0;
    arena_reset(&member->arena);
    node_free(member->node);
    member->node = NULL;
}

void member_crash(Member *member, bool power)
{
    Cluster *cluster = member->cluster;
    say(cluster, member, power ? "loses power" : "is killed", 0);
    cluster->crashes++;
    forget(member);
    while (member->record_count > member->durable)
        buf_done(&member->records[--member->record_count]);
    if (power)
        processes_end(member);
    member->asleep_until_ms = 0;
    member->restart_ms =
        cluster->time_ms + (int64_t)rng_below(&cluster->rng, 4 * LEASE_MS);
}

void member_goes(Member *member)
{
    member->cut_until_ms = 0;
    member_crash(member, rng_percent(&member->cluster->rng, 50));
    member_ingest(member, SIZE_MAX);
    say(member->cluster, member, "does not return", 0);
    member->gone = true;
    member->cluster->gone++;
    member->cluster->owed += requests_owed(member->cluster, member->number);
}

static void load_into(Member *member, const Load *load, void (*put)(Node *, const Job *))
{
    Loaded loaded = { 0 };
    Error why = { 0 };
    Store *store = member->cluster->store;
    (void)!store->kind->load(store, load, &loaded, &why);
    for (size_t i = 0; i < loaded.count; i++)
        put(member->node, &loaded.jobs[i]);
    loaded_done(&loaded);
}

static void join(Member *member, uint64_t epoch)
{
    Op op = { .kind = OP_JOIN, .count = epoch };
    Batch batch = { .node = member->number, .ops = &op, .count = 1 };
    Error why = { 0 };
    Store *store = member->cluster->store;
    (void)!store->kind->commit(store, &batch, 1, NULL, &why);
}

static void adopt(Member *member)
{
    for (size_t i = member->process_count; i-- > 0;) {
        Process process = member->processes[i];
        if (!node_adopt(member->node, process.id, process.attempt, now_of(member)))
            process_signal(member, process.id, process.attempt);
    }
    member->news_count = 0;
}

void member_open(Member *member)
{
    Cluster *cluster = member->cluster;
    Error why = { 0 };
    NodeRow row;
    if (member->node) { /* it found itself fenced */
        cluster->rejoins++;
        say(cluster, member, "begins anew", 0);
        member_sync(member);
        forget(member);
    }
    member->rejoin = false;
    if (!renew(member, &row))
        return;
    member->number = row.number;
    member_ingest(member, SIZE_MAX);
    member->epoch = row.epoch;
    if (row.fenced || !row.epoch)
        join(member, ++member->epoch);
    if (!renew(member, &row) || row.fenced || row.epoch != member->epoch)
        return;
    NodeOptions options = { .sysid = slice_text(member->sysid),
                            .number = (uint16_t)member->number,
                            .seed = cluster->seed + member->index,
                            .shared = true,
                            .settings = node_settings_default() };
    options.settings.slots = 2 + member->index;
    options.settings.window_jobs = 3;
    (void)!cluster->store->kind->last_id(cluster->store, member->number, &options.last_id,
                                         &why);
    member->node = node_new(&options);
    member->rejoin = false;
    Load lanes = { .kind = LOAD_LANES, .owner = member->number };
    Load running = { .kind = LOAD_RUNNING,
                     .owner = member->number,
                     .lock = options.sysid };
    member_load_definitions(member);
    load_into(member, &lanes, node_load_lane);
    load_into(member, &running, node_load_running);
    member_renew(member);
    adopt(member);
    node_recovered(member->node);
    say(cluster, member, "runs", 0);
}

void member_close(Member *member)
{
    forget(member);
    for (size_t i = 0; i < member->record_count; i++)
        buf_done(&member->records[i]);
    mem_free(member->records);
    mem_free(member->held);
    mem_free(member->questions);
    mem_free(member->news);
    mem_free(member->turned);
    mem_free(member->events);
    arena_done(&member->arena);
}
