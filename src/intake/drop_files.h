/* SPDX-License-Identifier: Apache-2.0 */
/* drop_files.h - the files of the drop folder: which are complete, and moving them.
 *
 * Nothing here knows of jobs. Every move is a rename; names come from outside and are
 * never followed as links. */
#ifndef INTAKE_DROP_FILES_H
#define INTAKE_DROP_FILES_H

#include "base/buf.h"

#define DROP_NAME_BYTES  256 /* NAME_MAX and the NUL */
#define DROP_STAMP_CHARS 16
#define DROP_BATCH       64 /* files on their way at once */

typedef struct DropFiles {
    int drop_fd;
    int taken_fd;
    int failed_fd;
} DropFiles;

typedef struct DropName {
    char name[DROP_NAME_BYTES]; /* in taken/ */
} DropName;

MUST_CHECK Err drop_files_open(DropFiles *files, const char *folder, Error *why);
void drop_files_close(DropFiles *files);

/* Moves complete files from the folder to taken/, at most `max`; the moves are durable
 * when this returns. Returns how many; their names are in out_names. */
size_t drop_files_take(DropFiles *files, DropName *out_names, size_t max);

/* What is in taken/ already, at most `max`: left there by a daemon that ended. */
size_t drop_files_taken(DropFiles *files, DropName *out_names, size_t max);

/* The bytes of a taken file, at most `max`. ERR_INVALID: it is no plain file; ERR_DENIED:
 * it is closed to us. */
MUST_CHECK Err drop_files_read(DropFiles *files, const DropName *name, size_t max,
                               Buf *out, Error *why);

/* The stamp in a taken file's name, and the name it came with. */
Slice drop_stamp(const DropName *name);
const char *drop_original(const DropName *name);

/* Its job is durable. */
void drop_files_done(DropFiles *files, const DropName *name);

/* To failed/, with the reason beside it. Never over an older one: NAME.2.xml then. */
void drop_files_fail(DropFiles *files, const DropName *name, const char *reason);

#endif
