/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - part of the launcher: one process out of a LaunchSpec.
 *
 * The launcher does not wait for it: the new process has a copy of its memory and says
 * through a pipe that its program runs, or exactly what failed. libc only, no heap. */
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
    const char *tenant; /* with user */
    const char *user;   /* NULL: our own account */
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

/* The pid of a new session that is to run the plan's program, with the read end of what
 * it tells in *out_told; or -1 with *out_fault filled. All signals must be blocked. */
pid_t child_start(const ChildPlan *plan, int *out_told, ChildFault *out_fault);

typedef enum ChildWord {
    CHILD_BEGINS, /* nothing yet: its account, working directory or program is slow */
    CHILD_RUNS,   /* its program runs, or it is dead */
    CHILD_FAILED, /* the fault is filled; the process is gone, or will be at once */
} ChildWord;

/* Does not wait. */
ChildWord child_hear(int told, ChildFault *out_fault);

/* Whether a process can be born in this cgroup here. */
int child_probe(int cgroup_fd);

#endif
