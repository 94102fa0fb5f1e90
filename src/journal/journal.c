/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - see journal.h: opening and closing, and the end that is appended to. The
 * reading end is reader.c, the thread writer.c. */
#include "journal/journal.h"

#include "journal/io.h"
#include "journal/reader.h"
#include "journal/recover.h"
#include "journal/survey.h"
#include "journal/writer.h"

#include "base/lock.h"
#include "base/wait.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_NAME "lock"

/* A body from here on is copied before the lock is taken, not while it is held. */
#define COPY_APART_BYTES ((size_t)64 * 1024)

/* --- Opening --------------------------------------------------------------- */

/* A directory that was made must still be there after a power cut. */
static Err sync_parent(const char *dir, Error *why)
{
    char *copy = mem_copy(dir, strlen(dir) + 1);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Err err = ERR_OK;
    if (fd < 0 || io_sync_dir(fd))
        err = error_errno(why, "journal: cannot sync the directory of %s", dir);
    if (fd >= 0)
        close(fd);
    mem_free(copy);
    return err;
}

static Err open_dir(Journal *journal, Error *why)
{
    const char *dir = journal->options.dir;
    if (!mkdir(dir, 0700)) {
        Err err = sync_parent(dir, why);
        if (err)
            return err;
    } else if (errno != EEXIST) {
        return error_errno(why, "journal: cannot make the directory %s", dir);
    }
    journal->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (journal->dir_fd < 0)
        return error_errno(why, "journal: cannot open the directory %s", dir);
    return ERR_OK;
}

static Err busy(const Journal *journal, Error *why)
{
    char holder[32] = "";
    ssize_t got = pread(journal->lock_fd, holder, sizeof holder - 1, 0);
    holder[got > 0 ? strcspn(holder, "\n") : 0] = '\0';
    return error_set(why, ERR_BUSY,
                     "journal: another process (pid %s) has the journal in %s open",
                     *holder ? holder : "unknown", journal->options.dir);
}

/* Fault 32. The lock goes with the process, however that ends; the number in the file
 * is only for the message. */
static Err lock_dir(Journal *journal, Error *why)
{
    journal->lock_fd =
        openat(journal->dir_fd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (journal->lock_fd < 0)
        return error_errno(why, "journal: cannot open %s/" LOCK_NAME,
                           journal->options.dir);
    if (!lock_soon(journal->lock_fd)) {
        if (errno == EWOULDBLOCK)
            return busy(journal, why);
        return error_errno(why, "journal: cannot lock %s", journal->options.dir);
    }
    char pid[32];
    int bytes = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(journal->lock_fd, 0) ||
        pwrite(journal->lock_fd, pid, (size_t)bytes, 0) != bytes)
        return ERR_OK; /* a full disk is no reason not to open */
    return ERR_OK;
}

static Journal *journal_new(const JournalOptions *options)
{
    Journal *journal = MEM_NEW(Journal);
    journal->options = *options;
    journal->options.dir = mem_copy(options->dir, strlen(options->dir) + 1);
    uint64_t *bytes = &journal->options.segment_bytes;
    if (!*bytes)
        *bytes = JOURNAL_SEGMENT_BYTES;
    if (*bytes < JOURNAL_SEGMENT_MIN)
        *bytes = JOURNAL_SEGMENT_MIN;
    journal->ahead_bytes =
        *bytes / 2 < JOURNAL_AHEAD_BYTES ? *bytes / 2 : JOURNAL_AHEAD_BYTES;
    journal->dir_fd = journal->lock_fd = -1;
    journal->writer.current = journal->writer.next = SEGMENT_NONE;
    journal->reader.walk = WALK_NONE;
    pthread_mutex_init(&journal->lock, NULL);
    pthread_mutex_init(&journal->read_lock, NULL);
    wait_init(&journal->work);
    wait_init(&journal->settled);
    return journal;
}

static void journal_free(Journal *journal)
{
    segment_close(&journal->writer.current);
    segment_close(&journal->writer.next);
    queue_done(&journal->writer.taken);
    mem_free(journal->writer.parts.items);
    queue_done(&journal->queue);
    buf_done(&journal->header);
    mem_free(journal->rows);
    reader_done(&journal->reader);
    pthread_cond_destroy(&journal->work);
    pthread_cond_destroy(&journal->settled);
    pthread_mutex_destroy(&journal->lock);
    pthread_mutex_destroy(&journal->read_lock);
    if (journal->dir_fd >= 0)
        close(journal->dir_fd);
    if (journal->lock_fd >= 0)
        close(journal->lock_fd);
    union { /* ours, though the options say const */
        const char *text;
        void *memory;
    } dir = { journal->options.dir };
    mem_free(dir.memory);
    mem_free(journal);
}

Err journal_open(const JournalOptions *options, Journal **out, Error *why)
{
    Journal *journal = journal_new(options);
    Err err = open_dir(journal, why);
    if (!err)
        err = lock_dir(journal, why);
    if (!err)
        err = recover_journal(journal, why);
    if (!err)
        err = writer_start(journal, why);
    if (err)
        journal_free(journal);
    else
        *out = journal;
    return err;
}

void journal_close(Journal *journal)
{
    writer_stop(journal);
    journal_free(journal);
}

/* --- Appending ------------------------------------------------------------- */

