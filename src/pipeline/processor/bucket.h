/* SPDX-License-Identifier: Apache-2.0 */
/* bucket.h - the directories of a processor, and rename as the only way between them.
 *
 *     <dir>/input/{receive,work,active,processed,failed}
 *     <dir>/output/{processing,finished,sent,failed}
 *     <dir>/.pawl/                 what a restart must know; see files below
 *
 * A unit is a file or a directory, named by its entry. It is in one bucket at a time: all
 * buckets are on one file system, and a move never replaces anything. Nothing here
 * follows a symbolic link, and no directory is ever held in memory. */
#ifndef PIPELINE_PROCESSOR_BUCKET_H
#define PIPELINE_PROCESSOR_BUCKET_H

#include "base/buf.h"
#include "base/times.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

typedef enum Bucket {
    IN_RECEIVE,
    IN_WORK,
    IN_ACTIVE,
    IN_PROCESSED,
    IN_FAILED,
    OUT_PROCESSING,
    OUT_FINISHED,
    OUT_SENT,
    OUT_FAILED,
} Bucket;
#define BUCKETS (OUT_FAILED + 1)

#define OWN_DIR        ".pawl" /* in the directory of a processor */
#define UNIT_BYTES_MAX 255     /* NAME_MAX of every file system in use */

typedef struct BucketCount {
    struct timespec changed; /* of the directory, when it was counted */
    int64_t counted_boot;    /* 0: never */
    int64_t cost_ms;
    int64_t units; /* what was counted, and our own moves since */
    bool settled;  /* `changed` can be trusted */
} BucketCount;

typedef struct Buckets {
    char *dir; /* absolute, no links in it */
    int fds[BUCKETS];
    int own_fd;
    bool dirty[BUCKETS]; /* entries changed since the last sync */
    BucketCount counts[BUCKETS];
} Buckets;

const char *bucket_path(Bucket bucket); /* "input/work" */

/* Makes what is not there; checks that all is on one file system, may be written, and is
 * nobody else's (ERR_CONFLICT).
 * On failure nothing is open, and *why names the directory and what to do. */
MUST_CHECK Err buckets_open(Buckets *buckets, const char *dir, Error *why);
void buckets_close(Buckets *buckets);

/* The same for one who only puts things into them: whoever has them may go on. */
MUST_CHECK Err buckets_peek(Buckets *buckets, const char *dir, Error *why);

/* A name that a unit may have: 1 to 255 bytes, no slash, not "." or "..", not hidden. */
bool unit_name_valid(Slice name);

/* Names of things that are still being made: hidden ones, *~, *.tmp, *.part. */
bool unit_name_ignored(const char *name);

/* Whether the bucket has the unit, and what it is; a link is no unit. */
bool bucket_has(const Buckets *buckets, Bucket bucket, const char *unit);
bool bucket_stat(const Buckets *buckets, Bucket bucket, const char *unit,
                 struct stat *out);

/* Renames, never over something (ERR_CONFLICT). Durable after buckets_sync. */
MUST_CHECK Err bucket_move(Buckets *buckets, const char *unit, Bucket from, Bucket to,
                           Error *why);
MUST_CHECK Err buckets_sync(Buckets *buckets, Error *why);

/* The unit's own bytes, or those of everything in it, reach the disk. */
MUST_CHECK Err bucket_sync_unit(const Buckets *buckets, Bucket bucket, const char *unit,
                                Error *why);

/* Removes the unit and all that is in it; one that is not there is no error. */
MUST_CHECK Err bucket_remove(Buckets *buckets, Bucket bucket, const char *unit,
                             Error *why);

/* How many units. A directory that takes long to count is believed for many times as
 * long, our own moves added and taken away. */
int64_t bucket_count(Buckets *buckets, Bucket bucket, int64_t boot_ms);

/* The same, without counting again within a second: for deciding, not for showing. */
int64_t bucket_guess(Buckets *buckets, Bucket bucket, int64_t boot_ms);

/* Others moved units for us. */
void bucket_counted(Buckets *buckets, Bucket bucket, int64_t more);

/* The path of a unit, for others. Returns what is in `out`. */
const char *bucket_unit_path(const Buckets *buckets, Bucket bucket, const char *unit,
                             Buf *out);

/* --- Walking ------------------------------------------------------------------------ */

/* A walk goes on where it stopped, so that every entry gets its turn however many there
 * are; at the end it begins again. Zeroed is closed. */
typedef struct BucketWalk {
    DIR *stream;
    bool all;                /* temporary names too */
    struct timespec changed; /* of the directory, when the walk began */
    int64_t spent_ms;   /* reading the directory; not what was done between two entries */
    int64_t ended_boot; /* of the last whole walk; 0: there was none */
    bool settled;
} BucketWalk;

typedef enum WalkStep { WALK_UNIT, WALK_OTHER, WALK_END } WalkStep;

/* The next entry, none of a temporary name; OTHER is no file and no directory. */
WalkStep bucket_walk_next(BucketWalk *walk, int dir_fd,
                          char out_name[UNIT_BYTES_MAX + 1]);
void bucket_walk_end(BucketWalk *walk);

/* Whether there is something to look at: the walk is under way, or the directory changed
 * since the last one, or that is a while ago (a second, or many times what it took: some
 * file systems never make a directory smaller that once was large). */
bool bucket_walk_due(BucketWalk *walk, int dir_fd, int64_t boot_ms);

/* Only <dir>/.pawl, made if need be: for what has no buckets. What is in it: notes.h. */
MUST_CHECK Err own_open(Buckets *buckets, const char *dir, Error *why);

#endif
