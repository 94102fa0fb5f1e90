/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.c - what is set for tenants, as the node knows it. */
#include "core/dispatch/limits.h"
#include "core/node/inside.h"

static void snapshot_writer(Node *node, Slice name, const Tenant *tenant)
{
    uint32_t number = names_intern(&node->names, name);
    Tenant *kept = map_find(&node->tenants, number);
    if (!kept) {
        kept = MEM_NEW(Tenant);
        map_put(&node->tenants, number, kept);
    }
    *kept = *tenant;
}

bool node_segregates(const Node *node, uint32_t tenant)
{
    const Tenant *found = map_find(&node->tenants, tenant);
    return found && found->segregate_types;
}

void node_load_tenant(Node *node, const Definition *definition)
{
    Tenant tenant;
    if (!tenant_unpack(definition->value, &tenant))
        snapshot_writer(node, definition->key, &tenant);
}

void node_tenants_free(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->tenants, &at, &entry);)
        mem_free(entry.value);
    map_done(&node->tenants);
}

/* Without a value it has the defaults again. */
void node_define_tenant(Node *node, const Event *event)
{
    const Tenant *before =
        map_find(&node->tenants, names_intern(&node->names, event->key));
    bool there = before && before->created_ms;
    Tenant tenant = { 0 };
    if (!event->value.data && !there) {
        node_reply(node, event->request, ERR_NOT_FOUND, "tenant_not_found");
        return;
    }
    if (event->value.data && tenant_unpack(event->value, &tenant)) {
        node_reply(node, event->request, ERR_INVALID, "invalid_value");
        return;
    }
    if (event->value.data)
        tenant.created_ms = there ? before->created_ms : node->now.wall_ms;
    Buf value = { 0 };
    Event put = *event;
    if (event->value.data)
        tenant_pack(&value, &tenant);
    put.value = buf_slice(&value);
    node_define(node, &put)->replayed = there;
    buf_done(&value);
    snapshot_writer(node, event->key, &tenant);
    node_unstick(node); /* more may run now */
    node->touched_pass = true;
}
