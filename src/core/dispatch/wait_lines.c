/* SPDX-License-Identifier: Apache-2.0 */
/* wait_lines.c - lanes that cannot be offered now, and what brings them back.
 *
 * A lane is in one place: the heap of offers (or behind a sister who is there), the line
 * of the manager that refused it, shut with its queue, stuck, or (with nothing ready)
 * nowhere. Only the first of a line is let out when its manager has room; once it has
 * been offered, the next. So an end of a job costs one offer, however many wait. Lanes
 * that look beyond their first job are stuck, too, while they are in line: what helps one
 * of their jobs need not be room. */
#include "core/dispatch/limits.h"
#include "core/node/inside.h"

#include <assert.h>

/* --- Sisters: lanes of one tenant that share a turn ------------------------------------
 */

static void put_offer(Node *node, Lane *lane)
{
    lane->in = &node->offers;
    heap_push(&node->offers, &lane->offer);
}

/* This one stands for its sisters. */
static void put_front(Node *node, Sisters *sisters, Lane *lane)
{
    sisters->front = lane;
    if (lane->tour < sisters->tour)
        lane->tour = sisters->tour;
    put_offer(node, lane);
}

static void put_sister(Node *node, Lane *lane)
{
    Sisters *sisters = lane->sisters;
    Lane *front = sisters->front;
    if (front && sisters->rest.before(&front->offer, &lane->offer)) {
        lane->in = &sisters->rest;
        heap_push(&sisters->rest, &lane->offer);
        return;
    }
    if (front) {
        heap_remove(&node->offers, &front->offer);
        front->in = &sisters->rest;
        heap_push(&sisters->rest, &front->offer);
    }
    put_front(node, sisters, lane);
}

/* The one who stood for the others has left. */
static void next_front(Node *node, Sisters *sisters)
{
    Lane *lane = (Lane *)(void *)heap_first(&sisters->rest);
    sisters->front = NULL;
    if (!lane)
        return;
    heap_remove(&sisters->rest, &lane->offer);
    if (lane->tour < node->tour)
        lane->tour = node->tour;
    put_front(node, sisters, lane);
}

void node_lane_took(Node *node, Lane *lane, uint32_t turns)
{
    lane->tour += turns;
    if (lane->tour < node->tour)
        lane->tour = node->tour; /* it was owed one of an earlier tour, not all since */
    if (lane->tour > node->tour_last)
        node->tour_last = lane->tour;
    Sisters *sisters = node->settings.fair_tenants ? lane->sisters : NULL;
    if (!sisters || sisters->tour >= lane->tour)
        return;
    sisters->tour = lane->tour;
    if (!sisters->front)
        return;
    heap_remove(&node->offers, &sisters->front->offer);
    put_front(node, sisters, sisters->front);
}

/* --- One place for each lane -----------------------------------------------------------
 */

static void unstick(Node *node, Lane *lane)
{
    if (!lane->stuck)
        return;
    lane->stuck = false;
    if (lane->stuck_next)
        lane->stuck_next->stuck_before = lane->stuck_before;
    if (lane->stuck_before)
        lane->stuck_before->stuck_next = lane->stuck_next;
    else
        node->stuck = lane->stuck_next;
}

static void stick(Node *node, Lane *lane)
{
    lane->stuck = true;
    lane->stuck_before = NULL;
    lane->stuck_next = node->stuck;
    if (node->stuck)
        node->stuck->stuck_before = lane;
    node->stuck = lane;
}

void node_lane_out(Node *node, Lane *lane)
{
    if (lane->in)
        heap_remove(lane->in, &lane->offer);
    lane->in = NULL;
    unstick(node, lane);
    Sisters *sisters = lane->sisters;
    if (sisters->front == lane)
        next_front(node, sisters);
}

static void look_at_head(Lane *lane)
{
    assert(!lane->in);
    const Head *first = lane_first(lane);
    lane->since_ms = lane_since(lane);
    lane->first_id = first->id;
    lane->first_dt_ms = first->dt_ms;
    lane->first_priority = first->priority;
}

void node_lane_put(Heap *heap, Lane *lane)
{
    look_at_head(lane);
    lane->in = heap;
    heap_push(heap, &lane->offer);
}

/* Among those that are offered. Who was away gets no turns for the time before, unless
 * he is owed one. */
static void put_among_offers(Node *node, Lane *lane)
{
    look_at_head(lane);
    if (lane->tour < node->tour && !lane->owed)
        lane->tour = node->tour;
    if (node->settings.fair_tenants && !lane->owed)
        put_sister(node, lane);
    else
        put_offer(node, lane);
}

void node_lanes_sort(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->lanes, &at, &entry);) {
        Lane *lane = entry.value;
        const Sisters *sisters = lane->sisters;
        if (lane->in != &node->offers && lane->in != &sisters->rest)
            continue;
        node_lane_out(node, lane);
        put_among_offers(node, lane);
    }
}

/* --- Lines -----------------------------------------------------------------------------
 */

static void let_out(Node *node, Manager *manager, Lane *lane)
{
    bool first = heap_first(&manager->line) == &lane->offer;
    node_lane_out(node, lane);
    lane->waits = NULL;
    if (first && !manager->next) {
        lane->next_for = manager;
        manager->next = lane;
    }
    put_among_offers(node, lane);
    node->touched_pass = true;
}

