/* SPDX-License-Identifier: Apache-2.0 */
/* requests.h - clients of the cluster, and what they were told. */
#ifndef SIM_CLUSTER_REQUESTS_H
#define SIM_CLUSTER_REQUESTS_H

#include "sim/cluster/cluster.h"

void requests_step(Cluster *cluster); /* someone asks something of some node */
void requests_sent(Cluster *cluster, const Outbox *out, uint32_t node);
void request_answered(Cluster *cluster, const Effect *effect, uint32_t node);
void requests_look(Cluster *cluster); /* at the store, after each commit: K2, K4 */
uint64_t requests_owed(Cluster *cluster, uint32_t node); /* jobs that it owes now */
void requests_complete(Cluster *cluster); /* asks for the job that completes the group */
bool requests_done(Cluster *cluster); /* all that was acknowledged has ended: K1, K6 */
void requests_unfinished(Cluster *cluster); /* which are not, for people */
void requests_free(Cluster *cluster);

#endif
