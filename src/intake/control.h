/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - 000's control files: a <batch-job> document as a job.
 *
 * The document itself is the job's payload. What stands in it is checked when it is
 * accepted; when the job starts, its variables are taken out of it again. A fault names
 * line and column. */
#ifndef INTAKE_CONTROL_H
#define INTAKE_CONTROL_H

#include "core/job.h"
#include "intake/xml_in.h"
#include "noun/problem.h"

#define CONTROL_SPACE      "urn://batch-master"
#define CONTROL_TYPE       "batch-job" /* of jobs that run a module */
#define CONTROL_PARAMS_MAX 256
#define CONTROL_NOTIFY_MAX 16

typedef struct ControlRules {
    Slice tenant;
    const char *modules_root; /* for documents that name none; absolute */
    uint64_t payload_bytes_max;
} ControlRules;

/* A job out of a document; its slices live in the arena. The problem's words:
 * malformed_xml, invalid_control, payload_too_large, run_as_not_allowed. */
MUST_CHECK Err control_read(Slice document, const ControlRules *rules, Arena *arena,
                            Job *out_job, Problem *why);

/* Whether a module's output is meant as a control document: its root says so. */
bool control_meant(Slice text);

/* Whether it holds <rerun/>: returned by a module, and with the name and module of its
 * own job, it asks for another run of that job as it is. */
bool control_reruns(Slice document);

/* The variables that a module gets, each ended by NUL: BATCH_DOCUMENT_URI=..., and one
 * BATCH_PARAM_<NAME> per option. Nothing for a document that cannot be read. */
void control_variables(Slice document, Buf *out_env);

/* ERR_DENIED: the module's file lies, links resolved, outside the root in which it must
 * be. A file that is not there is not told here but by its start. */
MUST_CHECK Err control_module_inside(const char *root, const char *module, Error *why);

/* The root under which the module of a document must be: its own, or the usual one. */
Slice control_root(Slice document, const char *usual, Arena *arena);

#endif
