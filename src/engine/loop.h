/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - when a turn is taken, and by whom.
 *
 * The daemon's state belongs to whoever holds daemon->turning. The thread of the loop
 * holds it from loop_open to loop_close but for the time in which libuv looks for
 * something to do; a caller who finds it free may take one turn instead of waking it. */
#ifndef ENGINE_LOOP_H
#define ENGINE_LOOP_H

#include "engine/call.h"

void loop_open(Daemon *daemon);
/* From now on SIGTERM and SIGINT end the daemon in good order. Before, while it is being
 * opened (which may wait long for its store), they end the process at once: nothing is
 * lost by that, and nobody would turn to hear them. */
void loop_obey(Daemon *daemon);
void loop_close(Daemon *daemon);

void loop_wake(void *daemon); /* any thread */

/* Whether this thread is in the middle of a turn: then no one has to be woken. */
bool loop_is_turning(void);

/* Whether a turn will be taken soon without anyone being woken for an event: many ask,
 * and the loop will hear of the end of a sync that the event would have to wait for. */
bool loop_comes(const Daemon *daemon);

/* One turn with this call, on this thread. False if that is not possible just now: the
 * call was not taken. */
bool loop_turn_here(Daemon *daemon, Call *call);

#endif
