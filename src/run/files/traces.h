/* SPDX-License-Identifier: Apache-2.0 */
/* traces.h - what the data directory keeps of jobs, walked one after the other: logs
 * (output.h), state and files (folder.h). Each is named after its job. */
#ifndef RUN_FILES_TRACES_H
#define RUN_FILES_TRACES_H

#include "base/id.h"

#include <stdbool.h>
#include <stdint.h>

#define TRACE_PATH_BYTES 4608 /* of a folder, a slash and a name */

typedef struct Trace {
    JobId id;
    int64_t changed_ms; /* wall time */
    char path[TRACE_PATH_BYTES];
} Trace;

typedef struct TraceWalk TraceWalk;

TraceWalk *trace_walk_new(const char *data_dir);
void trace_walk_free(TraceWalk *walk); /* NULL does nothing */

/* The next one; names that are no job's are passed over, and so is what vanishes or comes
 * meanwhile. False: that was all, and it begins anew. Waits for the disk. */
bool trace_walk_next(TraceWalk *walk, Trace *out);

#endif
