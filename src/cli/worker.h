/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - a program as a pull worker: one of `pawl worker`'s slots.
 *
 * Each slot is a thread with a connection and a process of its own. It claims one job,
 * writes it to the process as a line of JSON, reads the answer from descriptor 3, and
 * tells the daemon; meanwhile it renews the lease. What must hold: a job that was claimed
 * is finished, or its lease lapses; a result is told until the daemon has heard it. */
#ifndef CLI_WORKER_H
#define CLI_WORKER_H

#include "cli/cli.h"

#include <stdatomic.h>

typedef struct WorkerPlan {
    Client *client; /* how to reach the daemon; each slot makes its own */
    char **command; /* ended by NULL */
    Buf claim;      /* the body of POST /claims */
    int64_t lease_ms;
    int64_t grace_ms;      /* between TERM and KILL of the program */
    atomic_bool stopping;  /* take no more jobs */
    atomic_bool giving_up; /* end at once; leases lapse */
    atomic_int ended;      /* slots that are through */
    atomic_int failed;     /* an exit code, if the daemon refused us */
} WorkerPlan;

/* Works until plan->stopping; the thread's function. */
void *worker_run(void *plan);

#endif
