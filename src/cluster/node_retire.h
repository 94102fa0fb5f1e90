/* SPDX-License-Identifier: Apache-2.0 */
/* node_retire.h - nodes that were lost long ago are gone for good (retired_nodes.h). */
#ifndef CLUSTER_NODE_RETIRE_H
#define CLUSTER_NODE_RETIRE_H

#include "core/share/peer.h"
#include "engine/call.h"

/* If this node controls: says so of one, once it has nothing left. Loop thread. */
void forget_lost(Daemon *daemon, const Peer *peer);

#endif
