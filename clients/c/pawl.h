/* SPDX-License-Identifier: Apache-2.0 */
/* pawl.h - libpawl: add jobs to a pawl daemon and work on them.
 *
 * Ownership. What a function returns by a name with `new`, or gives through an out_
 * parameter, is yours: end it with the `free` of its type. Texts and bytes that belong to
 * an object are valid as long as the object. What you pass is copied, or only read during
 * the call; handlers' types and data must outlive the worker. Memory that cannot be had
 * ends the program.
 *
 * Threads. A PawlClient may be used by many threads at once, once its settings are made.
 * A PawlInfo belongs to one thread at a time. A worker calls its handlers in threads of
 * its own; the functions of a PawlJob are for the thread that runs the handler. Stopping
 * a worker is safe from any thread and in a signal handler.
 *
 * ABI. Types are opaque or have room to grow (`reserved`, to be zero); symbols carry the
 * version that brought them (PAWL_0.2). */
#ifndef PAWL_H
#define PAWL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_ID_BYTES 14 /* 13 characters and the final zero */

typedef enum PawlStatus {
    PAWL_OK,
    PAWL_REFUSED,     /* by the daemon: http_status and code say why */
    PAWL_UNREACHABLE, /* no answer; code is daemon_unreachable */
    PAWL_TIMEOUT,     /* of pawl_wait; code is timeout */
    PAWL_INVALID,     /* what was passed makes no sense */
} PawlStatus;

/* Yours, filled when a function does not return PAWL_OK; may be NULL wherever it is
 * asked. */
typedef struct PawlError {
    int http_status; /* 0: nobody answered */
    bool sent;       /* nobody answered, and it may have been carried out */
    char code[64];   /* a stable word such as job_not_found */
    char detail[400];
} PawlError;

typedef struct PawlClient PawlClient;
typedef struct PawlInfo PawlInfo;
typedef struct PawlJob PawlJob;
typedef struct PawlWorker PawlWorker;

/* --- Adding and asking -------------------------------------------------------------- */

/* url: http://HOST:PORT, https://HOST, unix:PATH, fake: or inline: (NULL: $PAWL_SERVER,
 * else http://127.0.0.1:7420); token: NULL is $PAWL_TOKEN. NULL if the URL is none. Fakes
 * are for one thread. */
PawlClient *pawl_client_new(const char *url, const char *token);
void pawl_client_free(PawlClient *client);

/* Whose jobs; NULL: the token's, else `default`. */
void pawl_client_set_tenant(PawlClient *client, const char *tenant);
/* How long a request without an answer, or with a 429 or 503, is sent again; 30. */
void pawl_client_set_retry_for(PawlClient *client, double seconds);
/* For one answer; 60. */
void pawl_client_set_timeout(PawlClient *client, double seconds);
/* Where the daemon cannot take keys, because it is cut off from its store, add without
 * one; a lost answer is then an error, not tried again. */
void pawl_client_set_keyless(PawlClient *client, bool keyless);

typedef struct PawlNewJob {
    const char *type;
    const void *payload; /* text, or any bytes; NULL: none */
    size_t payload_bytes;
    const char *fields; /* a JSON object with further fields, or NULL */
    const char *key; /* of pawl_add: an Idempotency-Key of yours; NULL: one of its own */
    const void *reserved[4];
} PawlNewJob;

PawlStatus pawl_add(PawlClient *client, const PawlNewJob *job, char out_id[PAWL_ID_BYTES],
                    PawlError *why);
/* All in one request. If some are refused (PAWL_REFUSED, with why of the first) their ids
 * are empty, and the others are added. */
PawlStatus pawl_add_many(PawlClient *client, const PawlNewJob *jobs, size_t count,
                         char (*out_ids)[PAWL_ID_BYTES], PawlError *why);
PawlStatus pawl_get(PawlClient *client, const char *id, PawlInfo **out_job,
                    PawlError *why);
