/* SPDX-License-Identifier: Apache-2.0 */
/* warm.c - see warm.h. */
#include "engine/warm.h"

#include "base/json_out.h"
#include "base/text.h"
#include "model/handler_order.h"
#include "model/job_json.h"
#include "run/context/interpreter.h"

static bool is_current(const Warm *warm, const Handler *handler, const Job *job,
                       uint32_t slot)
{
    return slice_equal(buf_slice(&warm->user), job->user) && warm->slot == slot &&
           warm->version == handler->version &&
           slice_equal(buf_slice(&warm->type), handler->type) &&
           slice_equal(buf_slice(&warm->tenant), handler->tenant);
}

static void set(Buf *buf, Slice text)
{
    buf_clear(buf);
    buf_add_slice(buf, text);
}

static void member(JsonOut *json, const char *key, Slice text)
{
    if (text.bytes)
        json_text(json, key, text);
}

/* What a context must know of a handler before its first job. */
static void define(Warm *warm, const Handler *handler)
{
    buf_clear(&warm->handler);
    buf_clear(&warm->define);
    if (!lang_scripted(handler->lang))
        return;
    buf_printf(&warm->handler, SLICE_FMT "@%u", SLICE_ARG(handler->type),
               handler->version);
    JsonOut json = { .out = &warm->define };
    json_object(&json, NULL);
    json_object(&json, "handler");
    json_text(&json, "name", buf_slice(&warm->handler));
    member(&json, "before", handler->before);
    member(&json, "beforeEach", handler->before_each);
    json_text(&json, "body", handler->body);
    member(&json, "afterEach", handler->after_each);
    json_object_end(&json);
    json_object_end(&json);
    buf_add_char(&warm->define, '\n');
}

/* Who may share a context: the same tenant, language, environment, and version or eid. */
static void make_key(Warm *warm, const Handler *handler)
{
    Slice parts[] = { handler->tenant, slice_text(lang_name(handler->lang)),
                      buf_slice(&warm->user), handler->cwd, handler->env };
    buf_clear(&warm->key);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buf_add_slice(&warm->key, parts[i]);
        buf_add_char(&warm->key, '\0');
    }
    if (handler->eid.bytes)
        buf_printf(&warm->key, "eid " SLICE_FMT, SLICE_ARG(handler->eid));
    else
        buf_printf(&warm->key, SLICE_FMT "@%u", SLICE_ARG(handler->type),
                   handler->version);
    if (handler->lang == LANG_EXEC) /* the program is the context */
        buf_add_slice(&warm->key, buf_slice(&warm->argv));
}

static Err begin(Warm *warm, const Handler *handler, uint32_t slot, Error *why)
{
    Arena arena = { 0 };
    buf_clear(&warm->argv);
    if (handler->lang == LANG_EXEC) {
        Err err = words_parse(handler->body, &warm->argv, why);
        if (err)
            return err;
    } else if (handler->lang == LANG_SH || handler->lang == LANG_BASH) {
        Job job = { 0 };
        Err err = handler_order(handler, &arena, &job, why);
        buf_add_slice(&warm->argv, job.command);
        arena_done(&arena);
        if (err)
            return err;
    } else if (!interpreter_argv(handler->lang, NULL, &warm->argv)) {
        return error_set(why, ERR_UNSUPPORTED, "this machine has no %s",
                         interpreter_name(handler->lang));
    }
    warm->slot = slot;
    warm->version = handler->version;
    warm->in_order = lang_scripted(handler->lang);
    warm->whole = handler->lang == LANG_SH || handler->lang == LANG_BASH;
    set(&warm->tenant, handler->tenant);
    set(&warm->type, handler->type);
    set(&warm->env, handler->env);
    set(&warm->cwd, handler->cwd);
    define(warm, handler);
    make_key(warm, handler);
    return ERR_OK;
}

