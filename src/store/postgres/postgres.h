/* SPDX-License-Identifier: Apache-2.0 */
/* postgres.h - the shared store, as its own parts see it. */
#ifndef STORE_POSTGRES_POSTGRES_H
#define STORE_POSTGRES_POSTGRES_H

#include "store/point.h"
#include "store/postgres/row.h"
#include "store/postgres/row_cache.h"
#include "store/postgres/watch.h"
#include "store/rollup.h"

#define PG_WENT_BACK "the server has gone back to an earlier state"

/* Jobs that the transaction under way has read or made: see postgres/unit_of_work.h. */
typedef struct PgHeld PgHeld;
typedef struct PgUnitOfWork {
    Map by_id;
    PgHeld **items; /* in the order of their first touch */
    size_t count;
    size_t capacity;
    Arena arena;
} PgUnitOfWork;

/* Rows that the transaction under way will write, many at once. */
typedef struct PgOutgoing {
    Buf fresh[PLACES];       /* jobs that are not in this table yet: may go at any time */
    Buf jobs[PLACES];        /* others: behind the removals */
    PgArray removed[PLACES]; /* ids */
    PgChanges changes;
    Buf payloads;
    Buf results;
    PgArray payloads_removed;
    PgArray results_removed;
    PgArray attempts_removed;
    PgArray bookings_removed;
    PgArray attempts[17]; /* columns of pawl.attempt */
    PgArray bookings[5];
} PgOutgoing;

/* Rows beside jobs: see postgres/relations.h. */
typedef struct PgLinks {
    PgArray waits[4];   /* kind, a, b, c of pawl.waits_change */
    bool adds_waits;    /* some of `waits` say that a job waits for another */
    PgArray uniques[6]; /* of pawl.uniques_change */
    struct PgGroup *groups;
    size_t group_count;
    size_t group_capacity;
    Arena arena;
} PgLinks;

/* Idempotency keys of the commit under way; which were new is known at its end. */
typedef struct PgKeys {
    PgArray columns[5];
    struct PgKeyOp *ops;
    size_t count;
    size_t capacity;
} PgKeys;

/* The row of the node whose batch is looked at, as far as it guards. */
typedef struct PgLease {
    bool known;
    uint32_t node;
    bool there;
    uint64_t epoch;
    bool fenced;
} PgLease;

typedef struct Postgres {
    Store store; /* must be first */
    PgLink link;
    PgParams params;
    PgCatalog catalog;
    bool read_only;
    bool stale; /* the catalog must be read anew */
    PgUnitOfWork held;
    PgKnown known;
    PgOutgoing out;
    PgLinks links;
    PgKeys keys;
    PgLease lease;
    PgHints hints;
    PgWatch watch;
    Points points;    /* of the nodes in the commit under way */
    Rollups rollups;  /* likewise */
    ReadPoint seen;   /* the last read point that this handle knows of */
    uint32_t node;    /* whose commit it is */
    uint32_t defined; /* changes of definitions: cluster_trims */
    uint64_t agreed;  /* the connection whose server was seen to have it */
    int64_t folded_hour;
    bool archive_shrank;     /* the commit under way removes jobs that have ended */
    int64_t parts_looked_ms; /* when empty parts of the archive were last looked for */
    int64_t drop_due_ms[PLACES]; /* of OP_DROP in the commit under way, by family */
    bool swept;                  /* there was an OP_SWEPT in it */
    Buf scratch;
    int64_t scan_ms; /* how long a page of a query may look; tests make it long */
    uint64_t luck;   /* for waiting times */
    const struct MoveTable *moved; /* whose rows are on their way: see moving.h */
} Postgres;

static inline Postgres *postgres_of(Store *store)
{
    return (Postgres *)(void *)store;
}

/* url: as libpq has it, postgresql://... */
MUST_CHECK Err store_postgres_open(const char *url, const StoreOptions *options,
                                   Store **out, Error *why);

/* Begins a reading transaction with a catalog that is true in it. */
void postgres_begin_read(Postgres *pg);
MUST_CHECK Err postgres_end_read(Postgres *pg, const char *doing, Error *why);

#endif
