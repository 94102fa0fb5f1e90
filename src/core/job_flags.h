/* SPDX-License-Identifier: Apache-2.0 */
/* job_flags.h - the bits of a job's flags; their numbers are on disk. For job.h. */
#ifndef CORE_JOB_FLAGS_H
#define CORE_JOB_FLAGS_H

typedef enum JobFlag {
    JOB_BINARY = 1 << 0,     /* sent as payload_base64: no newline is added */
    JOB_PROTOCOL = 1 << 1,   /* J:, P: and R: lines of its output are obeyed */
    JOB_FILES = 1 << 2,      /* wants PAWL_FILES_DIR */
    JOB_KEEP_STATE = 1 << 3, /* wants PAWL_STATE_DIR */
    JOB_PULL = 1 << 4,       /* only for external workers */
    JOB_CUT = 1 << 5,        /* its result was larger than the limit */
    JOB_CANCELLING = 1 << 6, /* running, but its end is asked for: it ends cancelled */
    JOB_HALTING = 1 << 7,    /* likewise: it ends halted */
    JOB_LOSSES = 31 << 8,    /* one bit for each attempt that was lost through no fault of
                                the job's, from the lowest up; an operator's retry clears
                                them */
    JOB_COMMAND = 1 << 13,   /* names its own command: needs no handler */
    JOB_UNHANDLED = 1 << 14, /* no handler has been there yet: the first that comes says
                                what the job left open */
    JOB_OPEN_QUEUE = 1 << 15,    /* with it: its queue, */
    JOB_OPEN_PRIORITY = 1 << 16, /* its priority */
    JOB_SEGREGATED = 1 << 25,    /* waits in a lane of its type's own */
    JOB_CONTROL = 1 << 22,       /* 000's: its payload is its control document */
    JOB_AFTERMATH = 1 << 23,     /* caused by an error handler: its end calls none */
    JOB_UNIT = 1 << 26,          /* works on a unit of a processor (004) */
    JOB_STAYS = 1 << 29,  /* works on this node's own disk: no other is given it; it waits
                             for a node that is lost */
    JOB_LINKED = 1 << 18, /* has `after`, `group` or `unique`: stores keep rows of it */
    JOB_MERGES = 1 << 19, /* while it waits, others of its highlander type become it */
    JOB_TELLS = 1 << 28,  /* someone is to be told of its end: `notify` */
    JOB_WAITS = 1 << 27,  /* not all jobs of its `after` have ended as asked */
    JOB_UNSURE = 1 << 24, /* on a shared store: not known yet whether its keys are its */
} JobFlag;

#endif
