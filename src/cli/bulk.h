/* SPDX-License-Identifier: Apache-2.0 */
/* bulk.h - one request to each of several jobs, with a look before the leap.
 *
 * Jobs named by --match are counted and asked about first; --dry-run only tells them. A
 * job that refuses does not keep the others from theirs: the first refusal is the exit
 * code. */
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
