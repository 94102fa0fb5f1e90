/* SPDX-License-Identifier: Apache-2.0 */
/* spool.h - the writing side of output.h: from a pipe into the attempt's file.
 *
 * Bytes go from the pipe into the file in one system call, so that they are always in
 * one of the two: a daemon that dies loses none. What does not fit on the disk is
 * dropped, as if it were older than the cap: a full disk stops no job. */
#ifndef RUN_PROCESS_SPOOL_H
#define RUN_PROCESS_SPOOL_H

#include "run/process/output.h"

#include <stdbool.h>

#define SPOOL_BLOCK    (64 << 10) /* holes begin and end here, on any disk */
#define SPOOL_TAKE_MAX (1 << 20)  /* of one stream at a time */
#define SPOOL_PATH_MAX 4352       /* a data directory of PATH_MAX, and a name */

typedef struct Spool {
    OutputName name;
    int64_t cap;
    int fd;        /* -1: nothing has been printed */
    int64_t total; /* offset of the next byte */
    int64_t first; /* offset of the oldest byte kept */
    int64_t base;  /* offset of the file's first byte */
    bool no_holes; /* the file system has none: base moves instead */
    bool no_splice;
} Spool;

char *spool_path(const OutputName *name, char out[SPOOL_PATH_MAX]);

/* fresh: a new attempt; else what is there already is continued. */
void spool_init(Spool *spool, const OutputName *name, int64_t cap, bool fresh);
void spool_done(Spool *spool);

/* Takes bytes that wait in the pipe; returns how many, 0 if none do. What the disk did
 * not take is also put into *dropped. */
size_t spool_take(Spool *spool, int pipe_fd, Buf *dropped);

/* Adds bytes that did not come through a pipe; the front goes when they are too many. */
void spool_put(Spool *spool, Slice bytes);

/* Appends bytes kept from `from` on, at most `max`; for reading what was taken. */
void spool_read(const Spool *spool, int64_t from, size_t max, Buf *out);

/* Whether there is so much more than the cap that spool_trim will drop the front. */
bool spool_over(const Spool *spool);
void spool_trim(Spool *spool);

/* Offset of a file's first byte, for disks without holes: <path>.cut has it, and counts
 * only for the files it names. */
int64_t spool_base(const char *path, int fd);

#endif
