/* SPDX-License-Identifier: Apache-2.0 */
/* definitions.c - see definitions.h.
 *
 * A change is one event; after it the thing is read again, so that the answer shows what
 * holds now. A PATCH reads what is there, changes what the body names and defines that;
 * ETag and If-Match let a client make sure that no one else did the same meanwhile. */
#include "api/definitions/definitions.h"

#include "api/routes.h"
#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define LIST_BYTES_MAX (32u << 20) /* of one page: bodies of handlers may be large */
#define ETAG_BYTES     24

/* --- What a request is about ---------------------------------------------------------
 */

DefinitionView *definition_view_of(Exchange *exchange, const DefinitionKind *kind,
                                   Slice tenant, Slice name)
{
    const Noun *noun = kind->noun;
    if (name.data && !noun->name_valid(name)) {
        exchange_refuse(exchange, "invalid_name", "this is no valid name of %s", noun->a);
        return NULL;
    }
    DefinitionView *view = ARENA_NEW(&exchange->arena, DefinitionView);
    view->kind = kind;
    view->exchange = exchange;
    view->tenant = tenant;
    view->name = name;
    view->status = 200;
    view->page.limit = UINT32_MAX;
    exchange->state = view;
    return view;
}

DefinitionView *definition_view(Exchange *exchange, const DefinitionKind *kind,
                                Slice name)
{
    Slice tenant = { NULL, 0 };
    if (kind->look && !api_whose(exchange))
        return NULL;
    if (kind->noun->tenants) {
        tenant = api_tenant(exchange, "default");
        if (!tenant.data)
            return NULL;
    }
    return definition_view_of(exchange, kind, tenant, name);
}

/* Of what it says: never 0. */
static uint64_t hash_of(const Noun *noun, const void *object)
{
    Buf packed = { 0 };
    noun_pack(&packed, noun, object);
    uint64_t hash = hash_bytes(packed.data, packed.bytes);
    buf_done(&packed);
    return hash ? hash : 1;
}

/* --- Rows ----------------------------------------------------------------------------
 */

bool definition_concerns(const DefinitionView *view, Slice tenant, Slice name)
{
    return slice_equal(tenant, view->tenant) &&
           (!view->name.data || slice_equal(name, view->name));
}

DefinitionRow *definition_row(DefinitionView *view, Slice name)
{
    const DefinitionKind *kind = view->kind;
    if (!name.bytes || (view->name.data && !slice_equal(name, view->name)))
        return NULL;
    uint32_t number = names_intern(&view->names, name);
    if (number <= view->count)
        return &view->rows[number - 1];
    DefinitionRow *row = &MEM_PUSH(view->rows, view->count, view->capacity);
    *row = (DefinitionRow){ .name = slice_copy(view->arena, name),
                            .object = arena_take(view->arena, kind->noun->bytes) };
    if (kind->noun->defaults)
        memcpy(row->object, kind->noun->defaults, kind->noun->bytes);
    if (kind->facts_bytes)
        row->facts = arena_take(view->arena, kind->facts_bytes);
    return row;
}

void definition_set(DefinitionView *view, Slice name, const void *object)
{
    DefinitionRow *row = definition_row(view, name);
    if (!row)
        return;
    memcpy(row->object, object, view->kind->noun->bytes);
    noun_keep(view->kind->noun, view->arena, row->object);
    row->defined = true;
}

static void drop_rows(DefinitionView *view)
{
    names_done(&view->names);
    mem_free(view->rows);
    view->rows = NULL;
    view->count = view->capacity = view->bytes = 0;
    view->more = false;
}

/* Rows of the table come in order, and a page of them is enough if there are no others.
 */
static bool page_full(const DefinitionView *view)
{
    return !view->name.data && !view->kind->adds &&
           (view->count == view->page.limit || view->bytes > LIST_BYTES_MAX);
}

