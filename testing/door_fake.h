/* SPDX-License-Identifier: Apache-2.0 */
/* door_fake.h - a daemon for the tests of doors: the real engine over a journal and a
 * store in memory, on one thread, with no processes. Jobs "run" until a test ends them;
 * one that is told to stop ends by itself. */
#ifndef TESTING_DOOR_FAKE_H
#define TESTING_DOOR_FAKE_H

#include "engine/call.h"

Daemon *fake_new(const char *data_dir, uint32_t slots);
void fake_free(Daemon *daemon);

/* The attempt that runs ends with this exit status and result (NULL: none). */
void fake_end(Daemon *daemon, JobId id, int exit_status, const char *result);

/* Whether new jobs are refused for lack of room. */
void fake_room(Daemon *daemon, bool room);

/* Calls stay unanswered until it is false again. */
void fake_stall(Daemon *daemon, bool stall);

/* Calls that were answered so far, and those that the fake has now. */
uint64_t fake_answered(const Daemon *daemon);
size_t fake_held(const Daemon *daemon);

void fake_not_ready(Daemon *daemon, const char *why); /* NULL: ready */

#endif
