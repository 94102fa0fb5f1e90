/* SPDX-License-Identifier: Apache-2.0 */
/* handler.c - see handler.h. */
#include "core/handler.h"

#include "base/fields.h"
#include "base/text.h"

#include <stddef.h>

const char *lang_name(Lang lang)
{
    switch (lang) {
    case LANG_EXEC:
        return "exec";
    case LANG_SH:
        return "sh";
    case LANG_BASH:
        return "bash";
    case LANG_NODE:
        return "node";
    case LANG_PYTHON:
        return "python";
    case LANG_PERL:
        return "perl";
    case LANG_PHP:
        return "php";
    case LANG_RUBY:
        return "ruby";
    case LANG_LUA:
        return "lua";
    case LANG_HTTP:
        return "http";
    case LANG_PULL:
        return "pull";
    }
    return "?";
}

Err lang_parse(Slice text, Lang *out_lang)
{
    for (unsigned lang = 0; lang < LANGS; lang++) {
        if (!slice_is(text, lang_name((Lang)lang)))
            continue;
        *out_lang = (Lang)lang;
        return ERR_OK;
    }
    return ERR_INVALID;
}

bool lang_scripted(Lang lang)
{
    return lang >= LANG_NODE && lang <= LANG_LUA;
}

bool handler_warm(const Handler *handler)
{
    return lang_scripted(handler->lang) || handler->batch > 0;
}

#define ROW(tag, member, kind)                                                           \
    {                                                                                    \
        (tag), offsetof(Handler, member), (kind)                                         \
    }

static const FieldRow handler_rows[] = {
    ROW(1, version, FIELD_32),           ROW(2, created_ms, FIELD_64),
    ROW(3, disabled, FIELD_BOOL),        ROW(4, lang, FIELD_32),
    ROW(5, has_priority, FIELD_BOOL),    ROW(6, priority, FIELD_64),
    ROW(7, max_run_ms, FIELD_64),        ROW(8, service_ms, FIELD_64),
    ROW(9, has_max_retries, FIELD_BOOL), ROW(10, max_retries, FIELD_32),
    ROW(11, retry_delay_ms, FIELD_64),   ROW(12, retry_window_ms, FIELD_64),
    ROW(13, highlander, FIELD_BOOL),     ROW(14, batch, FIELD_32),
    ROW(15, drop_result, FIELD_BOOL),    ROW(16, keep_state, FIELD_BOOL),
    ROW(17, files, FIELD_BOOL),          ROW(18, deleted, FIELD_BOOL),
    ROW(40, tenant, FIELD_SLICE),        ROW(41, type, FIELD_SLICE),
    ROW(42, eid, FIELD_SLICE),           ROW(43, before, FIELD_SLICE),
    ROW(44, before_each, FIELD_SLICE),   ROW(45, body, FIELD_SLICE),
    ROW(46, after_each, FIELD_SLICE),    ROW(47, queue, FIELD_SLICE),
    ROW(48, resources, FIELD_SLICE),     ROW(49, user, FIELD_SLICE),
    ROW(50, env, FIELD_SLICE),           ROW(51, cwd, FIELD_SLICE),
    ROW(52, then, FIELD_SLICE),          ROW(53, on_error, FIELD_SLICE),
    ROW(54, exit_map, FIELD_SLICE),      ROW(55, children, FIELD_SLICE),
    ROW(56, headers, FIELD_SLICE),
};

static const Fields handler_fields = { handler_rows, FIELDS_COUNT(handler_rows), NULL };

_Static_assert(sizeof(Lang) == sizeof(uint32_t), "enums are read as 32 bits");

void handler_pack(Buf *out, const Handler *handler)
{
    fields_pack(out, &handler_fields, handler);
}

Err handler_unpack(Slice packed, Handler *out_handler)
{
    Handler handler = { 0 };
    if (fields_unpack(packed, &handler_fields, &handler) ||
        (unsigned)handler.lang >= LANGS)
        return ERR_CORRUPT;
    *out_handler = handler;
    return ERR_OK;
}

Handler handler_copy(Arena *arena, const Handler *handler)
{
    Handler copy = *handler;
    fields_keep(&handler_fields, arena, &copy);
    return copy;
}

static void slice_default(Slice *field, Slice value)
{
    if (!field->bytes)
        *field = value;
}

static void number_default(int64_t *field, int64_t value)
{
    if (!*field)
        *field = value;
}

static void general_defaults(Job *job)
{
    slice_default(&job->queue, SLICE_LITERAL("default"));
    if (job->priority == PRIORITY_UNSET)
        job->priority = PRIORITY_DEFAULT;
    if (job->max_retries == RETRIES_OPEN)
        job->max_retries = job->flags & JOB_COMMAND ? 0 : RETRIES_UNSET;
}

void handler_defaults(const Handler *handler, Job *job)
{
    if (handler) {
        slice_default(&job->queue, handler->queue);
        slice_default(&job->resources, handler->resources);
        slice_default(&job->user, handler->user);
        slice_default(&job->then, handler->then);
        slice_default(&job->on_error, handler->on_error);
        slice_default(&job->children, handler->children);
        number_default(&job->max_run_ms, handler->max_run_ms);
        number_default(&job->service_ms, handler->service_ms);
        number_default(&job->retry_delay_ms, handler->retry_delay_ms);
        number_default(&job->retry_window_ms, handler->retry_window_ms);
        if (job->priority == PRIORITY_UNSET && handler->has_priority)
            job->priority = handler->priority;
        if (job->max_retries == RETRIES_OPEN && handler->has_max_retries)
            job->max_retries = handler->max_retries;
        if (handler->lang == LANG_PULL)
            job->flags |= JOB_PULL | JOB_SEGREGATED; /* claims name types */
        job->flags |= handler->keep_state ? (unsigned)JOB_KEEP_STATE : 0;
        job->flags |= handler->files ? (unsigned)JOB_FILES : 0;
    }
    general_defaults(job);
}

#define OPEN_FLAGS (JOB_UNHANDLED | JOB_OPEN_QUEUE | JOB_OPEN_PRIORITY)

void handler_later(Job *job)
{
    job->flags |= JOB_UNHANDLED;
    job->flags |= job->queue.bytes ? 0 : (unsigned)JOB_OPEN_QUEUE;
    job->flags |= job->priority == PRIORITY_UNSET ? (unsigned)JOB_OPEN_PRIORITY : 0;
    bool open_retries = job->max_retries == RETRIES_OPEN;
    general_defaults(job);
    if (open_retries)
        job->max_retries = RETRIES_OPEN;
}

bool handler_arrives(const Handler *handler, Job *job)
{
    if (!(job->flags & JOB_UNHANDLED))
        return false;
    if (job->flags & JOB_OPEN_QUEUE)
        job->queue = (Slice){ NULL, 0 };
    if (job->flags & JOB_OPEN_PRIORITY)
        job->priority = PRIORITY_UNSET;
    job->flags &= ~(uint32_t)OPEN_FLAGS;
    handler_defaults(handler, job);
    return true;
}

int32_t exit_map_find(Slice exit_map, int32_t exit_status)
{
    Slice item;
    while (list_next(&exit_map, &item)) {
        int64_t status;
        int64_t exitcode;
        Slice left = slice_cut(&item, '=');
        if (!int_parse(left, &status) && !int_parse(item, &exitcode) &&
            status == exit_status)
            return (int32_t)exitcode;
    }
    return 0;
}
