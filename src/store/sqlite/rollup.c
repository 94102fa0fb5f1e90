/* SPDX-License-Identifier: Apache-2.0 */
/* rollup.c - see rollup.h. */
#include "store/sqlite/rollup.h"

enum { /* columns, from 0 */
       ROLL_SPAN,
       ROLL_START,
       ROLL_TENANT,
       ROLL_QUEUE,
       ROLL_TYPE,
       ROLL_PRIORITY,
       ROLL_ADDED,
       ROLL_STARTED,
       ROLL_FINISHED, /* four: ok, failed, retry, error */
       ROLL_WAIT = ROLL_FINISHED + ROLLUP_CODES,
       ROLL_RUN,
};

static void bind(sqlite3_stmt *stmt, const Rollup *row)
{
    const RollupCounts *counts = &row->counts;
    sqlite3_bind_int64(stmt, ROLL_SPAN + 1, row->span_ms);
    sqlite3_bind_int64(stmt, ROLL_START + 1, row->at_ms);
    db_bind_key(stmt, ROLL_TENANT + 1, row->tenant);
    db_bind_key(stmt, ROLL_QUEUE + 1, row->queue);
    db_bind_key(stmt, ROLL_TYPE + 1, row->type);
    sqlite3_bind_int64(stmt, ROLL_PRIORITY + 1, row->priority);
    sqlite3_bind_int64(stmt, ROLL_ADDED + 1, (int64_t)counts->added);
    sqlite3_bind_int64(stmt, ROLL_STARTED + 1, (int64_t)counts->started);
    for (int i = 0; i < ROLLUP_CODES; i++)
        sqlite3_bind_int64(stmt, ROLL_FINISHED + i + 1, (int64_t)counts->finished[i]);
    sqlite3_bind_int64(stmt, ROLL_WAIT + 1, counts->wait_ms);
    sqlite3_bind_int64(stmt, ROLL_RUN + 1, counts->run_ms);
}

static Rollup row_of(sqlite3_stmt *stmt)
{
    Rollup row = { .span_ms = sqlite3_column_int64(stmt, ROLL_SPAN),
                   .at_ms = sqlite3_column_int64(stmt, ROLL_START),
                   .tenant = db_column(stmt, ROLL_TENANT),
                   .queue = db_column(stmt, ROLL_QUEUE),
                   .type = db_column(stmt, ROLL_TYPE),
                   .priority = (int32_t)sqlite3_column_int64(stmt, ROLL_PRIORITY) };
    row.counts.added = (uint64_t)sqlite3_column_int64(stmt, ROLL_ADDED);
    row.counts.started = (uint64_t)sqlite3_column_int64(stmt, ROLL_STARTED);
    for (int i = 0; i < ROLLUP_CODES; i++)
        row.counts.finished[i] = (uint64_t)sqlite3_column_int64(stmt, ROLL_FINISHED + i);
    row.counts.wait_ms = sqlite3_column_int64(stmt, ROLL_WAIT);
    row.counts.run_ms = sqlite3_column_int64(stmt, ROLL_RUN);
    return row;
}

static bool change_row(Db *db, const Rollup *row)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_ROLLUP_CHANGE);
    bind(stmt, row);
    db_run(db, stmt);
    return sqlite3_changes(db->handle) > 0;
}

static bool is_full(Db *db, const Rollup *row)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_ROLLUP_COUNT);
    sqlite3_bind_int64(stmt, 1, row->span_ms);
    sqlite3_bind_int64(stmt, 2, row->at_ms);
    bool full = db_row(db, stmt) && sqlite3_column_int64(stmt, 0) >= ROLLUP_KEYS_MAX;
    sqlite3_reset(stmt);
    return full;
}

static void add_row(Db *db, const Rollup *row)
{
    if (change_row(db, row))
        return;
    Rollup added = *row;
    if (is_full(db, row)) {
        added = rollup_other(row);
        if (change_row(db, &added))
            return;
    }
    sqlite3_stmt *stmt = db_statement(db, SQL_ROLLUP_ADD);
    bind(stmt, &added);
    db_run(db, stmt);
}

/* Rows of a span that have left their time become part of the next. */
static void fold_span(Db *db, int64_t span_ms, int64_t now_ms)
{
    int64_t next_ms;
    int64_t before_ms = rollup_kept_from(span_ms, now_ms, &next_ms);
    RollupTable table = { 0 };
    sqlite3_stmt *stmt = db_statement(db, SQL_ROLLUPS_OLD);
    sqlite3_bind_int64(stmt, 1, span_ms);
    sqlite3_bind_int64(stmt, 2, before_ms);
    while (db_row(db, stmt)) {
        Rollup row = row_of(stmt);
        row.span_ms = next_ms;
        row.at_ms = next_ms ? rollup_floor(row.at_ms, next_ms) : 0;
        if (next_ms)
            rollup_table_add(&table, &row);
    }
    stmt = db_statement(db, SQL_ROLLUPS_REMOVE);
    sqlite3_bind_int64(stmt, 1, span_ms);
    sqlite3_bind_int64(stmt, 2, before_ms);
    db_run(db, stmt);
    for (size_t i = 0; i < table.count; i++)
        add_row(db, &table.rows[i]);
    rollup_table_done(&table);
}

void sqlite_rollups_save(Sqlite *sqlite)
{
    Db *db = &sqlite->db;
    Rollups *rollups = &sqlite->rollups;
    int64_t newest_ms = 0;
    for (size_t i = 0; i < rollups->count; i++) {
        add_row(db, &rollups->rows[i]);
        if (rollups->rows[i].at_ms > newest_ms)
            newest_ms = rollups->rows[i].at_ms;
    }
    rollups_clear(rollups);
    if (newest_ms / MS_PER_HOUR <= sqlite->folded_hour)
        return;
    static const int64_t spans[] = { MS_PER_MIN, MS_PER_HOUR, MS_PER_DAY };
    for (size_t i = 0; i < 3; i++)
        fold_span(db, spans[i], newest_ms);
    sqlite->folded_hour = newest_ms / MS_PER_HOUR;
}

Err sqlite_rollups(Store *store, int64_t from_ms, RollupSink *sink, void *context,
                   Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    sqlite_begin_read(sqlite);
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_ROLLUPS);
    sqlite3_bind_int64(stmt, 1, from_ms);
    while (db_row(&sqlite->db, stmt)) {
        Rollup row = row_of(stmt);
        sink(context, &row);
    }
    return db_end(&sqlite->db, "read statistics", why);
}
