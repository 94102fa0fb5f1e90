/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.h - a schedule: when to add a job, which one, and what to do when times were
 * missed or the job before still runs; and how far it has come.
 *
 * Kept in the store as definitions: SCHEDULE_TABLE has the schedule under its name,
 * SCHEDULE_STATES how far it has come. The bytes of its time zone are part of it: what a
 * schedule means does not change because a file did. Plain data; slices are borrowed. */
#ifndef CORE_SCHEDULE_H
#define CORE_SCHEDULE_H

#include "core/cron.h"
#include "core/job.h"
#include "noun/schedule.h"

#define SCHEDULE_STATES "schedule_state"

typedef struct ScheduleState {
    int64_t created_ms;
    int64_t planned_ms; /* every time up to this one has been dealt with */
    int64_t fired_ms;   /* the last that gave a job; 0: none */
    JobId job;          /* the last one it gave, by its time or by hand */
    uint64_t fired;
    uint64_t missed; /* how many */
    int64_t missed_ms;
    uint64_t skipped; /* because of an overlap */
    uint64_t dropped; /* of the missed ones of MISSED_ALL: too many at once */
    bool waiting;     /* OVERLAP_QUEUE: a time waits, so it is not missed */
} ScheduleState;

void schedule_state_pack(Buf *out, const ScheduleState *state);
MUST_CHECK Err schedule_state_unpack(Slice packed, ScheduleState *out);

#endif
