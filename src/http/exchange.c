/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - see exchange.h.
 *
 * What must hold between the HTTP thread and the daemon's: a connection is parked
 * (suspended) only under its lock and only when no finished call waits; whoever finishes
 * a call under the same lock sees whether it is parked, and then resumes it. So a call
 * may be done before, while or after the connection is suspended. */
#include "http/server_state.h"

#include <assert.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

#define BUF_KEPT_BYTES (64u << 10) /* larger ones are not kept for the next request */

Exchange *exchange_new(Conn *conn)
{
    Exchange *exchange = MEM_NEW(Exchange);
    exchange->conn = conn;
    exchange->http = conn->listener->http;
    exchange->daemon = exchange->http->daemon;
    exchange->finished_last = &exchange->finished;
    pthread_mutex_init(&exchange->lock, NULL);
    return exchange;
}

static void buf_reset(Buf *buf)
{
    if (buf->capacity > BUF_KEPT_BYTES)
        buf_done(buf);
    else
        buf_clear(buf);
}

static void free_errands(Exchange *exchange, bool keep_one)
{
    for (Errand *errand = exchange->errands; errand;) {
        Errand *next = errand->next;
        if (keep_one && !exchange->spare) {
            arena_reset(&errand->call.arena);
            exchange->spare = errand;
        } else {
            arena_done(&errand->call.arena);
            mem_free(errand);
        }
        errand = next;
    }
    exchange->errands = NULL;
}

/* Most requests need one: the one that the last request had. */
static Errand *new_errand(Exchange *exchange)
{
    Errand *errand = exchange->spare;
    if (!errand)
        return MEM_NEW(Errand);
    Arena arena = errand->call.arena;
    *errand = (Errand){ 0 };
    errand->call.arena = arena;
    exchange->spare = NULL;
    return errand;
}

void exchange_reset(Exchange *exchange)
{
    free_errands(exchange, true);
    buf_reset(&exchange->body);
    buf_reset(&exchange->out);
    arena_reset(&exchange->arena);
    exchange->head = (HttpHead){ 0 };
    exchange->route = NULL;
    memset(exchange->parts, 0, sizeof exchange->parts);
    exchange->params = NULL;
    exchange->param_count = 0;
    exchange->id = 0;
    exchange->whose = (Slice){ NULL, 0 };
    exchange->state = NULL;
    exchange->undelivered = NULL;
    exchange->pending = 0;
    exchange->yielded = false;
    exchange->alone = false;
    exchange->replied = false;
    exchange->header_count = 0;
    exchange->stream = NULL;
    exchange->finished = NULL;
    exchange->finished_last = &exchange->finished;
}

void exchange_free(Exchange *exchange)
{
    if (!exchange)
        return;
    free_errands(exchange, false);
    if (exchange->spare)
        arena_done(&exchange->spare->call.arena);
    mem_free(exchange->spare);
    buf_done(&exchange->body);
    buf_done(&exchange->out);
    arena_done(&exchange->arena);
    pthread_mutex_destroy(&exchange->lock);
    mem_free(exchange);
}

bool exchange_abandon(Exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    bool alone = exchange->out_count == 0;
    if (!alone) {
        exchange->conn = NULL;
        http_busy(exchange->http);
    }
    pthread_mutex_unlock(&exchange->lock);
    return alone;
}

/* --- The request -------------------------------------------------------------------- */

Slice exchange_param(const Exchange *exchange, const char *name)
{
    for (size_t i = 0; i < exchange->param_count; i++)
        if (slice_is(exchange->params[i].name, name))
            return exchange->params[i].value;
    return (Slice){ NULL, 0 };
}

Slice exchange_header(const Exchange *exchange, const char *name)
{
    return head_field(&exchange->head, name);
}

unsigned exchange_header_count(const Exchange *exchange, const char *name)
{
    return head_field_count(&exchange->head, name);
}

Tokens *exchange_gate(const Exchange *exchange)
{
    return exchange->http->options.tokens;
}

bool exchange_gone(const Exchange *exchange)
{
    struct pollfd fd = { .fd = exchange->conn->fd, .events = POLLRDHUP };
    return poll(&fd, 1, 0) > 0 && fd.revents;
}

/* --- Calls ---------------------------------------------------------------------------
 */

static void errand_done(Call *call)
{
    Errand *errand = (Errand *)call;
    Exchange *exchange = errand->exchange;
    pthread_mutex_lock(&exchange->lock);
    errand->finished = NULL;
    *exchange->finished_last = errand;
    exchange->finished_last = &errand->finished;
    bool last = --exchange->out_count == 0;
    bool abandoned = !exchange->conn;
    Conn *parked = exchange->parked ? exchange->conn : NULL;
    exchange->parked = false;
    pthread_mutex_unlock(&exchange->lock);
    /* Neither parked nor abandoned: the HTTP thread goes on by itself, and the exchange
     * may be over already. */
    if (parked)
        conn_wake(parked);
    if (!abandoned || !last)
        return;
    Http *http = exchange->http;
    if (exchange->undelivered)
        exchange->undelivered(exchange);
    exchange_free(exchange);
    http_quiet(http);
}

Call *exchange_call(Exchange *exchange, CallKind kind, Step *then)
{
    Errand *errand = new_errand(exchange);
    errand->call.kind = kind;
    errand->call.done = errand_done;
    errand->call.context = exchange;
    errand->call.caller = &exchange->caller;
    errand->then = then;
    errand->exchange = exchange;
    errand->next = exchange->errands;
    exchange->errands = errand;
    return &errand->call;
}

void exchange_send(Exchange *exchange, Call *call)
{
    exchange->pending++;
    pthread_mutex_lock(&exchange->lock);
    exchange->out_count++;
    pthread_mutex_unlock(&exchange->lock);
    if (exchange->alone)
        daemon_call_here(exchange->daemon, call);
    else
        daemon_call(exchange->daemon, call);
}

