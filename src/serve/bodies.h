/* SPDX-License-Identifier: Apache-2.0 */
/* bodies.h - whole jobs on their way from acceptance to start, so that starting one soon
 * after needs no question to the store. Bounded in bytes, oldest out first. */
#ifndef SERVE_BODIES_H
#define SERVE_BODIES_H

#include "base/map.h"
#include "core/job.h"

typedef struct Body Body;
typedef struct Bodies {
    Map by_id;
    Body *oldest;
    Body *newest;
    size_t bytes;
    Buf scratch;
} Bodies;

#define BODIES_AT_ONCE ((size_t)5 << 19) /* more of one load would push out its first */

size_t bodies_put(Bodies *bodies, const Job *job);              /* bytes that it took */
void bodies_put_packed(Bodies *bodies, JobId id, Slice packed); /* as job_pack has it */
Body *bodies_take(Bodies *bodies, JobId id);             /* NULL when it is not there */
const Body *bodies_find(const Bodies *bodies, JobId id); /* likewise; it stays */
MUST_CHECK Err body_job(const Body *body, Job *out_job);
void body_free(Body *body);
void bodies_done(Bodies *bodies);

#endif
