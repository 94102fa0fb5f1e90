/* SPDX-License-Identifier: Apache-2.0 */
/* leftover.h - part of the launcher: what the one before us left behind, and looks into
 * /proc that are needed for it. */
#ifndef LAUNCH_LEFTOVER_H
#define LAUNCH_LEFTOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The first bytes of /proc/<pid>/<file>, NUL-ended. Returns their number, or -1. */
ssize_t proc_read(pid_t pid, const char *file, char *out, size_t bytes);

/* Whether `mark` stands in the environment that the process was started with. */
bool proc_has_mark(pid_t pid, const char *mark);

/* Whether it is on its way out: its environment is gone, but not yet its descriptors. */
bool proc_exiting(pid_t pid);

#endif
