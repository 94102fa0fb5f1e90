/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - work in parts whose output is one file, and which can be killed at any moment
 * (004's DomainJobProcessor).
 *
 *     DIR/parts.log   "begun NAME", "done NAME END": what was begun, what is whole
 *     DIR/parts.out   the output of all parts that are done, END bytes of them
 *
 * The bytes of a part are written behind the last whole one and synced, then its line is
 * written and synced: a part is in the output whole or not at all. Whoever opens it cuts
 * off what has no line. One process at a time; others wait. */
#ifndef CLI_PARTS_H
#define CLI_PARTS_H

#include "base/buf.h"
#include "base/map.h"

#include <stdint.h>

typedef struct Parts {
    int log_fd;
    int out_fd;
    int64_t log_end;
    int64_t end;   /* bytes of whole parts */
    int64_t wrote; /* bytes of the current part behind them */
    Names begun;
    Names done;
} Parts;

/* Makes the files if need be, waits for others, and recovers. */
MUST_CHECK Err parts_open(Parts *parts, const char *dir, Error *why);
void parts_close(Parts *parts);

bool parts_is_done(const Parts *parts, Slice name);
MUST_CHECK Err parts_begin(Parts *parts, Slice name, Error *why);
MUST_CHECK Err parts_write(Parts *parts, Slice bytes, Error *why);
MUST_CHECK Err parts_finish(Parts *parts, Slice name, Error *why);
/* The current part failed: what it wrote goes. */
MUST_CHECK Err parts_abandon(Parts *parts, Error *why);

/* The output so far as a new file, synced. */
MUST_CHECK Err parts_copy(const Parts *parts, const char *path, Error *why);

#endif
