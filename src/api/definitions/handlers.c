/* SPDX-License-Identifier: Apache-2.0 */
/* handlers.c - see handlers.h.
 *
 * Setting is one event; the core numbers the version. The founding paths name the tenant
 * in the path, take the bare body, and say `ok`. */
#include "api/definitions/handlers.h"

#include "api/definitions/definitions.h"
#include "base/text.h"
#include "model/handler_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define LIST_BYTES_MAX (32u << 20) /* of one page: bodies may be large */

static bool is_mark(const void *object)
{
    return ((const Handler *)object)->deleted;
}

static const DefinitionKind handler_kind = { .noun = &handler_noun,
                                             .read = handler_read,
                                             .is_mark = is_mark };

void api_handlers_list(Exchange *exchange)
{
    definitions_list(exchange, &handler_kind);
}

void api_handler_get(Exchange *exchange)
{
    definition_get(exchange, &handler_kind);
}

void api_handler_put(Exchange *exchange)
{
    definition_put(exchange, &handler_kind);
}

void api_handler_patch(Exchange *exchange)
{
    definition_patch(exchange, &handler_kind);
}

void api_handler_delete(Exchange *exchange)
{
    definition_delete(exchange, &handler_kind);
}

/* --- Founding paths ------------------------------------------------------------------
 */

static DefinitionView *founding_view(Exchange *exchange)
{
    if (!tenant_name_valid(exchange->parts[0])) {
        exchange_refuse(exchange, "invalid_name", "the name of the client is not valid");
        return NULL;
    }
    DefinitionView *view = definition_view_of(exchange, &handler_kind, exchange->parts[0],
                                              exchange->parts[1]);
    if (view)
        view->plain = true;
    return view;
}

void api_founding_handler_get(Exchange *exchange)
{
    if (founding_view(exchange))
        definition_show(exchange);
}

void api_founding_handler_delete(Exchange *exchange)
{
    DefinitionView *view = founding_view(exchange);
    if (!view)
        return;
    view->ok = true;
    definition_define(exchange, NULL, definition_deleted);
}

static bool is_json(const Exchange *exchange)
{
    static const Slice json = { "application/json", 16 };
    Slice type = exchange_header(exchange, "Content-Type");
    type = slice_cut(&type, ';');
    while (type.bytes && type.data[type.bytes - 1] == ' ')
        type.bytes--;
    return type.bytes == json.bytes && !strncasecmp(type.data, json.data, json.bytes);
}

/* The body of the request is the handler's, as it came, or the object. False after it
 * refused. */
static bool read_founding(Exchange *exchange, NounIn *in)
{
    JsonIn body = { .kind = JSON_IN_TEXT,
                    .key = SLICE_LITERAL("body"),
                    .as.text = buf_slice(&exchange->body) };
    JsonIn bare = { .kind = JSON_IN_OBJECT };
    const JsonIn *object = &bare;
    bare.as.items.first = &body;
    bare.as.items.count = 1;
    if (is_json(exchange))
        object = api_body(exchange, &exchange->arena, false);
    if (!object)
        return false;
    Err err = noun_read(in, object);
    for (size_t i = 0; i < exchange->param_count && !err; i++)
        err = handler_read_param(in, exchange->params[i].name, exchange->params[i].value);
    if (!err)
        err = handler_check(in);
    if (err)
        exchange_problem(exchange, in->why);
    return !err;
}

void api_founding_handler_add(Exchange *exchange)
{
    DefinitionView *view = founding_view(exchange);
    if (!view)
        return;
    Handler *handler = ARENA_NEW(&exchange->arena, Handler);
    NounIn in = { .noun = &handler_noun,
                  .object = handler,
                  .tenant = view->tenant,
                  .name = view->name,
                  .arena = &exchange->arena,
                  .why = ARENA_NEW(&exchange->arena, Problem) };
    view->ok = true;
    if (read_founding(exchange, &in))
        definition_define(exchange, handler, definition_changed);
}

