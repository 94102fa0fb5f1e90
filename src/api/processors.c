/* SPDX-License-Identifier: Apache-2.0 */
/* processors.c - see processors.h.
 *
 * A request becomes one order to the pipeline. Setting is two steps: the pipeline makes
 * the directories (what cannot work is refused here), then the plan is kept in the store.
 */
#include "api/processors.h"

#include "api/common.h"
#include "base/text.h"
#include "engine/processors.h"
#include "pipeline/processor/signals.h"

#define WAIT_MAX_MS (24 * MS_PER_HOUR)

typedef struct Request {
    SignalOrder order;
    int64_t wait_ms; /* 0: none */
    Slice plan_text;
    Step *then; /* METERS */
} Request;

static Request *request_new(Exchange *exchange, SignalKind kind)
{
    Request *request = ARENA_NEW(&exchange->arena, Request);
    request->order.kind = kind;
    request->order.name = exchange->parts[0];
    exchange->state = request;
    return request;
}

static void send_order(Exchange *exchange, Step *then)
{
    Request *request = exchange->state;
    Call *call = exchange_call(exchange, CALL_PIPELINE, then);
    call->order = &request->order;
    exchange_send(exchange, call);
}

/* False after it was answered. */
static bool went_well(Exchange *exchange, Call *call)
{
    const Request *request = exchange->state;
    if (!call->err)
        return true;
    const char *code = request->order.problem;
    if (code && problem_find(code))
        exchange_refuse(exchange, code, "%s", request->order.why.text);
    else
        exchange_failed(exchange, call);
    return false;
}

static void reply_order(Exchange *exchange, unsigned status)
{
    Request *request = exchange->state;
    buf_clear(&exchange->out);
    buf_add_slice(&exchange->out, buf_slice(&request->order.out));
    buf_done(&request->order.out);
    exchange_reply_json(exchange, status);
}

static void answer(Exchange *exchange, Call *call)
{
    Request *request = exchange->state;
    if (went_well(exchange, call))
        reply_order(exchange, 200);
    else
        buf_done(&request->order.out);
}

void api_processors_list(Exchange *exchange)
{
    request_new(exchange, ORDER_LIST);
    send_order(exchange, answer);
}

/* A node without processors, or one that closes, has none to tell. */
static void metered(Exchange *exchange, Call *call)
{
    Request *request = exchange->state;
    if (!call->err)
        buf_add_slice(&exchange->out, buf_slice(&request->order.out));
    buf_done(&request->order.out);
    request->then(exchange, call);
}

void api_processors_meter(Exchange *exchange, Step *then)
{
    request_new(exchange, ORDER_METERS)->then = then;
    send_order(exchange, metered);
}

void api_processor_get(Exchange *exchange)
{
    request_new(exchange, SIGNAL_STATUS);
    send_order(exchange, answer);
}

/* The unit of a request, which may be any name of a file. False after it refused. */
static bool take_unit(Exchange *exchange, Slice unit)
{
    Request *request = exchange->state;
    if (!unit_name_valid(unit)) {
        exchange_refuse(exchange, "invalid_name",
                        "a unit is the name of a file or directory: 1 to 255 bytes, no "
                        "slash, not hidden");
        return false;
    }
    request->order.unit = unit;
    return true;
}

void api_processor_unit(Exchange *exchange)
{
    request_new(exchange, SIGNAL_STATUS);
    if (take_unit(exchange, exchange->parts[1]))
        send_order(exchange, answer);
}

/* --- Signals -------------------------------------------------------------------------
 */

/* The unit is done or failed: says which. */
static void waited(Exchange *exchange, Call *call)
{
    Request *request = exchange->state;
    if (call->err && call->err != ERR_TIMEOUT && call->err != ERR_NOT_FOUND) {
        exchange_failed(exchange, call);
        return;
    }
    Request *again = ARENA_NEW(&exchange->arena, Request);
    again->order.kind = SIGNAL_STATUS;
    again->order.name = exchange->parts[0]; /* of whatever node */
    again->order.unit = request->order.unit;
    exchange->state = again;
    send_order(exchange, answer);
}

static void signalled(Exchange *exchange, Call *call)
{
    Request *request = exchange->state;
    if (!went_well(exchange, call)) {
        buf_done(&request->order.out);
        return;
    }
    if (!request->wait_ms || !request->order.job) {
        reply_order(exchange, 200);
        return;
    }
    buf_done(&request->order.out);
    Call *wait = exchange_call(exchange, CALL_WAIT, waited);
    wait->event.id = request->order.job;
    wait->timeout_ms = request->wait_ms;
    exchange_send(exchange, wait);
}

static void forgotten(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        reply_order(exchange, 200);
}

