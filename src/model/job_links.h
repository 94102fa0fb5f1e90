/* SPDX-License-Identifier: Apache-2.0 */
/* job_links.h - fields of a job that speak of other jobs: `after`, `unique`. */
#ifndef MODEL_JOB_LINKS_H
#define MODEL_JOB_LINKS_H

#include "model/job_read.h"

/* One id, or a list of ids and {"id", "on"}: reader->job.after. */
MUST_CHECK Err job_read_after(JobReader *reader, const JsonIn *value);

/* {"key", "for", "on_conflict"}: reader->job.unique. */
MUST_CHECK Err job_read_unique(JobReader *reader, const JsonIn *value);

#endif
