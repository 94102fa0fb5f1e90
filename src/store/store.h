/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - the one way to jobs at rest: a table of functions, several kinds behind it.
 *
 * Kinds: `sqlite` (embedded, one owner), `memory` (tests and simulation), `postgres`
 * (shared); `trace` and `fault` wrap any of them. All pass one conformance suite. A Store
 * is used by one thread at a time; readers of lists open their own, read-only one.
 *
 * The rules behind the interface:
 *   - commit applies whole batches in one transaction, read points with them. After an
 *     error nothing of it has happened, or (ERR_UNAVAILABLE on a shared store) no one
 *     knows: committing the same batch numbers again is always right.
 *   - a batch with a read point has happened if the stored one is not behind it; one
 *     without, if its number (not 0) is not above the last of its node. It then changes
 *     nothing and gives the same results again: those of the last commit exactly, of
 *     older ones OP_APPLIED for all.
 *   - every step costs what it returns, never what is stored.
 *   - a store never decides: no clock, no scheduling. It guards and remembers. What
 *     operations do to a job, and in which order guards are asked, is in store/row.h. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "core/batch.h"
#include "core/query.h"
#include "core/tenant.h"
#include "store/cluster.h"
#include "store/load.h"
#include "store/statistics.h"

typedef struct Store Store;

typedef struct StoreOptions {
    bool read_only;      /* a second handle for lists and searches */
    bool durable;        /* each commit reaches stable storage before it returns; without
                            it the journal is the durable part (see store_sync) */
    const char *cluster; /* identity written at creation, checked after; NULL: any */
    int64_t answer_ms;   /* a server that is silent for so long is given up; 0: default */
} StoreOptions;

#define STORE_TABLE_NODE "node" /* not for OP_PUT */

typedef struct LaneCount { /* how many jobs of a lane are in a state */
    Slice tenant;
    Slice queue;
    bool pull;
    JobState state;
    uint64_t count;
} LaneCount;

typedef struct GroupCount { /* how many jobs of a group are in a state */
    Slice tenant;
    Slice name;
    JobState state;
    uint64_t count;
} GroupCount;

/* Who takes the jobs of a query, one at a time; each is valid only during the call. */
typedef struct JobSink {
    void (*take)(void *context, const Job *job);
    void *context;
} JobSink;
typedef struct DefinitionName {
    Slice table;
    Slice tenant;
    Slice key;
} DefinitionName;
typedef void DefinitionSink(void *context, const Definition *definition);
typedef void CountSink(void *context, const LaneCount *count);
typedef void GroupSink(void *context, const GroupCount *count);
typedef void UseSink(void *context, const TenantUse *use);

