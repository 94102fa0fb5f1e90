/* SPDX-License-Identifier: Apache-2.0 */
/* retired_nodes.c - see retired_nodes.h. */
#include "cluster/retired_nodes.h"

#include "base/text.h"
#include "store/held_jobs.h"

typedef struct RetiredNode {
    char *sysid;
    uint64_t epoch;
} RetiredNode;

struct RetiredNodes {
    RetiredNode *items;
    size_t count;
    size_t capacity;
};

RetiredNodes *retired_nodes_new(void)
{
    return MEM_NEW(RetiredNodes);
}

void retired_nodes_free(RetiredNodes *gone)
{
    for (size_t i = 0; gone && i < gone->count; i++)
        mem_free(gone->items[i].sysid);
    if (gone)
        mem_free(gone->items);
    mem_free(gone);
}

void retired_nodes_defined(void *context, const Definition *definition)
{
    RetiredNodes *gone = context;
    int64_t epoch = 0;
    size_t at = 0;
    while (at < gone->count &&
           !slice_equal(slice_text(gone->items[at].sysid), definition->key))
        at++;
    if (at < gone->count) {
        mem_free(gone->items[at].sysid);
        gone->items[at] = gone->items[--gone->count];
    }
    if (!definition->value.data || int_parse(definition->value, &epoch))
        return;
    char *sysid = mem_alloc(definition->key.bytes + 1);
    memcpy(sysid, definition->key.data, definition->key.bytes);
    sysid[definition->key.bytes] = '\0';
    MEM_PUSH(gone->items, gone->count, gone->capacity) =
        (RetiredNode){ sysid, (uint64_t)epoch };
}

bool retired_nodes_has(const RetiredNodes *gone, Slice sysid, uint64_t epoch)
{
    for (size_t i = 0; i < gone->count; i++)
        if (gone->items[i].epoch == epoch && slice_is(sysid, gone->items[i].sysid))
            return true;
    return false;
}

bool retired_nodes_knows(const RetiredNodes *gone, Slice sysid)
{
    for (size_t i = 0; i < gone->count; i++)
        if (slice_is(sysid, gone->items[i].sysid))
            return true;
    return false;
}

void retired_nodes_value(Buf *out, uint64_t epoch)
{
    buf_printf(out, "%llu", (unsigned long long)epoch);
}

/* --- What it has left --------------------------------------------------------------- */

typedef struct Sought {
    uint32_t number;
    bool found;
} Sought;

static void see_held(void *context, const Job *job)
{
    Sought *sought = context;
    sought->found = sought->found || job_owner(job) == sought->number;
}

Err retired_nodes_owns(Store *store, uint32_t number, bool *out, Error *why)
{
    static const LoadKind kinds[] = { LOAD_LANES, LOAD_RUNNING, LOAD_DUE };
    Sought sought = { .number = number };
    JobSink sink = { see_held, &sought };
    Err err = held_jobs_each(store, &sink, why);
    for (size_t i = 0; !err && !sought.found && i < sizeof kinds / sizeof *kinds; i++) {
        Loaded loaded = { 0 };
        Load load = { .kind = kinds[i], .owner = number, .dt_ms = TIME_NEVER - 1 };
        load.limit = kinds[i] == LOAD_DUE;
        err = store->kind->load(store, &load, &loaded, why);
        sought.found = !err && loaded.count;
        loaded_done(&loaded);
    }
    *out = sought.found;
    return err;
}
