/* SPDX-License-Identifier: Apache-2.0 */
/* schedules.c - see schedules.h.
 *
 * Changes are one event each; what is shown is read from the store, where the schedule
 * and how far it has come are two definitions of one name. */
#include "api/definitions/schedules.h"

#include "api/common.h"
#include "base/text.h"
#include "model/schedule_json.h"

#include <stdio.h>

#define LIST_DEFAULT    50
#define LIST_MAX        1000
#define PREVIEW_DEFAULT 10
#define PREVIEW_MAX     10000

/* What a request is about. */
typedef struct Subject {
    Slice tenant;
    Slice name; /* of one; data NULL: a list */
    Slice cursor;
    int64_t count; /* items of a list or a preview */
    int64_t from_ms;
    unsigned status;
    Arena *arena;
    ScheduleView *views; /* in order of their names */
    size_t view_count;
    size_t view_capacity;
    bool more;
} Subject;

/* NULL after it refused. */
static Subject *subject_of(Exchange *exchange, Slice name)
{
    Slice tenant = api_tenant(exchange, "default");
    if (!tenant.data)
        return NULL;
    if (name.data && !name_valid(name)) {
        exchange_refuse(exchange, "invalid_name", "this is no valid name of a schedule");
        return NULL;
    }
    Subject *subject = ARENA_NEW(&exchange->arena, Subject);
    subject->tenant = tenant;
    subject->name = name;
    subject->status = 200;
    subject->arena = &exchange->arena;
    exchange->state = subject;
    return subject;
}

/* False after it refused. */
static bool read_count(Exchange *exchange, const char *name, int64_t most, int64_t *out)
{
    Slice text = exchange_param(exchange, name);
    if (!text.data || (!int_parse(text, out) && *out >= 1 && *out <= most))
        return true;
    exchange_refuse(exchange, "invalid_value", "%s is a number from 1 to %lld", name,
                    (long long)most);
    return false;
}

/* --- Reading --------------------------------------------------------------------------
 */

static bool behind(Slice key, Slice cursor)
{
    size_t least = key.bytes < cursor.bytes ? key.bytes : cursor.bytes;
    int order = least ? memcmp(key.data, cursor.data, least) : 0;
    return order > 0 || (!order && key.bytes > cursor.bytes);
}

static void take_schedule(void *context, const Definition *definition)
{
    Subject *subject = context;
    ScheduleView view = { .tenant = subject->tenant };
    bool wanted = subject->name.data ? slice_equal(definition->key, subject->name)
                                     : behind(definition->key, subject->cursor);
    if (!wanted || !slice_equal(definition->tenant, subject->tenant) || subject->more ||
        schedule_unpack(definition->value, &view.schedule))
        return;
    if (!subject->name.data && (int64_t)subject->view_count == subject->count) {
        subject->more = true;
        return;
    }
    view.name = slice_copy(subject->arena, definition->key);
    view.schedule = schedule_copy(subject->arena, &view.schedule);
    MEM_PUSH(subject->views, subject->view_count, subject->view_capacity) = view;
}

static void take_state(void *context, const Definition *definition)
{
    const Subject *subject = context;
    if (!slice_equal(definition->tenant, subject->tenant))
        return;
    for (size_t i = 0; i < subject->view_count; i++)
        if (slice_equal(subject->views[i].name, definition->key))
            (void)!schedule_state_unpack(definition->value, &subject->views[i].state);
}

/* One of them is looked for by its name: there may be very many. */
static void read_table(Call *call, Store *store, const char *table, DefinitionSink *sink)
{
    const Exchange *exchange = call->context;
    Subject *subject = exchange->state;
    const DefinitionName name = { slice_text(table), subject->tenant, subject->name };
    call->err =
        subject->name.data
            ? store->kind->definition(store, &name, sink, subject, &call->why)
            : store->kind->definitions(store, name.table, sink, subject, &call->why);
}

static void read_views(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    const Subject *subject = exchange->state;
    read_table(call, store, SCHEDULE_TABLE, take_schedule);
    if (!call->err)
        read_table(call, store, SCHEDULE_STATES, take_state);
    if (!call->err && subject->name.data && !subject->view_count) {
        call->err = ERR_NOT_FOUND;
        call->problem = "schedule_not_found";
    }
}

static void write_view(const Exchange *exchange, JsonOut *json, ScheduleView *view)
{
    view->declared = daemon_declared(exchange->daemon, SLICE_LITERAL(SCHEDULE_TABLE),
                                     view->tenant, view->name);
    schedule_json(json, view);
}

static void reply_one(Exchange *exchange, Call *call)
{
    Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
    } else {
        JsonOut json = exchange_json(exchange);
        write_view(exchange, &json, &subject->views[0]);
        exchange_reply_json(exchange, subject->status);
    }
    mem_free(subject->views);
    subject->views = NULL;
}

static void reply_list(Exchange *exchange, Call *call)
{
    Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
    } else {
        JsonOut json = exchange_json(exchange);
        json_object(&json, NULL);
        json_array(&json, "items");
        for (size_t i = 0; i < subject->view_count; i++)
            write_view(exchange, &json, &subject->views[i]);
        json_array_end(&json);
        text_or_null(&json, "next_cursor",
                     subject->more ? subject->views[subject->view_count - 1].name
                                   : (Slice){ NULL, 0 });
        json_object_end(&json);
        exchange_reply_json(exchange, 200);
    }
    mem_free(subject->views);
    subject->views = NULL;
}

