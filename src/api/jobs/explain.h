/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - why a job is or is not running, in words and fields. */
#ifndef API_JOBS_EXPLAIN_H
#define API_JOBS_EXPLAIN_H

#include "access/audit_row.h"
#include "api/jobs/explain_waits.h"
#include "base/json_out.h"
#include "core/dispatch/reasons.h"
#include "http/exchange.h"

void api_job_explain(Exchange *exchange);

/* An estimate of when a job's turn comes rests on so many starts of its queue in so long
 * a time at least, of the last EXPLAIN_PACE_MS. */
#define EXPLAIN_PACE_MS    (15 * MS_PER_MIN)
#define EXPLAIN_PACE_LEAST (1 * MS_PER_MIN)
#define EXPLAIN_PACE_JOBS  5

#define EXPLAIN_AHEAD_MAX 1000 /* jobs before it are counted up to here */

/* Everything that the explanation is made of. */
typedef struct ExplainFacts {
    const Job *job;
    int64_t wall_ms;
    NodeFacts node; /* of the node that decides about the job: */
    Slice sysid;    /* its name, */
    bool elsewhere; /* another than the one that was asked, */
    bool lost;      /* whose lease is over */
    bool enabled;
    uint32_t ahead;        /* ready jobs of its lane that go first */
    bool ahead_more;       /* at least so many */
    uint64_t pace;         /* jobs of its queue that were started in the last pace_ms, */
    int64_t pace_ms;       /* which begin with the first of them */
    WaitedFor waited;      /* blocked: the job that it waits for, */
    bool disabled;         /* blocked: its type has a handler, which is switched off */
    uint32_t slot;         /* running: where; 0: not here */
    const Reason *reasons; /* what stands in the way of a waiting job, in order */
    size_t reason_count;
    AuditRow by;        /* who brought it into this state; at_ms 0: not known */
    AuditRow paused_by; /* who paused its queue; likewise */
} ExplainFacts;

/* Pure: the object that the answer is. */
void explain_json(JsonOut *json, const ExplainFacts *facts);

#endif
