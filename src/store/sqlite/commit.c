/* SPDX-License-Identifier: Apache-2.0 */
/* commit.c - see commit.h. */
#include "store/sqlite/commit.h"

#include "core/resource.h"
#include "core/share/peer.h"
#include "store/sqlite/booking.h"
#include "store/sqlite/cluster.h"
#include "store/sqlite/relations.h"
#include "store/sqlite/rollup.h"
#include "store/sqlite/unit_of_work.h"

#define LINES_HELD_MAX 64 /* short line adds are held: their jobs may be gone soon */

/* --- Adding ------------------------------------------------------------------------ */

/* Ids of a node rise, so only one at or below the largest can be there already. */
static bool exists(Sqlite *sqlite, JobId id)
{
    Point *point = points_of(&sqlite->catalog.points, id_node(id));
    if (id > point->last_id) {
        point_added(point, id);
        return false;
    }
    return held_there(sqlite, id);
}

static OpResult add_job(Sqlite *sqlite, const Job *job)
{
    if (exists(sqlite, job->id))
        return OP_EXISTS;
    held_add(sqlite, job);
    rollups_add(&sqlite->rollups, job, 1);
    links_added(sqlite, job);
    return OP_APPLIED;
}

/* Lines whose ids are all new: bound once, stepped for every line. */
typedef struct LineAdd {
    Sqlite *sqlite;
    sqlite3_stmt *stmt;
    const Op *op;
    uint32_t node;
    RowValues values;
    uint64_t count;
    int64_t bytes;
} LineAdd;

static void add_line(LineAdd *add, Slice line)
{
    Db *db = &add->sqlite->db;
    JobId id = id_from_count(add->op->first + add->count++, (uint16_t)add->node);
    bool apart = line.bytes > STORE_PAYLOAD_SMALL;
    if (apart) {
        sqlite3_stmt *payload = db_statement(db, SQL_PAYLOAD_PUT);
        sqlite3_bind_int64(payload, 1, (int64_t)id);
        db_bind_blob(payload, 2, line);
        db_run(db, payload);
    }
    add->bytes += (int64_t)line.bytes;
    columns_refill(&add->values, id, line, apart);
    row_columns_bind_line(add->stmt, &add->values);
    db_run(db, add->stmt);
}

static void add_new_lines(Sqlite *sqlite, const Op *op, uint32_t node, uint64_t lines)
{
    Db *db = &sqlite->db;
    Place place = place_of(op->job->state);
    RowColumns pattern = { .row = row_new(op->job), .opened = true };
    LineAdd add = { .sqlite = sqlite, .op = op, .node = node };
    add.stmt = db_statement(db, (Sql)(SQL_LIVE_ADD + place));
    uint32_t lane =
        row_columns_values(&add.values, &pattern, &sqlite->catalog, db, &sqlite->scratch);
    row_columns_bind(add.stmt, &add.values);
    Slice rest = op->body;
    Slice line;
    while (add.count < lines && lines_next(&rest, &line))
        add_line(&add, line);
    catalog_count(&sqlite->catalog, lane, op->job->state, (int64_t)add.count);
    catalog_bytes(&sqlite->catalog, lane, add.bytes);
    if (add.count)
        rollups_add(&sqlite->rollups, op->job, add.count);
    if (add.count)
        point_added(points_of(&sqlite->catalog.points, node),
                    id_from_count(op->first + add.count - 1, (uint16_t)node));
}

static OpResult add_lines(Sqlite *sqlite, const Op *op, uint32_t node)
{
    uint64_t lines = op->count ? op->count : lines_count(op->body);
    JobId first = id_from_count(op->first, (uint16_t)node);
    bool linked = (op->job->flags & (JOB_LINKED | JOB_MERGES)) != 0;
    if (lines > LINES_HELD_MAX && !linked &&
        first > points_of(&sqlite->catalog.points, node)->last_id) {
        add_new_lines(sqlite, op, node, lines);
        return OP_APPLIED;
    }
    Slice rest = op->body;
    Slice line;
    uint64_t added = 0;
    uint64_t k = 0;
    for (; k < lines && lines_next(&rest, &line); k++) {
        Job job = row_line(op, node, k, line);
        added += add_job(sqlite, &job) == OP_APPLIED;
    }
    return k && !added ? OP_EXISTS : OP_APPLIED;
}

/* --- One job -------------------------------------------------------------------------
 */

