/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_json.h - a schedule as the JSON object that the outside sees: its own fields
 * (model/schedule.h) and those of the jobs that it adds. */
#ifndef MODEL_SCHEDULE_JSON_H
#define MODEL_SCHEDULE_JSON_H

#include "core/schedule.h"
#include "model/job_read.h"

/* A whole object, or a patch of in->object, a Schedule. */
MUST_CHECK Err schedule_read(NounIn *in, const JsonIn *object, const JobRules *rules);

/* What it adds: the fields of a job that were asked for. */
void schedule_job_members(JsonOut *json, const Schedule *schedule);

/* That, and how far it has come. */
void schedule_facts(JsonOut *json, const Schedule *schedule, const ScheduleState *state);

/* The times that come after `after_ms`, as items of an array that is open: UTC, and the
 * clock's own. */
void schedule_preview(JsonOut *json, const Schedule *schedule, int64_t after_ms,
                      size_t count);

#endif
