/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h - a handler tried out: one run of it with a payload, by the real runner, with
 * its time bounded. Nothing is stored: no job, no retry, no jobs of J: lines. */
#ifndef ENGINE_TRIAL_H
#define ENGINE_TRIAL_H

#include "core/event.h"

#define TRIALS_MAX         4 /* at once */
#define TRIAL_MS_DEFAULT   (10 * MS_PER_S)
#define TRIAL_MS_MAX       (60 * MS_PER_S)
#define TRIAL_OUTPUT_BYTES (64u << 10) /* of each stream, the last ones */

typedef struct Trial {
    /* What is asked; slices live in the call's arena, as all others here. */
    Slice handler; /* packed */
    Slice payload;
    bool binary; /* the payload gets no newline */
    int64_t timeout_ms;
    /* What came of it. */
    Outcome outcome;
    bool timed_out;
    int64_t run_ms;
    Slice result;
    Slice error;
    Slice output[2];
    Slice children; /* lines type|payload */
    int32_t progress;
    Slice message;
} Trial;

#endif
