/* SPDX-License-Identifier: Apache-2.0 */
/* processes.h - what runs on a member, and what it is told of it. */
#ifndef SIM_CLUSTER_PROCESSES_H
#define SIM_CLUSTER_PROCESSES_H

#include "sim/cluster/cluster.h"

void process_start(Member *member, JobId id, uint32_t attempt);
void process_signal(Member *member, JobId id, uint32_t attempt);
void processes_step(Member *member);
void processes_list(Member *member); /* a new daemon asks what there is */
void processes_end(Member *member);  /* all of them, and no one is told */

#endif
