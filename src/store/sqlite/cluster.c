/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - see cluster.h. */
#include "store/sqlite/cluster.h"

#include "core/share/peer.h"
#include "store/sqlite/unit_of_work.h"

typedef struct LeaseRow {
    uint64_t epoch;
    bool fenced;
} LeaseRow;

/* --- Guards ------------------------------------------------------------------------ */

static bool some_nodes(Sqlite *sqlite)
{
    if (!sqlite->nodes_known) {
        sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_NODE_ANY);
        sqlite->some_nodes = db_row(&sqlite->db, stmt);
        sqlite3_reset(stmt);
        sqlite->nodes_known = sqlite->db.rc == SQLITE_OK;
    }
    return sqlite->some_nodes;
}

static bool lease_of(Sqlite *sqlite, uint32_t node, LeaseRow *out)
{
    if (!node || !some_nodes(sqlite))
        return false;
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_NODE_OF);
    sqlite3_bind_int64(stmt, 1, node);
    bool found = db_row(&sqlite->db, stmt);
    if (found)
        *out = (LeaseRow){ (uint64_t)sqlite3_column_int64(stmt, 0),
                           sqlite3_column_int(stmt, 1) != 0 };
    sqlite3_reset(stmt);
    return found;
}

bool sqlite_joined(Sqlite *sqlite, uint32_t node)
{
    LeaseRow lease;
    return lease_of(sqlite, node, &lease) && lease.epoch;
}

bool sqlite_fenced(Sqlite *sqlite, uint32_t node)
{
    LeaseRow lease;
    return lease_of(sqlite, node, &lease) && lease.fenced;
}

/* --- Operations -------------------------------------------------------------------- */

/* Changes something, or nothing was as asked. */
static bool changed(Db *db, sqlite3_stmt *stmt)
{
    db_run(db, stmt);
    return sqlite3_changes(db->handle) > 0;
}

static OpResult fence(Sqlite *sqlite, const Op *op)
{
    LeaseRow lease;
    if (!lease_of(sqlite, op->node, &lease))
        return OP_MISSING;
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_NODE_FENCE);
    sqlite3_bind_int64(stmt, 1, op->node);
    sqlite3_bind_int64(stmt, 2, (int64_t)op->count);
    sqlite3_bind_int64(stmt, 3, clock_now().wall_ms);
    return changed(&sqlite->db, stmt) ? OP_APPLIED : OP_LOST;
}

static OpResult join_node(Sqlite *sqlite, const Op *op, uint32_t node)
{
    LeaseRow lease;
    Db *db = &sqlite->db;
    if (!lease_of(sqlite, node, &lease))
        return OP_MISSING;
    sqlite3_stmt *stmt = db_statement(db, SQL_NODE_JOIN);
    sqlite3_bind_int64(stmt, 1, node);
    sqlite3_bind_int64(stmt, 2, (int64_t)op->count);
    if (!changed(db, stmt))
        return OP_LOST;
    stmt = db_statement(db, SQL_MAIL_CLEAR);
    sqlite3_bind_int64(stmt, 1, node);
    db_run(db, stmt);
    return OP_APPLIED;
}

static void live_ids(Sqlite *sqlite, Buf *out)
{
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_LIVE_IDS);
    while (db_row(&sqlite->db, stmt)) {
        JobId id = (JobId)sqlite3_column_int64(stmt, 0);
        buf_add(out, &id, sizeof id);
    }
    sqlite3_reset(stmt);
}

static OpResult take(Sqlite *sqlite, const Op *op, uint32_t node)
{
    if (!sqlite_fenced(sqlite, op->node))
        return OP_LOST;
    held_flush(sqlite);
    Buf ids = { 0 };
    live_ids(sqlite, &ids);
    uint64_t taken = 0;
    for (size_t at = 0; at < ids.bytes && taken < op->count; at += sizeof(JobId)) {
        JobId id;
        memcpy(&id, ids.data + at, sizeof id);
        Held *held = held_find(sqlite, id);
        if (!held)
            continue;
        row_columns_open(&held->saved, &sqlite->db);
        Job *job = &held->saved.row.job;
        if (job_owner(job) != op->node || (job->flags & JOB_STAYS))
            continue;
        job_set_owner(job, node);
        held->changed = held->rewrite = true;
        taken++;
    }
    buf_done(&ids);
    return taken ? OP_APPLIED : OP_MISSING;
}