static void take_definition(void *context, const Definition *definition)
{
    DefinitionView *view = context;
    const Noun *noun = view->kind->noun;
    bool behind = view->name.data || !view->page.cursor.data ||
                  api_name_order(definition->key, view->page.cursor) > 0;
    void *object = arena_take(view->arena, noun->bytes);
    if (view->more || !definition_concerns(view, definition->tenant, definition->key) ||
        (!behind && !view->kind->adds) || noun_unpack(definition->value, noun, object) ||
        (view->kind->is_mark && view->kind->is_mark(object)))
        return;
    if (page_full(view)) {
        view->more = true;
        return;
    }
    definition_set(view, definition->key, object);
    view->bytes += definition->value.bytes;
    if (view->name.data)
        view->current = hash_of(noun, object);
}

/* --- Showing -------------------------------------------------------------------------
 */

static void write_declared(JsonOut *json, const DefinitionView *view, Slice name)
{
    json_bool(json, "declared",
              daemon_declared(view->exchange->daemon, slice_text(view->kind->noun->table),
                              view->tenant, name));
}

void definition_write(JsonOut *json, const DefinitionView *view, Slice name,
                      const void *object)
{
    const NounView members = { view->kind->noun, object, view->tenant, name, false };
    json_object(json, NULL);
    noun_members(json, &members);
    write_declared(json, view, name);
    json_object_end(json);
}

static void write_row(DefinitionView *view, DefinitionRow *row)
{
    const DefinitionKind *kind = view->kind;
    JsonOut *json = &view->json;
    const NounView members = { kind->noun, row->object, view->tenant, row->name, false };
    json_object(json, NULL);
    if (view->ok)
        json_bool(json, "ok", true);
    noun_members(json, &members);
    write_declared(json, view, row->name);
    if (kind->facts)
        kind->facts(json, view, row);
    json_object_end(json);
}

static int by_name(const void *a, const void *b)
{
    return api_name_order(((const DefinitionRow *)a)->name,
                          ((const DefinitionRow *)b)->name);
}

static void write_list(DefinitionView *view)
{
    Slice last = { NULL, 0 };
    uint32_t shown = 0;
    size_t at = 0;
    if (view->count)
        qsort(view->rows, view->count, sizeof *view->rows, by_name);
    json_object(&view->json, NULL);
    json_array(&view->json, "items");
    for (; at < view->count && shown < view->page.limit; at++) {
        DefinitionRow *row = &view->rows[at];
        if (view->page.cursor.data && api_name_order(row->name, view->page.cursor) <= 0)
            continue;
        write_row(view, row);
        last = row->name;
        shown++;
    }
    json_array_end(&view->json);
    text_or_null(&view->json, "next_cursor",
                 at < view->count || view->more ? last : (Slice){ NULL, 0 });
    json_object_end(&view->json);
}

static void write_view(Call *call, DefinitionView *view)
{
    view->json = exchange_json(view->exchange);
    if (!call->err && view->name.data && !view->count) {
        call->err = ERR_NOT_FOUND;
        call->problem = view->kind->noun->missing;
    }
    if (!call->err && view->name.data)
        write_row(view, &view->rows[0]);
    else if (!call->err)
        write_list(view);
    drop_rows(view);
}

/* One of them is looked for by its name: there may be very many. */
static void read_table(Call *call, Store *store, DefinitionView *view)
{
    const DefinitionName name = { slice_text(view->kind->noun->table), view->tenant,
                                  view->name };
    view->arena = &call->arena;
    view->current = 0;
    drop_rows(view); /* of an earlier try */
    call->err =
        view->name.data
            ? store->kind->definition(store, &name, take_definition, view, &call->why)
            : store->kind->definitions(store, name.table, take_definition, view,
                                       &call->why);
}

static void read_view(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    DefinitionView *view = exchange->state;
    read_table(call, store, view);
    if (!call->err && view->kind->gather)
        view->kind->gather(call, store, view);
    write_view(call, view);
}

static void look_view(Call *call, Daemon *daemon)
{
    const Exchange *exchange = call->context;
    DefinitionView *view = exchange->state;
    view->arena = &call->arena;
    view->node = daemon_node(daemon);
    drop_rows(view);
    view->kind->look(call, daemon, view);
    if (view->name.data && view->count)
        view->current = hash_of(view->kind->noun, view->rows[0].object);
    write_view(call, view);
}

