/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - orders to processors of whatever node (document 004's JobManager): by name to
 * one of this node, by NAME@NODE or the id that `identify` gives to one of any node that
 * shares the store. The other daemon is written to (EVENT_POST), its pipeline does it,
 * and the answer comes back the same way. A list is asked of all nodes at once.
 *
 * A letter may be lost with the node it went to: who waits is then told that the node
 * does not answer, and may ask again; every signal can be repeated. Loop thread. */
#ifndef SERVE_RELAY_H
#define SERVE_RELAY_H

#include "core/effect.h"
#include "core/peer.h"
#include "serve/afar.h"
#include "serve/door.h"
#include "serve/neighbours.h"

typedef struct Relay Relay;

Relay *relay_new(Daemon *daemon);
void relay_refuse(Relay *relay); /* no more: whoever waits is told */
void relay_free(Relay *relay);   /* after the pipeline */

/* A call with an order; answered in it. */
void relay_take(Daemon *daemon, Call *call);

/* What came from another daemon. */
void relay_letter(Daemon *daemon, const Effect *effect);

/* Who shares the store, as last heard. */
void relay_peers(Daemon *daemon, const Peer *peers, size_t count);
const Neighbours *relay_neighbours(const Daemon *daemon);
Afar *relay_afar(const Daemon *daemon); /* all other questions to them */

/* A letter to the daemon of another node; while events are collected. */
void relay_post(Daemon *daemon, uint32_t to, Slice packed);

/* Answers become letters; who has waited for too long is told. */
void relay_collect(Daemon *daemon, Now now);

/* What waits at the processors of this node, for the others; see PeerFacts. */
Slice relay_loads(const Daemon *daemon);

#endif
