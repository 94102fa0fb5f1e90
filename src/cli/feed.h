/* SPDX-License-Identifier: Apache-2.0 */
/* feed.h - many jobs from a file of lines, in requests of bounded size. */
#ifndef CLI_FEED_H
#define CLI_FEED_H

#include "cli/cli.h"

/* Each line of the file ("-": standard input) is a job object, or a payload for `type`;
 * type and options fill in what a line leaves out. Ids go to stdout in the order of the
 * lines, refused lines to stderr. */
int feed_lines(Cli *cli, const char *path, const char *type);

#endif