static void bind_attempt(sqlite3_stmt *stmt, const Row *row, uint32_t node)
{
    const Job *job = &row->job;
    sqlite3_bind_int64(stmt, 1, (int64_t)job->id);
    sqlite3_bind_int64(stmt, 2, job->attempt);
    db_bind_int(stmt, 3, row->slot);
    db_bind_int(stmt, 4, node);
    db_bind_int(stmt, 5, row->run_retry);
    sqlite3_bind_int64(stmt, 6, row->run_state);
    db_bind_int(stmt, 7, job->run_at_ms);
    db_bind_int(stmt, 8, job->service_ms);
    db_bind_int(stmt, 9, job->started_ms);
    db_bind_int(stmt, 10, job->finished_ms);
    db_bind_int(stmt, 11, job->beat_ms);
    db_bind_int(stmt, 12, job->outcome.code);
    db_bind_int(stmt, 13, job->outcome.exitcode);
    sqlite3_bind_int64(stmt, 14, job->outcome.exit_status);
    db_bind_int(stmt, 15, job->outcome.signal);
    db_bind_text(stmt, 16, job->error);
    db_bind_int(stmt, 17, job->version);
}

static void keep_attempt(Sqlite *sqlite, Held *held)
{
    Db *db = &sqlite->db;
    row_columns_open(&held->saved, db);
    const Row *row = &held->saved.row;
    uint32_t node = catalog_name(&sqlite->catalog, db, row->job.node);
    if (node && row->slot)
        catalog_slot(&sqlite->catalog, db, node, row->slot);
    sqlite3_stmt *stmt = db_statement(db, SQL_ATTEMPT_ADD);
    bind_attempt(stmt, row, node);
    db_run(db, stmt);
}

static void keep_result(Sqlite *sqlite, const Job *job, Slice result)
{
    if (!result.bytes && !job->result_bytes)
        return;
    sqlite3_stmt *stmt =
        db_statement(&sqlite->db, result.bytes ? SQL_RESULT_PUT : SQL_RESULT_REMOVE);
    sqlite3_bind_int64(stmt, 1, (int64_t)job->id);
    if (result.bytes)
        db_bind_blob(stmt, 2, result);
    db_run(&sqlite->db, stmt);
}

#define FIELDS_IN_SPEC                                                                   \
    (FIELD_PAYLOAD | FIELD_TAGS | FIELD_MAX_RUN | FIELD_RETRY | FIELD_RUN_AT |           \
     FIELD_HANDLER | FIELD_FREED) /* or beside it */

/* Only where nodes have joined: whose a job is stands among its packed fields. */
static OpResult guard(Sqlite *sqlite, const Op *op, Held *held, uint32_t node)
{
    OpResult result = OP_APPLIED;
    if (sqlite_joined(sqlite, node)) {
        row_columns_open(&held->saved, &sqlite->db);
        result = cluster_guard(op, node, &held->saved.row.job);
    }
    return result == OP_APPLIED ? row_guard(&held->saved.row, op) : result;
}

static OpResult change_job(Sqlite *sqlite, const Op *op, uint32_t node)
{
    Held *held = held_find(sqlite, op->id);
    if (!held)
        return OP_MISSING;
    Row *row = &held->saved.row;
    OpResult result = guard(sqlite, op, held, node);
    if (result != OP_APPLIED)
        return result;
    if (op->kind == OP_REMOVE) {
        links_removed(sqlite, held);
        held_remove(sqlite, held);
        return OP_APPLIED;
    }
    if (op->kind == OP_CLAIM) { /* the version stands among the packed fields */
        row_columns_open(&held->saved, &sqlite->db);
        held->rewrite = held->rewrite || row->job.version != op->version;
    }
    if (row_forgets(row, op))
        keep_attempt(sqlite, held);
    if (op->kind == OP_CLAIM && op->bookings.bytes)
        booking_put(&sqlite->db, op->id, op->attempt, op->bookings);
    if (op->kind == OP_FINISH)
        keep_result(sqlite, &row->job, op->result);
    bool opens_window = op->kind == OP_FINISH && op->window_from_ms;
    if ((op->kind == OP_MOVE && (op->fields & FIELDS_IN_SPEC)) || op->kind == OP_GIVE ||
        opens_window) {
        row_columns_open(&held->saved, &sqlite->db);
        held->rewrite = true;
    }
    rollups_change(&sqlite->rollups, row, op);
    const Job was = { .state = row->job.state, .flags = row->job.flags };
    uint32_t owner = row->job.owner;
    row_change(row, op);
    if (sqlite_joined(sqlite, node)) {
        cluster_claim_final(op, node, was.state, &row->job);
        held->rewrite = held->rewrite || row->job.owner != owner;
    }
    if (op->kind == OP_MOVE && (op->fields & FIELD_PAYLOAD))
        held_payload(sqlite, held, op->payload);
    held->changed = true;
    links_changed(sqlite, held, op, &was);
    return OP_APPLIED;
}

