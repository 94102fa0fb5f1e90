/* SPDX-License-Identifier: Apache-2.0 */
/* handler_order.h - a handler and a job make a command: languages of one process each. */
#ifndef MODEL_HANDLER_ORDER_H
#define MODEL_HANDLER_ORDER_H

#include "core/handler.h"

/* Gives *job the command, environment, directory and switches that its handler says;
 * what is made lives in the arena. */
MUST_CHECK Err handler_order(const Handler *handler, Arena *arena, Job *job, Error *why);

/* The words of an exec body: a JSON array of texts, or words quoted as a shell reads
 * them ('...', "...", \\x; no variables, no wildcards). Each is ended by NUL in *out. */
MUST_CHECK Err words_parse(Slice body, Buf *out, Error *why);

#endif
