/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - what the files of libpawl share; nothing here is exported. */
#ifndef PAWL_INTERNAL_H
#define PAWL_INTERNAL_H

#include "pawl.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#define FINISH_SECONDS 600 /* a result is told at least so long */

/* Bytes that grow. A zero follows them. */
typedef struct Bytes {
    char *data;
    size_t bytes;
} Bytes;

typedef struct Fake {
    bool inline_run;
    const PawlHandler *handlers;
    size_t handlers_count;
    PawlInfo **jobs;
    size_t count;
} Fake;

struct PawlClient {
    char *base;   /* http://HOST:PORT/api/v1 */
    char *socket; /* path, or NULL */
    char *token;
    char *tenant;
    double retry_for;
    double timeout;
    bool keyless;
    Fake *fake; /* NULL: a daemon */
    pthread_mutex_t lock;
    void **idle; /* curl handles that nobody uses now */
    size_t idle_count;
};

struct PawlInfo {
    json_t *fields;
    Bytes payload; /* data NULL: none */
    Bytes result;
};

struct PawlJob {
    json_t *fields;
    Bytes payload;
    PawlWorker *worker; /* NULL in a fake */
    PawlJob *next;      /* in hand as well */
    atomic_bool cancelled;
    json_t *told; /* progress; under the worker's lock */
    json_t *children;
    json_t *end; /* fields of the finish */
    PawlRun *run;
    void *data;
};

/* One request. */
typedef struct Ask {
    const char *method;
    const char *path;
    json_t *body;    /* borrowed; NULL: none */
    const char *key; /* NULL: none */
    const char *but; /* a code with which it is not sent again, unless it may be done */
    bool once;       /* it must not be sent again if it may have been done */
    double retry_for;
} Ask;

void *mem_grow(void *old, size_t bytes);
char *text_copy(const char *text); /* NULL stays NULL */
void bytes_add(Bytes *bytes, const void *data, size_t count);
void bytes_done(Bytes *bytes);
/* Bytes of a field, or of its _base64; data NULL if it has neither. */
Bytes bytes_of(json_t *fields, const char *name);
/* Text as it is, other bytes as name_base64. */
void put_bytes(json_t *fields, const char *name, const void *data, size_t bytes);
json_t *new_job(const PawlNewJob *job); /* NULL: its fields are no object */
const char *text_of(json_t *fields, const char *name);

double now_seconds(void);
void sleep_seconds(double seconds);
double random_share(void); /* 0.5 to 1 */
void error_set(PawlError *why, int status, const char *code, const char *detail);
bool error_again(const PawlError *why);

/* The answer's bytes are the caller's, also after a failure. */
PawlStatus client_call(PawlClient *client, const Ask *ask, Bytes *out_data,
                       int *out_status, PawlError *why);

PawlInfo *info_new(json_t *fields); /* takes fields */

PawlJob *job_new(json_t *fields, const PawlHandler *handler); /* takes fields */
void job_free(PawlJob *job);
/* Runs the handler; job->end is then what is to be told. */
void job_perform(PawlJob *job);
const PawlHandler *handler_find(const PawlHandler *all, size_t count, const char *type);

PawlStatus fake_add(Fake *fake, const PawlNewJob *job, char *out_id, PawlError *why);
PawlStatus fake_get(Fake *fake, const char *id, PawlInfo **out_job, PawlError *why);
void fake_cancel(Fake *fake, const char *id);
PawlStatus fake_run(Fake *fake, PawlError *why);
void fake_free(Fake *fake);

#endif
