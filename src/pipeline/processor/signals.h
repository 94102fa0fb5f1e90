/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - what can be asked of a processor: 004's signals, and questions about it.
 *
 * An order is filled by whoever asks and given to the pipeline; its thread takes one
 * stage after the other (some wait for jobs to end) and calls done(). */
#ifndef PIPELINE_PROCESSOR_SIGNALS_H
#define PIPELINE_PROCESSOR_SIGNALS_H

#include "base/buf.h"
#include "base/id.h"
#include "base/mailbox.h"
#include "pipeline/forward/plan.h"
#include "pipeline/processor/bucket.h"

struct Processor;

typedef enum SignalKind {
    SIGNAL_START_MONITOR,
    SIGNAL_STOP_MONITOR,
    SIGNAL_START_FORWARDER,
    SIGNAL_STOP_FORWARDER,
    SIGNAL_RESET_ACTIVE,
    SIGNAL_RESET_PROCESSED,
    SIGNAL_RESET_ALL,
    SIGNAL_PROCESS,
    SIGNAL_PROCESS_ALL,
    SIGNAL_RE_PROCESS,
    SIGNAL_RE_PROCESS_ALL,
    SIGNAL_PURGE,
    SIGNAL_PURGE_ALL,
    SIGNAL_PAUSE,
    SIGNAL_PAUSE_ALL,
    SIGNAL_RESUME,
    SIGNAL_RESUME_ALL,
    SIGNAL_HALT,
    SIGNAL_HALT_ALL,
    SIGNAL_IDENTIFY,
    SIGNAL_STATUS, /* of a unit, if one is named */
    SIGNAL_DESTROY,
    ORDER_PUT,    /* plan: make a processor, or change it */
    ORDER_LIST,   /* all of them, as items */
    ORDER_METERS, /* all of them, as Prometheus text */
    ORDER_DROP,   /* it is no longer defined: it stops, its directory stays */
    ORDER_PUT_BROKER,
    ORDER_DROP_BROKER,
    ORDER_LIST_KNOWN, /* LIST, and `elsewhere`: those of other nodes that it knows of */
    ORDER_LOADS,      /* what waits at each, as text: lines "NAME UNITS" */
} SignalKind;
#define SIGNALS (SIGNAL_DESTROY + 1)

#define SIGNAL_HOME_BYTES 130

typedef struct SignalOrder {
    Mail mail;
    SignalKind kind;
    Slice name;                   /* of the processor, or its id */
    Slice unit;                   /* empty: none */
    Slice next;                   /* PROCESS: whom to signal after the work */
    Plan *plan;                   /* PUT */
    Slice plan_text;              /* PUT: the same as JSON */
    char home[SIGNAL_HOME_BYTES]; /* filled when it is taken: the sysid of its node, on a
                                     store of several */
    void (*done)(struct SignalOrder *order);
    void *context;

    /* The answer: `out` is a JSON object, or why not. */
    Err err;
    const char *problem; /* a stable word */
    Error why;
    Buf out;
    JobId job;    /* PROCESS: that runs the unit, while it is in hand */
    bool created; /* PUT */

    /* Of signals.c. */
    struct SignalOrder *pending;
    size_t stage;
    unsigned step; /* inside the stage */
    bool suspends;
    size_t count;
    BucketWalk walk;
    char unit_name[UNIT_BYTES_MAX + 1]; /* after DESTROY: the processor's name */
} SignalOrder;

/* Whether it is a signal that does something: not a question, nor an order of ours. */
bool signal_changes(SignalKind kind);
const char *signal_name(SignalKind kind);
MUST_CHECK Err signal_parse(Slice text, SignalKind *out_kind);

/* Whether it makes no sense without a unit. */
bool signal_needs_unit(SignalKind kind);

/* Takes stages until one has to wait. True: it is done and answered. */
bool signal_advance(SignalOrder *order, struct Processor *processor);

/* Answers an order that cannot be carried out. */
void signal_refuse(SignalOrder *order, const char *problem, Err err, const char *text);

#endif
