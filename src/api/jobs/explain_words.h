/* SPDX-License-Identifier: Apache-2.0 */
/* explain_words.h - what stands in the way of a job, in words, and what would help. */
#ifndef API_JOBS_EXPLAIN_WORDS_H
#define API_JOBS_EXPLAIN_WORDS_H

#include "base/buf.h"
#include "core/dispatch/reasons.h"

/* The stable word, e.g. "queue_paused". */
const char *reason_word(ReasonKind kind);

/* A sentence, and a command that would help (nothing is added if none would). */
void reason_text(const Reason *reason, const Job *job, int64_t wall_ms, Buf *out);
void reason_help(const Reason *reason, const Job *job, Buf *out);

#endif
