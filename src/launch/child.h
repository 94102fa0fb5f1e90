/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - part of the launcher: one process out of a LaunchSpec.
 *
 * The new process shares the launcher's memory until it runs its program, makes nothing
 * but system calls, and says exactly which of them failed. libc only, no heap. */
#ifndef LAUNCH_CHILD_H
#define LAUNCH_CHILD_H

#include "launch/policy.h"
#include "launch/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

typedef struct ChildPlan {
    const LaunchSpec *spec;
    const char *cwd;
    const char *tenant;           /* with user */
    const char *user;             /* NULL: our own account */
    const PolicyAccount *account; /* what was found for it */
    char **argv;
    char **envp;
    int stdio[3];         /* descriptors that become 0, 1, 2; none of them is below 3 */
    int reply;            /* becomes 3; -1: none */
    int cgroup_fd;        /* directory of a cgroup to be born in; -1: none */
    struct rlimit nofile; /* the job's, where the spec has none: not the launcher's */
} ChildPlan;

typedef struct ChildFault {
    uint32_t step; /* LaunchStep */
    int32_t error_number;
} ChildFault;

/* Fills cwd, argv, envp and, if it names an account, tenant and user from a spec of
 * `bytes` bytes; they point into it and into memory of this module, until the next call.
 * Returns 0 or an errno. */
int child_plan(ChildPlan *plan, char *spec, size_t bytes, bool named);

/* The pid of a new session running the plan's program, or -1 with *out_fault filled and
 * no process left. All signals must be blocked. */
pid_t child_start(const ChildPlan *plan, ChildFault *out_fault);

/* Whether a process can be born in this cgroup here. */
int child_probe(int cgroup_fd);

#endif
