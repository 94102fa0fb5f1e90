/* SPDX-License-Identifier: Apache-2.0 */
/* moving.c - everything out of the file, and into an empty one: see moving.h. */
#include "store/moving.h"
#include "store/sqlite/row.h"
#include "store/sqlite/sqlite.h"
#include "store/sum.h"

static const char *const places[PLACES] = {
    [PLACE_LIVE] = "job_live", [PLACE_DONE] = "job_done", [PLACE_DEAD] = "job_dead"
};

/* A statement of the moment: the others have their places (sql.h). */
static sqlite3_stmt *prepare(Db *db, const Buf *sql)
{
    sqlite3_stmt *stmt = NULL;
    int rc = db->rc ? db->rc
                    : sqlite3_prepare_v2(db->handle, buf_cstr((Buf *)(uintptr_t)sql), -1,
                                         &stmt, NULL);
    if (rc && !db->rc)
        db_fail(db, rc, sqlite3_errmsg(db->handle));
    return stmt;
}

/* --- Out ------------------------------------------------------------------------------
 */

static void read_payload(Sqlite *sqlite, RowColumns *saved, Arena *arena)
{
    Job *job = &saved->row.job;
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_PAYLOAD_GET);
    sqlite3_bind_int64(stmt, 1, (int64_t)job->id);
    if (db_row(&sqlite->db, stmt))
        job->payload = slice_copy(arena, db_column(stmt, 0));
    sqlite3_reset(stmt);
    if (!columns_payload_sound(saved, job->payload))
        db_fail_damaged(&sqlite->db, job->id);
}

static void jobs_out(Sqlite *sqlite, Place place, const MoveSink *sink)
{
    Buf sql = { 0 };
    Arena arena = { 0 };
    buf_printf(&sql, "SELECT %s FROM %s ORDER BY id", sql_job_columns, places[place]);
    sqlite3_stmt *stmt = prepare(&sqlite->db, &sql);
    while (stmt && db_row(&sqlite->db, stmt)) {
        RowColumns saved;
        arena_reset(&arena);
        if (!row_columns_read(&saved, stmt, &sqlite->catalog, &arena)) {
            db_fail_damaged(&sqlite->db, saved.row.job.id);
            break;
        }
        row_columns_open(&saved, &sqlite->db);
        if (saved.apart)
            read_payload(sqlite, &saved, &arena);
        if (!sqlite->db.rc)
            sink->job(sink->context, &saved.row);
    }
    sqlite3_finalize(stmt);
    arena_done(&arena);
    buf_done(&sql);
}

static MoveValue value_out(const Sqlite *sqlite, sqlite3_stmt *stmt, int at,
                           MoveType type)
{
    MoveValue value = { .null = false };
    switch (type) {
    case MOVE_LONG_OR_NULL:
    case MOVE_INT_OR_NULL:
        value.null = sqlite3_column_type(stmt, at) == SQLITE_NULL;
        value.number = sqlite3_column_int64(stmt, at);
        return value;
    case MOVE_LONG:
    case MOVE_INT:
    case MOVE_BOOL:
        value.number = sqlite3_column_int64(stmt, at);
        return value;
    case MOVE_TEXT:
    case MOVE_BYTES:
        value.bytes = db_column(stmt, at);
        return value;
    case MOVE_NAME:
        value.bytes =
            catalog_text(&sqlite->catalog, (uint32_t)sqlite3_column_int64(stmt, at));
        return value;
    }
    return value;
}

static void names_of(Buf *out, const MoveTable *table)
{
    for (size_t i = 0; i < move_columns(table); i++)
        buf_printf(out, "%s%s", i ? ", " : "", table->columns[i].name);
}

static void table_out(Sqlite *sqlite, const MoveTable *table, const MoveSink *sink)
{
    Buf sql = { 0 };
    buf_add_text(&sql, "SELECT ");
    names_of(&sql, table);
    buf_printf(&sql, " FROM %s ORDER BY %s", table->name,
               table->order ? table->order : "rowid");
    sqlite3_stmt *stmt = prepare(&sqlite->db, &sql);
    while (stmt && db_row(&sqlite->db, stmt)) {
        MoveValue values[MOVE_COLUMNS_MAX];
        for (size_t i = 0; i < move_columns(table); i++)
            values[i] = value_out(sqlite, stmt, (int)i, table->columns[i].type);
        sink->row(sink->context, table, values);
    }
    sqlite3_finalize(stmt);
    buf_done(&sql);
}

static Err out(Store *store, const MoveSink *sink, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    sqlite_begin_read(sqlite);
    for (Place place = PLACE_LIVE; place < PLACES; place++)
        jobs_out(sqlite, place, sink);
    for (size_t i = 0; i < move_table_count; i++)
        table_out(sqlite, &move_tables[i], sink);
    return db_end(&sqlite->db, "read everything", why);
}

/* --- In -------------------------------------------------------------------------------
 */

static void run(Db *db, const char *format, const char *table)
{
    Buf sql = { 0 };
    buf_printf(&sql, "%s%s", format, table);
    sqlite3_stmt *stmt = prepare(db, &sql);
    if (stmt)
        db_run(db, stmt);
    sqlite3_finalize(stmt);
    buf_done(&sql);
}

