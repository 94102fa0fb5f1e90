/* SPDX-License-Identifier: Apache-2.0 */
/* handler_json.h - reading a handler on the machine that is to run its jobs: what its
 * table cannot know (languages that are installed, accounts, URLs) is checked here. */
#ifndef MODEL_HANDLER_JSON_H
#define MODEL_HANDLER_JSON_H

#include "core/handler.h"

/* A whole object into in->object, a Handler. */
MUST_CHECK Err handler_read(NounIn *in, const JsonIn *object);

/* A parameter of a founding path, after noun_read(): `method` is the language, others are
 * scalar fields. Then handler_check(). */
MUST_CHECK Err handler_read_param(NounIn *in, Slice name, Slice value);

/* Whether all of it makes sense together and on this machine. */
MUST_CHECK Err handler_check(NounIn *in);

#endif