/* Waits for the end of a job and gives it with its result; seconds below 0: for ever. */
PawlStatus pawl_wait(PawlClient *client, const char *id, double seconds,
                     PawlInfo **out_job, PawlError *why);
/* Asks for the job's end. One that is cancelled already stays so. out_job may be NULL. */
PawlStatus pawl_cancel(PawlClient *client, const char *id, PawlInfo **out_job,
                       PawlError *why);

void pawl_info_free(PawlInfo *job);
const char *pawl_info_id(const PawlInfo *job);
const char *pawl_info_state(const PawlInfo *job);
bool pawl_info_final(const PawlInfo *job);
const char *pawl_info_error(const PawlInfo *job); /* NULL: none */
int pawl_info_attempt(const PawlInfo *job);
/* NULL: none. A zero follows the bytes. */
const char *pawl_info_payload(const PawlInfo *job, size_t *out_bytes);
const char *pawl_info_result(const PawlInfo *job, size_t *out_bytes);
/* Every field of the reference, as a JSON text of yours: free(). */
char *pawl_info_json(const PawlInfo *job);

/* --- Working -------------------------------------------------------------------------
 */

typedef enum PawlEnd {
    PAWL_DONE,   /* with the result that was set */
    PAWL_RETRY,  /* try again after the usual delay; counts as a try */
    PAWL_FAIL,   /* never try again */
    PAWL_ERROR,  /* an error: tried again as the job says */
    PAWL_SNOOZE, /* not now: pawl_job_snooze said when; a retry where the daemon cannot */
} PawlEnd;

typedef PawlEnd PawlRun(PawlJob *job, void *data);

typedef struct PawlHandler {
    const char *type;
    PawlRun *run;
    void *data;
} PawlHandler;

const char *pawl_job_id(const PawlJob *job);
const char *pawl_job_type(const PawlJob *job);
int pawl_job_attempt(const PawlJob *job);
const char *pawl_job_payload(const PawlJob *job, size_t *out_bytes);
/* Someone asked for its end, or it is not ours any more: stop. */
bool pawl_job_cancelled(const PawlJob *job);
/* Tells how far the job is, at once. message may be NULL. */
void pawl_job_progress(PawlJob *job, int percent, const char *message);
/* Adds a job together with the end of this one, if that is no retry; false: no such job.
 */
bool pawl_job_add(PawlJob *job, const PawlNewJob *child);
void pawl_job_result(PawlJob *job, const void *data, size_t bytes);
/* Why it is no success; shown as the job's error. */
void pawl_job_why(PawlJob *job, const char *text);
/* For PAWL_SNOOZE. */
void pawl_job_snooze(PawlJob *job, double seconds);

/* Of a fake client: pawl_worker_run does what waits and returns; of an inline one the
 * handlers are those that pawl_add calls, and the worker must outlive the adds. */
PawlWorker *pawl_worker_new(PawlClient *client, const PawlHandler *handlers, size_t count,
                            unsigned concurrency);
void pawl_worker_free(PawlWorker *worker);
/* A worker that is not heard from for so long has lost its jobs; 30. Renewed by thirds.
 */
void pawl_worker_set_lease(PawlWorker *worker, double seconds);
/* How long one question for work waits: so long a stop takes at most; 2. */
void pawl_worker_set_poll(PawlWorker *worker, double seconds);
/* Only jobs of this queue; may be called several times. */
void pawl_worker_add_queue(PawlWorker *worker, const char *queue);
/* false: leave SIGTERM and SIGINT alone. One worker at a time may listen to them. */
void pawl_worker_set_signals(PawlWorker *worker, bool listen);
/* Works until it is stopped, by pawl_worker_stop, SIGTERM or SIGINT; a second signal does
 * what it did before. Returns when the jobs in hand are done. */
PawlStatus pawl_worker_run(PawlWorker *worker, PawlError *why);
void pawl_worker_stop(PawlWorker *worker);

#ifdef __cplusplus
}
#endif

#endif
