/* SPDX-License-Identifier: Apache-2.0 */
/* worker_lines.h - what the program of `pawl worker` says on its descriptor 3.
 *
 *     R: ID CODE result        the answer to a job; the rest of the line is the result
 *     R: ID CODE <<N           the same, the result being the N bytes after this line
 *     P: ID 45 message         progress in percent
 *     J: ID type|payload       a new job when this one ends; also #J:
 *
 * The same lines as of a warm context of the daemon, so that one program can be both. */
#ifndef CLI_WORKER_LINES_H
#define CLI_WORKER_LINES_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define WORKER_LINE_MAX (17u << 20) /* longer without an end: not this protocol */

typedef enum WorkerLineKind {
    WORKER_RESULT,   /* number: code; text: result */
    WORKER_PROGRESS, /* number: percent; text: message */
    WORKER_JOB,      /* text: type|payload */
    WORKER_OTHER,    /* text: the line; it means nothing */
} WorkerLineKind;

typedef struct WorkerLine {
    WorkerLineKind kind;
    Slice id;
    int64_t number;
    Slice text;
} WorkerLine;

/* Takes the next whole line (with the bytes that belong to it) out of what was read so
 * far, from *at on. False: more must be read. Slices borrow from `in`. */
bool worker_line_next(Slice in, size_t *at, WorkerLine *out);

#endif
