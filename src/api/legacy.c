/* SPDX-License-Identifier: Apache-2.0 */
/* legacy.c - see legacy.h. */
#include "api/legacy.h"

#include "api/jobs/lines.h"
#include "config/settings.h"
#include "core/batch.h"

/* False after it refused. */
static bool is_on(Exchange *exchange)
{
    if (daemon_facts(exchange->daemon)->legacy)
        return true;
    Problem problem;
    problem_set(&problem, "path_not_found", "this path is off");
    problem_hint(&problem, "daemon.legacy: on in the configuration serves it");
    exchange_problem(exchange, &problem);
    return false;
}

/* Takes a parameter off the query; it has no data if it is not there. */
static Slice take_param(Exchange *exchange, const char *name)
{
    for (size_t i = 0; i < exchange->param_count; i++) {
        if (!slice_is(exchange->params[i].name, name))
            continue;
        Slice value = exchange->params[i].value;
        exchange->params[i] = exchange->params[--exchange->param_count];
        return value;
    }
    return (Slice){ NULL, 0 };
}

/* Empty lines and those that begin with # are no payloads here. */
static void drop_comments(Buf *body)
{
    Buf kept = { 0 };
    Slice rest = buf_slice(body);
    Slice line;
    while (lines_next(&rest, &line)) {
        if (line.data[0] == '#')
            continue;
        buf_add_slice(&kept, line);
        buf_add_char(&kept, '\n');
    }
    buf_done(body);
    *body = kept;
}

void api_legacy_add(Exchange *exchange)
{
    if (!is_on(exchange))
        return;
    exchange->parts[0] = take_param(exchange, "client");
    exchange->parts[1] = take_param(exchange, "jobtype");
    if (!exchange->parts[0].bytes || !exchange->parts[1].bytes) {
        exchange_refuse(exchange, "missing_field", "?client= and &jobtype= are needed");
        return;
    }
    drop_comments(&exchange->body);
    lines_add(exchange);
}

static void reply_ok(Exchange *exchange, Call *call)
{
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    buf_clear(&exchange->out);
    buf_add_text(&exchange->out, "OK\n");
    exchange_reply(exchange, 200, "text/plain; charset=utf-8");
}

static void set_enabled(Exchange *exchange, Slice value)
{
    if (!is_on(exchange))
        return;
    Call *call = exchange_call(exchange, CALL_EVENT, reply_ok);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(SETTINGS_TABLE);
    call->event.key = SLICE_LITERAL("enabled");
    call->event.value = value;
    exchange_send(exchange, call);
}

void api_legacy_start(Exchange *exchange)
{
    set_enabled(exchange, SLICE_LITERAL("on"));
}

void api_legacy_stop(Exchange *exchange)
{
    set_enabled(exchange, SLICE_LITERAL("off"));
}

static void look_quit(Call *call, Daemon *daemon)
{
    (void)call;
    daemon_quit(daemon);
}

void api_legacy_quit(Exchange *exchange)
{
    if (!is_on(exchange))
        return;
    exchange_look(exchange, look_quit, reply_ok);
}
