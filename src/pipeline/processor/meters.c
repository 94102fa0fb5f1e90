/* SPDX-License-Identifier: Apache-2.0 */
/* meters.c - see meters.h: each metric is a row with a function that reads it. */
#include "pipeline/processor/meters.h"

#include "pipeline/processor/status.h"

typedef double ReadProcessor(Processor *processor, int64_t boot_ms);

static double up(Processor *processor, int64_t boot_ms)
{
    (void)boot_ms;
    return processor->open;
}

static double processing(Processor *processor, int64_t boot_ms)
{
    (void)boot_ms;
    return processor->open && processor->monitor;
}

static double forwarding(Processor *processor, int64_t boot_ms)
{
    (void)boot_ms;
    return processor->open && processor->forwarder;
}

static double slots(Processor *processor, int64_t boot_ms)
{
    (void)boot_ms;
    return processor->plan.slots;
}

static double running(Processor *processor, int64_t boot_ms)
{
    (void)boot_ms;
    return (double)processor_running(processor);
}

static double transfers(Processor *processor, int64_t boot_ms)
{
    (void)boot_ms;
    return (double)sender_busy(&processor->sender, NULL);
}

static double problems(Processor *processor, int64_t boot_ms)
{
    (void)boot_ms;
    return (double)processor->troubles.count;
}

static double completed(Processor *processor, int64_t boot_ms)
{
    (void)boot_ms;
    return (double)processor->done;
}

static double failed(Processor *processor, int64_t boot_ms)
{
    (void)boot_ms;
    return (double)processor->failed;
}

static double forwarded(Processor *processor, int64_t boot_ms)
{
    (void)boot_ms;
    return (double)processor->sender.rate.total;
}

static double unit_seconds(Processor *processor, int64_t boot_ms)
{
    (void)boot_ms;
    return (double)processor->unit_ms_sum / MS_PER_S;
}

static double waiting_seconds(Processor *processor, int64_t boot_ms)
{
    processor_count_time(processor, boot_ms);
    return (double)processor->waiting_ms / MS_PER_S;
}

static double off_seconds(Processor *processor, int64_t boot_ms)
{
    processor_count_time(processor, boot_ms);
    return (double)processor->off_ms / MS_PER_S;
}

static double uptime(Processor *processor, int64_t boot_ms)
{
    return (double)(boot_ms - processor->opened_boot) / MS_PER_S;
}

typedef struct Meter {
    const char *name;
    const char *type;
    const char *help;
    ReadProcessor *read;
} Meter;

static const Meter meters[] = {
    { "up", "gauge", "1: its directory is there and usable", up },
    { "uptime_seconds", "gauge", "since it came up", uptime },
    { "processing", "gauge", "1: it takes units out of input/work", processing },
    { "forwarding", "gauge", "1: it sends what is in output/finished", forwarding },
    { "slots", "gauge", "units that may run at the same time", slots },
    { "running", "gauge", "units that run, paused ones too", running },
    { "transfers", "gauge", "transfers under way", transfers },
    { "problems", "gauge", "things that keep units from moving", problems },
    { "completed_total", "counter", "units that were processed", completed },
    { "failed_total", "counter", "units that failed", failed },
    { "forwarded_total", "counter", "units that every destination has", forwarded },
    { "unit_seconds_total", "counter", "time spent on completed units", unit_seconds },
    { "waiting_seconds_total", "counter", "time without work", waiting_seconds },
    { "off_seconds_total", "counter", "time with the monitor stopped", off_seconds },
};

/* --- Text ------------------------------------------------------------------------------
 */

static void head(Buf *out, const char *prefix, const Meter *meter)
{
    buf_printf(out, "# HELP pawl_%s_%s %s\n# TYPE pawl_%s_%s %s\n", prefix, meter->name,
               meter->help, prefix, meter->name, meter->type);
}

static void write_meter(Buf *out, const Meter *meter, Processor *processors,
                        int64_t boot_ms)
{
    int written = 0;
    double rest = 0;
    head(out, "processor", meter);
    for (Processor *at = processors; at; at = at->next) {
        double value = at->gone ? 0 : meter->read(at, boot_ms);
        if (at->gone)
            continue;
        if (written == METERS_MAX)
            rest += value;
        else
            buf_printf(out, "pawl_processor_%s{processor=\"" SLICE_FMT "\"} %.10g\n",
                       meter->name, SLICE_ARG(at->plan.name), value);
        written += written < METERS_MAX;
    }
    if (rest > 0)
        buf_printf(out, "pawl_processor_%s{processor=\"other\"} %.10g\n", meter->name,
                   rest);
}

static void write_units(Buf *out, Processor *processors, int64_t boot_ms)
{
    static const Meter meter = { "units", "gauge", "units in each bucket", NULL };
    int written = 0;
    head(out, "processor", &meter);
    for (Processor *at = processors; at && written < METERS_MAX; at = at->next) {
        if (!at->open || at->gone)
            continue;
        written++;
        for (Bucket bucket = 0; bucket < BUCKETS; bucket++)
            buf_printf(out,
                       "pawl_processor_units{processor=\"" SLICE_FMT
                       "\",bucket=\"%s\"} %lld\n",
                       SLICE_ARG(at->plan.name), bucket_path(bucket),
                       (long long)bucket_count(&at->buckets, bucket, boot_ms));
    }
}

static void write_brokers(Buf *out, const Broker *brokers)
{
    static const Meter divided = { "divided_total", "counter",
                                   "units given to processors", NULL };
    static const Meter trouble = { "problems", "gauge",
                                   "things that keep units from being given", NULL };
    head(out, "broker", &divided);
    for (const Broker *at = brokers; at; at = at->next)
        buf_printf(out, "pawl_broker_divided_total{broker=\"" SLICE_FMT "\"} %llu\n",
                   SLICE_ARG(at->plan.name), (unsigned long long)at->sender.rate.total);
    head(out, "broker", &trouble);
    for (const Broker *at = brokers; at; at = at->next)
        buf_printf(out, "pawl_broker_problems{broker=\"" SLICE_FMT "\"} %zu\n",
                   SLICE_ARG(at->plan.name), at->troubles.count);
}

void meters_write(Buf *out, Processor *processors, const Broker *brokers, int64_t boot_ms)
{
    for (size_t i = 0; i < sizeof meters / sizeof *meters; i++)
        write_meter(out, &meters[i], processors, boot_ms);
    write_units(out, processors, boot_ms);
    write_brokers(out, brokers);
}
