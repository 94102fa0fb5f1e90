/* SPDX-License-Identifier: Apache-2.0 */
/* relations.c - see relations.h. */
#include "store/sqlite/relations.h"

#include "core/unique.h"

/* --- Who waits for whom ---------------------------------------------------------------
 */

bool links_any(Sqlite *sqlite)
{
    if (sqlite->waits_known && !sqlite->read_only)
        return sqlite->some_wait;
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_WAIT_ANY);
    sqlite->some_wait = db_row(&sqlite->db, stmt);
    sqlite3_reset(stmt);
    sqlite->waits_known = sqlite->db.rc == SQLITE_OK;
    return sqlite->some_wait;
}

static void run_by_id(Db *db, Sql sql, JobId id)
{
    sqlite3_stmt *stmt = db_statement(db, sql);
    sqlite3_bind_int64(stmt, 1, (int64_t)id);
    db_run(db, stmt);
}

static void put_ended(Db *db, JobId parent, int32_t state)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_ENDED_PUT);
    sqlite3_bind_int64(stmt, 1, (int64_t)parent);
    sqlite3_bind_int64(stmt, 2, state);
    db_run(db, stmt);
}

/* Whoever has a row with this parent is to be looked at. */
static void look_at(Sqlite *sqlite, JobId parent, int32_t state)
{
    Db *db = &sqlite->db;
    sqlite3_stmt *stmt = db_statement(db, SQL_WAIT_FOR);
    sqlite3_bind_int64(stmt, 1, (int64_t)parent);
    bool anyone = db_row(db, stmt);
    sqlite3_reset(stmt);
    if (anyone)
        put_ended(db, parent, state);
}

/* The job is over: whoever waits for it is to be looked at. */
static void ended(Sqlite *sqlite, JobId parent, JobState state)
{
    if (links_any(sqlite))
        look_at(sqlite, parent, (int32_t)state);
}

/* It is not over any more: no one may go by its end; whoever was cancelled because of it
 * is to be looked at. */
static void reopened(Sqlite *sqlite, JobId id)
{
    if (links_any(sqlite))
        run_by_id(&sqlite->db, SQL_ENDED_REMOVE, id);
    look_at(sqlite, after_broke(id), STATE_REOPENED);
}

static void add_row(Db *db, JobId parent, JobId child, int32_t cond)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_WAIT_ADD);
    sqlite3_bind_int64(stmt, 1, (int64_t)parent);
    sqlite3_bind_int64(stmt, 2, (int64_t)child);
    sqlite3_bind_int64(stmt, 3, cond);
    db_run(db, stmt);
}

static void add_broken(Db *db, JobId child, Slice list)
{
    AfterItem item;
    while (after_next(&list, &item))
        add_row(db, after_broke(item.id), child, AFTER_BROKE);
}

/* `fields`: of the move that makes it wait; 0: it is new. */
static void add_waits(Sqlite *sqlite, const Job *job, uint32_t fields)
{
    Db *db = &sqlite->db;
    Slice rest = job->after;
    AfterItem item;
    while (after_next(&rest, &item)) {
        const Held *parent = held_find(sqlite, item.id);
        int32_t state = STATE_GONE;
        if (parent)
            state = (int32_t)parent->saved.row.job.state;
        if (parent && !slice_equal(parent->saved.row.job.tenant, job->tenant)) {
            item.id |= AFTER_FOREIGN;
            state = STATE_GONE;
        }
        bool over;
        item = after_begin(item, state, fields, job->attempt > 0, &over);
        add_row(db, item.id, job->id, (int32_t)item.on);
        if (over)
            put_ended(db, item.id, state);
    }
    sqlite->some_wait = true;
    sqlite->waits_known = true;
}

typedef struct WaitRows {
    AfterRow *items;
    size_t count;
    size_t capacity;
} WaitRows;

static WaitRows waits_of(Sqlite *sqlite, JobId child)
{
    WaitRows rows = { 0 };
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_WAITS_OF);
    sqlite3_bind_int64(stmt, 1, (int64_t)child);
    while (db_row(&sqlite->db, stmt)) {
        AfterRow row = { .parent = (JobId)sqlite3_column_int64(stmt, 0),
                         .cond = sqlite3_column_int(stmt, 1),
                         .ended = sqlite3_column_int(stmt, 2) != 0,
                         .state = sqlite3_column_int(stmt, 3) };
        MEM_PUSH(rows.items, rows.count, rows.capacity) = row;
    }
    return rows;
}

