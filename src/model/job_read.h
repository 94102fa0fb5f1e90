/* SPDX-License-Identifier: Apache-2.0 */
/* job_read.h - a job out of what a client sent: every field checked, nothing ignored.
 *
 * A field that is unknown, of the wrong type, not settable or not supported by this
 * version is refused with a pointer to it. Slices of the job borrow from the JSON or
 * live in the reader's arena. */
#ifndef MODEL_JOB_READ_H
#define MODEL_JOB_READ_H

#include "core/event.h"
#include "noun/work.h"

#define JOB_TAGS_MAX        64
#define JOB_TAG_BYTES_MAX   128
#define JOB_PARAM_BYTES_MAX 65536

/* What is the same for all jobs of a request. */
typedef struct JobRules {
    Slice tenant; /* for jobs that name none */
    Slice trace;  /* the request's traceparent, or none */
    int64_t wall_ms;
    uint64_t payload_bytes_max;
    bool tenant_fixed; /* it may name no other */
    bool tenant_named; /* likewise: the request has said whose jobs they are */
} JobRules;

typedef struct JobReader {
    const JobRules *rules;
    Arena *arena;
    Job job;
    uint64_t seen; /* one bit per field of the table in job_read.c */
    Problem why;   /* set after an error */
} JobReader;

/* A whole object: reader->job is complete after ERR_OK. */
MUST_CHECK Err job_read(JobReader *reader, const JsonIn *object);

/* Field by field, as the query of the founding path names them (scalars only), then
 * job_read_end() for what depends on several. */
void job_read_begin(JobReader *reader);
MUST_CHECK Err job_read_param(JobReader *reader, Slice name, Slice value);
MUST_CHECK Err job_read_end(JobReader *reader);

/* One field of an object that has it in common with a job (a handler). */
MUST_CHECK Err job_read_field(JobReader *reader, const JsonIn *field);

/* The object of PATCH. */
MUST_CHECK Err patch_read(JobReader *reader, const JsonIn *object, Patch *out_patch);

#endif
