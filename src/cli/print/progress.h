/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - how far several jobs are: a bar on a terminal, plain lines elsewhere. */
#ifndef CLI_PRINT_PROGRESS_H
#define CLI_PRINT_PROGRESS_H

#include "cli/print/term.h"

#include "base/buf.h"

#include <stdint.h>

typedef struct Progress {
    size_t total;
    size_t done;
    size_t failed; /* and rejected */
    size_t cancelled;
    size_t running;
    int64_t elapsed_ms;
} Progress;

static inline size_t progress_ended(const Progress *progress)
{
    return progress->done + progress->failed + progress->cancelled;
}

/* One line without its end, never wider than the terminal. */
void progress_bar(const Progress *progress, const Term *term, Buf *out);

/* "progress 431/1200 done=425 failed=6 cancelled=0 running=8" */
void progress_line(const Progress *progress, Buf *out);

/* Whether a plain line is due: every tenth of the way, and every 30 s. */
bool progress_due(const Progress *before, const Progress *now);

#endif
