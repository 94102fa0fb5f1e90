/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - nodes that share the store: leases, fences, mail, changes of
 * definitions. See cluster.h for the rules.
 *
 * A commit holds its node's row in share, so a fence waits for commits under way and
 * those behind it see it. Renewals do not wait for either. */
#ifndef STORE_POSTGRES_CLUSTER_H
#define STORE_POSTGRES_CLUSTER_H

#include "store/postgres/postgres.h"

bool pgcluster_joined(Postgres *pg, uint32_t node);
bool pgcluster_fenced(Postgres *pg, uint32_t node);
void pgcluster_forget(Postgres *pg); /* what it knows of leases */
void pgcluster_reset(Postgres *pg);  /* at the end of a commit */

/* A hint to the nodes that the commit has something for. */
void pgcluster_notify(Postgres *pg);

/* MAIL, TAKEN, FENCE, TAKE, JOIN. */
bool pgcluster_home_free(Postgres *pg, const Op *op, uint32_t node);
OpResult pgcluster_op(Postgres *pg, const Op *op, uint32_t node);

/* A definition was written or removed. */
void pgcluster_defined(Postgres *pg, const Op *op, uint32_t node);

void pgcluster_inbox(Postgres *pg, const Load *load, Loaded *out);

Err postgres_renew(Store *store, const Renewal *renewal, NodeRow *out, Error *why);
Err postgres_nodes(Store *store, NodeSink *sink, void *context, Error *why);
Err postgres_changes(Store *store, uint64_t after, ChangeSink *sink, void *context,
                     Error *why);

#endif
