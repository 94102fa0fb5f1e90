/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c - libpawl, driven by scenarios.py: see there for what it is asked. */
#include <pawl.h>

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JOBS_MAX 4096

static const char base64_letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* --- Handlers --------------------------------------------------------------------------
 */

static void doze(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 20 * 1000 * 1000 }, NULL);
}

static PawlEnd told(PawlJob *job, const char *text)
{
    pawl_job_result(job, text, strlen(text));
    return PAWL_DONE;
}

static PawlEnd upper(PawlJob *job, void *data)
{
    (void)data;
    char text[256];
    snprintf(text, sizeof text, "%s", pawl_job_payload(job, NULL));
    for (char *at = text; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return told(job, text);
}

static PawlEnd echo(PawlJob *job, void *data)
{
    (void)data;
    size_t bytes = 0;
    const char *payload = pawl_job_payload(job, &bytes);
    pawl_job_result(job, payload ? payload : "", bytes);
    return PAWL_DONE;
}

static PawlEnd number(PawlJob *job, void *data)
{
    (void)data;
    char text[64];
    json_t *value = json_loads(pawl_job_payload(job, NULL), 0, NULL);
    json_int_t n = json_integer_value(json_object_get(value, "n"));
    snprintf(text, sizeof text, "{\"n\":%" JSON_INTEGER_FORMAT "}", n + 1);
    json_decref(value);
    return told(job, text);
}

static PawlEnd wait_for_file(PawlJob *job, void *data)
{
    (void)data;
    pawl_job_progress(job, 10, "waiting");
    while (access(pawl_job_payload(job, NULL), F_OK) != 0)
        doze();
    return told(job, "waited");
}

static PawlEnd stoppable(PawlJob *job, void *data)
{
    (void)data;
    pawl_job_progress(job, 10, "until told");
    while (!pawl_job_cancelled(job))
        doze();
    FILE *file = fopen(pawl_job_payload(job, NULL), "w");
    if (file)
        fclose(file);
    return PAWL_DONE;
}

static PawlEnd fail(PawlJob *job, void *data)
{
    (void)data;
    pawl_job_why(job, "no such thing");
    return PAWL_FAIL;
}

static PawlEnd crash(PawlJob *job, void *data)
{
    (void)data;
    pawl_job_why(job, "broken");
    return PAWL_ERROR;
}

/* Ends the first attempt as `data` says. */
static PawlEnd at_first(PawlJob *job, void *data)
{
    PawlEnd end = *(PawlEnd *)data;
    if (pawl_job_attempt(job) > 1)
        return told(job, end == PAWL_SNOOZE ? "woke" : "second");
    pawl_job_why(job, "not yet");
    pawl_job_snooze(job, 0.1);
    return end;
}

static PawlEnd child(PawlJob *job, void *data)
{
    (void)data;
    char text[32];
    snprintf(text, sizeof text, "of %s", pawl_job_id(job));
    PawlNewJob made = { .type = "echo",
                        .payload = text,
                        .payload_bytes = strlen(text),
                        .fields = "{\"priority\":7}" };
    return pawl_job_add(job, &made) ? PAWL_DONE : PAWL_ERROR;
}

static PawlEnd end_retry = PAWL_RETRY;
static PawlEnd end_snooze = PAWL_SNOOZE;

static const PawlHandler handlers[] = {
    { "upper", upper, NULL },
    { "echo", echo, NULL },
    { "number", number, NULL },
    { "wait", wait_for_file, NULL },
    { "stoppable", stoppable, NULL },
    { "fail", fail, NULL },
    { "crash", crash, NULL },
    { "retry", at_first, &end_retry },
    { "snooze", at_first, &end_snooze },
    { "child", child, NULL },
};
#define HANDLERS (sizeof handlers / sizeof *handlers)

/* --- Values
 * ------------------------------------------------------------------------------ */

static const char *text(json_t *ask, const char *name)
{
    return json_string_value(json_object_get(ask, name));
}

/* The bytes of a base64 text, the caller's. */
static unsigned char *decode(const char *coded, size_t *out_bytes)
{
    size_t most = strlen(coded) / 4 * 3 + 3;
    unsigned bits = 0;
    int count = 0;
    *out_bytes = 0;
    unsigned char *out = calloc(1, most);
    for (const char *at; *coded && (at = strchr(base64_letters, *coded)); coded++) {
        bits = bits << 6 | (unsigned)(at - base64_letters);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[(*out_bytes)++] = (unsigned char)(bits >> count & 255);
        }
    }
    return out;
}

