/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - what is counted, and its Prometheus text.
 *
 * A Metrics belongs to the loop thread: it counts what the loop tells it and never looks
 * at jobs. Labels are bounded: after METRICS_QUEUES_MAX queues the rest are one queue
 * named "other"; priorities below 0 and above 10 are one value each. */
#ifndef WATCH_METRICS_H
#define WATCH_METRICS_H

#include "core/effect.h"
#include "core/node/node.h"
#include "store/store.h"

#define METRICS_QUEUES_MAX 100
#define METRICS_PRIORITIES 13 /* <0, 0 to 10, >10 */
#define METRICS_CODES      4  /* ok, failed, retry, error */

typedef struct Metrics Metrics;

Metrics *metrics_new(void);
void metrics_free(Metrics *metrics); /* NULL does nothing */

/* What the store holds at the start: a CountSink; context is the Metrics. */
void metrics_load(void *metrics, const LaneCount *count);

/* EFFECT_CHANGED. */
void metrics_changed(Metrics *metrics, const Effect *effect);

void metrics_journal_append(Metrics *metrics, double seconds);
void metrics_journal_sync(Metrics *metrics, double seconds);
void metrics_journal_lag(Metrics *metrics, uint64_t bytes);
void metrics_store_commit(Metrics *metrics, double seconds);

/* Jobs that are not final, by what was loaded and told since. */
uint64_t metrics_unfinished(const Metrics *metrics);

typedef struct MetricsTotals { /* since the daemon started */
    uint64_t added;
    uint64_t started;
    uint64_t finished[METRICS_CODES]; /* attempts, by code */
    uint64_t added_by[METRICS_PRIORITIES];
    uint64_t started_by[METRICS_PRIORITIES];
    uint64_t finished_by[METRICS_PRIORITIES];
    uint64_t journal_lag_bytes;
} MetricsTotals;
MetricsTotals metrics_totals(const Metrics *metrics);

const char *metrics_priority_name(size_t index); /* "<0", "0", ... ">10" */
const char *metrics_code_name(size_t index);

/* All that a Metrics knows. */
void metrics_write(Buf *out, const Metrics *metrics, const NodeFacts *node);

/* pawl_jobs{queue,state} out of the store's counts; context is a QueueCounts. */
typedef struct QueueCount {
    char name[QUEUE_NAME_BYTES_MAX + 1];
    uint64_t jobs[JOB_STATES];
} QueueCount;
typedef struct QueueCounts {
    QueueCount queues[METRICS_QUEUES_MAX + 1];
    size_t count;
} QueueCounts;
void queue_counts_add(void *counts, const LaneCount *count);
void queue_counts_write(Buf *out, const QueueCounts *counts);

/* pawl_queue_oldest_ready_age_seconds{queue}: jobs are the heads of the lanes. */
void queue_ages_write(Buf *out, const Loaded *heads, int64_t wall_ms);

/* pawl_build_info and what the process itself uses. */
void process_metrics_write(Buf *out, int64_t started_ms);

/* The two lines that open a metric: HELP and TYPE. */
void metric_head(Buf *out, const char *name, const char *type, const char *help);

#endif