static bool has_rows(Db *db, const char *table)
{
    Buf sql = { 0 };
    buf_printf(&sql, "SELECT 1 FROM %s LIMIT 1", table);
    sqlite3_stmt *stmt = prepare(db, &sql);
    bool found = stmt && db_row(db, stmt);
    sqlite3_finalize(stmt);
    buf_done(&sql);
    return found;
}

static Err begin(Store *store, bool replace, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    Db *db = &sqlite->db;
    db_begin(db, true);
    for (size_t i = 0; replace && move_emptied_tables[i]; i++)
        run(db, "DELETE FROM ", move_emptied_tables[i]);
    for (size_t i = 0; !replace && move_filled_tables[i]; i++) {
        if (!has_rows(db, move_filled_tables[i]))
            continue;
        db_fail(db, SQLITE_CONSTRAINT, "not empty");
        Err err = db_end(db, "begin to move into the store", why);
        return err ? error_set(why, ERR_CONFLICT, "the store %s is not empty (%s)",
                               db->path, move_filled_tables[i])
                   : ERR_OK;
    }
    return db->rc ? db_end(db, "empty the store", why) : ERR_OK;
}

static void job_in(Store *store, const Row *row)
{
    static const Sql adds[PLACES] = { [PLACE_LIVE] = SQL_LIVE_ADD,
                                      [PLACE_DONE] = SQL_DONE_ADD,
                                      [PLACE_DEAD] = SQL_DEAD_ADD };
    Sqlite *sqlite = sqlite_of(store);
    Db *db = &sqlite->db;
    Slice payload = row->job.payload;
    RowColumns saved = { .row = *row, .opened = true };
    saved.apart = payload.bytes > STORE_PAYLOAD_SMALL;
    saved.payload_sum = sum_payload(payload);
    if (saved.apart)
        saved.row.job.payload = (Slice){ NULL, 0 };
    RowValues values;
    uint32_t lane =
        row_columns_values(&values, &saved, &sqlite->catalog, db, &sqlite->scratch);
    sqlite3_stmt *stmt = db_statement(db, adds[place_of(row->job.state)]);
    row_columns_bind(stmt, &values);
    db_run(db, stmt);
    catalog_count(&sqlite->catalog, lane, row->job.state, 1);
    catalog_bytes(&sqlite->catalog, lane, (int64_t)payload.bytes + row->job.result_bytes);
    if (!saved.apart)
        return;
    stmt = db_statement(db, SQL_PAYLOAD_PUT);
    sqlite3_bind_int64(stmt, 1, (int64_t)row->job.id);
    db_bind_blob(stmt, 2, payload);
    db_run(db, stmt);
}

static void value_in(Sqlite *sqlite, sqlite3_stmt *stmt, int at, MoveType type,
                     const MoveValue *value)
{
    switch (type) {
    case MOVE_LONG:
    case MOVE_LONG_OR_NULL:
    case MOVE_INT:
    case MOVE_INT_OR_NULL:
    case MOVE_BOOL:
        if (!value->null)
            sqlite3_bind_int64(stmt, at, value->number);
        return;
    case MOVE_TEXT:
        db_bind_key(stmt, at, value->bytes);
        return;
    case MOVE_BYTES:
        sqlite3_bind_blob64(stmt, at, value->bytes.data ? value->bytes.data : "",
                            value->bytes.bytes, SQLITE_TRANSIENT);
        return;
    case MOVE_NAME:
        db_bind_int(stmt, at, catalog_name(&sqlite->catalog, &sqlite->db, value->bytes));
        return;
    }
}

static void row_in(Store *store, const MoveTable *table, const MoveValue *values)
{
    Sqlite *sqlite = sqlite_of(store);
    size_t count = move_columns(table);
    Buf sql = { 0 };
    if (strcmp(table->name, MOVE_ATTEMPT) == 0 && values[2].number &&
        values[3].bytes.bytes)
        catalog_slot(&sqlite->catalog, &sqlite->db,
                     catalog_name(&sqlite->catalog, &sqlite->db, values[3].bytes),
                     (uint32_t)values[2].number);
    buf_printf(&sql, "INSERT INTO %s(", table->name);
    names_of(&sql, table);
    buf_add_text(&sql, ") VALUES(");
    for (size_t i = 0; i < count; i++)
        buf_printf(&sql, "%s?%zu", i ? ", " : "", i + 1);
    buf_add_text(&sql, ")");
    sqlite3_stmt *stmt = prepare(&sqlite->db, &sql);
    for (size_t i = 0; stmt && i < count; i++)
        value_in(sqlite, stmt, (int)i + 1, table->columns[i].type, &values[i]);
    if (stmt)
        db_run(&sqlite->db, stmt);
    sqlite3_finalize(stmt);
    buf_done(&sql);
}

static Err end(Store *store, bool keep, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    Db *db = &sqlite->db;
    sqlite->stale = true;
    sqlite->waits_known = sqlite->nodes_known = false;
    if (keep) {
        catalog_save(&sqlite->catalog, db);
        Err err = db_end(db, "move into the store", why);
        return err ? err : db_sync(db, why);
    }
    db_fail(db, SQLITE_ABORT, "given up");
    Error given_up = { 0 };
    Err err = db_end(db, "move into the store", &given_up);
    return err ? ERR_OK : ERR_BUSY; /* it never ends well */
}

const MoveKind sqlite_moving = { out, begin, job_in, row_in, end };
