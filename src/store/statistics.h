/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.h - what a store tells about the past: sums of periods, by kind of job. */
#ifndef STORE_STATISTICS_H
#define STORE_STATISTICS_H

#include "base/slice.h"

#include <stdint.h>

#define ROLLUP_CODES 4 /* ok, failed, retry, error */

typedef struct RollupCounts {
    uint64_t added;
    uint64_t started;
    uint64_t finished[ROLLUP_CODES]; /* attempts, by how they ended */
    int64_t wait_ms;                 /* sum over those started */
    int64_t run_ms;                  /* sum over those finished */
} RollupCounts;

/* What happened in one period (a minute, an hour or a day) to jobs of one kind. */
typedef struct Rollup {
    int64_t span_ms;
    int64_t at_ms; /* its start */
    Slice tenant;
    Slice queue;
    Slice type;       /* "*": kinds that were too many to be told apart */
    int32_t priority; /* -1: below 0; 11: above 10 */
    RollupCounts counts;
} Rollup;
typedef void RollupSink(void *context, const Rollup *rollup);

#endif
