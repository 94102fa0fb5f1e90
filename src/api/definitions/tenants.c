/* SPDX-License-Identifier: Apache-2.0 */
/* tenants.c - see tenants.h.
 *
 * A tenant is there once it has a job, a handler or a setting. */
#include "api/definitions/tenants.h"

#include "api/definitions/definitions.h"
#include "core/handler.h"
#include "core/tenant.h"

typedef struct TenantFacts {
    uint64_t jobs[JOB_STATES];
    int64_t bytes;
} TenantFacts;

static void take_count(void *context, const LaneCount *count)
{
    DefinitionRow *row = definition_row(context, count->tenant);
    if (row)
        ((TenantFacts *)row->facts)->jobs[count->state] += count->count;
}

static void take_use(void *context, const TenantUse *use)
{
    DefinitionRow *row = use->bytes > 0 ? definition_row(context, use->tenant) : NULL;
    if (row)
        ((TenantFacts *)row->facts)->bytes = use->bytes;
}

static void take_handler(void *context, const Definition *definition)
{
    Handler handler;
    if (!handler_unpack(definition->value, &handler) && !handler.deleted)
        definition_row(context, definition->tenant);
}

static void gather(Call *call, Store *store, DefinitionView *view)
{
    call->err = store->kind->counts(store, take_count, view, &call->why);
    if (!call->err)
        call->err = store->kind->uses(store, 0, take_use, view, &call->why);
    if (!call->err)
        call->err = store->kind->definitions(store, SLICE_LITERAL(HANDLER_TABLE),
                                             take_handler, view, &call->why);
}

static void write_facts(JsonOut *json, DefinitionView *view, DefinitionRow *row)
{
    const TenantFacts *facts = row->facts;
    (void)view;
    states_json(json, "jobs", facts->jobs, false);
    json_int(json, "stored_bytes", facts->bytes);
}

static const DefinitionKind tenant_kind = { .noun = &tenant_noun,
                                            .facts_bytes = sizeof(TenantFacts),
                                            .gather = gather,
                                            .adds = true,
                                            .facts = write_facts };

void api_tenants_list(Exchange *exchange)
{
    definitions_list(exchange, &tenant_kind);
}

void api_tenant_get(Exchange *exchange)
{
    definition_get(exchange, &tenant_kind);
}

void api_tenant_put(Exchange *exchange)
{
    definition_put(exchange, &tenant_kind);
}

void api_tenant_patch(Exchange *exchange)
{
    definition_patch(exchange, &tenant_kind);
}

void api_tenant_delete(Exchange *exchange)
{
    definition_delete(exchange, &tenant_kind);
}