void exchange_read(Exchange *exchange, void (*read)(Call *call, Store *store), Step *then)
{
    Call *call = exchange_call(exchange, CALL_READ, then);
    call->read = read;
    exchange_send(exchange, call);
}

void exchange_look(Exchange *exchange, void (*look)(Call *call, Daemon *daemon),
                   Step *then)
{
    Call *call = exchange_call(exchange, CALL_LOOK, then);
    call->look = look;
    exchange_send(exchange, call);
}

const Call *exchange_next_call(const Exchange *exchange, const Call *call)
{
    const Errand *errand = (const Errand *)call;
    errand = errand ? errand->next : exchange->errands;
    return errand ? &errand->call : NULL;
}

void exchange_yield(Exchange *exchange, Step *then)
{
    exchange->yielded = true;
    exchange->yield_step = then;
}

static Errand *take_finished(Exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    Errand *finished = exchange->finished;
    exchange->finished = NULL;
    exchange->finished_last = &exchange->finished;
    pthread_mutex_unlock(&exchange->lock);
    return finished;
}

/* False if something has finished meanwhile. */
static bool park(Exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    bool idle = !exchange->finished;
    if (idle) {
        exchange->parked = true;
        conn_suspend(exchange->conn);
    }
    pthread_mutex_unlock(&exchange->lock);
    return idle;
}

static void run_finished(Exchange *exchange)
{
    for (Errand *errand = take_finished(exchange); errand;) {
        Errand *next = errand->finished;
        exchange->pending--;
        if (!exchange->replied && !exchange_settles(exchange, errand))
            errand->then(exchange, &errand->call);
        errand = next;
    }
    if (exchange->yielded && !exchange->replied) {
        Step *then = exchange->yield_step;
        exchange->yielded = false;
        then(exchange, NULL);
    }
}

bool exchange_drive(Exchange *exchange)
{
    for (run_finished(exchange);;) {
        if (exchange->replied && !exchange->pending)
            return true;
        if (exchange->yielded && !exchange->replied) {
            conn_suspend(exchange->conn);
            conn_wake(exchange->conn);
            return false;
        }
        assert(exchange->pending > 0);
        if (park(exchange))
            return false;
        run_finished(exchange);
    }
}

/* --- The answer ------------------------------------------------------------------------
 */

JsonOut exchange_json(Exchange *exchange)
{
    buf_clear(&exchange->out);
    return (JsonOut){ .out = &exchange->out };
}

void exchange_add_header(Exchange *exchange, const char *name, const char *value)
{
    assert(exchange->header_count < EXCHANGE_HEADERS_MAX);
    exchange->headers[exchange->header_count++] = (ReplyHeader){
        .name = name,
        .value = slice_cstr(&exchange->arena, slice_text(value)),
    };
}

void exchange_reply(Exchange *exchange, unsigned status, const char *content_type)
{
    assert(!exchange->replied);
    exchange->replied = true;
    exchange->status = status;
    exchange->content_type = content_type;
}

void exchange_reply_json(Exchange *exchange, unsigned status)
{
    buf_add_char(&exchange->out, '\n');
    exchange_reply(exchange, status, "application/json");
}

/* Whether `code` says that what the path names first is not there: job_not_found for
 * /api/v1/jobs/{id}/…, but not attempt_not_found. */
static bool path_names(const Route *route, const char *code)
{
    const char *word = route && strncmp(route->path, API_PATH "/", sizeof API_PATH) == 0
                           ? route->path + sizeof API_PATH
                           : "";
    for (; *code && *word && *word != '/'; code++, word++)
        if (*code != *word && (*code != '_' || *word != '-'))
            return *word == 's' && word[1] == '/' && strcmp(code, "_not_found") == 0;
    return false;
}

void exchange_problem(Exchange *exchange, const Problem *told)
{
    Problem named = *told;
    const Problem *problem = &named;
    int status = problem->kind->status;
    if (!named.detail[0] && path_names(exchange->route, named.kind->code))
        problem_name(&named, exchange->parts[0]);
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    problem_members(&json, problem);
    /* The founding paths' own words for a failure. */
    if (exchange->route && exchange->route->path[1] == '{') {
        json_bool(&json, "ok", false);
        json_cstr(&json, "error",
                  problem->detail[0] ? problem->detail : problem->kind->title);
    }
    json_object_end(&json);
    buf_add_char(&exchange->out, '\n');
    if (status == 503 || status == 429 ||
        strcmp(problem->kind->code, "idempotency_in_progress") == 0)
        exchange_add_header(exchange, "Retry-After", "1");
    exchange_reply(exchange, (unsigned)status, "application/problem+json");
}

void exchange_refuse(Exchange *exchange, const char *code, const char *detail, ...)
{
    Problem problem;
    char text[ERROR_TEXT_BYTES];
    va_list args;
    va_start(args, detail);
    vsnprintf(text, sizeof text, detail, args);
    va_end(args);
    problem_set(&problem, code, "%s", text);
    exchange_problem(exchange, &problem);
}

void problem_of_call(Problem *problem, const Call *call)
{
    const char *code = call->problem && problem_find(call->problem)
                           ? call->problem
                           : problem_code(call->err);
    problem_set(problem, code, "%s", call->why.text);
}

void exchange_failed(Exchange *exchange, const Call *call)
{
    Problem problem;
    problem_of_call(&problem, call);
    exchange_problem(exchange, &problem);
}

void exchange_stream(Exchange *exchange, Stream *stream, const char *content_type)
{
    exchange->stream = stream;
    exchange_reply(exchange, 200, content_type);
}
