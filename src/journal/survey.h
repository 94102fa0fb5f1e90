/* SPDX-License-Identifier: Apache-2.0 */
/* survey.h - goes through all segments of a journal and judges what it finds.
 *
 * What is not a record is either the end, or a tail that a crash has torn before it was
 * durable, or damage to what had been durable. The last is refused with its place: a
 * survey changes nothing. */
#ifndef JOURNAL_SURVEY_H
#define JOURNAL_SURVEY_H

#include "journal/journal.h"
#include "journal/walk.h"

typedef struct Survey {
    /* Asked: */
    const char *dir; /* for messages */
    int dir_fd;
    SegmentList list;
    size_t first;              /* begin with this one of the list */
    uint64_t read_point;       /* a record must begin here; all before it was durable */
    const JournalOptions *own; /* whose it must be; NULL: anyone's */
    JournalVisit *visit;       /* NULL: none */
    void *context;

    /* Found: */
    Walk walk;            /* stands at the end, in the last segment */
    SegmentHeader header; /* of the last segment */
    uint64_t read_sum;    /* of the chain at the read point */
    bool read_found;
    uint64_t proven; /* all before is known to have been durable */
    bool torn;       /* something follows the end that is not zeros */
} Survey;

/* The list must not be empty. */
MUST_CHECK Err survey_run(Survey *survey, Error *why);
void survey_done(Survey *survey); /* the list too */

#endif
