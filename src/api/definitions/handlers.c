/* SPDX-License-Identifier: Apache-2.0 */
/* handlers.c - see handlers.h.
 *
 * Setting is one event; the core numbers the version. After it the handler is read again,
 * so that the answer shows what holds now. */
#include "api/definitions/handlers.h"

#include "api/common.h"
#include "base/text.h"
#include "model/handler_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define LIST_BYTES_MAX (32u << 20) /* of one page: bodies may be large */

/* What a request is about. */
typedef struct Subject {
    const Exchange *exchange;
    Slice tenant;
    Slice type;
    unsigned status; /* of a good answer */
    bool founding;
    bool ok;         /* the answer says so */
    int64_t version; /* to roll back to; 0: the one before */
    uint32_t limit;
    Slice cursor;
    HandlerSeek seek;
    JsonOut json;
    uint32_t count;
    Slice last;   /* type of the last one written */
    bool more;    /* the page is full */
    Handler *all; /* versions */
    size_t all_count;
    size_t all_capacity;
} Subject;

/* --- Names ----------------------------------------------------------------------------
 */

static Subject *subject_of(Exchange *exchange, Slice tenant, Slice type)
{
    if (!tenant.data)
        return NULL;
    if (!tenant_name_valid(tenant) || (type.data && !name_valid(type))) {
        exchange_refuse(exchange, "invalid_name", "the name of the %s is not valid",
                        tenant_name_valid(tenant) ? "type" : "client");
        return NULL;
    }
    Subject *subject = ARENA_NEW(&exchange->arena, Subject);
    subject->exchange = exchange;
    subject->tenant = tenant;
    subject->type = type;
    subject->status = 200;
    exchange->state = subject;
    return subject;
}

/* NULL after it refused. */
static Subject *api_subject(Exchange *exchange)
{
    return subject_of(exchange, api_tenant(exchange, "default"), exchange->parts[0]);
}

static Subject *founding_subject(Exchange *exchange)
{
    Subject *subject = subject_of(exchange, exchange->parts[0], exchange->parts[1]);
    if (subject)
        subject->founding = true;
    return subject;
}

/* --- Finding one ----------------------------------------------------------------------
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

static bool seek_in_call(Call *call, Store *store, int64_t version)
{
    const Exchange *exchange = call->context;
    Subject *subject = exchange->state;
    subject->seek = (HandlerSeek){ .tenant = subject->tenant,
                                   .type = subject->type,
                                   .version = version,
                                   .arena = &call->arena };
    call->err = handler_seek(store, &subject->seek, &call->why);
    return !call->err;
}

static void not_found(Call *call, const char *problem)
{
    call->err = ERR_NOT_FOUND;
    call->problem = problem;
}

static void read_newest(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    const Subject *subject = exchange->state;
    if (!seek_in_call(call, store, 0))
        return;
    if (!subject->seek.found || subject->seek.handler.deleted)
        not_found(call, "handler_not_found");
}

static void write_members(const Subject *subject, JsonOut *json, const Handler *handler)
{
    handler_members(json, handler);
    json_bool(json, "declared",
              daemon_declared(subject->exchange->daemon, SLICE_LITERAL(HANDLER_TABLE),
                              handler->tenant, handler->type));
}

static void write_one(const Subject *subject, JsonOut *json, const Handler *handler)
{
    json_object(json, NULL);
    write_members(subject, json, handler);
    json_object_end(json);
}

static void reply_found(Exchange *exchange, Call *call)
{
    const Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    if (subject->ok)
        json_bool(&json, "ok", true);
    write_members(subject, &json, &subject->seek.handler);
    json_object_end(&json);
    exchange_reply_json(exchange, subject->status);
}

static void show(Exchange *exchange)
{
    exchange_read(exchange, read_newest, reply_found);
}

void api_handler_get(Exchange *exchange)
{
    if (api_subject(exchange))
        show(exchange);
}

void api_founding_handler_get(Exchange *exchange)
{
    if (founding_subject(exchange))
        show(exchange);
}

/* --- Setting --------------------------------------------------------------------------
 */

static void defined(Exchange *exchange, Call *call)
{
    Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (!subject->founding && !call->replayed) {
        api_created(exchange, "handlers", subject->type);
        subject->status = 201;
    }
    show(exchange);
}

/* handler NULL: it is deleted. */
static void define(Exchange *exchange, const Handler *handler, bool only_switch,
                   Step *then)
{
    const Subject *subject = exchange->state;
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    Buf packed = { 0 };
    if (handler)
        handler_pack(&packed, handler);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(HANDLER_TABLE);
    call->event.tenant = subject->tenant;
    call->event.key = subject->type;
    call->event.value = slice_copy(&call->arena, buf_slice(&packed));
    call->event.flag = only_switch;
    buf_done(&packed);
    exchange_send(exchange, call);
}

