/* SPDX-License-Identifier: Apache-2.0 */
/* route.h - how a unit gets to a destination: into a processor of this node, into the
 * directory of another node's that can be seen from here (the same machine, a shared file
 * system), or by rsync to the address that the other node has published. */
#ifndef PIPELINE_FORWARD_ROUTE_H
#define PIPELINE_FORWARD_ROUTE_H

#include "pipeline/forward/plan.h"

struct Pipeline;
struct Processor;

typedef enum WayKind {
    WAY_NONE, /* not now: why */
    WAY_HERE, /* a processor of this node */
    WAY_DIR,  /* a directory that threads can copy into */
    WAY_JOB,  /* rsync, as a job */
} WayKind;

typedef struct Way {
    WayKind kind;
    struct Processor *here;
    Slice dir;   /* HERE, DIR */
    Place place; /* JOB: what rsync is told, under the key of the destination */
    Error why;
} Way;

void way_to(const struct Pipeline *pipeline, const Place *place, Way *out);

/* Whether a place names a processor of another node. */
bool way_elsewhere(const struct Pipeline *pipeline, const Place *place);

/* Threads copy there, or would if it could be reached. */
bool way_carries(const struct Pipeline *pipeline, const Place *place);

/* Whether its node is known to be lost; a place that names none never is. */
bool way_lost(const struct Pipeline *pipeline, const Place *place);

/* What waits there; DIVIDE_DOWN: it takes nothing now; 0: no one here knows. */
int64_t way_load(const struct Pipeline *pipeline, const Place *place);

#endif
