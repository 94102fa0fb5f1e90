/* SPDX-License-Identifier: Apache-2.0 */
/* series.h - curves out of the store's statistics: what happened when, by kind of job.
 *
 * Every answer is bounded: at most SERIES_POINTS_MAX steps, and SERIES_KEYS_MAX keys, the
 * rest being one key `other`. */
#ifndef WATCH_SERIES_H
#define WATCH_SERIES_H

#include "base/json_out.h"
#include "store/store.h"

#define SERIES_POINTS_MAX 1500
#define SERIES_KEYS_MAX   50
#define SERIES_OTHER      "other"

typedef enum SeriesBy {
    BY_NOTHING, /* one key: `all` */
    BY_QUEUE,
    BY_TYPE,
    BY_PRIORITY,
    BY_TENANT,
    BY_OUTCOME, /* ends only: ok, failed, retry, error */
} SeriesBy;
#define SERIES_BYS (BY_OUTCOME + 1)

typedef enum SeriesMetric {
    SERIES_ADDED,
    SERIES_STARTED,
    SERIES_FINISHED,
    SERIES_OK,
    SERIES_FAILED, /* this and those behind it, up to wait: attempts by how they ended */
    SERIES_RETRY,
    SERIES_ERROR,
    SERIES_WAIT, /* mean milliseconds of those started */
    SERIES_RUN,  /* mean milliseconds of those finished */
} SeriesMetric;
#define SERIES_METRICS (SERIES_RUN + 1)

const char *series_by_name(SeriesBy by);
const char *series_metric_name(SeriesMetric metric);

typedef struct SeriesKey {
    Slice name;
    RollupCounts total;
    RollupCounts *points;
} SeriesKey;

typedef struct Series {
    int64_t from_ms; /* a multiple of step_ms */
    int64_t step_ms;
    size_t points;
    SeriesBy by;
    Slice tenant; /* empty: of all */
    Slice type;   /* only of this; empty: any */
    Slice queue;
    Arena arena;
    SeriesKey keys[SERIES_KEYS_MAX + 1];
    size_t count;
} Series;

/* A RollupSink; context is the Series. */
void series_take(void *series, const Rollup *rollup);

/* An item for each key and metric (a set: 1 << metric), in the array that is open. */
void series_json(JsonOut *json, const Series *series, unsigned metrics);

void series_done(Series *series);

#endif
