/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - what the launcher's test knows of its processes. */
#ifndef LAUNCH_TESTING_H
#define LAUNCH_TESTING_H

#include "base/id.h"
#include "launch/protocol.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* As a daemon's are, a mark is no other's: tests that run beside this one look for theirs
 * in the environments of all processes, and end what has them. */
static inline const char *mark_of(JobId id)
{
    static char mark[LAUNCH_MARK_BYTES];
    snprintf(mark, sizeof mark, "mark-%d-%llx.", (int)getpid(), (unsigned long long)id);
    return mark;
}

/* The letter of its state in /proc, or '-' when it is gone. */
static inline char state_of(pid_t pid)
{
    char path[64], state = '-';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *stat = fopen(path, "re");
    bool read = stat && fscanf(stat, "%*d (%*[^)]) %c", &state) == 1;
    if (stat)
        fclose(stat);
    return read ? state : '-';
}

/* A process that no one has waited for yet is dead all the same. */
static inline bool alive(pid_t pid)
{
    return !strchr("-ZX", state_of(pid));
}

#endif
