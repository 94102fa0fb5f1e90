/* SPDX-License-Identifier: Apache-2.0 */
/* node_lines.c - lanes that cannot be offered now, and what brings them back.
 *
 * A lane is in one place: the heap of offers, the line of the manager that refused it,
 * shut with its queue, stuck, or (with nothing ready) nowhere. Only the first of a line
 * is let out when its manager has room; once it has been offered, the next. So an end of
 * a job costs one offer, however many wait. */
#include "core/node_inside.h"
#include "core/node_limits.h"

#include <assert.h>

void node_lane_out(Node *node, Lane *lane)
{
    if (lane->in)
        heap_remove(lane->in, &lane->offer);
    lane->in = NULL;
    if (!lane->stuck)
        return;
    lane->stuck = false;
    for (Lane **at = &node->stuck; *at; at = &(*at)->stuck_next) {
        if (*at != lane)
            continue;
        *at = lane->stuck_next;
        return;
    }
}

void node_lane_put(Heap *heap, Lane *lane)
{
    assert(!lane->in);
    lane->in = heap;
    lane->since_ms = lane_since(lane);
    lane->first_id = lane_first(lane)->id;
    heap_push(heap, &lane->offer);
}

/* Lets the first of the line out if there is anything to be had. */
void node_line_moves(Node *node, Manager *manager)
{
    Lane *lane = (Lane *)(void *)heap_first(&manager->line);
    if (!lane || manager->next ||
        (manager->defined && !resource_free(&manager->resource)))
        return;
    node_lane_out(node, lane);
    lane->waits = NULL;
    lane->next_for = manager;
    manager->next = lane;
    node_lane_put(&node->offers, lane);
    node->touched_pass = true;
}

/* The lane's turn with the manager that let it out is over. */
static void give_way(Node *node, Lane *lane, bool refused_again)
{
    Manager *manager = lane->next_for;
    if (!manager)
        return;
    lane->next_for = NULL;
    manager->next = NULL;
    if (!refused_again)
        node_line_moves(node, manager);
}

/* It was in a line, and is there for nothing now. */
static void leave_line(Node *node, Lane *lane)
{
    Manager *manager = lane->waits;
    lane->waits = NULL;
    if (manager)
        node_line_moves(node, manager);
}

static bool still_waits(const Node *node, const Lane *lane)
{
    if (!lane->waits || lane_first(lane)->id != lane->refused)
        return false;
    const QueueEntry *entry = node_queue_find(node, lane->tenant, lane->queue);
    return !entry || entry->def.policy == POLICY_FAIR;
}

void node_lane_in(Node *node, Lane *lane)
{
    if (lane->in || lane->shut || lane->stuck)
        return;
    if (still_waits(node, lane)) {
        node_lane_put(&lane->waits->line, lane);
        return;
    }
    leave_line(node, lane);
    node_lane_put(&node->offers, lane);
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
    lane->owed = false;
}

void node_lane_refused(Node *node, Lane *lane, Admit admit, const Admission *admission)
{
    bool again = admit == ADMIT_WAIT && lane->next_for == admission->lacking;
    node_lane_out(node, lane);
    if (admit == ADMIT_WAIT) {
        lane->waits = admission->lacking;
        lane->lacks = admission->lacks;
        lane->refused = lane_first(lane)->id;
        lane->owed = true;
        node_lane_put(&lane->waits->line, lane);
    } else if (admit == ADMIT_SHUT) {
        shut(node_queue_find(node, lane->tenant, lane->queue), lane);
    } else {
        lane->stuck = true;
        lane->stuck_next = node->stuck;
        node->stuck = lane;
    }
    give_way(node, lane, again);
}

void node_lane_started(Node *node, Lane *lane)
{
    lane->owed = false;
    give_way(node, lane, false);
}

void node_unstick(Node *node)
{
    while (node->stuck) {
        Lane *lane = node->stuck;
        node_lane_out(node, lane);
        node_lane_changed(node, lane);
        node->touched_pass = true;
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