/* Copies of the one row, for the step that follows. */
static void keep_found(DefinitionView *view)
{
    const DefinitionKind *kind = view->kind;
    Arena *arena = &view->exchange->arena;
    const DefinitionRow *row = &view->rows[0];
    if (kind->facts_bytes)
        view->found = arena_copy(arena, row->facts, kind->facts_bytes);
    if (view->put)
        return;
    view->put = arena_copy(arena, row->object, kind->noun->bytes);
    noun_keep(kind->noun, arena, view->put);
}

static void find_view(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    DefinitionView *view = exchange->state;
    read_table(call, store, view);
    if (!call->err && view->kind->gather)
        view->kind->gather(call, store, view);
    if (!call->err && !view->count) {
        call->err = ERR_NOT_FOUND;
        call->problem = view->kind->noun->missing;
    }
    if (!call->err)
        keep_found(view);
    drop_rows(view);
}

void definition_find(Exchange *exchange, Step *then)
{
    exchange_read(exchange, find_view, then);
}

static void reply_view(Exchange *exchange, Call *call)
{
    const DefinitionView *view = exchange->state;
    char etag[ETAG_BYTES];
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (view->current) {
        snprintf(etag, sizeof etag, "\"%016llx\"", (unsigned long long)view->current);
        exchange_add_header(exchange, "ETag", etag);
    }
    exchange_reply_json(exchange, view->status);
}

void definition_show(Exchange *exchange)
{
    const DefinitionView *view = exchange->state;
    if (view->kind->look)
        exchange_look(exchange, look_view, reply_view);
    else
        exchange_read(exchange, read_view, reply_view);
}

void definition_get(Exchange *exchange, const DefinitionKind *kind)
{
    if (definition_view(exchange, kind, exchange->parts[0]))
        definition_show(exchange);
}

void definitions_list(Exchange *exchange, const DefinitionKind *kind)
{
    DefinitionView *view = definition_view(exchange, kind, (Slice){ NULL, 0 });
    if (view && api_list_page(exchange, &view->page))
        definition_show(exchange);
}

/* --- Changing ------------------------------------------------------------------------
 */

void definition_define(Exchange *exchange, const void *object, Step *then)
{
    const DefinitionView *view = exchange->state;
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    Buf packed = { 0 };
    if (object)
        noun_pack(&packed, view->kind->noun, object);
    call->event.kind = EVENT_DEFINE;
    call->event.table = slice_text(view->kind->noun->table);
    call->event.tenant = view->tenant;
    call->event.key = view->name;
    call->event.value = slice_copy(&call->arena, buf_slice(&packed));
    call->event.flag = view->only_switch;
    buf_done(&packed);
    exchange_send(exchange, call);
}

void definition_changed(Exchange *exchange, Call *call)
{
    DefinitionView *view = exchange->state;
    bool there = view->kind->unsure ? view->current != 0 : call->replayed;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (!there && !view->plain && !view->only_switch) {
        api_created(exchange, view->kind->noun->plural, view->name);
        view->status = 201;
    }
    definition_show(exchange);
}

bool definition_read(Exchange *exchange, const JsonIn *body)
{
    DefinitionView *view = exchange->state;
    const DefinitionKind *kind = view->kind;
    Problem *why = ARENA_NEW(&exchange->arena, Problem);
    bool patch = view->put != NULL;
    if (!view->put)
        view->put = arena_take(&exchange->arena, kind->noun->bytes);
    NounIn in = { .noun = kind->noun,
                  .object = view->put,
                  .tenant = view->tenant,
                  .name = view->name,
                  .arena = &exchange->arena,
                  .why = why,
                  .patch = patch,
                  .context = view };
    if (!(kind->read ? kind->read(&in, body) : noun_read(&in, body)))
        return true;
    exchange_problem(exchange, why);
    return false;
}

