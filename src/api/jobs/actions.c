/* SPDX-License-Identifier: Apache-2.0 */
/* actions.c - see actions.h.
 *
 * Every action is one event; after it the job is read again, so that the answer shows
 * what has become of it. What makes no sense in the job's state is refused with the
 * actions that would. */
#include "api/jobs/actions.h"

#include "api/common.h"
#include "api/routes.h"

#define REASON_BYTES_MAX 1000

/* --- Refused in this state ------------------------------------------------------------
 */

static void refuse_state(Exchange *exchange, const Job *job)
{
    Buf members = { 0 };
    JsonOut json = { .out = &members };
    json_cstr(&json, "state", state_name(job->state));
    json_array(&json, "allowed");
    for (unsigned i = 0; i < ACTIONS; i++)
        if (state_in(job->state, action_allowed((Action)i)))
            json_cstr(&json, NULL, action_name((Action)i));
    json_array_end(&json);
    Problem problem;
    char id[ID_TEXT_BYTES];
    problem_set(&problem, "invalid_state", "job %s is %s: it cannot be %s now",
                id_text(job->id, id), state_name(job->state),
                exchange->route->action == ACT_PATCH ? "changed"
                                                     : "used for this action");
    problem.members = slice_copy(&exchange->arena, buf_slice(&members));
    buf_done(&members);
    exchange_problem(exchange, &problem);
}

static void conflict_loaded(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        refuse_state(exchange, &call->job);
}

static bool is_state_conflict(const Call *call)
{
    return call->err == ERR_CONFLICT &&
           (!call->problem || strcmp(call->problem, "invalid_state") == 0);
}

/* --- The event
 * ---------------------------------------------------------------------------- */

static void acted(Exchange *exchange, Call *call)
{
    if (is_state_conflict(call))
        api_load_job(exchange, conflict_loaded);
    else if (call->err)
        exchange_failed(exchange, call);
    else
        api_load_job(exchange, api_reply_job);
}

static Call *act_call(Exchange *exchange, Step *then)
{
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    call->event.kind = EVENT_ACT;
    call->event.action = exchange->route->action;
    call->event.tenant = exchange->whose;
    call->event.id = exchange->id;
    return call;
}

/* One member of an action's body; false after it refused. */
static bool read_member(Exchange *exchange, const JsonIn *field, Event *out)
{
    bool retry = exchange->route->action == ACT_RETRY;
    if (retry && slice_is(field->key, "without_after")) {
        if (field->kind == JSON_IN_BOOL) {
            out->patch.fields = field->as.truth ? FIELD_ALONE : 0;
            return true;
        }
        exchange_refuse(exchange, "wrong_type", "without_after must be true or false");
    } else if (!slice_is(field->key, "reason")) {
        exchange_refuse(exchange, "unknown_field",
                        retry ? "retry takes nothing but a reason and without_after"
                              : "an action takes nothing but a reason");
    } else if (field->kind != JSON_IN_TEXT || field->as.text.bytes > REASON_BYTES_MAX) {
        exchange_refuse(exchange, "wrong_type", "reason must be a text of up to %d bytes",
                        REASON_BYTES_MAX);
    } else {
        out->reason = field->as.text;
        return true;
    }
    return false;
}

/* Nothing, {} or {"reason": "..."}. False after it refused. */
static bool read_body(Exchange *exchange, Event *out)
{
    const JsonIn *body = api_body(exchange, &exchange->arena, true);
    if (!body)
        return false;
    if (body->kind != JSON_IN_OBJECT) {
        exchange_refuse(exchange, "wrong_type", "the body must be an object");
        return false;
    }
    for (const JsonIn *field = json_in_first(body); field; field = field->next)
        if (!read_member(exchange, field, out))
            return false;
    return true;
}

static void act(Exchange *exchange)
{
    Event asked = { 0 };
    if (!read_body(exchange, &asked))
        return;
    Call *call = act_call(exchange, acted);
    call->event.reason = asked.reason;
    call->event.patch = asked.patch;
    exchange_send(exchange, call);
}

void api_job_act(Exchange *exchange)
{
    api_with_job(exchange, act);
}

static void patch(Exchange *exchange)
{
    const JsonIn *body = api_body(exchange, &exchange->arena, false);
    if (!body)
        return;
    JobRules *rules = ARENA_NEW(&exchange->arena, JobRules);
    rules->wall_ms = clock_now().wall_ms;
    rules->payload_bytes_max = daemon_facts(exchange->daemon)->payload_bytes_max;
    JobReader *reader = ARENA_NEW(&exchange->arena, JobReader);
    reader->rules = rules;
    reader->arena = &exchange->arena;
    Patch change;
    if (patch_read(reader, body, &change)) {
        exchange_problem(exchange, &reader->why);
        return;
    }
    Call *call = act_call(exchange, acted);
    call->event.patch = change;
    exchange_send(exchange, call);
}

void api_job_patch(Exchange *exchange)
{
    api_with_job(exchange, patch);
}

static void removed(Exchange *exchange, Call *call)
{
    if (is_state_conflict(call)) {
        api_load_job(exchange, conflict_loaded);
        return;
    }
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    char id[ID_TEXT_BYTES];
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_cstr(&json, "id", id_text(exchange->id, id));
    json_bool(&json, "removed", true);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

static void erase(Exchange *exchange)
{
    exchange_send(exchange, act_call(exchange, removed));
}

void api_job_delete(Exchange *exchange)
{
    api_with_job(exchange, erase);
}
