/* SPDX-License-Identifier: Apache-2.0 */
/* context_io.h - part of the runner: what goes into a warm context and what comes out. */
#ifndef RUN_CONTEXT_CONTEXT_IO_H
#define RUN_CONTEXT_CONTEXT_IO_H

#include "run/context/context.h"

/* Writes as much of its input as its pipe takes; closes it behind a retiring one. */
void context_write(Runner *runner, Context *context);

/* Reads all answers that are there and tells them. False: what came is not the
 * protocol's, and the context must end. */
bool context_read(Runner *runner, Context *context);

int64_t context_clock_us(void);

/* The oldest job in hand, which runs where jobs run in order; NULL: none. */
ContextJob *context_first(const Context *context);

/* The job in hand with this id, or NULL. */
ContextJob *context_job(const Context *context, JobId id);

/* What was printed since, into the log of the job that runs; of a context that lives or,
 * after its last answer was read, of a dead one. */
void context_look(Runner *runner, Context *context);
void context_log(Runner *runner, Context *context);

/* The job is over: it leaves, and the next one in order begins. */
void context_job_over(Runner *runner, Context *context, ContextJob *job);

/* The process of a whole batch has ended as `how` says: so have all its jobs. */
void context_whole_over(Runner *runner, Context *context, const RunAnswer *how);

/* Jobs that begin now and have a time limit are told. */
void context_tell_started(Runner *runner, Context *context);

#endif
