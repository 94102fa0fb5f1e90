/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite.c - the embedded store: one file, one owner, readers beside it. See store.h for
 * the rules and schema/001.sql for what is in the file. */
#include "store/sqlite/sqlite.h"

#include "store/sqlite/cluster.h"
#include "store/sqlite/commit.h"
#include "store/sqlite/load.h"
#include "store/sqlite/query.h"
#include "store/sqlite/relations.h"
#include "store/sqlite/rollup.h"
#include "store/sqlite/terms.h"
#include "store/sqlite/unit_of_work.h"

#define META_CLUSTER "cluster"

void sqlite_begin_read(Sqlite *sqlite)
{
    db_begin(&sqlite->db, false);
    if (sqlite->stale) {
        catalog_drop(&sqlite->catalog);
        catalog_load(&sqlite->catalog, &sqlite->db);
        sqlite->stale = sqlite->db.rc != SQLITE_OK;
    } else if (sqlite->read_only) {
        catalog_load_names(&sqlite->catalog, &sqlite->db);
    }
}

static Err sqlite_sync(Store *store, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    if (sqlite->read_only)
        return ERR_OK;
    Err err = db_sync(&sqlite->db, why);
    if (!err && sqlite->db.checkpoint_full && reserve_spend(&sqlite->reserve))
        err = db_sync(&sqlite->db, why);
    return err;
}

static Err sqlite_result(Store *store, JobId id, Buf *out, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    sqlite_begin_read(sqlite);
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_RESULT_GET);
    sqlite3_bind_int64(stmt, 1, (int64_t)id);
    bool found = db_row(&sqlite->db, stmt);
    if (found)
        buf_add_slice(out, db_column(stmt, 0));
    sqlite3_reset(stmt);
    Err err = db_end(&sqlite->db, "read a result", why);
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

static Err read_point(Store *store, uint32_t node, PointNumbers *out, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    sqlite_begin_read(sqlite);
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_POINT_GET);
    sqlite3_bind_int64(stmt, 1, node);
    PointNumbers numbers = { 0 };
    if (db_row(&sqlite->db, stmt))
        numbers = (PointNumbers){ .position = sqlite3_column_int64(stmt, 0),
                                  .number = sqlite3_column_int64(stmt, 1),
                                  .last_id = sqlite3_column_int64(stmt, 2) };
    sqlite3_reset(stmt);
    Err err = db_end(&sqlite->db, "read a read point", why);
    if (!err)
        *out = numbers;
    return err;
}

static Err sqlite_read_point(Store *store, uint32_t node, ReadPoint *out, Error *why)
{
    PointNumbers numbers;
    Err err = read_point(store, node, &numbers, why);
    if (!err)
        *out = (ReadPoint){ .node = node, .position = (uint64_t)numbers.position };
    return err;
}

static Err sqlite_last_id(Store *store, uint32_t node, JobId *out, Error *why)
{
    PointNumbers numbers;
    Err err = read_point(store, node, &numbers, why);
    if (!err)
        *out = (JobId)numbers.last_id;
    return err;
}

static Err sqlite_last_number(Store *store, uint32_t node, uint64_t *out, Error *why)
{
    PointNumbers numbers;
    Err err = read_point(store, node, &numbers, why);
    if (!err)
        *out = (uint64_t)numbers.number;
    return err;
}

static Err sqlite_definitions(Store *store, Slice table, DefinitionSink *sink,
                              void *context, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    bool nodes = slice_is(table, STORE_TABLE_NODE);
    sqlite_begin_read(sqlite);
    sqlite3_stmt *stmt = db_statement(&sqlite->db, nodes ? SQL_NODES : SQL_DEFINITIONS);
    if (!nodes)
        db_bind_key(stmt, 1, table);
    while (db_row(&sqlite->db, stmt)) {
        Definition definition = { db_column(stmt, 0), db_column(stmt, 1),
                                  db_column(stmt, 2) };
        sink(context, &definition);
    }
    return db_end(&sqlite->db, "read definitions", why);
}

static Err sqlite_definition(Store *store, const DefinitionName *name,
                             DefinitionSink *sink, void *context, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    sqlite_begin_read(sqlite);
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_DEFINITION_GET);
    db_bind_key(stmt, 1, name->table);
    db_bind_key(stmt, 2, name->tenant);
    db_bind_key(stmt, 3, name->key);
    while (db_row(&sqlite->db, stmt)) {
        Definition definition = { db_column(stmt, 0), db_column(stmt, 1),
                                  db_column(stmt, 2) };
        sink(context, &definition);
    }
    return db_end(&sqlite->db, "read a definition", why);
}

static Err sqlite_counts(Store *store, CountSink *sink, void *context, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    sqlite_begin_read(sqlite);
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_COUNTS);
    while (db_row(&sqlite->db, stmt)) {
        LaneCount count = { .tenant = db_column(stmt, 0),
                            .queue = db_column(stmt, 1),
                            .pull = sqlite3_column_int(stmt, 2) != 0,
                            .state = (JobState)sqlite3_column_int(stmt, 3),
                            .count = (uint64_t)sqlite3_column_int64(stmt, 4) };
        sink(context, &count);
    }
    return db_end(&sqlite->db, "read counts", why);
}

