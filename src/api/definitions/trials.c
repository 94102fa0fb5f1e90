/* SPDX-License-Identifier: Apache-2.0 */
/* trials.c - see trials.h.
 *
 * What is tried is the handler in the request, or a stored version of the type's. */
#include "api/definitions/trials.h"

#include "api/common.h"
#include "api/definitions/handlers.h"
#include "base/text.h"
#include "engine/trial.h"
#include "model/handler_json.h"

typedef struct Asked {
    Slice tenant;
    Slice type;
    int64_t version; /* 0: the newest */
    HandlerSeek seek;
    Trial trial;
} Asked;

/* --- What is asked -------------------------------------------------------------------
 */

static void pack(Exchange *exchange, Asked *asked, const Handler *handler)
{
    Buf packed = { 0 };
    handler_pack(&packed, handler);
    asked->trial.handler = slice_copy(&exchange->arena, buf_slice(&packed));
    buf_done(&packed);
}

static Err read_handler(Exchange *exchange, Asked *asked, const JsonIn *value,
                        Problem *why)
{
    Handler handler;
    NounIn in = { .noun = &handler_noun,
                  .object = &handler,
                  .tenant = asked->tenant,
                  .name = asked->type,
                  .arena = &exchange->arena,
                  .why = why };
    Err err = handler_read(&in, value);
    if (!err)
        pack(exchange, asked, &handler);
    return err;
}

static Err read_payload(Exchange *exchange, Asked *asked, const JsonIn *value,
                        Problem *why)
{
    JobRules *rules = ARENA_NEW(&exchange->arena, JobRules);
    rules->tenant = asked->tenant;
    rules->payload_bytes_max = daemon_facts(exchange->daemon)->payload_bytes_max;
    JobReader reader = { .rules = rules, .arena = &exchange->arena };
    job_read_begin(&reader);
    Err err = job_read_field(&reader, value);
    if (err)
        *why = reader.why;
    asked->trial.payload = reader.job.payload;
    asked->trial.binary = (reader.job.flags & JOB_BINARY) != 0;
    return err;
}

static Err read_timeout(Asked *asked, const JsonIn *value, Problem *why)
{
    Error bad = { 0 };
    Err err = duration_read(value, &asked->trial.timeout_ms, &bad);
    if (!err && asked->trial.timeout_ms > 0 && asked->trial.timeout_ms <= TRIAL_MS_MAX)
        return ERR_OK;
    return problem_set(why, "invalid_value", "timeout is a duration of up to 60 s");
}

static Err read_field(Exchange *exchange, Asked *asked, const JsonIn *field, Problem *why)
{
    if (slice_is(field->key, "payload") || slice_is(field->key, "payload_base64"))
        return read_payload(exchange, asked, field, why);
    if (slice_is(field->key, "handler"))
        return read_handler(exchange, asked, field, why);
    if (slice_is(field->key, "timeout"))
        return read_timeout(asked, field, why);
    if (!slice_is(field->key, "version"))
        return problem_set(why, "unknown_field",
                           "a test takes payload or payload_base64, version or handler, "
                           "and timeout");
    if (json_in_int(field, &asked->version) || asked->version < 1)
        return problem_set(why, "invalid_value", "version is a number from 1 on");
    return ERR_OK;
}

/* False after it refused. */
static bool read_body(Exchange *exchange, Asked *asked)
{
    Problem why;
    const JsonIn *body = api_body(exchange, &exchange->arena, true);
    if (!body)
        return false;
    Err err = ERR_OK;
    if (body->kind != JSON_IN_OBJECT)
        err = problem_set(&why, "wrong_type", "a test takes an object, not %s",
                          json_in_kind_name(body->kind));
    for (const JsonIn *at = json_in_first(body); at && !err; at = at->next) {
        err = at->kind == JSON_IN_NULL ? ERR_OK : read_field(exchange, asked, at, &why);
        if (err && !why.pointer[0])
            problem_point(&why, at->key);
    }
    if (err)
        exchange_problem(exchange, &why);
    return !err;
}

/* --- What came of it -----------------------------------------------------------------
 */

static void children_json(JsonOut *json, Slice lines)
{
    Slice line;
    json_array(json, "jobs");
    while (lines_next(&lines, &line)) {
        json_object(json, NULL);
        json_text(json, "type", slice_cut(&line, '|'));
        json_text(json, "payload", line);
        json_object_end(json);
    }
    json_array_end(json);
}

static void reply_tried(Exchange *exchange, Call *call)
{
    const Trial *trial = call->trial;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_cstr(&json, "code", code_name(trial->outcome.code));
    json_int(&json, "exitcode", trial->outcome.exitcode);
    if (trial->outcome.exit_status >= 0)
        json_int(&json, "exit_status", trial->outcome.exit_status);
    else
        json_null(&json, "exit_status");
    json_int(&json, "signal", trial->outcome.signal);
    json_bool(&json, "timed_out", trial->timed_out);
    text_or_null(&json, "error", trial->error);
    text_or_null(&json, "result", trial->result);
    text_or_null(&json, "message", trial->message);
    children_json(&json, trial->children);
    json_text(&json, "stdout", trial->output[0]);
    json_text(&json, "stderr", trial->output[1]);
    json_int(&json, "run_ms", trial->run_ms);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

static void try_it(Exchange *exchange)
{
    Asked *asked = exchange->state;
    Handler handler;
    if (!handler_unpack(asked->trial.handler, &handler) && handler.lang == LANG_PULL) {
        exchange_refuse(exchange, "unsupported",
                        "a pull handler has nothing to run: workers take its jobs");
        return;
    }
    Call *call = exchange_call(exchange, CALL_TRY, reply_tried);
    call->trial = &asked->trial;
    exchange_send(exchange, call);
}

static void read_stored(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    Asked *asked = exchange->state;
    asked->seek = (HandlerSeek){ .tenant = asked->tenant,
                                 .type = asked->type,
                                 .version = asked->version,
                                 .arena = &call->arena };
    call->err = handler_seek(store, &asked->seek, &call->why);
    if (call->err || (asked->seek.found && !asked->seek.handler.deleted))
        return;
    call->err = ERR_NOT_FOUND;
    call->problem = asked->version ? "version_not_found" : "handler_not_found";
}

static void stored_read(Exchange *exchange, Call *call)
{
    Asked *asked = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    pack(exchange, asked, &asked->seek.handler);
    try_it(exchange);
}

void api_handler_try(Exchange *exchange)
{
    Asked *asked = ARENA_NEW(&exchange->arena, Asked);
    asked->tenant = api_tenant(exchange, "default");
    asked->type = exchange->parts[0];
    asked->trial.timeout_ms = TRIAL_MS_DEFAULT;
    if (!asked->tenant.data)
        return;
    if (!name_valid(asked->type)) {
        exchange_refuse(exchange, "invalid_name", "the name of the type is not valid");
        return;
    }
    exchange->state = asked;
    if (!read_body(exchange, asked))
        return;
    if (asked->trial.handler.data && asked->version) {
        exchange_refuse(exchange, "conflicting_fields",
                        "a test is of a version or of a handler, not of both");
        return;
    }
    if (asked->trial.handler.data) {
        try_it(exchange);
        return;
    }
    exchange_read(exchange, read_stored, stored_read);
}
