/* SPDX-License-Identifier: Apache-2.0 */
/* queues.c - see queues.h.
 *
 * A queue is there once it was defined or used. Counts come from the store's own sums,
 * the wait of the head from the head itself: nothing scans. */
#include "api/definitions/queues.h"

#include "api/definitions/definitions.h"
#include "api/jobs/operations.h"
#include "core/queue.h"

typedef struct QueueFacts {
    uint64_t states[JOB_STATES];
    int64_t head_ms; /* dt of the longest-waiting head; 0: nothing waits */
} QueueFacts;

/* --- Facts ---------------------------------------------------------------------------
 */

static QueueFacts *facts_of(DefinitionView *view, Slice tenant, Slice name)
{
    DefinitionRow *row =
        definition_concerns(view, tenant, name) ? definition_row(view, name) : NULL;
    return row ? row->facts : NULL;
}

static void take_count(void *context, const LaneCount *count)
{
    QueueFacts *facts = facts_of(context, count->tenant, count->queue);
    if (facts)
        facts->states[count->state] += count->count;
}

static void note_heads(DefinitionView *view, const Loaded *heads)
{
    for (size_t i = 0; i < heads->count; i++) {
        const Job *job = &heads->jobs[i];
        QueueFacts *facts = facts_of(view, job->tenant, job->queue);
        if (facts && (!facts->head_ms || job->dt_ms < facts->head_ms))
            facts->head_ms = job->dt_ms;
    }
}

/* One queue asks for its own head; only one whose types wait apart needs all lanes. */
static void read_heads(Call *call, Store *store, DefinitionView *view)
{
    bool found = false;
    for (int pull = 0; pull < 2 && view->name.data && !call->err; pull++) {
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
    const QueueFacts *first = view->count ? view->rows[0].facts : NULL;
    bool waits = !view->name.data || (first && first->states[JOB_READY] && !found);
    if (call->err || !waits)
        return;
    Loaded heads = { 0 };
    Load load = { .kind = LOAD_LANES };
    call->err = store->kind->load(store, &load, &heads, &call->why);
    if (!call->err)
        note_heads(view, &heads);
    loaded_done(&heads);
}

/* A pause that has passed is not shown any more. */
static void end_pauses(DefinitionView *view, int64_t wall_ms)
{
    for (size_t i = 0; i < view->count; i++) {
        QueueDef *def = view->rows[i].object;
        if (queue_paused(def, wall_ms))
            continue;
        def->paused = false;
        def->paused_until_ms = 0;
        def->pause_reason = (Slice){ NULL, 0 };
    }
}

static void gather(Call *call, Store *store, DefinitionView *view)
{
    call->err = store->kind->counts(store, take_count, view, &call->why);
    if (!call->err)
        read_heads(call, store, view);
    end_pauses(view, clock_now().wall_ms);
}

static void write_facts(JsonOut *json, DefinitionView *view, DefinitionRow *row)
{
    const QueueFacts *facts = row->facts;
    int64_t now_ms = clock_now().wall_ms;
    (void)view;
    json_bool(json, "defined", row->defined);
    states_json(json, "jobs", facts->states, false);
    json_int(json, "running",
             (int64_t)(facts->states[JOB_RUNNING] + facts->states[JOB_PAUSED]));
    if (facts->head_ms)
        json_int(json, "head_wait_ms",
                 now_ms > facts->head_ms ? now_ms - facts->head_ms : 0);
    else
        json_null(json, "head_wait_ms");
}

static const DefinitionKind queue_kind = { .noun = &queue_noun,
                                           .facts_bytes = sizeof(QueueFacts),
                                           .gather = gather,
                                           .adds = true,
                                           .facts = write_facts,
                                           .empty = true };

void api_queues_list(Exchange *exchange)
{
    definitions_list(exchange, &queue_kind);
}

void api_queue_get(Exchange *exchange)
{
    definition_get(exchange, &queue_kind);
}

void api_queue_put(Exchange *exchange)
{
    definition_put(exchange, &queue_kind);
}

void api_queue_patch(Exchange *exchange)
{
    definition_patch(exchange, &queue_kind);
}

void api_queue_delete(Exchange *exchange)
{
    definition_delete(exchange, &queue_kind);
}

/* --- Pausing -------------------------------------------------------------------------
 */

/* The queue is there: turn the switch. */
static void found_then_define(Exchange *exchange, Call *call)
{
    const DefinitionView *view = exchange->state;
    if (call->err)
        exchange_failed(exchange, call);
    else
        definition_define(exchange, view->put, definition_changed);
}

static Err read_pause(const JsonIn *object, QueueDef *put, Problem *why)
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
            put->pause_reason = at->as.text;
    }
    int64_t now_ms = clock_now().wall_ms;
    if (for_ms > TIME_WALL_MAX_MS - now_ms)
        return problem_set(why, "invalid_value", "for goes beyond the year 2999");
    put->paused_until_ms = for_ms ? now_ms + for_ms : 0;
    return ERR_OK;
}

/* NULL after it refused. */
static DefinitionView *switch_view(Exchange *exchange)
{
    DefinitionView *view = definition_view(exchange, &queue_kind, exchange->parts[0]);
    if (!view)
        return NULL;
    QueueDef *put = ARENA_NEW(&exchange->arena, QueueDef);
    *put = (QueueDef){ .tenant = view->tenant, .name = view->name };
    view->put = put;
    view->only_switch = true;
    return view;
}

void api_queue_pause(Exchange *exchange)
{
    DefinitionView *view = switch_view(exchange);
    Problem why = { 0 };
    const JsonIn *object = view ? api_body(exchange, &exchange->arena, true) : NULL;
    if (!object)
        return;
    QueueDef *put = view->put;
    put->paused = true;
    if (read_pause(object, put, &why))
        exchange_problem(exchange, &why);
    else /* it comes into being where it was not there */
        definition_define(exchange, put, definition_changed);
}

void api_queue_resume(Exchange *exchange)
{
    if (switch_view(exchange) && api_no_fields(exchange))
        definition_find(exchange, found_then_define);
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
    const DefinitionView *view = exchange->state;
    const QueueFacts *facts = view->found;
    Operation operation = { .action = ACT_CANCEL,
                            .tenant = view->tenant,
                            .reason = SLICE_LITERAL("the queue was cleared") };
    Buf query = { 0 };
    for (int state = 0; !call->err && state < JOB_STATES; state++)
        if (state_in((JobState)state, STATES_WAITING))
            operation.count += (int64_t)facts->states[state];
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
    if (definition_view(exchange, &queue_kind, exchange->parts[0]) &&
        api_no_fields(exchange))
        definition_find(exchange, found_then_clear);
}
