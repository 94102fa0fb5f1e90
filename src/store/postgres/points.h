/* SPDX-License-Identifier: Apache-2.0 */
/* points.h - what a commit reads first: the points of its nodes, locked, and all
 * jobs that its operations name. */
#ifndef STORE_POSTGRES_POINTS_H
#define STORE_POSTGRES_POINTS_H

#include "store/postgres/postgres.h"

void pgpoints_lock(Postgres *pg, const Batch *batches, size_t count);
void pgpoints_fetch(Postgres *pg, const Batch *batches, size_t count);
void pgpoints_save(Postgres *pg);

#endif
