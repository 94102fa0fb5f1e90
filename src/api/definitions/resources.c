/* SPDX-License-Identifier: Apache-2.0 */
/* resources.c - see resources.h. What is in use lives in the node: it is looked
 * at, not read from the store. */
#include "api/definitions/resources.h"

#include "api/common.h"
#include "base/text.h"
#include "core/dispatch/reasons.h"
#include "model/resource_json.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct ResourceView {
    Slice key; /* empty: all */
    unsigned status;
    ListPage page;
    ResourceFacts *all; /* while the node is looked at */
    size_t count;
    size_t capacity;
    JsonOut json;
    const Node *node;
    Daemon *daemon;
    const Exchange *exchange;
    ResourceDef put;
} ResourceView;

static void holder_json(void *context, const RunningJob *job)
{
    ResourceView *view = context;
    char id[ID_TEXT_BYTES];
    Slice rest = job->bookings;
    if (!api_sees(view->exchange, job->tenant))
        return;
    for (Slice value; list_next(&rest, &value);) {
        if (!slice_equal(slice_cut(&value, '='), view->key))
            continue;
        json_object(&view->json, NULL);
        json_cstr(&view->json, "id", id_text(job->id, id));
        json_int(&view->json, "attempt", job->attempt);
        json_text(&view->json, "tenant", job->tenant);
        json_text(&view->json, "type", job->type);
        json_text(&view->json, "queue", job->queue);
        json_int(&view->json, "amount", booking_amount(value));
        if (booking_has_items(value))
            json_text(&view->json, "items", value);
        json_object_end(&view->json);
    }
}

static void one_json(ResourceView *view, const ResourceFacts *facts)
{
    JsonOut *json = &view->json;
    Slice wanted = view->key;
    json_object(json, NULL);
    resource_members(json, &facts->def);
    json_bool(json, "declared",
              daemon_declared(view->daemon, SLICE_LITERAL(RESOURCE_TABLE),
                              (Slice){ NULL, 0 }, facts->def.key));
    json_int(json, "in_use", facts->used);
    if (facts->def.kind == RESOURCE_HIGHLANDER)
        json_null(json, "free");
    else
        json_int(json, "free", facts->free);
    json_int(json, "waiting", facts->waiting);
    json_array(json, "holders");
    view->key = facts->def.key;
    node_running(view->node, holder_json, view);
    view->key = wanted;
    json_array_end(json);
    json_object_end(json);
}

static void take(void *context, const ResourceFacts *facts)
{
    ResourceView *view = context;
    bool behind =
        !view->page.cursor.data || api_name_order(facts->def.key, view->page.cursor) > 0;
    if (view->key.bytes ? slice_equal(view->key, facts->def.key) : behind)
        MEM_PUSH(view->all, view->count, view->capacity) = *facts;
}

static int by_key(const void *a, const void *b)
{
    return api_name_order(((const ResourceFacts *)a)->def.key,
                          ((const ResourceFacts *)b)->def.key);
}

static void all_json(ResourceView *view)
{
    if (view->count)
        qsort(view->all, view->count, sizeof *view->all, by_key);
    json_object(&view->json, NULL);
    json_array(&view->json, "items");
    size_t shown = view->count < view->page.limit ? view->count : view->page.limit;
    for (size_t i = 0; i < shown; i++)
        one_json(view, &view->all[i]);
    json_array_end(&view->json);
    if (shown < view->count)
        json_text(&view->json, "next_cursor", view->all[shown - 1].def.key);
    else
        json_null(&view->json, "next_cursor");
    json_object_end(&view->json);
}

static void look_at_resources(Call *call, Daemon *daemon)
{
    Exchange *exchange = call->context;
    ResourceView *view = exchange->state;
    view->json = exchange_json(exchange);
    view->node = daemon_node(daemon);
    view->daemon = daemon;
    node_resources(view->node, take, view);
    if (!view->key.bytes) {
        all_json(view);
    } else if (view->count) {
        one_json(view, &view->all[0]);
    } else {
        call->err = ERR_NOT_FOUND;
        call->problem = "resource_not_found";
    }
    mem_free(view->all);
    view->all = NULL;
}

static void reply_out(Exchange *exchange, Call *call)
{
    const ResourceView *view = exchange->state;
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, view->status);
}

static void look(Exchange *exchange)
{
    exchange_look(exchange, look_at_resources, reply_out);
}

/* NULL after it refused. */
static ResourceView *view_of(Exchange *exchange, Slice key)
{
    if (key.data && !name_valid(key)) {
        exchange_refuse(exchange, "invalid_name", "the key of the resource is not valid");
        return NULL;
    }
    ResourceView *view = ARENA_NEW(&exchange->arena, ResourceView);
    view->key = key;
    view->status = 200;
    view->exchange = exchange;
    exchange->state = view;
    return api_whose(exchange) ? view : NULL;
}

void api_resources_list(Exchange *exchange)
{
    ResourceView *view = view_of(exchange, (Slice){ NULL, 0 });
    if (view && api_list_page(exchange, &view->page))
        look(exchange);
}

void api_resource_get(Exchange *exchange)
{
    if (view_of(exchange, exchange->parts[0]))
        look(exchange);
}

static void defined(Exchange *exchange, Call *call)
{
    ResourceView *view = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (!call->replayed) {
        api_created(exchange, "resources", view->key);
        view->status = 201;
    }
    look(exchange);
}

static void define(Exchange *exchange, const ResourceDef *def, Step *then)
{
    const ResourceView *view = exchange->state;
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    Buf packed = { 0 };
    if (def)
        resource_pack(&packed, def);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(RESOURCE_TABLE);
    call->event.key = view->key;
    call->event.value = slice_copy(&call->arena, buf_slice(&packed));
    buf_done(&packed);
    exchange_send(exchange, call);
}

void api_resource_put(Exchange *exchange)
{
    ResourceView *view = view_of(exchange, exchange->parts[0]);
    Problem why = { 0 };
    const JsonIn *object = view ? api_body(exchange, &exchange->arena, true) : NULL;
    if (!object)
        return;
    if (resource_read(object, view->key, &exchange->arena, &view->put, &why))
        exchange_problem(exchange, &why);
    else
        define(exchange, &view->put, defined);
}

static void deleted(Exchange *exchange, Call *call)
{
    const ResourceView *view = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_text(&json, "key", view->key);
    json_bool(&json, "removed", true);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

void api_resource_delete(Exchange *exchange)
{
    if (view_of(exchange, exchange->parts[0]))
        define(exchange, NULL, deleted);
}
