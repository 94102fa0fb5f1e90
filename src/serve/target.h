/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - whom a control file wants told of its job's end, and how.
 *
 * A target is webhook:URL or command:WORDS (given to sh). An event is a final state, or
 * `error` for failed and rejected, or `end` for any. */
#ifndef SERVE_TARGET_H
#define SERVE_TARGET_H

#include "core/job.h"

#define TARGET_BYTES_MAX 2048

typedef enum TargetKind {
    TARGET_WEBHOOK,
    TARGET_COMMAND,
} TargetKind;

/* Whether event and target make sense; else a sentence why not. */
MUST_CHECK Err target_check(Slice event, Slice to, Error *why);

/* The kind and what stands behind it. ERR_INVALID: it is none. */
MUST_CHECK Err target_parse(Slice to, TargetKind *out_kind, Slice *out_rest);

/* Whether the event is for a job that came to this final state. */
bool target_wants(Slice event, JobState state);

#endif
