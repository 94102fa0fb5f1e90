/* SPDX-License-Identifier: Apache-2.0 */
/* output_lines.h - what an attempt said by lines of its output (core/lines.h), gathered.
 *
 * All of it can be had again from the spool file, so nothing is written down while the
 * whole file is there. Before its front is dropped, output_lines_save keeps what was read
 * from it in the attempt's folder, and output_lines_load goes on from there. */
#ifndef RUN_PROCESS_OUTPUT_LINES_H
#define RUN_PROCESS_OUTPUT_LINES_H

#include "core/output_line.h"

#define SAID_CHILDREN_BYTES_MAX (64 << 10) /* more children go into a file */

typedef struct OutputLines {
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
} OutputLines;

/* Told of a J!: line; `number` counts them from 1. */
typedef void SaidNow(void *context, uint64_t number, Slice type, Slice payload);

typedef struct OutputLinesSink {
    SaidNow *now;
    void *context;
    bool all_now; /* J: lines are J!: lines */
} OutputLinesSink;

void output_lines_init(OutputLines *said, const char *dir, size_t result_bytes_max);
void output_lines_done(OutputLines *said);

void output_lines_read(OutputLines *said, Slice bytes, const OutputLinesSink *sink);
void output_lines_end(OutputLines *said,
                      const OutputLinesSink *sink); /* after the last byte */

/* Errors are those of a full disk: the caller goes on. */
MUST_CHECK Err output_lines_save(OutputLines *said);

/* What output_lines_save kept; false if there is nothing: read the file from its start.
 */
bool output_lines_load(OutputLines *said);

#endif
