/* SPDX-License-Identifier: Apache-2.0 */
/* remote_order.h - orders to processors of whatever node (document 004's JobManager): by
 * name to one of this node, by NAME@NODE or the id that `identify` gives to one of any
 * node that shares the store. The other daemon is written to (EVENT_POST), its pipeline
 * does it, and the answer comes back the same way. A list is asked of all nodes at once.
 *
 * A letter may be lost with the node it went to: who waits is then told that the node
 * does not answer, and may ask again; every signal can be repeated. Loop thread. */
#ifndef CLUSTER_REMOTE_ORDER_H
#define CLUSTER_REMOTE_ORDER_H

#include "cluster/neighbours.h"
#include "cluster/remote_query.h"
#include "core/effect.h"
#include "core/share/peer.h"
#include "engine/call.h"

typedef struct RemoteOrder RemoteOrder;

RemoteOrder *remote_order_new(Daemon *daemon);
void remote_order_refuse(RemoteOrder *remote_order); /* no more: whoever waits is told */
void remote_order_free(RemoteOrder *remote_order);   /* after the pipeline */

/* A call with an order; answered in it. */
void remote_order_take(Daemon *daemon, Call *call);

/* What came from another daemon. */
void remote_order_letter(Daemon *daemon, const Effect *effect);

/* Who shares the store, as last heard. */
void remote_order_peers(Daemon *daemon, const Peer *peers, size_t count);
const Neighbours *remote_order_neighbours(const Daemon *daemon);
RemoteQuery *remote_order_afar(const Daemon *daemon); /* all other questions to them */

/* A letter to the daemon of another node; while events are collected. */
void remote_order_post(Daemon *daemon, uint32_t to, Slice packed);

/* Answers become letters; who has waited for too long is told. */
void remote_order_collect(Daemon *daemon, Now now);

/* What waits at the processors of this node, for the others; see PeerFacts. */
Slice remote_order_loads(const Daemon *daemon);

#endif
