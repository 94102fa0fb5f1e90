/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - see lines.h. The body goes on as it was received: nothing is parsed
 * but the ends of its lines, and nothing is copied. */
#include "api/jobs/lines.h"

#include "api/common.h"
#include "base/text.h"

static bool wants_text(const Exchange *exchange)
{
    Slice accept = exchange_header(exchange, "Accept");
    return slice_starts(accept, SLICE_LITERAL("text/plain"));
}

static void added(Exchange *exchange, Call *call)
{
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    bool text = wants_text(exchange);
    JsonOut json = exchange_json(exchange);
    char id[ID_TEXT_BYTES];
    if (!text) {
        json_object(&json, NULL);
        json_bool(&json, "ok", true);
        json_int(&json, "count", (int64_t)call->count);
        json_array(&json, "ids");
    }
    for (uint64_t k = 0; k < call->count; k++) {
        id_text(api_added_id(call, k), id);
        if (text) {
            buf_add(&exchange->out, id, ID_TEXT_BYTES - 1);
            buf_add_char(&exchange->out, '\n');
        } else {
            json_cstr(&json, NULL, id);
        }
    }
    if (text) {
        exchange_reply(exchange, 200, "text/plain; charset=utf-8");
        return;
    }
    json_array_end(&json);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

/* How many jobs the body makes; 0 after it refused. */
static uint64_t count_lines(Exchange *exchange, uint64_t payload_bytes_max)
{
    Slice rest = buf_slice(&exchange->body);
    Slice line;
    uint64_t count = 0;
    while (lines_next(&rest, &line)) {
        if (line.bytes > payload_bytes_max) {
            exchange_refuse(exchange, "payload_too_large",
                            "payload %llu has %zu bytes; the limit is %llu",
                            (unsigned long long)count + 1, line.bytes,
                            (unsigned long long)payload_bytes_max);
            return 0;
        }
        count++;
    }
    if (!count)
        exchange_refuse(exchange, "empty_body", "the body has no lines");
    return count;
}

/* False after it refused. */
static bool read_pattern(Exchange *exchange, JobReader *reader)
{
    job_read_begin(reader);
    for (size_t i = 0; i < exchange->param_count; i++) {
        const Param *param = &exchange->params[i];
        if (job_read_param(reader, param->name, param->value)) {
            exchange_problem(exchange, &reader->why);
            return false;
        }
    }
    reader->job.type = exchange->parts[1];
    if (!job_read_end(reader))
        return true;
    exchange_problem(exchange, &reader->why);
    return false;
}

void api_lines_add(Exchange *exchange)
{
    lines_add(exchange);
}

void lines_add(Exchange *exchange)
{
    uint64_t payload_bytes_max = daemon_facts(exchange->daemon)->payload_bytes_max;
    if (!tenant_name_valid(exchange->parts[0]) || !name_valid(exchange->parts[1])) {
        exchange_refuse(exchange, "invalid_name", "the name of the %s is not valid",
                        tenant_name_valid(exchange->parts[0]) ? "type" : "client");
        return;
    }
    if (exchange_header(exchange, "Idempotency-Key").data) {
        exchange_refuse(exchange, "unsupported",
                        "Idempotency-Key is for " API_PATH "/jobs");
        return;
    }
    JobRules *rules = ARENA_NEW(&exchange->arena, JobRules);
    rules->tenant = exchange->parts[0];
    rules->tenant_fixed = exchange->caller.bound;
    rules->tenant_named = true;
    rules->wall_ms = clock_now().wall_ms;
    rules->trace = api_trace(exchange);
    rules->payload_bytes_max = payload_bytes_max;
    JobReader *reader = ARENA_NEW(&exchange->arena, JobReader);
    reader->rules = rules;
    reader->arena = &exchange->arena;
    if (!read_pattern(exchange, reader))
        return;
    uint64_t count = count_lines(exchange, payload_bytes_max);
    if (!count)
        return;
    Call *call = exchange_call(exchange, CALL_EVENT, added);
    call->event.kind = EVENT_ADD_LINES;
    call->event.tenant = reader->job.tenant;
    call->event.jobs = &reader->job;
    call->event.count = count;
    call->event.body = buf_slice(&exchange->body);
    exchange_send(exchange, call);
}
