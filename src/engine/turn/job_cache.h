/* SPDX-License-Identifier: Apache-2.0 */
/* job_cache.h - whole jobs on their way from acceptance to start, so that starting one
 * soon after needs no question to the store. Bounded in bytes, oldest out first. */
#ifndef ENGINE_TURN_JOB_CACHE_H
#define ENGINE_TURN_JOB_CACHE_H

#include "base/map.h"
#include "core/job.h"

typedef struct Body Body;
typedef struct JobCache {
    Map by_id;
    Body *oldest;
    Body *newest;
    size_t bytes;
    Buf scratch;
} JobCache;

#define BODIES_AT_ONCE ((size_t)5 << 19) /* more of one load would push out its first */

size_t job_cache_put(JobCache *bodies, const Job *job); /* bytes that it took */
void job_cache_put_packed(JobCache *bodies, JobId id,
                          Slice packed);          /* as job_pack has it */
Body *job_cache_take(JobCache *bodies, JobId id); /* NULL when it is not there */
const Body *job_cache_find(const JobCache *bodies, JobId id); /* likewise; it stays */
MUST_CHECK Err body_job(const Body *body, Job *out_job);
void body_free(Body *body);
void job_cache_done(JobCache *bodies);

#endif