AfterCount links_after(Sqlite *sqlite, JobId child, Arena *arena)
{
    AfterTally tally = { 0 };
    WaitRows rows = waits_of(sqlite, child);
    for (size_t i = 0; i < rows.count; i++)
        after_tally(&tally, &rows.items[i]);
    mem_free(rows.items);
    return after_tallied(&tally, arena);
}

/* Of those that the child waits for the listed ones; no list: all. */
static void settle(Sqlite *sqlite, JobId child, const Slice *list)
{
    Db *db = &sqlite->db;
    WaitRows rows = waits_of(sqlite, child);
    for (size_t i = 0; i < rows.count; i++) {
        if (list && !after_names(*list, after_id(rows.items[i].parent)))
            continue;
        sqlite3_stmt *stmt = db_statement(db, SQL_WAIT_REMOVE);
        sqlite3_bind_int64(stmt, 1, (int64_t)rows.items[i].parent);
        sqlite3_bind_int64(stmt, 2, (int64_t)child);
        db_run(db, stmt);
        if (rows.items[i].ended)
            run_by_id(db, SQL_ENDED_SETTLE, rows.items[i].parent);
    }
    mem_free(rows.items);
}

static bool holds(const IdList *list, JobId id)
{
    for (size_t i = list->count; i-- > 0;)
        if (list->items[i] == id)
            return true;
    return false;
}

void links_ended(Sqlite *sqlite, uint32_t limit, IdList *out, bool *out_more)
{
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_WAITS_ENDED);
    uint32_t seen = 0;
    sqlite3_bind_int64(stmt, 1, limit ? (int64_t)limit + 1 : -1);
    while (db_row(&sqlite->db, stmt)) {
        if (limit && seen++ == limit) {
            *out_more = true;
            break;
        }
        JobId child = (JobId)sqlite3_column_int64(stmt, 0);
        if (!holds(out, child))
            MEM_PUSH(out->items, out->count, out->capacity) = child;
    }
    sqlite3_reset(stmt);
}

/* --- Groups ---------------------------------------------------------------------------
 */

static void count_group(Db *db, const Job *job, JobState state, int64_t change)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_GROUP_COUNT);
    db_bind_key(stmt, 1, job->tenant);
    db_bind_key(stmt, 2, job->group);
    sqlite3_bind_int64(stmt, 3, state);
    sqlite3_bind_int64(stmt, 4, change);
    db_run(db, stmt);
    if (change > 0)
        return;
    stmt = db_statement(db, SQL_GROUP_SETTLE);
    db_bind_key(stmt, 1, job->tenant);
    db_bind_key(stmt, 2, job->group);
    sqlite3_bind_int64(stmt, 3, state);
    db_run(db, stmt);
}

Err sqlite_groups(Store *store, const GroupCount *one, GroupSink *sink, void *context,
                  Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    sqlite_begin_read(sqlite);
    sqlite3_stmt *stmt = db_statement(&sqlite->db, one ? SQL_GROUP : SQL_GROUPS);
    if (one) {
        db_bind_key(stmt, 1, one->tenant);
        db_bind_key(stmt, 2, one->name);
    }
    while (db_row(&sqlite->db, stmt)) {
        GroupCount count = { .tenant = db_column(stmt, 0),
                             .name = db_column(stmt, 1),
                             .state = (JobState)sqlite3_column_int(stmt, 2),
                             .count = (uint64_t)sqlite3_column_int64(stmt, 3) };
        sink(context, &count);
    }
    return db_end(&sqlite->db, "read groups", why);
}

/* --- Unique keys ----------------------------------------------------------------------
 */

static void bind_unique(sqlite3_stmt *stmt, const Job *job, Slice key)
{
    db_bind_key(stmt, 1, job->tenant);
    db_bind_key(stmt, 2, key);
    sqlite3_bind_int64(stmt, 3, (int64_t)job->id);
}

static void change_key(Sqlite *sqlite, const Job *job, UniqueKind kind, Sql sql)
{
    Buf key = { 0 };
    if (unique_key(job, kind, &key)) {
        sqlite3_stmt *stmt = db_statement(&sqlite->db, sql);
        bind_unique(stmt, job, buf_slice(&key));
        int64_t until_ms = unique_until(job, kind);
        if (sql == SQL_UNIQUE_PUT && until_ms)
            sqlite3_bind_int64(stmt, 4, until_ms);
        db_run(&sqlite->db, stmt);
    }
    buf_done(&key);
}

