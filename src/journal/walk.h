/* SPDX-License-Identifier: Apache-2.0 */
/* walk.h - goes through the records of one segment's file, checking each.
 *
 * Holds a window of the file in memory: a quarter of a mebibyte, or the largest record
 * it met. */
#ifndef JOURNAL_WALK_H
#define JOURNAL_WALK_H

#include "journal/segment.h"

typedef struct Walk {
    int fd; /* owned; -1: none */
    uint64_t start;
    uint64_t position; /* of the next record */
    uint64_t limit;    /* file offset: nothing from here on is looked at */
    Chain chain;       /* at `position` */
    Buf window;
    uint64_t window_at; /* file offset of the window's first byte */
    Arena arena;        /* of the last record */
} Walk;

#define WALK_NONE ((Walk){ .fd = -1 })

/* Opens a segment's file, reads its page and stands before its first record. */
MUST_CHECK Err walk_open(Walk *walk, int dir_fd, uint64_t start, SegmentHeader *out,
                         Error *why);
void walk_close(Walk *walk);

/* Stands before the record at `position` of the same segment. */
void walk_to(Walk *walk, uint64_t position, Chain chain);

/* The next record, whose slices live until the next call; on RECORD_OK the walk stands
 * behind it, on anything else where it was. */
MUST_CHECK Err walk_next(Walk *walk, RecordRead *out_read, Record *out, Error *why);

/* What huge records took is given back; slices of the last one are gone. */
void walk_give_room(Walk *walk);

/* The file's bytes from where the walk stands up to its limit; valid until the next
 * call. */
MUST_CHECK Err walk_rest(Walk *walk, Slice *out, Error *why);

static inline uint64_t walk_offset(const Walk *walk)
{
    return SEGMENT_HEADER_BYTES + walk->position - walk->start;
}

#endif