/* The text of a payload is without its final newline; bytes are as they are. */
static void payload_member(JsonOut *json, const Job *job)
{
    Slice payload = job->payload;
    if ((job->flags & JOB_BINARY) || !utf8_valid(payload)) {
        json_base64(json, "payload_base64", payload);
        return;
    }
    if (payload.bytes && payload.data[payload.bytes - 1] == '\n')
        payload.bytes--;
    json_text(json, "payload", payload);
}

void warm_line(Buf *out, const Job *job, Slice handler)
{
    char id[ID_TEXT_BYTES];
    JsonOut json = { .out = out };
    json_object(&json, NULL);
    json_cstr(&json, "id", id_text(job->id, id));
    json_text(&json, "type", job->type);
    json_int(&json, "attempt", job->attempt);
    payload_member(&json, job);
    member(&json, "handler", handler);
    json_text(&json, "tenant", job->tenant);
    json_text(&json, "queue", job->queue);
    json_int(&json, "priority", job->priority);
    if (job->retry_number)
        json_int(&json, "retry_number", job->retry_number);
    if (job->parent)
        json_cstr(&json, "parent", id_text(job->parent, id));
    if (job->bookings.bytes)
        pairs_json(&json, "resources", job->bookings, false);
    member(&json, "name", job->name);
    member(&json, "group", job->group);
    member(&json, "schedule", job->schedule);
    member(&json, "document_uri", job->document_uri);
    member(&json, "param", job->param);
    member(&json, "traceparent", job->trace);
    json_object_end(&json);
    buf_add_char(out, '\n');
}

static void add_payload(Buf *out, Slice payload)
{
    buf_add_slice(out, payload);
    if (!payload.bytes || payload.data[payload.bytes - 1] != '\n')
        buf_add_char(out, '\n');
}

Err warm_add(Warm *warm, const Handler *handler, const Job *job, uint32_t slot,
             Error *why)
{
    if (!is_current(warm, handler, job, slot)) {
        warm_flush(warm);
        set(&warm->user, job->user);
        Err err = begin(warm, handler, slot, why);
        if (err)
            return err;
    }
    size_t before = warm->lines.bytes;
    bool now =
        slice_is(job->children.bytes ? job->children : handler->children, "immediate");
    if (warm->whole)
        add_payload(&warm->lines, job->payload);
    else
        warm_line(&warm->lines, job, buf_slice(&warm->handler));
    MEM_PUSH(warm->items, warm->count, warm->capacity) = (RunItem){
        .id = job->id,
        .attempt = job->attempt,
        .timed = job->max_run_ms > 0,
        .children_now = now,
        .line_bytes = warm->lines.bytes - before,
    };
    return ERR_OK;
}

/* The last line of a batch says so. */
static void mark_last(Warm *warm)
{
    static const char last[] = ",\"last\":true}\n";
    warm->lines.bytes -= 2; /* "}" and the newline */
    buf_add_text(&warm->lines, last);
    warm->items[warm->count - 1].line_bytes += sizeof last - 1 - 2;
}

void warm_flush(Warm *warm)
{
    if (warm->count) {
        if (!warm->whole)
            mark_last(warm);
        RunBatch batch = {
            .slot = warm->slot,
            .key = buf_slice(&warm->key),
            .tenant = buf_slice(&warm->tenant),
            .user = buf_slice(&warm->user),
            .argv = buf_slice(&warm->argv),
            .env = buf_slice(&warm->env),
            .cwd = buf_slice(&warm->cwd),
            .handler = buf_slice(&warm->handler),
            .define = buf_slice(&warm->define),
            .in_order = warm->in_order,
            .whole = warm->whole,
            .lines = buf_slice(&warm->lines),
            .items = warm->items,
            .count = warm->count,
        };
        runner_give(warm->runner, &batch);
    }
    warm->slot = 0;
    warm->count = 0;
    buf_clear(&warm->lines);
}

void warm_done(Warm *warm)
{
    Buf *bufs[] = { &warm->user,   &warm->tenant, &warm->type, &warm->key,
                    &warm->argv,   &warm->env,    &warm->cwd,  &warm->handler,
                    &warm->define, &warm->lines };
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        buf_done(bufs[i]);
    mem_free(warm->items);
}
