/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - threads that answer reads from the store without touching the node.
 *
 * Each has its own read-only handle. A call that arrives here may be answered at once:
 * the loop has seen to it that the store is far enough. */
#ifndef ENGINE_READER_H
#define ENGINE_READER_H

#include "engine/call.h"

typedef struct Reader Reader;

MUST_CHECK Err reader_open(const char *store_url, Reader **out_reader, Error *why);
void reader_give(Reader *reader, Call *call); /* call->read, then call->done */
void reader_close(Reader *reader);            /* answers what it has first */

#endif
