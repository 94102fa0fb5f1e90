/* SPDX-License-Identifier: Apache-2.0 */
/* tenants.c - see tenants.h.
 *
 * A list gathers all names first: they stand in the counts of jobs, among the handlers
 * and among the settings of tenants. */
#include "api/definitions/tenants.h"

#include "api/common.h"
#include "base/text.h"
#include "core/handler.h"
#include "model/job_json.h"
#include "model/tenant_read.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Row {
    Slice name;
    Tenant tenant;
    uint64_t jobs[JOB_STATES];
    int64_t bytes;
} Row;

/* What a request is about. */
typedef struct Subject {
    Slice name; /* empty: all */
    uint32_t limit;
    Slice cursor;
    unsigned status;
    Arena *arena; /* of the call that reads */
    Row *rows;
    size_t count;
    size_t capacity;
} Subject;

static Subject *subject_of(Exchange *exchange)
{
    Subject *subject = ARENA_NEW(&exchange->arena, Subject);
    subject->name = exchange->parts[0];
    subject->status = 200;
    exchange->state = subject;
    if (!subject->name.data || tenant_name_valid(subject->name))
        return subject;
    exchange_refuse(exchange, "invalid_name", "this is no valid name of a tenant");
    return NULL;
}

/* --- Reading the store ---------------------------------------------------------------
 */

/* NULL: the request does not ask for it. */
static Row *row_of(Subject *subject, Slice name)
{
    if (!name.bytes || (subject->name.data && !slice_equal(name, subject->name)))
        return NULL;
    for (size_t i = 0; i < subject->count; i++)
        if (slice_equal(subject->rows[i].name, name))
            return &subject->rows[i];
    Row *row = &MEM_PUSH(subject->rows, subject->count, subject->capacity);
    *row = (Row){ .name = slice_copy(subject->arena, name) };
    return row;
}

static void take_count(void *context, const LaneCount *count)
{
    Row *row = row_of(context, count->tenant);
    if (row)
        row->jobs[count->state] += count->count;
}

static void take_use(void *context, const TenantUse *use)
{
    Row *row = use->bytes > 0 ? row_of(context, use->tenant) : NULL;
    if (row)
        row->bytes = use->bytes;
}

static void take_tenant(void *context, const Definition *definition)
{
    Row *row = row_of(context, definition->key);
    if (row && tenant_unpack(definition->value, &row->tenant))
        row->tenant = (Tenant){ 0 };
}

static void take_handler(void *context, const Definition *definition)
{
    Handler handler;
    if (!handler_unpack(definition->value, &handler) && !handler.deleted)
        row_of(context, definition->tenant);
}

static int by_name(const void *a, const void *b)
{
    Slice first = ((const Row *)a)->name;
    Slice second = ((const Row *)b)->name;
    size_t least = first.bytes < second.bytes ? first.bytes : second.bytes;
    int order = memcmp(first.data, second.data, least);
    return order ? order : (first.bytes > second.bytes) - (first.bytes < second.bytes);
}

static void gather(Call *call, Store *store, Subject *subject)
{
    static const struct {
        const char *table;
        DefinitionSink *take;
    } tables[] = { { TENANT_TABLE, take_tenant }, { HANDLER_TABLE, take_handler } };
    subject->arena = &call->arena;
    call->err = store->kind->counts(store, take_count, subject, &call->why);
    if (!call->err)
        call->err = store->kind->uses(store, 0, take_use, subject, &call->why);
    for (size_t i = 0; i < 2 && !call->err; i++)
        call->err = store->kind->definitions(store, slice_text(tables[i].table),
                                             tables[i].take, subject, &call->why);
    if (subject->count)
        qsort(subject->rows, subject->count, sizeof *subject->rows, by_name);
}

