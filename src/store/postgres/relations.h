/* SPDX-License-Identifier: Apache-2.0 */
/* relations.h - rows beside jobs: who waits for whom, groups, unique keys.
 *
 * Called with every job that is added, changed or removed in a transaction. What is to be
 * done is gathered in order and sent at its end, behind the rows of the jobs: a parent's
 * end and a child that is just added to wait for it meet at the parent's row. Jobs that
 * have nothing of it, in a store where none waits for another, cost a place in one
 * array. */
#ifndef STORE_POSTGRES_RELATIONS_H
#define STORE_POSTGRES_RELATIONS_H

#include "store/postgres/unit_of_work.h"

void pglinks_added(Postgres *pg, const Job *job);
void pglinks_changed(Postgres *pg, PgHeld *held, const Op *op, const Job *was);
void pglinks_removed(Postgres *pg, PgHeld *held);
void pglinks_send(Postgres *pg);
void pglinks_forget(Postgres *pg);
void pglinks_done(Postgres *pg);

/* Where a job stands with what it waits for. */
AfterCount pglinks_after(Postgres *pg, JobId child, Arena *arena);

/* Whether any job waits for another. */
bool pglinks_any(Postgres *pg);

/* Who holds a key at wall_ms; 0: no one. */
JobId pglinks_holder(Postgres *pg, Slice tenant, Slice key, int64_t wall_ms);

Err postgres_groups(Store *store, const GroupCount *one, GroupSink *sink, void *context,
                    Error *why);

#endif
