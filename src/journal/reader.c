/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - see reader.h.
 *
 * Between the read point and `next` lie the ranges that were given out, in order and
 * without gaps. A range that was not rsynced in time comes back and is given out first;
 * the read point moves over ranges that are synced, from the front. */
#include "journal/reader.h"

#include "base/log.h"
#include "journal/io.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

void reader_done(Reader *reader)
{
    walk_close(&reader->walk);
    mem_free(reader->ranges);
    *reader = (Reader){ .walk = WALK_NONE };
}

/* --- Walking what is durable ------------------------------------------------ */

typedef struct Stretch { /* the part of one segment that may be read */
    uint64_t start;
    uint64_t end;
} Stretch;

static Stretch stretch_at(Journal *journal, uint64_t position)
{
    pthread_mutex_lock(&journal->lock);
    size_t row = journal->row_count;
    while (row > 1 && journal->rows[row - 1].start > position)
        row--;
    Stretch stretch = { journal->rows[row - 1].start, journal->durable };
    if (row < journal->row_count)
        stretch.end = journal->rows[row].start;
    pthread_mutex_unlock(&journal->lock);
    return stretch;
}

/* The walk stands at `position`, in the segment that holds it. */
static Err go_to(Journal *journal, uint64_t position, uint64_t sum, Error *why)
{
    Walk *walk = &journal->reader.walk;
    Stretch stretch = stretch_at(journal, position);
    if (walk->fd < 0 || walk->start != stretch.start) {
        SegmentHeader header;
        Err err = walk_open(walk, journal->dir_fd, stretch.start, &header, why);
        if (err) {
            walk_close(walk);
            return err;
        }
    }
    /* Never beyond what is durable: the window would keep bytes that still change. */
    walk->limit = SEGMENT_HEADER_BYTES + stretch.end - stretch.start;
    walk_to(walk, position, (Chain){ sum, journal->seed });
    return ERR_OK;
}

/* The next record of what is durable, over segments. */
static Err next_record(Journal *journal, Record *out, Error *why)
{
    Walk *walk = &journal->reader.walk;
    RecordRead read;
    if (walk_offset(walk) >= walk->limit) {
        Err err = go_to(journal, walk->position, walk->chain.sum, why);
        if (err)
            return err;
    }
    Err err = walk_next(walk, &read, out, why);
    if (err || read == RECORD_OK)
        return err;
    char name[SEGMENT_NAME_BYTES];
    return error_set(why, ERR_CORRUPT, "journal: %s/%s is damaged at offset %" PRIu64,
                     journal->options.dir, segment_name(walk->start, name),
                     walk_offset(walk));
}

/* --- Ranges ----------------------------------------------------------------- */

/* The walk goes on from `from` over records of `bytes_max` bytes, at least one, not
 * beyond `limit`. ERR_OK if it got over one. */
static Err measure(Journal *journal, const Range *from, uint64_t limit, size_t bytes_max,
                   Error *why)
{
    Walk *walk = &journal->reader.walk;
    uint64_t position = from->from;
    Err err = go_to(journal, position, from->sum, why);
    uint64_t sum = from->sum;
    while (!err && walk->position < limit) {
        Record record;
        err = next_record(journal, &record, why);
        if (err)
            break;
        if (walk->position - from->from > bytes_max && position > from->from) {
            walk_to(walk, position, (Chain){ sum, journal->seed });
            return ERR_OK;
        }
        position = walk->position;
        sum = walk->chain.sum;
    }
    return position > from->from ? ERR_OK : err;
}

static void insert_range(Reader *reader, size_t at, Range range)
{
    MEM_PUSH(reader->ranges, reader->count, reader->capacity) = range;
    memmove(&reader->ranges[at + 1], &reader->ranges[at],
            (reader->count - 1 - at) * sizeof range);
    reader->ranges[at] = range;
}

/* The range is cut where the walk stands; what is behind becomes one of its own. */
static void split_range(Reader *reader, size_t at)
{
    Range *range = &reader->ranges[at];
    if (reader->walk.position >= range->to)
        return;
    Range rest = *range;
    range->to = rest.from = reader->walk.position;
    rest.sum = reader->walk.chain.sum;
    insert_range(reader, at + 1, rest);
}

static void lapse(Reader *reader, int64_t now_ms)
{
    for (size_t i = 0; i < reader->count; i++) {
        Range *range = &reader->ranges[i];
        if (range->state == RANGE_RESERVED && range->deadline_ms <= now_ms)
            range->state = RANGE_FREE;
    }
}