/* Whether a job that comes now may have the key. */
static bool is_free(Sqlite *sqlite, const Job *job, UniqueKind kind)
{
    Buf key = { 0 };
    bool has = unique_key(job, kind, &key);
    JobId holder =
        has ? links_holder(sqlite, job->tenant, buf_slice(&key), job->created_ms) : 0;
    buf_done(&key);
    if (!holder || !unique_replaces(job, kind))
        return !holder;
    const Held *held = held_find(sqlite, holder);
    return !held || state_in(held->saved.row.job.state, STATES_FINAL);
}

static void take_keys(Sqlite *sqlite, const Job *job)
{
    Db *db = &sqlite->db;
    for (unsigned kind = 0; kind < UNIQUE_KINDS; kind++)
        if (is_free(sqlite, job, (UniqueKind)kind))
            change_key(sqlite, job, (UniqueKind)kind, SQL_UNIQUE_PUT);
    if (!job->unique.bytes && !job->request.bytes)
        return;
    sqlite3_stmt *stmt = db_statement(db, SQL_UNIQUE_EXPIRE);
    sqlite3_bind_int64(stmt, 1, job->created_ms);
    sqlite3_bind_int64(stmt, 2, STORE_KEYS_EXPIRED_PER_ADD);
    db_run(db, stmt);
}

JobId links_holder(Sqlite *sqlite, Slice tenant, Slice key, int64_t wall_ms)
{
    JobId id = 0;
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_UNIQUE_GET);
    db_bind_key(stmt, 1, tenant);
    db_bind_key(stmt, 2, key);
    if (db_row(&sqlite->db, stmt) && (sqlite3_column_type(stmt, 1) == SQLITE_NULL ||
                                      sqlite3_column_int64(stmt, 1) > wall_ms))
        id = (JobId)sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return id;
}

/* --- Jobs that come, change and go
 * ------------------------------------------------------
 */

void links_added(Sqlite *sqlite, const Job *job)
{
    if (!(job->flags & (JOB_LINKED | JOB_MERGES)))
        return;
    if (job->group.bytes)
        count_group(&sqlite->db, job, job->state, 1);
    take_keys(sqlite, job);
    if (job->flags & JOB_WAITS)
        add_waits(sqlite, job, 0);
}

static void change_waits(Sqlite *sqlite, const Job *job, const Op *op, uint32_t had)
{
    AfterSteps steps = after_steps(job, op, had);
    if (steps.settles_all || steps.settles_listed)
        settle(sqlite, job->id, steps.settles_all ? NULL : &op->value);
    if (steps.breaks)
        add_broken(&sqlite->db, job->id, op->value);
    if (steps.waits)
        add_waits(sqlite, job, op->fields);
}

void links_changed(Sqlite *sqlite, Held *held, const Op *op, const Job *was)
{
    const Job *job = &held->saved.row.job;
    bool final = state_in(job->state, STATES_FINAL);
    bool was_final = state_in(was->state, STATES_FINAL);
    if (final && !was_final)
        ended(sqlite, job->id, job->state);
    else if (was_final && !final)
        reopened(sqlite, job->id);
    if (!(was->flags & (JOB_LINKED | JOB_MERGES)))
        return;
    row_columns_open(&held->saved, &sqlite->db);
    change_waits(sqlite, job, op, was->flags);
    if (job->group.bytes && job->state != was->state) {
        count_group(&sqlite->db, job, was->state, -1);
        count_group(&sqlite->db, job, job->state, 1);
    }
    if (op->kind == OP_MOVE && (op->fields & FIELD_KEYS))
        take_keys(sqlite, job);
    if (final && !was_final)
        change_key(sqlite, job, UNIQUE_OWN, SQL_UNIQUE_RELEASE);
    if ((final && !was_final) || op->kind == OP_CLAIM)
        change_key(sqlite, job, UNIQUE_MERGE, SQL_UNIQUE_RELEASE);
}

void links_removed(Sqlite *sqlite, Held *held)
{
    const Job *job = &held->saved.row.job;
    bool final = state_in(job->state, STATES_FINAL);
    ended(sqlite, job->id, final ? job->state : JOB_CANCELLED);
    if (!(job->flags & (JOB_LINKED | JOB_MERGES)))
        return;
    row_columns_open(&held->saved, &sqlite->db);
    if (job->after.bytes)
        settle(sqlite, job->id, NULL);
    if (job->group.bytes)
        count_group(&sqlite->db, job, job->state, -1);
    for (unsigned kind = 0; kind < UNIQUE_KINDS; kind++)
        change_key(sqlite, job, (UniqueKind)kind, SQL_UNIQUE_REMOVE);
}
