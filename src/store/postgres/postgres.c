/* SPDX-License-Identifier: Apache-2.0 */
/* postgres.c - the shared store: PostgreSQL, any number of nodes. See store.h for the
 * rules and schema_pg/001.sql for what is in the database. */
#include "store/postgres/postgres.h"

#include "base/times.h"
#include "store/postgres/cluster.h"
#include "store/postgres/commit.h"
#include "store/postgres/load.h"
#include "store/postgres/query.h"
#include "store/postgres/relations.h"
#include "store/postgres/rollup.h"
#include "store/postgres/schema.h"

void postgres_begin_read(Postgres *pg)
{
    link_begin(&pg->link, LINK_READ);
    if (pg->stale)
        pgcatalog_drop(&pg->catalog);
    pgcatalog_refresh(&pg->catalog);
    pg->stale = pg->link.err != ERR_OK;
}

Err postgres_end_read(Postgres *pg, const char *doing, Error *why)
{
    params_clear(&pg->params);
    return link_end(&pg->link, doing, why);
}

/* Every commit is durable where the server says so. */
static Err postgres_sync(Store *store, Error *why)
{
    (void)store;
    (void)why;
    return ERR_OK;
}

static Err postgres_result(Store *store, JobId id, Buf *out, Error *why)
{
    Postgres *pg = postgres_of(store);
    postgres_begin_read(pg);
    param_int(&pg->params, (int64_t)id);
    PGresult *result =
        link_query(&pg->link, "SELECT data FROM pawl.result WHERE job = $1", &pg->params);
    bool found = result && PQntuples(result);
    if (found)
        buf_add_slice(out, field_bytes(result, 0, 0));
    PQclear(result);
    Err err = postgres_end_read(pg, "read a result", why);
    char text[ID_TEXT_BYTES];
    if (!err && !found)
        err = error_set(why, ERR_NOT_FOUND, "store: job %s has no result",
                        id_text(id, text));
    return err;
}

typedef struct PointNumbers {
    int64_t position;
    int64_t number;
    int64_t last_id;
} PointNumbers;

static Err read_numbers(Store *store, uint32_t node, PointNumbers *out, Error *why)
{
    Postgres *pg = postgres_of(store);
    postgres_begin_read(pg);
    param_int(&pg->params, node);
    PGresult *result = link_query(
        &pg->link, "SELECT position, number, last_id FROM pawl.point WHERE node = $1",
        &pg->params);
    PointNumbers numbers = { 0 };
    if (result && PQntuples(result))
        numbers = (PointNumbers){ .position = field_int(result, 0, 0),
                                  .number = field_int(result, 0, 1),
                                  .last_id = field_int(result, 0, 2) };
    PQclear(result);
    Err err = postgres_end_read(pg, "read a read point", why);
    if (!err)
        *out = numbers;
    return err;
}

/* A daemon that was killed may have a COMMIT under way at the server. Its transaction has
 * the row, so this waits for it: what is read from the journal begins behind it. Nothing
 * is left behind: asking for a point makes none. */
static Err settle_point(Postgres *pg, uint32_t node, Error *why)
{
    link_begin(&pg->link, LINK_WRITE);
    param_int(&pg->params, node);
    link_run(&pg->link, "INSERT INTO pawl.point(node) VALUES ($1) ON CONFLICT DO NOTHING",
             &pg->params);
    param_int(&pg->params, node);
    PQclear(link_query(&pg->link, "SELECT FROM pawl.point WHERE node = $1 FOR UPDATE",
                       &pg->params));
    link_rollback(&pg->link);
    return link_single_end(&pg->link, "wait for a read point", why);
}

static Err postgres_read_point(Store *store, uint32_t node, ReadPoint *out, Error *why)
{
    PointNumbers numbers;
    Postgres *pg = postgres_of(store);
    Err err = pg->read_only ? ERR_OK : settle_point(pg, node, why);
    if (!err)
        err = read_numbers(store, node, &numbers, why);
    if (err)
        return err;
    *out = (ReadPoint){ .node = node, .position = (uint64_t)numbers.position };
    if (!pg->read_only)
        pg->seen = *out;
    return ERR_OK;
}

static Err postgres_last_id(Store *store, uint32_t node, JobId *out, Error *why)
{
    PointNumbers numbers;
    Err err = read_numbers(store, node, &numbers, why);
    if (!err)
        *out = (JobId)numbers.last_id;
    return err;
}

