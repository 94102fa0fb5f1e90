/* SPDX-License-Identifier: Apache-2.0 */
/* notify_target.h - whom a control file wants told of its job's end, and how.
 *
 * A target is webhook:URL or command:WORDS (given to sh). An event is a final state, or
 * `error` for failed and rejected, or `end` for any. */
#ifndef MODEL_NOTIFY_TARGET_H
#define MODEL_NOTIFY_TARGET_H

#include "core/job.h"

#define NOTIFY_TARGET_BYTES_MAX 2048

typedef enum NotifyTargetKind {
    NOTIFY_TARGET_WEBHOOK,
    NOTIFY_TARGET_COMMAND,
} NotifyTargetKind;

/* Whether event and target make sense; else a sentence why not. */
MUST_CHECK Err notify_target_check(Slice event, Slice to, Error *why);

/* The kind and what stands behind it. ERR_INVALID: it is none. */
MUST_CHECK Err notify_target_parse(Slice to, NotifyTargetKind *out_kind, Slice *out_rest);

/* Whether the event is for a job that came to this final state. */
bool notify_target_wants(Slice event, JobState state);

#endif
