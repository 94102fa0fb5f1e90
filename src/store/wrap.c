/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.c - stores around other stores (see store.h): `trace` writes down every call,
 * `fault` makes chosen ones fail. */
#include "store/store.h"

/* --- Trace ------------------------------------------------------------------------- */

typedef struct Trace {
    Store store;    /* must be first */
    StoreKind kind; /* ours, but as shared as the inner one */
    Store *inner;
    Buf *out;
} Trace;

static Trace *trace_of(Store *store)
{
    return (Trace *)(void *)store;
}

static Err traced(Trace *trace, const char *what, Err err)
{
    buf_printf(trace->out, "%s -> %s\n", what, err_name(err));
    return err;
}

static void trace_close(Store *store)
{
    Trace *trace = trace_of(store);
    buf_add_text(trace->out, "close\n");
    store_close(trace->inner);
    mem_free(trace);
}

static void trace_ops(Trace *trace, const Batch *batches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Batch *batch = &batches[i];
        buf_printf(trace->out, "commit node=%u number=%llu", batch->node,
                   (unsigned long long)batch->number);
        if (batch->has_read_point)
            buf_printf(trace->out, " position=%llu",
                       (unsigned long long)batch->read_point.position);
        for (size_t k = 0; k < batch->count; k++) {
            char id[ID_TEXT_BYTES];
            const Op *op = &batch->ops[k];
            JobId job = op->kind == OP_ADD ? op->job->id : op->id;
            buf_printf(trace->out, " %s(%s)", op_name(op->kind),
                       job ? id_text(job, id) : "");
        }
        buf_add_char(trace->out, '\n');
    }
}

static Err trace_commit(Store *store, const Batch *batches, size_t count,
                        OpResult *out_results, Error *why)
{
    Trace *trace = trace_of(store);
    trace_ops(trace, batches, count);
    Err err = trace->inner->kind->commit(trace->inner, batches, count, out_results, why);
    return traced(trace, "commit", err);
}

static Err trace_sync(Store *store, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "sync", trace->inner->kind->sync(trace->inner, why));
}

static const char *load_name(LoadKind kind)
{
    switch (kind) {
    case LOAD_LANES:
        return "load lanes";
    case LOAD_WINDOW:
        return "load window";
    case LOAD_DUE:
        return "load due";
    case LOAD_RUNNING:
        return "load running";
    case LOAD_JOB:
        return "load job";
    case LOAD_KEY:
        return "load key";
    case LOAD_ATTEMPTS:
        return "load attempts";
    case LOAD_OLD:
        return "load old";
    case LOAD_BLOCKED:
        return "load blocked";
    case LOAD_AFTER:
        return "load after";
    case LOAD_UNIQUE:
        return "load unique";
    case LOAD_MATCH:
        return "load match";
    case LOAD_INBOX:
        return "load inbox";
    case LOAD_IDS:
        return "load ids";
    case LOAD_GROUP:
        return "load group";
    case LOAD_OWED:
        return "load owed";
    }
    return "load ?";
}

static Err trace_load(Store *store, const Load *load, Loaded *out, Error *why)
{
    Trace *trace = trace_of(store);
    Err err = trace->inner->kind->load(trace->inner, load, out, why);
    if (!err)
        buf_printf(trace->out, "found %zu ", out->count);
    return traced(trace, load_name(load->kind), err);
}

static Err trace_query(Store *store, const JobQuery *query, const JobSink *sink,
                       QueryEnd *out_end, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "query",
                  trace->inner->kind->query(trace->inner, query, sink, out_end, why));
}

static Err trace_result(Store *store, JobId id, Buf *out, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "result",
                  trace->inner->kind->result(trace->inner, id, out, why));
}

static Err trace_read_point(Store *store, uint32_t node, ReadPoint *out, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "read_point",
                  trace->inner->kind->read_point(trace->inner, node, out, why));
}

static Err trace_last_id(Store *store, uint32_t node, JobId *out, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "last_id",
                  trace->inner->kind->last_id(trace->inner, node, out, why));
}

