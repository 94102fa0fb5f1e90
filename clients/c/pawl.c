/* SPDX-License-Identifier: Apache-2.0 */
/* pawl.c - the client of libpawl: see pawl.h. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define KEY_BYTES 16

/* --- Clients ---------------------------------------------------------------------------
 */

static bool is_fake(const char *url)
{
    return strcmp(url, "fake:") == 0 || strcmp(url, "inline:") == 0;
}

static const char *given(const char *value, const char *variable, const char *otherwise)
{
    if (!value || !*value)
        value = getenv(variable);
    return value && *value ? value : otherwise;
}

static char *base_of(const char *url)
{
    size_t bytes = strlen(url);
    while (bytes && url[bytes - 1] == '/')
        bytes--;
    Bytes base = { 0 };
    bytes_add(&base, url, bytes);
    bytes_add(&base, "/api/v1", 7);
    return base.data;
}

PawlClient *pawl_client_new(const char *url, const char *token)
{
    url = given(url, "PAWL_SERVER", "http://127.0.0.1:7420");
    bool local = strncmp(url, "unix:", 5) == 0;
    bool far = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    if (!local && !far && !is_fake(url))
        return NULL;
    PawlClient *client = mem_grow(NULL, sizeof *client);
    *client = (PawlClient){ .retry_for = 30, .timeout = 60 };
    client->token = text_copy(given(token, "PAWL_TOKEN", NULL));
    client->socket = local ? text_copy(url + 5) : NULL;
    client->base = base_of(local ? "http://localhost" : url);
    pthread_mutex_init(&client->lock, NULL);
    if (is_fake(url)) {
        client->fake = mem_grow(NULL, sizeof *client->fake);
        *client->fake = (Fake){ .inline_run = *url == 'i' };
    }
    return client;
}

void pawl_client_set_tenant(PawlClient *client, const char *tenant)
{
    free(client->tenant);
    client->tenant = text_copy(tenant);
}

void pawl_client_set_retry_for(PawlClient *client, double seconds)
{
    client->retry_for = seconds;
}

void pawl_client_set_timeout(PawlClient *client, double seconds)
{
    client->timeout = seconds;
}

void pawl_client_set_keyless(PawlClient *client, bool keyless)
{
    client->keyless = keyless;
}

/* --- Adding ----------------------------------------------------------------------------
 */

