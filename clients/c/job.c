/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - a job in hand, and jobs in memory (fake: and inline:) for tests of
 * applications. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- A job in hand
 * ----------------------------------------------------------------------- */

const PawlHandler *handler_find(const PawlHandler *all, size_t count, const char *type)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].type, type) == 0)
            return &all[i];
    }
    return NULL;
}

PawlJob *job_new(json_t *fields, const PawlHandler *handler)
{
    PawlJob *job = mem_grow(NULL, sizeof *job);
    *job = (PawlJob){ .fields = fields,
                      .payload = bytes_of(fields, "payload"),
                      .told = json_object(),
                      .children = json_array(),
                      .end = json_object(),
                      .run = handler->run,
                      .data = handler->data };
    return job;
}

void job_free(PawlJob *job)
{
    json_decref(job->fields);
    json_decref(job->told);
    json_decref(job->children);
    json_decref(job->end);
    bytes_done(&job->payload);
    free(job);
}

const char *pawl_job_id(const PawlJob *job)
{
    return text_of(job->fields, "id");
}

const char *pawl_job_type(const PawlJob *job)
{
    return text_of(job->fields, "type");
}

int pawl_job_attempt(const PawlJob *job)
{
    return (int)json_integer_value(json_object_get(job->fields, "attempt"));
}

const char *pawl_job_payload(const PawlJob *job, size_t *out_bytes)
{
    if (out_bytes)
        *out_bytes = job->payload.bytes;
    return job->payload.data;
}

bool pawl_job_cancelled(const PawlJob *job)
{
    return atomic_load(&job->cancelled);
}

bool pawl_job_add(PawlJob *job, const PawlNewJob *child)
{
    json_t *made = new_job(child);
    if (!made)
        return false;
    json_array_append_new(job->children, made);
    return true;
}

void pawl_job_result(PawlJob *job, const void *data, size_t bytes)
{
    json_object_del(job->end, "result");
    json_object_del(job->end, "result_base64");
    put_bytes(job->end, "result", data, bytes);
}

void pawl_job_why(PawlJob *job, const char *text)
{
    json_object_set_new(job->end, "error", json_string(text));
}

void pawl_job_snooze(PawlJob *job, double seconds)
{
    char delay[32];
    snprintf(delay, sizeof delay, "PT%.3fS", seconds);
    json_object_set_new(job->end, "again_in", json_string(delay));
}

void job_perform(PawlJob *job)
{
    static const int codes[] = { [PAWL_DONE] = 200,
                                 [PAWL_RETRY] = 175,
                                 [PAWL_FAIL] = 400,
                                 [PAWL_ERROR] = 500,
                                 [PAWL_SNOOZE] = 175 };
    PawlEnd end = job->run(job, job->data);
    if (end < PAWL_DONE || end > PAWL_SNOOZE)
        end = PAWL_ERROR;
    json_object_set_new(job->end, "exitcode", json_integer(codes[end]));
    if (end != PAWL_SNOOZE)
        json_object_del(job->end, "again_in");
    if (end == PAWL_DONE)
        json_object_del(job->end, "error");
    if (json_array_size(job->children) && (end == PAWL_DONE || end == PAWL_FAIL))
        json_object_set(job->end, "jobs", job->children);
}

/* --- Jobs in memory
 * ------------------------------------------------------------------------ */

static PawlInfo *fake_find(Fake *fake, const char *name, const char *value)
{
    for (size_t i = 0; i < fake->count; i++) {
        const char *known = text_of(fake->jobs[i]->fields, name);
        if (known && strcmp(known, value) == 0)
            return fake->jobs[i];
    }
    return NULL;
}

static const char *state_of(json_int_t exitcode)
{
    switch (exitcode / 100) {
    case 1:
        return "retrying";
    case 2:
        return "done";
    case 4:
        return "failed";
    default:
        return "rejected";
    }
}