/* --- Finding a version ---------------------------------------------------------------
 */

static bool key_is(const HandlerSeek *seek, Slice key)
{
    if (!seek->version)
        return slice_equal(key, seek->type);
    int64_t version;
    Slice type = slice_cut(&key, ' ');
    return slice_equal(type, seek->type) && !int_parse(key, &version) &&
           version == seek->version;
}

static void take_sought(void *context, const Definition *definition)
{
    HandlerSeek *seek = context;
    Handler handler;
    if (seek->found || !slice_equal(definition->tenant, seek->tenant) ||
        !key_is(seek, definition->key) || handler_unpack(definition->value, &handler))
        return;
    seek->handler = handler_copy(seek->arena, &handler);
    seek->found = true;
}

Err handler_seek(Store *store, HandlerSeek *seek, Error *why)
{
    Slice table = slice_text(seek->version ? HANDLER_VERSIONS : HANDLER_TABLE);
    const DefinitionName name = { table, seek->tenant, seek->type };
    seek->found = false;
    return seek->version ? store->kind->definitions(store, table, take_sought, seek, why)
                         : store->kind->definition(store, &name, take_sought, seek, why);
}

/* --- Switching -----------------------------------------------------------------------
 */

/* The body of an action: nothing, {}, or an object with only `field` (a number). False
 * after it refused. */
static bool action_body(Exchange *exchange, const char *field, int64_t *out_number)
{
    const JsonIn *object = api_body(exchange, &exchange->arena, true);
    if (!object)
        return false;
    if (object->kind != JSON_IN_OBJECT) {
        exchange_refuse(exchange, "wrong_type", "an action takes an object, not %s",
                        json_in_kind_name(object->kind));
        return false;
    }
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        if (!field || !slice_is(at->key, field)) {
            exchange_refuse(exchange, "unknown_field", "this action takes %s%s",
                            field ? "only " : "no fields", field ? field : "");
            return false;
        }
        if (at->kind == JSON_IN_NULL)
            continue;
        if (json_in_int(at, out_number) || *out_number < 1) {
            exchange_refuse(exchange, "invalid_value", "%s is a number from 1 on", field);
            return false;
        }
    }
    return true;
}

static void turn_switch(Exchange *exchange, bool on)
{
    /* Only `disabled` counts; the version makes it something: no bytes would delete. */
    const Handler handler = { .version = 1, .disabled = !on };
    DefinitionView *view = definition_view(exchange, &handler_kind, exchange->parts[0]);
    if (!view || !action_body(exchange, NULL, NULL))
        return;
    view->only_switch = true;
    definition_define(exchange, &handler, definition_changed);
}

void api_handler_enable(Exchange *exchange)
{
    turn_switch(exchange, true);
}

void api_handler_disable(Exchange *exchange)
{
    turn_switch(exchange, false);
}

/* --- Rolling back --------------------------------------------------------------------
 */

static bool seek_in_call(Call *call, Store *store, int64_t version, HandlerSeek *seek)
{
    const Exchange *exchange = call->context;
    const DefinitionView *view = exchange->state;
    *seek = (HandlerSeek){ .tenant = view->tenant,
                           .type = view->name,
                           .version = version,
                           .arena = &call->arena };
    call->err = handler_seek(store, seek, &call->why);
    return !call->err;
}

static void not_found(Call *call, const char *problem)
{
    call->err = ERR_NOT_FOUND;
    call->problem = problem;
}

/* The version that is wanted, as a new one: on or off as the handler is now. */
static void read_target(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    DefinitionView *view = exchange->state;
    HandlerSeek seek;
    if (!seek_in_call(call, store, 0, &seek))
        return;
    if (!seek.found) {
        not_found(call, "handler_not_found");
        return;
    }
    const Handler now = seek.handler;
    int64_t wanted = *(const int64_t *)view->context;
    if (!wanted) /* the one before; the last one of a handler that was deleted */
        wanted = now.deleted ? now.version : (int64_t)now.version - 1;
    if (wanted < 1) {
        not_found(call, "version_not_found");
        return;
    }
    if (!seek_in_call(call, store, wanted, &seek))
        return;
    if (!seek.found)
        not_found(call, "version_not_found");
    seek.handler.disabled = now.disabled;
    view->put = arena_copy(&call->arena, &seek.handler, sizeof seek.handler);
}

