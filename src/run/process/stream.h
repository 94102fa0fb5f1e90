/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - part of the runner: from the pipes into the spool and to lines that mean
 * something. */
#ifndef RUN_PROCESS_STREAM_H
#define RUN_PROCESS_STREAM_H

#include "run/runner.h"

/* A young attempt's pipes are not watched: most jobs are short, and all they print is in
 * the pipe when they end. The next tick watches what is still there. */
void stream_close(Runner *runner, Stream *stream);
void stream_ready(Runner *runner, Stream *stream, bool ended);
void stream_catch_up(Runner *runner, RunAttempt *attempt); /* adopted: reads its file */
void stream_finish(Runner *runner, RunAttempt *attempt);   /* all that is in the pipes */
/* Looks at all attempts soon; and does so. */
void streams_tick_soon(Runner *runner);
void streams_tick(Runner *runner);

#endif