static json_t *encode(const unsigned char *data, size_t bytes)
{
    char *out = calloc(1, bytes / 3 * 4 + 8);
    for (size_t i = 0, o = 0; i < bytes; i += 3, o += 4) {
        size_t left = bytes - i;
        unsigned bits = (unsigned)data[i] << 16 |
                        (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                        (left > 2 ? data[i + 2] : 0);
        out[o] = base64_letters[bits >> 18];
        out[o + 1] = base64_letters[bits >> 12 & 63];
        out[o + 2] = left > 1 ? base64_letters[bits >> 6 & 63] : '=';
        out[o + 3] = left > 2 ? base64_letters[bits & 63] : '=';
    }
    json_t *made = json_string(out);
    free(out);
    return made;
}

static json_t *value_of(const char *data, size_t bytes)
{
    if (!data)
        return json_null();
    json_t *plain = json_stringn(data, bytes);
    if (plain)
        return json_pack("{s:o}", "text", plain);
    return json_pack("{s:o}", "base64", encode((const unsigned char *)data, bytes));
}

static json_t *shown(PawlInfo *job)
{
    size_t payload_bytes;
    size_t result_bytes;
    const char *payload = pawl_info_payload(job, &payload_bytes);
    const char *result = pawl_info_result(job, &result_bytes);
    json_t *made = json_pack("{s:s, s:s, s:s?, s:i}", "id", pawl_info_id(job), "state",
                             pawl_info_state(job), "error", pawl_info_error(job),
                             "attempt", pawl_info_attempt(job));
    json_object_set_new(made, "payload", value_of(payload, payload_bytes));
    json_object_set_new(made, "result", value_of(result, result_bytes));
    pawl_info_free(job);
    return made;
}

/* A job as it was asked for; its texts are the caller's. */
typedef struct Asked {
    PawlNewJob job;
    void *payload;
    char *fields;
} Asked;

static Asked asked(json_t *ask)
{
    Asked made = { .job = { .type = text(ask, "type"), .key = text(ask, "key") } };
    json_t *value = json_object_get(ask, "json");
    if (value) {
        made.payload = json_dumps(value, JSON_COMPACT);
        made.job.payload_bytes = strlen(made.payload);
    } else if (text(ask, "base64")) {
        made.payload = decode(text(ask, "base64"), &made.job.payload_bytes);
    } else if (text(ask, "text")) {
        made.job.payload_bytes = json_string_length(json_object_get(ask, "text"));
        made.payload = calloc(1, made.job.payload_bytes + 1);
        memcpy(made.payload, text(ask, "text"), made.job.payload_bytes);
    }
    made.job.payload = made.payload;
    if (json_object_get(ask, "fields"))
        made.fields = json_dumps(json_object_get(ask, "fields"), JSON_COMPACT);
    made.job.fields = made.fields;
    return made;
}

static void asked_done(Asked *made)
{
    free(made->payload);
    free(made->fields);
}

/* --- Obeying
 * ------------------------------------------------------------------------------ */

typedef struct Driver {
    PawlClient *client;
    PawlWorker *worker;
    PawlError why;
    json_t *ids; /* of what was refused in part; NULL: none */
} Driver;

static void driver_close(Driver *driver)
{
    pawl_worker_free(driver->worker);
    pawl_client_free(driver->client);
}

static PawlStatus do_open(Driver *driver, json_t *ask, json_t **out)
{
    json_t *retry_for = json_object_get(ask, "retry_for");
    driver_close(driver);
    driver->client = pawl_client_new(text(ask, "url"), text(ask, "token"));
    if (!driver->client)
        return PAWL_INVALID;
    pawl_client_set_tenant(driver->client, text(ask, "tenant"));
    pawl_client_set_keyless(driver->client,
                            json_is_true(json_object_get(ask, "keyless")));
    if (retry_for)
        pawl_client_set_retry_for(driver->client, json_number_value(retry_for));
    driver->worker = pawl_worker_new(driver->client, handlers, HANDLERS, 1);
    *out = json_null();
    return PAWL_OK;
}

static PawlStatus do_add(Driver *driver, json_t *ask, json_t **out)
{
    char id[PAWL_ID_BYTES];
    Asked made = asked(ask);
    PawlStatus got = pawl_add(driver->client, &made.job, id, &driver->why);
    if (got == PAWL_OK)
        *out = json_string(id);
    asked_done(&made);
    return got;
}

static PawlStatus do_add_many(Driver *driver, json_t *ask, json_t **out)
{
    static char ids[JOBS_MAX][PAWL_ID_BYTES];
    static PawlNewJob jobs[JOBS_MAX];
    static Asked made[JOBS_MAX];
    json_t *all = json_object_get(ask, "jobs");
    size_t count = json_array_size(all);
    for (size_t i = 0; i < count && i < JOBS_MAX; i++) {
        made[i] = asked(json_array_get(all, i));
        jobs[i] = made[i].job;
    }
    PawlStatus got = pawl_add_many(driver->client, jobs, count, ids, &driver->why);
    json_t *told_ids = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(told_ids, *ids[i] ? json_string(ids[i]) : json_null());
        asked_done(&made[i]);
    }
    if (got == PAWL_OK)
        *out = told_ids;
    else
        driver->ids = told_ids;
    return got;
}

