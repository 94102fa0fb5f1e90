/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - see metrics.h. */
#include "watch/metrics.h"

#include "base/map.h"
#include "store/damage.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define BUCKETS_MAX 16

/* Upper bounds in seconds; a last one without bound is always there. */
static const double io_bounds[] = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                    0.025,  0.05,    0.1,    0.25,  0.5,    1,     2.5 };
static const double job_bounds[] = { 0.001, 0.005, 0.01, 0.05, 0.1, 0.5,  1,    2.5,
                                     5,     10,    30,   60,   300, 1800, 3600, 21600 };

typedef struct Histogram {
    const char *name;
    const char *help;
    const double *bounds;
    size_t bound_count;
    uint64_t buckets[BUCKETS_MAX + 1];
    uint64_t count;
    double sum;
} Histogram;

typedef struct QueueCounters {
    uint64_t added[METRICS_PRIORITIES];
    uint64_t started[METRICS_PRIORITIES];
    uint64_t finished[METRICS_PRIORITIES][METRICS_CODES];
} QueueCounters;

typedef enum HistogramName {
    HISTOGRAM_WAIT,
    HISTOGRAM_RUN,
    HISTOGRAM_APPEND,
    HISTOGRAM_SYNC,
    HISTOGRAM_COMMIT,
} HistogramName;
#define HISTOGRAMS (HISTOGRAM_COMMIT + 1)

struct Metrics {
    Names queues; /* number - 1 is the place in counters; the last place is "other" */
    QueueCounters counters[METRICS_QUEUES_MAX + 1];
    Histogram histograms[HISTOGRAMS];
    int64_t unfinished;
    uint64_t journal_lag_bytes;
};

#define BOUNDS(table) .bounds = (table), .bound_count = sizeof(table) / sizeof *(table)

Metrics *metrics_new(void)
{
    Metrics *metrics = MEM_NEW(Metrics);
    metrics->histograms[HISTOGRAM_WAIT] =
        (Histogram){ "pawl_job_wait_seconds", "from due to start", BOUNDS(job_bounds) };
    metrics->histograms[HISTOGRAM_RUN] =
        (Histogram){ "pawl_job_run_seconds", "of one attempt", BOUNDS(job_bounds) };
    metrics->histograms[HISTOGRAM_APPEND] =
        (Histogram){ "pawl_journal_append_seconds", "writing to the journal",
                     BOUNDS(io_bounds) };
    metrics->histograms[HISTOGRAM_SYNC] =
        (Histogram){ "pawl_journal_sync_seconds", "making the journal durable",
                     BOUNDS(io_bounds) };
    metrics->histograms[HISTOGRAM_COMMIT] =
        (Histogram){ "pawl_store_commit_seconds", "one transaction of the store",
                     BOUNDS(io_bounds) };
    return metrics;
}

void metrics_free(Metrics *metrics)
{
    if (!metrics)
        return;
    names_done(&metrics->queues);
    mem_free(metrics);
}

/* --- Counting -------------------------------------------------------------------- */

static void observe(Histogram *histogram, double seconds)
{
    size_t at = 0;
    while (at < histogram->bound_count && seconds > histogram->bounds[at])
        at++;
    histogram->buckets[at]++;
    histogram->count++;
    histogram->sum += seconds;
}

static QueueCounters *counters_of(Metrics *metrics, Slice queue)
{
    uint32_t number = names_find(&metrics->queues, queue);
    if (!number && metrics->queues.count < METRICS_QUEUES_MAX)
        number = names_intern(&metrics->queues, queue);
    return &metrics->counters[number ? number - 1 : METRICS_QUEUES_MAX];
}

static size_t priority_index(int64_t priority)
{
    if (priority < 0)
        return 0;
    return priority > 10 ? METRICS_PRIORITIES - 1 : (size_t)priority + 1;
}

void metrics_load(void *context, const LaneCount *count)
{
    Metrics *metrics = context;
    if (!state_in(count->state, STATES_FINAL))
        metrics->unfinished += (int64_t)count->count;
}

static void count_unfinished(Metrics *metrics, const Effect *effect)
{
    bool before = !effect->added && !state_in(effect->was, STATES_FINAL);
    bool after = !state_in(effect->state, STATES_FINAL);
    metrics->unfinished += ((int)after - (int)before) * (int64_t)effect->count;
}

void metrics_changed(Metrics *metrics, const Effect *effect)
{
    QueueCounters *queue = counters_of(metrics, effect->queue);
    size_t priority = priority_index(effect->priority);
    count_unfinished(metrics, effect);
    if (effect->added)
        queue->added[priority] += effect->count;
    if (effect->state == JOB_RUNNING && !state_in(effect->was, STATES_OWNED)) {
        queue->started[priority]++;
        observe(&metrics->histograms[HISTOGRAM_WAIT], (double)effect->wait_ms / MS_PER_S);
    }
    if (effect->code) {
        queue->finished[priority][effect->code - CODE_OK]++;
        observe(&metrics->histograms[HISTOGRAM_RUN], (double)effect->run_ms / MS_PER_S);
    }
}

