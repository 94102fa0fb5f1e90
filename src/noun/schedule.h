/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.h - a schedule: when to add a job, which one, and what to do when times were
 * missed or the job before still runs. How far it has come is in core/schedule.h.
 *
 * The bytes of its time zone are part of it: what a schedule means does not change
 * because a file did. Plain data; slices are borrowed. */
#ifndef NOUN_SCHEDULE_H
#define NOUN_SCHEDULE_H

#include "noun/noun.h"

#define SCHEDULE_TABLE     "schedule"
#define SCHEDULE_CRON_MAX  255
#define SCHEDULE_ZONE_NAME 64

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

typedef struct Schedule {
    Slice cron;
    Slice tz;   /* name, "UTC" where none was given */
    Slice zone; /* its TZif bytes; empty: UTC */
    Missed missed;
    Overlap overlap;
    bool paused;
    Slice job; /* packed: what it adds */
} Schedule;

/* Its own fields. Those of the jobs that it adds are the job's: NounIn.other() reads
 * them. */
extern const Noun schedule_noun;

void schedule_pack(Buf *out, const Schedule *schedule);
MUST_CHECK Err schedule_unpack(Slice packed, Schedule *out);
Schedule schedule_copy(Arena *arena, const Schedule *schedule);

#endif
