/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h - the folders of attempts and jobs in the data directory.
 *
 *     run/<id>.<attempt>/job.json   the job document, read-only (job.xml: a control file)
 *     run/<id>.<attempt>/tmp/       PAWL_TEMP_DIR
 *     state/<id>/                   PAWL_STATE_DIR, for jobs that ask
 *     files/<id>/                   PAWL_FILES_DIR, for jobs that ask
 *
 * Folders of attempts that left them as they were are renamed for the next attempt:
 * making and removing two folders costs more than starting a process should. */
#ifndef RUN_PROCESS_FOLDER_H
#define RUN_PROCESS_FOLDER_H

#include "base/err.h"
#include "base/id.h"
#include "run/files/sweep.h"

#include <stdbool.h>
#include <sys/types.h>

#define FOLDERS_SPARE_MAX 64
#define FOLDER_NAME_BYTES 32 /* <id>.<attempt>; spare ones keep their last name */
#define FOLDER_PATH_BYTES 4352

typedef struct Folders {
    char *data_dir;
    int run_fd; /* data/run */
    Sweeper *sweeper;
    char spare[FOLDERS_SPARE_MAX][FOLDER_NAME_BYTES];
    size_t spare_count;
    unsigned old_count;
} Folders;

typedef enum FolderKind {
    FOLDER_RUN, /* the attempt's own */
    FOLDER_DOCUMENT,
    FOLDER_CONTROL, /* the document of a job that came as a control file */
    FOLDER_TEMP,
    FOLDER_STATE,
    FOLDER_FILES,
} FolderKind;

/* The path of a folder or file above. Returns out. */
char *folder_path(const char *data_dir, FolderKind kind, JobId id, uint32_t attempt,
                  char out[FOLDER_PATH_BYTES]);

/* Makes the data directory's own folders, logs included. */
MUST_CHECK Err folders_open(Folders *folders, const char *data_dir, Error *why);
void folders_close(Folders *folders);

typedef struct FolderOwner { /* the account that the attempt runs as */
    uid_t uid;               /* 0: the daemon's own */
    gid_t gid;
} FolderOwner;

typedef struct FolderWant {
    JobId id;
    uint32_t attempt;
    uint32_t flags; /* JobFlag bits */
    Slice document;
    FolderOwner owner;
} FolderWant;

/* All that an attempt needs. What belongs to another account is its own and no one
 * else's; the way to it is opened, so that it can be gone but not looked at. On failure
 * errno says why. */
MUST_CHECK Err folders_make(Folders *folders, const FolderWant *want);

/* The attempt is over and recorded. */
void folders_drop(Folders *folders, JobId id, uint32_t attempt);

/* Removes folders of attempts that `known` does not know. */
typedef bool FolderKnown(void *context, JobId id, uint32_t attempt);
void folders_tidy(Folders *folders, FolderKnown *known, void *context);

#endif
