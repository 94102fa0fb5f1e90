/* SPDX-License-Identifier: Apache-2.0 */
/* api_operations.c - see api_operations.h.
 *
 * The jobs that match are counted first, page by page, so that the answer can tell how
 * many there are; the operation itself then runs in the background. */
#include "serve/api_operations.h"

#include "base/text.h"
#include "core/operation.h"
#include "serve/api_common.h"

#include <stdio.h>

#define COUNT_MAX 100000 /* counted before it begins; more are not */

typedef struct Asking {
    const Exchange *exchange;
    Operation operation;
    JobQuery query;
    int64_t counted;
    bool counts_more;
    JobId sought; /* GET, DELETE */
    bool found;
    JsonOut json;
    JobId shown; /* so that newer ones come first */
} Asking;

typedef struct ActionWord {
    const char *word;
    Action action;
} ActionWord;

static const ActionWord words[] = {
    { "cancel", ACT_CANCEL },   { "kill", ACT_KILL },   { "hold", ACT_HOLD },
    { "release", ACT_RELEASE }, { "pause", ACT_PAUSE }, { "resume", ACT_RESUME },
    { "halt", ACT_HALT },       { "retry", ACT_RETRY }, { "rm", ACT_REMOVE },
    { "set", ACT_PATCH },
};
#define WORDS (sizeof words / sizeof *words)

static const char *word_of(Action action)
{
    for (size_t i = 0; i < WORDS; i++)
        if (words[i].action == action)
            return words[i].word;
    return "?";
}

/* --- Showing --------------------------------------------------------------------------
 */

static void write_operation(JsonOut *json, const Operation *operation)
{
    char id[ID_TEXT_BYTES];
    json_object(json, NULL);
    json_cstr(json, "id", id_text(operation->id, id));
    json_cstr(json, "action", word_of(operation->action));
    json_text(json, "q", operation->query);
    json_text(json, "tenant", operation->tenant);
    json_cstr(json, "state", operation_state_name(operation->state));
    json_bool(json, "dry_run", operation->dry_run);
    json_int(json, "count", operation->count);
    json_bool(json, "count_more", operation->count >= COUNT_MAX);
    json_int(json, "acted", operation->acted);
    json_int(json, "refused", operation->refused);
    int64_t seen = operation->acted + operation->refused;
    bool over = operation->state != OPERATION_RUNNING;
    json_int(json, "progress",
             over                       ? 100
             : seen >= operation->count ? 99
                                        : seen * 100 / operation->count);
    json_time(json, "created_at", operation->created_ms);
    json_time(json, "finished_at", operation->finished_ms);
    json_object_end(json);
}

static void take_operation(void *context, const Definition *definition)
{
    Asking *asking = context;
    Operation operation;
    if (operation_unpack(definition->value, &operation))
        return;
    if (!api_sees(asking->exchange, operation.tenant) ||
        (asking->sought && operation.id != asking->sought))
        return;
    asking->found = true;
    write_operation(&asking->json, &operation);
}

static void read_operations(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Asking *asking = exchange->state;
    asking->json = exchange_json(exchange);
    if (!asking->sought) {
        json_object(&asking->json, NULL);
        json_array(&asking->json, "items");
    }
    call->err = store->kind->definitions(store, SLICE_LITERAL(OPERATION_TABLE),
                                         take_operation, asking, &call->why);
    if (!asking->sought) {
        json_array_end(&asking->json);
        json_null(&asking->json, "next_cursor");
        json_object_end(&asking->json);
    } else if (!call->err && !asking->found) {
        call->err = ERR_NOT_FOUND;
        call->problem = "operation_not_found";
    }
}

static void shown(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, 200);
}

static void accepted(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, 202);
}

static void show(Exchange *exchange, Step *then)
{
    Call *call = exchange_call(exchange, CALL_READ, then);
    call->read = read_operations;
    exchange_send(exchange, call);
}

/* NULL after it refused. */
static Asking *asking_of(Exchange *exchange)
{
    Asking *asking = ARENA_NEW(&exchange->arena, Asking);
    asking->exchange = exchange;
    exchange->state = asking;
    return api_whose(exchange) ? asking : NULL;
}