static void write_row(const Exchange *exchange, JsonOut *json, const Row *row)
{
    json_object(json, NULL);
    json_text(json, "name", row->name);
    json_bool(json, "segregate_types", row->tenant.segregate_types);
    json_int(json, "max_queued", (int64_t)row->tenant.max_queued);
    json_int(json, "max_running", (int64_t)row->tenant.max_running);
    json_int(json, "max_requests", (int64_t)row->tenant.max_requests);
    json_int(json, "max_bytes", (int64_t)row->tenant.max_bytes);
    json_time(json, "created_at", row->tenant.created_ms);
    json_bool(json, "declared",
              daemon_declared(exchange->daemon, SLICE_LITERAL(TENANT_TABLE),
                              (Slice){ NULL, 0 }, row->name));
    json_object(json, "jobs");
    for (unsigned state = 0; state < JOB_STATES; state++)
        if (row->jobs[state])
            json_int(json, state_name((JobState)state), (int64_t)row->jobs[state]);
    json_object_end(json);
    json_int(json, "stored_bytes", row->bytes);
    json_object_end(json);
}

static void reply_out(Exchange *exchange, Call *call)
{
    const Subject *subject = exchange->state;
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, subject->status);
}

static void read_one(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Subject *subject = exchange->state;
    gather(call, store, subject);
    if (!call->err && !subject->count) {
        call->err = ERR_NOT_FOUND;
        call->problem = "tenant_not_found";
    }
    JsonOut json = exchange_json(exchange);
    if (!call->err)
        write_row(exchange, &json, &subject->rows[0]);
    mem_free(subject->rows);
    subject->rows = NULL;
}

static void show(Exchange *exchange)
{
    exchange_read(exchange, read_one, reply_out);
}

void api_tenant_get(Exchange *exchange)
{
    if (subject_of(exchange))
        show(exchange);
}

static void read_list(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Subject *subject = exchange->state;
    const Row after = { .name = subject->cursor };
    gather(call, store, subject);
    JsonOut json = exchange_json(exchange);
    Slice next = { NULL, 0 };
    uint32_t given = 0;
    json_object(&json, NULL);
    json_array(&json, "items");
    for (size_t i = 0; i < subject->count && !call->err; i++) {
        if (after.name.bytes && by_name(&subject->rows[i], &after) <= 0)
            continue;
        if (given == subject->limit) {
            next = subject->rows[i - 1].name;
            break;
        }
        write_row(exchange, &json, &subject->rows[i]);
        given++;
    }
    json_array_end(&json);
    text_or_null(&json, "next_cursor", next);
    json_object_end(&json);
    mem_free(subject->rows);
    subject->rows = NULL;
}

void api_tenants_list(Exchange *exchange)
{
    Subject *subject = subject_of(exchange);
    if (!subject || !api_list_limit(exchange, &subject->limit))
        return;
    subject->cursor = exchange_param(exchange, "cursor");
    exchange_read(exchange, read_list, reply_out);
}

/* --- Setting -------------------------------------------------------------------------
 */

static void defined(Exchange *exchange, Call *call)
{
    Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (!call->replayed) {
        api_created(exchange, "tenants", subject->name);
        subject->status = 201;
    }
    show(exchange);
}

static void define(Exchange *exchange, Slice value, Step *then)
{
    const Subject *subject = exchange->state;
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(TENANT_TABLE);
    call->event.key = subject->name;
    call->event.value = slice_copy(&call->arena, value);
    exchange_send(exchange, call);
}

void api_tenant_put(Exchange *exchange)
{
    Tenant tenant;
    Problem why;
    const Subject *subject = subject_of(exchange);
    const JsonIn *object = subject ? api_body(exchange, &exchange->arena, false) : NULL;
    if (!object)
        return;
    if (tenant_read(object, &tenant, &why)) {
        exchange_problem(exchange, &why);
        return;
    }
    Buf value = { 0 };
    tenant_pack(&value, &tenant);
    define(exchange, buf_slice(&value), defined);
    buf_done(&value);
}

static void deleted(Exchange *exchange, Call *call)
{
    const Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_text(&json, "name", subject->name);
    json_bool(&json, "removed", true);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

void api_tenant_delete(Exchange *exchange)
{
    if (subject_of(exchange))
        define(exchange, (Slice){ NULL, 0 }, deleted);
}
