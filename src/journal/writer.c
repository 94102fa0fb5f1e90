/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - see writer.h.
 *
 * What must hold:
 *   W1  a record is written only where room was made; a write there that fails is
 *       fatal, while room that cannot be made (ERR_FULL) is asked for again later.
 *   W2  all of a segment is durable before the next one gets its name.
 *   W3  after a fatal error the thread writes nothing any more. */
#include "journal/writer.h"

#include "base/log.h"
#include "journal/io.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <time.h>

#define RETRY_MS 1000 /* between asking a full disk for room */
#define IDLE_MS  5    /* after so long without records: make room ahead */
#define NOTE_MS  100  /* ... and note how far all is durable */
#define FOREVER  (-1)

/* --- Reporting ------------------------------------------------------------- */

static uint64_t room_ahead(const Writer *writer)
{
    uint64_t room = writer->current.filled - writer->current.used;
    if (writer->next.fd >= 0)
        room += writer->next.filled - SEGMENT_HEADER_BYTES;
    return room;
}

static void publish_room(Journal *journal, bool full)
{
    pthread_mutex_lock(&journal->lock);
    bool was_full = journal->full;
    journal->full = full;
    journal->sure_end = journal->durable + room_ahead(&journal->writer);
    uint64_t sure_end = journal->sure_end;
    pthread_cond_broadcast(&journal->settled);
    pthread_mutex_unlock(&journal->lock);
    if (full)
        journal->writer.full_ns = io_now_ns();
    if (full != was_full)
        log_event(full ? LOG_WARN : LOG_INFO, full ? "journal.full" : "journal.room",
                  "room_bytes=%" PRIu64, sure_end - journal->durable);
}

static void fail(Journal *journal, Err err)
{
    log_event(LOG_ERROR, "journal.failed", "err=%s errno=%d durable=%" PRIu64,
              err_name(err), errno, journal->durable);
    pthread_mutex_lock(&journal->lock);
    journal->failed = err;
    journal->sure_end = journal->durable;
    queue_clear(&journal->queue);
    pthread_cond_broadcast(&journal->settled);
    pthread_mutex_unlock(&journal->lock);
    queue_clear(&journal->writer.taken);
    if (journal->options.on_durable)
        journal->options.on_durable(journal->options.context, journal->durable, err);
}

static void report(Journal *journal, uint64_t position, int64_t write_ns, int64_t sync_ns)
{
    pthread_mutex_lock(&journal->lock);
    journal->durable = position;
    journal->sure_end = position + room_ahead(&journal->writer);
    journal->stats.syncs++;
    journal->stats.write_ns += (uint64_t)write_ns;
    journal->stats.sync_ns += (uint64_t)sync_ns;
    pthread_cond_broadcast(&journal->settled);
    pthread_mutex_unlock(&journal->lock);
    if (journal->options.on_durable)
        journal->options.on_durable(journal->options.context, position, ERR_OK);
}

/* --- Room ------------------------------------------------------------------ */

/* Where the file should be reserved to when it is used up to `used`. */
static uint64_t reserve_target(const Journal *journal, uint64_t used)
{
    uint64_t to = used + journal->ahead_bytes;
    uint64_t most = journal->options.segment_bytes;
    return to < most ? to : most;
}

/* Not for every few bytes, but a quarter of what is to be ahead at a time. */
static bool reserve_wanted(const Journal *journal, const SegmentFile *file, uint64_t used)
{
    uint64_t to = reserve_target(journal, used);
    return file->filled < to && (to - file->filled >= journal->ahead_bytes / 4 ||
                                 to == journal->options.segment_bytes);
}

static bool zeros_wanted(const SegmentFile *file)
{
    return file->used < file->filled && file->zeroed < file->filled;
}

/* The file whose room is to grow, if any, when `bytes` more will be used. When the end
 * of the current segment is in sight, the next one is made. */
static SegmentFile *file_to_reserve(Journal *journal, uint64_t bytes)
{
    Writer *writer = &journal->writer;
    uint64_t used = writer->current.used + bytes;
    if (reserve_wanted(journal, &writer->current, used))
        return &writer->current;
    bool in_sight = used + journal->ahead_bytes > journal->options.segment_bytes;
    bool wanted = writer->next.fd < 0 ||
                  reserve_wanted(journal, &writer->next, SEGMENT_HEADER_BYTES);
    return in_sight && wanted ? &writer->next : NULL;
}

static SegmentFile *file_to_zero(Journal *journal)
{
    Writer *writer = &journal->writer;
    if (zeros_wanted(&writer->current))
        return &writer->current;
    return writer->next.fd >= 0 && zeros_wanted(&writer->next) ? &writer->next : NULL;
}