static Err postgres_last_number(Store *store, uint32_t node, uint64_t *out, Error *why)
{
    PointNumbers numbers;
    Err err = read_numbers(store, node, &numbers, why);
    if (!err)
        *out = (uint64_t)numbers.number;
    return err;
}

static void tell_definitions(PGresult *result, DefinitionSink *sink, void *context)
{
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        Definition definition = { field_bytes(result, i, 0), field_bytes(result, i, 1),
                                  field_bytes(result, i, 2) };
        sink(context, &definition);
    }
    PQclear(result);
}

static Err postgres_definitions(Store *store, Slice table, DefinitionSink *sink,
                                void *context, Error *why)
{
    Postgres *pg = postgres_of(store);
    bool nodes = slice_is(table, STORE_TABLE_NODE);
    postgres_begin_read(pg);
    if (!nodes)
        param_bytes(&pg->params, table);
    PGresult *result =
        link_query(&pg->link,
                   nodes ? "SELECT ''::bytea, sysid, facts FROM pawl.node ORDER BY sysid"
                         : "SELECT tenant, key, value FROM pawl.definition"
                           " WHERE kind = $1 ORDER BY tenant, key",
                   &pg->params);
    tell_definitions(result, sink, context);
    return postgres_end_read(pg, "read definitions", why);
}

static Err postgres_definition(Store *store, const DefinitionName *name,
                               DefinitionSink *sink, void *context, Error *why)
{
    Postgres *pg = postgres_of(store);
    postgres_begin_read(pg);
    param_bytes(&pg->params, name->table);
    param_bytes(&pg->params, name->tenant);
    param_bytes(&pg->params, name->key);
    PGresult *result = link_query(&pg->link,
                                  "SELECT tenant, key, value FROM pawl.definition"
                                  " WHERE kind = $1 AND tenant = $2 AND key = $3",
                                  &pg->params);
    tell_definitions(result, sink, context);
    return postgres_end_read(pg, "read a definition", why);
}

static Err postgres_counts(Store *store, CountSink *sink, void *context, Error *why)
{
    Postgres *pg = postgres_of(store);
    postgres_begin_read(pg);
    PGresult *result = link_query(
        &pg->link,
        "SELECT coalesce(t.text, ''), coalesce(q.text, ''), l.pull, c.state,"
        " sum(c.count)::int8 FROM pawl.lane_count c JOIN pawl.lane l ON l.id = c.lane"
        " LEFT JOIN pawl.name t ON t.id = l.tenant"
        " LEFT JOIN pawl.name q ON q.id = l.queue WHERE c.state >= 0"
        " GROUP BY 1, 2, 3, 4 HAVING sum(c.count) <> 0 ORDER BY 1, 2, 3, 4",
        &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        LaneCount count = { .tenant = field_bytes(result, i, 0),
                            .queue = field_bytes(result, i, 1),
                            .pull = field_int(result, i, 2) != 0,
                            .state = (JobState)field_int(result, i, 3),
                            .count = (uint64_t)field_int(result, i, 4) };
        sink(context, &count);
    }
    PQclear(result);
    return postgres_end_read(pg, "read counts", why);
}

/* Rows are what each node has changed: so are parts of the sums. */
static Err postgres_uses(Store *store, uint32_t node, UseSink *sink, void *context,
                         Error *why)
{
    Postgres *pg = postgres_of(store);
    postgres_begin_read(pg);
    param_int(&pg->params, node);
    PGresult *result = link_query(
        &pg->link,
        "SELECT coalesce(t.text, ''),"
        " sum(c.count) FILTER (WHERE c.state = -1)::int8,"
        " sum(c.count) FILTER (WHERE c.state IN (0,1,2,3,6,7) AND c.node = $1)::int8,"
        " sum(c.count) FILTER (WHERE c.state IN (0,1,2,3,6,7) AND c.node <> $1)::int8,"
        " sum(c.count) FILTER (WHERE c.state IN (4,5) AND c.node = $1)::int8,"
        " sum(c.count) FILTER (WHERE c.state IN (4,5) AND c.node <> $1)::int8"
        " FROM pawl.lane_count c JOIN pawl.lane l ON l.id = c.lane"
        " LEFT JOIN pawl.name t ON t.id = l.tenant"
        " GROUP BY 1 HAVING bool_or(c.count <> 0) ORDER BY 1",
        &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        TenantUse use = { .tenant = field_bytes(result, i, 0),
                          .bytes = field_int(result, i, 1),
                          .queued_here = field_int(result, i, 2),
                          .queued_elsewhere = field_int(result, i, 3),
                          .running_here = field_int(result, i, 4),
                          .running_elsewhere = field_int(result, i, 5) };
        sink(context, &use);
    }
    PQclear(result);
    return postgres_end_read(pg, "read what tenants have", why);
}

