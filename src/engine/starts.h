/* SPDX-License-Identifier: Apache-2.0 */
/* starts.h - a job as an order to whoever runs it: the runner of processes, a warm
 * context, or the caller of http handlers. Loop thread. */
#ifndef ENGINE_STARTS_H
#define ENGINE_STARTS_H

#include "engine/turn/ports.h"

/* What cannot be started is told as RUN_FAILED, with the reason. */
void starts_start(Daemon *daemon, const Job *job, const StartHow *how);

/* All but the word, if it is a process without doubt; false: nothing was done. */
bool starts_prepare(Daemon *daemon, const Job *job, const StartHow *how);

void starts_trial(Daemon *daemon, const Job *job, int64_t deadline_ms);

/* To whoever has the attempt: the others do not know it. */
void starts_signal(Daemon *daemon, JobId id, uint32_t attempt, int number);

#endif