static Err zero_step(SegmentFile *file)
{
    uint64_t from = file->zeroed > file->used ? file->zeroed : file->used;
    uint64_t to = from + SEGMENT_STEP_BYTES;
    return segment_fill(file, to < file->filled ? to : file->filled);
}

static Err reserve_step(Journal *journal, SegmentFile *file, uint64_t bytes)
{
    Err err = file->fd < 0 ? segment_make(journal->dir_fd, file) : ERR_OK;
    if (!err)
        err = segment_reserve(file, reserve_target(journal, file->used + bytes));
    if (err == ERR_UNSUPPORTED)
        err = segment_fill(file, file->filled + SEGMENT_STEP_BYTES);
    if (!err || err == ERR_FULL)
        publish_room(journal, err == ERR_FULL);
    return err == ERR_FULL ? ERR_OK : err;
}

static bool step_wanted(Journal *journal)
{
    return file_to_reserve(journal, 0) || file_to_zero(journal);
}

/* While nothing waits: with a sync, so that the next commit need not pay for it. */
static Err step_idle(Journal *journal)
{
    SegmentFile *file = file_to_reserve(journal, 0);
    Err err = ERR_OK;
    if (file)
        err = reserve_step(journal, file, 0);
    else if ((file = file_to_zero(journal)))
        err = zero_step(file);
    if (!err && file && file->fd >= 0)
        err = io_sync(file->fd);
    return err == ERR_FULL ? ERR_IO : err;
}

/* The disk had been full: it is no more when there is room ahead too. */
static Err room_again(Journal *journal)
{
    SegmentFile *file = file_to_reserve(journal, 0);
    if (file)
        return reserve_step(journal, file, 0);
    publish_room(journal, false);
    return ERR_OK;
}

/* Before a commit of so many bytes: only what cannot be put off. There is to be room
 * behind it too, for that is how a full disk is noticed in time. */
static Err step_before(Journal *journal, uint64_t bytes)
{
    const Writer *writer = &journal->writer;
    for (int i = 0; i < 2; i++) { /* in this segment, and in the next */
        if (journal->full || room_ahead(writer) >= bytes + journal->ahead_bytes / 2)
            break;
        SegmentFile *file = file_to_reserve(journal, bytes);
        if (!file)
            break;
        Err err = reserve_step(journal, file, file == &writer->current ? bytes : 0);
        if (err)
            return err;
    }
    return ERR_OK;
}

/* After it: zeros, if they are used up. Large commits need none. */
static Err step_after(Journal *journal, uint64_t bytes)
{
    SegmentFile *current = &journal->writer.current;
    bool scarce = current->zeroed < current->used + SEGMENT_STEP_BYTES;
    if (!scarce || !zeros_wanted(current) || bytes > SEGMENT_STEP_BYTES / 4)
        return ERR_OK;
    Err err = zero_step(current);
    return err == ERR_FULL ? ERR_IO : err;
}

static Err grow_for(Journal *journal, uint64_t bytes)
{
    Writer *writer = &journal->writer;
    uint64_t waiting = journal->end - journal->durable;
    uint64_t to = writer->current.used + waiting + bytes;
    if (to <= journal->options.segment_bytes)
        return segment_grow(&writer->current, to);
    Err err = writer->next.fd < 0 ? segment_make(journal->dir_fd, &writer->next) : ERR_OK;
    /* What waits may have to go there too. */
    uint64_t next_to = SEGMENT_HEADER_BYTES + waiting + bytes;
    return err ? err : segment_grow(&writer->next, next_to);
}

static Err serve_wanted(Journal *journal, uint64_t bytes)
{
    Err err = grow_for(journal, bytes);
    if (!err || err == ERR_FULL)
        publish_room(journal, err == ERR_FULL);
    return err == ERR_FULL ? ERR_OK : err;
}

/* --- Writing --------------------------------------------------------------- */

/* How many of the taken entries end at or before file offset `limit`. */
static size_t sorted_map_within(const Writer *writer, uint64_t limit)
{
    const Queue *taken = &writer->taken;
    size_t upto = taken->done;
    while (upto < taken->count &&
           segment_offset(&writer->current, taken->entries[upto].end) <= limit)
        upto++;
    return upto;
}

/* Those that belong into the current segment: what is too large for any is let into an
 * empty one. */
static size_t entries_for_current(const Journal *journal)
{
    const Writer *writer = &journal->writer;
    size_t upto = sorted_map_within(writer, journal->options.segment_bytes);
    bool empty = writer->current.used == SEGMENT_HEADER_BYTES;
    return upto == writer->taken.done && empty ? upto + 1 : upto;
}

