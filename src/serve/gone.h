/* SPDX-License-Identifier: Apache-2.0 */
/* gone.h - nodes that are gone for good, as someone has said or after a long time.
 *
 * A definition under the node's sysid with the epoch it had. Its row stays, so that no
 * other node ever gets its number (its jobs' ids have it), but it is shown no more and no
 * alert tells of it. A node that comes back all the same joins anew: its epoch is another
 * then. */
#ifndef SERVE_GONE_H
#define SERVE_GONE_H

#include "store/store.h"

#define GONE_TABLE "node_gone"

typedef struct Gone Gone;

Gone *gone_new(void);
void gone_free(Gone *gone); /* NULL does nothing */

/* A DefinitionSink; one without a value is taken back. */
void gone_defined(void *gone, const Definition *definition);
bool gone_has(const Gone *gone, Slice sysid, uint64_t epoch);
bool gone_knows(const Gone *gone, Slice sysid); /* whatever its epoch was */

void gone_value(Buf *out, uint64_t epoch); /* of such a definition */

/* Whether jobs are still the node's: then its turn is not over. */
MUST_CHECK Err gone_owns(Store *store, uint32_t number, bool *out, Error *why);

#endif
