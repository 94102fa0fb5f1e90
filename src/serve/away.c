/* SPDX-License-Identifier: Apache-2.0 */
/* away.c - see away.h. */
#include "serve/away.h"

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

static Err away_definitions(Store *store, Slice table, DefinitionSink *sink,
                            void *context, Error *why)
{
    const Snapshot *snapshot = snapshot_of(store);
    (void)why;
    for (size_t i = 0; i < snapshot->count; i++)
        if (slice_equal(snapshot->rows[i].table, table))
            sink(context, &snapshot->rows[i].definition);
    return ERR_OK;
}

static Err away_uses(Store *store, uint32_t node, UseSink *sink, void *context,
                     Error *why)
{
    const Snapshot *snapshot = snapshot_of(store);
    (void)node;
    (void)why;
    for (size_t i = 0; i < snapshot->use_count; i++)
        sink(context, &snapshot->uses[i]);
    return ERR_OK;
}

static Err away_read_point(Store *store, uint32_t node, ReadPoint *out, Error *why)
{
    (void)why;
    *out = (ReadPoint){ .node = node, .position = snapshot_of(store)->position };
    return ERR_OK;
}

static Err away_last_id(Store *store, uint32_t node, JobId *out, Error *why)
{
    const Snapshot *snapshot = snapshot_of(store);
    (void)why;
    *out = snapshot->ids ? id_from_count(snapshot->ids - 1, (uint16_t)node) : 0;
    return ERR_OK;
}

/* Of jobs nothing is known: what a node would count with them is empty. */
static Err away_counts(Store *store, CountSink *sink, void *context, Error *why)
{
    (void)store;
    (void)sink;
    (void)context;
    (void)why;
    return ERR_OK;
}

static Err away_groups(Store *store, const GroupCount *one, GroupSink *sink,
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

static Err away_commit(Store *store, const Batch *batches, size_t count,
                       OpResult *out_results, Error *why)
{
    (void)store;
    (void)batches;
    (void)count;
    (void)out_results;
    return away(why);
}

static Err away_sync(Store *store, Error *why)
{
    (void)store;
    return away(why);
}

static Err away_load(Store *store, const Load *load, Loaded *out, Error *why)
{
    (void)store;
    (void)load;
    (void)out;
    return away(why);
}

static Err away_query(Store *store, const JobQuery *query, const JobSink *sink,
                      QueryEnd *out_end, Error *why)
{
    (void)store;
    (void)query;
    (void)sink;
    (void)out_end;
    return away(why);
}

static Err away_result(Store *store, JobId id, Buf *out, Error *why)
{
    (void)store;
    (void)id;
    (void)out;
    return away(why);
}

static Err away_last_number(Store *store, uint32_t node, uint64_t *out, Error *why)
{
    (void)store;
    (void)node;
    (void)out;
    return away(why);
}

static Err away_rollups(Store *store, int64_t from_ms, RollupSink *sink, void *context,
                        Error *why)
{
    (void)store;
    (void)from_ms;
    (void)sink;
    (void)context;
    return away(why);
}

static Err away_renew(Store *store, const Renewal *renewal, NodeRow *out, Error *why)
{
    (void)store;
    (void)renewal;
    (void)out;
    return away(why);
}

static Err away_nodes(Store *store, NodeSink *sink, void *context, Error *why)
{
    (void)store;
    (void)sink;
    (void)context;
    return away(why);
}

static Err away_changes(Store *store, uint64_t after, ChangeSink *sink, void *context,
                        Error *why)
{
    (void)store;
    (void)after;
    (void)sink;
    (void)context;
    return away(why);
}

static void away_close(Store *store)
{
    mem_free(store);
}

Store *store_away_new(const Snapshot *snapshot)
{
    static const StoreKind kind = {
        .name = "away",
        .shared = true,
        .close = away_close,
        .commit = away_commit,
        .sync = away_sync,
        .load = away_load,
        .query = away_query,
        .result = away_result,
        .read_point = away_read_point,
        .last_id = away_last_id,
        .last_number = away_last_number,
        .definitions = away_definitions,
        .counts = away_counts,
        .uses = away_uses,
        .rollups = away_rollups,
        .groups = away_groups,
        .renew = away_renew,
        .nodes = away_nodes,
        .changes = away_changes,
    };
    Away *store = MEM_NEW(Away);
    store->store.kind = &kind;
    store->snapshot = snapshot;
    return &store->store;
}