static OpResult mail(Db *db, const Op *op, uint32_t node)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_MAIL_ADD);
    sqlite3_bind_int64(stmt, 1, op->node);
    sqlite3_bind_int64(stmt, 2, node);
    db_bind_blob(stmt, 3, op->value);
    db_run(db, stmt);
    return OP_APPLIED;
}

static OpResult mail_taken(Db *db, const Op *op, uint32_t node)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_MAIL_TAKEN);
    sqlite3_bind_int64(stmt, 1, (int64_t)op->count);
    sqlite3_bind_int64(stmt, 2, node);
    return changed(db, stmt) ? OP_APPLIED : OP_MISSING;
}

bool sqlite_home_free(Sqlite *sqlite, const Op *op, uint32_t node)
{
    LeaseRow lease = { 0 };
    Buf now = { 0 };
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_DEFINITIONS);
    db_bind_key(stmt, 1, op->table);
    if (db_row(&sqlite->db, stmt))
        buf_add(&now, sqlite3_column_blob(stmt, 2),
                (size_t)sqlite3_column_bytes(stmt, 2));
    sqlite3_reset(stmt);
    bool known = lease_of(sqlite, home_read(buf_slice(&now)).node, &lease);
    bool is_free = cluster_home_free(op, node, buf_slice(&now), !known || lease.fenced);
    buf_done(&now);
    return is_free;
}

OpResult sqlite_cluster_op(Sqlite *sqlite, const Op *op, uint32_t node)
{
    if (op->kind == OP_MAIL)
        return mail(&sqlite->db, op, node);
    if (op->kind == OP_TAKEN)
        return mail_taken(&sqlite->db, op, node);
    if (op->kind == OP_FENCE)
        return fence(sqlite, op);
    return op->kind == OP_TAKE ? take(sqlite, op, node) : join_node(sqlite, op, node);
}

void sqlite_defined(Db *db, const Op *op, uint32_t node)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_CHANGE_PUT);
    db_bind_key(stmt, 1, op->table);
    db_bind_key(stmt, 2, op->tenant);
    db_bind_key(stmt, 3, op->key);
    sqlite3_bind_int64(stmt, 4, node);
    db_run(db, stmt);
    if (!cluster_trims(&db->defined))
        return;
    stmt = db_statement(db, SQL_CHANGES_TRIM);
    sqlite3_bind_int64(stmt, 1, CHANGES_KEPT);
    db_run(db, stmt);
}

/* --- Reading ----------------------------------------------------------------------- */

void sqlite_inbox(Sqlite *sqlite, const Load *load, Loaded *out)
{
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_INBOX);
    sqlite3_bind_int64(stmt, 1, load->owner);
    sqlite3_bind_int64(stmt, 2, load->limit ? (int64_t)load->limit + 1 : -1);
    while (db_row(&sqlite->db, stmt)) {
        if (load->limit && out->letter_count == load->limit) {
            out->more = true;
            break;
        }
        Letter letter = { .number = (uint64_t)sqlite3_column_int64(stmt, 0),
                          .from = (uint32_t)sqlite3_column_int64(stmt, 1),
                          .body = slice_copy(&out->arena, db_column(stmt, 2)) };
        MEM_PUSH(out->letters, out->letter_count, out->letter_capacity) = letter;
    }
    sqlite3_reset(stmt);
}

static Slice present(sqlite3_stmt *stmt, int column)
{
    Slice value = db_column(stmt, column);
    return slice_of(value.data ? value.data : "", value.bytes);
}

Err sqlite_changes(Store *store, uint64_t after, ChangeSink *sink, void *context,
                   Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    sqlite_begin_read(sqlite);
    bool last = after == CHANGES_LAST;
    sqlite3_stmt *stmt = db_statement(&sqlite->db, last ? SQL_CHANGE_LAST : SQL_CHANGES);
    if (!last)
        sqlite3_bind_int64(stmt, 1, (int64_t)after);
    while (db_row(&sqlite->db, stmt)) {
        Change change = { .change = (uint64_t)sqlite3_column_int64(stmt, 0),
                          .node = (uint32_t)sqlite3_column_int64(stmt, 1),
                          .table = db_column(stmt, 2),
                          .definition.tenant = db_column(stmt, 3),
                          .definition.key = db_column(stmt, 4) };
        if (sqlite3_column_int(stmt, 6))
            change.definition.value = present(stmt, 5);
        sink(context, &change);
    }
    return db_end(&sqlite->db, "read changes", why);
}

