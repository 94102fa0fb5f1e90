/* SPDX-License-Identifier: Apache-2.0 */
/* share_take.c - taking over what a lost node leaves; see share.h.
 *
 * The node that controls does it, once the lease of the other is over by the store's own
 * clock: it fences it, so that nothing it decided and did not get into the store counts
 * any more, and then makes its jobs its own in steps. Attempts that ran there are lost
 * through no fault of their jobs'. From then on it looks now and then: jobs that the lost
 * node had accepted may come in when its journal is read. */
#include "core/share/share_state.h"

#include "core/dispatch/limits.h"
#include "core/share/booking_node.h"

#define TAKE_STEP      1000
#define TAKE_AGAIN_MS  (30 * MS_PER_S)
#define FENCE_AGAIN_MS (5 * MS_PER_S)

static TakenNode *taken_of(Share *share, const Peer *peer)
{
    for (size_t i = 0; i < share->taken_count; i++)
        if (share->taken[i].number == peer->number)
            return &share->taken[i];
    TakenNode *taken = &MEM_PUSH(share->taken, share->taken_count, share->taken_capacity);
    *taken = (TakenNode){ .number = peer->number };
    return taken;
}

/* One step: up to so many of its jobs, and then what they are. */
static void take_step(Node *node, const Peer *peer)
{
    Op *op = node_op(node, OP_TAKE, 0);
    op->node = peer->number;
    op->count = TAKE_STEP;
    node->share->running_due = true;
    Asked *asked;
    node_ask(node, WANT_LANES, &asked)->owner = node->options.number;
    node->next_due_ms = INT64_MIN; /* all that waits for its time is asked for again */
    node->some_wait = node->after_due = true;
    node_groups_look(node);
}

/* Attempts of others among its own jobs: whoever began them is gone, be it the node whose
 * jobs were taken or one whose jobs that one had taken before. */
void node_share_look_running(Node *node)
{
    Share *share = node->share;
    Asked *asked;
    if (!share->running_due || share->running_loading ||
        node->now.boot_ms < share->running_boot)
        return;
    node_ask(node, WANT_RUNNING, &asked)->owner = node->options.number;
    share->running_due = false;
    share->running_loading = true;
}

void node_share_look_lanes(Node *node)
{
    Share *share = node->share;
    Asked *asked;
    if (!share->lanes_due || node->now.boot_ms < share->lanes_boot)
        return;
    share->lanes_due = false;
    node_ask(node, WANT_LANES, &asked)->owner = node->options.number;
}

/* Whether it has any left that can be seen to wait. */
static void probe(Node *node, TakenNode *taken)
{
    Asked *asked;
    Effect *effect = node_ask(node, WANT_LANES, &asked);
    effect->owner = taken->number;
    asked->event.number = taken->number;
    taken->asking = true;
}

static void look_at(Node *node, const Peer *peer)
{
    TakenNode *taken = taken_of(node->share, peer);
    if (peer->fenced && taken->owed != peer->epoch) {
        node->share->owed_boot = 0;
        taken->owed = peer->epoch;
    }
    bool begun = taken->epoch == peer->epoch;
    bool again = !peer->fenced && node->now.boot_ms >= taken->fence_boot;
    if (!begun ||
        again) { /* one that was only late has renewed in time, and is lost now */
        Op *op = node_op(node, OP_FENCE, 0);
        op->node = peer->number;
        op->count = peer->epoch;
        booking_node_fenced(node, peer->number);
        take_step(node, peer);
        taken->epoch = peer->epoch;
        taken->fence_boot = node->now.boot_ms + FENCE_AGAIN_MS;
        taken->boot_ms = 0;
        if (!taken->asking)
            probe(node, taken);
        return;
    }
    if (!taken->asking && node->now.boot_ms >= taken->boot_ms)
        probe(node, taken);
}

/* --- What it owes ------------------------------------------------------------------ */

/* Once a node is fenced it adds none of them any more, and makes no new ones. */
bool node_share_inherits(Node *node, JobId id)
{
    Share *share = node->share;
    uint32_t number = id_node(id);
    bool lost = number != node->options.number && !map_find(&share->owed, id);
    for (size_t i = 0; lost && i < share->peer_count; i++)
        lost = share->peers[i].number != number || share->peers[i].fenced;
    if (!lost || !node_share_controls(node))
        return false;
    map_put(&share->owed, id, share);
    return true;
}

