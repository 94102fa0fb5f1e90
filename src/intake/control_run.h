/* SPDX-License-Identifier: Apache-2.0 */
/* control_run.h - a control file's job at its start and at its end.
 *
 * Loop thread only. */
#ifndef INTAKE_CONTROL_RUN_H
#define INTAKE_CONTROL_RUN_H

#include "engine/daemon_state.h"

/* The variables of a job that starts, each ended by NUL. ERR_DENIED: its module is not
 * where it must be (any more). Nothing for jobs that came otherwise. */
MUST_CHECK Err control_order(const Daemon *daemon, const Job *job, Buf *out_env,
                             Error *why);

/* What the ends of attempts among this turn's events mean for 000: a returned <batch-job>
 * becomes the ending's `returned`, a bad one a failure, anything else is logged. And what
 * an error handler will want to know of the job is added. */
void control_ends(Daemon *daemon, Event *events, size_t count);

#endif
