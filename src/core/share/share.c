/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - see share.h. Here: the lease, giving and asking, mail. */
#include "core/share/share.h"

#include "core/dispatch/limits.h"
#include "core/share/booking_node.h"
#include "core/share/key_confirm.h"
#include "core/share/share_state.h"

#include <assert.h>

#define POLL_BUSY_MS   200 /* of the inbox, while there is reason to expect something */
#define POLL_IDLE_MS   MS_PER_S
#define ASK_EVERY_MS   200
#define ASK_MOST       1000           /* jobs at once */
#define ANSWER_WAIT_MS (5 * MS_PER_S) /* for another node's answer */
#define INBOX_LOAD_MAX 200
#define DRAIN_GIVE_MAX 500
#define REQUEST_REMOTE ((Requester)1 << 63) /* then 15 bits of node, 48 of its token */
#define REQUEST_TOKEN  (((Requester)1 << 48) - 1)

void node_share_begin(Node *node)
{
    node->share = MEM_NEW(Share);
    node->share->lease_boot = 0; /* until it is told of one */
    node->share->claims_boot = 0;
    node->share->running_due = true;
}

typedef struct RemoteCall {
    Requester request;
    int64_t until_boot;
    uint32_t node;
    Asked *asked; /* an add that goes on with the answer; owned */
} RemoteCall;

static void free_calls(Share *share)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&share->calls, &at, &entry);) {
        RemoteCall *call = entry.value;
        if (call->asked)
            arena_done(&call->asked->arena);
        mem_free(call->asked);
        mem_free(call);
    }
    map_done(&share->calls);
}

void node_share_free(Node *node)
{
    if (!node->share)
        return;
    free_calls(node->share);
    map_done(&node->share->owed);
    arena_done(&node->share->arena);
    buf_done(&node->share->given);
    mem_free(node->share->taken);
    mem_free(node->share);
}

/* --- The lease --------------------------------------------------------------------- */

bool node_share_may_start(const Node *node)
{
    return !node->share || node->now.boot_ms < node->share->claims_boot;
}

bool node_share_controls(const Node *node)
{
    const Share *share = node->share;
    return share->controls && !node->draining && node->now.boot_ms < share->claims_boot;
}

bool node_share_unsettled(const Node *node)
{
    const Share *share = node->share;
    for (size_t i = 0; share && i < share->peer_count; i++) {
        const Peer *peer = &share->peers[i];
        if (peer->number != node->options.number && peer->epoch && peer->left_ms <= 0 &&
            !peer->fenced)
            return true;
    }
    return false;
}

/* At once, and again behind its start, should that still be on its way. */
static void kill_attempt(Node *node, const Running *running)
{
    static const Wait waits[] = { WAIT_NONE, WAIT_BATCH };
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        Effect *effect = outbox_effect(node->out, EFFECT_SIGNAL, waits[i]);
        effect->id = running->head.id;
        effect->attempt = running->head.attempt;
        effect->signal = SIGNAL_KILL;
    }
}

/* The lease is over: whatever runs here may be another's by now, and is ended. A node
 * that has just started has not been told of its lease; what it found running has a time
 * at which its launcher ends it, of the lease before. */
void node_share_lease(Node *node)
{
    Share *share = node->share;
    if (!share || !share->lease_boot || node->now.boot_ms < share->lease_boot)
        return;
    MapEntry entry;
    for (size_t at = 0; map_next(&node->running, &at, &entry);)
        if (!is_pull(entry.value))
            kill_attempt(node, entry.value);
    node_launcher_lost(node);
}

void node_share_peers(Node *node, const Event *event)
{
    Share *share = node->share;
    if (!share)
        return;
    arena_reset(&share->arena);
    share->peers =
        arena_copy(&share->arena, event->peers, event->count * sizeof *event->peers);
    share->peer_count = event->count;
    for (size_t i = 0; i < event->count; i++) {
        Peer *peer = &share->peers[i];
        peer->sysid = slice_copy(&share->arena, peer->sysid);
        peer->facts = (PeerFacts){ .slots = peer->facts.slots,
                                   .used = peer->facts.used,
                                   .ready = peer->facts.ready,
                                   .pull = peer->facts.pull,
                                   .draining = peer->facts.draining };
        if (peer->number == node->options.number)
            share->controls = peer->controls;
    }
    share->lease_boot = event->lease_boot;
    share->claims_boot = event->claims_boot;
    node_share_pull_heard(node);
    node->touched_pass = true;
}

