/* SPDX-License-Identifier: Apache-2.0 */
/* held_jobs.h - held jobs, for those who put lanes in order: a lane waits since its first
 * job does, and one that is held before it counts (S3.55), though it does not start. */
#ifndef STORE_HELD_JOBS_H
#define STORE_HELD_JOBS_H

#include "base/map.h"
#include "store/store.h"

#define FROZEN_MAX 10000 /* the newest count; a lane's own are few */

typedef struct HeldJobs {
    Arena arena;
    Map lanes; /* hash of a lane -> its first HeldJob */
} HeldJobs;

/* Every held job of a store, up to FROZEN_MAX. */
MUST_CHECK Err held_jobs_each(Store *store, const JobSink *sink, Error *why);

MUST_CHECK Err held_jobs_load(HeldJobs *frozen, Store *store, Error *why);
void held_jobs_done(HeldJobs *frozen);

/* Since when the lane of `head` waits: its first ready job, with tenant, queue, type,
 * flags, priority, dt and id; age_ms as in queue.h. */
int64_t held_jobs_since(const HeldJobs *frozen, const Job *head, int64_t age_ms);

#endif
