/* SPDX-License-Identifier: Apache-2.0 */
/* schedules.c - see schedules.h.
 *
 * The schedule and how far it has come are two definitions of one name. */
#include "api/definitions/schedules.h"

#include "api/definitions/definitions.h"
#include "base/text.h"
#include "model/job_json.h"
#include "model/schedule_json.h"

#define PREVIEW_DEFAULT 10
#define PREVIEW_MAX     10000

/* What a preview asks for: view->context. */
typedef struct Preview {
    int64_t count;
    int64_t from_ms;
} Preview;

static void take_state(void *context, const Definition *definition)
{
    DefinitionView *view = context;
    if (!slice_equal(definition->tenant, view->tenant))
        return;
    uint32_t number = names_find(&view->names, definition->key);
    if (number)
        (void)!schedule_state_unpack(definition->value, view->rows[number - 1].facts);
}

static void gather(Call *call, Store *store, DefinitionView *view)
{
    const DefinitionName name = { SLICE_LITERAL(SCHEDULE_STATES), view->tenant,
                                  view->name };
    call->err =
        view->name.data
            ? store->kind->definition(store, &name, take_state, view, &call->why)
            : store->kind->definitions(store, name.table, take_state, view, &call->why);
}

static void write_facts(JsonOut *json, DefinitionView *view, DefinitionRow *row)
{
    (void)view;
    schedule_facts(json, row->object, row->facts);
}

static Err read_schedule(NounIn *in, const JsonIn *object)
{
    const DefinitionView *view = in->context;
    const Exchange *exchange = view->exchange;
    JobRules rules = { .tenant = view->tenant,
                       .tenant_fixed = exchange->caller.bound,
                       .wall_ms = clock_now().wall_ms,
                       .payload_bytes_max =
                           daemon_facts(exchange->daemon)->payload_bytes_max };
    return schedule_read(in, object, &rules);
}

static const DefinitionKind schedule_kind = { .noun = &schedule_noun,
                                              .facts_bytes = sizeof(ScheduleState),
                                              .read = read_schedule,
                                              .gather = gather,
                                              .facts = write_facts };

void api_schedules_list(Exchange *exchange)
{
    definitions_list(exchange, &schedule_kind);
}

void api_schedule_get(Exchange *exchange)
{
    definition_get(exchange, &schedule_kind);
}

void api_schedule_put(Exchange *exchange)
{
    definition_put(exchange, &schedule_kind);
}

void api_schedule_patch(Exchange *exchange)
{
    definition_patch(exchange, &schedule_kind);
}

void api_schedule_delete(Exchange *exchange)
{
    definition_delete(exchange, &schedule_kind);
}

/* --- Preview -------------------------------------------------------------------------
 */

static void reply_preview(Exchange *exchange, Call *call)
{
    const DefinitionView *view = exchange->state;
    const Preview *preview = view->context;
    const Schedule *schedule = view->put;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    int64_t from_ms = preview->from_ms ? preview->from_ms : clock_now().wall_ms;
    json_object(&json, NULL);
    json_text(&json, "name", view->name);
    json_text(&json, "cron", schedule->cron);
    json_text(&json, "tz", schedule->tz);
    json_array(&json, "items");
    schedule_preview(&json, schedule, from_ms, (size_t)preview->count);
    json_array_end(&json);
    json_null(&json, "next_cursor");
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

void api_schedule_preview(Exchange *exchange)
{
    DefinitionView *view = definition_view(exchange, &schedule_kind, exchange->parts[0]);
    if (!view)
        return;
    Preview *preview = ARENA_NEW(&exchange->arena, Preview);
    view->context = preview;
    preview->count = PREVIEW_DEFAULT;
    Slice from = exchange_param(exchange, "from");
    Slice count = exchange_param(exchange, "count");
    if (from.data && time_parse(from, &preview->from_ms)) {
        exchange_refuse(exchange, "invalid_value", "from is a time such as %s",
                        "2026-03-29T00:00:00Z");
        return;
    }
    if (count.data && (int_parse(count, &preview->count) || preview->count < 1 ||
                       preview->count > PREVIEW_MAX)) {
        exchange_refuse(exchange, "invalid_value", "count is a number from 1 to %d",
                        PREVIEW_MAX);
        return;
    }
    definition_find(exchange, reply_preview);
}

/* --- Switches ------------------------------------------------------------------------
 */

static void turn_switch(Exchange *exchange, bool paused)
{
    /* Only `paused` counts; cron makes it something: no bytes would delete. */
    const Schedule schedule = { .cron = SLICE_LITERAL("-"), .paused = paused };
    DefinitionView *view = definition_view(exchange, &schedule_kind, exchange->parts[0]);
    if (!view || !api_no_fields(exchange))
        return;
    view->only_switch = true;
    definition_define(exchange, &schedule, definition_changed);
}

void api_schedule_pause(Exchange *exchange)
{
    turn_switch(exchange, true);
}

void api_schedule_resume(Exchange *exchange)
{
    turn_switch(exchange, false);
}

static void triggered(Exchange *exchange, Call *call)
{
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    char id[ID_TEXT_BYTES];
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_cstr(&json, "id", id_text(call->job.id, id));
    job_json(&json, "job", &call->job);
    json_object_end(&json);
    exchange_reply_json(exchange, 201);
}

void api_schedule_trigger(Exchange *exchange)
{
    const DefinitionView *view =
        definition_view(exchange, &schedule_kind, exchange->parts[0]);
    if (!view || !api_no_fields(exchange))
        return;
    Call *call = exchange_call(exchange, CALL_EVENT, triggered);
    call->event.kind = EVENT_TRIGGER;
    call->event.tenant = view->tenant;
    call->event.key = view->name;
    exchange_send(exchange, call);
}