/* The directory is gone; the definition goes too. */
static void destroyed(Exchange *exchange, Call *call)
{
    Request *request = exchange->state;
    if (!went_well(exchange, call)) {
        buf_done(&request->order.out);
        return;
    }
    Call *define = exchange_call(exchange, CALL_EVENT, forgotten);
    define->event.kind = EVENT_DEFINE;
    define->event.table = SLICE_LITERAL(PROCESSOR_TABLE);
    define->event.tenant = slice_text(request->order.home);
    define->event.key = slice_text(request->order.unit_name);
    exchange_send(exchange, define);
}

/* What a signal takes in its query. False after it refused. */
static bool take_params(Exchange *exchange)
{
    Request *request = exchange->state;
    Error why = { 0 };
    Slice unit = exchange_param(exchange, "unit");
    Slice wait = exchange_param(exchange, "wait");
    request->order.next = exchange_param(exchange, "next");
    if (unit.data && !take_unit(exchange, unit))
        return false;
    if (!unit.data && signal_needs_unit(request->order.kind)) {
        exchange_refuse(exchange, "missing_field",
                        "which unit? name it (in the path: ?unit=NAME)");
        return false;
    }
    if (wait.data && (duration_parse(wait, &request->wait_ms, &why) ||
                      request->wait_ms < 0 || request->wait_ms > WAIT_MAX_MS)) {
        exchange_refuse(exchange, "invalid_value",
                        "wait is a duration up to 24 hours, such as PT30S");
        return false;
    }
    return true;
}

void api_processor_signal(Exchange *exchange)
{
    SignalKind kind = SIGNAL_STATUS;
    if (signal_parse(exchange->parts[1], &kind)) {
        const char *names[SIGNALS + 1] = { NULL };
        for (SignalKind at = 0; at < SIGNALS; at++)
            names[at] = signal_name(at);
        const char *nearest = nearest_word(exchange->parts[1], names);
        exchange_refuse(exchange, "signal_not_found", "there is no such signal%s%s",
                        nearest ? "; did you mean " : "", nearest ? nearest : "");
        return;
    }
    const JsonIn *body = api_body(exchange, &exchange->arena, true);
    if (!body)
        return;
    if (body->kind != JSON_IN_OBJECT || json_in_first(body)) {
        exchange_refuse(exchange, "unknown_field", "a signal takes no fields");
        return;
    }
    const Request *request = request_new(exchange, kind);
    if (!take_params(exchange))
        return;
    if (kind == SIGNAL_DESTROY &&
        !slice_equal(exchange_param(exchange, "confirm"), request->order.name)) {
        exchange_refuse(exchange, "missing_field",
                        "destroy removes the directory with all units: add "
                        "?confirm=NAME with the processor's name");
        return;
    }
    send_order(exchange, kind == SIGNAL_DESTROY ? destroyed : signalled);
}

/* --- Setting -------------------------------------------------------------------------
 */

static void kept(Exchange *exchange, Call *call)
{
    const Request *request = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (request->order.created)
        api_created(exchange, "processors", request->order.name);
    reply_order(exchange, request->order.created ? 201 : 200);
}

static void made(Exchange *exchange, Call *call)
{
    Request *request = exchange->state;
    if (!went_well(exchange, call)) {
        buf_done(&request->order.out);
        return;
    }
    Call *define = exchange_call(exchange, CALL_EVENT, kept);
    define->event.kind = EVENT_DEFINE;
    define->event.table = SLICE_LITERAL(PROCESSOR_TABLE);
    define->event.tenant = slice_text(request->order.home);
    define->event.key = request->order.name;
    define->event.value = request->plan_text;
    exchange_send(exchange, define);
}

static Slice plan_text(Exchange *exchange, const Plan *plan)
{
    Buf text = { 0 };
    JsonOut json = { .out = &text };
    json_object(&json, NULL);
    plan_members(&json, plan);
    json_object_end(&json);
    Slice kept_text = slice_copy(&exchange->arena, buf_slice(&text));
    buf_done(&text);
    return kept_text;
}

void api_processor_put(Exchange *exchange)
{
    Request *request = request_new(exchange, ORDER_PUT);
    PlanFault fault = { 0 };
    const JsonIn *body = api_body(exchange, &exchange->arena, false);
    if (!body)
        return;
    Plan *plan = ARENA_NEW(&exchange->arena, Plan);
    Slice name = request->order.name; /* NAME, NAME@NODE */
    if (plan_read(body, slice_cut(&name, '@'), &exchange->arena, plan, &fault)) {
        exchange_refuse(exchange, fault.code, "%s", fault.why.text);
        return;
    }
    request->order.plan = plan;
    request->plan_text = request->order.plan_text = plan_text(exchange, plan);
    send_order(exchange, made);
}
