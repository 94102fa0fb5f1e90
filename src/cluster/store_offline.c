/* SPDX-License-Identifier: Apache-2.0 */
/* store_offline.c - see store_offline.h. */
#include "cluster/store_offline.h"

typedef struct Away {
    Store store; /* must be first */
    const Snapshot *snapshot;
} Away;

static const Snapshot *snapshot_of(const Store *store)
{
    return ((const Away *)(const void *)store)->snapshot;
}

static Err away(Error *why)
{
    return error_set(why, ERR_UNAVAILABLE, "the store does not answer");
}

/* --- What is known ------------------------------------------------------------------ */

static Err store_offline_definitions(Store *store, Slice table, DefinitionSink *sink,
                                     void *context, Error *why)
{
    const Snapshot *snapshot = snapshot_of(store);
    (void)why;
    for (size_t i = 0; i < snapshot->count; i++)
        if (slice_equal(snapshot->rows[i].table, table))
            sink(context, &snapshot->rows[i].definition);
    return ERR_OK;
}

static Err store_offline_uses(Store *store, uint32_t node, UseSink *sink, void *context,
                              Error *why)
{
    const Snapshot *snapshot = snapshot_of(store);
    (void)node;
    (void)why;
    for (size_t i = 0; i < snapshot->use_count; i++)
        sink(context, &snapshot->uses[i]);
    return ERR_OK;
}

static Err store_offline_read_point(Store *store, uint32_t node, ReadPoint *out,
                                    Error *why)
{
    (void)why;
    *out = (ReadPoint){ .node = node, .position = snapshot_of(store)->position };
    return ERR_OK;
}

static Err store_offline_last_id(Store *store, uint32_t node, JobId *out, Error *why)
{
    const Snapshot *snapshot = snapshot_of(store);
    (void)why;
    *out = snapshot->ids ? id_from_count(snapshot->ids - 1, (uint16_t)node) : 0;
    return ERR_OK;
}

/* Of jobs nothing is known: what a node would count with them is empty. */
static Err store_offline_counts(Store *store, CountSink *sink, void *context, Error *why)
{
    (void)store;
    (void)sink;
    (void)context;
    (void)why;
    return ERR_OK;
}

static Err store_offline_groups(Store *store, const GroupCount *one, GroupSink *sink,
                                void *context, Error *why)
{
    (void)store;
    (void)one;
    (void)sink;
    (void)context;
    (void)why;
    return ERR_OK;
}

/* --- What is not -------------------------------------------------------------------- */

static Err store_offline_commit(Store *store, const Batch *batches, size_t count,
                                OpResult *out_results, Error *why)
{
    (void)store;
    (void)batches;
    (void)count;
    (void)out_results;
    return away(why);
}

static Err store_offline_sync(Store *store, Error *why)
{
    (void)store;
    return away(why);
}

static Err store_offline_load(Store *store, const Load *load, Loaded *out, Error *why)
{
    (void)store;
    (void)load;
    (void)out;
    return away(why);
}

static Err store_offline_query(Store *store, const JobQuery *query, const JobSink *sink,
                               QueryEnd *out_end, Error *why)
{
    (void)store;
    (void)query;
    (void)sink;
    (void)out_end;
    return away(why);
}

static Err store_offline_result(Store *store, JobId id, Buf *out, Error *why)
{
    (void)store;
    (void)id;
    (void)out;
    return away(why);
}

static Err store_offline_last_number(Store *store, uint32_t node, uint64_t *out,
                                     Error *why)
{
    (void)store;
    (void)node;
    (void)out;
    return away(why);
}

static Err store_offline_rollups(Store *store, int64_t from_ms, RollupSink *sink,
                                 void *context, Error *why)
{
    (void)store;
    (void)from_ms;
    (void)sink;
    (void)context;
    return away(why);
}

static Err store_offline_renew(Store *store, const Renewal *renewal, NodeRow *out,
                               Error *why)
{
    (void)store;
    (void)renewal;
    (void)out;
    return away(why);
}

static Err store_offline_nodes(Store *store, NodeSink *sink, void *context, Error *why)
{
    (void)store;
    (void)sink;
    (void)context;
    return away(why);
}

static Err store_offline_changes(Store *store, uint64_t after, ChangeSink *sink,
                                 void *context, Error *why)
{
    (void)store;
    (void)after;
    (void)sink;
    (void)context;
    return away(why);
}

static void store_offline_close(Store *store)
{
    mem_free(store);
}

Store *store_away_new(const Snapshot *snapshot)
{
    static const StoreKind kind = {
        .name = "away",
        .shared = true,
        .close = store_offline_close,
        .commit = store_offline_commit,
        .sync = store_offline_sync,
        .load = store_offline_load,
        .query = store_offline_query,
        .result = store_offline_result,
        .read_point = store_offline_read_point,
        .last_id = store_offline_last_id,
        .last_number = store_offline_last_number,
        .definitions = store_offline_definitions,
        .counts = store_offline_counts,
        .uses = store_offline_uses,
        .rollups = store_offline_rollups,
        .groups = store_offline_groups,
        .renew = store_offline_renew,
        .nodes = store_offline_nodes,
        .changes = store_offline_changes,
    };
    Away *store = MEM_NEW(Away);
    store->store.kind = &kind;
    store->snapshot = snapshot;
    return &store->store;
}