/* --- Sets ------------------------------------------------------------------------------
 */

static void beat(Sqlite *sqlite, const Op *op)
{
    held_flush(sqlite);
    uint32_t owner = op->lock.bytes ? names_find(&sqlite->catalog.names, op->lock) : 0;
    if (!owner)
        return;
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_BEAT);
    sqlite3_bind_int64(stmt, 1, owner);
    sqlite3_bind_int64(stmt, 2, op->dt_ms);
    db_bind_int(stmt, 3, op->at_ms);
    db_run(&sqlite->db, stmt);
}

typedef struct OldJob {
    JobId id;
    int64_t dt_ms;
} OldJob;

typedef struct OldJobs {
    OldJob *items;
    size_t count;
    size_t capacity;
} OldJobs;

static void find_old(Sqlite *sqlite, Sql sql, const Op *op, OldJobs *out)
{
    JobStates states = (op->from ? op->from : STATES_FINAL) & STATES_FINAL;
    sqlite3_stmt *stmt = db_statement(&sqlite->db, sql);
    sqlite3_bind_int64(stmt, 1, op->dt_ms + MS_PER_1000_YEARS);
    sqlite3_bind_int64(stmt, 2, states);
    sqlite3_bind_int64(stmt, 3, (int64_t)op->count);
    while (db_row(&sqlite->db, stmt)) {
        OldJob old = { .id = (JobId)sqlite3_column_int64(stmt, COL_ID),
                       .dt_ms = sqlite3_column_int64(stmt, COL_DT) };
        MEM_PUSH(out->items, out->count, out->capacity) = old;
    }
}

static bool older(const OldJob *a, const OldJob *b)
{
    return a->dt_ms != b->dt_ms ? a->dt_ms < b->dt_ms : a->id < b->id;
}

/* Both families, the oldest first whichever it is from. */
static void purge(Sqlite *sqlite, const Op *op)
{
    held_flush(sqlite);
    OldJobs done = { 0 };
    OldJobs dead = { 0 };
    find_old(sqlite, SQL_DONE_OLD, op, &done);
    find_old(sqlite, SQL_DEAD_OLD, op, &dead);
    size_t i = 0;
    size_t k = 0;
    while (i + k < op->count && (i < done.count || k < dead.count)) {
        bool take_done =
            k == dead.count || (i < done.count && older(&done.items[i], &dead.items[k]));
        JobId id = take_done ? done.items[i++].id : dead.items[k++].id;
        Held *held = held_find(sqlite, id);
        if (!held)
            continue;
        links_removed(sqlite, held);
        held_remove(sqlite, held);
    }
    mem_free(done.items);
    mem_free(dead.items);
}

/* --- Small tables
 * -------------------------------------------------------------------------- */

static OpResult define(Sqlite *sqlite, const Op *op, uint32_t node)
{
    Db *db = &sqlite->db;
    bool put = op->kind == OP_PUT;
    if (slice_is(op->table, HOME_TABLE) && !sqlite_home_free(sqlite, op, node))
        return OP_LOST;
    sqlite3_stmt *stmt =
        db_statement(db, put ? SQL_DEFINITION_PUT : SQL_DEFINITION_REMOVE);
    db_bind_key(stmt, 1, op->table);
    db_bind_key(stmt, 2, op->tenant);
    db_bind_key(stmt, 3, op->key);
    if (put)
        db_bind_blob(stmt, 4, op->value);
    db_run(db, stmt);
    int changes = sqlite3_changes(db->handle);
    if (slice_is(op->table, RESOURCE_TABLE))
        booking_items(db, op->key, put ? op->value : (Slice){ NULL, 0 });
    if ((put || changes) && cluster_tells(op->table))
        sqlite_defined(db, op, node);
    return put || changes ? OP_APPLIED : OP_MISSING;
}

static void put_node(Db *db, const Op *op)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_NODE_PUT);
    db_bind_key(stmt, 1, op->lock);
    db_bind_int(stmt, 2, op->at_ms);
    db_bind_blob(stmt, 3, op->value);
    db_run(db, stmt);
}

