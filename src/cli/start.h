/* SPDX-License-Identifier: Apache-2.0 */
/* start.h - a private daemon for this user, started by the first command that needs one.
 *
 * It listens on the Unix socket in the data directory only and leaves by itself when it
 * has been idle for a while. Of several commands that start one at the same time,
 * exactly one does (a lock file decides), and the others use it. */
#ifndef CLI_START_H
#define CLI_START_H

#include "base/err.h"

#include <stdbool.h>

/* Returns when the daemon answers that it is ready. *out_started tells whether it was
 * this call that started it. */
MUST_CHECK Err start_private(const char *data_dir, bool *out_started, Error *why);

/* Makes the directory and those above it, for this user only. */
MUST_CHECK Err start_make_dir(const char *path, Error *why);

#endif
