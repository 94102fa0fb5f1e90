/* SPDX-License-Identifier: Apache-2.0 */
/* after.h - what a job waits for: other jobs, and how each must end.
 *
 * job->after lists them as `ok:ID`, `any:ID` or `fail:ID`, each ended by NUL. `ok` wants
 * the other job done, `fail` wants it failed or rejected, `any` only its end. A job that
 * is not there any more has ended in a way that no one knows: enough for `any`, for the
 * others never. One of another tenant is not there: nothing that is told or done may
 * differ from what happens with an id that no job ever had. */
#ifndef CORE_AFTER_H
#define CORE_AFTER_H

#include "core/job.h"

#define AFTER_MAX      1000 /* jobs that one job may wait for */
#define STATE_GONE     (-1) /* of a job that is not there */
#define STATE_REOPENED (-2) /* of one that was final and is not any more */

typedef enum AfterOn { AFTER_OK, AFTER_ANY, AFTER_FAIL } AfterOn;

typedef struct AfterItem {
    AfterOn on;
    JobId id;
} AfterItem;

const char *after_on_name(AfterOn on);
MUST_CHECK Err after_on_parse(Slice text, AfterOn *out_on);

/* Walks job->after; items that cannot be read are left out. */
bool after_next(Slice *rest, AfterItem *out_item);

/* In a store, the row of a job that waits for one of another tenant names it with this
 * bit, which no id has: it is gone from the first, whatever becomes of the real one, and
 * those of its own tenant that wait for that are not concerned. */
#define AFTER_FOREIGN ((JobId)1 << 63)

static inline JobId after_id(JobId row)
{
    return row & ~AFTER_FOREIGN;
}

/* The row of a job that was cancelled because of another names that one so, which no id
 * and no foreign row does before the year 2054, with AFTER_BROKE instead of what it
 * wanted. It is noted as ended (STATE_REOPENED) when that one is retried. */
#define AFTER_BROKE 8

static inline JobId after_broke(JobId id)
{
    return ~id;
}

/* Adds an item to a list. */
void after_add(Buf *list, AfterItem item);

/* Whether a job that ended in `state` (a final JobState, or STATE_GONE) is what `on`
 * waits for. If not, it never will be. */
bool after_met(AfterOn on, int32_t state);

/* Where a job stands with all that it still waits for. */
typedef struct AfterCount {
    uint32_t pending;    /* have not ended */
    JobId first_pending; /* the first of them */
    JobId broken;        /* one that ended otherwise than asked; 0: none */
    AfterOn broken_on;
    int32_t broken_state;
    Slice met;     /* those that have ended as asked, as a list: only what was seen may be
                      settled (FIELD_MET), because others may have ended since */
    Slice unmet;   /* those that have ended otherwise and can be retried */
    bool reopened; /* one because of which it was cancelled is not final any more */
} AfterCount;

/* Counts one more; state is looked at only if it has ended. Of several that are broken or
 * pending the oldest is kept, in whatever order they come. */
void after_count(AfterCount *count, AfterItem item, bool ended, int32_t state);

/* One row of a job that waits, as stores keep it. */
typedef struct AfterRow {
    JobId parent; /* perhaps AFTER_FOREIGN, or after_broke() */
    int32_t cond; /* AfterOn, or AFTER_BROKE */
    bool ended;
    int32_t state; /* if it has ended */
} AfterRow;

/* Counts rows one by one; after_tallied gives the result and frees what it took. */
typedef struct AfterTally {
    AfterCount count;
    Buf met;
    Buf unmet;
} AfterTally;

void after_tally(AfterTally *tally, const AfterRow *row);
AfterCount after_tallied(AfterTally *tally, Arena *arena);

/* How a store begins the row of a job that waits for `item`, which is in `state` (or
 * STATE_GONE): *out_ended says whether that counts as its end. `fields` are those of the
 * move that makes it wait, 0 for a new job; `ran`: it has had an attempt, so what is gone
 * by now once was as asked. */
AfterItem after_begin(AfterItem item, int32_t state, uint32_t fields, bool ran,
                      bool *out_ended);

/* What an operation that made *job of a job with the flags `had` does to its rows, in
 * this order: they go, all or those that its `value` lists; new ones come. */
typedef struct AfterSteps {
    bool settles_all;
    bool settles_listed;
    bool breaks; /* of the listed: AFTER_BROKE */
    bool waits;  /* of its `after` */
} AfterSteps;

struct Op;
AfterSteps after_steps(const Job *job, const struct Op *op, uint32_t had);

/* Whether a list names the job. */
bool after_names(Slice list, JobId id);

/* Why the job waits, or why it never will run. */
void after_reason(Buf *out, const AfterCount *count);

#endif
