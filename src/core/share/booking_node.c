/* SPDX-License-Identifier: Apache-2.0 */
/* booking_node.c - what is counted over all nodes of a shared store: resources of scope
 * cluster, and highlander types.
 *
 * One node at a time is their home, and only there they are booked: by the same rules as
 * on a node that is alone, so that nothing is ever booked twice. Jobs that want some of
 * it are given to the home by whoever has them. Who is the home is in the store
 * (HOME_TABLE); it changes hands only by the home itself, which books nothing from then
 * on, or together with the fence of a home that was lost, all of whose attempts have
 * ended by then. */
#include "core/share/booking_node.h"

#include "core/dispatch/limits.h"
#include "core/share/share_state.h"

#define GIVE_EVERY_MS 100
#define GIVE_MOST     500 /* at once */
#define LOOK_MOST     256 /* heads of one lane */

void node_load_home(Node *node, const Definition *definition)
{
    if (!node->share)
        return;
    Home home = home_read(definition->value);
    if (home.count >= node->share->home.count)
        node->share->home = home;
    if (node->out)
        node_unstick(node);
    node->touched_pass = true;
}

bool booking_node_here(const Node *node)
{
    const Share *share = node->share;
    return !share || (share->home.node == node->options.number &&
                      share->home.count > share->home_left);
}

static void put_home(Node *node, uint32_t to)
{
    Buf value = { 0 };
    Home next = { to, node->share->home.count + 1 };
    home_write(&value, &next);
    Op *op = node_op(node, OP_PUT, 0);
    op->own = 1;
    op->table = SLICE_LITERAL(HOME_TABLE);
    op->value = node_keep(node, buf_slice(&value));
    buf_done(&value);
}

void booking_node_fenced(Node *node, uint32_t number)
{
    if (node->share->home.node == number)
        put_home(node, node->options.number);
}

/* Whether an attempt here holds some of it. */
static bool holds_any(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->running, &at, &entry);)
        if (node_head_homed(node, &((Running *)entry.value)->head))
            return true;
    return false;
}

/* A home that drains leaves it to another, once nothing of it is held here. */
static void leave(Node *node)
{
    Share *share = node->share;
    if (!node->draining || !booking_node_here(node) || holds_any(node))
        return;
    for (size_t i = 0; i < share->peer_count; i++) {
        const Peer *peer = &share->peers[i];
        if (peer->number == node->options.number || !peer_alive(peer) ||
            peer->facts.draining)
            continue;
        put_home(node, peer->number);
        share->home_left = share->home.count;
        return;
    }
}

static const Peer *other_home(const Node *node)
{
    const Share *share = node->share;
    for (size_t i = 0; i < share->peer_count; i++)
        if (share->peers[i].number == share->home.node &&
            share->home.node != node->options.number && peer_alive(&share->peers[i]))
            return &share->peers[i];
    return NULL;
}

/* Heads of the lane that belong elsewhere; *ids counts them all. */
static void give_lane(Node *node, Lane *lane, uint32_t to, Buf *ids)
{
    Head heads[LOOK_MOST];
    size_t count = 0;
    for (size_t i = 0; i < lane_count(lane) && i < LOOK_MOST; i++) {
        const Head *head = lane_at(lane, i);
        if (node_head_homed(node, head) && !map_find(&node->pins, head->id))
            heads[count++] = *head;
    }
    for (size_t i = 0; i < count; i++) {
        Op *op = node_op(node, OP_GIVE, heads[i].id);
        op->from = STATE_BIT(JOB_READY);
        op->node = to;
        node_touch(node, heads[i].id);
        buf_add(ids, &heads[i].id, sizeof heads[i].id);
        node_unready(node, &heads[i]);
    }
}

static void give_home(Node *node)
{
    Share *share = node->share;
    if (node->now.boot_ms < share->home_boot || !node_share_may_start(node))
        return;
    share->home_boot = node->now.boot_ms + GIVE_EVERY_MS;
    const Peer *home = other_home(node);
    if (!home || !node_counts_homed(node))
        return;
    Buf ids = { 0 };
    size_t lane_total = 0;
    Lane **lanes = MEM_ARRAY(Lane *, node->lanes.count + 1);
    MapEntry entry;
    for (size_t at = 0; map_next(&node->lanes, &at, &entry);)
        lanes[lane_total++] = entry.value; /* those that are emptied go away */
    for (size_t i = 0; i < lane_total && ids.bytes < GIVE_MOST * sizeof(JobId); i++)
        give_lane(node, lanes[i], home->number, &ids);
    mem_free(lanes);
    if (ids.bytes)
        node_share_mail(node, home->number,
                        &(NodeMessage){ .kind = MESSAGE_GIVEN, .body = buf_slice(&ids) });
    buf_done(&ids);
}

/* No one has it, or one who cannot: it was left to a node that was lost meanwhile, or it
 * came with what the store holds from another store. */
static bool is_homeless(const Node *node)
{
    const Share *share = node->share;
    for (size_t i = 0; i < share->peer_count; i++)
        if (share->peers[i].number == share->home.node)
            return share->peers[i].fenced;
    return share->home.node != node->options.number;
}

void booking_node_duties(Node *node)
{
    Share *share = node->share;
    if (node_share_controls(node) && node->now.boot_ms >= share->home_put_boot &&
        is_homeless(node)) {
        share->home_put_boot = node->now.boot_ms + TICK_MS; /* until that is known */
        put_home(node, node->options.number);
    }
    leave(node);
    give_home(node);
}
