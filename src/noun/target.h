/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - whom to tell of something, as text: webhook:URL or command:WORDS (given to
 * sh). */
#ifndef NOUN_TARGET_H
#define NOUN_TARGET_H

#include "base/err.h"
#include "base/slice.h"

#define NOTIFY_TARGET_BYTES_MAX 2048

typedef enum NotifyTargetKind {
    NOTIFY_TARGET_WEBHOOK,
    NOTIFY_TARGET_COMMAND,
} NotifyTargetKind;

/* The kind and what stands behind it. ERR_INVALID: it is none. */
MUST_CHECK Err notify_target_parse(Slice to, NotifyTargetKind *out_kind, Slice *out_rest);

#endif
