/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h - all pages of a list of jobs, one job after the other. */
#ifndef CLI_PAGES_H
#define CLI_PAGES_H

#include "cli/cli.h"

typedef struct Pages {
    const char *query; /* or NULL: all jobs */
    size_t limit;      /* at most so many jobs in all */
    bool more;         /* out: there are more than that */
    Buf cursor;        /* out: where to go on then; the caller frees it */
    void (*each)(void *context, const Doc *job);
    void *context;
} Pages;

int pages_walk(Cli *cli, Pages *pages);

/* The jobs meant by the operands and --match: ids in an array the caller frees. */
typedef char JobIdText[ID_TEXT_BYTES];
int pages_ids(Cli *cli, JobIdText **out_ids, size_t *out_count);

#endif
