/* SPDX-License-Identifier: Apache-2.0 */
/* definitions.c - see definitions.h. */
#include "sim/cluster/definitions.h"

#include "core/handler.h"
#include "core/resource.h"

static void put(Cluster *cluster, const char *table, const char *key, const Buf *value)
{
    Op op = { .kind = OP_PUT,
              .table = slice_text(table),
              .key = slice_text(key),
              .value = buf_slice(value) };
    if (!strcmp(table, HANDLER_TABLE))
        op.tenant = SLICE_LITERAL("default");
    Batch batch = { .ops = &op, .count = 1 };
    Error why = { 0 };
    (void)!cluster->store->kind->commit(cluster->store, &batch, 1, NULL, &why);
}

static void put_handler(Cluster *cluster, const char *type, bool highlander)
{
    Buf value = { 0 };
    Handler handler = { .tenant = SLICE_LITERAL("default"),
                        .type = slice_text(type),
                        .lang = LANG_SH,
                        .body = SLICE_LITERAL("true"),
                        .priority = PRIORITY_UNSET,
                        .max_retries = RETRIES_OPEN,
                        .version = 1,
                        .highlander = highlander };
    handler_pack(&value, &handler);
    put(cluster, HANDLER_TABLE, type, &value);
    buf_done(&value);
}

void member_definitions(Cluster *cluster)
{
    Buf value = { 0 };
    ResourceDef licence = resource_default(SLICE_LITERAL("licence"), RESOURCE_QUANTITY);
    licence.scope = SCOPE_CLUSTER;
    licence.quantity = LICENCES;
    resource_pack(&value, &licence);
    put(cluster, RESOURCE_TABLE, "licence", &value);
    put_handler(cluster, "one", true);
    put_handler(cluster, "after", false);
    buf_done(&value);
}

static void last_change(void *context, const Change *change)
{
    *(uint64_t *)context = change->change;
}

void member_changes_begin(Member *member)
{
    Error why = { 0 };
    Store *store = member->cluster->store;
    (void)!store->kind->changes(store, CHANGES_LAST, last_change, &member->change, &why);
}

static void tell(void *context, const Change *change)
{
    Member *member = context;
    Arena *arena = &member->engine.in.step;
    member->change = change->change;
    if (change->node == member->number && !slice_is(change->table, HOME_TABLE))
        return;
    Event *event = engine_event(&member->engine, EVENT_CHANGE);
    event->table = slice_copy(arena, change->table);
    event->tenant = slice_copy(arena, change->definition.tenant);
    event->key = slice_copy(arena, change->definition.key);
    event->value = slice_copy(arena, change->definition.value);
}

static void believe(Member *member)
{
    Buf value = { 0 };
    home_write(&value, &(Home){ member->number, 1000000 });
    Event *event = engine_event(&member->engine, EVENT_CHANGE);
    event->table = SLICE_LITERAL(HOME_TABLE);
    event->value = slice_copy(&member->engine.in.step, buf_slice(&value));
    buf_done(&value);
}

void member_tell_changes(Member *member)
{
    Error why = { 0 };
    Store *store = member->cluster->store;
    (void)!store->kind->changes(store, member->change, tell, member, &why);
    if (member->cluster->flaw == FLAW_HOME_EVERYWHERE)
        believe(member);
}
