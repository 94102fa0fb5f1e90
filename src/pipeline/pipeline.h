/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - all processors and brokers of a node, on a thread of their own.
 *
 * Others talk to it by tasks and notes through one mailbox. inotify only wakes it up
 * early: a look at every directory each second is the truth. */
#ifndef PIPELINE_PIPELINE_H
#define PIPELINE_PIPELINE_H

#include "base/mailbox.h"
#include "pipeline/forward/peers.h"
#include "pipeline/forward/plan.h"
#include "pipeline/jobs_port.h"
#include "pipeline/processor/signals.h"

typedef struct Pipeline Pipeline;
struct Processor;

typedef struct PipelineOptions {
    const char *data_dir;
    const char *sysid;
    const char *program; /* pawl itself, for signals to other processors */
    JobsPort engine;
    void (*on_ready)(void *context); /* every directory is there; its thread */
    void *context;
} PipelineOptions;

Pipeline *pipeline_new(const PipelineOptions *options);

/* Before pipeline_start: a plan of the configuration or the store (copied). */
void pipeline_plan(Pipeline *pipeline, const Plan *plan);
void pipeline_plan_broker(Pipeline *pipeline, const Plan *plan);

void pipeline_start(Pipeline *pipeline);
bool pipeline_ready(const Pipeline *pipeline); /* any thread */

/* No more steps. The thread may still wait for an answer of the engine. */
void pipeline_stop(Pipeline *pipeline);
void pipeline_free(Pipeline *pipeline); /* joins the thread; open orders are refused */

/* Something to be done on the thread; belongs to the pipeline until done() is called. */
void pipeline_give(Pipeline *pipeline, SignalOrder *order);

/* What is known of other nodes; any thread. The news are the pipeline's from then on. */
void pipeline_tell(Pipeline *pipeline, PeersNews *news);

/* A job is now in a state, and an attempt that ended with that took `run_ms`. Any thread;
 * only queues of the pipeline's are of interest. */
typedef struct PipelineNote {
    Slice queue;
    JobId id;
    JobState state;
    int64_t run_ms;
} PipelineNote;

bool pipeline_queue(Slice queue);
void pipeline_note(Pipeline *pipeline, const PipelineNote *what);

/* --- On its thread ---------------------------------------------------------------------
 */

const PipelineOptions *pipeline_options(const Pipeline *pipeline);
struct Processor *pipeline_find(const Pipeline *pipeline, Slice name); /* or its id */
struct Processor *pipeline_first(const Pipeline *pipeline);
struct Broker *pipeline_brokers(const Pipeline *pipeline);
struct Carrier *pipeline_carrier(const Pipeline *pipeline);
const Peers *pipeline_peers(const Pipeline *pipeline);
uint64_t pipeline_number(Pipeline *pipeline); /* another one each time */

/* A new processor, or another plan for one. */
MUST_CHECK Err pipeline_put(Pipeline *pipeline, const Plan *plan, bool *out_new,
                            Error *why);

#endif
