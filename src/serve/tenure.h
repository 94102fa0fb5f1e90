/* SPDX-License-Identifier: Apache-2.0 */
/* tenure.h - the daemon's hold on its own sysid (sysid.h): reserved before anything else
 * in the store is touched, looked after while it runs, released at the end. */
#ifndef SERVE_TENURE_H
#define SERVE_TENURE_H

#include "serve/door.h"
#include "serve/sysid.h"

#include <stdatomic.h>

typedef struct Tenure {
    char host[64];
    char boot[40];
    bool held;
    _Atomic bool lost;    /* the reader has seen another owner */
    _Atomic bool looking; /* the reader is asked */
    int64_t look_boot;
    int64_t renew_boot;
} Tenure;

MUST_CHECK Err tenure_begin(Daemon *daemon, Error *why);
void tenure_look(Daemon *daemon, Now now);
void tenure_end(Daemon *daemon);

#endif
