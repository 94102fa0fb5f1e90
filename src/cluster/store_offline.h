/* SPDX-License-Identifier: Apache-2.0 */
/* store_offline.h - the store of a node that is cut off from its own: it has what a
 * snapshot has (definitions, what tenants use, how far it was), and does not answer
 * anything else. So the node works as one that loses its store while it runs. */
#ifndef CLUSTER_STORE_OFFLINE_H
#define CLUSTER_STORE_OFFLINE_H

#include "cluster/snapshot.h"

/* Borrows the snapshot, which may get further ids and uses before it is asked. */
Store *store_away_new(const Snapshot *snapshot);

#endif
