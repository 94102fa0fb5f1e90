/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - see series.h. */
#include "api/series.h"

#include "api/common.h"
#include "base/text.h"
#include "watch/series.h"

#define PERIOD_DEFAULT_MS MS_PER_HOUR
#define POINTS_DEFAULT    60

typedef struct Asking {
    unsigned metrics; /* a set: 1 << metric */
    int64_t to_ms;
    Series series;
} Asking;

/* "-2h", or a moment; false after it refused. */
static bool read_moment(Exchange *exchange, const char *name, int64_t now_ms,
                        int64_t *out_ms)
{
    Slice text = exchange_param(exchange, name);
    if (!text.data)
        return true;
    int64_t ago_ms;
    if (text.bytes > 1 && *text.data == '-' &&
        !duration_parse(slice_from(text, 1), &ago_ms, NULL)) {
        *out_ms = now_ms - ago_ms;
        return true;
    }
    if (!time_parse(text, out_ms))
        return true;
    exchange_refuse(exchange, "invalid_value",
                    "%s is a time such as 2026-11-15T21:46:00Z, or -2h", name);
    return false;
}

static int word_of(Slice word, const char *(*name)(unsigned), unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (slice_is(word, name(i)))
            return (int)i;
    return -1;
}

static const char *metric_name(unsigned index)
{
    return series_metric_name((SeriesMetric)index);
}

static const char *by_name(unsigned index)
{
    return series_by_name((SeriesBy)index);
}

static bool read_metrics(Exchange *exchange, Asking *asking)
{
    Slice rest = exchange_param(exchange, "metric");
    if (!rest.data)
        rest = SLICE_LITERAL("finished");
    while (rest.bytes) {
        int metric = word_of(slice_cut(&rest, ','), metric_name, SERIES_METRICS);
        if (metric < 0) {
            exchange_refuse(exchange, "invalid_value",
                            "metric is of added, started, finished, ok, failed, retry, "
                            "error, wait_ms, run_ms, separated by commas");
            return false;
        }
        asking->metrics |= 1u << metric;
    }
    return true;
}

static bool read_by(Exchange *exchange, Series *series)
{
    Slice word = exchange_param(exchange, "by");
    int by = word.data ? word_of(word, by_name, SERIES_BYS) : BY_NOTHING;
    if (by < 0) {
        exchange_refuse(exchange, "invalid_value",
                        "by is one of none, queue, type, priority, tenant, outcome");
        return false;
    }
    series->by = (SeriesBy)by;
    return true;
}

/* Whole minutes; without `step` about as many points as a small chart has. */
static bool read_step(Exchange *exchange, int64_t period_ms, int64_t *out_ms)
{
    Slice text = exchange_param(exchange, "step");
    Error why = { 0 };
    int64_t step_ms = period_ms / POINTS_DEFAULT;
    if (text.data && duration_parse(text, &step_ms, &why)) {
        exchange_refuse(exchange, "invalid_value", "step: %s", why.text);
        return false;
    }
    step_ms = (step_ms + MS_PER_MIN - 1) / MS_PER_MIN * MS_PER_MIN;
    *out_ms = step_ms ? step_ms : MS_PER_MIN;
    return true;
}

static bool read_times(Exchange *exchange, Asking *asking)
{
    int64_t now_ms = clock_now().wall_ms;
    int64_t from_ms = now_ms - PERIOD_DEFAULT_MS;
    Series *series = &asking->series;
    asking->to_ms = now_ms;
    if (!read_moment(exchange, "from", now_ms, &from_ms) ||
        !read_moment(exchange, "to", now_ms, &asking->to_ms) ||
        !read_step(exchange, asking->to_ms - from_ms, &series->step_ms))
        return false;
    series->from_ms = from_ms / series->step_ms * series->step_ms;
    int64_t points =
        (asking->to_ms - series->from_ms + series->step_ms - 1) / series->step_ms;
    if (from_ms < 0 || points < 1 || points > SERIES_POINTS_MAX) {
        exchange_refuse(exchange, "invalid_value",
                        "between from and to there must be 1 to %d steps",
                        SERIES_POINTS_MAX);
        return false;
    }
    series->points = (size_t)points;
    return true;
}

static void read_series(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    Asking *asking = exchange->state;
    call->err = store->kind->rollups(store, asking->series.from_ms, series_take,
                                     &asking->series, &call->why);
}

static void reply_series(Exchange *exchange, Call *call)
{
    Asking *asking = exchange->state;
    Series *series = &asking->series;
    if (call->err) {
        exchange_failed(exchange, call);
    } else {
        JsonOut json = exchange_json(exchange);
        json_object(&json, NULL);
        json_time(&json, "from", series->from_ms);
        json_time(&json, "to", asking->to_ms);
        json_duration(&json, "step", series->step_ms);
        json_cstr(&json, "by", series_by_name(series->by));
        json_array(&json, "items");
        series_json(&json, series, asking->metrics);
        json_array_end(&json);
        json_null(&json, "next_cursor");
        json_object_end(&json);
        exchange_reply_json(exchange, 200);
    }
    series_done(series);
}

void api_series(Exchange *exchange)
{
    Asking *asking = ARENA_NEW(&exchange->arena, Asking);
    if (!api_whose(exchange))
        return;
    asking->series.tenant = exchange->whose;
    asking->series.queue = exchange_param(exchange, "queue");
    asking->series.type = exchange_param(exchange, "type");
    if (!read_metrics(exchange, asking) || !read_by(exchange, &asking->series) ||
        !read_times(exchange, asking))
        return;
    exchange->state = asking;
    exchange_read(exchange, read_series, reply_series);
}