static void fake_keep(Fake *fake, json_t *fields)
{
    char id[PAWL_ID_BYTES];
    snprintf(id, sizeof id, "%013u", (unsigned)fake->count + 1);
    json_object_set_new(fields, "id", json_string(id));
    json_object_set_new(fields, "state", json_string("ready"));
    json_object_set_new(fields, "attempt", json_integer(0));
    fake->jobs = mem_grow(fake->jobs, (fake->count + 1) * sizeof(PawlInfo *));
    fake->jobs[fake->count++] = info_new(fields);
}

static PawlStatus run_one(Fake *fake, PawlInfo *info, PawlError *why)
{
    const char *type = text_of(info->fields, "type");
    const PawlHandler *handler = handler_find(fake->handlers, fake->handlers_count, type);
    if (!handler) {
        error_set(why, 0, "handler_not_found", "no handler for this type");
        return PAWL_REFUSED;
    }
    json_object_set_new(info->fields, "attempt",
                        json_integer(pawl_info_attempt(info) + 1));
    PawlJob *job = job_new(json_deep_copy(info->fields), handler);
    job_perform(job);
    json_int_t exitcode = json_integer_value(json_object_get(job->end, "exitcode"));
    json_object_set_new(info->fields, "state", json_string(state_of(exitcode)));
    json_object_set(info->fields, "error", json_object_get(job->end, "error"));
    info->result = bytes_of(job->end, "result");
    size_t count = json_array_size(json_object_get(job->end, "jobs"));
    size_t first = fake->count;
    for (size_t i = 0; i < count; i++)
        fake_keep(fake, json_deep_copy(json_array_get(job->children, i)));
    job_free(job);
    PawlStatus got = PAWL_OK;
    for (size_t i = first; fake->inline_run && i < first + count && got == PAWL_OK; i++)
        got = run_one(fake, fake->jobs[i], why);
    return got;
}

PawlStatus fake_add(Fake *fake, const PawlNewJob *job, char *out_id, PawlError *why)
{
    PawlInfo *known = job->key ? fake_find(fake, "key", job->key) : NULL;
    if (known) {
        snprintf(out_id, PAWL_ID_BYTES, "%s", pawl_info_id(known));
        return PAWL_OK;
    }
    json_t *fields = new_job(job);
    if (!fields) {
        error_set(why, 0, "invalid_value", "the fields of a job must be a JSON object");
        return PAWL_INVALID;
    }
    if (job->key)
        json_object_set_new(fields, "key", json_string(job->key));
    fake_keep(fake, fields);
    PawlInfo *made = fake->jobs[fake->count - 1];
    snprintf(out_id, PAWL_ID_BYTES, "%s", pawl_info_id(made));
    return fake->inline_run ? run_one(fake, made, why) : PAWL_OK;
}

PawlStatus fake_get(Fake *fake, const char *id, PawlInfo **out_job, PawlError *why)
{
    PawlInfo *known = fake_find(fake, "id", id);
    if (!known) {
        error_set(why, 404, "job_not_found", "There is no such job");
        return PAWL_REFUSED;
    }
    *out_job = info_new(json_deep_copy(known->fields));
    if (known->result.data)
        bytes_add(&(*out_job)->result, known->result.data, known->result.bytes);
    return PAWL_OK;
}

void fake_cancel(Fake *fake, const char *id)
{
    PawlInfo *known = fake_find(fake, "id", id);
    if (known && !pawl_info_final(known))
        json_object_set_new(known->fields, "state", json_string("cancelled"));
}

PawlStatus fake_run(Fake *fake, PawlError *why)
{
    PawlStatus got = PAWL_OK;
    for (size_t i = 0; i < fake->count && got == PAWL_OK; i++) { /* grows meanwhile */
        if (strcmp(pawl_info_state(fake->jobs[i]), "ready") == 0)
            got = run_one(fake, fake->jobs[i], why);
    }
    return got;
}

void fake_free(Fake *fake)
{
    if (!fake)
        return;
    for (size_t i = 0; i < fake->count; i++)
        pawl_info_free(fake->jobs[i]);
    free(fake->jobs);
    free(fake);
}
