/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.h - what the end of a process means, and what follows from it.
 *
 * RETRY 1xx, OK 2xx, FAILED 4xx, ERROR 5xx; 3xx counts as RETRY. Pure rules. */
#ifndef CORE_OUTCOME_H
#define CORE_OUTCOME_H

#include "base/rng.h"
#include "core/event.h"

JobCode code_of_exitcode(int32_t exitcode);

/* timed_out: max-run-time ended it; killed: we sent the signal that ended it. */
Outcome outcome_of(const Ending *ending, bool timed_out, bool killed);

/* A sentence for `error` when the attempt brought none of its own; "" for OK. */
void outcome_error(const Ending *ending, const Outcome *outcome, Buf *out);

typedef struct RetryRule {
    int64_t delay_ms; /* first delay */
    bool fixed;       /* the job named its delay: no doubling */
    int64_t delay_max_ms;
    int64_t window_ms; /* negative: none */
    int64_t window_from_ms;
    int32_t max_retries; /* RETRIES_UNSET: no limit by count */
    uint32_t retry_number;
} RetryRule;

typedef struct RetryStep {
    JobState state; /* JOB_RETRYING or JOB_REJECTED */
    int64_t dt_ms;
} RetryStep;

/* What follows a RETRY or ERROR that ended at wall_ms. First run is retry_number 0;
 * X retries mean X + 1 runs. */
RetryStep retry_next(const RetryRule *rule, int64_t wall_ms, Rng *rng);

#endif
