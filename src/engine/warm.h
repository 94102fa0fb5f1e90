/* SPDX-License-Identifier: Apache-2.0 */
/* warm.h - jobs on their way to a warm context: gathered into batches of one slot and
 * handler, each job a line of JSON. */
#ifndef ENGINE_WARM_H
#define ENGINE_WARM_H

#include "core/handler.h"
#include "run/process/process.h"

/* The batch that is being gathered. Zeroed but for the runner is empty. */
typedef struct Warm {
    Runner *runner; /* who gets it */
    uint32_t slot;  /* 0: nothing is gathered */
    uint32_t version;
    Buf tenant;
    Buf user; /* of the jobs: another one, another context */
    Buf type;
    Buf key;
    Buf argv;
    Buf env;
    Buf cwd;
    Buf handler;
    Buf define;
    Buf lines;
    bool in_order;
    bool whole; /* a shell gets the payloads as lines, and one process serves them */
    RunItem *items;
    size_t count;
    size_t capacity;
} Warm;

/* Adds a job, its attempt included. A batch of another slot or handler goes out first.
 * ERR_UNSUPPORTED: the handler's language is not here. */
MUST_CHECK Err warm_add(Warm *warm, const Handler *handler, const Job *job, uint32_t slot,
                        Error *why);

/* Hands out what is gathered. */
void warm_flush(Warm *warm);
void warm_done(Warm *warm);

/* One job as a context reads it: JSON and a newline. */
void warm_line(Buf *out, const Job *job, Slice handler);

#endif