static void random_key(char out[2 * KEY_BYTES + 1])
{
    unsigned char raw[KEY_BYTES];
    if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
        abort(); /* the system has no random numbers */
    for (size_t i = 0; i < KEY_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", raw[i]);
}

static PawlStatus send_jobs(PawlClient *client, json_t *body, const char *key, Bytes *out,
                            PawlError *why)
{
    char own[2 * KEY_BYTES + 1];
    random_key(own);
    int status = 0;
    Ask ask = { .method = "POST",
                .path = "/jobs",
                .body = body,
                .key = key ? key : own,
                .but = client->keyless ? "store_unavailable" : NULL,
                .retry_for = client->retry_for };
    PawlStatus got = client_call(client, &ask, out, &status, why);
    if (!ask.but || got != PAWL_REFUSED || strcmp(why->code, ask.but) != 0)
        return got;
    ask.key = NULL;
    ask.but = NULL;
    ask.once = true;
    return client_call(client, &ask, out, &status, why);
}

static void copy_id(char *out_id, const char *id)
{
    snprintf(out_id, PAWL_ID_BYTES, "%s", id ? id : "");
}

PawlStatus pawl_add(PawlClient *client, const PawlNewJob *job, char out_id[PAWL_ID_BYTES],
                    PawlError *why)
{
    PawlError unseen;
    why = why ? why : &unseen;
    if (client->fake)
        return fake_add(client->fake, job, out_id, why);
    json_t *body = new_job(job);
    if (!body) {
        error_set(why, 0, "invalid_value", "the fields of a job must be a JSON object");
        return PAWL_INVALID;
    }
    Bytes data = { 0 };
    PawlStatus got = send_jobs(client, body, job->key, &data, why);
    if (got == PAWL_OK) {
        json_t *told = json_loadb(data.data, data.bytes, JSON_ALLOW_NUL, NULL);
        copy_id(out_id, text_of(told, "id"));
        json_decref(told);
    }
    bytes_done(&data);
    json_decref(body);
    return got;
}

/* One line of the answer: an id or an error. False: it is neither. */
static bool take_line(json_t *told, size_t count, char (*out_ids)[PAWL_ID_BYTES],
                      PawlError *why)
{
    json_int_t line = json_integer_value(json_object_get(told, "line"));
    if (line < 1 || (size_t)line > count)
        return false;
    copy_id(out_ids[line - 1], text_of(told, "id"));
    json_t *error = json_object_get(told, "error");
    if (error && !*why->code)
        error_set(why, 422, text_of(error, "code"), text_of(error, "detail"));
    return true;
}

static PawlStatus take_lines(const Bytes *data, size_t count,
                             char (*out_ids)[PAWL_ID_BYTES], PawlError *why)
{
    size_t told = 0;
    error_set(why, 0, "", "");
    for (const char *at = data->data; at && *at;) {
        const char *end = strchr(at, '\n');
        size_t bytes = end ? (size_t)(end - at) : strlen(at);
        json_t *line = json_loadb(at, bytes, JSON_ALLOW_NUL, NULL);
        told += take_line(line, count, out_ids, why);
        json_decref(line);
        at = end ? end + 1 : NULL;
    }
    if (told != count) {
        error_set(why, 0, "daemon_unreachable", "the answer is not whole");
        why->sent = true;
        return PAWL_UNREACHABLE;
    }
    return *why->code ? PAWL_REFUSED : PAWL_OK;
}

static PawlStatus fake_add_many(PawlClient *client, const PawlNewJob *jobs, size_t count,
                                char (*out_ids)[PAWL_ID_BYTES], PawlError *why)
{
    PawlStatus got = PAWL_OK;
    for (size_t i = 0; i < count && got == PAWL_OK; i++)
        got = fake_add(client->fake, &jobs[i], out_ids[i], why);
    return got;
}

PawlStatus pawl_add_many(PawlClient *client, const PawlNewJob *jobs, size_t count,
                         char (*out_ids)[PAWL_ID_BYTES], PawlError *why)
{
    PawlError unseen;
    why = why ? why : &unseen;
    if (client->fake)
        return fake_add_many(client, jobs, count, out_ids, why);
    if (!count)
        return PAWL_OK;
    json_t *body = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *made = new_job(&jobs[i]);
        if (!made) {
            error_set(why, 0, "invalid_value",
                      "the fields of a job must be a JSON object");
            json_decref(body);
            return PAWL_INVALID;
        }
        json_array_append_new(body, made);
    }
    Bytes data = { 0 };
    PawlStatus got = send_jobs(client, body, NULL, &data, why);
    if (got == PAWL_OK)
        got = take_lines(&data, count, out_ids, why);
    bytes_done(&data);
    json_decref(body);
    return got;
}

/* --- Asking ----------------------------------------------------------------------------
 */

static PawlStatus ask_job(PawlClient *client, const Ask *ask, PawlInfo **out_job,
                          PawlError *why)
{
    Bytes data = { 0 };
    int status = 0;
    PawlStatus got = client_call(client, ask, &data, &status, why);
    if (got == PAWL_OK) {
        json_t *fields = json_loadb(data.data, data.bytes, JSON_ALLOW_NUL, NULL);
        if (!fields) {
            error_set(why, status, "daemon_unreachable", "the answer is no JSON");
            got = PAWL_UNREACHABLE;
        } else {
            *out_job = info_new(fields);
        }
    }
    bytes_done(&data);
    return got;
}

static PawlStatus get_job(PawlClient *client, const char *id, PawlInfo **out_job,
                          PawlError *why)
{
    if (client->fake)
        return fake_get(client->fake, id, out_job, why);
    char path[64];
    snprintf(path, sizeof path, "/jobs/%.40s", id);
    Ask ask = { .method = "GET", .path = path, .retry_for = client->retry_for };
    return ask_job(client, &ask, out_job, why);
}

PawlStatus pawl_get(PawlClient *client, const char *id, PawlInfo **out_job,
                    PawlError *why)
{
    PawlError unseen;
    return get_job(client, id, out_job, why ? why : &unseen);
}

static PawlStatus get_result(PawlClient *client, PawlInfo *job, PawlError *why)
{
    if (json_integer_value(json_object_get(job->fields, "result_size")) == 0)
        return PAWL_OK; /* also of a fake, which has it already */
    char path[64];
    snprintf(path, sizeof path, "/jobs/%.40s/result", pawl_info_id(job));
    Ask ask = { .method = "GET", .path = path, .retry_for = client->retry_for };
    int status = 0;
    return client_call(client, &ask, &job->result, &status, why);
}