static Err write_entries(Journal *journal, size_t upto)
{
    Writer *writer = &journal->writer;
    QueueEntry last = writer->taken.entries[upto - 1];
    uint64_t bytes = last.end - journal->durable;
    int64_t began_ns = io_now_ns();
    queue_parts(&writer->taken, bytes, &writer->parts);
    Err err = io_write_parts(writer->current.fd, writer->parts.items, writer->parts.count,
                             writer->current.used);
    int64_t written_ns = io_now_ns();
    if (!err)
        err = io_sync(writer->current.fd);
    if (err)
        return err == ERR_FULL ? ERR_IO : err; /* W1 */
    writer->current.used += bytes;
    writer->sum = last.sum;
    queue_skip(&writer->taken, bytes, upto);
    report(journal, last.end, written_ns - began_ns, io_now_ns() - written_ns);
    return ERR_OK;
}

/* The next segment becomes the current one. */
static Err rotate(Journal *journal)
{
    Writer *writer = &journal->writer;
    const JournalOptions *options = &journal->options;
    SegmentHeader header = { .node = options->node,
                             .epoch = options->epoch,
                             .cluster = options->cluster,
                             .start = journal->durable,
                             .synced = journal->durable,
                             .chain = { writer->sum, journal->seed } };
    Err err = writer->next.fd < 0 ? segment_make(journal->dir_fd, &writer->next) : ERR_OK;
    if (!err)
        err = segment_publish(journal->dir_fd, &writer->next, &header);
    if (err)
        return err;
    /* What was filled ahead and is not needed; it does no harm if it stays. */
    if (journal_io.ftruncate(writer->current.fd, (off_t)writer->current.used))
        log_event(LOG_INFO, "journal.truncate", "errno=%d", errno);
    segment_close(&writer->current);
    writer->current = writer->next;
    writer->next = SEGMENT_NONE;
    writer->noted = header.start;
    pthread_mutex_lock(&journal->lock);
    MEM_PUSH(journal->rows, journal->row_count, journal->row_capacity) =
        (SegmentRow){ header.start, TIME_NEVER };
    pthread_mutex_unlock(&journal->lock);
    return ERR_OK;
}

/* Writes all that was taken. ERR_FULL: the rest has to wait until there is room. */
static Err commit(Journal *journal)
{
    Writer *writer = &journal->writer;
    while (!queue_empty(&writer->taken)) {
        size_t upto = entries_for_current(journal);
        if (upto == writer->taken.done) {
            Err err = rotate(journal);
            if (err)
                return err;
            continue;
        }
        uint64_t end = writer->taken.entries[upto - 1].end;
        Err err = step_before(journal, end - journal->durable);
        if (!err)
            err = segment_grow(&writer->current, segment_offset(&writer->current, end));
        if (err == ERR_FULL)
            upto = sorted_map_within(writer, writer->current.filled);
        if (err && (err != ERR_FULL || upto == writer->taken.done))
            return err;
        err = write_entries(journal, upto);
        if (err)
            return err;
    }
    queue_clear(&writer->taken);
    return ERR_OK;
}

static Err commit_taken(Journal *journal)
{
    uint64_t before = journal->durable;
    Err err = commit(journal);
    if (err == ERR_FULL)
        publish_room(journal, true);
    if (!err && journal->full)
        err = room_again(journal);
    if (!err)
        err = step_after(journal, journal->durable - before);
    return err == ERR_FULL ? ERR_OK : err;
}

static Err note_synced(Journal *journal)
{
    Writer *writer = &journal->writer;
    uint64_t durable = journal->durable;
    if (durable <= writer->noted)
        return ERR_OK;
    writer->noted = durable;
    return segment_note_synced(&writer->current, durable, journal->seed) ? ERR_IO
                                                                         : ERR_OK;
}

/* --- The thread ------------------------------------------------------------ */

static struct timespec deadline_after(int64_t timeout_ms)
{
    int64_t at_ns = io_now_ns() + timeout_ms * 1000000;
    return (struct timespec){ .tv_sec = at_ns / 1000000000,
                              .tv_nsec = at_ns % 1000000000 };
}

/* What may be done when nothing new comes, and after how long. */
static int64_t patience_ms(Journal *journal)
{
    const Writer *writer = &journal->writer;
    if (journal->full) {
        int64_t passed_ms = (io_now_ns() - writer->full_ns) / 1000000;
        return passed_ms >= RETRY_MS ? 0 : RETRY_MS - passed_ms;
    }
    if (!queue_empty(&writer->taken))
        return 0;
    if (step_wanted(journal))
        return IDLE_MS;
    return journal->durable > writer->noted ? NOTE_MS : FOREVER;
}

typedef enum Wake { WAKE_WORK, WAKE_WANTED, WAKE_IDLE, WAKE_STOP } Wake;

static void take_queue(Journal *journal)
{
    Queue empty = journal->writer.taken;
    journal->writer.taken = journal->queue;
    journal->queue = empty;
    journal->flush = false;
}

