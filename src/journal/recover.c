/* SPDX-License-Identifier: Apache-2.0 */
/* recover.c - see recover.h.
 *
 * It may be interrupted at any point and run again: every step leaves the journal as it
 * was or in a state that the same steps lead on from. */
#include "journal/recover.h"

#include "base/log.h"
#include "journal/io.h"
#include "journal/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/random.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)64 * 1024)

static Err tail_failed(const SegmentFile *file, const char *doing, Error *why)
{
    char name[SEGMENT_NAME_BYTES];
    return error_errno(why, "journal: cannot %s %s", doing,
                       segment_name(file->start, name));
}

static void add_row(Journal *journal, uint64_t start)
{
    MEM_PUSH(journal->rows, journal->row_count, journal->row_capacity) =
        (SegmentRow){ start, TIME_NEVER };
}

/* --- A new journal --------------------------------------------------------- */

/* Numbers no one can guess: see record.h on why. */
static Err random_chain(Chain *out, Error *why)
{
    if (getrandom(out, sizeof *out, 0) != (ssize_t)sizeof *out)
        return error_errno(why, "journal: cannot get random numbers");
    return ERR_OK;
}

static Err create(Journal *journal, Error *why)
{
    const JournalOptions *options = &journal->options;
    if (options->read_point)
        return error_set(why, ERR_CORRUPT,
                         "journal: the store is ahead of this journal: it has read up to "
                         "position %" PRIu64 ", but %s is empty",
                         options->read_point, options->dir);
    SegmentHeader header = { .node = options->node,
                             .epoch = options->epoch,
                             .cluster = options->cluster };
    Err err = random_chain(&header.chain, why);
    if (err)
        return err;
    SegmentFile *file = &journal->writer.current;
    err = segment_make(journal->dir_fd, file);
    if (!err)
        err = segment_publish(journal->dir_fd, file, &header);
    if (err)
        return error_errno(why, "journal: cannot make a segment in %s", options->dir);
    journal->chain = header.chain;
    journal->reader.sum = header.chain.sum;
    add_row(journal, 0);
    return ERR_OK;
}

/* --- One that exists ------------------------------------------------------- */

/* Which segment holds the read point: the last that begins at or before it. */
static Err find_first(const Journal *journal, Survey *survey, Error *why)
{
    uint64_t read_point = journal->options.read_point;
    const SegmentList *list = &survey->list;
    if (list->starts[0] > read_point)
        return error_set(why, ERR_CORRUPT,
                         "journal: the store has read up to position %" PRIu64
                         ", but %s begins at %" PRIu64 ": segments are missing",
                         read_point, journal->options.dir, list->starts[0]);
    while (survey->first + 1 < list->count &&
           list->starts[survey->first + 1] <= read_point)
        survey->first++;
    return ERR_OK;
}

static Err cut_tail(const Survey *survey, const SegmentFile *file, Error *why)
{
    char name[SEGMENT_NAME_BYTES];
    uint64_t bytes = survey->walk.limit - file->used;
    uint64_t done;
    log_event(LOG_WARN, "journal.torn",
              "file=%s offset=%" PRIu64 " position=%" PRIu64 " cut_bytes_max=%" PRIu64,
              segment_name(file->start, name), file->used, survey->walk.position, bytes);
    if (io_write_zeros(file->fd, file->used, bytes, &done))
        return tail_failed(file, "cut the torn tail of", why);
    return ERR_OK;
}

/* After a sync that failed, the page cache may hold what the disk does not, and call it
 * clean: only writing it again brings it there. */
static Err write_again(const SegmentFile *file, uint64_t from, Error *why)
{
    char bytes[COPY_BYTES];
    for (uint64_t at = from; at < file->used;) {
        size_t step =
            file->used - at < COPY_BYTES ? (size_t)(file->used - at) : COPY_BYTES;
        size_t got;
        if (io_read(file->fd, bytes, step, at, &got) || got != step ||
            io_write(file->fd, slice_of(bytes, step), at))
            return tail_failed(file, "write again the tail of", why);
        at += step;
    }
    return ERR_OK;
}

/* The room behind the last record, which may have holes if the file was copied. */
static Err claim_room(SegmentFile *file, uint64_t file_bytes, Error *why)
{
    file->filled = file->used;
    Err err = segment_reserve(file, file_bytes);
    file->zeroed = file->filled; /* or not: only later speed depends on it */
    if (err && err != ERR_UNSUPPORTED && err != ERR_FULL)
        return tail_failed(file, "reserve room in", why);
    return ERR_OK;
}

static Err open_tail(Journal *journal, const Survey *survey, Error *why)
{
    char name[SEGMENT_NAME_BYTES];
    SegmentFile *file = &journal->writer.current;
    file->start = survey->walk.start;
    file->used = walk_offset(&survey->walk);
    file->fd = journal_io.openat(journal->dir_fd, segment_name(file->start, name),
                                 O_RDWR | O_CLOEXEC);
    if (file->fd < 0)
        return tail_failed(file, "open", why);
    Err err = survey->torn ? cut_tail(survey, file, why) : ERR_OK;
    if (!err)
        err = write_again(file, segment_offset(file, survey->proven), why);
    if (!err && (io_sync(file->fd) || io_sync_dir(journal->dir_fd)))
        err = tail_failed(file, "sync", why);
    if (!err)
        err = claim_room(file, survey->walk.limit, why);
    return err;
}

static Err reopen(Journal *journal, Survey *survey, Error *why)
{
    Err err = find_first(journal, survey, why);
    if (!err)
        err = survey_run(survey, why);
    if (!err)
        err = open_tail(journal, survey, why);
    if (err)
        return err;
    journal->chain = survey->walk.chain;
    journal->end = survey->walk.position;
    journal->reader.sum = survey->read_sum;
    journal->writer.noted = survey->header.synced;
    for (size_t i = 0; i < survey->list.count; i++)
        add_row(journal, survey->list.starts[i]);
    return ERR_OK;
}

Err recover_journal(Journal *journal, Error *why)
{
    Survey survey = { .dir = journal->options.dir,
                      .dir_fd = journal->dir_fd,
                      .read_point = journal->options.read_point,
                      .own = &journal->options,
                      .walk = WALK_NONE };
    Err err = segment_list(journal->dir_fd, &survey.list, why);
    if (err)
        return err;
    /* A segment without a name has no records: its page comes with the name. */
    if (journal_io.unlinkat(journal->dir_fd, SEGMENT_AHEAD_NAME, 0) && errno != ENOENT)
        err = error_errno(why, "journal: cannot remove %s", SEGMENT_AHEAD_NAME);
    else if (survey.list.count)
        err = reopen(journal, &survey, why);
    else
        err = create(journal, why);
    survey_done(&survey);
    if (err)
        return err;

    journal->seed = journal->chain.seed;
    journal->durable = journal->end;
    journal->writer.sum = journal->chain.sum;
    journal->reader.read_point = journal->reader.next = journal->options.read_point;
    return ERR_OK;
}
