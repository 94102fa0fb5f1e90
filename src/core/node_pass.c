/* SPDX-License-Identifier: Apache-2.0 */
/* node_pass.c - the pass: which jobs start now.
 *
 * A pass offers lanes in tours (lane_before in node.c): it costs what it starts, not what
 * waits. */
#include "core/node_inside.h"

static int64_t deadline_ms(const Node *node, const Head *head)
{
    return head->max_run_ms ? node->now.wall_ms + head->max_run_ms : 0;
}

static void claim(Node *node, Lane *lane)
{
    if (lane->tour > node->tour)
        node_tour_begin(node, lane->tour);
    heap_remove(&node->offers, &lane->offer);
    Head head = lane_take(lane);
    lane->tour++;
    node_lane_changed(node, lane);

    head.attempt++;
    Running *running = node_hold(node, &head);
    running->started_ms = node->now.wall_ms;
    /* A control file's dt may be older than the job: it waits since it is here. */
    running->ready_ms =
        head.dt_ms > head.window_from_ms ? head.dt_ms : head.window_from_ms;
    running->adopted = true;
    node_hold_handler(node, running);
    /* The limit is the job's own: it counts from its start. Until that is told, a start
     * that never comes must not last for ever. */
    if (head.max_run_ms)
        running->deadline_boot = node->now.boot_ms + head.max_run_ms + START_WAIT_MS;
    node_timer_set(node, running);

    Op *op = node_op(node, OP_CLAIM, head.id);
    op->from = STATE_BIT(JOB_READY);
    op->attempt = head.attempt;
    op->lock = node->options.sysid;
    op->dt_ms = node->now.wall_ms + node->settings.lease_ms;
    op->count = running->slot;
    Effect *start = outbox_effect(node->out, EFFECT_START, WAIT_BATCH);
    start->id = head.id;
    start->attempt = head.attempt;
    start->slot = running->slot;
    start->deadline_ms = deadline_ms(node, &head);
    Effect *changed = node_changed(node, &head, JOB_READY, JOB_RUNNING);
    int64_t waited_ms = node->now.wall_ms - running->ready_ms;
    changed->wait_ms = waited_ms > 0 ? waited_ms : 0;
    node->started++;
}

/* Ready jobs at the front of a lane whose type has no handler any more wait elsewhere. */
static void drop_unrunnable(Node *node, Lane *lane)
{
    heap_remove(&node->offers, &lane->offer);
    while (lane_count(lane) && !node_can_run(node, lane_first(lane)) &&
           !map_find(&node->pins, lane_first(lane)->id)) {
        Head head = lane_take(lane);
        node_block(node, &head);
    }
    node_lane_changed(node, lane);
}

/* The next lane in turn whose head no one is acting on; others are put into `passed`
 * until the pass is over and keep their turn. */
static Lane *next_lane(Node *node, Heap *passed)
{
    for (;;) {
        Lane *lane = (Lane *)(void *)heap_first(&node->offers);
        if (!lane)
            return NULL;
        bool pinned = map_find(&node->pins, lane_first(lane)->id) != NULL;
        if (!pinned && !node_can_run(node, lane_first(lane))) {
            drop_unrunnable(node, lane);
            continue;
        }
        if (!pinned)
            return lane;
        heap_remove(&node->offers, &lane->offer);
        heap_push(passed, &lane->offer);
    }
}

void node_pass(Node *node)
{
    node->passes++;
    if (!node->settings.enabled || node->draining || node->no_room)
        return;
    Heap passed = { .before = node->offers.before };
    while (node->slots_used < node->settings.slots) {
        Lane *lane = next_lane(node, &passed);
        if (!lane)
            break;
        claim(node, lane);
    }
    if (!node->offers.count && !passed.count && node->resting_count)
        node_tour_begin(node, node->tour + 1); /* all have had their turn */
    for (HeapNode *offer; (offer = heap_first(&passed));) {
        heap_remove(&passed, offer);
        heap_push(&node->offers, offer);
    }
    heap_done(&passed);
}
