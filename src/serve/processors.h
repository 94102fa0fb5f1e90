/* SPDX-License-Identifier: Apache-2.0 */
/* processors.h - between the daemon and the pipeline of directories (src/pipeline): what
 * the pipeline asks becomes calls like those of any door, what becomes of its jobs is
 * told to it. */
#ifndef SERVE_PROCESSORS_H
#define SERVE_PROCESSORS_H

#include "core/effect.h"
#include "serve/door.h"
#include "store/store.h"

#define PROCESSOR_TABLE "processors" /* definitions: key is the name, value JSON text */
#define BROKER_TABLE    "brokers"

/* Makes the pipeline with what store and configuration define; started later. */
MUST_CHECK Err processors_open(Daemon *daemon, Error *why);
void processors_start(Daemon *daemon);

/* A job has changed; a definition has. Loop thread. */
void processors_changed(Daemon *daemon, const Effect *effect);
void processors_defined(Daemon *daemon, const Effect *effect);

/* A command that works on a unit begins without what an earlier run left as output. The
 * new words live in the arena. */
Slice processors_command(Arena *arena, Slice command);

#endif
