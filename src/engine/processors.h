/* SPDX-License-Identifier: Apache-2.0 */
/* processors.h - between the daemon and the pipeline of directories (src/pipeline): what
 * the pipeline asks becomes calls like those of any door, what becomes of its jobs is
 * told to it. */
#ifndef ENGINE_PROCESSORS_H
#define ENGINE_PROCESSORS_H

#include "core/effect.h"
#include "engine/call.h"
#include "store/store.h"

struct Plan;
struct SignalOrder;

#define PROCESSOR_TABLE "processors" /* definitions: key is the name, value JSON text */
#define BROKER_TABLE    "brokers"
#define PLACE_TABLE     "places" /* tenant: the node; where each of its processors is */

/* Whose processors are this node's: on a shared store each node has its own, under its
 * sysid as their tenant; a store of its own has them under none. Any thread. */
Slice processors_home(const Daemon *daemon);

/* Makes the pipeline with what store and configuration define; started later. */
MUST_CHECK Err processors_open(Daemon *daemon, Error *why);
void processors_start(Daemon *daemon);

/* An order to a processor of this node; one that the file declares is not changed. */
void processors_give(Daemon *daemon, struct SignalOrder *order);

/* A plan as JSON; what is in it lives in the arena. */
MUST_CHECK Err processors_read_plan(Slice name, Slice text, Arena *arena,
                                    struct Plan *out, Error *why);

/* A job has changed; a definition has. Loop thread. */
void processors_changed(Daemon *daemon, const Effect *effect);
void processors_defined(Daemon *daemon, const Effect *effect);

/* Whether a job that works on a unit still has it: a broker may have given it to another
 * while this node was lost. */
bool processors_have(const Job *job);

/* A command that works on a unit begins without what an earlier run left as output. The
 * new words live in the arena. */
Slice processors_command(Arena *arena, Slice command);

#endif
