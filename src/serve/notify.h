/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - telling of the end of a control file's job, as its <notify> asked (S0.44).
 *
 * Each target that wants the event becomes a job of its own, of type NOTIFY_TYPE: so it
 * is tried again, can be looked at, and runs as the account of the job it tells of. Loop
 * thread only. */
#ifndef SERVE_NOTIFY_H
#define SERVE_NOTIFY_H

#include "serve/inside.h"

#define NOTIFY_TYPE "notify"

/* A job came to its end: asks the store whom to tell, if it came as a control file. */
void notify_ended(Daemon *daemon, const Effect *effect);

/* The store's answer: the job at its end. */
void notify_loaded(Daemon *daemon, const Job *job);

#endif