void node_share_inherited(Node *node, JobId id)
{
    if (node->share)
        (void)map_remove(&node->share->owed, id);
}

void node_share_looked_owed(Node *node, bool looked)
{
    node->share->owed_loading = false;
    node->share->owed_boot = node->now.boot_ms + (looked ? TAKE_AGAIN_MS : TICK_MS);
}

static void look_for_owed(Node *node)
{
    Share *share = node->share;
    Asked *asked;
    if (share->owed_loading || node->now.boot_ms < share->owed_boot)
        return;
    share->owed_loading = true;
    node_ask(node, WANT_OWED, &asked);
}

void node_share_take_over(Node *node)
{
    Share *share = node->share;
    for (size_t i = 0; node_share_controls(node) && i < share->peer_count; i++) {
        const Peer *peer = &share->peers[i];
        if (peer->number != node->options.number && peer->epoch && peer->left_ms <= 0)
            look_at(node, peer);
    }
    if (node_share_controls(node))
        look_for_owed(node);
}

static void learn_lanes(Node *node, const Event *answer)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->lanes, &at, &entry);) {
        Lane *lane = entry.value; /* others may stand between those it knows */
        node_lane_out(node, lane);
        lane_forget(lane, lane->age_ms);
    }
    for (size_t i = 0; i < answer->loaded_count; i++) {
        Head head = head_of(&answer->loaded[i], &node->names);
        node_lane(node, &head)->more = true;
    }
    node_reload_lanes(node);
    node_unblock_all(node);
}

/* What stays with its node waits for it. */
static bool any_to_take(const Event *answer)
{
    for (size_t i = 0; i < answer->loaded_count; i++)
        if (!(answer->loaded[i].flags & JOB_STAYS))
            return true;
    return false;
}

void node_share_lanes(Node *node, const Asked *asked, const Event *answer)
{
    uint32_t number = (uint32_t)asked->event.number;
    if (!number) {
        node->share->lanes_due = answer->err != ERR_OK; /* then it is asked for again */
        node->share->lanes_boot = node->now.boot_ms + TICK_MS;
        if (!answer->err)
            learn_lanes(node, answer);
        return;
    }
    Share *share = node->share;
    for (size_t i = 0; i < share->taken_count; i++) {
        TakenNode *taken = &share->taken[i];
        if (taken->number != number)
            continue;
        bool some = any_to_take(answer);
        bool more = answer->err || some;
        taken->asking = false;
        taken->boot_ms = node->now.boot_ms + (more ? TICK_MS : TAKE_AGAIN_MS);
        for (size_t k = 0; some && k < share->peer_count; k++)
            if (share->peers[k].number == number && share->peers[k].left_ms <= 0)
                take_step(node, &share->peers[k]);
    }
}

/* An attempt of the lost node: recorded under its name, and over. */
static void end_lost(Node *node, const Job *job)
{
    Head head = head_of(job, &node->names);
    Running *running = node_hold(node, &head, &(BatchPlace){ 0 });
    const Ending lost = { .kind = END_LOST, .progress = -1 };
    running->started_ms = running->ready_ms = job->started_ms;
    running->paused_boot = job->state == JOB_PAUSED ? 1 : 0;
    running->cancelling = (job->flags & JOB_CANCELLING) != 0;
    running->halting = !running->cancelling && (job->flags & JOB_HALTING);
    if (running->cancelling)
        buf_add_slice(&running->reason, job->reason);
    size_t from = node->out->batch.count;
    node_end_attempt(node, running, &lost);
    for (size_t i = from; i < node->out->batch.count; i++)
        if (node->out->batch.ops[i].kind == OP_FINISH &&
            node->out->batch.ops[i].id == job->id)
            node->out->batch.ops[i].lock = node_keep(node, job->lock);
}

void node_share_running(Node *node, const Asked *asked, const Event *answer)
{
    (void)asked;
    node->share->running_loading = false;
    if (answer->err) {
        node->share->running_due = true;
        node->share->running_boot = node->now.boot_ms + TICK_MS;
        return;
    }
    for (size_t i = 0; i < answer->loaded_count; i++) {
        const Job *job = &answer->loaded[i];
        if (!node_touched_since(node, job->id, answer->number) &&
            !map_find(&node->running, job->id))
            end_lost(node, job);
    }
}
