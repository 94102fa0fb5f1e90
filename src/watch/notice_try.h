/* SPDX-License-Identifier: Apache-2.0 */
/* notice_try.h - one try to tell someone outside: a webhook or a command.
 *
 * A command is an attempt like any other: started by the launcher, with the environment,
 * descriptors, account and limits of a job, and its whole tree ends with it. A webhook is
 * a call like that of an `http` handler: to addresses that may be called. Neither is
 * stored, and neither id is that of a job. */
#ifndef WATCH_NOTICE_TRY_H
#define WATCH_NOTICE_TRY_H

#include "core/notice.h"
#include "engine/daemon_state.h"

#define NOTICE_TRY_MS (10 * MS_PER_S)

/* Begins it. Its end is an EVENT_ENDED of the id that is returned; 0: this is no target,
 * as *why says. */
JobId notice_try_begin(Daemon *daemon, Slice tenant, const Notice *notice, Error *why);

/* Whether it arrived; else *why is the sentence. */
bool notice_arrived(const Ending *ending, Error *why);

/* The same of an event; what was kept of the try is dropped. */
bool notice_try_ended(Daemon *daemon, const Event *event, Error *why);

#endif
