/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.h - what the end of a process means, and what follows from it.
 *
 * RETRY 1xx, OK 2xx, FAILED 4xx, ERROR 5xx; 3xx counts as RETRY. Pure rules. */
#ifndef CORE_OUTCOME_H
#define CORE_OUTCOME_H

#include "base/rng.h"
#include "core/event.h"

JobCode code_of_exitcode(int32_t exitcode);

/* Whether a service that answers so asks to be asked again: 408, 425, 429. */
bool http_status_retries(int64_t status);

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
    int64_t window_from_ms; /* of the job from now on */
    bool window_over;       /* REJECTED: by that, not by the count */
} RetryStep;

/* What follows a RETRY or ERROR that ended at wall_ms. First run is retry_number 0;
 * X retries mean X + 1 runs. The window begins with the end of the first run: waiting for
 * it costs no retry. */
RetryStep retry_next(const RetryRule *rule, int64_t wall_ms, Rng *rng);

#endif
