/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_json.h - a schedule as the JSON object that the outside sees, both ways.
 *
 * Besides its own fields (cron, tz, missed, overlap, paused) it has those of the jobs it
 * adds, read by the job's own reader; times of a job (run_at, delay) are not among them:
 * the schedule says when. */
#ifndef MODEL_SCHEDULE_JSON_H
#define MODEL_SCHEDULE_JSON_H

#include "core/schedule.h"
#include "model/job_json.h"
#include "model/job_read.h"

typedef struct ScheduleReader {
    Slice name;
    JobReader job; /* its rules and arena are given by the caller; `why` is ours too */
    Schedule schedule; /* slices in the arena, or borrowed from the JSON */
} ScheduleReader;

/* name, rules and arena must be set. */
MUST_CHECK Err schedule_read(ScheduleReader *reader, const JsonIn *object);

/* What is told of one schedule. */
typedef struct ScheduleView {
    Slice tenant;
    Slice name;
    Schedule schedule;
    ScheduleState state;
    bool declared; /* stands in the configuration file */
} ScheduleView;

void schedule_json(JsonOut *json, const ScheduleView *view);

/* The times that come after `after_ms`, as items of an array that is open: UTC, and the
 * clock's own. */
void schedule_preview(JsonOut *json, const Schedule *schedule, int64_t after_ms,
                      size_t count);

/* The i-th field, for the API description; NULL behind the last. */
const JobField *schedule_field(size_t index);

#endif
