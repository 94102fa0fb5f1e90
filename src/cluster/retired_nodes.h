/* SPDX-License-Identifier: Apache-2.0 */
/* retired_nodes.h - nodes that are gone for good, as someone has said or after a long
 * time.
 *
 * A definition under the node's sysid with the epoch it had. Its row stays, so that no
 * other node ever gets its number (its jobs' ids have it), but it is shown no more and no
 * alert tells of it. A node that comes back all the same joins anew: its epoch is another
 * then. */
#ifndef CLUSTER_RETIRED_NODES_H
#define CLUSTER_RETIRED_NODES_H

#include "store/store.h"

#define RETIRED_NODES_TABLE "node_gone"

typedef struct RetiredNodes RetiredNodes;

RetiredNodes *retired_nodes_new(void);
void retired_nodes_free(RetiredNodes *gone); /* NULL does nothing */

/* A DefinitionSink; one without a value is taken back. */
void retired_nodes_defined(void *gone, const Definition *definition);
bool retired_nodes_has(const RetiredNodes *gone, Slice sysid, uint64_t epoch);
bool retired_nodes_knows(const RetiredNodes *gone,
                         Slice sysid); /* whatever its epoch was */

void retired_nodes_value(Buf *out, uint64_t epoch); /* of such a definition */

/* Whether jobs are still the node's: then its turn is not over. */
MUST_CHECK Err retired_nodes_owns(Store *store, uint32_t number, bool *out, Error *why);

#endif
