/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - the worker of libpawl: claims, a thread for each job, heartbeats, results.
 *
 * `lock` guards the list of jobs in hand and what they told; nothing is asked of the
 * daemon under it. A job leaves the list, and its memory goes, only after the daemon has
 * heard its result; heartbeats copy what they need first. */
#include "internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Progress that comes all the time is told at most so often. */
#define BEAT_SECONDS 0.05

struct PawlWorker {
    PawlClient *client;
    PawlHandler *handlers;
    size_t handlers_count;
    unsigned concurrency;
    double lease;
    double poll;
    bool listen;
    json_t *queues;
    atomic_bool stopping;
    atomic_bool no_again_in; /* a daemon before 0.2 */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a job is done, a heartbeat is due, or all is over */
    PawlJob *jobs;
    unsigned busy;
    bool beat;
    bool over;
};

/* The one that listens to signals. */
static _Atomic(PawlWorker *) listening;

PawlWorker *pawl_worker_new(PawlClient *client, const PawlHandler *handlers, size_t count,
                            unsigned concurrency)
{
    PawlWorker *worker = mem_grow(NULL, sizeof *worker);
    *worker = (PawlWorker){ .client = client,
                            .handlers = mem_grow(NULL, (count + 1) * sizeof *handlers),
                            .handlers_count = count,
                            .concurrency = concurrency ? concurrency : 1,
                            .lease = 30,
                            .poll = 2,
                            .listen = true,
                            .queues = json_array() };
    memcpy(worker->handlers, handlers, count * sizeof *handlers);
    pthread_mutex_init(&worker->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (client->fake) {
        client->fake->handlers = worker->handlers;
        client->fake->handlers_count = count;
    }
    return worker;
}

void pawl_worker_free(PawlWorker *worker)
{
    if (!worker)
        return;
    if (worker->client->fake && worker->client->fake->handlers == worker->handlers)
        worker->client->fake->handlers_count = 0;
    pthread_mutex_destroy(&worker->lock);
    pthread_cond_destroy(&worker->changed);
    json_decref(worker->queues);
    free(worker->handlers);
    free(worker);
}

void pawl_worker_set_lease(PawlWorker *worker, double seconds)
{
    worker->lease = seconds;
}

void pawl_worker_set_poll(PawlWorker *worker, double seconds)
{
    worker->poll = seconds;
}

void pawl_worker_add_queue(PawlWorker *worker, const char *queue)
{
    json_array_append_new(worker->queues, json_string(queue));
}

void pawl_worker_set_signals(PawlWorker *worker, bool listen)
{
    worker->listen = listen;
}

void pawl_worker_stop(PawlWorker *worker)
{
    atomic_store(&worker->stopping, true);
}

/* --- Waiting
 * ------------------------------------------------------------------------------- */

/* Waits for a change, at most so long; the lock is held. */
static void wait_changed(PawlWorker *worker, double seconds)
{
    double until = now_seconds() + seconds;
    struct timespec then = { .tv_sec = (time_t)until };
    then.tv_nsec = (long)((until - (double)then.tv_sec) * 1e9);
    pthread_cond_timedwait(&worker->changed, &worker->lock, &then);
}

void pawl_job_progress(PawlJob *job, int percent, const char *message)
{
    PawlWorker *worker = job->worker;
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    json_object_set_new(job->told, "progress", json_integer(percent));
    if (message)
        json_object_set_new(job->told, "message", json_string(message));
    worker->beat = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

/* --- Telling
 * ------------------------------------------------------------------------------- */

/* What names a job to the daemon, and what it told so far; the lock is held. */
static json_t *item_of(const PawlJob *job)
{
    json_t *item = json_deep_copy(job->told);
    json_object_set_new(item, "id", json_string(pawl_job_id(job)));
    json_object_set_new(item, "attempt", json_integer(pawl_job_attempt(job)));
    json_object_set_new(item, "token", json_string(text_of(job->fields, "token")));
    return item;
}

/* Asks what `ask` says of the items, which it takes; *out_told is the answer, the
 * caller's. */
static PawlStatus tell(PawlWorker *worker, Ask ask, json_t *items, json_t **out_told,
                       PawlError *why)
{
    json_t *body = json_object();
    Bytes data = { 0 };
    int status = 0;
    json_object_set_new(body, "items", items);
    ask.method = "POST";
    ask.body = body;
    PawlStatus got = client_call(worker->client, &ask, &data, &status, why);
    if (got == PAWL_OK && out_told)
        *out_told = json_loadb(data.data, data.bytes, JSON_ALLOW_NUL, NULL);
    bytes_done(&data);
    json_decref(body);
    return got;
}

static PawlStatus tell_end(PawlJob *job, PawlError *why)
{
    PawlWorker *worker = job->worker;
    double patience = worker->lease > FINISH_SECONDS ? worker->lease : FINISH_SECONDS;
    if (atomic_load(&worker->no_again_in))
        json_object_del(job->end, "again_in");
    pthread_mutex_lock(&worker->lock);
    json_t *item = item_of(job);
    pthread_mutex_unlock(&worker->lock);
    json_object_update(item, job->end);
    json_t *items = json_array();
    json_array_append_new(items, item);
    return tell(worker, (Ask){ .path = "/claims/finish", .retry_for = patience }, items,
                NULL, why);
}

/* Tells the result until a daemon has heard it, or the lease must be over. */
static void finish(PawlJob *job)
{
    PawlError why = { 0 };
    PawlStatus got = tell_end(job, &why);
    if (got == PAWL_REFUSED && strcmp(why.code, "unknown_field") == 0 &&
        json_object_get(job->end, "again_in")) {
        atomic_store(&job->worker->no_again_in, true);
        got = tell_end(job, &why);
    }
    if (why.http_status == 400 || why.http_status == 413 || why.http_status == 422) {
        /* It cannot take such a result, and never will. */
        if (got == PAWL_REFUSED) {
            json_object_clear(job->end);
            json_object_set_new(job->end, "exitcode", json_integer(500));
            pawl_job_why(job, why.detail);
            got = tell_end(job, &why);
        }
    }
    if (got != PAWL_OK)
        fprintf(stderr, "pawl: the result of %s is lost: %s\n", pawl_job_id(job),
                why.detail);
}

/* --- Jobs in hand
 * -------------------------------------------------------------------------- */

static void let_go(PawlJob *job)
{
    PawlWorker *worker = job->worker;
    pthread_mutex_lock(&worker->lock);
    for (PawlJob **at = &worker->jobs; *at; at = &(*at)->next) {
        if (*at == job) {
            *at = job->next;
            break;
        }
    }
    pthread_mutex_unlock(&worker->lock);
    job_free(job);
    pthread_mutex_lock(&worker->lock);
    worker->busy--; /* from now on nobody waits for this thread */
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

static void *work(void *given)
{
    PawlJob *job = given;
    job_perform(job);
    finish(job);
    let_go(job);
    return NULL;
}

static void begin(PawlWorker *worker, json_t *fields)
{
    const char *type = text_of(fields, "type");
    const PawlHandler *handler =
        handler_find(worker->handlers, worker->handlers_count, type ? type : "");
    if (!handler)
        return; /* was not asked for */
    PawlJob *job = job_new(json_deep_copy(fields), handler);
    job->worker = worker;
    pthread_mutex_lock(&worker->lock);
    job->next = worker->jobs;
    worker->jobs = job;
    worker->busy++;
    pthread_mutex_unlock(&worker->lock);
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, job) == 0) {
        pthread_detach(thread);
        return;
    }
    json_object_set_new(job->end, "exitcode", json_integer(500));
    pawl_job_why(job, "no thread could be started");
    finish(job);
    let_go(job);
}

static json_t *claim_of(PawlWorker *worker, unsigned free_slots)
{
    char name[96];
    char host[64] = "";
    char lease[32];
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s:%ld", host, (long)getpid());
    snprintf(lease, sizeof lease, "PT%.3fS", worker->lease);
    json_t *types = json_array();
    for (size_t i = 0; i < worker->handlers_count; i++)
        json_array_append_new(types, json_string(worker->handlers[i].type));
    json_t *claim = json_pack("{s:o, s:i, s:s, s:s}", "types", types, "max",
                              (int)free_slots, "lease", lease, "worker", name);
    json_object_set_new(claim, "wait", json_real(worker->poll));
    if (json_array_size(worker->queues))
        json_object_set(claim, "queues", worker->queues);
    return claim;
}

/* Asks for jobs and begins them. What will pass is no failure. */
static PawlStatus take(PawlWorker *worker, PawlError *why)
{
    pthread_mutex_lock(&worker->lock);
    if (worker->busy >= worker->concurrency)
        wait_changed(worker, 0.1);
    unsigned free_slots = worker->concurrency - worker->busy;
    pthread_mutex_unlock(&worker->lock);
    if (!free_slots)
        return PAWL_OK;
    double until = now_seconds() + worker->poll;
    json_t *body = claim_of(worker, free_slots);
    Bytes data = { 0 };
    int status = 0;
    Ask ask = { .method = "POST", .path = "/claims", .body = body };
    PawlStatus got = client_call(worker->client, &ask, &data, &status, why);
    json_decref(body);
    if (got == PAWL_OK && status == 200) {
        json_t *told = json_loadb(data.data, data.bytes, JSON_ALLOW_NUL, NULL);
        json_t *jobs = json_object_get(told, "jobs");
        for (size_t i = 0; i < json_array_size(jobs); i++)
            begin(worker, json_array_get(jobs, i));
        json_decref(told);
    }
    bytes_done(&data);
    /* A daemon that does not let us wait is not asked all the time. */
    if (got == PAWL_OK && status != 200 && until > now_seconds())
        sleep_seconds(until - now_seconds());
    if (got == PAWL_OK || !error_again(why))
        return got;
    fprintf(stderr, "pawl: %s; asking again\n", why->detail);
    sleep_seconds(0.5 * random_share());
    return PAWL_OK;
}

/* --- Heartbeats
 * ------------------------------------------------------------------------------ */

static PawlJob *job_in_hand(PawlWorker *worker, const char *id, json_int_t attempt)
{
    for (PawlJob *job = worker->jobs; job; job = job->next) {
        if (strcmp(pawl_job_id(job), id) == 0 && pawl_job_attempt(job) == attempt)
            return job;
    }
    return NULL;
}

/* Marks those of the items that should end. */
static void hear(PawlWorker *worker, json_t *items, json_t *told)
{
    json_t *answers = json_object_get(told, "items");
    pthread_mutex_lock(&worker->lock);
    for (size_t i = 0; i < json_array_size(answers) && i < json_array_size(items); i++) {
        const char *word = text_of(json_array_get(answers, i), "status");
        json_t *item = json_array_get(items, i);
        PawlJob *job = job_in_hand(worker, text_of(item, "id"),
                                   json_integer_value(json_object_get(item, "attempt")));
        if (job && word && strcmp(word, "ok") != 0)
            atomic_store(&job->cancelled, true);
    }
    pthread_mutex_unlock(&worker->lock);
}

static void renew(PawlWorker *worker)
{
    json_t *items = json_array();
    pthread_mutex_lock(&worker->lock);
    for (PawlJob *job = worker->jobs; job; job = job->next) {
        if (!pawl_job_cancelled(job))
            json_array_append_new(items, item_of(job));
    }
    pthread_mutex_unlock(&worker->lock);
    PawlError why = { 0 };
    json_t *told = NULL;
    if (json_array_size(items)) {
        PawlStatus got = tell(worker, (Ask){ .path = "/claims/renew" },
                              json_incref(items), &told, &why);
        if (got == PAWL_OK)
            hear(worker, items, told);
        else
            fprintf(stderr, "pawl: cannot renew: %s\n", why.detail);
    }
    json_decref(told);
    json_decref(items);
}

static void *heartbeat(void *given)
{
    PawlWorker *worker = given;
    double next = now_seconds() + worker->lease / 3;
    for (;;) {
        pthread_mutex_lock(&worker->lock);
        while (!worker->over && !worker->beat && now_seconds() < next)
            wait_changed(worker, next - now_seconds());
        bool over = worker->over;
        worker->beat = false;
        pthread_mutex_unlock(&worker->lock);
        if (over)
            return NULL;
        renew(worker);
        next = now_seconds() + worker->lease / 3;
        sleep_seconds(BEAT_SECONDS);
    }
}

/* --- Running
 * --------------------------------------------------------------------------------- */

static void heard(int number)
{
    PawlWorker *worker = atomic_load(&listening);
    (void)number;
    if (worker)
        pawl_worker_stop(worker);
}

static void listen_to(PawlWorker *worker, struct sigaction before[2])
{
    /* A second signal does what is usual. */
    struct sigaction action = { .sa_handler = heard,
                                .sa_flags = (int)SA_RESETHAND | SA_RESTART };
    if (!worker->listen)
        return;
    atomic_store(&listening, worker);
    sigaction(SIGTERM, &action, &before[0]);
    sigaction(SIGINT, &action, &before[1]);
}

static void unlisten(PawlWorker *worker, const struct sigaction before[2])
{
    if (!worker->listen)
        return;
    sigaction(SIGTERM, &before[0], NULL);
    sigaction(SIGINT, &before[1], NULL);
    atomic_store(&listening, NULL);
}

PawlStatus pawl_worker_run(PawlWorker *worker, PawlError *why)
{
    PawlError unseen;
    why = why ? why : &unseen;
    if (worker->client->fake)
        return fake_run(worker->client->fake, why);
    struct sigaction before[2];
    pthread_t beats;
    PawlStatus got = PAWL_OK;
    worker->over = false;
    if (pthread_create(&beats, NULL, heartbeat, worker) != 0) {
        error_set(why, 0, "no_thread", "no thread could be started");
        return PAWL_INVALID;
    }
    listen_to(worker, before);
    while (got == PAWL_OK && !atomic_load(&worker->stopping))
        got = take(worker, why);
    pthread_mutex_lock(&worker->lock);
    while (worker->busy)
        wait_changed(worker, 1);
    worker->over = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(beats, NULL);
    unlisten(worker, before);
    return got;
}