static void reply_preview(Exchange *exchange, Call *call)
{
    Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
    } else {
        const ScheduleView *view = &subject->views[0];
        JsonOut json = exchange_json(exchange);
        int64_t from_ms = subject->from_ms ? subject->from_ms : clock_now().wall_ms;
        json_object(&json, NULL);
        json_text(&json, "name", view->name);
        json_text(&json, "cron", view->schedule.cron);
        json_text(&json, "tz", view->schedule.tz);
        json_array(&json, "items");
        schedule_preview(&json, &view->schedule, from_ms, (size_t)subject->count);
        json_array_end(&json);
        json_null(&json, "next_cursor");
        json_object_end(&json);
        exchange_reply_json(exchange, 200);
    }
    mem_free(subject->views);
    subject->views = NULL;
}

static void read_then(Exchange *exchange, Step *then)
{
    exchange_read(exchange, read_views, then);
}

void api_schedule_get(Exchange *exchange)
{
    if (subject_of(exchange, exchange->parts[0]))
        read_then(exchange, reply_one);
}

void api_schedules_list(Exchange *exchange)
{
    Subject *subject = subject_of(exchange, (Slice){ NULL, 0 });
    if (!subject)
        return;
    subject->count = LIST_DEFAULT;
    subject->cursor = exchange_param(exchange, "cursor");
    if (read_count(exchange, "limit", LIST_MAX, &subject->count))
        read_then(exchange, reply_list);
}

void api_schedule_preview(Exchange *exchange)
{
    Subject *subject = subject_of(exchange, exchange->parts[0]);
    if (!subject)
        return;
    subject->count = PREVIEW_DEFAULT;
    Slice from = exchange_param(exchange, "from");
    if (from.data && time_parse(from, &subject->from_ms)) {
        exchange_refuse(exchange, "invalid_value", "from is a time such as %s",
                        "2026-03-29T00:00:00Z");
        return;
    }
    if (read_count(exchange, "count", PREVIEW_MAX, &subject->count))
        read_then(exchange, reply_preview);
}

/* --- Changing -------------------------------------------------------------------------
 */

static void defined(Exchange *exchange, Call *call)
{
    Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (!call->replayed) {
        api_created(exchange, "schedules", subject->name);
        subject->status = 201;
    }
    read_then(exchange, reply_one);
}

/* schedule NULL: it is deleted. */
static void define(Exchange *exchange, const Schedule *schedule, bool only_switch,
                   Step *then)
{
    const Subject *subject = exchange->state;
    if (!only_switch && daemon_declared(exchange->daemon, SLICE_LITERAL(SCHEDULE_TABLE),
                                        subject->tenant, subject->name)) {
        exchange_refuse(exchange, "declared",
                        "the schedule stands in the configuration file");
        return;
    }
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    Buf packed = { 0 };
    if (schedule)
        schedule_pack(&packed, schedule);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(SCHEDULE_TABLE);
    call->event.tenant = subject->tenant;
    call->event.key = subject->name;
    call->event.value = slice_copy(&call->arena, buf_slice(&packed));
    call->event.flag = only_switch;
    buf_done(&packed);
    exchange_send(exchange, call);
}

void api_schedule_put(Exchange *exchange)
{
    const Subject *subject = subject_of(exchange, exchange->parts[0]);
    if (!subject)
        return;
    const JsonIn *object = api_body(exchange, &exchange->arena, false);
    if (!object)
        return;
    JobRules rules = { .tenant = subject->tenant,
                       .tenant_fixed = exchange->caller.bound,
                       .wall_ms = clock_now().wall_ms,
                       .payload_bytes_max =
                           daemon_facts(exchange->daemon)->payload_bytes_max };
    ScheduleReader *reader = ARENA_NEW(&exchange->arena, ScheduleReader);
    reader->name = subject->name;
    reader->job.rules = &rules;
    reader->job.arena = &exchange->arena;
    if (schedule_read(reader, object))
        exchange_problem(exchange, &reader->job.why);
    else
        define(exchange, &reader->schedule, false, defined);
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
    json_text(&json, "tenant", subject->tenant);
    json_text(&json, "name", subject->name);
    json_bool(&json, "removed", true);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

void api_schedule_delete(Exchange *exchange)
{
    if (subject_of(exchange, exchange->parts[0]))
        define(exchange, NULL, false, deleted);
}

/* False after it refused: actions take no body, or {}. */
static bool no_body(Exchange *exchange)
{
    const JsonIn *object = api_body(exchange, &exchange->arena, true);
    if (!object)
        return false;
    if (object->kind == JSON_IN_OBJECT && !json_in_first(object))
        return true;
    exchange_refuse(exchange, "unknown_field", "this action takes no fields");
    return false;
}

static void switched(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        read_then(exchange, reply_one);
}

static void turn_switch(Exchange *exchange, bool paused)
{
    /* Only `paused` counts; cron makes it something: no bytes would delete. */
    const Schedule schedule = { .cron = SLICE_LITERAL("-"), .paused = paused };
    if (subject_of(exchange, exchange->parts[0]) && no_body(exchange))
        define(exchange, &schedule, true, switched);
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
    const Subject *subject = subject_of(exchange, exchange->parts[0]);
    if (!subject || !no_body(exchange))
        return;
    Call *call = exchange_call(exchange, CALL_EVENT, triggered);
    call->event.kind = EVENT_TRIGGER;
    call->event.tenant = subject->tenant;
    call->event.key = subject->name;
    exchange_send(exchange, call);
}