static OpResult put_key(Db *db, const Op *op)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_KEY_GET);
    db_bind_key(stmt, 1, op->tenant);
    db_bind_key(stmt, 2, op->key);
    bool found = db_row(db, stmt);
    int64_t expiry_ms = found ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_reset(stmt);
    if (found && expiry_ms > op->at_ms)
        return OP_EXISTS;
    stmt = db_statement(db, SQL_KEY_PUT);
    db_bind_key(stmt, 1, op->tenant);
    db_bind_key(stmt, 2, op->key);
    sqlite3_bind_int64(stmt, 3, op->dt_ms);
    db_bind_blob(stmt, 4, op->value);
    db_run(db, stmt);
    stmt = db_statement(db, SQL_KEY_EXPIRE);
    sqlite3_bind_int64(stmt, 1, op->at_ms);
    sqlite3_bind_int64(stmt, 2, STORE_KEYS_EXPIRED_PER_ADD);
    db_run(db, stmt);
    return OP_APPLIED;
}

static OpResult apply(Sqlite *sqlite, const Op *op, uint32_t node)
{
    if (sqlite_fenced(sqlite, node) && !cluster_outlives_fence(op))
        return OP_LOST;
    switch (op->kind) {
    case OP_ADD:
        return add_job(sqlite, op->job);
    case OP_ADD_LINES:
        return add_lines(sqlite, op, node);
    case OP_CLAIM:
    case OP_PROGRESS:
    case OP_FINISH:
    case OP_MOVE:
    case OP_PAUSE:
    case OP_REMOVE:
    case OP_GIVE:
        return change_job(sqlite, op, node);
    case OP_BEAT:
        beat(sqlite, op);
        return OP_APPLIED;
    case OP_PURGE:
        purge(sqlite, op);
        return OP_APPLIED;
    case OP_PUT:
    case OP_DELETE:
        return define(sqlite, op, node);
    case OP_NODE:
        put_node(&sqlite->db, op);
        return OP_APPLIED;
    case OP_KEY:
        return put_key(&sqlite->db, op);
    case OP_MAIL:
    case OP_TAKEN:
    case OP_FENCE:
    case OP_TAKE:
    case OP_JOIN:
        return sqlite_cluster_op(sqlite, op, node);
    case OP_DROP:
    case OP_SWEPT:
        return OP_APPLIED; /* nothing is kept in pieces */
    }
    return OP_CONFLICT;
}

static void apply_batch(Sqlite *sqlite, const Batch *batch, OpResult *out_results)
{
    Points *points = &sqlite->catalog.points;
    uint32_t node = point_node(batch);
    bool passed = point_passed(points_of(points, node), batch);
    for (size_t i = 0; i < batch->count; i++) {
        OpResult result = passed ? point_result(points_of(points, node), batch, i)
                                 : apply(sqlite, &batch->ops[i], batch->node);
        point_note(points_of(points, node), batch, i, result);
        if (out_results)
            out_results[i] = result;
    }
    point_move(points_of(points, node), batch);
}

static Err try_commit(Sqlite *sqlite, const Batch *batches, size_t count,
                      OpResult *out_results, Error *why)
{
    db_begin(&sqlite->db, true);
    if (sqlite->stale) {
        catalog_drop(&sqlite->catalog);
        catalog_load(&sqlite->catalog, &sqlite->db);
    }
    for (size_t i = 0; i < count && sqlite->db.rc == SQLITE_OK; i++) {
        apply_batch(sqlite, &batches[i], out_results);
        if (out_results)
            out_results += batches[i].count;
    }
    held_flush(sqlite);
    sqlite_rollups_save(sqlite);
    catalog_save(&sqlite->catalog, &sqlite->db);
    Err err = db_end(&sqlite->db, "commit", why);
    sqlite->stale = err != ERR_OK;
    if (err) {
        rollups_clear(&sqlite->rollups);
        sqlite->folded_hour = 0; /* that was undone, too */
        return err;
    }
    points_settle(&sqlite->catalog.points);
    db_bound_log(&sqlite->db, reserve_low(&sqlite->reserve));
    return ERR_OK;
}

/* As long as the reserve is spent, what is free inside the file counts. */
static void look_at_room(Sqlite *sqlite)
{
    if (!reserve_is_spent(&sqlite->reserve))
        return;
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_FREE_PAGES);
    int64_t pages = db_row(&sqlite->db, stmt) ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_reset(stmt);
    reserve_note_free(&sqlite->reserve, pages * DB_PAGE_BYTES);
}

Err sqlite_commit(Store *store, const Batch *batches, size_t count, OpResult *out_results,
                  Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    if (sqlite->read_only)
        return error_set(why, ERR_DENIED, "store: %s was opened to be read only",
                         sqlite->db.path);
    Err err = try_commit(sqlite, batches, count, out_results, why);
    if (err == ERR_FULL && reserve_spend(&sqlite->reserve))
        err = try_commit(sqlite, batches, count, out_results, why);
    if (!err)
        look_at_room(sqlite);
    return err;
}
