/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - see walk.h. */
#include "journal/walk.h"

#include "journal/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_BYTES ((size_t)256 * 1024)

/* Room that one huge record took is given back when it is behind. */
#define WINDOW_KEEP_BYTES ((size_t)1024 * 1024)

static Err io_failed(const Walk *walk, Error *why)
{
    char name[SEGMENT_NAME_BYTES];
    return error_errno(why, "journal: cannot read %s", segment_name(walk->start, name));
}

static Err page_refused(uint64_t start, Err err, Error *why)
{
    char name[SEGMENT_NAME_BYTES];
    segment_name(start, name);
    if (err == ERR_UNSUPPORTED)
        return error_set(why, err, "journal: %s was written by a newer version of pawl",
                         name);
    return error_set(why, err, "journal: %s is damaged at offset 0 (its header)", name);
}

/* Loads the window with `bytes` bytes from file offset `at` on, as far as there are. */
static Err load(Walk *walk, uint64_t at, size_t bytes, Error *why)
{
    uint64_t loaded_to = walk->window_at + walk->window.bytes;
    if (at < walk->window_at || at > loaded_to) {
        buf_clear(&walk->window);
        walk->window_at = loaded_to = at;
    }
    uint64_t want_to = walk->limit - at < bytes ? walk->limit : at + bytes;
    if (want_to <= loaded_to)
        return ERR_OK;
    buf_drop(&walk->window, (size_t)(at - walk->window_at));
    walk->window_at = at;
    if (!walk->window.bytes && walk->window.capacity > WINDOW_KEEP_BYTES)
        buf_done(&walk->window);
    size_t step = (size_t)(want_to - loaded_to);
    if (step < WINDOW_BYTES)
        step = walk->limit - loaded_to < WINDOW_BYTES ? (size_t)(walk->limit - loaded_to)
                                                      : WINDOW_BYTES;
    size_t got;
    if (io_read(walk->fd, buf_room(&walk->window, step), step, loaded_to, &got))
        return io_failed(walk, why);
    walk->window.bytes += got;
    return ERR_OK;
}

void walk_give_room(Walk *walk)
{
    arena_reset(&walk->arena);
    if (walk->window.capacity > WINDOW_KEEP_BYTES)
        buf_done(&walk->window);
}

static Slice loaded_from(const Walk *walk, uint64_t at)
{
    return slice_from(buf_slice(&walk->window), (size_t)(at - walk->window_at));
}

Err walk_open(Walk *walk, int dir_fd, uint64_t start, SegmentHeader *out, Error *why)
{
    char name[SEGMENT_NAME_BYTES];
    walk_close(walk);
    walk->start = walk->position = start;
    walk->fd = journal_io.openat(dir_fd, segment_name(start, name), O_RDONLY | O_CLOEXEC);
    struct stat stat;
    if (walk->fd < 0 || fstat(walk->fd, &stat))
        return io_failed(walk, why);
    walk->limit = (uint64_t)stat.st_size;
    /* Not through the window: it would take in records that are still being written. */
    char page[SEGMENT_HEADER_BYTES];
    size_t got;
    if (io_read(walk->fd, page, sizeof page, 0, &got))
        return io_failed(walk, why);
    SegmentHeader header;
    Err err = segment_page_read(slice_of(page, got), &header);
    if (!err && header.start != start)
        err = ERR_CORRUPT;
    if (err)
        return page_refused(start, err, why);
    walk->chain = header.chain;
    *out = header;
    return ERR_OK;
}

void walk_close(Walk *walk)
{
    if (walk->fd >= 0)
        close(walk->fd);
    buf_done(&walk->window);
    arena_done(&walk->arena);
    *walk = WALK_NONE;
}

void walk_to(Walk *walk, uint64_t position, Chain chain)
{
    walk->position = position;
    walk->chain = chain;
}

/* Zeros to the limit, however long that is, without holding them. */
static Err only_zeros(Walk *walk, bool *out, Error *why)
{
    char bytes[16 * 1024];
    uint64_t at = walk_offset(walk);
    *out = true;
    while (at < walk->limit) {
        size_t step =
            walk->limit - at < sizeof bytes ? (size_t)(walk->limit - at) : sizeof bytes;
        size_t got;
        if (io_read(walk->fd, bytes, step, at, &got))
            return io_failed(walk, why);
        if (!got)
            break;
        if (bytes[0] || memcmp(bytes, bytes + 1, got - 1) != 0) {
            *out = false;
            break;
        }
        at += got;
    }
    return ERR_OK;
}

Err walk_next(Walk *walk, RecordRead *out_read, Record *out, Error *why)
{
    uint64_t at = walk_offset(walk);
    *out_read = RECORD_END;
    if (at >= walk->limit)
        return ERR_OK;
    size_t wants = 1;
    for (size_t had = 0;;) {
        Err err = load(walk, at, wants, why);
        if (err)
            return err;
        Slice bytes = loaded_from(walk, at);
        if (!bytes.bytes)
            return ERR_OK;
        if (!bytes.data[0]) {
            bool zeros;
            err = only_zeros(walk, &zeros, why);
            *out_read = zeros ? RECORD_END : RECORD_TORN;
            return err;
        }
        size_t record_bytes;
        arena_reset(&walk->arena);
        *out_read = record_read(bytes, &walk->chain, &walk->arena, out, &record_bytes);
        if (*out_read == RECORD_OK)
            walk->position += record_bytes;
        if (*out_read != RECORD_TORN)
            return ERR_OK;
        wants = record_wants(bytes, &walk->chain);
        if (wants <= bytes.bytes || bytes.bytes == had)
            return ERR_OK; /* more bytes would not help, or there are none */
        had = bytes.bytes;
    }
}

Err walk_rest(Walk *walk, Slice *out, Error *why)
{
    uint64_t at = walk_offset(walk);
    *out = (Slice){ 0 };
    if (at >= walk->limit)
        return ERR_OK;
    Err err = load(walk, at, (size_t)(walk->limit - at), why);
    if (!err)
        *out = loaded_from(walk, at);
    return err;
}
