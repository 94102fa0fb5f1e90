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

#define SCHEDULE_TABLE  "schedule"
#define SCHEDULE_STATES "schedule_state"

/* Times that passed while no one was there to see them. */
typedef enum Missed {
    MISSED_SKIP, /* are forgotten */
    MISSED_ONCE, /* give one job, for the last of them */
    MISSED_ALL,  /* give a job each */
} Missed;
#define MISSED_WORDS (MISSED_ALL + 1)

/* The job before is not final yet. */
typedef enum Overlap {
    OVERLAP_ALLOW,   /* never mind */
    OVERLAP_SKIP,    /* this time gives no job */
    OVERLAP_QUEUE,   /* this time waits for it, and later ones behind */
    OVERLAP_REPLACE, /* it is cancelled */
} Overlap;
#define OVERLAP_WORDS (OVERLAP_REPLACE + 1)

const char *missed_name(Missed missed);
const char *overlap_name(Overlap overlap);
MUST_CHECK Err missed_parse(Slice text, Missed *out);
MUST_CHECK Err overlap_parse(Slice text, Overlap *out);

typedef struct Schedule {
    Slice cron;
    Slice tz;   /* name, "UTC" where none was given */
    Slice zone; /* its TZif bytes; empty: UTC */
    Missed missed;
    Overlap overlap;
    bool paused;
    Slice job; /* packed: what it adds */
} Schedule;

void schedule_pack(Buf *out, const Schedule *schedule);
MUST_CHECK Err schedule_unpack(Slice packed, Schedule *out);
Schedule schedule_copy(Arena *arena, const Schedule *schedule);

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
