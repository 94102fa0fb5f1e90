/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h - removes what jobs leave on disk, on a thread of its own.
 *
 * A job may leave millions of files, or folders deeper than any path: neither stops the
 * runner, nor does it follow a link out of the folder. */
#ifndef RUN_FILES_SWEEP_H
#define RUN_FILES_SWEEP_H

#include "base/id.h"

typedef struct Sweeper Sweeper;

/* Removes a file or folder with all that is in it. What cannot be removed stays. */
void sweep_path(const char *path);

Sweeper *sweeper_new(const char *data_dir);
void sweeper_free(Sweeper *sweeper); /* after the work it has been given */

void sweeper_path(Sweeper *sweeper, const char *path);
void sweeper_erase(Sweeper *sweeper, JobId id, uint32_t attempts);

#endif