/* What is there, before it is changed. */
static void read_current(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    DefinitionView *view = exchange->state;
    read_table(call, store, view);
    if (!call->err && view->count) {
        view->put = arena_take(&view->exchange->arena, view->kind->noun->bytes);
        memcpy(view->put, view->rows[0].object, view->kind->noun->bytes);
        noun_keep(view->kind->noun, &view->exchange->arena, view->put);
    }
    drop_rows(view);
}

/* Whether a header with ETags names what is there. */
static bool names_current(const DefinitionView *view, Slice tags)
{
    char etag[ETAG_BYTES];
    snprintf(etag, sizeof etag, "\"%016llx\"", (unsigned long long)view->current);
    while (tags.bytes) {
        Slice tag = slice_cut(&tags, ',');
        while (tag.bytes && tag.data[0] == ' ')
            tag = slice_from(tag, 1);
        if (view->current && (slice_is(tag, "*") || slice_is(tag, etag)))
            return true;
    }
    return false;
}

/* False after it refused: what is there is not what the client thinks. */
static bool as_expected(Exchange *exchange)
{
    const DefinitionView *view = exchange->state;
    Slice wanted = exchange_header(exchange, "If-Match");
    Slice refused = exchange_header(exchange, "If-None-Match");
    if (refused.data && names_current(view, refused)) {
        exchange_refuse(exchange, "already_there", "there is %s of this name already",
                        view->kind->noun->a);
        return false;
    }
    if (wanted.data && !names_current(view, wanted)) {
        exchange_refuse(exchange, "changed_meanwhile",
                        "it is not as it was when it was read");
        return false;
    }
    return true;
}

static void current_read(Exchange *exchange, Call *call)
{
    DefinitionView *view = exchange->state;
    const Noun *noun = view->kind->noun;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (!as_expected(exchange))
        return;
    if (exchange->route->method == METHOD_DELETE) {
        if (view->current)
            definition_define(exchange, NULL, definition_deleted);
        else
            exchange_refuse(exchange, noun->missing, "there is none of this name");
        return;
    }
    bool patch = exchange->route->method == METHOD_PATCH;
    if (patch && !view->put && !noun->undefined) {
        exchange_refuse(exchange, noun->missing, "there is none of this name");
        return;
    }
    if (!patch)
        view->put = NULL;
    if (definition_read(exchange, view->body))
        definition_define(exchange, view->put, view->then);
}

static bool has_condition(const Exchange *exchange)
{
    return exchange_header(exchange, "If-Match").data ||
           exchange_header(exchange, "If-None-Match").data;
}

static void put_body(Exchange *exchange, const DefinitionKind *kind, bool ask)
{
    DefinitionView *view = definition_view(exchange, kind, exchange->parts[0]);
    if (!view)
        return;
    view->then = definition_changed;
    view->body = api_body(exchange, &exchange->arena, kind->empty);
    if (!view->body)
        return;
    if (ask || kind->unsure || has_condition(exchange))
        exchange_read(exchange, read_current, current_read);
    else if (definition_read(exchange, view->body))
        definition_define(exchange, view->put, view->then);
}

void definition_put(Exchange *exchange, const DefinitionKind *kind)
{
    put_body(exchange, kind, false);
}

void definition_patch(Exchange *exchange, const DefinitionKind *kind)
{
    put_body(exchange, kind, true);
}

/* --- Deleting ------------------------------------------------------------------------
 */

void definition_deleted(Exchange *exchange, Call *call)
{
    const DefinitionView *view = exchange->state;
    const Noun *noun = view->kind->noun;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    if (view->ok)
        json_bool(&json, "ok", true);
    if (noun->tenants)
        json_text(&json, "tenant", view->tenant);
    json_text(&json, noun_own_name(noun), view->name);
    json_bool(&json, "removed", true);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

void definition_delete(Exchange *exchange, const DefinitionKind *kind)
{
    if (!definition_view(exchange, kind, exchange->parts[0]))
        return;
    if (kind->unsure || has_condition(exchange))
        exchange_read(exchange, read_current, current_read);
    else
        definition_define(exchange, NULL, definition_deleted);
}