PawlStatus pawl_wait(PawlClient *client, const char *id, double seconds,
                     PawlInfo **out_job, PawlError *why)
{
    PawlError unseen;
    why = why ? why : &unseen;
    double until = now_seconds() + seconds;
    for (double pause = 0.02;; pause = pause < 0.6 ? pause * 1.5 : 1) {
        PawlInfo *job = NULL;
        PawlStatus got = get_job(client, id, &job, why);
        if (got != PAWL_OK)
            return got;
        if (pawl_info_final(job)) {
            got = get_result(client, job, why);
            if (got == PAWL_OK)
                *out_job = job;
            else
                pawl_info_free(job);
            return got;
        }
        pawl_info_free(job);
        double left = seconds < 0 ? pause : until - now_seconds();
        if (left <= 0 || client->fake) {
            error_set(why, 0, "timeout", "the job is not final");
            return PAWL_TIMEOUT;
        }
        sleep_seconds(left < pause ? left : pause);
    }
}

static bool is_cancelled(const PawlInfo *job)
{
    return strcmp(pawl_info_state(job), "cancelled") == 0 ||
           json_is_true(json_object_get(job->fields, "cancelling"));
}

PawlStatus pawl_cancel(PawlClient *client, const char *id, PawlInfo **out_job,
                       PawlError *why)
{
    PawlError unseen;
    why = why ? why : &unseen;
    PawlInfo *job = NULL;
    PawlStatus got;
    if (client->fake) {
        fake_cancel(client->fake, id);
        got = fake_get(client->fake, id, &job, why);
    } else {
        char path[64];
        snprintf(path, sizeof path, "/jobs/%.40s/cancel", id);
        json_t *body = json_object();
        Ask ask = {
            .method = "POST", .path = path, .body = body, .retry_for = client->retry_for
        };
        got = ask_job(client, &ask, &job, why);
        json_decref(body);
    }
    if (got == PAWL_REFUSED && strcmp(why->code, "invalid_state") == 0) {
        PawlError other;
        if (get_job(client, id, &job, &other) == PAWL_OK && is_cancelled(job))
            got = PAWL_OK;
    }
    if (got == PAWL_OK && out_job)
        *out_job = job;
    else
        pawl_info_free(job);
    return got;
}

/* --- What is known of a job ------------------------------------------------------------
 */

PawlInfo *info_new(json_t *fields)
{
    PawlInfo *job = mem_grow(NULL, sizeof *job);
    *job = (PawlInfo){ .fields = fields, .payload = bytes_of(fields, "payload") };
    return job;
}

void pawl_info_free(PawlInfo *job)
{
    if (!job)
        return;
    json_decref(job->fields);
    bytes_done(&job->payload);
    bytes_done(&job->result);
    free(job);
}

const char *pawl_info_id(const PawlInfo *job)
{
    return text_of(job->fields, "id");
}

const char *pawl_info_state(const PawlInfo *job)
{
    return text_of(job->fields, "state");
}

bool pawl_info_final(const PawlInfo *job)
{
    static const char *const final[] = { "done", "failed", "rejected", "cancelled" };
    for (size_t i = 0; i < sizeof final / sizeof *final; i++) {
        if (strcmp(pawl_info_state(job), final[i]) == 0)
            return true;
    }
    return false;
}

const char *pawl_info_error(const PawlInfo *job)
{
    return text_of(job->fields, "error");
}

int pawl_info_attempt(const PawlInfo *job)
{
    return (int)json_integer_value(json_object_get(job->fields, "attempt"));
}

static const char *shown(const Bytes *bytes, size_t *out_bytes)
{
    if (out_bytes)
        *out_bytes = bytes->bytes;
    return bytes->data;
}

const char *pawl_info_payload(const PawlInfo *job, size_t *out_bytes)
{
    return shown(&job->payload, out_bytes);
}

const char *pawl_info_result(const PawlInfo *job, size_t *out_bytes)
{
    return shown(&job->result, out_bytes);
}

char *pawl_info_json(const PawlInfo *job)
{
    return json_dumps(job->fields, JSON_COMPACT);
}
