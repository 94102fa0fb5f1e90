/* SPDX-License-Identifier: Apache-2.0 */
/* handler_json.h - a handler as the JSON object that the outside sees, both ways.
 *
 * One table says every field. What a handler has in common with a job (queue, limits,
 * retries, env, ...) is read by the job's own reader; nothing is ignored but what the
 * daemon itself writes, so that an object of ours can be sent back. */
#ifndef MODEL_HANDLER_JSON_H
#define MODEL_HANDLER_JSON_H

#include "core/handler.h"
#include "model/job_json.h"
#include "model/job_read.h"

#define HANDLER_EID_MAX      128
#define HANDLER_EXIT_MAP_MAX 256 /* there are no more exit statuses */

typedef struct HandlerReader {
    Handler handler; /* complete after handler_read_end; begins with tenant and type */
    JobReader job;   /* its rules and arena are given by the caller; `why` is ours too */
    bool has_lang;
} HandlerReader;

/* tenant and type of reader->handler, rules and arena of reader->job must be set. */
void handler_read_begin(HandlerReader *reader);
MUST_CHECK Err handler_read(HandlerReader *reader, const JsonIn *object);

/* A parameter of a founding path: `method` is the language, others are scalar fields. */
MUST_CHECK Err handler_read_param(HandlerReader *reader, Slice name, Slice value);

/* Whether all of it makes sense together and on this machine. */
MUST_CHECK Err handler_read_end(HandlerReader *reader);

/* The members without braces, to put more beside them. */
void handler_members(JsonOut *json, const Handler *handler);

/* The i-th field, for the API description; NULL behind the last. */
const JobField *handler_field(size_t index);

#endif
