/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - asks the store now and then what tenants have, while one of them has a limit
 * that the node cannot see to alone (node_wants_uses). */
#ifndef CLUSTER_USAGE_H
#define CLUSTER_USAGE_H

#include "engine/call.h"
#include "store/store.h"

typedef struct Usage Usage;

Usage *usage_new(Daemon *daemon);
void usage_free(Usage *usage); /* NULL does nothing */

/* Before the first turn: what there is. */
MUST_CHECK Err usage_load(Daemon *daemon, Store *store, Error *why);

/* Each turn. Loop thread. */
void usage_look(Usage *usage, Now now);

#endif
