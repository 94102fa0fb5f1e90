/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - see series.h. */
#include "watch/series.h"

#include <stdio.h>

static const char *const by_names[SERIES_BYS] = {
    [BY_NOTHING] = "none",      [BY_QUEUE] = "queue",   [BY_TYPE] = "type",
    [BY_PRIORITY] = "priority", [BY_TENANT] = "tenant", [BY_OUTCOME] = "outcome",
};

static const char *const metric_names[SERIES_METRICS] = {
    [SERIES_ADDED] = "added",       [SERIES_STARTED] = "started",
    [SERIES_FINISHED] = "finished", [SERIES_OK] = "ok",
    [SERIES_FAILED] = "failed",     [SERIES_RETRY] = "retry",
    [SERIES_ERROR] = "error",       [SERIES_WAIT] = "wait_ms",
    [SERIES_RUN] = "run_ms",
};

const char *series_by_name(SeriesBy by)
{
    return by_names[by];
}

const char *series_metric_name(SeriesMetric metric)
{
    return metric_names[metric];
}

static SeriesKey *find_key(Series *series, Slice name)
{
    for (size_t i = 0; i < series->count; i++)
        if (slice_equal(series->keys[i].name, name))
            return &series->keys[i];
    if (series->count >= SERIES_KEYS_MAX && !slice_is(name, SERIES_OTHER))
        return find_key(series, SLICE_LITERAL(SERIES_OTHER));
    SeriesKey *key = &series->keys[series->count++];
    key->name = slice_copy(&series->arena, name);
    key->points = arena_take(&series->arena, series->points * sizeof(RollupCounts));
    return key;
}

static void add_counts(RollupCounts *sum, const RollupCounts *more)
{
    sum->added += more->added;
    sum->started += more->started;
    for (size_t i = 0; i < ROLLUP_CODES; i++)
        sum->finished[i] += more->finished[i];
    sum->wait_ms += more->wait_ms;
    sum->run_ms += more->run_ms;
}

static void add_to(Series *series, Slice name, size_t point, const RollupCounts *counts)
{
    SeriesKey *key = find_key(series, name);
    add_counts(&key->points[point], counts);
    add_counts(&key->total, counts);
}

/* Only the ends, one key each. */
static void add_outcomes(Series *series, size_t point, const RollupCounts *counts)
{
    for (size_t i = 0; i < ROLLUP_CODES; i++) {
        RollupCounts one = { 0 };
        one.finished[i] = counts->finished[i];
        if (counts->finished[i])
            add_to(series, slice_text(metric_names[SERIES_OK + i]), point, &one);
    }
}

static Slice key_name(const Series *series, const Rollup *rollup, char text[16])
{
    switch (series->by) {
    case BY_NOTHING:
    case BY_OUTCOME:
        break;
    case BY_QUEUE:
        return rollup->queue;
    case BY_TYPE:
        return rollup->type;
    case BY_TENANT:
        return rollup->tenant;
    case BY_PRIORITY:
        snprintf(text, 16, "%d", rollup->priority);
        if (rollup->priority < 0 || rollup->priority > 10)
            snprintf(text, 16, "%s", rollup->priority < 0 ? "<0" : ">10");
        return slice_text(text);
    }
    return SLICE_LITERAL("all");
}

void series_take(void *context, const Rollup *rollup)
{
    Series *series = context;
    int64_t point = (rollup->at_ms - series->from_ms) / series->step_ms;
    bool wanted =
        (!series->tenant.bytes || slice_equal(series->tenant, rollup->tenant)) &&
        (!series->type.bytes || slice_equal(series->type, rollup->type)) &&
        (!series->queue.bytes || slice_equal(series->queue, rollup->queue));
    if (!wanted || rollup->at_ms < series->from_ms || point >= (int64_t)series->points)
        return;
    char text[16];
    if (series->by == BY_OUTCOME)
        add_outcomes(series, (size_t)point, &rollup->counts);
    else
        add_to(series, key_name(series, rollup, text), (size_t)point, &rollup->counts);
}

static uint64_t all_finished(const RollupCounts *counts)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < ROLLUP_CODES; i++)
        sum += counts->finished[i];
    return sum;
}

static int64_t mean(int64_t sum, uint64_t count)
{
    return count ? sum / (int64_t)count : 0;
}

static int64_t value_of(const RollupCounts *counts, SeriesMetric metric)
{
    switch (metric) {
    case SERIES_ADDED:
        return (int64_t)counts->added;
    case SERIES_STARTED:
        return (int64_t)counts->started;
    case SERIES_FINISHED:
        return (int64_t)all_finished(counts);
    case SERIES_OK:
    case SERIES_FAILED:
    case SERIES_RETRY:
    case SERIES_ERROR:
        return (int64_t)counts->finished[metric - SERIES_OK];
    case SERIES_WAIT:
        return mean(counts->wait_ms, counts->started);
    case SERIES_RUN:
        return mean(counts->run_ms, all_finished(counts));
    }
    return 0;
}

void series_json(JsonOut *json, const Series *series, unsigned metrics)
{
    for (size_t i = 0; i < series->count; i++) {
        const SeriesKey *key = &series->keys[i];
        for (unsigned metric = 0; metric < SERIES_METRICS; metric++) {
            if (!(metrics & 1u << metric))
                continue;
            json_object(json, NULL);
            json_text(json, "key", key->name);
            json_cstr(json, "metric", metric_names[metric]);
            json_int(json, "total", value_of(&key->total, (SeriesMetric)metric));
            json_array(json, "points");
            for (size_t k = 0; k < series->points; k++)
                json_int(json, NULL, value_of(&key->points[k], (SeriesMetric)metric));
            json_array_end(json);
            json_object_end(json);
        }
    }
}

void series_done(Series *series)
{
    arena_done(&series->arena);
}
