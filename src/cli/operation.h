/* SPDX-License-Identifier: Apache-2.0 */
/* operation.h - actions on everything that matches (--match), as the daemon carries them
 * out in the background: asked about, begun, followed to their end. */
#ifndef CLI_OPERATION_H
#define CLI_OPERATION_H

#include "cli/cli.h"

#define OPERATIONS_PATH "/api/v1/operations"

/* Begins the action on the jobs that --match names, after a question unless --yes, and
 * follows it. `fields`: an object with what `set` changes, or empty. */
int operation_match(Cli *cli, const char *action, Slice fields);

/* Shows how far it is until it is over, and then what came of it. Ctrl-C ends only the
 * following. The exit code says whether every job could be acted on. */
int operation_follow(Cli *cli, Slice id);

#endif
