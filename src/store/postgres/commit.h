/* SPDX-License-Identifier: Apache-2.0 */
/* commit.h - batches into the shared store, in one transaction.
 *
 * The points of the nodes are locked first: a commit that is repeated waits for the one
 * whose answer was lost, and then knows by its number whether that happened. All jobs
 * that operations name are read together, changed in memory by the same rules as in every
 * store (row.h), and written together. */
#ifndef STORE_POSTGRES_COMMIT_H
#define STORE_POSTGRES_COMMIT_H

#include "store/postgres/postgres.h"

MUST_CHECK Err postgres_commit(Store *store, const Batch *batches, size_t count,
                               OpResult *out_results, Error *why);
void postgres_commit_done(Postgres *pg);

#endif
