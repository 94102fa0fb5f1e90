/* SPDX-License-Identifier: Apache-2.0 */
/* jobs_port.h - what the pipeline needs of the engine that runs jobs: add, act, ask.
 *
 * Each call waits for its answer, so only the pipeline's own thread may call. Once the
 * engine is closing every call answers ERR_UNAVAILABLE. What becomes of the jobs is told
 * by pipeline_note(). */
#ifndef PIPELINE_JOBS_PORT_H
#define PIPELINE_JOBS_PORT_H

#include "core/event.h"

typedef void JobsSink(void *context, const Job *job);

typedef struct JobsQuestion {
    Slice queue;
    JobStates states;
    uint32_t limit; /* newest first; 0: all of them */
} JobsQuestion;

typedef struct JobsPort {
    void *context;
    /* Durable when it returns; ids in the order of the jobs. A key makes a repeat give
     * the same job again. */
    Err (*add)(void *context, Job *jobs, size_t count, JobId *out_ids, Error *why);
    Err (*add_once)(void *context, Job *job, Slice key, Error *why);
    Err (*act)(void *context, JobId id, Action action, Error *why);
    Err (*ask)(void *context, const JobsQuestion *question, JobsSink *sink,
               void *sink_context, Error *why);
    /* Tells all nodes of the store where a processor is; no directory: it is gone. NULL:
     * no one else has the store. */
    Err (*publish)(void *context, Slice name, Slice dir, Slice address, Error *why);
    Err (*job)(void *context, JobId id, JobsSink *sink, void *sink_context, Error *why);
} JobsPort;

#endif