static Err sqlite_uses(Store *store, uint32_t node, UseSink *sink, void *context,
                       Error *why)
{
    (void)node; /* there is one */
    Sqlite *sqlite = sqlite_of(store);
    sqlite_begin_read(sqlite);
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_USES);
    sqlite3_bind_int64(stmt, 1, STATES_WAITING);
    sqlite3_bind_int64(stmt, 2, STATES_OWNED);
    while (db_row(&sqlite->db, stmt)) {
        TenantUse use = { .tenant = db_column(stmt, 0),
                          .bytes = sqlite3_column_int64(stmt, 1),
                          .queued_here = sqlite3_column_int64(stmt, 2),
                          .running_here = sqlite3_column_int64(stmt, 3) };
        sink(context, &use);
    }
    return db_end(&sqlite->db, "read what tenants have", why);
}

static void sqlite_close(Store *store)
{
    Sqlite *sqlite = sqlite_of(store);
    held_done(sqlite);
    db_close(&sqlite->db);
    reserve_done(&sqlite->reserve);
    catalog_drop(&sqlite->catalog);
    buf_done(&sqlite->scratch);
    rollups_done(&sqlite->rollups);
    mem_free(sqlite);
}

static Err sqlite_slots(Store *store, Slice sysid, uint32_t count, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    Catalog *catalog = &sqlite->catalog;
    db_begin(&sqlite->db, true);
    if (sqlite->stale) {
        catalog_drop(catalog);
        catalog_load(catalog, &sqlite->db);
    }
    uint32_t node = catalog_name(catalog, &sqlite->db, sysid);
    for (uint32_t slot = 1; slot <= count; slot++)
        catalog_slot(catalog, &sqlite->db, node, slot);
    Err err = db_end(&sqlite->db, "write the slots of a node", why);
    sqlite->stale = err != ERR_OK;
    return err;
}

static bool sqlite_full(Store *store)
{
    return reserve_full(&sqlite_of(store)->reserve);
}

static bool sqlite_there(Store *store)
{
    return db_there(&sqlite_of(store)->db);
}

static const StoreKind sqlite_kind = {
    .name = "sqlite",
    .close = sqlite_close,
    .commit = sqlite_commit,
    .sync = sqlite_sync,
    .load = sqlite_load,
    .query = sqlite_query,
    .result = sqlite_result,
    .read_point = sqlite_read_point,
    .last_id = sqlite_last_id,
    .last_number = sqlite_last_number,
    .definitions = sqlite_definitions,
    .definition = sqlite_definition,
    .rollups = sqlite_rollups,
    .counts = sqlite_counts,
    .uses = sqlite_uses,
    .groups = sqlite_groups,
    .renew = sqlite_renew,
    .nodes = sqlite_nodes,
    .changes = sqlite_changes,
    .there = sqlite_there,
    .full = sqlite_full,
    .slots = sqlite_slots,
};

/* The file's cluster must be ours; a new file becomes so. */
static Err check_cluster(Db *db, const char *cluster, bool read_only, Error *why)
{
    db_begin(db, !read_only);
    sqlite3_stmt *stmt = db_statement(db, SQL_META_GET);
    db_bind_key(stmt, 1, slice_text(META_CLUSTER));
    bool found = db_row(db, stmt);
    bool same = found && slice_is(db_column(stmt, 0), cluster);
    sqlite3_reset(stmt);
    if (!found && !read_only) {
        stmt = db_statement(db, SQL_META_PUT);
        db_bind_key(stmt, 1, slice_text(META_CLUSTER));
        db_bind_key(stmt, 2, slice_text(cluster));
        db_run(db, stmt);
    }
    Err err = db_end(db, "check the cluster", why);
    if (!err && found && !same)
        err =
            error_set(why, ERR_CONFLICT, "store: %s belongs to another cluster than '%s'",
                      db->path, cluster);
    return err;
}

/* On a full disk with what was kept for it: who cannot start cannot make room. */
static Err open_db(Sqlite *sqlite, const char *path, const StoreOptions *options,
                   Error *why)
{
    if (options->read_only)
        return db_open(&sqlite->db, path, options, why);
    Err err = db_open(&sqlite->db, path, options, why);
    if (err == ERR_BUSY)
        return err; /* of another owner, as is the reserve */
    reserve_init(&sqlite->reserve, path);
    bool full = err == ERR_FULL || (err == ERR_IO && reserve_needed(&sqlite->reserve));
    if (full && reserve_spend(&sqlite->reserve))
        err = db_open(&sqlite->db, path, options, why);
    if (!err && sqlite->db.checkpoint_full && reserve_spend(&sqlite->reserve))
        err = db_sync(&sqlite->db, why);
    if (err)
        reserve_done(&sqlite->reserve);
    return err;
}

Err store_sqlite_open(const char *path, const StoreOptions *options, Store **out,
                      Error *why)
{
    Sqlite *sqlite = MEM_NEW(Sqlite);
    sqlite->store.kind = &sqlite_kind;
    sqlite->read_only = options->read_only;
    sqlite->stale = true;
    sqlite->scan_ms = QUERY_SCAN_MS;
    Err err = open_db(sqlite, path, options, why);
    if (err) {
        mem_free(sqlite);
        return err;
    }
    err = terms_functions(sqlite->db.handle, &sqlite->sets, why);
    if (!err && options->cluster)
        err = check_cluster(&sqlite->db, options->cluster, options->read_only, why);
    if (!err) {
        sqlite_begin_read(sqlite);
        err = db_end(&sqlite->db, "open", why);
    }
    if (err) {
        store_close(&sqlite->store);
        return err;
    }
    *out = &sqlite->store;
    return ERR_OK;
}
