/* SPDX-License-Identifier: Apache-2.0 */
/* definitions.h - what the store of the cluster defines, and how nodes hear of it. */
#ifndef SIM_CLUSTER_DEFINITIONS_H
#define SIM_CLUSTER_DEFINITIONS_H

#include "sim/cluster/cluster.h"

void member_definitions(Cluster *cluster); /* what all nodes find in the store */
void member_changes_begin(Member *member); /* before it reads what is defined */
void member_tell_changes(Member *member);

#endif
