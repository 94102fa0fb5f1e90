/* SPDX-License-Identifier: Apache-2.0 */
/* node_pass.c - the pass: which jobs start now.
 *
 * A pass offers lanes in tours (lane_before in node.c): it costs what it starts and the
 * lanes it looks at, never what waits. A lane that is refused is looked at again only
 * when something has changed that could help it (node_limits.h). */
#include "core/node_inside.h"
#include "core/node_limits.h"

static int64_t deadline_ms(const Node *node, const Head *head)
{
    return head->max_run_ms ? node->now.wall_ms + head->max_run_ms : 0;
}

/* All lanes of a tenant have their next turn in this tour. */
static void tenant_turn(Node *node, uint32_t number, uint64_t tour)
{
    Sisters *sisters = map_find(&node->sisters, number);
    sisters->tour = tour;
    for (Lane *lane = sisters->lanes; lane; lane = lane->sister_next) {
        Heap *in = lane->in;
        if (in)
            heap_remove(in, &lane->offer);
        if (lane->tour < tour)
            lane->tour = tour;
        if (in)
            heap_push(in, &lane->offer);
    }
}

/* The lane had its turn, and with it, where fairness goes by tenant, its sisters. */
static void take_turn(Node *node, Lane *lane)
{
    if (lane->tour > node->tour)
        node_tour_begin(node, lane->tour);
    lane->tour++;
    if (node->settings.fair_tenants)
        tenant_turn(node, lane->tenant, lane->tour);
}

static void record_claim(Node *node, const Running *running)
{
    const Head *head = &running->head;
    Op *op = node_op(node, OP_CLAIM, head->id);
    op->from = STATE_BIT(JOB_READY);
    op->attempt = head->attempt;
    op->lock = node->options.sysid;
    op->dt_ms = node->now.wall_ms + node->settings.lease_ms;
    op->count = running->slot;
    op->bookings = node_keep(node, buf_slice(&running->bookings));
    Effect *start = outbox_effect(node->out, EFFECT_START, WAIT_BATCH);
    start->id = head->id;
    start->attempt = head->attempt;
    start->slot = running->slot;
    start->deadline_ms = deadline_ms(node, head);
    start->bookings = op->bookings;
    Effect *changed = node_changed(node, head, JOB_READY, JOB_RUNNING);
    int64_t waited_ms = node->now.wall_ms - running->ready_ms;
    changed->wait_ms = waited_ms > 0 ? waited_ms : 0;
}

Running *node_start(Node *node, Lane *lane, const Admission *admission)
{
    node_lane_out(node, lane);
    take_turn(node, lane); /* a new tour forgets lanes that are empty: not this one */
    Head head = lane_take_at(lane, admission->at);

    head.attempt++;
    Running *running = node_hold(node, &head);
    running->started_ms = node->now.wall_ms;
    /* A control file's dt may be older than the job: it waits since it is here. */
    running->ready_ms =
        head.dt_ms > head.window_from_ms ? head.dt_ms : head.window_from_ms;
    running->adopted = true;
    node_hold_handler(node, running);
    node_book(node, running, admission);
    /* The limit is the job's own: it counts from its start. Until that is told, a start
     * that never comes must not last for ever. */
    if (head.max_run_ms)
        running->deadline_boot = node->now.boot_ms + head.max_run_ms + START_WAIT_MS;
    node_timer_set(node, running);
    record_claim(node, running);
    node_lane_started(node, lane);
    node_lane_changed(node, lane);
    node->started++;
    return running;
}

/* Ready jobs at the front of a lane whose type has no handler any more wait elsewhere. */
static void drop_unrunnable(Node *node, Lane *lane)
{
    node_lane_out(node, lane);
    while (lane_count(lane) && !node_can_run(node, lane_first(lane)) &&
           !map_find(&node->pins, lane_first(lane)->id)) {
        Head head = lane_take(lane);
        node_block(node, &head);
    }
    node_lane_changed(node, lane);
}

/* A lane whose head someone is acting on keeps its turn and is put into `passed` until
 * the pass is over. */
static void offer(Node *node, Lane *lane, Heap *passed)
{
    if (map_find(&node->pins, lane_first(lane)->id)) {
        node_lane_out(node, lane);
        lane->in = passed;
        heap_push(passed, &lane->offer);
        return;
    }
    if (!node_can_run(node, lane_first(lane))) {
        drop_unrunnable(node, lane);
        return;
    }
    Admission admission;
    Admit admit = node_admit(node, lane, &admission);
    if (admit == ADMIT_YES)
        node_start(node, lane, &admission);
    else
        node_lane_refused(node, lane, admit, &admission);
}

void node_pass(Node *node)
{
    node->passes++;
    if (!node->settings.enabled || node->draining || node->no_room)
        return;
    Heap passed = { .before = node->offers.before };
    while (node->slots_used < node_slots(node)) {
        Lane *lane = (Lane *)(void *)heap_first(&node->offers);
        if (!lane)
            break;
        offer(node, lane, &passed);
    }
    if (!node->offers.count && !passed.count && node->resting_count)
        node_tour_begin(node, node->tour + 1); /* all have had their turn */
    for (HeapNode *first; (first = heap_first(&passed));) {
        Lane *lane = (Lane *)(void *)first;
        node_lane_out(node, lane);
        node_lane_in(node, lane);
    }
    heap_done(&passed);
}
