/* SPDX-License-Identifier: Apache-2.0 */
/* handler.h - what a handler says of the jobs of its type (noun/handler.h) and what of it
 * counts for one of them. */
#ifndef CORE_HANDLER_H
#define CORE_HANDLER_H

#include "core/job.h"
#include "noun/handler.h"

bool lang_scripted(Lang lang); /* runs in a warm context of its language */

/* One process or context serves many jobs. */
bool handler_warm(const Handler *handler);

/* Gives a new job what its handler says and it does not say itself. Fields that the job
 * left open: queue empty, priority PRIORITY_UNSET, max_retries RETRIES_OPEN, others 0 or
 * empty. handler NULL: only the general defaults. */
#define PRIORITY_UNSET INT64_MIN
#define RETRIES_OPEN   (-2)
void handler_defaults(const Handler *handler, Job *job);

/* For a new job whose type has no handler: general defaults, and marks of what it left
 * open. When the first one comes, handler_arrives() fills that in; false: the job is not
 * marked, nothing changed. */
void handler_later(Job *job);
bool handler_arrives(const Handler *handler, Job *job);

/* The exit code that a handler's map gives an exit status; 0: none. */
int32_t exit_map_find(Slice exit_map, int32_t exit_status);

#endif
