/* SPDX-License-Identifier: Apache-2.0 */
/* processor.c - see processor.h. */
#include "pipeline/processor/processor.h"

#include "base/log.h"
#include "pipeline/forward/peers.h"
#include "pipeline/pipeline.h"
#include "pipeline/processor/arrival.h"
#include "pipeline/processor/followup.h"
#include "pipeline/processor/notes.h"
#include "pipeline/processor/unit.h"

#include <stdarg.h>
#include <stdio.h>

#define SWITCHES "switches"

void processor_trouble(Processor *processor, const char *unit, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    char quoted[LOG_QUOTE_BYTES];
    char quoted_text[LOG_QUOTE_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (!trouble_add(&processor->troubles, unit, text) ||
        !trouble_may_log(&processor->troubles, clock_now().boot_ms))
        return;
    log_event(LOG_ERROR, "processor.trouble", "processor=" SLICE_FMT " unit=%s why=%s",
              SLICE_ARG(processor->plan.name), log_quote(slice_text(unit), quoted),
              log_quote(slice_text(text), quoted_text));
}

Processor *processor_new(Pipeline *pipeline, const Plan *plan)
{
    Processor *processor = MEM_NEW(Processor);
    processor->pipeline = pipeline;
    processor->plan = *plan;
    processor->monitor = true;
    processor->forwarder = plan->start_forwarder;
    processor->buckets.own_fd = -1;
    for (Bucket bucket = 0; bucket < BUCKETS; bucket++)
        processor->buckets.fds[bucket] = -1;
    for (size_t i = 0; i < 3; i++)
        processor->watches[i] = -1;
    snprintf(processor->queue, sizeof processor->queue, PROCESSOR_QUEUE SLICE_FMT,
             SLICE_ARG(plan->name));
    snprintf(processor->id, sizeof processor->id, "%s:" SLICE_FMT,
             pipeline_options(pipeline)->sysid, SLICE_ARG(plan->name));
    processor->opened_boot = processor->looked_boot = clock_now().boot_ms;
    rate_start(&processor->rate, processor->opened_boot);
    return processor;
}

void processor_free(Processor *processor)
{
    sender_close(&processor->sender);
    bucket_walk_end(&processor->work_walk);
    bucket_walk_end(&processor->arrivals_walk);
    bucket_walk_end(&processor->tidy_walk);
    while (processor->units)
        unit_drop(processor, processor->units);
    mem_free(processor->ended);
    buckets_close(&processor->buckets);
    troubles_done(&processor->troubles);
    arena_done(&processor->arena);
    mem_free(processor);
}

/* --- Switches ---------------------------------------------------------------------- */

Err processor_remember(const Processor *processor, Error *why)
{
    char text[64];
    snprintf(text, sizeof text, "monitor=%d\nforwarder=%d\n", processor->monitor,
             processor->forwarder);
    return own_write(&processor->buckets, "", SWITCHES, slice_text(text), why);
}

static void recall(Processor *processor)
{
    Buf text = { 0 };
    if (!own_read(&processor->buckets, "", SWITCHES, &text)) {
        Slice rest = buf_slice(&text);
        while (rest.bytes) {
            Slice line = slice_cut(&rest, '\n');
            Slice key = slice_cut(&line, '=');
            if (slice_is(key, "monitor"))
                processor->monitor = slice_is(line, "1");
            if (slice_is(key, "forwarder"))
                processor->forwarder = slice_is(line, "1");
        }
    }
    buf_done(&text);
}

/* --- Opening ----------------------------------------------------------------------- */

static Err open_sender(Processor *processor, Error *why)
{
    Sender *sender = &processor->sender;
    sender->pipeline = processor->pipeline;
    sender->processor = processor;
    sender->plan = &processor->plan;
    sender->buckets = &processor->buckets;
    sender->source_fd = processor->buckets.fds[OUT_FINISHED];
    snprintf(sender->source_dir, sizeof sender->source_dir, "%s/%s",
             processor->buckets.dir, bucket_path(OUT_FINISHED));
    snprintf(sender->queue, sizeof sender->queue, FORWARD_QUEUE SLICE_FMT,
             SLICE_ARG(processor->plan.name));
    snprintf(sender->id, sizeof sender->id, "%s", processor->id);
    sender_init(sender);
    return sender_open(sender, why);
}

/* The directory says whose it is, for other nodes that can see it. */
static Err sign(const Processor *processor, Error *why)
{
    Buf text = { 0 };
    Err err = own_read(&processor->buckets, "", PEERS_ID_FILE, &text);
    if (err || !slice_is(buf_slice(&text), processor->id))
        err = own_write(&processor->buckets, "", PEERS_ID_FILE, slice_text(processor->id),
                        why);
    buf_done(&text);
    return err;
}

void processor_publish(Processor *processor, bool gone)
{
    const PipelineOptions *options = pipeline_options(processor->pipeline);
    Error why = { 0 };
    Slice dir = gone ? (Slice){ NULL, 0 } : slice_text(processor->buckets.dir);
    if (options->engine.publish &&
        options->engine.publish(options->engine.context, processor->plan.name, dir,
                                processor->plan.address, &why) &&
        why.code != ERR_UNAVAILABLE)
        processor_trouble(processor, "", "other nodes cannot be told of it: %s",
                          why.text);
}

Err processor_open(Processor *processor, Error *why)
{
    Buf dir = { 0 };
    const Plan *plan = &processor->plan;
    if (plan->dir.bytes)
        buf_add_slice(&dir, plan->dir);
    else
        buf_printf(&dir, "%s/processors/" SLICE_FMT,
                   pipeline_options(processor->pipeline)->data_dir,
                   SLICE_ARG(plan->name));
    Err err = buckets_open(&processor->buckets, buf_cstr(&dir), why);
    buf_done(&dir);
    if (err)
        return err;
    recall(processor);
    err = sign(processor, why);
    if (!err)
        err = units_recover(processor, why);
    if (!err)
        err = open_sender(processor, why);
    if (err) {
        while (processor->units)
            unit_drop(processor, processor->units);
        buckets_close(&processor->buckets);
        return err;
    }
    next_recover(processor);
    processor_publish(processor, false);
    processor->open = true;
    trouble_clear(&processor->troubles, "");
    log_event(LOG_INFO, "processor.open",
              "processor=" SLICE_FMT " units=%zu monitor=%d "
              "forwarder=%d",
              SLICE_ARG(plan->name), processor->unit_count, processor->monitor,
              processor->forwarder);
    return ERR_OK;
}

/* --- Steps ------------------------------------------------------------------------- */

void processor_count_time(Processor *processor, int64_t boot_ms)
{
    int64_t passed_ms = boot_ms - processor->looked_boot;
    processor->looked_boot = boot_ms;
    if (!processor->monitor)
        processor->off_ms += passed_ms;
    else if (!processor->unit_count)
        processor->waiting_ms += passed_ms;
}

bool processor_step(Processor *processor, int64_t boot_ms)
{
    processor_count_time(processor, boot_ms);
    if (!processor->open)
        return false;
    arrivals_take(processor);
    /* The next ones start while the ends of the last ones are made durable. */
    bool more = units_claim(processor, boot_ms);
    units_finish(processor, boot_ms);
    arrivals_tidy(processor, clock_now());
    if (sender_step(&processor->sender, boot_ms))
        more = true;
    return more;
}

void processor_note(Processor *processor, JobId id, JobState state, int64_t run_ms)
{
    for (Unit *unit = processor->units; unit; unit = unit->next) {
        if (unit->job != id)
            continue;
        if (state_in(unit->state, STATES_FINAL))
            return; /* its renames are due already */
        unit->ran_ms += run_ms;
        unit->state = state;
        if (!state_in(state, STATES_FINAL))
            return;
        MEM_PUSH(processor->ended, processor->ended_count, processor->ended_capacity) =
            unit;
        return;
    }
}
