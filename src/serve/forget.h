/* SPDX-License-Identifier: Apache-2.0 */
/* forget.h - nodes that were lost long ago are gone for good (gone.h). */
#ifndef SERVE_FORGET_H
#define SERVE_FORGET_H

#include "core/peer.h"
#include "serve/door.h"

/* If this node controls: says so of one, once it has nothing left. Loop thread. */
void forget_lost(Daemon *daemon, const Peer *peer);

#endif
