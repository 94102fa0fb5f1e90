/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.h - takes away what this node's disk still keeps of jobs that are gone.
 *
 * A job that is removed takes its logs, state and files with it (EFFECT_ERASE), at other
 * nodes by a letter. A node that was away or fenced then, or a daemon that died between
 * the two, has missed it. So each node goes through its own data directory, after its
 * start and every hour, and asks its store whether those jobs are still there: a few
 * names at a time, with pauses. What has changed within the last hour is let alone:
 * whatever may still be on its way to the store has arrived by then. */
#ifndef ENGINE_LEFTOVERS_H
#define ENGINE_LEFTOVERS_H

#include "engine/call.h"

typedef struct Leftovers Leftovers;

Leftovers *leftovers_new(Daemon *daemon);
void leftovers_free(Leftovers *leftovers); /* NULL does nothing */

/* Each turn. Loop thread. NULL: of a node that is cut off, where nothing is known to be
 * gone. */
void leftovers_look(Leftovers *leftovers, Now now);
int64_t
leftovers_wake_boot(const Leftovers *leftovers); /* the next look that does something */

#endif
