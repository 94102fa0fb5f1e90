/* SPDX-License-Identifier: Apache-2.0 */
/* queues.c - see queues.h.
 *
 * A queue is there once it was defined or used. Definitions come from their table, counts
 * from the store's own sums, the wait of the head from the head itself: nothing scans. */
#include "api/definitions/queues.h"

#include "api/common.h"
#include "api/jobs/operations.h"
#include "base/map.h"
#include "base/text.h"
#include "model/queue_json.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct QueueRow {
    QueueDef def;
    bool defined;
    bool used;
    uint64_t states[JOB_STATES];
    int64_t head_ms; /* dt of the longest-waiting head; 0: nothing waits */
} QueueRow;

typedef struct QueueView {
    Exchange *exchange;
    Slice tenant;
    Slice name; /* empty: all */
    unsigned status;
    ListPage page;
    Arena *arena; /* of the call under way */
    QueueRow *rows;
    size_t count;
    size_t capacity;
    Names names;  /* of the rows: number n is rows[n - 1] until they are sorted */
    QueueDef put; /* on its way */
    bool put_switch;
} QueueView;

/* --- Collecting -----------------------------------------------------------------------
 */

static QueueRow *row_of(QueueView *view, Slice name)
{
    uint32_t number = names_intern(&view->names, name);
    if (number <= view->count)
        return &view->rows[number - 1];
    QueueRow *row = &MEM_PUSH(view->rows, view->count, view->capacity);
    *row = (QueueRow){ 0 };
    row->def.tenant = view->tenant;
    row->def.name = slice_copy(view->arena, name);
    return row;
}

static void drop_rows(QueueView *view)
{
    names_done(&view->names);
    mem_free(view->rows);
    view->rows = NULL;
    view->count = view->capacity = 0;
}

static bool concerns(const QueueView *view, Slice tenant, Slice name)
{
    return slice_equal(tenant, view->tenant) &&
           (!view->name.bytes || slice_equal(name, view->name));
}

static void take_definition(void *context, const Definition *definition)
{
    QueueView *view = context;
    QueueDef def;
    if (!concerns(view, definition->tenant, definition->key) ||
        queue_unpack(definition->value, &def))
        return;
    QueueRow *row = row_of(view, definition->key);
    row->def = queue_copy(view->arena, &def);
    row->def.tenant = view->tenant;
    row->def.name = slice_copy(view->arena, definition->key);
    row->defined = true;
}

static void take_count(void *context, const LaneCount *count)
{
    QueueView *view = context;
    if (!concerns(view, count->tenant, count->queue))
        return;
    QueueRow *row = row_of(view, count->queue);
    row->states[count->state] += count->count;
    row->used = true;
}

static void note_heads(QueueView *view, const Loaded *heads)
{
    for (size_t i = 0; i < heads->count; i++) {
        const Job *job = &heads->jobs[i];
        if (!concerns(view, job->tenant, job->queue))
            continue;
        QueueRow *row = row_of(view, job->queue);
        if (!row->head_ms || job->dt_ms < row->head_ms)
            row->head_ms = job->dt_ms;
    }
}

/* One queue asks for its own head; only one whose types wait apart needs all lanes. */
static void read_heads(Call *call, Store *store, QueueView *view)
{
    bool found = false;
    for (int pull = 0; pull < 2 && view->name.bytes && !call->err; pull++) {
        Loaded heads = { 0 };
        Load load = { .kind = LOAD_WINDOW,
                      .tenant = view->tenant,
                      .queue = view->name,
                      .pull = pull,
                      .limit = 1 };
        call->err = store->kind->load(store, &load, &heads, &call->why);
        if (!call->err)
            note_heads(view, &heads);
        found = found || heads.count;
        loaded_done(&heads);
    }
    bool waits =
        !view->name.bytes || (view->count && view->rows[0].states[JOB_READY] && !found);
    if (call->err || !waits)
        return;
    Loaded heads = { 0 };
    Load load = { .kind = LOAD_LANES };
    call->err = store->kind->load(store, &load, &heads, &call->why);
    if (!call->err)
        note_heads(view, &heads);
    loaded_done(&heads);
}

static void read_queues(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    QueueView *view = exchange->state;
    view->arena = &call->arena;
    drop_rows(view); /* of an earlier try */
    call->err = store->kind->definitions(store, SLICE_LITERAL(QUEUE_TABLE),
                                         take_definition, view, &call->why);
    if (!call->err)
        call->err = store->kind->counts(store, take_count, view, &call->why);
    if (!call->err)
        read_heads(call, store, view);
    if (!call->err && view->name.bytes && !view->count) {
        call->err = ERR_NOT_FOUND;
        call->problem = "queue_not_found";
    }
}

