/* SPDX-License-Identifier: Apache-2.0 */
/* museum.c - see museum.h. */
#include "sim/museum.h"

const char *bug_name(Bug bug)
{
    switch (bug) {
    case BUG_NONE:
        return "none";
    case BUG_READ_POINT_APART:
        return "read-point-apart";
    case BUG_READ_POINT_FORGOTTEN:
        return "read-point-forgotten";
    case BUG_UNDURABLE_INGESTED:
        return "undurable-ingested";
    case BUG_TRIM_BEFORE_SYNC:
        return "trim-before-sync";
    case BUG_LOADS_DO_NOT_WAIT:
        return "loads-do-not-wait";
    case BUG_LATE_ACCEPTED:
        return "late-accepted";
    case BUG_NOTHING_ADOPTED:
        return "nothing-adopted";
    case BUG_ENDS_FORGOTTEN:
        return "ends-forgotten";
    case BUG_KEYS_IN_MEMORY:
        return "keys-in-memory";
    case BUG_IDS_FROM_CLOCK:
        return "ids-from-clock";
    case BUG_LIMITS_FORGOTTEN:
        return "limits-forgotten";
    case BUG_BOOKINGS_FORGOTTEN:
        return "bookings-forgotten";
    case BUG_WINDOW_LOST:
        return "window-lost";
    case BUG_FIRST_LEFT_OUT:
        return "first-left-out";
    case BUG_CLOCK_STUCK:
        return "clock-stuck";
    case BUG_ITEMS_FORGOTTEN:
        return "items-forgotten";
    case BUG_WANTING_LOST:
        return "wanting-lost";
    case BUG_WANTING_TWO_LOST:
        return "wanting-two-lost";
    case BUG_LIMITED_LOST:
        return "limited-lost";
    case BUG_LATE_RESULT:
        return "late-result";
    case BUG_LEASES_CUT:
        return "leases-cut";
    case BUG_CRASH_MISPLACED:
        return "crash-misplaced";
    case BUGS:
        break;
    }
    return "?";
}

const char *bug_breaks(Bug bug)
{
    static const char *const broken[BUGS] = {
        [BUG_BOOKINGS_FORGOTTEN] = "I14: ",
        [BUG_WINDOW_LOST] = "I16: turn: ",
        [BUG_FIRST_LEFT_OUT] = "I8: ",
        [BUG_CLOCK_STUCK] = "I17: ",
        [BUG_ITEMS_FORGOTTEN] = "I14: item ",
        [BUG_WANTING_LOST] = "I16: resource: ",
        [BUG_WANTING_TWO_LOST] = "I16: resources: ",
        [BUG_LIMITED_LOST] = "I16: limits: ",
        [BUG_LATE_RESULT] = "I7: ",
        [BUG_LEASES_CUT] = "I18: ",
        [BUG_CRASH_MISPLACED] = "I7: ",
    };
    return broken[bug];
}

bool bug_wants_scarcity(Bug bug)
{
    return bug == BUG_WANTING_LOST || bug == BUG_WANTING_TWO_LOST ||
           bug == BUG_LIMITED_LOST;
}

Err bug_parse(Slice name, Bug *out_bug)
{
    for (int bug = BUG_NONE; bug < BUGS; bug++) {
        if (!slice_is(name, bug_name((Bug)bug)))
            continue;
        *out_bug = (Bug)bug;
        return ERR_OK;
    }
    return ERR_INVALID;
}