/* Lets the first of the line out if there is anything to be had. */
void node_line_moves(Node *node, Manager *manager)
{
    Lane *lane = (Lane *)(void *)heap_first(&manager->line);
    if (!lane || (manager->defined && !resource_free(&manager->resource)))
        return;
    if (manager->next && !manager->line.before(&lane->offer, &manager->next->offer))
        return;
    manager->next = NULL; /* who was let out before comes behind this one */
    let_out(node, manager, lane);
}

/* The lane's turn with the manager that let it out is over. */
static void give_way(Node *node, Lane *lane, bool refused_again)
{
    Manager *manager = lane->next_for;
    if (!manager)
        return;
    lane->next_for = NULL;
    if (manager->next == lane)
        manager->next = NULL;
    if (!refused_again)
        node_line_moves(node, manager);
}

/* It was in a line, and is there for nothing now. */
static void leave_line(Node *node, Lane *lane)
{
    Manager *manager = lane->waits;
    lane->waits = NULL;
    if (!manager)
        return;
    node->booked = true; /* what was kept for it is not kept any more: all look again */
    node_line_moves(node, manager);
}

static bool still_waits(const Lane *lane)
{
    return lane->waits && lane_first(lane)->id == lane->refused && !lane->wavers;
}

void node_lane_in(Node *node, Lane *lane)
{
    if (lane->in || lane->shut || lane->stuck)
        return;
    if (still_waits(lane)) {
        node_lane_put(&lane->waits->line, lane);
        return;
    }
    leave_line(node, lane);
    put_among_offers(node, lane);
}

static void shut(QueueEntry *entry, Lane *lane)
{
    lane->shut = true;
    lane->shut_next = entry->shut;
    entry->shut = lane;
}

static void unshut(const Node *node, Lane *lane)
{
    QueueEntry *entry = node_queue_find(node, lane->tenant, lane->queue);
    assert(entry); /* only a defined queue is shut, and opens before it goes */
    lane->shut = false;
    Lane **at = &entry->shut;
    while (*at != lane)
        at = &(*at)->shut_next;
    *at = lane->shut_next;
}

void node_lane_forget_limits(Node *node, Lane *lane)
{
    node_lane_out(node, lane);
    if (lane->shut)
        unshut(node, lane);
    give_way(node, lane, false);
    leave_line(node, lane);
    lane->owed = 0;
    lane->lacked = NULL;
}

void node_lane_refused(Node *node, Lane *lane, Admit admit, const Admission *admission)
{
    bool again = admit == ADMIT_WAIT && lane->next_for == admission->lacking;
    node_lane_out(node, lane);
    lane->wavers = admit == ADMIT_WAIT && admission->wavers;
    lane->asked = node->passes;
    if (admit != ADMIT_SHUT) {
        lane->lacked = admit == ADMIT_WAIT ? admission->lacking : NULL;
        lane->lacked_by = admit == ADMIT_WAIT ? admission->lacked_by : 0;
    }
    if (admit == ADMIT_WAIT) {
        lane->waits = admission->lacking;
        lane->lacks = admission->lacks;
        lane->refused = lane_first(lane)->id;
        if (!lane->owed)
            lane->owed = ++node->refusals;
        node_lane_put(&lane->waits->line, lane);
    }
    if (admit == ADMIT_SHUT)
        shut(node_queue_find(node, lane->tenant, lane->queue), lane);
    if (admit == ADMIT_STUCK || lane->wavers)
        stick(node, lane);
    give_way(node, lane, again);
}

void node_lane_started(Node *node, Lane *lane)
{
    lane->owed = 0;
    lane->lacked = NULL;
    give_way(node, lane, false);
}

static void ask_again(Node *node, Lane *lane)
{
    node->touched_pass = true;
    if (lane->waits) {
        let_out(node, lane->waits, lane);
        return;
    }
    node_lane_out(node, lane);
    node_lane_in(node, lane);
}

void node_unstick(Node *node)
{
    while (node->stuck)
        ask_again(node, node->stuck);
}

static void raise_turn(const Node *node, Lane *lane)
{
    if (lane->owed)
        return;
    if (lane->tour < node->tour)
        lane->tour = node->tour;
    if (node->settings.fair_tenants && lane->tour < lane->sisters->tour)
        lane->tour = lane->sisters->tour;
}

void node_lane_booked(Node *node, const Lane *by)
{
    if (node->booked)
        return;
    node->booked = true;
    for (Lane *lane = node->stuck, *next; lane; lane = next) {
        next = lane->stuck_next;
        raise_turn(node, lane);
        if (lane->asked != node->passes && node->offers.before(&by->offer, &lane->offer))
            ask_again(node, lane);
    }
}

void node_queue_opens(Node *node, QueueEntry *entry)
{
    while (entry->shut) {
        Lane *lane = entry->shut;
        entry->shut = lane->shut_next;
        lane->shut = false;
        node_lane_changed(node, lane);
        node->touched_pass = true;
    }
}

/* All queues that are shut are looked at again; the pass shuts those that must be, and
 * notes when to come back. */
void node_limits_duties(Node *node)
{
    if (node->now.boot_ms < node->limits_boot)
        return;
    node->limits_boot = TIME_NEVER;
    node->touched_pass = true; /* claims of workers look again, too */
    MapEntry entry;
    for (size_t at = 0; map_next(&node->queues, &at, &entry);)
        node_queue_opens(node, entry.value);
}

int64_t node_limits_wake(const Node *node)
{
    return node->limits_boot;
}