typedef struct StoreKind {
    const char *name;
    bool shared; /* other nodes may change it: claims can be lost */

    void (*close)(Store *store);

    /* One transaction. out_results, if not NULL, gets one OpResult per op of all batches
     * in order. ERR_CONFLICT: a shared store has gone back behind what it had for this
     * node (a standby that was behind was promoted): ask for the read point and go on
     * from there. */
    Err (*commit)(Store *store, const Batch *batches, size_t count, OpResult *out_results,
                  Error *why);

    /* Makes everything committed so far stable (checkpoint). Needed only where
     * options.durable is false. */
    Err (*sync)(Store *store, Error *why);

    Err (*load)(Store *store, const Load *load, Loaded *out, Error *why);

    /* Jobs that match, in the query's order, at most query->limit (0: the default).
     * QUERY_DISPATCH gives ready jobs tour by tour: the k-th of every lane before any
     * k+1st, lanes by how long their head has waited, held ones included (S3.55); within
     * a lane in the order that the definition of its queue says (aging). */
    Err (*query)(Store *store, const JobQuery *query, const JobSink *sink,
                 QueryEnd *out_end, Error *why);

    /* The bytes of a job's result. ERR_NOT_FOUND when it has none. */
    Err (*result)(Store *store, JobId id, Buf *out, Error *why);
    Err (*read_point)(Store *store, uint32_t node, ReadPoint *out, Error *why);

    /* The largest job id of this node that was ever added; 0 if none. */
    Err (*last_id)(Store *store, uint32_t node, JobId *out, Error *why);

    /* The largest batch number of this node that was committed; 0 if none. */
    Err (*last_number)(Store *store, uint32_t node, uint64_t *out, Error *why);

    /* In order of tenant and key. STORE_TABLE_NODE: what OP_NODE wrote, by sysid. */
    Err (*definitions)(Store *store, Slice table, DefinitionSink *sink, void *context,
                       Error *why);

    /* The one of that name, if it is there; not of STORE_TABLE_NODE. */
    Err (*definition)(Store *store, const DefinitionName *name, DefinitionSink *sink,
                      void *context, Error *why);

    /* Counts by lane and state that are not 0, final ones too, in order; kept up to date
     * by commits: never a scan of jobs. */
    Err (*counts)(Store *store, CountSink *sink, void *context, Error *why);

    /* What each tenant has, in order; likewise. `node` is here, others elsewhere. */
    Err (*uses)(Store *store, uint32_t node, UseSink *sink, void *context, Error *why);

    /* Statistics of periods that begin at from_ms or later, in order of their span and
     * start; each event is in exactly one of them. See store/rollup.h. */
    Err (*rollups)(Store *store, int64_t from_ms, RollupSink *sink, void *context,
                   Error *why);

    /* Likewise of groups: of one if it is not NULL (its tenant and name), else of all. */
    Err (*groups)(Store *store, const GroupCount *one, GroupSink *sink, void *context,
                  Error *why);

    /* Nodes that share the store: see store/cluster.h. renew makes the node's row if
     * there is none, with the number it wants if that is free, else the smallest that no
     * node has and none had whose journal was read; *out tells its number, epoch and
     * fence, and whether it controls: at most one row does, the one whose lease is not
     * over, which is not fenced and which goes on saying so; else the next that would.
     * *out's slices are empty. A transaction of its own. */
    Err (*renew)(Store *store, const Renewal *renewal, NodeRow *out, Error *why);

    /* All rows that have a number, in its order. */
    Err (*nodes)(Store *store, NodeSink *sink, void *context, Error *why);

    /* Definitions changed behind `after`, the last change of each, in order; see
     * CHANGES_KEPT and CHANGES_LAST. */
    Err (*changes)(Store *store, uint64_t after, ChangeSink *sink, void *context,
                   Error *why);

    /* Waits up to timeout_ms for a hint that there is mail for the node, or a change;
     * true at once if one came since the last call. NULL: a store without hints; whoever
     * waits must poll in any case. */
    bool (*watch)(Store *store, uint32_t node, int timeout_ms);

    /* The node has slots 1 to count: 001's resources. NULL: no one can see them. */
    Err (*slots)(Store *store, Slice sysid, uint32_t count, Error *why);

    /* No room for anything but ends and removals. Any thread. NULL: commit says it. */
    bool (*full)(Store *store);

    /* Its file is still where it was opened. Any thread. NULL: it has none. */
    bool (*there)(Store *store);
} StoreKind;

struct Store {
    const StoreKind *kind;
};

/* How many jobs a page of the query has. */
static inline uint32_t store_query_limit(const JobQuery *query)
{
    uint32_t limit = query->limit ? query->limit : QUERY_LIMIT_DEFAULT;
    return limit < QUERY_LIMIT_MAX ? limit : QUERY_LIMIT_MAX;
}

/* url: "sqlite:PATH", "postgresql://..." or "memory:". Creates and migrates as needed
 * (unless read_only); refuses a newer schema and a file that another process owns, with
 * the reason. ERR_UNAVAILABLE: a server that may come. */
MUST_CHECK Err store_open(const char *url, const StoreOptions *options, Store **out,
                          Error *why);

/* The url as people may see it: without a password. */
void store_url_shown(const char *url, Buf *out);

static inline void store_close(Store *store)
{
    if (store)
        store->kind->close(store);
}

/* Kinds that wrap another store; the wrapper owns it. */
Store *store_trace_new(Store *inner, Buf *out_trace); /* one line per call into out */

typedef struct StoreFault { /* fails the n-th call (1 = next), then `times` in all */
    uint64_t calls;
    uint64_t fail_at;
    uint64_t times;
    Err err;
    bool after; /* commit and sync fail after they have happened: an unknown outcome */
} StoreFault;
Store *store_fault_new(Store *inner, StoreFault *fault); /* fault outlives the store */

#endif
