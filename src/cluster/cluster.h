/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - this daemon among others on one store: its lease, and what it hears.
 *
 * A thread with a connection of its own renews the lease five times within it, reads who
 * else is there and which definitions changed, and waits for hints of the store. The loop
 * takes what it found with each turn. What runs here has a deadline with the launcher: it
 * ends before the lease does, whatever becomes of the daemon. A daemon that finds itself
 * fenced, or that has decided about jobs which are another's, begins anew (daemon_run
 * returns DAEMON_AGAIN). On a store of its own there is none of this. */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include "core/effect.h"
#include "engine/daemon.h"
#include "store/store.h"

#define DAEMON_AGAIN (-1)

typedef struct ClusterLink ClusterLink;

/* Before the journal is opened: number and epoch of this node. Nothing on a store that is
 * not shared. */
MUST_CHECK Err cluster_begin(Daemon *daemon, Error *why);

/* Behind its tail: joins, if the node is new or was fenced. */
MUST_CHECK Err cluster_join(Daemon *daemon, Error *why);

void cluster_start(Daemon *daemon); /* the thread */
void cluster_stop(Daemon *daemon);  /* it ends; the lease goes on */

/* After the keeper. A node that was told to stop, of which nothing is left running and
 * all is in the store, gives its lease back: others take over at once what waits here.
 * Else they wait for the end of the lease: until then the next start finds all its own.
 */
void cluster_close(Daemon *daemon);

/* Told to stop: whether it would give its lease back, or has given away what waits here
 * as far as others take it. */
bool cluster_may_leave(const Daemon *daemon);

uint32_t cluster_owner(const Daemon *daemon);  /* for loads; 0: not shared */
void cluster_collect(Daemon *daemon, Now now); /* what it found becomes events */
void cluster_refused(Daemon *daemon);          /* it has decided what was not its own */
bool cluster_must_restart(const Daemon *daemon);

/* Whoever does not find a job that another node accepted: see read_barrier.h. */
void cluster_settle(Daemon *daemon, Call *call);
bool cluster_awaits(const Daemon *daemon); /* someone does: it looks often */

/* Whether an attempt may begin now, and until when at first: the launcher gets that
 * together with the start, so that it needs no daemon to end it in time. 0: no lease. */
bool cluster_may_start(const Daemon *daemon);
int64_t cluster_lease_boot(const Daemon *daemon);

/* The store has not answered for a while: only jobs are accepted (engine_accepts), all
 * else is refused at once instead of being kept waiting. */
bool cluster_silent(const Daemon *daemon);

#endif
