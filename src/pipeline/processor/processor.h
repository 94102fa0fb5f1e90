/* SPDX-License-Identifier: Apache-2.0 */
/* processor.h - a processor of document 004: units in `input/work` become jobs.
 *
 * The directory is the truth about units, the job is how one is run. What must hold:
 * a unit is claimed by renaming it to `input/active`; its end renames its output, then
 * its input; whatever dies in between, processor_open() finds out what is left to do from
 * the buckets and the jobs alone. Only the pipeline's thread touches a processor. */
#ifndef PIPELINE_PROCESSOR_PROCESSOR_H
#define PIPELINE_PROCESSOR_PROCESSOR_H

#include "core/job.h"
#include "pipeline/forward/plan.h"
#include "pipeline/forward/sender.h"
#include "pipeline/jobs_port.h"
#include "pipeline/processor/bucket.h"
#include "pipeline/processor/rate.h"
#include "pipeline/trouble.h"

#define PROCESSOR_QUEUE "processor:" /* and the name */
#define ARRIVED_DIR     "arrived"    /* below .pawl: who delivered what */
#define ARRIVING_DIR    ".arrived"   /* below input/receive: what an rsync daemon got */

typedef enum UnitFate {
    FATE_OF_JOB, /* as its job ends */
    FATE_BACK,   /* its run is being undone: back to work */
} UnitFate;

/* A unit in hand: in input/active, with a job that is not final. */
typedef struct Unit {
    struct Unit *next;
    JobId job;
    JobState state;
    UnitFate fate;
    int64_t ran_ms; /* its attempts, together */
    char name[UNIT_BYTES_MAX + 1];
} Unit;

typedef struct SignalOrder SignalOrder;

typedef struct Processor {
    struct Processor *next;
    struct Pipeline *pipeline;
    Arena arena; /* holds the plan */
    Plan plan;
    char queue[sizeof PROCESSOR_QUEUE + 128];
    char id[256]; /* what `identify` answers */
    Buckets buckets;
    bool open;
    Sender sender;
    Troubles troubles;

    bool monitor;       /* takes work; remembered */
    bool forwarder;     /* sends; remembered */
    bool all_once;      /* process-all: take everything there is, monitor or not */
    bool gone;          /* destroyed */
    unsigned suspended; /* resets that are under way */
    SignalOrder *pending;

    Unit *units;
    size_t unit_count;
    Unit **ended; /* whose renames are due */
    size_t ended_count;
    size_t ended_capacity;
    size_t ended_stuck; /* of them, those that failed before */
    BucketWalk work_walk;
    bool walk_took; /* a unit, since it began */
    BucketWalk arrivals_walk;
    BucketWalk tidy_walk;     /* of the records of deliveries */
    int64_t tidy_boot;        /* the next one begins */
    int64_t claim_after_boot; /* after a failure */

    int watches[3]; /* of inotify; -1: none */

    int64_t opened_boot;
    int64_t looked_boot;
    int64_t waiting_ms; /* monitor on, nothing to do */
    int64_t off_ms;     /* monitor off */
    uint64_t done;
    uint64_t failed;
    int64_t unit_ms_min;
    int64_t unit_ms_max;
    int64_t unit_ms_sum;
    Rate rate;
} Processor;

/* Makes and checks the buckets, takes over what runs, resets what does not (S4.33). A
 * processor that cannot be opened is kept, closed, with its trouble. */
Processor *processor_new(struct Pipeline *pipeline, const Plan *plan);
MUST_CHECK Err processor_open(Processor *processor, Error *why);
void processor_free(Processor *processor);

/* Looks, claims, forwards. Returns true if there is more to do at once. */
bool processor_step(Processor *processor, int64_t boot_ms);

/* The time since the last call was spent as its switches and units are now: to be called
 * before they change, and before anyone is told. */
void processor_count_time(Processor *processor, int64_t boot_ms);

/* A job of its queue is now in `state`; an attempt that ended with that took `run_ms`. */
void processor_note(Processor *processor, JobId id, JobState state, int64_t run_ms);

Unit *processor_unit(const Processor *processor, const char *name);

/* Claims one unit out of `input/work`, slots or not. */
MUST_CHECK Err processor_claim(Processor *processor, const char *name, Error *why);

/* Other nodes of the store learn where it is, or that it is gone. */
void processor_publish(Processor *processor, bool gone);

/* Keeps the switches over restarts. */
MUST_CHECK Err processor_remember(const Processor *processor, Error *why);

/* Says and logs it, once for each unit and text. */
void processor_trouble(Processor *processor, const char *unit, const char *format, ...)
    PRINTF_LIKE(3, 4);

#endif