static HandlerReader *reader_new(Exchange *exchange, const Subject *subject)
{
    JobRules *rules = ARENA_NEW(&exchange->arena, JobRules);
    HandlerReader *reader = ARENA_NEW(&exchange->arena, HandlerReader);
    rules->tenant = subject->tenant;
    rules->tenant_fixed = exchange->caller.bound;
    rules->wall_ms = clock_now().wall_ms;
    reader->job.rules = rules;
    reader->job.arena = &exchange->arena;
    reader->handler.tenant = subject->tenant;
    reader->handler.type = subject->type;
    handler_read_begin(reader);
    return reader;
}

static void set(Exchange *exchange, HandlerReader *reader)
{
    if (handler_read_end(reader))
        exchange_problem(exchange, &reader->job.why);
    else
        define(exchange, &reader->handler, false, defined);
}

/* False after it refused. */
static bool read_object(Exchange *exchange, HandlerReader *reader)
{
    const JsonIn *object = api_body(exchange, &exchange->arena, false);
    if (!object)
        return false;
    if (!handler_read(reader, object))
        return true;
    exchange_problem(exchange, &reader->job.why);
    return false;
}

void api_handler_put(Exchange *exchange)
{
    const Subject *subject = api_subject(exchange);
    if (!subject)
        return;
    HandlerReader *reader = reader_new(exchange, subject);
    if (read_object(exchange, reader))
        set(exchange, reader);
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

/* The body of the request is the handler's, as it came. */
static bool read_bare(Exchange *exchange, HandlerReader *reader)
{
    JsonIn body = { .kind = JSON_IN_TEXT,
                    .key = SLICE_LITERAL("body"),
                    .as.text = buf_slice(&exchange->body) };
    JsonIn object = { .kind = JSON_IN_OBJECT };
    object.as.items.first = &body;
    object.as.items.count = 1;
    if (!handler_read(reader, &object))
        return true;
    exchange_problem(exchange, &reader->job.why);
    return false;
}

void api_founding_handler_add(Exchange *exchange)
{
    Subject *subject = founding_subject(exchange);
    if (!subject)
        return;
    subject->ok = true;
    HandlerReader *reader = reader_new(exchange, subject);
    bool object = is_json(exchange);
    if (!(object ? read_object(exchange, reader) : read_bare(exchange, reader)))
        return;
    for (size_t i = 0; i < exchange->param_count; i++) {
        const Param *param = &exchange->params[i];
        if (handler_read_param(reader, param->name, param->value)) {
            exchange_problem(exchange, &reader->job.why);
            return;
        }
    }
    set(exchange, reader);
}

/* --- Deleting and switching -----------------------------------------------------------
 */

static void deleted(Exchange *exchange, Call *call)
{
    const Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    if (subject->founding)
        json_bool(&json, "ok", true);
    json_text(&json, "tenant", subject->tenant);
    json_text(&json, "type", subject->type);
    json_bool(&json, "removed", true);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

void api_handler_delete(Exchange *exchange)
{
    if (api_subject(exchange))
        define(exchange, NULL, false, deleted);
}

void api_founding_handler_delete(Exchange *exchange)
{
    if (founding_subject(exchange))
        define(exchange, NULL, false, deleted);
}

static void shown(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        show(exchange);
}

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
    if (api_subject(exchange) && action_body(exchange, NULL, NULL))
        define(exchange, &handler, true, shown);
}

void api_handler_enable(Exchange *exchange)
{
    turn_switch(exchange, true);
}

void api_handler_disable(Exchange *exchange)
{
    turn_switch(exchange, false);
}

/* --- Rolling back ---------------------------------------------------------------------
 */

/* The version that is wanted, as a new one: on or off as the handler is now. */
static void read_target(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    Subject *subject = exchange->state;
    if (!seek_in_call(call, store, 0))
        return;
    if (!subject->seek.found) {
        not_found(call, "handler_not_found");
        return;
    }
    const Handler now = subject->seek.handler;
    int64_t wanted = subject->version;
    if (!wanted) /* the one before; the last one of a handler that was deleted */
        wanted = now.deleted ? now.version : (int64_t)now.version - 1;
    if (wanted < 1) {
        not_found(call, "version_not_found");
        return;
    }
    if (!seek_in_call(call, store, wanted))
        return;
    if (!subject->seek.found)
        not_found(call, "version_not_found");
    subject->seek.handler.disabled = now.disabled;
}

static void target_read(Exchange *exchange, Call *call)
{
    const Subject *subject = exchange->state;
    if (call->err)
        exchange_failed(exchange, call);
    else
        define(exchange, &subject->seek.handler, false, shown);
}

void api_handler_rollback(Exchange *exchange)
{
    Subject *subject = api_subject(exchange);
    if (!subject || !action_body(exchange, "version", &subject->version))
        return;
    exchange_read(exchange, read_target, target_read);
}

/* --- Lists ----------------------------------------------------------------------------
 */

static bool read_page(Exchange *exchange, Subject *subject)
{
    ListPage page;
    if (!api_list_page(exchange, &page))
        return false;
    subject->limit = page.limit;
    subject->cursor = page.cursor;
    return true;
}

/* Handlers come in order of tenant and type. */
static void list_one(void *context, const Definition *definition)
{
    Subject *subject = context;
    Handler handler;
    if (subject->more || !slice_equal(definition->tenant, subject->tenant) ||
        (subject->cursor.data && api_name_order(definition->key, subject->cursor) <= 0) ||
        handler_unpack(definition->value, &handler) || handler.deleted)
        return;
    if (subject->count == subject->limit || subject->json.out->bytes > LIST_BYTES_MAX) {
        subject->more = true;
        return;
    }
    write_one(subject, &subject->json, &handler);
    subject->last = slice_copy(subject->seek.arena, definition->key);
    subject->count++;
}

static void read_list(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Subject *subject = exchange->state;
    subject->seek.arena = &call->arena;
    subject->json = exchange_json(exchange);
    json_object(&subject->json, NULL);
    json_array(&subject->json, "items");
    call->err = store->kind->definitions(store, SLICE_LITERAL(HANDLER_TABLE), list_one,
                                         subject, &call->why);
    json_array_end(&subject->json);
    text_or_null(&subject->json, "next_cursor",
                 subject->more ? subject->last : (Slice){ NULL, 0 });
    json_object_end(&subject->json);
}

static void reply_out(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, 200);
}

