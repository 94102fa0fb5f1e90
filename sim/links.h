/* SPDX-License-Identifier: Apache-2.0 */
/* links.h - jobs that have to do with each other in the simulation.
 *
 * L1  no job that waits for others is freed, or starts, before each of them has once
 * ended as asked (unless an operator's retry sets the conditions aside, which only one
 * that asks for it does); L2  none is cancelled
 * for its conditions while all its parents are still to end; L3  what stores count of a
 * group is what they hold of it; L4  a job that was cancelled comes back by itself only
 * if one that it waited for was retried. That none waits for ever once it could run is
 * I5: in the calm nobody helps them. */
#ifndef SIM_LINKS_H
#define SIM_LINKS_H

#include "sim/machine.h"

/* Gives a job that is about to be sent some parents, or a group. */
void links_choose(World *world, Submission *submission, Job *job);

/* Before an operation on a known job is applied. */
void links_decided(World *world, const Job *job, const Op *op);

/* Whether a job that waits for others may move so, asked by no one. */
bool links_may_move(World *world, const Job *job, const Op *op);

void links_check_groups(World *world, Machine *machine);

#endif