bool queue_seek(Call *call, Store *store, QueueDef *def)
{
    QueueView view = { .tenant = def->tenant, .name = def->name, .arena = &call->arena };
    const DefinitionName name = { SLICE_LITERAL(QUEUE_TABLE), def->tenant, def->name };
    call->err = store->kind->definition(store, &name, take_definition, &view, &call->why);
    bool found = !call->err && view.count;
    if (found)
        *def = view.rows[0].def;
    drop_rows(&view);
    return found;
}

/* --- Showing --------------------------------------------------------------------------
 */

static void row_json(JsonOut *json, const QueueView *view, const QueueRow *row)
{
    int64_t now_ms = clock_now().wall_ms;
    json_object(json, NULL);
    queue_members(json, &row->def, now_ms);
    json_bool(json, "defined", row->defined);
    json_bool(json, "declared",
              daemon_declared(view->exchange->daemon, SLICE_LITERAL(QUEUE_TABLE),
                              view->tenant, row->def.name));
    json_object(json, "jobs");
    for (unsigned i = 0; i < JOB_STATES; i++)
        if (row->states[i])
            json_int(json, state_name((JobState)i), (int64_t)row->states[i]);
    json_object_end(json);
    json_int(json, "running",
             (int64_t)(row->states[JOB_RUNNING] + row->states[JOB_PAUSED]));
    if (row->head_ms)
        json_int(json, "head_wait_ms", now_ms > row->head_ms ? now_ms - row->head_ms : 0);
    else
        json_null(json, "head_wait_ms");
    json_object_end(json);
}

