/* SPDX-License-Identifier: Apache-2.0 */
/* rollup.h - statistics in the shared store: each node keeps its own rows, which
 * are summed when they are read, so that nodes do not wait for each other. */
#ifndef STORE_POSTGRES_ROLLUP_H
#define STORE_POSTGRES_ROLLUP_H

#include "store/postgres/postgres.h"

/* Adds what the commit under way has counted. */
void pgrollups_save(Postgres *pg);

Err postgres_rollups(Store *store, int64_t from_ms, RollupSink *sink, void *context,
                     Error *why);

#endif
