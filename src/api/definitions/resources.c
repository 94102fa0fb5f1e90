/* SPDX-License-Identifier: Apache-2.0 */
/* resources.c - see resources.h. What is in use lives in the node: it is looked at, not
 * read from the store. */
#include "api/definitions/resources.h"

#include "api/definitions/definitions.h"
#include "core/dispatch/reasons.h"

/* Those who hold some of one. */
typedef struct Holders {
    DefinitionView *view;
    Slice key;
} Holders;

static void write_holder(JsonOut *json, const RunningJob *job, Slice value)
{
    char id[ID_TEXT_BYTES];
    json_object(json, NULL);
    json_cstr(json, "id", id_text(job->id, id));
    json_int(json, "attempt", job->attempt);
    json_text(json, "tenant", job->tenant);
    json_text(json, "type", job->type);
    json_text(json, "queue", job->queue);
    json_int(json, "amount", booking_amount(value));
    if (booking_has_items(value))
        json_text(json, "items", value);
    json_object_end(json);
}

static void take_holder(void *context, const RunningJob *job)
{
    const Holders *holders = context;
    Slice rest = job->bookings;
    if (!api_sees(holders->view->exchange, job->tenant))
        return;
    for (Slice value; list_next(&rest, &value);)
        if (slice_equal(slice_cut(&value, '='), holders->key))
            write_holder(&holders->view->json, job, value);
}

static void write_facts(JsonOut *json, DefinitionView *view, DefinitionRow *row)
{
    const ResourceFacts *facts = row->facts;
    Holders holders = { view, row->name };
    json_int(json, "in_use", facts->used);
    if (facts->def.kind == RESOURCE_HIGHLANDER)
        json_null(json, "free");
    else
        json_int(json, "free", facts->free);
    json_int(json, "waiting", facts->waiting);
    json_array(json, "holders");
    node_running(view->node, take_holder, &holders);
    json_array_end(json);
}

static void take_facts(void *context, const ResourceFacts *facts)
{
    DefinitionView *view = context;
    definition_set(view, facts->def.key, &facts->def);
    DefinitionRow *row = definition_row(view, facts->def.key);
    if (row)
        *(ResourceFacts *)row->facts = *facts;
}

static void look(Call *call, Daemon *daemon, DefinitionView *view)
{
    (void)call;
    (void)daemon;
    node_resources(view->node, take_facts, view);
}

static const DefinitionKind resource_kind = { .noun = &resource_noun,
                                              .facts_bytes = sizeof(ResourceFacts),
                                              .look = look,
                                              .facts = write_facts,
                                              .empty = true };

void api_resources_list(Exchange *exchange)
{
    definitions_list(exchange, &resource_kind);
}

void api_resource_get(Exchange *exchange)
{
    definition_get(exchange, &resource_kind);
}

void api_resource_put(Exchange *exchange)
{
    definition_put(exchange, &resource_kind);
}

void api_resource_patch(Exchange *exchange)
{
    definition_patch(exchange, &resource_kind);
}

void api_resource_delete(Exchange *exchange)
{
    definition_delete(exchange, &resource_kind);
}