Err sqlite_nodes(Store *store, NodeSink *sink, void *context, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    int64_t now_ms = clock_now().wall_ms;
    sqlite_begin_read(sqlite);
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_NODE_ROWS);
    while (db_row(&sqlite->db, stmt)) {
        NodeRow row = { .sysid = db_column(stmt, 0),
                        .number = (uint32_t)sqlite3_column_int64(stmt, 1),
                        .epoch = (uint64_t)sqlite3_column_int64(stmt, 2),
                        .fenced = sqlite3_column_int(stmt, 3) != 0,
                        .controls = sqlite3_column_int(stmt, 4) != 0,
                        .left_ms = sqlite3_column_int64(stmt, 5) - now_ms,
                        .facts = db_column(stmt, 6) };
        sink(context, &row);
    }
    return db_end(&sqlite->db, "read nodes", why);
}

/* --- Leases ------------------------------------------------------------------------ */

static uint32_t free_number(Sqlite *sqlite, uint32_t wanted)
{
    Db *db = &sqlite->db;
    uint32_t smallest = 1;
    bool taken = !wanted;
    sqlite3_stmt *stmt = db_statement(db, SQL_NODE_NUMBERS);
    while (db_row(db, stmt)) {
        uint32_t number = (uint32_t)sqlite3_column_int64(stmt, 0);
        smallest += number == smallest;
        taken |= number == wanted && sqlite3_column_int(stmt, 1);
    }
    return taken ? smallest : wanted;
}

static void read_lease(Sqlite *sqlite, const Renewal *renewal, NodeRow *out)
{
    Db *db = &sqlite->db;
    sqlite3_stmt *stmt = db_statement(db, SQL_NODE_GET);
    db_bind_key(stmt, 1, renewal->sysid);
    if (db_row(db, stmt))
        *out = (NodeRow){ .number = (uint32_t)sqlite3_column_int64(stmt, 0),
                          .epoch = (uint64_t)sqlite3_column_int64(stmt, 1),
                          .fenced = sqlite3_column_int(stmt, 2) != 0 };
    sqlite3_reset(stmt);
    if (!out->number)
        out->number = free_number(sqlite, renewal->number);
}

static void put_lease(Sqlite *sqlite, const Renewal *renewal, NodeRow *row)
{
    Db *db = &sqlite->db;
    int64_t now_ms = clock_now().wall_ms;
    sqlite3_stmt *stmt = db_statement(db, SQL_NODE_RENEW);
    db_bind_key(stmt, 1, renewal->sysid);
    sqlite3_bind_int64(stmt, 2, now_ms);
    db_bind_blob(stmt, 3, renewal->facts);
    sqlite3_bind_int64(stmt, 4, row->number);
    sqlite3_bind_int64(stmt, 5, now_ms + renewal->lease_ms);
    db_run(db, stmt);
    stmt = db_statement(db, SQL_NODE_CONTROLLER);
    sqlite3_bind_int64(stmt, 1, row->number);
    sqlite3_bind_int64(stmt, 2, now_ms);
    bool another = db_row(db, stmt);
    sqlite3_reset(stmt);
    row->left_ms = renewal->lease_ms;
    row->controls =
        renewal->controls && renewal->lease_ms && row->epoch && !row->fenced && !another;
    stmt = db_statement(db, SQL_NODE_CONTROLS);
    sqlite3_bind_int64(stmt, 1, row->number);
    sqlite3_bind_int64(stmt, 2, row->controls);
    db_run(db, stmt);
}

Err sqlite_renew(Store *store, const Renewal *renewal, NodeRow *out, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    if (sqlite->read_only)
        return error_set(why, ERR_DENIED, "store: %s was opened to be read only",
                         sqlite->db.path);
    NodeRow row = { 0 };
    db_begin(&sqlite->db, true);
    read_lease(sqlite, renewal, &row);
    bool full = row.number > NODE_NUMBER_MAX;
    if (!full)
        put_lease(sqlite, renewal, &row);
    sqlite->nodes_known = false;
    Err err = db_end(&sqlite->db, "renew a lease", why);
    if (!err && full)
        err = error_set(why, ERR_FULL, "store: all %d node numbers are taken",
                        NODE_NUMBER_MAX);
    if (!err)
        *out = row;
    return err;
}
