/* SPDX-License-Identifier: Apache-2.0 */
/* arrival.c - see arrival.h. */
#include "pipeline/processor/arrival.h"

#include "pipeline/processor/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define ARRIVALS_STEP 256 /* marks looked at in one step */
#define TIDY_STEP     64
#define TIDY_EVERY_MS MS_PER_HOUR
#define RECORD_MS     (7 * MS_PER_DAY) /* a sender repeats within it, or never */
#define MARK_BYTES    512

static Slice read_mark(int dir, const char *name, char out[MARK_BYTES])
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t bytes = fd >= 0 ? read(fd, out, MARK_BYTES) : 0;
    if (fd >= 0)
        close(fd);
    return slice_of(out, bytes > 0 ? (size_t)bytes : 0);
}

/* "SENDER DELIVERY": the part before the last blank. */
static Slice sender_of(Slice mark)
{
    while (mark.bytes && mark.data[mark.bytes - 1] != ' ')
        mark.bytes--;
    return mark;
}

static bool elsewhere(const Processor *processor, const char *unit)
{
    return bucket_has(&processor->buckets, IN_ACTIVE, unit) ||
           bucket_has(&processor->buckets, IN_PROCESSED, unit) ||
           bucket_has(&processor->buckets, IN_FAILED, unit);
}

/* Whether the mark is done with. */
static bool honour(Processor *processor, const char *unit, Slice mark, Error *why)
{
    Buckets *buckets = &processor->buckets;
    Buf before = { 0 };
    bool known = !own_read(buckets, ARRIVED_DIR, unit, &before);
    Slice record = buf_slice(&before);
    bool here = bucket_has(buckets, IN_RECEIVE, unit);
    bool waits = bucket_has(buckets, IN_WORK, unit);
    bool repeat = known && slice_equal(record, mark);
    bool same_sender = known && slice_equal(sender_of(record), sender_of(mark));
    buf_done(&before);
    if (!here)
        return true; /* moved on before a crash, or never came */
    if (repeat && (waits || elsewhere(processor, unit)))
        return !bucket_remove(buckets, IN_RECEIVE, unit, why);
    if (elsewhere(processor, unit) || (waits && !same_sender)) {
        error_set(why, ERR_CONFLICT,
                  "it arrived in input/receive, but the processor has "
                  "a unit of this name already");
        return false;
    }
    if (waits && bucket_remove(buckets, IN_WORK, unit, why))
        return false;
    if (bucket_sync_unit(buckets, IN_RECEIVE, unit, why) ||
        own_write(buckets, ARRIVED_DIR, unit, mark, why) ||
        bucket_move(buckets, unit, IN_RECEIVE, IN_WORK, why))
        return false;
    return !buckets_sync(buckets, why);
}

void arrivals_take(Processor *processor)
{
    char mark[MARK_BYTES];
    char name[UNIT_BYTES_MAX + 1];
    int dir = openat(processor->buckets.fds[IN_RECEIVE], ARRIVING_DIR,
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return;
    /* It goes on where it stopped: marks that have to wait hold up no others. */
    for (int looked = 0; looked < ARRIVALS_STEP; looked++) {
        Error why = { 0 };
        WalkStep step = bucket_walk_next(&processor->arrivals_walk, dir, name);
        if (step == WALK_END)
            break;
        Slice text = step == WALK_UNIT ? read_mark(dir, name, mark) : (Slice){ NULL, 0 };
        if (!text.bytes || !memchr(text.data, ' ', text.bytes))
            continue; /* the upload is still going on */
        if (honour(processor, name, text, &why))
            unlinkat(dir, name, 0);
        else
            processor_trouble(processor, name, "%s", why.text);
    }
    close(dir);
}

/* A record is of use while its sender may repeat the delivery, or the unit waits. */
static bool outlived(const Processor *processor, int dir, const char *unit,
                     int64_t wall_ms)
{
    struct stat record;
    return fstatat(dir, unit, &record, AT_SYMLINK_NOFOLLOW) == 0 &&
           wall_ms - (int64_t)record.st_mtim.tv_sec * MS_PER_S > RECORD_MS &&
           !bucket_has(&processor->buckets, IN_WORK, unit) &&
           !bucket_has(&processor->buckets, IN_RECEIVE, unit);
}

void arrivals_tidy(Processor *processor, Now now)
{
    char name[UNIT_BYTES_MAX + 1];
    if (now.boot_ms < processor->tidy_boot)
        return;
    int dir = openat(processor->buckets.own_fd, ARRIVED_DIR,
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool end = dir < 0;
    processor->tidy_walk.all = true; /* half-made ones that a crash left, too */
    for (int looked = 0; looked < TIDY_STEP && !end; looked++) {
        end = bucket_walk_next(&processor->tidy_walk, dir, name) == WALK_END;
        if (!end && outlived(processor, dir, name, now.wall_ms))
            unlinkat(dir, name, 0);
    }
    if (end)
        processor->tidy_boot = now.boot_ms + TIDY_EVERY_MS;
    if (dir >= 0)
        close(dir);
}
