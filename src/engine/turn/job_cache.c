/* SPDX-License-Identifier: Apache-2.0 */
/* job_cache.c - see job_cache.h. */
#include "engine/turn/job_cache.h"

#define BODIES_BYTES_MAX ((size_t)3 << 20)
#define BODY_BYTES_MAX   ((size_t)1 << 20) /* larger ones are read from the store */
#define PACKED_BYTES_MAX                                                                 \
    (BODY_BYTES_MAX + ((size_t)64 << 10)) /* payload and the rest                        \
                                           */

struct Body {
    Body *older;
    Body *newer;
    JobId id;
    size_t bytes;
    char packed[];
};

static void unlink_body(JobCache *bodies, Body *body)
{
    *(body->older ? &body->older->newer : &bodies->oldest) = body->newer;
    *(body->newer ? &body->newer->older : &bodies->newest) = body->older;
    bodies->bytes -= body->bytes;
    map_remove(&bodies->by_id, body->id);
}

void body_free(Body *body)
{
    mem_free(body);
}

void job_cache_put_packed(JobCache *bodies, JobId id, Slice packed)
{
    if (packed.bytes > PACKED_BYTES_MAX)
        return;
    body_free(job_cache_take(bodies, id));               /* an older one */
    Body *body = mem_alloc(sizeof *body + packed.bytes); /* no more than it needs */
    body->id = id;
    body->bytes = sizeof *body + packed.bytes;
    memcpy(body->packed, packed.data, packed.bytes);
    body->older = bodies->newest;
    *(body->older ? &body->older->newer : &bodies->oldest) = body;
    bodies->newest = body;
    bodies->bytes += body->bytes;
    map_put(&bodies->by_id, id, body);
    while (bodies->bytes > BODIES_BYTES_MAX) {
        Body *oldest = bodies->oldest;
        unlink_body(bodies, oldest);
        body_free(oldest);
    }
}

size_t job_cache_put(JobCache *bodies, const Job *job)
{
    if (job->payload.bytes > BODY_BYTES_MAX)
        return 0;
    buf_clear(&bodies->scratch);
    job_pack(&bodies->scratch, job);
    job_cache_put_packed(bodies, job->id, buf_slice(&bodies->scratch));
    return sizeof(Body) + bodies->scratch.bytes;
}

Body *job_cache_take(JobCache *bodies, JobId id)
{
    Body *body = map_find(&bodies->by_id, id);
    if (body)
        unlink_body(bodies, body);
    return body;
}

const Body *job_cache_find(const JobCache *bodies, JobId id)
{
    return map_find(&bodies->by_id, id);
}

Err body_job(const Body *body, Job *out_job)
{
    return job_unpack(slice_of(body->packed, body->bytes - sizeof *body), out_job);
}

void job_cache_done(JobCache *bodies)
{
    while (bodies->oldest) {
        Body *oldest = bodies->oldest;
        unlink_body(bodies, oldest);
        body_free(oldest);
    }
    map_done(&bodies->by_id);
    buf_done(&bodies->scratch);
}