void api_handlers_list(Exchange *exchange)
{
    Subject *subject =
        subject_of(exchange, api_tenant(exchange, "default"), (Slice){ NULL, 0 });
    if (!subject || !read_page(exchange, subject))
        return;
    exchange_read(exchange, read_list, reply_out);
}

static void take_version(void *context, const Definition *definition)
{
    Subject *subject = context;
    Slice key = definition->key;
    Handler handler;
    if (!slice_equal(definition->tenant, subject->tenant) ||
        !slice_equal(slice_cut(&key, ' '), subject->type) ||
        handler_unpack(definition->value, &handler))
        return;
    MEM_PUSH(subject->all, subject->all_count, subject->all_capacity) =
        handler_copy(subject->seek.arena, &handler);
}

static int newest_first(const void *a, const void *b)
{
    uint32_t first = ((const Handler *)a)->version;
    uint32_t second = ((const Handler *)b)->version;
    return (first < second) - (first > second);
}

static void write_versions(Exchange *exchange, Subject *subject, int64_t below)
{
    JsonOut json = exchange_json(exchange);
    int64_t next = 0;
    json_object(&json, NULL);
    json_array(&json, "items");
    for (size_t i = 0; i < subject->all_count && !next; i++) {
        const Handler *handler = &subject->all[i];
        if (below && handler->version >= below)
            continue;
        if (subject->count == subject->limit || json.out->bytes > LIST_BYTES_MAX) {
            next = handler->version + 1;
            continue;
        }
        write_one(subject, &json, handler);
        subject->count++;
    }
    json_array_end(&json);
    char text[24] = "";
    snprintf(text, sizeof text, "%lld", (long long)next);
    json_cstr(&json, "next_cursor", next ? text : NULL);
    json_object_end(&json);
}

static void read_versions(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Subject *subject = exchange->state;
    subject->seek.arena = &call->arena;
    call->err = store->kind->definitions(store, SLICE_LITERAL(HANDLER_VERSIONS),
                                         take_version, subject, &call->why);
    if (!call->err && !subject->all_count)
        not_found(call, "handler_not_found");
    if (!call->err) {
        qsort(subject->all, subject->all_count, sizeof *subject->all, newest_first);
        write_versions(exchange, subject, subject->version);
    }
    mem_free(subject->all);
    subject->all = NULL;
}

void api_handler_versions(Exchange *exchange)
{
    Subject *subject = api_subject(exchange);
    if (!subject || !read_page(exchange, subject))
        return;
    if (subject->cursor.data && int_parse(subject->cursor, &subject->version)) {
        exchange_refuse(exchange, "invalid_value", "this is no cursor of ours");
        return;
    }
    exchange_read(exchange, read_versions, reply_out);
}