bool node_lost_peer(const Node *node, Slice *out_sysid)
{
    const Share *share = node->share;
    for (size_t i = 0; share && i < share->peer_count; i++) {
        const Peer *peer = &share->peers[i];
        if (peer->number == node->options.number || !peer->epoch || peer_alive(peer) ||
            peer->facts.draining)
            continue;
        *out_sysid = peer->sysid;
        return true;
    }
    return false;
}

static const Peer *peer_of(const Share *share, uint32_t number)
{
    for (size_t i = 0; i < share->peer_count; i++)
        if (share->peers[i].number == number)
            return &share->peers[i];
    return NULL;
}

void node_share_mail(Node *node, uint32_t to, const NodeMessage *text)
{
    Buf body = { 0 };
    node_message_pack(&body, text);
    Op *op = node_op(node, OP_MAIL, 0);
    op->node = to;
    op->value = node_keep(node, buf_slice(&body));
    buf_done(&body);
}

/* --- Giving ------------------------------------------------------------------------ */

/* Whether any other node may run it: not what is counted over all of them, not what
 * works on the disk of this one, and not what someone is acting on. */
bool node_share_may_give(Node *node, const Head *head)
{
    return !(head->flags & JOB_STAYS) && !node_head_homed(node, head) &&
           !map_find(&node->pins, head->id);
}

/* Jobs for pull workers are given to those who ask for them, or by who leaves. */
static bool lane_gives(Node *node, const Lane *lane)
{
    return (!lane->pull || node->draining) && !lane->shut && lane_count(lane) &&
           node_share_may_give(node, lane_first(lane));
}

static uint32_t free_slots(const Node *node)
{
    uint32_t slots = node_slots(node);
    return slots > node->slots_used ? slots - node->slots_used : 0;
}

/* The store has more of it than is known here. */
static bool lane_is_loading(const Lane *lane)
{
    return !lane_count(lane) && !lane->shut && (lane->more || lane->loading);
}

static uint64_t spare(Node *node)
{
    uint64_t ready = 0;
    MapEntry entry;
    for (size_t at = 0; map_next(&node->lanes, &at, &entry);)
        if (lane_gives(node, entry.value))
            ready += lane_count(entry.value);
        else if (node->draining && lane_is_loading(entry.value))
            ready++;
    uint64_t own = node->draining ? 0 : free_slots(node);
    return ready > own ? ready - own : 0;
}

uint64_t node_share_spare(const Node *node)
{
    return node->share ? node->share->spare : 0;
}

void node_share_count(const Node *node, NodeFacts *facts)
{
    const Share *share = node->share;
    facts->nodes = 1;
    facts->nodes_slots = facts->slots;
    facts->nodes_used = facts->slots_used;
    for (size_t i = 0; share && i < share->peer_count; i++) {
        const Peer *peer = &share->peers[i];
        if (peer->number == node->options.number || !peer_alive(peer))
            continue;
        facts->nodes++;
        facts->nodes_slots += peer->facts.slots;
        facts->nodes_used += peer->facts.used;
    }
}

uint64_t node_share_pull(const Node *node)
{
    return node->share ? node->share->pull : 0;
}

void node_share_give_head(Node *node, Lane *lane, uint32_t to, Buf *ids)
{
    node_lane_out(node, lane);
    Head head = lane_take(lane);
    Op *op = node_op(node, OP_GIVE, head.id);
    op->from = STATE_BIT(JOB_READY);
    op->node = to;
    node_touch(node, head.id);
    buf_add(ids, &head.id, sizeof head.id);
    node_lane_changed(node, lane);
}

void node_share_tell_given(Node *node, uint32_t to, const Buf *ids)
{
    if (ids->bytes)
        node_share_mail(node, to,
                        &(NodeMessage){ .kind = MESSAGE_GIVEN, .body = buf_slice(ids) });
}

/* Lanes whose heads can be given, one after the other, so that no lane is emptied while
 * others are full. */
static size_t givers(Node *node, Lane ***out)
{
    size_t count = 0;
    Lane **lanes = MEM_ARRAY(Lane *, node->lanes.count + 1);
    MapEntry entry;
    for (size_t at = 0; map_next(&node->lanes, &at, &entry);)
        if (lane_gives(node, entry.value))
            lanes[count++] = entry.value;
    *out = lanes;
    return count;
}

static void give(Node *node, uint32_t to, uint64_t most)
{
    Buf ids = { 0 };
    uint64_t given = 0;
    bool some = true;
    while (given < most && some) {
        Lane **lanes;
        size_t count = givers(node, &lanes);
        some = count > 0;
        for (size_t i = 0; i < count && given < most; i++, given++)
            node_share_give_head(node, lanes[i], to, &ids);
        mem_free(lanes);
    }
    node_share_tell_given(node, to, &ids);
    buf_done(&ids);
}