void metrics_journal_append(Metrics *metrics, double seconds)
{
    observe(&metrics->histograms[HISTOGRAM_APPEND], seconds);
}

void metrics_journal_sync(Metrics *metrics, double seconds)
{
    observe(&metrics->histograms[HISTOGRAM_SYNC], seconds);
}

void metrics_store_commit(Metrics *metrics, double seconds)
{
    observe(&metrics->histograms[HISTOGRAM_COMMIT], seconds);
}

void metrics_journal_lag(Metrics *metrics, uint64_t bytes)
{
    metrics->journal_lag_bytes = bytes;
}

/* --- Reading ---------------------------------------------------------------------- */

uint64_t metrics_unfinished(const Metrics *metrics)
{
    return metrics->unfinished > 0 ? (uint64_t)metrics->unfinished : 0;
}

static void add_totals(MetricsTotals *totals, const QueueCounters *queue)
{
    for (size_t p = 0; p < METRICS_PRIORITIES; p++) {
        totals->added += queue->added[p];
        totals->added_by[p] += queue->added[p];
        totals->started += queue->started[p];
        totals->started_by[p] += queue->started[p];
        for (size_t c = 0; c < METRICS_CODES; c++) {
            totals->finished[c] += queue->finished[p][c];
            totals->finished_by[p] += queue->finished[p][c];
        }
    }
}

MetricsTotals metrics_totals(const Metrics *metrics)
{
    MetricsTotals totals = { .journal_lag_bytes = metrics->journal_lag_bytes };
    for (size_t i = 0; i < metrics->queues.count; i++)
        add_totals(&totals, &metrics->counters[i]);
    add_totals(&totals, &metrics->counters[METRICS_QUEUES_MAX]);
    return totals;
}

const char *metrics_priority_name(size_t index)
{
    static const char *const names[METRICS_PRIORITIES] = {
        "<0", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", ">10",
    };
    return names[index];
}

const char *metrics_code_name(size_t index)
{
    return code_name((JobCode)(index + CODE_OK));
}

/* --- The text ---------------------------------------------------------------------- */

void metric_head(Buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void gauge(Buf *out, const char *name, const char *help, double value)
{
    metric_head(out, name, "gauge", help);
    buf_printf(out, "%s %.10g\n", name, value);
}

static void counter(Buf *out, const char *name, const char *help, double value)
{
    metric_head(out, name, "counter", help);
    buf_printf(out, "%s %.10g\n", name, value);
}

static Slice queue_label(const Metrics *metrics, size_t place)
{
    return place < METRICS_QUEUES_MAX
               ? names_text(&metrics->queues, (uint32_t)(place + 1))
               : SLICE_LITERAL("other");
}

typedef const uint64_t *PriorityRow(const QueueCounters *queue);

static const uint64_t *added_row(const QueueCounters *queue)
{
    return queue->added;
}

static const uint64_t *started_row(const QueueCounters *queue)
{
    return queue->started;
}

static void write_by_priority(Buf *out, const Metrics *metrics, const char *name,
                              PriorityRow *row)
{
    for (size_t i = 0; i <= METRICS_QUEUES_MAX; i++) {
        if (i == metrics->queues.count)
            i = METRICS_QUEUES_MAX;
        const uint64_t *numbers = row(&metrics->counters[i]);
        for (size_t p = 0; p < METRICS_PRIORITIES; p++) {
            if (!numbers[p])
                continue;
            buf_printf(out, "%s{queue=\"" SLICE_FMT "\",priority=\"%s\"} %llu\n", name,
                       SLICE_ARG(queue_label(metrics, i)), metrics_priority_name(p),
                       (unsigned long long)numbers[p]);
        }
    }
}

static void write_finished_of(Buf *out, const Metrics *metrics, size_t place)
{
    const QueueCounters *queue = &metrics->counters[place];
    for (size_t p = 0; p < METRICS_PRIORITIES; p++)
        for (size_t c = 0; c < METRICS_CODES; c++)
            if (queue->finished[p][c])
                buf_printf(out,
                           "pawl_jobs_finished_total{queue=\"" SLICE_FMT
                           "\",priority=\"%s\",code=\"%s\"} %llu\n",
                           SLICE_ARG(queue_label(metrics, place)),
                           metrics_priority_name(p), metrics_code_name(c),
                           (unsigned long long)queue->finished[p][c]);
}

static void write_histogram(Buf *out, const Histogram *histogram)
{
    metric_head(out, histogram->name, "histogram", histogram->help);
    uint64_t below = 0;
    for (size_t i = 0; i < histogram->bound_count; i++) {
        below += histogram->buckets[i];
        buf_printf(out, "%s_bucket{le=\"%g\"} %llu\n", histogram->name,
                   histogram->bounds[i], (unsigned long long)below);
    }
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9g\n%s_count %llu\n",
               histogram->name, (unsigned long long)histogram->count, histogram->name,
               histogram->sum, histogram->name, (unsigned long long)histogram->count);
}

