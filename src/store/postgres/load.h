/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - jobs out of the shared store, each load by its own index. */
#ifndef STORE_POSTGRES_LOAD_H
#define STORE_POSTGRES_LOAD_H

#include "store/postgres/postgres.h"

MUST_CHECK Err postgres_load(Store *store, const Load *load, Loaded *out, Error *why);

/* The payload of a job that has it in its own table, copied into the arena. */
Slice postgres_payload(Postgres *pg, JobId id, Arena *arena);

/* One job by id, payload included, wherever it is; false when there is none. */
bool postgres_find(Postgres *pg, JobId id, Arena *arena, RowColumns *out);

#endif
