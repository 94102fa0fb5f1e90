/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - what an attempt printed: spool files, their cap, and reading them.
 *
 * <data>/logs/<shard>/<id>.<attempt>.out and .err, made with the first byte. Offsets
 * are those of the stream: the byte that was printed at offset n stays at n although
 * the front may be dropped to keep a cap. Dropped bytes are a hole in the file; where
 * a file system has no holes, the file holds the tail only and <file>.cut says where it
 * begins. */
#ifndef RUN_PROCESS_OUTPUT_H
#define RUN_PROCESS_OUTPUT_H

#include "base/buf.h"
#include "base/id.h"

#include <stdint.h>

#define OUTPUT_BYTES_MAX_DEFAULT (8 << 20)
#define OUTPUT_BYTES_MAX_LEAST   (128 << 10) /* room for whole blocks of any disk */

typedef enum OutputStream {
    OUTPUT_OUT,
    OUTPUT_ERR,
} OutputStream;
#define OUTPUT_STREAMS 2

/* One attempt's stream, named. */
typedef struct OutputName {
    const char *data_dir;
    JobId id;
    uint32_t attempt;
    OutputStream stream;
} OutputName;

typedef struct OutputPart {
    int64_t from;  /* offset of the first byte given */
    int64_t next;  /* where to go on */
    int64_t first; /* offset of the oldest byte kept; more than 0: the front is gone */
    int64_t total; /* bytes printed so far */
} OutputPart;

/* Appends up to `max` bytes from offset `from` on (or from the oldest byte kept, if that
 * is later). A negative `from` counts from the end. An attempt that printed nothing, or
 * is not known, gives no bytes and total 0. May be called by any thread at any time. */
MUST_CHECK Err output_read(const OutputName *name, int64_t from, size_t max, Buf *out,
                           OutputPart *out_part);

/* Removes everything kept for a job: logs of attempts 1 to `attempts`, state, files.
 * Waits for the disk: not for the loop thread (runner_erase is). */
void output_erase(const char *data_dir, JobId id, uint32_t attempts);

#endif
