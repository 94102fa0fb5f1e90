/* SPDX-License-Identifier: Apache-2.0 */
/* rollup.h - what happened, counted by minute: the statistics that a commit adds up.
 *
 * Operations are counted as they are applied, in memory, by minute, tenant, queue, type
 * and priority; the store writes the sums in the same transaction. So each is counted
 * exactly once, and a commit costs one row for each kind of job in it, not one per job.
 * In the first commit of an hour older minutes become hours and old hours days; a period
 * has at most ROLLUP_KEYS_MAX rows, what is more is counted under ROLLUP_OTHER. Pure. */
#ifndef STORE_ROLLUP_H
#define STORE_ROLLUP_H

#include "base/map.h"
#include "store/row.h"
#include "store/store.h"

#define ROLLUP_KEYS_MAX     200 /* of one period; the rest is one row of type `*` */
#define ROLLUP_OTHER        "*"
#define ROLLUP_MINUTES_KEPT (6 * MS_PER_HOUR)
#define ROLLUP_HOURS_KEPT   (35 * MS_PER_DAY)
#define ROLLUP_DAYS_KEPT    (400 * MS_PER_DAY)

/* Sums of the commit under way, oldest kind first. */
typedef struct Rollups {
    Arena arena;
    Rollup *rows; /* span_ms is a minute */
    size_t count;
    size_t capacity;
    Map index; /* hash of the key -> row number + 1 of the newest with it */
    size_t last;
} Rollups;

void rollups_clear(Rollups *rollups);
void rollups_done(Rollups *rollups);

/* A job (or `count` like it) is added. */
void rollups_add(Rollups *rollups, const Job *job, uint64_t count);

/* An operation is about to change a row; those that say nothing are passed over. */
void rollups_change(Rollups *rollups, const Row *before, const Op *op);

/* The start of the oldest period of a span that is kept at now_ms, and the span that
 * older ones become part of; 0: they go for good. */
int64_t rollup_kept_from(int64_t span_ms, int64_t now_ms, int64_t *out_next_ms);

/* Start of the period of a moment. */
static inline int64_t rollup_floor(int64_t at_ms, int64_t span_ms)
{
    return at_ms / span_ms * span_ms;
}

void rollup_sum(RollupCounts *sum, const RollupCounts *more);

/* Rows in order of span, start and key: what a store holds, or a part of it. */
typedef struct RollupTable {
    Arena arena;
    Rollup *rows;
    size_t count;
    size_t capacity;
} RollupTable;

/* Adds the counts to the row of that key; a period that is full gives them to its row of
 * ROLLUP_OTHER. */
void rollup_table_add(RollupTable *table, const Rollup *row);
/* Coarsens what is old at now_ms. */
void rollup_table_fold(RollupTable *table, int64_t now_ms);
void rollup_table_copy(const RollupTable *from, RollupTable *to); /* to is empty */
void rollup_table_done(RollupTable *table);

/* The row that counts what no row of its own is left for. */
Rollup rollup_other(const Rollup *row);

#endif