void api_operations_list(Exchange *exchange)
{
    if (asking_of(exchange))
        show(exchange, shown);
}

/* False after it refused. */
static bool read_id(Exchange *exchange)
{
    Asking *asking = asking_of(exchange);
    if (!asking)
        return false;
    if (!id_parse(exchange->parts[0], &asking->sought) && asking->sought)
        return true;
    exchange_refuse(exchange, "operation_not_found", "this is no id of an operation");
    return false;
}

void api_operation_get(Exchange *exchange)
{
    if (read_id(exchange))
        show(exchange, shown);
}

static void stopped(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        show(exchange, shown);
}

void api_operation_stop(Exchange *exchange)
{
    if (!read_id(exchange))
        return;
    Call *call = exchange_call(exchange, CALL_EVENT, stopped);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(OPERATION_TABLE);
    call->event.key = exchange->parts[0];
    call->event.tenant = exchange->whose;
    exchange_send(exchange, call);
}

/* --- Beginning ------------------------------------------------------------------------
 */

static void begun(Exchange *exchange, Call *call)
{
    Asking *asking = exchange->state;
    char id[ID_TEXT_BYTES];
    char location[64];
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    asking->sought = id_from_count(call->first, call->node);
    snprintf(location, sizeof location, API_PATH "/operations/%s",
             id_text(asking->sought, id));
    exchange_add_header(exchange, "Location", location);
    show(exchange, accepted);
}

static void begin(Exchange *exchange)
{
    Asking *asking = exchange->state;
    Buf value = { 0 };
    Call *call = exchange_call(exchange, CALL_EVENT, begun);
    asking->operation.count = asking->counted;
    operation_pack(&value, &asking->operation);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(OPERATION_TABLE);
    call->event.value = slice_copy(&call->arena, buf_slice(&value));
    buf_done(&value);
    exchange_send(exchange, call);
}

static void count_job(void *context, const Job *job)
{
    (void)job;
    ((Asking *)context)->counted++;
}

static void read_page(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    Asking *asking = exchange->state;
    QueryEnd end = { 0 };
    JobSink sink = { count_job, asking };
    call->err = store->kind->query(store, &asking->query, &sink, &end, &call->why);
    asking->query.before = end.cursor;
    asking->counts_more = end.cursor != 0 && asking->counted < COUNT_MAX;
}

static void count_on(Exchange *exchange, Call *call);

static void count_page(Exchange *exchange)
{
    Call *call = exchange_call(exchange, CALL_READ, count_on);
    call->read = read_page;
    exchange_send(exchange, call);
}

static void count_on(Exchange *exchange, Call *call)
{
    const Asking *asking = exchange->state;
    if (call->err)
        exchange_failed(exchange, call);
    else if (asking->counts_more)
        count_page(exchange);
    else
        begin(exchange);
}

/* Checks the query and begins to count. */
static void start(Exchange *exchange, Asking *asking)
{
    Error why = { 0 };
    asking->query.tenant = asking->operation.tenant;
    asking->query.limit = QUERY_LIMIT_MAX;
    asking->query.wall_ms = clock_now().wall_ms;
    if (query_parse(asking->operation.query, &exchange->arena, &asking->query, &why)) {
        exchange_refuse(exchange, "invalid_query", "%s", why.text);
        return;
    }
    count_page(exchange);
}

static bool read_action(const JsonIn *field, Operation *out)
{
    for (size_t i = 0; field->kind == JSON_IN_TEXT && i < WORDS; i++) {
        if (!slice_is(field->as.text, words[i].word))
            continue;
        out->action = words[i].action;
        return true;
    }
    return false;
}

static const char *read_text(const JsonIn *field, Slice *out)
{
    *out = field->kind == JSON_IN_TEXT ? field->as.text : *out;
    return field->kind == JSON_IN_TEXT ? NULL : "must be a text";
}

