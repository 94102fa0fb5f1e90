/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite.h - the embedded store, as its own parts see it. */
#ifndef STORE_SQLITE_SQLITE_H
#define STORE_SQLITE_SQLITE_H

#include "store/rollup.h"
#include "store/sqlite/catalog.h"
#include "store/sqlite/db.h"
#include "store/sqlite/reserve.h"

/* Jobs that the transaction under way has touched and not yet written: see
 * sqlite/commit.h. */
typedef struct Held Held;
typedef struct UnitOfWork {
    Map by_id;
    Held **items; /* in the order of their first touch */
    size_t count;
    size_t capacity;
    Arena arena;
    JobId last_read; /* out of the live table: see held_read */
} UnitOfWork;

typedef struct Sqlite {
    Store store; /* must be first */
    Db db;
    Catalog catalog;
    bool stale; /* the catalog must be read anew */
    bool read_only;
    UnitOfWork held;
    bool waits_known; /* whether some_wait is true to the file */
    bool some_wait;   /* a job may wait for another */
    bool nodes_known; /* whether some_nodes is true to the file */
    bool some_nodes;  /* nodes have renewed a lease here: see sqlite/cluster.h */
    Buf scratch;
    Rollups rollups;       /* of the commit under way */
    int64_t folded_hour;   /* statistics older than it have been coarsened */
    int64_t scan_ms;       /* how long a page of a query may look; tests make it short */
    Reserve reserve;       /* none if read_only */
    struct TermSets *sets; /* of the query under way: see terms.h */
} Sqlite;

static inline Sqlite *sqlite_of(Store *store)
{
    return (Sqlite *)(void *)store;
}

MUST_CHECK Err store_sqlite_open(const char *path, const StoreOptions *options,
                                 Store **out, Error *why);

/* Begins a reading transaction with a catalog that is true in it. */
void sqlite_begin_read(Sqlite *sqlite);

#endif