static void take_ask(Node *node, uint32_t from, uint64_t count)
{
    const Peer *peer = peer_of(node->share, from);
    if (!peer || !peer_alive(peer))
        return;
    uint64_t half = (spare(node) + 1) / 2;
    give(node, from, count < half ? count : half);
}

/* A node that drains gives all it has to the others in turn. */
static void give_all(Node *node)
{
    Share *share = node->share;
    if (!node->draining || !node_share_may_start(node) || !spare(node))
        return;
    for (size_t i = 0; i < share->peer_count; i++) {
        const Peer *peer = &share->peers[(share->turn + i) % share->peer_count];
        if (peer->number == node->options.number || !peer_alive(peer) ||
            peer->facts.draining)
            continue;
        share->turn += i + 1;
        give(node, peer->number, DRAIN_GIVE_MAX);
        return;
    }
}

/* --- Asking ------------------------------------------------------------------------ */

static const Peer *richest(const Node *node)
{
    const Share *share = node->share;
    const Peer *best = NULL;
    for (size_t i = 0; i < share->peer_count; i++) {
        const Peer *peer = &share->peers[i];
        if (peer->number != node->options.number && peer_alive(peer) &&
            peer->facts.ready && (!best || peer->facts.ready > best->facts.ready))
            best = peer;
    }
    return best;
}

/* Room for more than runs now: as many as were started in the last second. */
static void ask_for_jobs(Node *node)
{
    Share *share = node->share;
    int64_t now = node->now.boot_ms;
    if (now >= share->pace_boot) {
        share->pace = node->started - share->started;
        share->started = node->started;
        share->pace_boot = now + MS_PER_S;
    }
    uint32_t room = free_slots(node);
    bool idle = room && !node->offers.count && node->settings.enabled &&
                !node->draining && !node->no_room && node_share_may_start(node);
    if (!idle || now < share->ask_boot)
        return;
    const Peer *peer = richest(node);
    if (!peer)
        return;
    uint64_t count = room + share->pace < ASK_MOST ? room + share->pace : ASK_MOST;
    node_share_mail(node, peer->number,
                    &(NodeMessage){ .kind = MESSAGE_ASK, .count = count });
    share->ask_boot = now + ASK_EVERY_MS;
    share->busy_boot = now + MS_PER_S;
}

/* --- Receiving --------------------------------------------------------------------- */

static void ask_given(Node *node)
{
    Share *share = node->share;
    if (!share->given.bytes || share->given_loading ||
        node->now.boot_ms < share->given_boot)
        return;
    Asked *asked;
    Effect *effect = node_ask(node, WANT_GIVEN, &asked);
    effect->owner = node->options.number;
    effect->key = node_keep(node, buf_slice(&share->given));
    share->given_loading = true;
    share->given_asked = share->given.bytes;
}

/* A job that became this node's, as the store has it: it waits here from now on. */
static void receive(Node *node, const Job *job, uint64_t number)
{
    if (node_touched_since(node, job->id, number) || map_find(&node->running, job->id))
        return;
    Head head = head_of(job, &node->names);
    if (job->state == JOB_READY) {
        node_unready(node, &head); /* a load may have brought it before its letter */
        node_ready(node, &head);
    }
    if (job->state == JOB_HELD && job->dt_ms <= node->now.wall_ms)
        node_held(node, &head);
    if (state_in(job->state, STATES_TIMED))
        node_wait_until(node, job->dt_ms);
    if (job->flags & JOB_WAITS)
        node->some_wait = node->after_due = true;
}

void node_share_given(Node *node, const Asked *asked, const Event *answer)
{
    Share *share = node->share;
    (void)asked;
    share->given_loading = false;
    if (answer->err) {
        share->given_boot = node->now.boot_ms + TICK_MS;
        return;
    }
    for (size_t i = 0; i < answer->loaded_count; i++)
        receive(node, &answer->loaded[i], answer->number);
    size_t left = share->given.bytes - share->given_asked;
    memmove(share->given.data, share->given.data + share->given_asked, left);
    share->given.bytes = left;
    share->ask_boot = 0; /* there may be room for more */
    share->pull_boot = share->pull_wait_ms = 0;
}

/* --- Calls ------------------------------------------------------------------------- */

