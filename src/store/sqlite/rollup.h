/* SPDX-License-Identifier: Apache-2.0 */
/* rollup.h - the statistics of a commit on their way into the file, and out. */
#ifndef STORE_SQLITE_ROLLUP_H
#define STORE_SQLITE_ROLLUP_H

#include "store/sqlite/sqlite.h"

/* Writes what the commit under way has summed up, and coarsens what is old when it is the
 * first of an hour. Inside its transaction. */
void sqlite_rollups_save(Sqlite *sqlite);

Err sqlite_rollups(Store *store, int64_t from_ms, RollupSink *sink, void *context,
                   Error *why);

#endif
