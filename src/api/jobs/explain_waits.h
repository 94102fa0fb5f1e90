/* SPDX-License-Identifier: Apache-2.0 */
/* explain_waits.h - what a blocked job waits for: which job, and what became of it. */
#ifndef API_JOBS_EXPLAIN_WAITS_H
#define API_JOBS_EXPLAIN_WAITS_H

#include "core/after.h"
#include "engine/call.h"

typedef struct WaitedFor {
    JobId id; /* 0: none was found */
    AfterOn on;
    JobState state;
} WaitedFor;

/* The first of its `after` that has not ended as asked. One that has ended otherwise
 * comes first: only a person can help there. */
MUST_CHECK Err waited_for_find(Store *store, const Job *job, WaitedFor *out, Error *why);

/* "it waits for job ...", and the command that helps. */
void waited_for_say(const WaitedFor *waited, const Job *job, Buf *text, Buf *command);

#endif