static Err trace_last_number(Store *store, uint32_t node, uint64_t *out, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "last_number",
                  trace->inner->kind->last_number(trace->inner, node, out, why));
}

static Err trace_definitions(Store *store, Slice table, DefinitionSink *sink,
                             void *context, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(
        trace, "definitions",
        trace->inner->kind->definitions(trace->inner, table, sink, context, why));
}

static Err trace_definition(Store *store, const DefinitionName *name,
                            DefinitionSink *sink, void *context, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "definition",
                  trace->inner->kind->definition(trace->inner, name, sink, context, why));
}

static Err trace_counts(Store *store, CountSink *sink, void *context, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "counts",
                  trace->inner->kind->counts(trace->inner, sink, context, why));
}

static Err trace_rollups(Store *store, int64_t from_ms, RollupSink *sink, void *context,
                         Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "rollups",
                  trace->inner->kind->rollups(trace->inner, from_ms, sink, context, why));
}

static Err trace_groups(Store *store, const GroupCount *one, GroupSink *sink,
                        void *context, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "groups",
                  trace->inner->kind->groups(trace->inner, one, sink, context, why));
}

static Err trace_renew(Store *store, const Renewal *renewal, NodeRow *out, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "renew",
                  trace->inner->kind->renew(trace->inner, renewal, out, why));
}

static Err trace_nodes(Store *store, NodeSink *sink, void *context, Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "nodes",
                  trace->inner->kind->nodes(trace->inner, sink, context, why));
}

static Err trace_uses(Store *store, uint32_t node, UseSink *sink, void *context,
                      Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "uses",
                  trace->inner->kind->uses(trace->inner, node, sink, context, why));
}

static Err trace_changes(Store *store, uint64_t after, ChangeSink *sink, void *context,
                         Error *why)
{
    Trace *trace = trace_of(store);
    return traced(trace, "changes",
                  trace->inner->kind->changes(trace->inner, after, sink, context, why));
}

static const StoreKind trace_kind = {
    .name = "trace",
    .close = trace_close,
    .commit = trace_commit,
    .sync = trace_sync,
    .load = trace_load,
    .query = trace_query,
    .result = trace_result,
    .read_point = trace_read_point,
    .last_id = trace_last_id,
    .last_number = trace_last_number,
    .definitions = trace_definitions,
    .definition = trace_definition,
    .counts = trace_counts,
    .uses = trace_uses,
    .rollups = trace_rollups,
    .groups = trace_groups,
    .renew = trace_renew,
    .nodes = trace_nodes,
    .changes = trace_changes,
};

Store *store_trace_new(Store *inner, Buf *out_trace)
{
    Trace *trace = MEM_NEW(Trace);
    trace->kind = trace_kind;
    trace->kind.shared = inner->kind->shared;
    trace->store.kind = &trace->kind;
    trace->inner = inner;
    trace->out = out_trace;
    return &trace->store;
}

/* --- Fault ------------------------------------------------------------------------- */

typedef struct Fault {
    Store store;    /* must be first */
    StoreKind kind; /* ours, but as shared as the inner one */
    Store *inner;
    StoreFault *plan;
} Fault;

static Fault *fault_of(Store *store)
{
    return (Fault *)(void *)store;
}

/* Counts the call and says whether it is to fail. */
static bool fails(StoreFault *plan)
{
    uint64_t call = ++plan->calls;
    return plan->fail_at && call >= plan->fail_at && call < plan->fail_at + plan->times;
}

static Err broken(const StoreFault *plan, Error *why)
{
    return error_set(why, plan->err, "store: call %llu was made to fail",
                     (unsigned long long)plan->calls);
}

/* What every call does: fail before, or do it and perhaps fail after. A read that is
 * done before it fails would leave its answer behind: those fail before, always. */
#define FAULTY(store, writes, call)                                                      \
    do {                                                                                 \
        Fault *fault = fault_of(store);                                                  \
        Store *inner = fault->inner;                                                     \
        bool failing = fails(fault->plan);                                               \
        if (failing && !((writes) && fault->plan->after))                                \
            return broken(fault->plan, why);                                             \
        Err err = inner->kind->call;                                                     \
        return err || !failing ? err : broken(fault->plan, why);                         \
    } while (0)