static PawlStatus do_get(Driver *driver, json_t *ask, json_t **out)
{
    PawlInfo *job = NULL;
    PawlStatus got = pawl_get(driver->client, text(ask, "id"), &job, &driver->why);
    if (got == PAWL_OK)
        *out = shown(job);
    return got;
}

static PawlStatus do_wait(Driver *driver, json_t *ask, json_t **out)
{
    PawlInfo *job = NULL;
    double seconds = json_number_value(json_object_get(ask, "timeout"));
    PawlStatus got =
        pawl_wait(driver->client, text(ask, "id"), seconds, &job, &driver->why);
    if (got == PAWL_OK)
        *out = shown(job);
    return got;
}

static PawlStatus do_cancel(Driver *driver, json_t *ask, json_t **out)
{
    PawlInfo *job = NULL;
    PawlStatus got = pawl_cancel(driver->client, text(ask, "id"), &job, &driver->why);
    if (got == PAWL_OK)
        *out = json_string(pawl_info_state(job));
    pawl_info_free(job);
    return got;
}

static PawlStatus do_run(Driver *driver, json_t *ask, json_t **out)
{
    (void)ask;
    *out = json_null();
    return pawl_worker_run(driver->worker, &driver->why);
}

static const struct {
    const char *name;
    PawlStatus (*obey)(Driver *driver, json_t *ask, json_t **out);
} things[] = { { "open", do_open }, { "add", do_add },   { "add_many", do_add_many },
               { "get", do_get },   { "wait", do_wait }, { "cancel", do_cancel },
               { "run", do_run } };

static json_t *answer(Driver *driver, json_t *ask)
{
    json_t *out = NULL;
    PawlStatus got = PAWL_INVALID;
    driver->ids = NULL;
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
        if (strcmp(things[i].name, text(ask, "do")) == 0)
            got = things[i].obey(driver, ask, &out);
    }
    if (got == PAWL_OK)
        return json_pack("{s:o}", "ok", out);
    json_decref(out);
    return json_pack("{s:{s:s, s:i, s:o}}", "error", "code", driver->why.code, "status",
                     driver->why.http_status, "ids",
                     driver->ids ? driver->ids : json_array());
}

static int drive(void)
{
    Driver driver = { 0 };
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        json_t *ask = json_loads(line, JSON_ALLOW_NUL, NULL);
        json_t *said = answer(&driver, ask);
        json_dumpf(said, stdout, JSON_COMPACT);
        puts("");
        fflush(stdout);
        json_decref(said);
        json_decref(ask);
    }
    free(line);
    driver_close(&driver);
    return 0;
}

static int work(const char *what)
{
    json_t *ask = json_loads(what, 0, NULL);
    PawlError why = { 0 };
    PawlClient *client = pawl_client_new(text(ask, "url"), NULL);
    pawl_client_set_tenant(client, text(ask, "tenant"));
    unsigned count = (unsigned)json_integer_value(json_object_get(ask, "concurrency"));
    PawlWorker *worker = pawl_worker_new(client, handlers, HANDLERS, count);
    pawl_worker_set_lease(worker, json_number_value(json_object_get(ask, "lease")));
    pawl_worker_set_poll(worker, 0.5);
    PawlStatus got = pawl_worker_run(worker, &why);
    if (got != PAWL_OK)
        fprintf(stderr, "%s [%s]\n", why.detail, why.code);
    pawl_worker_free(worker);
    pawl_client_free(client);
    json_decref(ask);
    return got != PAWL_OK;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "client") == 0)
        return drive();
    if (argc == 3)
        return work(argv[2]);
    return 2;
}