static void refuse_call(Node *node, Requester request, uint32_t number)
{
    Buf text = { 0 };
    buf_printf(&text, "node %u has the job and does not answer", number);
    node_reply(node, request, ERR_UNAVAILABLE, "node_unreachable")->detail =
        node_keep(node, buf_slice(&text));
    buf_done(&text);
}

bool node_share_sees_to(const Node *node, JobId id)
{
    if (!node->share || id_node(id) == node->options.number)
        return true;
    const Peer *peer = peer_of(node->share, id_node(id));
    return node_share_controls(node) && !(peer && peer_alive(peer));
}

bool node_share_is_other(const Node *node, const Job *job)
{
    return node->share && job_owner(job) != node->options.number &&
           !state_in(job->state, STATES_FINAL);
}

bool node_share_reaches(const Node *node, const Job *job)
{
    const Peer *peer = peer_of(node->share, job_owner(job));
    return (peer && peer_alive(peer)) || (job->flags & JOB_STAYS);
}

/* The letter is written; the answer comes under its token. */
static void call(Node *node, const RemoteCall *from, const Event *event)
{
    RemoteCall *call = MEM_NEW(RemoteCall);
    *call = *from;
    call->until_boot = node->now.boot_ms + ANSWER_WAIT_MS;
    map_put(&node->share->calls, ++node->share->token, call);
    node_share_mail(node, call->node,
                    &(NodeMessage){ .kind = MESSAGE_CALL,
                                    .token = node->share->token,
                                    .call = *event });
    node->share->busy_boot = call->until_boot;
}

void node_share_call_cancel(Node *node, Asked *asked, const Job *job)
{
    uint32_t owner = job_owner(job);
    const Peer *peer = peer_of(node->share, owner);
    if (!peer || !peer_alive(peer)) {
        node_unique_called(node, asked, ERR_UNAVAILABLE);
        return;
    }
    Event event = { .kind = EVENT_ACT,
                    .action = ACT_CANCEL,
                    .id = job->id,
                    .tenant = job->tenant,
                    .reason = SLICE_LITERAL("replaced"),
                    .flag = true };
    call(node, &(RemoteCall){ .node = owner, .asked = asked }, &event);
}

bool node_share_forwards(Node *node, const Event *event, const Job *job)
{
    uint32_t owner = job_owner(job);
    if (!node_share_is_other(node, job))
        return false;
    const Peer *peer = peer_of(node->share, owner);
    if (!peer || !peer_alive(peer) || (event->request & REQUEST_REMOTE)) {
        refuse_call(node, event->request, owner);
        return true;
    }
    call(node, &(RemoteCall){ .node = owner, .request = event->request }, event);
    return true;
}

static void take_call(Node *node, uint32_t from, const NodeMessage *text)
{
    Event event = text->call;
    event.request =
        REQUEST_REMOTE | (Requester)from << 48 | (text->token & REQUEST_TOKEN);
    node_act(node, &event);
}

static void take_answer(Node *node, const NodeMessage *text)
{
    RemoteCall *call = map_remove(&node->share->calls, text->token);
    if (!call)
        return; /* it took too long */
    if (call->asked) {
        node_unique_called(node, call->asked, text->answer.err);
        mem_free(call);
        return;
    }
    Arena *arena = &node->out->batch.arena;
    const char *problem = text->problem.bytes ? slice_cstr(arena, text->problem) : NULL;
    Effect *reply = node_reply(node, call->request, text->answer.err, problem);
    reply->allowed = text->answer.allowed;
    if (text->answer.detail.bytes)
        reply->detail = node_keep(node, text->answer.detail);
    Job *job = ARENA_NEW(arena, Job);
    if (text->job.bytes && !job_unpack(node_keep(node, text->job), job))
        reply->job = job;
    mem_free(call);
}

static void expire_calls(Node *node)
{
    Map *calls = &node->share->calls;
    MapEntry entry;
    for (size_t at = 0; map_next(calls, &at, &entry);) {
        RemoteCall *call = entry.value;
        if (node->now.boot_ms < call->until_boot)
            continue;
        map_remove(calls, entry.key);
        if (call->asked)
            node_unique_called(node, call->asked, ERR_UNAVAILABLE);
        else
            refuse_call(node, call->request, call->node);
        mem_free(call);
        at = 0; /* what follows may have moved */
    }
}

