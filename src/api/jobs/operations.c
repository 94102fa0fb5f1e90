/* SPDX-License-Identifier: Apache-2.0 */
/* operations.c - see operations.h.
 *
 * The jobs that match are counted first, page by page, so that the answer can tell how
 * many there are; the operation itself then runs in the background. */
#include "api/jobs/operations.h"

#include "api/common.h"
#include "base/text.h"

#include <stdio.h>

#define COUNT_MAX    100000         /* counted before it begins; more are not */
#define RUN_WAIT_MS  (5 * MS_PER_S) /* a request waits so long for the end */
#define RUN_SLICE_MS 250            /* and looks so often */

typedef struct Asking {
    const Exchange *exchange;
    Operation operation;
    JobQuery query;
    bool counts_more;
    JobId sought; /* GET, DELETE */
    bool lists;   /* all of them */
    bool found;
    JsonOut json;
    ListPage page; /* of a list, with what is collected for it */
    Arena *arena;
    Operation *all;
    size_t all_count;
    size_t all_capacity;
    OperationStep *then; /* of api_operation_run */
    int64_t until_boot;  /* no longer than that */
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
    if (operation_unpack(definition->value, &operation) ||
        !api_sees(asking->exchange, operation.tenant))
        return;
    if (!asking->lists) {
        asking->found = asking->found || operation.id == asking->sought;
        if (operation.id == asking->sought)
            write_operation(&asking->json, &operation);
        return;
    }
    JobId behind = 0;
    if (asking->page.cursor.data && !id_parse(asking->page.cursor, &behind) &&
        operation.id >= behind)
        return;
    operation.query = slice_copy(asking->arena, operation.query);
    operation.tenant = slice_copy(asking->arena, operation.tenant);
    MEM_PUSH(asking->all, asking->all_count, asking->all_capacity) = operation;
}

/* Newest first; they come in order of their ids. */
static void write_list(Asking *asking)
{
    JsonOut *json = &asking->json;
    size_t left = asking->page.limit;
    size_t at = asking->all_count;
    char id[ID_TEXT_BYTES];
    json_object(json, NULL);
    json_array(json, "items");
    for (; at > 0 && left > 0; at--, left--)
        write_operation(json, &asking->all[at - 1]);
    json_array_end(json);
    if (at)
        json_cstr(json, "next_cursor", id_text(asking->all[at].id, id));
    else
        json_null(json, "next_cursor");
    json_object_end(json);
    mem_free(asking->all);
    asking->all = NULL;
}

static void read_operations(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Asking *asking = exchange->state;
    asking->json = exchange_json(exchange);
    asking->arena = &call->arena;
    call->err = store->kind->definitions(store, SLICE_LITERAL(OPERATION_TABLE),
                                         take_operation, asking, &call->why);
    if (asking->lists) {
        write_list(asking);
    } else if (!call->err && !asking->found) {
        call->err = ERR_NOT_FOUND;
        call->problem = "operation_not_found";
    }
}

/* What is stored of the one that the request began. */
static void take_running(void *context, const Definition *definition)
{
    Asking *asking = context;
    Operation operation;
    if (operation_unpack(definition->value, &operation) || operation.id != asking->sought)
        return;
    asking->operation.state = operation.state;
    asking->operation.id = operation.id;
    asking->operation.acted = operation.acted;
    asking->operation.refused = operation.refused;
}

static void read_running(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    call->err = store->kind->definitions(store, SLICE_LITERAL(OPERATION_TABLE),
                                         take_running, exchange->state, &call->why);
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
    exchange_read(exchange, read_operations, then);
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
    Asking *asking = asking_of(exchange);
    if (!asking || !api_list_page(exchange, &asking->page))
        return;
    asking->lists = true;
    show(exchange, shown);
}

