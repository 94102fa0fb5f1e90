/* SPDX-License-Identifier: Apache-2.0 */
/* relations.h - rows beside jobs: who waits for whom, groups, unique keys.
 *
 * Called with every job that is added, changed or removed in a transaction; jobs that
 * have nothing of it, in a store where none waits for another, cost one comparison. */
#ifndef STORE_SQLITE_RELATIONS_H
#define STORE_SQLITE_RELATIONS_H

#include "store/sqlite/unit_of_work.h"

/* A new job. Jobs held before may have been written since. */
void links_added(Sqlite *sqlite, const Job *job);

/* `op` has made `held` out of a job that was in state `was` with `flags`. */
void links_changed(Sqlite *sqlite, Held *held, const Op *op, const Job *was);

/* Before held_remove. */
void links_removed(Sqlite *sqlite, Held *held);

/* LOAD_AFTER: ids of jobs one of whose parents has ended, each once, at most `limit`
 * rows looked at; *out_more: there are others. */
typedef struct IdList {
    JobId *items;
    size_t count;
    size_t capacity;
} IdList;
void links_ended(Sqlite *sqlite, uint32_t limit, IdList *out, bool *out_more);

/* Where a job stands with what it waits for. */
AfterCount links_after(Sqlite *sqlite, JobId child, Arena *arena);

/* Whether any job waits for another. */
bool links_any(Sqlite *sqlite);

/* Who holds a key at wall_ms; 0: no one. */
JobId links_holder(Sqlite *sqlite, Slice tenant, Slice key, int64_t wall_ms);

Err sqlite_groups(Store *store, const GroupCount *one, GroupSink *sink, void *context,
                  Error *why);

#endif
