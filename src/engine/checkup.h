/* SPDX-License-Identifier: Apache-2.0 */
/* checkup.h - what is doubtful in a daemon's configuration: what is open to others, which
 * secrets they may read, and its store. For `pawl doctor`; nothing is changed.
 *
 * A daemon that runs on this machine is taken as it was started: its words, environment
 * and directory stand in /proc for its user and for root. So nobody has to repeat them,
 * and a password in the url of its store never leaves the machine. */
#ifndef ENGINE_CHECKUP_H
#define ENGINE_CHECKUP_H

#include "base/finding.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Checkup {
    const char *data;   /* directory of one that would be started here; "": the usual */
    int64_t daemon_pid; /* 0: none runs */
    bool with_store;    /* also its store */
} Checkup;

void checkup_config(const Checkup *what, const Findings *findings);

/* url NULL: there is nothing to look at. */
void checkup_store(const char *url, const Findings *findings);

#endif