static void target_read(Exchange *exchange, Call *call)
{
    DefinitionView *view = exchange->state;
    view->plain = true;
    if (call->err)
        exchange_failed(exchange, call);
    else
        definition_define(exchange, view->put, definition_changed);
}

void api_handler_rollback(Exchange *exchange)
{
    DefinitionView *view = definition_view(exchange, &handler_kind, exchange->parts[0]);
    int64_t *version = ARENA_NEW(&exchange->arena, int64_t);
    if (!view || !action_body(exchange, "version", version))
        return;
    view->context = version;
    exchange_read(exchange, read_target, target_read);
}

/* --- Versions ------------------------------------------------------------------------
 */

/* All of them, while they are gathered. */
typedef struct Versions {
    const DefinitionView *view;
    Arena *arena;
    Handler *all;
    size_t count;
    size_t capacity;
    int64_t below; /* only older ones; 0: all */
} Versions;

static void take_version(void *context, const Definition *definition)
{
    Versions *versions = context;
    Slice key = definition->key;
    Handler handler;
    if (!slice_equal(definition->tenant, versions->view->tenant) ||
        !slice_equal(slice_cut(&key, ' '), versions->view->name) ||
        handler_unpack(definition->value, &handler))
        return;
    MEM_PUSH(versions->all, versions->count, versions->capacity) =
        handler_copy(versions->arena, &handler);
}

static int newest_first(const void *a, const void *b)
{
    uint32_t first = ((const Handler *)a)->version;
    uint32_t second = ((const Handler *)b)->version;
    return (first < second) - (first > second);
}

static void write_versions(Exchange *exchange, const Versions *versions)
{
    const DefinitionView *view = versions->view;
    JsonOut json = exchange_json(exchange);
    uint32_t shown = 0;
    int64_t next = 0;
    char text[24] = "";
    json_object(&json, NULL);
    json_array(&json, "items");
    for (size_t i = 0; i < versions->count && !next; i++) {
        const Handler *handler = &versions->all[i];
        if (versions->below && handler->version >= versions->below)
            continue;
        if (shown == view->page.limit || json.out->bytes > LIST_BYTES_MAX) {
            next = handler->version + 1;
            continue;
        }
        definition_write(&json, view, view->name, handler);
        shown++;
    }
    json_array_end(&json);
    snprintf(text, sizeof text, "%lld", (long long)next);
    json_cstr(&json, "next_cursor", next ? text : NULL);
    json_object_end(&json);
}

static void read_versions(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    const DefinitionView *view = exchange->state;
    Versions versions = { .view = view,
                          .arena = &call->arena,
                          .below = *(const int64_t *)view->context };
    call->err = store->kind->definitions(store, SLICE_LITERAL(HANDLER_VERSIONS),
                                         take_version, &versions, &call->why);
    if (!call->err && !versions.count)
        not_found(call, "handler_not_found");
    if (!call->err) {
        qsort(versions.all, versions.count, sizeof *versions.all, newest_first);
        write_versions(exchange, &versions);
    }
    mem_free(versions.all);
}

static void reply_out(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, 200);
}

void api_handler_versions(Exchange *exchange)
{
    DefinitionView *view = definition_view(exchange, &handler_kind, exchange->parts[0]);
    int64_t *below = ARENA_NEW(&exchange->arena, int64_t);
    if (!view || !api_list_page(exchange, &view->page))
        return;
    if (view->page.cursor.data && int_parse(view->page.cursor, below)) {
        exchange_refuse(exchange, "invalid_value", "this is no cursor of ours");
        return;
    }
    view->context = below;
    exchange_read(exchange, read_versions, reply_out);
}
