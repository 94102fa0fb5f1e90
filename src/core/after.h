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

#define AFTER_MAX  1000 /* jobs that one job may wait for */
#define STATE_GONE (-1) /* of a job that is not there */

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
    Slice met; /* those that have ended as asked, as a list: only what was seen may be
                  settled (FIELD_MET), because others may have ended since */
} AfterCount;

/* Counts one more; state is looked at only if it has ended. Of several that are broken or
 * pending the oldest is kept, in whatever order they come. */
void after_count(AfterCount *count, AfterItem item, bool ended, int32_t state);

/* Whether a list names the job. */
bool after_names(Slice list, JobId id);

/* Why the job waits, or why it never will run. */
void after_reason(Buf *out, const AfterCount *count);

#endif