/* Replies to calls of other nodes become letters. */
void node_share_answers(Node *node)
{
    Outbox *out = node->out;
    for (size_t i = 0; node->share && i < out->effect_count; i++) {
        Effect *effect = &out->effects[i];
        if (effect->kind != EFFECT_REPLY || !(effect->request & REQUEST_REMOTE))
            continue;
        Buf job = { 0 };
        if (effect->job)
            job_pack(&job, effect->job);
        NodeMessage text = { .kind = MESSAGE_ANSWER,
                             .token = effect->request & REQUEST_TOKEN,
                             .answer = *effect,
                             .job = buf_slice(&job) };
        if (effect->problem)
            text.problem = slice_text(effect->problem);
        uint32_t to = (uint32_t)(effect->request >> 48) & 0x7fff;
        effect->request = 0;
        node_share_mail(node, to, &text);
        buf_done(&job);
    }
}

/* --- Words of the daemons -------------------------------------------------------------
 */

void node_share_post(Node *node, const Event *event)
{
    if (!node->share)
        return;
    node_share_mail(node, (uint32_t)event->number,
                    &(NodeMessage){ .kind = MESSAGE_WORD, .body = event->body });
    node->share->busy_boot = node->now.boot_ms + ANSWER_WAIT_MS;
}

static void take_word(Node *node, uint32_t from, Slice body)
{
    Effect *effect = outbox_effect(node->out, EFFECT_LETTER, WAIT_BATCH);
    effect->owner = from;
    effect->value = node_keep(node, body);
}

/* --- The inbox --------------------------------------------------------------------- */

static void read_letter(Node *node, const Letter *letter)
{
    NodeMessage text;
    node_op(node, OP_TAKEN, 0)->count = letter->number;
    if (node_message_unpack(letter->body, &text))
        return; /* of a version that says it in other words */
    switch (text.kind) {
    case MESSAGE_ASK:
        take_ask(node, letter->from, text.count);
        return;
    case MESSAGE_GIVEN:
        buf_add_slice(&node->share->given, text.body);
        return;
    case MESSAGE_CALL:
        take_call(node, letter->from, &text);
        return;
    case MESSAGE_ANSWER:
        take_answer(node, &text);
        return;
    case MESSAGE_PULL:
        node_share_pull_give(node, letter->from, &text);
        return;
    case MESSAGE_WORD:
        take_word(node, letter->from, text.body);
        return;
    }
}

void node_share_inbox(Node *node, const Event *answer)
{
    Share *share = node->share;
    share->inbox_loading = false;
    bool busy = node->now.boot_ms < share->busy_boot;
    share->inbox_boot = node->now.boot_ms + (busy ? POLL_BUSY_MS : POLL_IDLE_MS);
    for (size_t i = 0; !answer->err && i < answer->letter_count; i++)
        read_letter(node, &answer->letters[i]);
    if (answer->letter_count)
        share->busy_boot = node->now.boot_ms + MS_PER_S;
    if (answer->more || share->hinted)
        share->inbox_boot = 0;
}

void node_share_hint(Node *node)
{
    if (!node->share)
        return;
    node->share->inbox_boot = 0;
    node->share->hinted = node->share->inbox_loading;
}

static void ask_inbox(Node *node)
{
    Share *share = node->share;
    bool busy = node->now.boot_ms < share->busy_boot;
    if (busy && share->inbox_boot > node->now.boot_ms + POLL_BUSY_MS)
        share->inbox_boot = node->now.boot_ms + POLL_BUSY_MS;
    if (share->inbox_loading || node->now.boot_ms < share->inbox_boot)
        return;
    Asked *asked;
    Effect *effect = node_ask(node, WANT_INBOX, &asked);
    effect->owner = node->options.number;
    effect->limit = INBOX_LOAD_MAX;
    share->inbox_loading = true;
    share->hinted = false;
}

void node_share_duties(Node *node)
{
    if (!node->share)
        return;
    expire_calls(node);
    node_share_take_over(node);
    node_share_look_running(node);
    node_share_look_lanes(node);
    booking_node_duties(node);
    give_all(node);
    ask_for_jobs(node);
    node_share_pull_ask(node);
    ask_given(node);
    ask_inbox(node);
    if (node->some_wait && node->now.boot_ms >= node->share->after_boot) {
        node->after_due = true; /* its parents may have ended elsewhere */
        node->share->after_boot = node->now.boot_ms + MS_PER_S;
    }
    node->share->spare = spare(node);
    node->share->pull = node_share_pull_spare(node);
}

int64_t node_share_wake(const Node *node)
{
    const Share *share = node->share;
    if (!share)
        return TIME_NEVER;
    int64_t wake = share->inbox_loading ? TIME_NEVER : share->inbox_boot;
    if (share->lease_boot > node->now.boot_ms && share->lease_boot < wake)
        wake = share->lease_boot;
    return wake;
}
