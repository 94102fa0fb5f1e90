/* SPDX-License-Identifier: Apache-2.0 */
/* broker.c - see broker.h. */
#include "pipeline/forward/broker.h"

#include "base/log.h"
#include "pipeline/pipeline.h"
#include "pipeline/processor/reclaim.h"
#include "run/files/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void broker_trouble(Broker *broker, const char *unit, const char *text)
{
    char quoted[LOG_QUOTE_BYTES];
    char quoted_text[LOG_QUOTE_BYTES];
    if (!trouble_add(&broker->troubles, unit, text) ||
        !trouble_may_log(&broker->troubles, clock_now().boot_ms))
        return;
    log_event(LOG_ERROR, "broker.trouble", "broker=" SLICE_FMT " unit=%s why=%s",
              SLICE_ARG(broker->plan.name), log_quote(slice_text(unit), quoted),
              log_quote(slice_text(text), quoted_text));
}

Broker *broker_new(Pipeline *pipeline, const Plan *plan)
{
    Broker *broker = MEM_NEW(Broker);
    broker->pipeline = pipeline;
    broker->plan = *plan;
    broker->source_fd = broker->watch = -1;
    broker->own.own_fd = -1;
    for (Bucket bucket = 0; bucket < BUCKETS; bucket++)
        broker->own.fds[bucket] = -1;
    return broker;
}

void broker_free(Broker *broker)
{
    sender_close(&broker->sender);
    buckets_close(&broker->own);
    if (broker->source_fd >= 0)
        close(broker->source_fd);
    troubles_done(&broker->troubles);
    arena_done(&broker->arena);
    mem_free(broker);
}

static Err open_source(Broker *broker, Error *why)
{
    Sender *sender = &broker->sender;
    snprintf(sender->source_dir, sizeof sender->source_dir, SLICE_FMT,
             SLICE_ARG(broker->plan.from));
    broker->source_fd = open(sender->source_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (broker->source_fd < 0)
        return error_errno(why, "cannot open the source directory %s",
                           sender->source_dir);
    if (faccessat(broker->source_fd, ".", R_OK | W_OK | X_OK, AT_EACCESS))
        return error_errno(why, "the source directory %s cannot be written",
                           sender->source_dir);
    return ERR_OK;
}

Err broker_open(Broker *broker, Error *why)
{
    Buf dir = { 0 };
    Sender *sender = &broker->sender;
    const PipelineOptions *options = pipeline_options(broker->pipeline);
    buf_printf(&dir, "%s/processors/.brokers/" SLICE_FMT, options->data_dir,
               SLICE_ARG(broker->plan.name));
    Err err = own_open(&broker->own, buf_cstr(&dir), why);
    buf_done(&dir);
    if (!err)
        err = open_source(broker, why);
    if (!err) {
        sender->pipeline = broker->pipeline;
        sender->broker = broker;
        sender->plan = &broker->plan;
        sender->buckets = &broker->own;
        sender->source_fd = broker->source_fd;
        snprintf(sender->queue, sizeof sender->queue, FORWARD_QUEUE "broker:" SLICE_FMT,
                 SLICE_ARG(broker->plan.name));
        snprintf(sender->id, sizeof sender->id, "%s:broker:" SLICE_FMT, options->sysid,
                 SLICE_ARG(broker->plan.name));
        sender_init(sender);
        err = sender_open(sender, why);
    }
    if (err) {
        sender_close(sender);
        buckets_close(&broker->own);
        if (broker->source_fd >= 0)
            close(broker->source_fd);
        broker->source_fd = -1;
        return err;
    }
    reclaim_open(broker);
    broker->open = true;
    trouble_clear(&broker->troubles, "");
    log_event(LOG_INFO, "broker.open", "broker=" SLICE_FMT " from=%s",
              SLICE_ARG(broker->plan.name), sender->source_dir);
    return ERR_OK;
}

bool broker_step(Broker *broker, int64_t boot_ms)
{
    if (!broker->open)
        return false;
    bool more = reclaim_step(broker, boot_ms);
    return sender_step(&broker->sender, boot_ms) || more;
}

Err broker_remove(Broker *broker, const char *unit, Error *why)
{
    Buf path = { 0 };
    struct stat found;
    buf_printf(&path, "%s/%s", broker->sender.source_dir, unit);
    sweep_path(buf_cstr(&path));
    buf_done(&path);
    if (fstatat(broker->source_fd, unit, &found, AT_SYMLINK_NOFOLLOW) == 0)
        return error_set(why, ERR_IO, "it was delivered, but cannot be removed");
    return ERR_OK;
}

Err broker_sync(Broker *broker, Error *why)
{
    return fsync(broker->source_fd) ? error_errno(why, "cannot sync the source directory")
                                    : ERR_OK;
}