/* All that is durable and in no range yet becomes one, for the moment. */
static bool add_rest(Journal *journal)
{
    Reader *reader = &journal->reader;
    if (reader->next >= journal->durable)
        return false;
    Range range = { .from = reader->next, .to = journal->durable, .sum = reader->sum };
    insert_range(reader, reader->count, range);
    return true;
}

static JournalToken reserve_locked(Journal *journal, size_t bytes_max,
                                   int64_t deadline_ms)
{
    Reader *reader = &journal->reader;
    size_t at = 0;
    while (at < reader->count && reader->ranges[at].state != RANGE_FREE)
        at++;
    bool fresh = at == reader->count;
    if (fresh && !add_rest(journal))
        return 0;
    Range *range = &reader->ranges[at];
    Err err = measure(journal, range, range->to, bytes_max, &reader->failed);
    if (err) {
        reader->count -= fresh;
        return reader->failed_token = ++reader->last_token;
    }
    split_range(reader, at);
    range = &reader->ranges[at];
    if (fresh) {
        reader->count = at + 1; /* the rest is taken up when its turn comes */
        reader->next = range->to;
        reader->sum = reader->walk.chain.sum;
    }
    range->state = RANGE_RESERVED;
    range->deadline_ms = deadline_ms;
    range->token = ++reader->last_token;
    return range->token;
}

JournalToken journal_reserve(Journal *journal, size_t bytes_max, int64_t timeout_ms,
                             int64_t now_ms)
{
    int64_t deadline_ms;
    if (__builtin_add_overflow(now_ms, timeout_ms, &deadline_ms))
        deadline_ms = TIME_NEVER;
    pthread_mutex_lock(&journal->read_lock);
    lapse(&journal->reader, now_ms);
    JournalToken token = reserve_locked(journal, bytes_max, deadline_ms);
    pthread_mutex_unlock(&journal->read_lock);
    return token;
}

/* --- Reading ---------------------------------------------------------------- */

static Range *find_range(Reader *reader, JournalToken token)
{
    for (size_t i = 0; i < reader->count; i++)
        if (reader->ranges[i].token == token && reader->ranges[i].state == RANGE_RESERVED)
            return &reader->ranges[i];
    return NULL;
}

/* See journal_read: where the store will be when it has this range. */
static void set_read_point(const Journal *journal, const Range *range, Batch *out)
{
    const Range *end = journal->reader.ranges + journal->reader.count;
    for (const Range *before = journal->reader.ranges; before < range; before++)
        if (before->state != RANGE_SYNCED)
            return;
    const Range *last = range;
    while (last + 1 < end && last[1].state == RANGE_SYNCED)
        last++;
    out->has_read_point = true;
    out->read_point = (ReadPoint){ journal->options.node, last->to };
}

static Err read_range(Journal *journal, const Range *range, Batch *out, Error *why)
{
    const Walk *walk = &journal->reader.walk;
    Err err = go_to(journal, range->from, range->sum, why);
    while (!err && walk->position < range->to) {
        Record record;
        uint64_t position = walk->position;
        err = next_record(journal, &record, why);
        if (!err && record_to_batch(&record, out))
            err = error_set(why, ERR_CORRUPT,
                            "journal: the record at position %" PRIu64
                            " of %s is whole but makes no sense",
                            position, journal->options.dir);
    }
    return err;
}

Err journal_read(Journal *journal, JournalToken token, Batch *out, Error *why)
{
    Reader *reader = &journal->reader;
    size_t before = out->count;
    pthread_mutex_lock(&journal->read_lock);
    Range *range = find_range(reader, token);
    Err err;
    if (token && token == reader->failed_token) {
        if (why)
            *why = reader->failed;
        err = reader->failed.code;
    } else if (!range) {
        err = error_set(why, ERR_TIMEOUT, "journal: the reservation has lapsed");
    } else {
        err = read_range(journal, range, out, why);
        walk_give_room(&reader->walk);
        if (!err)
            set_read_point(journal, range, out);
    }
    if (err)
        out->count = before;
    pthread_mutex_unlock(&journal->read_lock);
    return err;
}

static void move_read_point(Reader *reader)
{
    size_t done = 0;
    while (done < reader->count && reader->ranges[done].state == RANGE_SYNCED)
        reader->read_point = reader->ranges[done++].to;
    reader->count -= done;
    if (done && reader->count)
        memmove(reader->ranges, reader->ranges + done,
                reader->count * sizeof *reader->ranges);
}