static void fault_close(Store *store)
{
    Fault *fault = fault_of(store);
    store_close(fault->inner);
    mem_free(fault);
}

static Err fault_commit(Store *store, const Batch *batches, size_t count,
                        OpResult *out_results, Error *why)
{
    FAULTY(store, true, commit(inner, batches, count, out_results, why));
}

static Err fault_sync(Store *store, Error *why)
{
    FAULTY(store, true, sync(inner, why));
}

static Err fault_load(Store *store, const Load *load, Loaded *out, Error *why)
{
    FAULTY(store, false, load(inner, load, out, why));
}

static Err fault_query(Store *store, const JobQuery *query, const JobSink *sink,
                       QueryEnd *out_end, Error *why)
{
    FAULTY(store, false, query(inner, query, sink, out_end, why));
}

static Err fault_result(Store *store, JobId id, Buf *out, Error *why)
{
    FAULTY(store, false, result(inner, id, out, why));
}

static Err fault_read_point(Store *store, uint32_t node, ReadPoint *out, Error *why)
{
    FAULTY(store, false, read_point(inner, node, out, why));
}

static Err fault_last_id(Store *store, uint32_t node, JobId *out, Error *why)
{
    FAULTY(store, false, last_id(inner, node, out, why));
}

static Err fault_last_number(Store *store, uint32_t node, uint64_t *out, Error *why)
{
    FAULTY(store, false, last_number(inner, node, out, why));
}

static Err fault_definitions(Store *store, Slice table, DefinitionSink *sink,
                             void *context, Error *why)
{
    FAULTY(store, false, definitions(inner, table, sink, context, why));
}

static Err fault_definition(Store *store, const DefinitionName *name,
                            DefinitionSink *sink, void *context, Error *why)
{
    FAULTY(store, false, definition(inner, name, sink, context, why));
}

static Err fault_counts(Store *store, CountSink *sink, void *context, Error *why)
{
    FAULTY(store, false, counts(inner, sink, context, why));
}

static Err fault_rollups(Store *store, int64_t from_ms, RollupSink *sink, void *context,
                         Error *why)
{
    FAULTY(store, false, rollups(inner, from_ms, sink, context, why));
}

static Err fault_groups(Store *store, const GroupCount *one, GroupSink *sink,
                        void *context, Error *why)
{
    FAULTY(store, false, groups(inner, one, sink, context, why));
}

static Err fault_renew(Store *store, const Renewal *renewal, NodeRow *out, Error *why)
{
    FAULTY(store, true, renew(inner, renewal, out, why));
}

static Err fault_nodes(Store *store, NodeSink *sink, void *context, Error *why)
{
    FAULTY(store, false, nodes(inner, sink, context, why));
}

static Err fault_uses(Store *store, uint32_t node, UseSink *sink, void *context,
                      Error *why)
{
    FAULTY(store, false, uses(inner, node, sink, context, why));
}

static Err fault_changes(Store *store, uint64_t after, ChangeSink *sink, void *context,
                         Error *why)
{
    FAULTY(store, false, changes(inner, after, sink, context, why));
}

static const StoreKind fault_kind = {
    .name = "fault",
    .close = fault_close,
    .commit = fault_commit,
    .sync = fault_sync,
    .load = fault_load,
    .query = fault_query,
    .result = fault_result,
    .read_point = fault_read_point,
    .last_id = fault_last_id,
    .last_number = fault_last_number,
    .definitions = fault_definitions,
    .definition = fault_definition,
    .counts = fault_counts,
    .uses = fault_uses,
    .rollups = fault_rollups,
    .groups = fault_groups,
    .renew = fault_renew,
    .nodes = fault_nodes,
    .changes = fault_changes,
};

Store *store_fault_new(Store *inner, StoreFault *fault)
{
    Fault *wrapper = MEM_NEW(Fault);
    wrapper->kind = fault_kind;
    wrapper->kind.shared = inner->kind->shared;
    wrapper->store.kind = &wrapper->kind;
    wrapper->inner = inner;
    wrapper->plan = fault;
    return &wrapper->store;
}
