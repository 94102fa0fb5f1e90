/* SPDX-License-Identifier: Apache-2.0 */
/* bodies.c - whole jobs between acceptance and start; see Bodies in inside.h. */
#include "serve/inside.h"

#define BODIES_BYTES_MAX ((size_t)8 << 20)
#define BODY_BYTES_MAX   ((size_t)1 << 20) /* larger ones are read from the store */

struct Body {
    Body *older;
    Body *newer;
    JobId id;
    Buf packed;
};

static void unlink_body(Bodies *bodies, Body *body)
{
    *(body->older ? &body->older->newer : &bodies->oldest) = body->newer;
    *(body->newer ? &body->newer->older : &bodies->newest) = body->older;
    bodies->bytes -= body->packed.capacity;
    map_remove(&bodies->by_id, body->id);
}

void body_free(Body *body)
{
    if (!body)
        return;
    buf_done(&body->packed);
    mem_free(body);
}

void bodies_put(Bodies *bodies, const Job *job)
{
    if (job->payload.bytes > BODY_BYTES_MAX)
        return;
    body_free(bodies_take(bodies, job->id)); /* an older one */
    Body *body = MEM_NEW(Body);
    body->id = job->id;
    job_pack(&body->packed, job);
    body->older = bodies->newest;
    *(body->older ? &body->older->newer : &bodies->oldest) = body;
    bodies->newest = body;
    bodies->bytes += body->packed.capacity;
    map_put(&bodies->by_id, job->id, body);
    while (bodies->bytes > BODIES_BYTES_MAX) {
        Body *oldest = bodies->oldest;
        unlink_body(bodies, oldest);
        body_free(oldest);
    }
}

Body *bodies_take(Bodies *bodies, JobId id)
{
    Body *body = map_find(&bodies->by_id, id);
    if (body)
        unlink_body(bodies, body);
    return body;
}

Err body_job(const Body *body, Job *out_job)
{
    return job_unpack(buf_slice(&body->packed), out_job);
}

void bodies_done(Bodies *bodies)
{
    while (bodies->oldest) {
        Body *oldest = bodies->oldest;
        unlink_body(bodies, oldest);
        body_free(oldest);
    }
    map_done(&bodies->by_id);
}
