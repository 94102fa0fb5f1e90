/* SPDX-License-Identifier: Apache-2.0 */
/* pause.h - part of the launcher: all processes of an attempt stand still, or go on.
 *
 * Every process gets SIGSTOP, whatever group and session it is in. In a cgroup none
 * escapes: it is frozen while its processes are told. Elsewhere they are known by group,
 * session and mark, and looked for until no new one is found. */
#ifndef LAUNCH_PAUSE_H
#define LAUNCH_PAUSE_H

#include "launch/tree.h"

void tree_pause(Tree *tree, TreeJob *job);

/* Does nothing to a tree that was never paused. */
void tree_go_on(Tree *tree, TreeJob *job);

#endif