static void reply_one(Exchange *exchange, Call *call)
{
    QueueView *view = exchange->state;
    if (call->err) {
        drop_rows(view);
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    row_json(&json, view, &view->rows[0]);
    drop_rows(view);
    exchange_reply_json(exchange, view->status);
}

static int by_name(const void *a, const void *b)
{
    return api_name_order(((const QueueRow *)a)->def.name,
                          ((const QueueRow *)b)->def.name);
}

static void reply_all(Exchange *exchange, Call *call)
{
    QueueView *view = exchange->state;
    if (call->err) {
        drop_rows(view);
        exchange_failed(exchange, call);
        return;
    }
    if (view->count)
        qsort(view->rows, view->count, sizeof *view->rows, by_name);
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_array(&json, "items");
    Slice last = { NULL, 0 };
    uint32_t shown = 0;
    size_t at = 0;
    for (; at < view->count && shown < view->page.limit; at++) {
        Slice name = view->rows[at].def.name;
        if (view->page.cursor.data && api_name_order(name, view->page.cursor) <= 0)
            continue;
        row_json(&json, view, &view->rows[at]);
        last = name;
        shown++;
    }
    json_array_end(&json);
    if (at < view->count)
        json_text(&json, "next_cursor", last);
    else
        json_null(&json, "next_cursor");
    json_object_end(&json);
    drop_rows(view);
    exchange_reply_json(exchange, 200);
}

/* NULL after it refused. `name` empty: all queues of the tenant. */
static QueueView *view_of(Exchange *exchange, Slice name)
{
    Slice tenant = api_tenant(exchange, "default");
    if (!tenant.data)
        return NULL;
    if (name.data && !queue_name_valid(name)) {
        exchange_refuse(exchange, "invalid_name", "the name of the queue is not valid");
        return NULL;
    }
    QueueView *view = ARENA_NEW(&exchange->arena, QueueView);
    view->exchange = exchange;
    view->tenant = tenant;
    view->name = name;
    view->status = 200;
    view->put = (QueueDef){ .tenant = tenant, .name = name };
    exchange->state = view;
    return view;
}

static void read_then(Exchange *exchange, Step *then)
{
    exchange_read(exchange, read_queues, then);
}

void api_queues_list(Exchange *exchange)
{
    QueueView *view = view_of(exchange, (Slice){ NULL, 0 });
    if (view && api_list_page(exchange, &view->page))
        read_then(exchange, reply_all);
}

void api_queue_get(Exchange *exchange)
{
    if (view_of(exchange, exchange->parts[0]))
        read_then(exchange, reply_one);
}

/* --- Changing -------------------------------------------------------------------------
 */

static void shown(Exchange *exchange, Call *call)
{
    QueueView *view = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (!call->replayed && !view->put_switch) {
        api_created(exchange, "queues", view->name);
        view->status = 201;
    }
    read_then(exchange, reply_one);
}

/* def NULL: deleted. */
static void define(Exchange *exchange, const QueueDef *def, Step *then)
{
    const QueueView *view = exchange->state;
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    Buf packed = { 0 };
    if (def)
        queue_pack(&packed, def);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(QUEUE_TABLE);
    call->event.tenant = view->tenant;
    call->event.key = view->name;
    call->event.value = slice_copy(&call->arena, buf_slice(&packed));
    call->event.flag = view->put_switch;
    buf_done(&packed);
    exchange_send(exchange, call);
}

void api_queue_put(Exchange *exchange)
{
    QueueView *view = view_of(exchange, exchange->parts[0]);
    Problem why = { 0 };
    const JsonIn *object = view ? api_body(exchange, &exchange->arena, true) : NULL;
    if (!object)
        return;
    if (queue_read(object, &exchange->arena, &view->put, &why))
        exchange_problem(exchange, &why);
    else
        define(exchange, &view->put, shown);
}

static void deleted(Exchange *exchange, Call *call)
{
    const QueueView *view = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_text(&json, "tenant", view->tenant);
    json_text(&json, "name", view->name);
    json_bool(&json, "removed", true);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

void api_queue_delete(Exchange *exchange)
{
    if (view_of(exchange, exchange->parts[0]))
        define(exchange, NULL, deleted);
}

/* The queue is there: turn the switch. */
static void found_then_define(Exchange *exchange, Call *call)
{
    QueueView *view = exchange->state;
    drop_rows(view);
    if (call->err)
        exchange_failed(exchange, call);
    else
        define(exchange, &view->put, shown);
}

static Err read_pause(const JsonIn *object, QueueView *view, Problem *why)
{
    Error reason = { 0 };
    int64_t for_ms = 0;
    if (object->kind != JSON_IN_OBJECT)
        return problem_set(why, "wrong_type", "an action takes an object");
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        bool is_for = slice_is(at->key, "for");
        problem_point(why, at->key);
        if (at->kind == JSON_IN_NULL)
            continue;
        if (!is_for && !slice_is(at->key, "reason"))
            return problem_set(why, "unknown_field", "pause takes reason and for");
        if (is_for && (duration_read(at, &for_ms, &reason) || for_ms < 1))
            return problem_set(why, "invalid_value",
                               "for is a duration, as in PT1H or 1h");
        if (!is_for &&
            (at->kind != JSON_IN_TEXT || at->as.text.bytes > QUEUE_REASON_BYTES))
            return problem_set(why, "invalid_value", "reason is text of up to %d bytes",
                               QUEUE_REASON_BYTES);
        if (!is_for)
            view->put.pause_reason = at->as.text;
    }
    int64_t now_ms = clock_now().wall_ms;
    if (for_ms > TIME_WALL_MAX_MS - now_ms)
        return problem_set(why, "invalid_value", "for goes beyond the year 2999");
    view->put.paused_until_ms = for_ms ? now_ms + for_ms : 0;
    return ERR_OK;
}

void api_queue_pause(Exchange *exchange)
{
    QueueView *view = view_of(exchange, exchange->parts[0]);
    Problem why = { 0 };
    const JsonIn *object = view ? api_body(exchange, &exchange->arena, true) : NULL;
    if (!object)
        return;
    if (read_pause(object, view, &why)) {
        exchange_problem(exchange, &why);
        return;
    }
    view->put.paused = true;
    view->put_switch = true;
    define(exchange, &view->put, shown); /* it comes into being where it was not there */
}

void api_queue_resume(Exchange *exchange)
{
    QueueView *view = view_of(exchange, exchange->parts[0]);
    if (!view || !api_no_fields(exchange))
        return;
    view->put_switch = true;
    read_then(exchange, found_then_define);
}

/* --- Clearing: what waits is cancelled, by an operation -------------------------------
 */

static void reply_cleared(Exchange *exchange, const Operation *operation)
{
    char id[ID_TEXT_BYTES];
    bool goes_on = operation->id && operation->state == OPERATION_RUNNING;
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_text(&json, "tenant", operation->tenant);
    json_text(&json, "name", exchange->parts[0]);
    json_int(&json, "cleared", operation->acted);
    if (operation->id)
        json_cstr(&json, "operation", id_text(operation->id, id));
    else
        json_null(&json, "operation");
    json_object_end(&json);
    if (goes_on)
        api_operation_location(exchange, operation->id);
    exchange_reply_json(exchange, goes_on ? 202 : 200);
}

static void found_then_clear(Exchange *exchange, Call *call)
{
    QueueView *view = exchange->state;
    Operation operation = { .action = ACT_CANCEL,
                            .tenant = view->tenant,
                            .reason = SLICE_LITERAL("the queue was cleared") };
    Buf query = { 0 };
    for (int state = 0; !call->err && state < JOB_STATES; state++)
        if (state_in((JobState)state, STATES_WAITING))
            operation.count += (int64_t)view->rows[0].states[state];
    drop_rows(view);
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (!operation.count) {
        reply_cleared(exchange, &operation);
        return;
    }
    buf_printf(&query,
               "queue:\"" SLICE_FMT "\" state:ready,deferred,held,blocked,retrying,"
               "halted",
               SLICE_ARG(view->name));
    operation.query = slice_copy(&exchange->arena, buf_slice(&query));
    buf_done(&query);
    api_operation_run(exchange, &operation, reply_cleared);
}

void api_queue_clear(Exchange *exchange)
{
    if (view_of(exchange, exchange->parts[0]) && api_no_fields(exchange))
        read_then(exchange, found_then_clear);
}
