/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_writer.c - see snapshot_writer.h. */
#include "cluster/snapshot_writer.h"

#include "base/log.h"
#include "base/times.h"
#include "base/wait.h"
#include "cluster/snapshot.h"

#define GATHER_MS 500              /* changes of definitions come in groups */
#define EVERY_MS  (5 * MS_PER_MIN) /* if the journal has gone on */
#define AGAIN_MS  (5 * MS_PER_S)   /* after a failure */

struct SnapshotWriter {
    SnapshotWriterOptions options;
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

static Err write_one(const SnapshotWriter *snapshot_writer, Snapshot *snapshot,
                     Error *why)
{
    const SnapshotWriterOptions *options = &snapshot_writer->options;
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

static Err write_now(const SnapshotWriter *snapshot_writer, uint64_t ids,
                     uint64_t position, Error *why)
{
    Buf url = { 0 };
    store_url_shown(snapshot_writer->options.store_url, &url);
    Snapshot snapshot = { .sysid = slice_text(snapshot_writer->options.identity->sysid),
                          .number = snapshot_writer->options.identity->number,
                          .store = buf_slice(&url),
                          .position = position,
                          .ids = ids };
    Err err = write_one(snapshot_writer, &snapshot, why);
    snapshot_done(&snapshot);
    buf_done(&url);
    return err;
}

static bool is_due(const SnapshotWriter *snapshot_writer)
{
    return snapshot_writer->told &&
           (snapshot_writer->touched ||
            snapshot_writer->position != snapshot_writer->written);
}

/* Under the lock. What comes while something is due waits with it. */
static void wait_until_due(SnapshotWriter *snapshot_writer)
{
    while (!snapshot_writer->stop) {
        int64_t left_ms = snapshot_writer->due_boot - clock_now().boot_ms;
        if (is_due(snapshot_writer) && left_ms <= 0)
            return;
        if (left_ms <= 0)
            left_ms = EVERY_MS; /* whoever changes something wakes it */
        struct timespec until = wait_end(left_ms);
        pthread_cond_timedwait(&snapshot_writer->changed, &snapshot_writer->lock, &until);
    }
}

static void *snapshot_writer_run(void *context)
{
    SnapshotWriter *snapshot_writer = context;
    Error why = { 0 };
    pthread_mutex_lock(&snapshot_writer->lock);
    for (bool stop = false; !stop;) {
        wait_until_due(snapshot_writer);
        stop = snapshot_writer->stop;
        if (stop && (!snapshot_writer->told || !snapshot_writer->touched ||
                     snapshot_writer->failing))
            break;
        uint64_t ids = snapshot_writer->ids;
        uint64_t position = snapshot_writer->position;
        snapshot_writer->touched = false;
        pthread_mutex_unlock(&snapshot_writer->lock);
        Err err = write_now(snapshot_writer, ids, position, &why);
        pthread_mutex_lock(&snapshot_writer->lock);
        if (!err)
            snapshot_writer->written = position;
        else if (!snapshot_writer->failing)
            tell_failure(err, &why);
        snapshot_writer->failing = err != ERR_OK;
        bool soon = snapshot_writer->touched;
        snapshot_writer->touched = soon || err;
        int64_t pause_ms = err ? AGAIN_MS : soon ? GATHER_MS : EVERY_MS;
        snapshot_writer->due_boot = clock_now().boot_ms + pause_ms;
    }
    pthread_mutex_unlock(&snapshot_writer->lock);
    return NULL;
}

SnapshotWriter *snapshot_writer_open(const SnapshotWriterOptions *options)
{
    SnapshotWriter *snapshot_writer = MEM_NEW(SnapshotWriter);
    snapshot_writer->options = *options;
    snapshot_writer->touched = true;
    pthread_mutex_init(&snapshot_writer->lock, NULL);
    wait_init(&snapshot_writer->changed);
    pthread_create(&snapshot_writer->thread, NULL, snapshot_writer_run, snapshot_writer);
    return snapshot_writer;
}

void snapshot_writer_point(SnapshotWriter *snapshot_writer, uint64_t ids,
                           uint64_t position)
{
    pthread_mutex_lock(&snapshot_writer->lock);
    bool first = !snapshot_writer->told;
    snapshot_writer->told = true;
    snapshot_writer->ids = ids;
    snapshot_writer->position = position;
    pthread_mutex_unlock(&snapshot_writer->lock);
    if (first)
        pthread_cond_signal(&snapshot_writer->changed);
}

void snapshot_writer_touch(SnapshotWriter *snapshot_writer)
{
    pthread_mutex_lock(&snapshot_writer->lock);
    if (!snapshot_writer->touched)
        snapshot_writer->due_boot = clock_now().boot_ms + GATHER_MS;
    snapshot_writer->touched = true;
    pthread_mutex_unlock(&snapshot_writer->lock);
    pthread_cond_signal(&snapshot_writer->changed);
}

void snapshot_writer_close(SnapshotWriter *snapshot_writer)
{
    if (!snapshot_writer)
        return;
    pthread_mutex_lock(&snapshot_writer->lock);
    snapshot_writer->stop = true;
    pthread_mutex_unlock(&snapshot_writer->lock);
    pthread_cond_signal(&snapshot_writer->changed);
    pthread_join(snapshot_writer->thread, NULL);
    pthread_cond_destroy(&snapshot_writer->changed);
    pthread_mutex_destroy(&snapshot_writer->lock);
    mem_free(snapshot_writer);
}
