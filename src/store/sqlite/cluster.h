/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - nodes that share an embedded store: see cluster.h.
 *
 * In practice there is one node, which never renews a lease: then nothing here costs
 * more than a look at a flag. */
#ifndef STORE_SQLITE_CLUSTER_H
#define STORE_SQLITE_CLUSTER_H

#include "store/sqlite/sqlite.h"

/* In a transaction: whether a node has joined, and whether it is fenced. */
bool sqlite_joined(Sqlite *sqlite, uint32_t node);
bool sqlite_fenced(Sqlite *sqlite, uint32_t node);

/* MAIL, TAKEN, FENCE, TAKE, JOIN */
bool sqlite_home_free(Sqlite *sqlite, const Op *op, uint32_t node);
OpResult sqlite_cluster_op(Sqlite *sqlite, const Op *op, uint32_t node);

void sqlite_defined(Db *db, const Op *op, uint32_t node);
void sqlite_inbox(Sqlite *sqlite, const Load *load, Loaded *out);

Err sqlite_renew(Store *store, const Renewal *renewal, NodeRow *out, Error *why);
Err sqlite_nodes(Store *store, NodeSink *sink, void *context, Error *why);
Err sqlite_changes(Store *store, uint64_t after, ChangeSink *sink, void *context,
                   Error *why);

#endif