static bool postgres_watch(Store *store, uint32_t node, int timeout_ms)
{
    Postgres *pg = postgres_of(store);
    return pgwatch_wait(&pg->watch, pg->link.url, node, timeout_ms);
}

static void postgres_close(Store *store)
{
    Postgres *pg = postgres_of(store);
    postgres_commit_done(pg);
    pgwatch_close(&pg->watch);
    link_close(&pg->link);
    pgcatalog_drop(&pg->catalog);
    params_done(&pg->params);
    buf_done(&pg->scratch);
    mem_free(pg);
}

static Err postgres_slots(Store *store, Slice sysid, uint32_t count, Error *why)
{
    Postgres *pg = postgres_of(store);
    link_begin(&pg->link, LINK_WRITE);
    param_bytes(&pg->params, sysid);
    param_int(&pg->params, count);
    link_run(&pg->link,
             "INSERT INTO pawl.slot(node, slot) SELECT pawl.name_add($1), k"
             " FROM generate_series(1, $2::int4) k ON CONFLICT (node, slot) DO NOTHING",
             &pg->params);
    return link_end(&pg->link, "write the slots of a node", why);
}

static const StoreKind postgres_kind = {
    .name = "postgres",
    .shared = true,
    .close = postgres_close,
    .commit = postgres_commit,
    .sync = postgres_sync,
    .load = postgres_load,
    .query = postgres_query,
    .result = postgres_result,
    .read_point = postgres_read_point,
    .last_id = postgres_last_id,
    .last_number = postgres_last_number,
    .definitions = postgres_definitions,
    .definition = postgres_definition,
    .rollups = postgres_rollups,
    .counts = postgres_counts,
    .uses = postgres_uses,
    .groups = postgres_groups,
    .renew = postgres_renew,
    .nodes = postgres_nodes,
    .changes = postgres_changes,
    .watch = postgres_watch,
    .slots = postgres_slots,
};

/* The database's cluster must be ours; a new one becomes so. */
static Err check_cluster(Postgres *pg, const char *cluster, Error *why)
{
    link_begin(&pg->link, pg->read_only ? LINK_READ : LINK_WRITE);
    if (!pg->read_only) {
        param_bytes(&pg->params, slice_text(cluster));
        link_run(&pg->link,
                 "INSERT INTO pawl.meta(key, value) VALUES ('cluster',"
                 " convert_from($1, 'UTF8')) ON CONFLICT DO NOTHING",
                 &pg->params);
    }
    PGresult *result = link_query(
        &pg->link,
        "SELECT convert_to(value, 'UTF8') FROM pawl.meta WHERE key = 'cluster'",
        &pg->params);
    bool found = result && PQntuples(result);
    bool same = found && slice_is(field_bytes(result, 0, 0), cluster);
    PQclear(result);
    Err err = link_end(&pg->link, "check the cluster", why);
    if (!err && found && !same)
        err = error_set(why, ERR_CONFLICT,
                        "store: the database belongs to another cluster than '%s'",
                        cluster);
    return err;
}

Err store_postgres_open(const char *url, const StoreOptions *options, Store **out,
                        Error *why)
{
    Postgres *pg = MEM_NEW(Postgres);
    pg->store.kind = &postgres_kind;
    pg->link.url = mem_copy(url, strlen(url) + 1);
    pg->catalog = (PgCatalog){ .link = &pg->link, .params = &pg->params };
    pg->link.answer_ms = options->answer_ms;
    pg->read_only = options->read_only;
    pg->stale = true;
    pg->scan_ms = QUERY_SCAN_MS;
    pg->luck = (uint64_t)clock_now().wall_ms ^ (uint64_t)(uintptr_t)pg;
    Err err = link_connect(&pg->link, why);
    if (!err)
        err = options->read_only ? pgschema_check(&pg->link, why)
                                 : pgschema_migrate(&pg->link, why);
    if (!err && options->cluster) /* a daemon's, not a test's or a tool's */
        pgschema_warn(&pg->link);
    if (!err && options->cluster)
        err = check_cluster(pg, options->cluster, why);
    if (!err) {
        postgres_begin_read(pg);
        err = postgres_end_read(pg, "open", why);
    }
    if (err) {
        store_close(&pg->store);
        return err;
    }
    *out = &pg->store;
    return ERR_OK;
}
