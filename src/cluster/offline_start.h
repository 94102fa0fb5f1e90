/* SPDX-License-Identifier: Apache-2.0 */
/* offline_start.h - a node that is started while its shared store does not answer.
 *
 * One that has worked on the store before begins all the same: it accepts jobs into its
 * journal by what its snapshot says (snapshot.h, store_offline.h), as a node does that
 * loses the store while it runs. It has no lease: so it runs nothing, takes nothing over,
 * and leaves what the launcher has to the end of the lease it was given. When the store
 * answers it begins anew, as a node that was fenced does, and only then brings in what it
 * accepted.
 *
 * What must hold:
 *   - ids are larger than any that this node has given: what the snapshot does not know
 *     is in the journal behind it, which is read for it; where that is not sure the node
 *     waits for its store;
 *   - nothing but what came through a door is decided meanwhile. */
#ifndef CLUSTER_OFFLINE_START_H
#define CLUSTER_OFFLINE_START_H

#include "cluster/snapshot.h"
#include "engine/daemon.h"
#include "journal/journal.h"

typedef struct OfflineStart {
    Snapshot snapshot;
    bool ids_unsure; /* until an id is found in the journal */
} OfflineStart;

/* Opens the shared store, or makes this a node that is cut off (daemon->cut_off). */
MUST_CHECK Err offline_start_open_store(Daemon *daemon, Error *why);

/* Reads what the journal has behind the snapshot, and leaves it to be read again. */
MUST_CHECK Err offline_start_read_tail(OfflineStart *offline_start, Journal *journal,
                                       Error *why);

/* Tries the store once: whether it answers. On a thread of its own. What stays wrong is
 * told once; *inout_said: what the last try came to, ERR_OK before the first. */
bool offline_start_is_over(const Daemon *daemon, Err *inout_said);

void offline_start_free(OfflineStart *offline_start);

#endif
