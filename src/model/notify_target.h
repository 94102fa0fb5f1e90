/* SPDX-License-Identifier: Apache-2.0 */
/* notify_target.h - whom a control file wants told of its job's end, and how.
 *
 * A target is webhook:URL or command:WORDS (given to sh). An event is a final state, or
 * `error` for failed and rejected, or `end` for any. */
#ifndef MODEL_NOTIFY_TARGET_H
#define MODEL_NOTIFY_TARGET_H

#include "core/job.h"
#include "noun/target.h"

/* Whether event and target make sense; else a sentence why not. */
MUST_CHECK Err notify_target_check(Slice event, Slice to, Error *why);

/* Whether the event is for a job that came to this final state. */
bool notify_target_wants(Slice event, JobState state);

#endif
