/* SPDX-License-Identifier: Apache-2.0 */
/* museum.h - defects put into the simulated world on purpose, to see that they are seen.
 *
 * Each is a way in which what lies behind the engine's ports could be wrong; the
 * product's code is never touched. `sim --museum` must find every one of them. Defects of
 * the engine itself are planted by sim/mutants. */
#ifndef SIM_MUSEUM_H
#define SIM_MUSEUM_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>

typedef enum Bug {
    BUG_NONE,
    BUG_READ_POINT_APART,     /* jobs and read point are two transactions */
    BUG_READ_POINT_FORGOTTEN, /* a restart reads the journal from its beginning */
    BUG_UNDURABLE_INGESTED,   /* the store gets what the journal may still lose */
    BUG_TRIM_BEFORE_SYNC,     /* the journal forgets what the store may still lose */
    BUG_LOADS_DO_NOT_WAIT,    /* questions are answered by a store that lags */
    BUG_LATE_ACCEPTED,        /* the end of an old attempt ends the new one */
    BUG_NOTHING_ADOPTED,      /* a restart takes living attempts for lost */
    BUG_ENDS_FORGOTTEN,       /* ends are not kept until they are recorded */
    BUG_KEYS_IN_MEMORY,       /* idempotency keys are not journalled */
    BUG_IDS_FROM_CLOCK,       /* a restart does not ask for the last id */
    BUG_LIMITS_FORGOTTEN,     /* a restart does not load queues and resources */
    BUG_BOOKINGS_FORGOTTEN,   /* ... or what running jobs hold */
    BUG_WINDOW_LOST,          /* the answers about one queue get lost */
    BUG_FIRST_LEFT_OUT,       /* answers leave out the first job of a lane */
    BUG_CLOCK_STUCK,          /* the core is always told the same time */
    BUG_ITEMS_FORGOTTEN,      /* a restart forgets which items running jobs hold */
    BUG_WANTING_LOST,         /* answers get lost if a first job wants a resource, */
    BUG_WANTING_TWO_LOST,     /* ... or one and its queue another, */
    BUG_LIMITED_LOST,         /* ... or its queue has slots or a rate */
    BUG_LATE_RESULT,          /* a worker's late result ends the attempt of another */
    BUG_LEASES_CUT,           /* leases are shorter than workers are told */
    BUG_CRASH_MISPLACED,      /* a context's crash is charged to a job that waited */
    BUGS,
} Bug;

const char *bug_name(Bug bug);

/* The invariant that must be seen broken by it; NULL: whichever. */
const char *bug_breaks(Bug bug);
bool bug_wants_scarcity(Bug bug); /* only worlds with little of something show it */
MUST_CHECK Err bug_parse(Slice name, Bug *out_bug);

#endif
