/* SPDX-License-Identifier: Apache-2.0 */
/* drain.c - see drain.h. */
#include "core/node/drain.h"

#include "base/fields.h"
#include "core/node/inside.h"

#include <stddef.h>

static const FieldRow rows[] = {
    { 1, offsetof(NodeDrain, since_ms), FIELD_64 },
    { 40, offsetof(NodeDrain, reason), FIELD_SLICE },
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

void drain_pack(Buf *out, const NodeDrain *drain)
{
    fields_pack(out, &fields, drain);
}

Err drain_unpack(Slice packed, NodeDrain *out)
{
    NodeDrain drain = { 0 };
    if (fields_unpack(packed, &fields, &drain))
        return ERR_CORRUPT;
    *out = drain;
    return ERR_OK;
}

static void settle(Node *node)
{
    const NodeDraining *why = &node->drain;
    bool draining = why->closed || why->leaving || why->asked;
    if (draining && !node->draining)
        node_pull_hurry(node); /* workers had better ask another node */
    node->draining = draining;
    node->touched_pass = true;
}

void node_drain(Node *node, const Event *event)
{
    node->drain.closed = event->kind == EVENT_DRAIN && !event->flag;
    node->drain.leaving = event->kind == EVENT_DRAIN && event->flag;
    settle(node);
}

static void load(Node *node, Slice key, Slice value)
{
    if (!slice_equal(key, node->options.sysid))
        return;
    node->drain.asked = value.data != NULL;
    settle(node);
}

void node_define_drain(Node *node, const Event *event)
{
    NodeDrain drain;
    if (event->value.data && drain_unpack(event->value, &drain)) {
        node_reply(node, event->request, ERR_INVALID, "invalid_value");
        return;
    }
    node_define(node, event);
    load(node, event->key, event->value);
}

void node_load_drain(Node *node, const Definition *definition)
{
    load(node, definition->key, definition->value);
}
