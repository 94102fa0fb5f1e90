/* SPDX-License-Identifier: Apache-2.0 */
/* moving.c - see moving.h: what there is to move. */
#include "store/moving.h"

#include <assert.h>

const MoveTable move_tables[] = {
    { "attempt",
      "job, attempt",
      false,
      { { "job", MOVE_LONG },
        { "attempt", MOVE_INT },
        { "slot", MOVE_INT },
        { "node", MOVE_NAME },
        { "retry", MOVE_INT },
        { "state", MOVE_INT_OR_NULL },
        { "run_at", MOVE_LONG },
        { "service", MOVE_LONG },
        { "started", MOVE_LONG },
        { "finished", MOVE_LONG },
        { "beat", MOVE_LONG },
        { "code", MOVE_INT },
        { "exitcode", MOVE_INT },
        { "exit_status", MOVE_INT_OR_NULL },
        { "signal", MOVE_INT },
        { "error", MOVE_TEXT },
        { "version", MOVE_INT } } },
    { "result", "job", false, { { "job", MOVE_LONG }, { "data", MOVE_BYTES } } },
    { "booking",
      "job, attempt, key, item",
      false,
      { { "job", MOVE_LONG },
        { "attempt", MOVE_INT },
        { "key", MOVE_TEXT },
        { "item", MOVE_TEXT },
        { "amount", MOVE_LONG } } },
    { "resource_item",
      NULL,
      false,
      { { "key", MOVE_TEXT }, { "item", MOVE_TEXT }, { "gone", MOVE_BOOL } } },
    { "definition",
      "kind, tenant, key",
      false,
      { { "kind", MOVE_TEXT },
        { "tenant", MOVE_TEXT },
        { "key", MOVE_TEXT },
        { "value", MOVE_BYTES } } },
    { "definition_change",
      "kind, tenant, key",
      false,
      { { "kind", MOVE_TEXT },
        { "tenant", MOVE_TEXT },
        { "key", MOVE_TEXT },
        { "change", MOVE_LONG },
        { "node", MOVE_INT } } },
    { "idempotency",
      "tenant, key",
      false,
      { { "tenant", MOVE_TEXT },
        { "key", MOVE_TEXT },
        { "expiry", MOVE_LONG },
        { "value", MOVE_BYTES } } },
    { "point",
      "node",
      false,
      { { "node", MOVE_INT },
        { "position", MOVE_LONG_OR_NULL },
        { "number", MOVE_LONG },
        { "last_id", MOVE_LONG },
        { "results", MOVE_BYTES } } },
    { "inbox",
      NULL,
      false,
      { { "node", MOVE_INT }, { "sender", MOVE_INT }, { "body", MOVE_BYTES } } },
    { "rollup",
      "span, at, tenant, queue, type, priority",
      true,
      { { "span", MOVE_LONG },
        { "at", MOVE_LONG },
        { "tenant", MOVE_TEXT },
        { "queue", MOVE_TEXT },
        { "type", MOVE_TEXT },
        { "priority", MOVE_INT },
        { "added", MOVE_LONG },
        { "started", MOVE_LONG },
        { "ok", MOVE_LONG },
        { "failed", MOVE_LONG },
        { "retry", MOVE_LONG },
        { "error", MOVE_LONG },
        { "wait_ms", MOVE_LONG },
        { "run_ms", MOVE_LONG } } },
    { "job_wait",
      "parent, child",
      false,
      { { "parent", MOVE_LONG }, { "child", MOVE_LONG }, { "cond", MOVE_INT } } },
    { "job_ended", "parent", false, { { "parent", MOVE_LONG }, { "state", MOVE_INT } } },
    { "job_group",
      "tenant, name, state",
      false,
      { { "tenant", MOVE_TEXT },
        { "name", MOVE_TEXT },
        { "state", MOVE_INT },
        { "count", MOVE_LONG } } },
    { "job_unique",
      "tenant, key",
      false,
      { { "tenant", MOVE_TEXT },
        { "key", MOVE_TEXT },
        { "job", MOVE_LONG },
        { "until", MOVE_LONG_OR_NULL } } },
};
const size_t move_table_count = sizeof move_tables / sizeof *move_tables;

const char *const move_filled_tables[] = { "job_live",   "job_done", "job_dead",
                                           "definition", "point",    "idempotency",
                                           "job_unique", "rollup",   NULL };

const char *const move_emptied_tables[] = {
    "job_live",    "job_done", "job_dead",          "payload",    "result",
    "attempt",     "booking",  "resource_item",     "definition", "lane_count",
    "idempotency", "point",    "definition_change", "inbox",      "node",
    "rollup",      "job_wait", "job_ended",         "job_group",  "job_unique",
    NULL,
};

size_t move_columns(const MoveTable *table)
{
    size_t count = 0;
    while (count < MOVE_COLUMNS_MAX && table->columns[count].name)
        count++;
    return count;
}

const MoveTable *move_table_find(Slice name)
{
    for (size_t i = 0; i < move_table_count; i++)
        if (slice_is(name, move_tables[i].name))
            return &move_tables[i];
    return NULL;
}

static const MoveKind *kind_of(const Store *store)
{
    if (strcmp(store->kind->name, "sqlite") == 0)
        return &sqlite_moving;
    return strcmp(store->kind->name, "postgres") == 0 ? &postgres_moving : NULL;
}

static Err cannot(const Store *store, Error *why)
{
    return error_set(why, ERR_INVALID, "a store of the kind %s cannot be moved",
                     store->kind->name);
}

Err move_out(Store *store, const MoveSink *sink, Error *why)
{
    const MoveKind *kind = kind_of(store);
    return kind ? kind->out(store, sink, why) : cannot(store, why);
}

Err move_in_begin(Store *store, bool replace, Error *why)
{
    const MoveKind *kind = kind_of(store);
    return kind ? kind->begin(store, replace, why) : cannot(store, why);
}

void move_in_job(Store *store, const Row *row)
{
    kind_of(store)->job(store, row);
}

void move_in_row(Store *store, const MoveTable *table, const MoveValue *values)
{
    kind_of(store)->row(store, table, values);
}

Err move_in_end(Store *store, bool keep, Error *why)
{
    return kind_of(store)->end(store, keep, why);
}