void metrics_write(Buf *out, const Metrics *metrics, const NodeFacts *node)
{
    metric_head(out, "pawl_jobs_added_total", "counter", "jobs accepted");
    write_by_priority(out, metrics, "pawl_jobs_added_total", added_row);
    metric_head(out, "pawl_jobs_started_total", "counter", "attempts started");
    write_by_priority(out, metrics, "pawl_jobs_started_total", started_row);
    metric_head(out, "pawl_jobs_finished_total", "counter", "attempts ended, by code");
    for (size_t i = 0; i < metrics->queues.count; i++)
        write_finished_of(out, metrics, i);
    write_finished_of(out, metrics, METRICS_QUEUES_MAX);
    for (size_t i = 0; i < HISTOGRAMS; i++)
        write_histogram(out, &metrics->histograms[i]);
    metric_head(out, "pawl_slots", "gauge", "of this node");
    uint32_t free_slots =
        node->slots > node->slots_used ? node->slots - node->slots_used : 0;
    buf_printf(out, "pawl_slots{state=\"used\"} %u\npawl_slots{state=\"free\"} %u\n",
               node->slots_used, free_slots);
    gauge(out, "pawl_nodes", "nodes that are alive", node->nodes);
    counter(out, "pawl_leases_expired_total", "leases that ended without a result",
            (double)node->lapsed);
    counter(out, "pawl_late_results_total", "results refused because they came too late",
            (double)node->late);
    gauge(out, "pawl_journal_lag_bytes", "journal bytes that the store does not have",
          (double)metrics->journal_lag_bytes);
    gauge(out, "pawl_store_damaged_jobs", "jobs whose rows are not as they were written",
          (double)damage_count());
}

/* --- From the store ------------------------------------------------------------------
 */

void queue_counts_add(void *context, const LaneCount *count)
{
    QueueCounts *counts = context;
    QueueCount *queue = NULL;
    for (size_t i = 0; i < counts->count && !queue; i++)
        if (slice_is(count->queue, counts->queues[i].name))
            queue = &counts->queues[i];
    if (!queue) {
        queue = &counts->queues[counts->count];
        bool other = counts->count == METRICS_QUEUES_MAX;
        Slice name = other ? SLICE_LITERAL("other") : count->queue;
        if (name.bytes > QUEUE_NAME_BYTES_MAX)
            name.bytes = QUEUE_NAME_BYTES_MAX;
        snprintf(queue->name, sizeof queue->name, SLICE_FMT, SLICE_ARG(name));
        counts->count += !other;
    }
    queue->jobs[count->state] += count->count;
}

void queue_counts_write(Buf *out, const QueueCounts *counts)
{
    metric_head(out, "pawl_jobs", "gauge", "jobs by queue and state");
    for (size_t i = 0; i <= METRICS_QUEUES_MAX; i++)
        for (unsigned state = 0; state < JOB_STATES; state++)
            if (counts->queues[i].jobs[state])
                buf_printf(out, "pawl_jobs{queue=\"%s\",state=\"%s\"} %llu\n",
                           counts->queues[i].name, state_name((JobState)state),
                           (unsigned long long)counts->queues[i].jobs[state]);
}

void queue_ages_write(Buf *out, const Loaded *heads, int64_t wall_ms)
{
    metric_head(out, "pawl_queue_oldest_ready_age_seconds", "gauge",
                "how long the head of the queue has waited");
    size_t most = heads->count < METRICS_QUEUES_MAX ? heads->count : METRICS_QUEUES_MAX;
    for (size_t i = 0; i < most; i++) {
        const Job *head = &heads->jobs[i];
        int64_t due_ms = job_ready_since(head);
        bool first = true;
        for (size_t k = 0; k < most; k++) {
            if (!slice_equal(heads->jobs[k].queue, head->queue))
                continue;
            first = first && k >= i;
            int64_t other_ms = job_ready_since(&heads->jobs[k]);
            due_ms = other_ms < due_ms ? other_ms : due_ms;
        }
        if (first)
            buf_printf(out,
                       "pawl_queue_oldest_ready_age_seconds{queue=\"" SLICE_FMT
                       "\"} %.3f\n",
                       SLICE_ARG(head->queue),
                       wall_ms > due_ms ? (double)(wall_ms - due_ms) / MS_PER_S : 0.0);
    }
}

/* --- The process ----------------------------------------------------------------------
 */

static double resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return 0;
    int count = -3; /* ., .. and the one that reads */
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

void process_metrics_write(Buf *out, int64_t started_ms)
{
    struct rusage usage = { 0 };
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    metric_head(out, "pawl_build_info", "gauge", "always 1");
    buf_printf(out, "pawl_build_info{version=\"%s\"} 1\n", PAWL_VERSION);
    counter(out, "process_cpu_seconds_total", "user and system time", cpu);
    gauge(out, "process_resident_memory_bytes", "resident memory", resident_bytes());
    gauge(out, "process_open_fds", "open descriptors", open_descriptors());
    gauge(out, "process_start_time_seconds", "since 1970", (double)started_ms / MS_PER_S);
}
