/* SPDX-License-Identifier: Apache-2.0 */
/* interpreter.h - which scripting languages this machine has, and how a warm context of
 * one is started: the interpreter with our side of the protocol (contexts/boot.*) as its
 * program text. */
#ifndef RUN_CONTEXT_INTERPRETER_H
#define RUN_CONTEXT_INTERPRETER_H

#include "base/buf.h"
#include "core/handler.h"

/* Adds the words of the command, each ended by NUL. False: the language is not scripted,
 * or no interpreter of it is in `path` (as $PATH; NULL: the daemon's own). */
bool interpreter_argv(Lang lang, const char *path, Buf *out);

/* The name of the program that was looked for, for messages. */
const char *interpreter_name(Lang lang);

extern const char boot_js[];
extern const char boot_py[];
extern const char boot_pl[];
extern const char boot_php[];
extern const char boot_rb[];
extern const char boot_lua[];

#endif
