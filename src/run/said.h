/* SPDX-License-Identifier: Apache-2.0 */
/* said.h - what an attempt said by lines of its output (core/lines.h), gathered.
 *
 * All of it can be had again from the spool file, so nothing is written down while the
 * whole file is there. Before its front is dropped, said_save keeps what was read from
 * it in the attempt's folder, and said_load goes on from there. */
#ifndef RUN_SAID_H
#define RUN_SAID_H

#include "core/lines.h"

#define SAID_CHILDREN_BYTES_MAX (64 << 10) /* more children go into a file */

typedef struct Said {
    LineParser parser;
    const char *dir; /* the attempt's folder; borrowed */
    int64_t read;    /* offset in the stream up to which it was read */
    int32_t code;    /* of the last R: line; 0: none */
    Buf result;
    bool result_cut;
    bool result_saved;
    int32_t progress; /* -1: none */
    Buf message;
    bool progress_news;     /* not yet told */
    Buf children;           /* type|payload lines; those not yet in the file */
    int children_fd;        /* -1: no file */
    int64_t children_bytes; /* in the file */
    bool children_failed;   /* the disk took no more */
    uint64_t child_count;
    uint64_t now_count; /* J!: lines so far */
    LineNote refused;
} Said;

/* Told of a J!: line; `number` counts them from 1. */
typedef void SaidNow(void *context, uint64_t number, Slice type, Slice payload);

typedef struct SaidSink {
    SaidNow *now;
    void *context;
    bool all_now; /* J: lines are J!: lines */
} SaidSink;

void said_init(Said *said, const char *dir, size_t result_bytes_max);
void said_done(Said *said);

void said_read(Said *said, Slice bytes, const SaidSink *sink);
void said_end(Said *said, const SaidSink *sink); /* after the last byte */

/* Errors are those of a full disk: the caller goes on. */
MUST_CHECK Err said_save(Said *said);

/* What said_save kept; false if there is nothing: read the file from its start. */
bool said_load(Said *said);

#endif