/* Sleeps until there is work, or so long; whether the time passed without any. Holds the
 * lock. Who appends may do the writer's work meanwhile: then it rests on until that is
 * done. */
static bool rest(Journal *journal, int64_t ms)
{
    struct timespec deadline = deadline_after(ms > 0 ? ms : 0);
    int timed_out = 0;
    journal->rest = ms == FOREVER ? REST_UNTIMED : REST_TIMED;
    if (ms == FOREVER)
        pthread_cond_wait(&journal->work, &journal->lock);
    else
        timed_out = pthread_cond_timedwait(&journal->work, &journal->lock, &deadline);
    bool lent = journal->lent;
    while (journal->lent) {
        journal->rest = REST_UNTIMED;
        pthread_cond_wait(&journal->work, &journal->lock);
    }
    journal->rest = REST_NONE;
    return timed_out == ETIMEDOUT && !lent;
}

bool writer_commit_here(Journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    bool free = journal->queue.count && journal->rest && !journal->lent &&
                !journal->failed && !journal->full && !journal->stop &&
                !journal->wanted && queue_empty(&journal->writer.taken);
    if (free) {
        journal->lent = true;
        take_queue(journal);
    }
    pthread_mutex_unlock(&journal->lock);
    if (!free)
        return false;
    Err err = commit_taken(journal);
    if (err)
        fail(journal, err);
    pthread_mutex_lock(&journal->lock);
    journal->lent = false;
    if (journal->rest == REST_UNTIMED || journal->stop || journal->wanted)
        pthread_cond_signal(&journal->work); /* else it wakes soon by itself */
    pthread_mutex_unlock(&journal->lock);
    return true;
}

/* Waits for something to do; takes the queue if that is it. Holds the lock. */
static Wake wait_locked(Journal *journal, uint64_t *out_wanted)
{
    Writer *writer = &journal->writer;
    for (;;) {
        bool waiting = (journal->flush || journal->stop) && journal->queue.count;
        if (waiting && queue_empty(&writer->taken)) {
            take_queue(journal);
            return WAKE_WORK;
        }
        if (journal->stop)
            return WAKE_STOP;
        if (journal->wanted) {
            *out_wanted = journal->wanted;
            journal->wanted = 0;
            return WAKE_WANTED;
        }
        int64_t ms = journal->failed ? FOREVER : patience_ms(journal);
        if (!ms || rest(journal, ms))
            return WAKE_IDLE;
    }
}

static Err idle(Journal *journal)
{
    if (!queue_empty(&journal->writer.taken))
        return commit_taken(journal);
    if (journal->full)
        return room_again(journal);
    return step_wanted(journal) ? step_idle(journal) : note_synced(journal);
}

static void finish(Journal *journal)
{
    Err err = journal->failed ? journal->failed : commit_taken(journal);
    if (!err && queue_empty(&journal->writer.taken)) {
        pthread_mutex_lock(&journal->lock);
        take_queue(journal);
        pthread_mutex_unlock(&journal->lock);
        err = commit_taken(journal);
    }
    if (err && !journal->failed)
        fail(journal, err);
    if (err || !queue_empty(&journal->writer.taken)) {
        log_event(LOG_ERROR, "journal.unwritten", "err=%s bytes=%" PRIu64,
                  err_name(err ? err : ERR_FULL), journal->end - journal->durable);
        return;
    }
    if (note_synced(journal) || io_sync(journal->writer.current.fd))
        log_event(LOG_WARN, "journal.close", "errno=%d", errno);
}

static void *writer_main(void *context)
{
    Journal *journal = context;
    for (;;) {
        uint64_t wanted = 0;
        pthread_mutex_lock(&journal->lock);
        Wake wake = wait_locked(journal, &wanted);
        bool failed = journal->failed != ERR_OK;
        pthread_mutex_unlock(&journal->lock);
        Err err = ERR_OK;
        if (wake == WAKE_STOP)
            break;
        if (failed) /* W3 */
            queue_clear(&journal->writer.taken);
        else if (wake == WAKE_WORK)
            err = commit_taken(journal);
        else if (wake == WAKE_WANTED)
            err = serve_wanted(journal, wanted);
        else
            err = idle(journal);
        if (err)
            fail(journal, err);
    }
    finish(journal);
    return NULL;
}

Err writer_start(Journal *journal, Error *why)
{
    SegmentFile *current = &journal->writer.current;
    Err err = segment_reserve(current, reserve_target(journal, current->used));
    publish_room(journal, err == ERR_FULL);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&journal->writer.thread, NULL, writer_main, journal);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = failed;
    return failed ? error_errno(why, "journal: cannot start its thread") : ERR_OK;
}

void writer_stop(Journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    journal->stop = true;
    pthread_cond_signal(&journal->work);
    pthread_mutex_unlock(&journal->lock);
    pthread_join(journal->writer.thread, NULL);
}
