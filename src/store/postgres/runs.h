/* SPDX-License-Identifier: Apache-2.0 */
/* runs.h - many ids as runs of neighbours.
 *
 * Jobs that were added together have ids in a row, and they mostly end together, too: to
 * walk along an index from the first to the last costs a fraction of finding each. */
#ifndef STORE_POSTGRES_RUNS_H
#define STORE_POSTGRES_RUNS_H

#include "store/postgres/bind.h"

/* Pairs of first and last, rising; each id once. Zero-initialised. */
typedef struct PgRuns {
    PgArray first;
    PgArray last;
    int32_t ids; /* how many there are in all of them */
} PgRuns;

/* Of an array of int8 without NULL. */
void runs_of(PgRuns *out, const PgArray *ids);
void runs_done(PgRuns *runs);

/* Adds both as parameters of a statement: unnest($n, $m) AS r(a, b). */
void param_runs(PgParams *params, const PgRuns *runs);

/* The id at a place of such an array. */
int64_t array_id(const PgArray *ids, int32_t at);

#endif
