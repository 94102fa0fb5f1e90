/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - see status.h. */
#include "pipeline/processor/status.h"

#include "pipeline/pipeline.h"
#include "pipeline/processor/unit.h"

#define ACTIVE_NAMES_MAX 1000 /* in one answer */

static double seconds(int64_t ms)
{
    return (double)ms / 1000.0;
}

static size_t in_state(const Processor *processor, JobState state)
{
    size_t count = 0;
    for (const Unit *unit = processor->units; unit; unit = unit->next)
        count += unit->state == state;
    return count;
}

size_t processor_running(const Processor *processor)
{
    return in_state(processor, JOB_RUNNING) + in_state(processor, JOB_PAUSED);
}

const char *unit_status(const Processor *processor, const char *name)
{
    const Buckets *buckets = &processor->buckets;
    const Unit *unit = processor_unit(processor, name);
    if (unit && unit->state == JOB_PAUSED)
        return "paused";
    if (unit && unit->state == JOB_HALTED)
        return "halted";
    if (unit || bucket_has(buckets, IN_ACTIVE, name))
        return "in-progress";
    if (bucket_has(buckets, IN_PROCESSED, name))
        return "completed";
    if (bucket_has(buckets, IN_FAILED, name))
        return "failed";
    return bucket_has(buckets, IN_WORK, name) ? "have-input" : "no-input";
}

static void counts_json(JsonOut *json, Processor *processor, int64_t boot_ms)
{
    static const struct {
        const char *key;
        Bucket bucket;
    } rows[] = {
        { "receiving", IN_RECEIVE },     { "waiting", IN_WORK },
        { "processed", IN_PROCESSED },   { "failed", IN_FAILED },
        { "finished", OUT_FINISHED },    { "sent", OUT_SENT },
        { "output_failed", OUT_FAILED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        json_int(json, rows[i].key,
                 processor->open
                     ? bucket_count(&processor->buckets, rows[i].bucket, boot_ms)
                     : 0);
}

static void active_json(JsonOut *json, const Processor *processor)
{
    size_t shown = 0;
    json_array(json, "active");
    for (const Unit *unit = processor->units; unit && shown++ < ACTIVE_NAMES_MAX;
         unit = unit->next)
        json_cstr(json, NULL, unit->name);
    json_array_end(json);
    json_int(json, "active_count", (int64_t)processor->unit_count);
}

static void times_json(JsonOut *json, Processor *processor, int64_t boot_ms)
{
    int64_t done = (int64_t)processor->done;
    processor_count_time(processor, boot_ms);
    json_double(json, "uptime", seconds(boot_ms - processor->opened_boot));
    json_double(json, "rate_processing", rate_last_minute(&processor->rate, boot_ms));
    json_double(json, "rate_processing_overall", rate_overall(&processor->rate, boot_ms));
    json_double(json, "rate_forwarding",
                rate_last_minute(&processor->sender.rate, boot_ms));
    json_double(json, "rate_forwarding_overall",
                rate_overall(&processor->sender.rate, boot_ms));
    json_double(json, "waiting_seconds", seconds(processor->waiting_ms));
    json_double(json, "off_seconds", seconds(processor->off_ms));
    json_object(json, "unit_seconds");
    json_double(json, "min", seconds(processor->unit_ms_min));
    json_double(json, "max", seconds(processor->unit_ms_max));
    json_double(json, "avg", done ? seconds(processor->unit_ms_sum) / (double)done : 0);
    json_object_end(json);
    json_int(json, "completed_total", done);
    json_int(json, "failed_total", (int64_t)processor->failed);
    json_int(json, "forwarded_total", (int64_t)processor->sender.rate.total);
}

void processor_json(JsonOut *json, Processor *processor, int64_t boot_ms)
{
    const Plan *plan = &processor->plan;
    json_object(json, NULL);
    json_text(json, "name", plan->name);
    json_cstr(json, "id", processor->id);
    json_cstr(json, "node", pipeline_options(processor->pipeline)->sysid);
    json_cstr(json, "directory", processor->open ? processor->buckets.dir : NULL);
    json_bool(json, "up", processor->open);
    json_bool(json, "declared", plan->declared);
    json_bool(json, "processing", processor->open && processor->monitor);
    json_bool(json, "forwarding", processor->open && processor->forwarder);
    json_int(json, "running", (int64_t)processor_running(processor));
    counts_json(json, processor, boot_ms);
    active_json(json, processor);
    json_int(json, "paused", (int64_t)in_state(processor, JOB_PAUSED));
    json_int(json, "halted", (int64_t)in_state(processor, JOB_HALTED));
    json_int(json, "retrying", (int64_t)in_state(processor, JOB_RETRYING));
    json_int(json, "transfers", (int64_t)sender_busy(&processor->sender, NULL));
    times_json(json, processor, boot_ms);
    plan_members(json, plan);
    troubles_json(json, "problems", &processor->troubles);
    json_object_end(json);
}

void broker_json(JsonOut *json, Broker *broker, int64_t boot_ms)
{
    json_object(json, NULL);
    json_text(json, "name", broker->plan.name);
    json_text(json, "from", broker->plan.from);
    json_bool(json, "up", broker->open);
    json_int(json, "transfers", (int64_t)sender_busy(&broker->sender, NULL));
    json_int(json, "divided_total", (int64_t)broker->sender.rate.total);
    json_double(json, "rate", rate_last_minute(&broker->sender.rate, boot_ms));
    troubles_json(json, "problems", &broker->troubles);
    json_object_end(json);
}
