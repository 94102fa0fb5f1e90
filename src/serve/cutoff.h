/* SPDX-License-Identifier: Apache-2.0 */
/* cutoff.h - a node that is started while its shared store does not answer.
 *
 * One that has worked on the store before begins all the same: it accepts jobs into its
 * journal by what its snapshot says (snapshot.h, away.h), as a node does that loses the
 * store while it runs. It has no lease: so it runs nothing, takes nothing over, and
 * leaves what the launcher has to the end of the lease it was given. When the store
 * answers it begins anew, as a node that was fenced does, and only then brings in what it
 * accepted.
 *
 * What must hold:
 *   - ids are larger than any that this node has given: what the snapshot does not know
 *     is in the journal behind it, which is read for it; where that is not sure the node
 *     waits for its store;
 *   - nothing but what came through a door is decided meanwhile. */
#ifndef SERVE_CUTOFF_H
#define SERVE_CUTOFF_H

#include "journal/journal.h"
#include "serve/daemon.h"
#include "serve/snapshot.h"

typedef struct CutOff {
    Snapshot snapshot;
    bool ids_unsure; /* until an id is found in the journal */
} CutOff;

/* Opens the shared store, or makes this a node that is cut off (daemon->cut_off). */
MUST_CHECK Err cutoff_open_store(Daemon *daemon, Error *why);

/* Reads what the journal has behind the snapshot, and leaves it to be read again. */
MUST_CHECK Err cutoff_read_tail(CutOff *cut_off, Journal *journal, Error *why);

/* Tries the store once: whether it answers. On a thread of its own. What stays wrong is
 * told once; *inout_said: what the last try came to, ERR_OK before the first. */
bool cutoff_is_over(const Daemon *daemon, Err *inout_said);

void cutoff_free(CutOff *cut_off);

#endif
