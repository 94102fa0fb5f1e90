/* SPDX-License-Identifier: Apache-2.0 */
/* bulk.h - the same action on several jobs.
 *
 * Jobs named one by one get a request each; one that refuses does not keep the others
 * from theirs: the first refusal is the exit code. What --match names is an operation of
 * the daemon's (operation.h). --dry-run only tells which jobs it would be. */
#ifndef CLI_BULK_H
#define CLI_BULK_H

#include "cli/cli.h"

typedef struct Bulk {
    const char *verb;   /* "cancel" */
    const char *method; /* of each request */
    const char *rest;   /* of its path, after the id */
    Slice body;
} Bulk;

int bulk_run(Cli *cli, const Bulk *bulk);

#endif