/* One field; what is wrong with it, or NULL. */
static const char *read_field(const JsonIn *field, Operation *out)
{
    if (slice_is(field->key, "action"))
        return read_action(field, out)
                   ? NULL
                   : "is cancel, kill, hold, release, pause, resume, halt, retry, rm or "
                     "set";
    if (slice_is(field->key, "q"))
        return read_text(field, &out->query);
    if (slice_is(field->key, "reason"))
        return read_text(field, &out->reason);
    if (slice_is(field->key, "dry_run")) {
        out->dry_run = field->kind == JSON_IN_BOOL && field->as.truth;
        return field->kind == JSON_IN_BOOL ? NULL : "must be true or false";
    }
    if (slice_is(field->key, "priority")) {
        out->fields |= FIELD_PRIORITY;
        out->priority = field->kind == JSON_IN_INT ? field->as.integer : 0;
        return field->kind == JSON_IN_INT && out->priority >= PRIORITY_MIN &&
                       out->priority <= PRIORITY_MAX
                   ? NULL
                   : "must be a whole number within the range of priorities";
    }
    if (slice_is(field->key, "queue")) {
        out->fields |= FIELD_QUEUE;
        const char *wrong = read_text(field, &out->queue);
        return wrong ? wrong : queue_name_valid(out->queue) ? NULL : "is no valid name";
    }
    return "is not known here: action, q, dry_run, reason, and for set priority, queue";
}

static bool makes_sense(Exchange *exchange, const Operation *operation, bool has_action)
{
    bool sets = operation->action == ACT_PATCH;
    if (!has_action || !operation->query.bytes)
        exchange_refuse(exchange, "missing_field", "an operation needs an action and q");
    else if (sets && !operation->fields)
        exchange_refuse(exchange, "missing_field", "set needs a priority or a queue");
    else if (!sets && operation->fields)
        exchange_refuse(exchange, "conflicting_fields",
                        "priority and queue are for the action set");
    else
        return true;
    return false;
}

/* An operation acts for one tenant. NULL after it refused. */
static Asking *asking_one(Exchange *exchange)
{
    Slice tenant = api_tenant(exchange, "default");
    Asking *asking = tenant.data ? asking_of(exchange) : NULL;
    if (asking)
        asking->operation.tenant = tenant;
    return asking;
}

void api_operations_add(Exchange *exchange)
{
    Asking *asking = asking_one(exchange);
    bool has_action = false;
    const JsonIn *body = asking ? api_body(exchange, &exchange->arena, false) : NULL;
    if (!body)
        return;
    Operation *operation = &asking->operation;
    if (body->kind != JSON_IN_OBJECT) {
        exchange_refuse(exchange, "wrong_type", "an operation must be an object");
        return;
    }
    for (const JsonIn *field = json_in_first(body); field; field = field->next) {
        const char *wrong = read_field(field, operation);
        has_action = has_action || slice_is(field->key, "action");
        if (wrong) {
            exchange_refuse(exchange, "invalid_value", SLICE_FMT " %s",
                            SLICE_ARG(field->key), wrong);
            return;
        }
    }
    if (makes_sense(exchange, operation, has_action))
        start(exchange, asking);
}

static void act_on_group(Exchange *exchange, Action action, const char *states)
{
    Asking *asking = asking_one(exchange);
    Buf query = { 0 };
    if (!asking)
        return;
    if (!name_valid(exchange->parts[0])) {
        exchange_refuse(exchange, "invalid_name", "the name of the group is not valid");
        return;
    }
    asking->operation.action = action;
    buf_printf(&query, "group:" SLICE_FMT " state:%s", SLICE_ARG(exchange->parts[0]),
               states);
    asking->operation.query = slice_copy(&exchange->arena, buf_slice(&query));
    buf_done(&query);
    start(exchange, asking);
}

void api_group_cancel(Exchange *exchange)
{
    act_on_group(exchange, ACT_CANCEL,
                 "deferred,blocked,ready,held,running,paused,halted,retrying");
}

void api_group_retry(Exchange *exchange)
{
    act_on_group(exchange, ACT_RETRY, "failed,rejected");
}
