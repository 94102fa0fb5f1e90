/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - fields that jobs and handlers have in common and that need a reader of their
 * own: variables, resources, the working directory, what becomes of J: lines. */
#ifndef NOUN_WORK_H
#define NOUN_WORK_H

#include "noun/noun.h"

#define JOB_ENV_MAX       512
#define JOB_ARGS_MAX      4096
#define JOB_ARG_BYTES_MAX 131071 /* Linux: MAX_ARG_STRLEN without its NUL */
#define JOB_PATH_MAX      4095   /* Linux: PATH_MAX without its NUL */

extern const FieldHooks env_hooks;
extern const FieldHooks wants_hooks;
extern const FieldHooks cwd_hooks;
extern const FieldHooks children_hooks;

#define ENV_SCHEMA                                                                       \
    "\"type\":[\"object\",\"array\",\"null\"],\"additionalProperties\":{"                \
    "\"type\":\"string\"}"

/* {"KEY": amount}, where a key may be spelt as 003 does (com.enioka.jqm.rm. ...), into
 * KEY=AMOUNT or *KIND=AMOUNT, each ended by NUL. */
MUST_CHECK Err wants_read(const JsonIn *object, Arena *arena, Slice *out, Problem *why);

/* An argument of a program or a variable: no NUL, and not too long. */
MUST_CHECK Err argument_check(Slice text, Problem *why);

#endif
