/* SPDX-License-Identifier: Apache-2.0 */
/* remember.c - see remember.h. */
#include "serve/remember.h"

#include "base/log.h"
#include "base/times.h"
#include "base/wait.h"
#include "serve/snapshot.h"

#define GATHER_MS 500              /* changes of definitions come in groups */
#define EVERY_MS  (5 * MS_PER_MIN) /* if the journal has gone on */
#define AGAIN_MS  (5 * MS_PER_S)   /* after a failure */

struct Remember {
    RememberOptions options;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool told; /* under the lock, as all that follows */
    bool touched;
    bool stop;
    bool failing;
    uint64_t ids;
    uint64_t position;
    uint64_t written; /* the position in the file */
    int64_t due_boot;
};

static Err write_one(const Remember *remember, Snapshot *snapshot, Error *why)
{
    const RememberOptions *options = &remember->options;
    StoreOptions how = { .read_only = true, .answer_ms = options->answer_ms };
    Store *store;
    Err err = store_open(options->store_url, &how, &store, why);
    if (err)
        return err;
    err = snapshot_take(snapshot, store, why);
    store_close(store);
    return err ? err : snapshot_write(snapshot, options->data_dir, why);
}

/* A store that is away is told of by others. */
static void tell_failure(Err err, const Error *why)
{
    if (err != ERR_UNAVAILABLE && err != ERR_TIMEOUT)
        log_event(LOG_WARN, "node.forgetful",
                  "why=%s msg=\"if it is started without its store it may have to wait "
                  "for that\"",
                  LOG_QUOTED(why->text));
}

static Err write_now(const Remember *remember, uint64_t ids, uint64_t position,
                     Error *why)
{
    Buf url = { 0 };
    store_url_shown(remember->options.store_url, &url);
    Snapshot snapshot = { .sysid = slice_text(remember->options.identity->sysid),
                          .number = remember->options.identity->number,
                          .store = buf_slice(&url),
                          .position = position,
                          .ids = ids };
    Err err = write_one(remember, &snapshot, why);
    snapshot_done(&snapshot);
    buf_done(&url);
    return err;
}

static bool is_due(const Remember *remember)
{
    return remember->told &&
           (remember->touched || remember->position != remember->written);
}

/* Under the lock. What comes while something is due waits with it. */
static void wait_until_due(Remember *remember)
{
    while (!remember->stop) {
        int64_t left_ms = remember->due_boot - clock_now().boot_ms;
        if (is_due(remember) && left_ms <= 0)
            return;
        if (left_ms <= 0)
            left_ms = EVERY_MS; /* whoever changes something wakes it */
        struct timespec until = wait_end(left_ms);
        pthread_cond_timedwait(&remember->changed, &remember->lock, &until);
    }
}

static void *remember_run(void *context)
{
    Remember *remember = context;
    Error why = { 0 };
    pthread_mutex_lock(&remember->lock);
    for (bool stop = false; !stop;) {
        wait_until_due(remember);
        stop = remember->stop;
        if (stop && (!remember->told || !remember->touched || remember->failing))
            break;
        uint64_t ids = remember->ids;
        uint64_t position = remember->position;
        remember->touched = false;
        pthread_mutex_unlock(&remember->lock);
        Err err = write_now(remember, ids, position, &why);
        pthread_mutex_lock(&remember->lock);
        if (!err)
            remember->written = position;
        else if (!remember->failing)
            tell_failure(err, &why);
        remember->failing = err != ERR_OK;
        bool soon = remember->touched;
        remember->touched = soon || err;
        int64_t pause_ms = err ? AGAIN_MS : soon ? GATHER_MS : EVERY_MS;
        remember->due_boot = clock_now().boot_ms + pause_ms;
    }
    pthread_mutex_unlock(&remember->lock);
    return NULL;
}

Remember *remember_open(const RememberOptions *options)
{
    Remember *remember = MEM_NEW(Remember);
    remember->options = *options;
    remember->touched = true;
    pthread_mutex_init(&remember->lock, NULL);
    wait_init(&remember->changed);
    pthread_create(&remember->thread, NULL, remember_run, remember);
    return remember;
}

void remember_point(Remember *remember, uint64_t ids, uint64_t position)
{
    pthread_mutex_lock(&remember->lock);
    bool first = !remember->told;
    remember->told = true;
    remember->ids = ids;
    remember->position = position;
    pthread_mutex_unlock(&remember->lock);
    if (first)
        pthread_cond_signal(&remember->changed);
}

void remember_touch(Remember *remember)
{
    pthread_mutex_lock(&remember->lock);
    if (!remember->touched)
        remember->due_boot = clock_now().boot_ms + GATHER_MS;
    remember->touched = true;
    pthread_mutex_unlock(&remember->lock);
    pthread_cond_signal(&remember->changed);
}

void remember_close(Remember *remember)
{
    if (!remember)
        return;
    pthread_mutex_lock(&remember->lock);
    remember->stop = true;
    pthread_mutex_unlock(&remember->lock);
    pthread_cond_signal(&remember->changed);
    pthread_join(remember->thread, NULL);
    pthread_cond_destroy(&remember->changed);
    pthread_mutex_destroy(&remember->lock);
    mem_free(remember);
}
