/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - part of the launcher: all processes of an attempt, and none of another.
 *
 * Where a version 2 cgroup can be made, each place in the launcher's table has one, used
 * again and again (making one costs more than starting a process). Elsewhere a tree is
 * its process group and whatever of it the launcher inherits as subreaper, known by
 * session or by the attempt's mark in the environment.
 *
 * A pid is only ever signalled while its process is our child and not yet waited for,
 * or through a pidfd after a look at who it is: numbers are used again. */
#ifndef LAUNCH_TREE_H
#define LAUNCH_TREE_H

#include "launch/protocol.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct TreeCgroup {
    int dir; /* 0: not made yet */
    int events;
    uint32_t life; /* part of its name: which one of this place it is */
    bool killed;   /* never to be used again */
} TreeCgroup;

typedef struct Tree {
    bool has_cgroups;
    int base;            /* directory of our cgroup */
    char path[PATH_MAX]; /* of the same */
    char name[48];       /* pawl-<device>-<inode> of the data directory */
    int pids;            /* file LAUNCH_PIDS */
    TreeCgroup cgroups[LAUNCH_ATTEMPTS_MAX];
} Tree;

/* One attempt's processes. */
typedef struct TreeJob {
    uint32_t place; /* in the launcher's table */
    pid_t pid;      /* of its main process, which leads session and group */
    bool reaped;    /* the main process has been waited for: its number is not ours */
    bool paused;    /* its processes were stopped; see pause.h */
    char mark[LAUNCH_MARK_BYTES];
} TreeJob;

/* Called in the data directory with the lock held: kills what an earlier launcher of
 * this directory left behind, then finds out about cgroups. Returns 0 or an errno. */
int tree_open(Tree *tree);
void tree_close(Tree *tree);

/* Descriptor for child_start; -1 without cgroups. -2 when the place cannot be used now.
 */
int tree_cgroup(Tree *tree, uint32_t place);

/* Remembers or forgets a job for the launcher after us. */
void tree_note(Tree *tree, const TreeJob *job, int64_t before_ms, int64_t after_ms);
void tree_unnote(Tree *tree, const TreeJob *job);

/* Sends a signal to its process group; SIGSTOP, SIGCONT and SIGKILL to all of it. */
void tree_signal(Tree *tree, TreeJob *job, int signal_number);

/* Kills all that is left; true if nothing was. `alone`: no other job is running, so
 * that every process we inherited is this one's. */
bool tree_empty(Tree *tree, const TreeJob *job, bool alone);

/* For pause.c: writes into a file of a cgroup. */
void tree_put_word(int dir, const char *file, const char *word);

/* Tells a main process of the table from one that was inherited; by launcher.c. */
bool tree_is_main(pid_t pid);

#endif
