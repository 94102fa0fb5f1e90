/* SPDX-License-Identifier: Apache-2.0 */
/* controller.c - the controller lock: which node has the duties of the cluster.
 *
 * A node that controls renews the timestamp a few times within the stale interval. One
 * that finds a lock of another waits until its timestamp is older than the interval, and
 * takes it over then; the version counts the owners. A node that drains gives it back by
 * clearing the timestamp. On a store that nodes share, the store says whose it is, with
 * the lease; what is written here then only shows it. */
#include "core/node/inside.h"
#include "core/share/share.h"

#include "base/fields.h"

#define RENEWALS 4 /* within the stale interval */

static const FieldRow rows[] = {
    { 1, offsetof(ControllerLock, version), FIELD_64 },
    { 2, offsetof(ControllerLock, timestamp_ms), FIELD_64 },
    { 40, offsetof(ControllerLock, owner), FIELD_SLICE },
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

void controller_pack(Buf *out, const ControllerLock *lock)
{
    fields_pack(out, &fields, lock);
}

Err controller_unpack(Slice packed, ControllerLock *out)
{
    ControllerLock lock = { 0 };
    PackField in;
    while (pack_next(&packed, &in))
        if (fields_set(&fields, &in, &lock))
            return ERR_CORRUPT;
    if (pack_damaged(packed))
        return ERR_CORRUPT;
    *out = lock;
    return ERR_OK;
}

void node_load_controller(Node *node, const Definition *definition)
{
    ControllerLock lock;
    if (controller_unpack(definition->value, &lock))
        return;
    bool same = slice_equal(lock.owner, node->controller.owner);
    lock.owner = same ? node->controller.owner : slice_copy(&node->own, lock.owner);
    node->controller = lock;
}

static bool is_mine(const Node *node)
{
    return slice_equal(node->controller.owner, node->options.sysid);
}

bool node_controls(const Node *node)
{
    return node->share ? node_share_controls(node) : node->controlling;
}

static void write_lock(Node *node, int64_t timestamp_ms)
{
    Buf value = { 0 };
    node->controller.timestamp_ms = timestamp_ms;
    controller_pack(&value, &node->controller);
    Op *op = node_op(node, OP_PUT, 0);
    op->own = 1;
    op->table = SLICE_LITERAL(CONTROLLER_TABLE);
    op->key = SLICE_LITERAL(CONTROLLER_KEY);
    op->value = node_keep(node, buf_slice(&value));
    buf_done(&value);
}

static void renew(Node *node)
{
    if (!is_mine(node)) {
        node->controller.version++;
        node->controller.owner = node->options.sysid;
    }
    node->controlling = true;
    node->controller_boot =
        node->now.boot_ms + node->settings.controller_stale_ms / RENEWALS;
    write_lock(node, node->now.wall_ms);
}

/* How long the lock of another is still good; 0: it may be taken. A timestamp from the
 * future says nothing about now: it is good for one interval from here. */
static int64_t good_for(Node *node)
{
    int64_t stale_ms = node->settings.controller_stale_ms;
    const ControllerLock *lock = &node->controller;
    if (is_mine(node) || !lock->owner.bytes || !lock->timestamp_ms)
        return 0;
    if (!node->controller_seen_boot)
        node->controller_seen_boot = node->now.boot_ms;
    int64_t age_ms = node->now.wall_ms - lock->timestamp_ms;
    if (age_ms < 0)
        age_ms = node->now.boot_ms - node->controller_seen_boot;
    return age_ms > stale_ms ? 0 : stale_ms - age_ms + 1;
}

static void give_back(Node *node)
{
    if (node->controlling)
        write_lock(node, 0);
    node->controlling = false;
    node->controller_boot = TIME_NEVER;
}

static void show_shared(Node *node)
{
    if (node->controlling && node->draining)
        give_back(node);
    bool begins = !node->controlling;
    node->controlling = node_share_controls(node);
    if (!node->controlling)
        node->controller_boot = TIME_NEVER;
    else if (begins || node->now.boot_ms >= node->controller_boot)
        renew(node);
}

void node_controller(Node *node)
{
    if (node->share) {
        show_shared(node);
        return;
    }
    if (node->draining) {
        give_back(node);
        return;
    }
    if (node->controller_boot == TIME_NEVER)
        node->controller_boot = 0;
    if (node->now.boot_ms < node->controller_boot)
        return;
    int64_t wait_ms = good_for(node);
    if (wait_ms)
        node->controller_boot = node->now.boot_ms + wait_ms;
    else
        renew(node);
}

ControllerLock node_controller_lock(const Node *node, bool *out_mine)
{
    *out_mine = node_controls(node);
    return node->controller;
}
