/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h - one file of a journal: a page of facts, records, zeros.
 *
 *     #:Journal version=1,node=1,epoch=…,cluster=…,start=…,chain=…,seed=…,sum=…
 *     #:Synced position=…,sum=…
 *     <records>
 *     <zeros, written ahead of use>
 *
 * A file is named by `start`, the position of its first record. It gets that name only
 * when its page is on stable storage and everything before `start` is too: that a
 * segment exists proves that all before it had been durable. Each record is in one
 * segment; a record larger than a segment has one of its own.
 *
 * The synced line is a note, written now and then after a sync and not synced itself:
 * all before that position was durable. */
#ifndef JOURNAL_SEGMENT_H
#define JOURNAL_SEGMENT_H

#include "journal/record.h"

#define SEGMENT_VERSION      1
#define SEGMENT_HEADER_BYTES 4096 /* a page: no record shares one with it */
#define SEGMENT_NAME_BYTES   32
#define SEGMENT_AHEAD_NAME   "ahead.tmp" /* the next segment, before it has a name */

/* Zeros written in one step: what a commit may have to wait for. */
#define SEGMENT_STEP_BYTES ((uint64_t)256 * 1024)

typedef struct SegmentHeader {
    uint32_t node;
    uint64_t epoch; /* of the node when the segment was made */
    uint64_t cluster;
    uint64_t start;
    uint64_t synced; /* at least this much was durable */
    Chain chain;     /* at `start` */
} SegmentHeader;

void segment_page_write(const SegmentHeader *header, char page[SEGMENT_HEADER_BYTES]);

/* ERR_UNSUPPORTED: of a newer version; ERR_CORRUPT: not what was written. */
MUST_CHECK Err segment_page_read(Slice page, SegmentHeader *out);

char *segment_name(uint64_t start, char out[SEGMENT_NAME_BYTES]);
bool segment_name_parse(const char *name, uint64_t *out_start);

/* The starts of all segments in a directory, in order; free with mem_free. */
typedef struct SegmentList {
    uint64_t *starts;
    size_t count;
    size_t capacity;
} SegmentList;
MUST_CHECK Err segment_list(int dir_fd, SegmentList *out, Error *why);

typedef struct SegmentFile {
    int fd; /* -1: none */
    uint64_t start;
    uint64_t used;   /* file offset behind the last record */
    uint64_t zeroed; /* up to here zeros were written, so that writes are fast */
    uint64_t filled; /* up to here a write needs no new room on the disk */
} SegmentFile;

#define SEGMENT_NONE ((SegmentFile){ .fd = -1 })

static inline uint64_t segment_offset(const SegmentFile *file, uint64_t position)
{
    return SEGMENT_HEADER_BYTES + position - file->start;
}

/* A nameless file for the next segment, with room for its page. ERR_FULL: not now. */
MUST_CHECK Err segment_make(int dir_fd, SegmentFile *out);

/* Gives it its place in the journal, durably. ERR_FULL leaves it nameless; after any
 * other error no one knows its name. */
MUST_CHECK Err segment_publish(int dir_fd, SegmentFile *file,
                               const SegmentHeader *header);

/* Room up to file offset `to`, by the file system's word; ERR_UNSUPPORTED if it gives
 * none. */
MUST_CHECK Err segment_reserve(SegmentFile *file, uint64_t to);

/* Zeros up to `to`, which make room too. On failure says how far it came. */
MUST_CHECK Err segment_fill(SegmentFile *file, uint64_t to);

/* Room up to `to` one way or the other, for what is to be written at once. */
MUST_CHECK Err segment_grow(SegmentFile *file, uint64_t to);

MUST_CHECK Err segment_note_synced(const SegmentFile *file, uint64_t position,
                                   uint64_t seed);
void segment_close(SegmentFile *file);

#endif
