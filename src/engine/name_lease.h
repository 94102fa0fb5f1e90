/* SPDX-License-Identifier: Apache-2.0 */
/* name_lease.h - the daemon's hold on its own sysid (sysid.h): reserved before anything
 * else in the store is touched, looked after while it runs, released at the end. */
#ifndef ENGINE_NAME_LEASE_H
#define ENGINE_NAME_LEASE_H

#include "engine/call.h"
#include "engine/sysid.h"

#include <stdatomic.h>

typedef struct NameLease {
    char host[64];
    char boot[40];
    bool held;
    _Atomic bool lost;    /* the reader has seen another owner */
    _Atomic bool looking; /* the reader is asked */
    int64_t look_boot;
    int64_t renew_boot;
} NameLease;

MUST_CHECK Err name_lease_begin(Daemon *daemon, Error *why);
void name_lease_look(Daemon *daemon, Now now);
void name_lease_end(Daemon *daemon);

#endif