uint64_t journal_write(Journal *journal, const Record *record, Buf *give)
{
    assert(!give || give->data == record->body.data);
    assert(!give || give->bytes == record->body.bytes);
    Record stamped = *record;
    stamped.synced = journal->durable;
    buf_clear(&journal->header);
    record_header(&stamped, &journal->chain, &journal->header);
    uint64_t bytes = journal->header.bytes + record->body.bytes + record_footer().bytes;
    uint64_t end = journal->end + bytes;
    Buf apart = { 0 };
    if (!give && record->body.bytes >= COPY_APART_BYTES) {
        buf_add_slice(&apart, record->body);
        give = &apart;
    }

    pthread_mutex_lock(&journal->lock);
    if (!journal->failed) {
        queue_add(&journal->queue, buf_slice(&journal->header), record->body, give);
        queue_entry(&journal->queue, end, journal->chain.sum);
    }
    journal->stats.records++;
    journal->stats.bytes += bytes;
    journal->end = end;
    pthread_mutex_unlock(&journal->lock);
    if (give)
        buf_done(give); /* taken over, unless the journal has failed */
    return end;
}

void journal_flush(Journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    bool any = journal->queue.count > 0;
    journal->flush = journal->flush || any;
    pthread_mutex_unlock(&journal->lock);
    if (any)
        pthread_cond_signal(&journal->work); /* the writer wants the lock next */
}

void journal_flush_here(Journal *journal)
{
    if (!writer_commit_here(journal))
        journal_flush(journal);
}

/* --- Waiting and asking ---------------------------------------------------- */

/* One wait for the writer to have done something; holds the lock. */
static Err wait_settled(Journal *journal, const struct timespec *deadline)
{
    int failed = deadline
                     ? pthread_cond_timedwait(&journal->settled, &journal->lock, deadline)
                     : pthread_cond_wait(&journal->settled, &journal->lock);
    return failed == ETIMEDOUT ? ERR_TIMEOUT : ERR_OK;
}

Err journal_wsync(Journal *journal, uint64_t position, int64_t timeout_ms)
{
    if (position > journal->end)
        return ERR_INVALID;
    struct timespec deadline = wait_end(timeout_ms);
    Err err = ERR_OK;
    pthread_mutex_lock(&journal->lock);
    while (journal->durable < position && !journal->failed && !err) {
        if (journal->queue.count) {
            journal->flush = true;
            pthread_cond_signal(&journal->work);
        }
        err = wait_settled(journal, timeout_ms < 0 ? NULL : &deadline);
    }
    if (journal->durable >= position)
        err = ERR_OK;
    else if (journal->failed)
        err = journal->failed;
    pthread_mutex_unlock(&journal->lock);
    return err;
}

uint64_t journal_end(const Journal *journal)
{
    return journal->end;
}

uint64_t journal_durable(Journal *journal)
{
    return journal->durable;
}

static uint64_t room_locked(const Journal *journal)
{
    return journal->sure_end > journal->end ? journal->sure_end - journal->end : 0;
}

uint64_t journal_room(Journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    uint64_t room = room_locked(journal);
    pthread_mutex_unlock(&journal->lock);
    return room;
}

Err journal_make_room(Journal *journal, uint64_t bytes, int64_t timeout_ms)
{
    struct timespec deadline = wait_end(timeout_ms);
    Err err = ERR_OK;
    if (bytes > RECORD_BODY_BYTES_MAX + JOURNAL_SEGMENT_BYTES)
        return ERR_LIMIT;
    pthread_mutex_lock(&journal->lock);
    while (room_locked(journal) < bytes && !err) {
        if (journal->failed || journal->full) {
            err = journal->failed ? journal->failed : ERR_FULL;
            break;
        }
        if (journal->wanted < bytes)
            journal->wanted = bytes;
        pthread_cond_signal(&journal->work);
        err = wait_settled(journal, timeout_ms < 0 ? NULL : &deadline);
    }
    pthread_mutex_unlock(&journal->lock);
    return err;
}

bool journal_full(Journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    bool full = journal->full;
    pthread_mutex_unlock(&journal->lock);
    return full;
}

bool journal_there(Journal *journal)
{
    struct stat status;
    char name[SEGMENT_NAME_BYTES];
    bool there = true;
    pthread_mutex_lock(&journal->lock);
    for (size_t i = journal->row_count; there && i > 0; i--) {
        const SegmentRow *row = &journal->rows[i - 1];
        if (row->trimmed_ms != TIME_NEVER)
            break; /* the store has it, and those before */
        there = !fstatat(journal->dir_fd, segment_name(row->start, name), &status, 0);
    }
    pthread_mutex_unlock(&journal->lock);
    return there;
}

void journal_stats(Journal *journal, JournalStats *out)
{
    pthread_mutex_lock(&journal->lock);
    *out = journal->stats;
    out->segments = journal->row_count;
    pthread_mutex_unlock(&journal->lock);
}

/* --- Scanning -------------------------------------------------------------- */

Err journal_begin(const char *dir, uint64_t *out_position, Error *why)
{
    SegmentList list = { 0 };
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *out_position = 0;
    if (fd < 0 && errno == ENOENT)
        return ERR_OK;
    if (fd < 0)
        return error_errno(why, "journal: cannot open the directory %s", dir);
    Err err = segment_list(fd, &list, why);
    close(fd);
    if (!err && list.count)
        *out_position = list.starts[0];
    mem_free(list.starts);
    return err;
}

Err journal_scan(const char *dir, JournalVisit *visit, void *context, Error *why)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(why, "journal: cannot open the directory %s", dir);
    Survey survey = {
        .dir = dir, .dir_fd = fd, .visit = visit, .context = context, .walk = WALK_NONE
    };
    Err err = segment_list(fd, &survey.list, why);
    if (!err && survey.list.count) {
        survey.read_point = survey.list.starts[0];
        err = survey_run(&survey, why);
    }
    survey_done(&survey);
    close(fd);
    return err;
}
