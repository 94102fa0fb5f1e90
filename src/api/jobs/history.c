/* SPDX-License-Identifier: Apache-2.0 */
/* history.c - see history.h. Everything is read first and put in order of time; what
 * happened in the same millisecond stays as it was read. */
#include "api/jobs/history.h"

#include "access/audit_find.h"
#include "api/common.h"
#include "model/job_json.h"

#include <stdlib.h>

typedef struct Moment {
    int64_t at_ms;
    const char *type;
    Slice act;          /* what a person did; else empty, and type says it */
    Slice who;          /* empty: the daemon */
    const Job *attempt; /* NULL: of none */
    Slice before;       /* JSON; empty: not known */
    Slice after;
    size_t order;
} Moment;

typedef struct History {
    Arena *arena;
    Moment *moments;
    size_t count;
    size_t capacity;
} History;

static void put(History *history, Moment moment)
{
    moment.order = history->count;
    MEM_PUSH(history->moments, history->count, history->capacity) = moment;
}

static void put_attempts(History *history, const Loaded *loaded)
{
    for (size_t i = 0; i < loaded->count; i++) {
        const Job *attempt = &loaded->jobs[i];
        if (attempt->started_ms)
            put(history, (Moment){ .at_ms = attempt->started_ms,
                                   .type = "job.started",
                                   .attempt = attempt });
        if (attempt->finished_ms)
            put(history, (Moment){ .at_ms = attempt->finished_ms,
                                   .type = "attempt.finished",
                                   .attempt = attempt });
    }
}

static void put_act(void *context, const AuditRow *row)
{
    History *history = context;
    if (slice_is(row->action, "add")) { /* the first moment is that one */
        history->moments[0].who = slice_copy(history->arena, row->who);
        return;
    }
    put(history, (Moment){ .at_ms = row->at_ms,
                           .act = slice_copy(history->arena, row->action),
                           .who = slice_copy(history->arena, row->who),
                           .before = slice_copy(history->arena, row->before),
                           .after = slice_copy(history->arena, row->after) });
}

static int by_time(const void *left, const void *right)
{
    const Moment *a = left;
    const Moment *b = right;
    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static void write_type(JsonOut *json, const Moment *moment)
{
    if (!moment->act.bytes) {
        json_cstr(json, "type", moment->type);
        return;
    }
    Buf type = { 0 };
    buf_printf(&type, "job." SLICE_FMT, SLICE_ARG(moment->act));
    json_text(json, "type", buf_slice(&type));
    buf_done(&type);
}

static void raw_or_null(JsonOut *json, const char *key, Slice value)
{
    if (value.bytes)
        json_raw(json, key, value);
    else
        json_null(json, key);
}

static void write_data(JsonOut *json, const Moment *moment)
{
    if (moment->attempt) {
        Buf text = { 0 };
        JsonOut attempt = { .out = &text };
        attempt_json(&attempt, moment->attempt);
        json_raw(json, "data", buf_slice(&text));
        buf_done(&text);
    } else if (moment->act.bytes) {
        json_object(json, "data");
        raw_or_null(json, "before", moment->before);
        raw_or_null(json, "after", moment->after);
        json_object_end(json);
    } else {
        json_null(json, "data");
    }
}

static void write_moment(JsonOut *json, const Moment *moment)
{
    json_object(json, NULL);
    json_time(json, "at", moment->at_ms);
    write_type(json, moment);
    text_or_null(json, "who", moment->who);
    if (moment->attempt)
        json_int(json, "attempt", moment->attempt->attempt);
    else
        json_null(json, "attempt");
    write_data(json, moment);
    json_object_end(json);
}

static void write_history(Exchange *exchange, History *history, bool partial)
{
    if (history->count)
        qsort(history->moments, history->count, sizeof *history->moments, by_time);
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_array(&json, "items");
    for (size_t i = 0; i < history->count; i++)
        write_moment(&json, &history->moments[i]);
    json_array_end(&json);
    json_null(&json, "next_cursor");
    json_bool(&json, "partial", partial);
    json_object_end(&json);
}

static void read_history(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    if (!call_load_job(call, store, exchange->id))
        return;
    const Job *job = &call->job;
    char id[ID_TEXT_BYTES];
    History history = { .arena = &call->arena };
    Load load = { .kind = LOAD_ATTEMPTS, .id = job->id };
    Loaded loaded = { 0 };
    bool partial = false;
    put(&history, (Moment){ .at_ms = job->created_ms, .type = "job.added" });
    AuditSeek seek = { .kind = SLICE_LITERAL("job"),
                       .target = slice_text(id_text(job->id, id)),
                       .tenant = job->tenant,
                       .from_ms = id_created_ms(job->id) };
    AuditSink sink = { put_act, &history };
    /* Before the attempts: who acts and what follows may have the same millisecond. */
    call->err = audit_each(store, &seek, &sink, &partial, &call->why);
    if (!call->err)
        call->err = store->kind->load(store, &load, &loaded, &call->why);
    if (!call->err)
        put_attempts(&history, &loaded);
    if (!call->err)
        write_history(exchange, &history, partial);
    loaded_done(&loaded);
    mem_free(history.moments);
}

static void history_read(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, 200);
}

static void get_history(Exchange *exchange)
{
    exchange_read(exchange, read_history, history_read);
}

void api_job_events(Exchange *exchange)
{
    api_with_job(exchange, get_history);
}