Err journal_rsync(Journal *journal, JournalToken token)
{
    pthread_mutex_lock(&journal->read_lock);
    Range *range = find_range(&journal->reader, token);
    if (range) {
        range->state = RANGE_SYNCED;
        move_read_point(&journal->reader);
    }
    pthread_mutex_unlock(&journal->read_lock);
    return range ? ERR_OK : ERR_TIMEOUT;
}

/* --- Going back --------------------------------------------------------------- */

/* The walk stands at `position`; the chain is known at the start of its segment only. */
static Err walk_back(Journal *journal, uint64_t position, Error *why)
{
    Walk *walk = &journal->reader.walk;
    SegmentHeader header;
    Record record;
    Stretch stretch = stretch_at(journal, position);
    if (stretch.start > position)
        return error_set(why, ERR_NOT_FOUND,
                         "journal: %s begins at position %" PRIu64
                         " and does not go back to %" PRIu64,
                         journal->options.dir, stretch.start, position);
    walk_close(walk);
    Err err = walk_open(walk, journal->dir_fd, stretch.start, &header, why);
    if (err) {
        walk_close(walk);
        return err;
    }
    walk->limit = SEGMENT_HEADER_BYTES + stretch.end - stretch.start;
    while (!err && walk->position < position)
        err = next_record(journal, &record, why);
    if (!err && walk->position != position)
        err = error_set(why, ERR_CORRUPT,
                        "journal: no record of %s ends at position %" PRIu64,
                        journal->options.dir, position);
    return err;
}

Err journal_rewind(Journal *journal, uint64_t position, Error *why)
{
    pthread_mutex_lock(&journal->read_lock);
    Reader *reader = &journal->reader;
    Err err = walk_back(journal, position, why);
    if (!err) {
        reader->count = 0;
        reader->read_point = reader->next = position;
        reader->sum = reader->walk.chain.sum;
    }
    pthread_mutex_unlock(&journal->read_lock);
    return err;
}

/* --- Trimming --------------------------------------------------------------- */

/* How many segments from the front may go; holds the lock. The last one is written to
 * and stays (J4). */
static size_t removable(Journal *journal, uint64_t position, int64_t now_ms)
{
    size_t covered = 0;
    while (covered + 1 < journal->row_count &&
           journal->rows[covered + 1].start <= position) {
        SegmentRow *row = &journal->rows[covered++];
        if (row->trimmed_ms == TIME_NEVER)
            row->trimmed_ms = now_ms;
    }
    const JournalOptions *options = &journal->options;
    for (size_t i = 0; i < covered; i++) {
        uint64_t kept_bytes = journal->rows[covered].start - journal->rows[i].start;
        int64_t kept_ms = now_ms - journal->rows[i].trimmed_ms;
        if (kept_bytes <= options->keep_bytes && kept_ms < options->keep_ms)
            return i;
    }
    return covered;
}

static void remove_segment(Journal *journal, uint64_t start)
{
    char name[SEGMENT_NAME_BYTES];
    if (!journal_io.unlinkat(journal->dir_fd, segment_name(start, name), 0))
        return;
    /* It is found again at the next start; nothing depends on its absence. */
    log_event(LOG_WARN, "journal.remove", "file=%s errno=%d", name, errno);
}

void journal_trim(Journal *journal, uint64_t position, int64_t now_ms)
{
    pthread_mutex_lock(&journal->read_lock);
    if (position > journal->reader.read_point)
        position = journal->reader.read_point;

    pthread_mutex_lock(&journal->lock);
    size_t count = removable(journal, position, now_ms);
    uint64_t *starts = count ? MEM_ARRAY(uint64_t, count) : NULL;
    for (size_t i = 0; i < count; i++)
        starts[i] = journal->rows[i].start;
    journal->row_count -= count;
    if (count)
        memmove(journal->rows, journal->rows + count,
                journal->row_count * sizeof *journal->rows);
    pthread_mutex_unlock(&journal->lock);

    for (size_t i = 0; i < count; i++)
        remove_segment(journal, starts[i]);
    if (count && io_sync_dir(journal->dir_fd))
        log_event(LOG_WARN, "journal.remove", "errno=%d", errno);
    mem_free(starts);
    pthread_mutex_unlock(&journal->read_lock);
}
