/* SPDX-License-Identifier: Apache-2.0 */
/* serve.h - `pawl serve`: the daemon in the foreground. */
#ifndef ENGINE_SERVE_H
#define ENGINE_SERVE_H

#include "config/config.h"

/* argv[0] is "serve". Returns the exit status of the program. */
int serve_main(int argc, char **argv);

/* How a daemon was started, or would be. */
typedef struct ServeStart {
    int argc; /* argv[0] is "serve"; the order may change */
    char **argv;
    const char *const *env;
    const char *cwd; /* NULL: of this process */
} ServeStart;

/* The configuration that it has then; without an address where it listens at none.
 * config_done frees what a success filled. */
MUST_CHECK Err serve_config(const ServeStart *start, Config *out, Error *why);

#endif
