/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - jobs out of the file, each load by its own index. */
#ifndef STORE_SQLITE_LOAD_H
#define STORE_SQLITE_LOAD_H

#include "store/sqlite/row.h"
#include "store/sqlite/sqlite.h"

MUST_CHECK Err sqlite_load(Store *store, const Load *load, Loaded *out, Error *why);

/* The payload of a job that has it in its own table, copied into the arena. */
Slice sqlite_payload(Sqlite *sqlite, JobId id, Arena *arena);

/* One job by id, payload included, wherever it is; false when there is none. */
bool sqlite_find(Sqlite *sqlite, JobId id, Arena *arena, RowColumns *out);

#endif
