/* SPDX-License-Identifier: Apache-2.0 */
/* handler.c - see handler.h. */
#include "core/handler.h"

#include "base/text.h"

bool lang_scripted(Lang lang)
{
    return lang >= LANG_NODE && lang <= LANG_LUA;
}

bool handler_warm(const Handler *handler)
{
    return lang_scripted(handler->lang) || handler->batch > 0;
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
