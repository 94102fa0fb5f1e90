/* SPDX-License-Identifier: Apache-2.0 */
/* job_json.h - a job as the JSON object that the outside sees. */
#ifndef MODEL_JOB_JSON_H
#define MODEL_JOB_JSON_H

#include "base/json_out.h"
#include "core/job.h"
#include "noun/field.h"

/* Every field, in the order of the interface description; what is unknown is null. */
void job_json(JsonOut *json, const char *key, const Job *job);

/* The same without its braces, for objects that say more. */
void job_members(JsonOut *json, const Job *job);

/* One attempt, as LOAD_ATTEMPTS gives it. */
void attempt_json(JsonOut *json, const Job *attempt);

/* Text under `key`, or base64 of the bytes under `key_base64` if they are no text. */
void bytes_json(JsonOut *json, const char *key, const char *key_base64, Slice bytes);

/* One row per field of the object, for the API description. */
typedef struct JobField {
    const char *name;
    bool client;        /* may be sent */
    const char *schema; /* JSON Schema of the value, without its braces */
    const char *meaning;
} JobField;

const JobField *job_fields(size_t *out_count);

#endif