/* False after it refused. */
static bool read_id(Exchange *exchange)
{
    Asking *asking = asking_of(exchange);
    if (!asking)
        return false;
    if (!id_parse(exchange->parts[0], &asking->sought))
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

void api_operation_location(Exchange *exchange, JobId id)
{
    char text[ID_TEXT_BYTES];
    api_created(exchange, "operations", slice_text(id_text(id, text)));
}

static void begun(Exchange *exchange, Call *call)
{
    Asking *asking = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    asking->sought = id_from_count(call->first, call->node);
    api_operation_location(exchange, asking->sought);
    show(exchange, accepted);
}

static void begin(Exchange *exchange, Step *then)
{
    const Asking *asking = exchange->state;
    Buf value = { 0 };
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    operation_pack(&value, &asking->operation);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(OPERATION_TABLE);
    call->event.value = slice_copy(&call->arena, buf_slice(&value));
    buf_done(&value);
    exchange_send(exchange, call);
}

/* --- Beginning, and waiting for the end -----------------------------------------------
 */

static void looked(Exchange *exchange, Call *call);

static void look_again(Exchange *exchange, Call *call)
{
    (void)call; /* ended, or a slice of time is over: its row tells */
    exchange_read(exchange, read_running, looked);
}

static void looked(Exchange *exchange, Call *call)
{
    Asking *asking = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (asking->operation.state != OPERATION_RUNNING ||
        clock_now().boot_ms >= asking->until_boot || exchange_gone(exchange)) {
        asking->then(exchange, &asking->operation);
        return;
    }
    Call *wait = exchange_call(exchange, CALL_WAIT, look_again);
    wait->event.id = asking->sought;
    wait->event.table = SLICE_LITERAL(OPERATION_TABLE);
    wait->timeout_ms = RUN_SLICE_MS;
    exchange_send(exchange, wait);
}

static void run_begun(Exchange *exchange, Call *call)
{
    Asking *asking = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    asking->sought = id_from_count(call->first, call->node);
    look_again(exchange, call);
}

void api_operation_run(Exchange *exchange, const Operation *operation,
                       OperationStep *then)
{
    Asking *asking = ARENA_NEW(&exchange->arena, Asking);
    asking->operation = *operation;
    asking->then = then;
    asking->until_boot = clock_now().boot_ms + RUN_WAIT_MS;
    exchange->state = asking;
    begin(exchange, run_begun);
}

/* --- Counting
 * ---------------------------------------------------------------------------
 */

static void count_job(void *context, const Job *job)
{
    (void)job;
    ((Asking *)context)->operation.count++;
}

static void read_page(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    Asking *asking = exchange->state;
    QueryEnd end = { 0 };
    JobSink sink = { count_job, asking };
    call->err = store->kind->query(store, &asking->query, &sink, &end, &call->why);
    asking->query.before = end.cursor;
    asking->counts_more = end.cursor != 0 && asking->operation.count < COUNT_MAX;
}

static void count_on(Exchange *exchange, Call *call);

static void count_page(Exchange *exchange)
{
    exchange_read(exchange, read_page, count_on);
}

static void count_on(Exchange *exchange, Call *call)
{
    const Asking *asking = exchange->state;
    if (call->err)
        exchange_failed(exchange, call);
    else if (asking->counts_more)
        count_page(exchange);
    else
        begin(exchange, begun);
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

/* One of the operation's own fields; *out_wrong: what is wrong with it, or NULL. False:
 * it is none of them. */
static bool read_own(const JsonIn *field, Operation *out, const char **out_wrong)
{
    *out_wrong = NULL;
    if (slice_is(field->key, "action")) {
        if (!read_action(field, out))
            *out_wrong = "is cancel, kill, hold, release, pause, resume, halt, retry, rm "
                         "or set";
    } else if (slice_is(field->key, "q")) {
        *out_wrong = read_text(field, &out->query);
    } else if (slice_is(field->key, "reason")) {
        *out_wrong = read_text(field, &out->reason);
    } else if (slice_is(field->key, "dry_run")) {
        out->dry_run = field->kind == JSON_IN_BOOL && field->as.truth;
        *out_wrong = field->kind == JSON_IN_BOOL ? NULL : "must be true or false";
    } else if (slice_is(field->key, "without_after")) {
        out->patch.fields =
            field->kind == JSON_IN_BOOL && field->as.truth ? FIELD_ALONE : 0;
        *out_wrong = field->kind == JSON_IN_BOOL ? NULL : "must be true or false";
    } else {
        return false;
    }
    return true;
}

/* What `set` changes: the fields that PATCH of one job takes, but for the payload. */
static bool read_patch(Exchange *exchange, const JsonIn *fields, Operation *out)
{
    JobRules rules = { .tenant = out->tenant, .wall_ms = clock_now().wall_ms };
    JobReader reader = { .rules = &rules, .arena = &exchange->arena };
    for (const JsonIn *field = json_in_first(fields); field; field = field->next) {
        if (!slice_is(field->key, "payload") && !slice_is(field->key, "payload_base64"))
            continue;
        exchange_refuse(exchange, "read_only_field",
                        "payloads are changed one by one: PATCH of the job");
        return false;
    }
    if (!patch_read(&reader, fields, &out->patch))
        return true;
    exchange_problem(exchange, &reader.why);
    return false;
}

static bool makes_sense(Exchange *exchange, Operation *operation, const JsonIn *body,
                        const JsonIn *others)
{
    const JsonIn *other = json_in_first(others);
    if (!json_in_find(body, "action") || !operation->query.bytes)
        exchange_refuse(exchange, "missing_field", "an operation needs an action and q");
    else if (json_in_find(body, "without_after") && operation->action != ACT_RETRY)
        exchange_refuse(exchange, "unknown_field", "without_after goes with retry only");
    else if (operation->action == ACT_PATCH)
        return read_patch(exchange, others, operation);
    else if (other)
        exchange_refuse(
            exchange, "unknown_field",
            SLICE_FMT
            " is not known here: action, q, dry_run, reason, for "
            "retry without_after, and for set priority, queue, run_at, delay, tags, "
            "max_run_time",
            SLICE_ARG(other->key));
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
    JsonIn others = { .kind = JSON_IN_OBJECT };
    JsonIn **last = &others.as.items.first;
    const JsonIn *body = asking ? api_body(exchange, &exchange->arena, false) : NULL;
    if (!body)
        return;
    Operation *operation = &asking->operation;
    if (body->kind != JSON_IN_OBJECT) {
        exchange_refuse(exchange, "wrong_type", "an operation must be an object");
        return;
    }
    for (const JsonIn *field = json_in_first(body); field; field = field->next) {
        const char *wrong;
        if (!read_own(field, operation, &wrong)) {
            JsonIn *other = ARENA_NEW(&exchange->arena, JsonIn);
            *other = *field;
            other->next = NULL;
            *last = other;
            last = &other->next;
            others.as.items.count++;
        } else if (wrong) {
            exchange_refuse(exchange, "invalid_value", SLICE_FMT " %s",
                            SLICE_ARG(field->key), wrong);
            return;
        }
    }
    if (makes_sense(exchange, operation, body, &others))
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
