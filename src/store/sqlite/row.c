/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - see row.h. */
#include "store/sqlite/row.h"

static int64_t number(sqlite3_stmt *stmt, JobColumn column)
{
    return sqlite3_column_int64(stmt, (int)column);
}

static int32_t small(sqlite3_stmt *stmt, JobColumn column, int32_t absent)
{
    if (sqlite3_column_type(stmt, (int)column) == SQLITE_NULL)
        return absent;
    return sqlite3_column_int(stmt, (int)column);
}

static Slice text(sqlite3_stmt *stmt, JobColumn column, Arena *arena)
{
    return slice_copy(arena, db_column(stmt, (int)column));
}

static Slice name(sqlite3_stmt *stmt, JobColumn column, const Catalog *catalog)
{
    return catalog_text(catalog, (uint32_t)number(stmt, column));
}

static void read_run(Row *row, sqlite3_stmt *stmt, const Catalog *catalog)
{
    Job *job = &row->job;
    job->attempt = (uint32_t)number(stmt, COL_ATTEMPT);
    job->retry_number = (uint32_t)number(stmt, COL_RETRY);
    job->node = name(stmt, COL_NODE, catalog);
    job->started_ms = number(stmt, COL_STARTED);
    job->finished_ms = number(stmt, COL_FINISHED);
    job->beat_ms = number(stmt, COL_BEAT);
    job->outcome.code = (JobCode)number(stmt, COL_CODE);
    job->outcome.exitcode = small(stmt, COL_EXITCODE, 0);
    job->outcome.exit_status = small(stmt, COL_EXIT_STATUS, -1);
    job->outcome.signal = small(stmt, COL_SIGNAL, 0);
    job->progress = small(stmt, COL_PROGRESS, -1);
    job->result_bytes = number(stmt, COL_RESULT_BYTES);
    row->run_state = small(stmt, COL_RUN_STATE, RUN_NONE);
    row->run_retry = (uint32_t)number(stmt, COL_RUN_RETRY);
    row->slot = (uint32_t)number(stmt, COL_SLOT);
}

bool row_columns_sound(sqlite3_stmt *stmt, const Catalog *catalog)
{
    int64_t lane = number(stmt, COL_LANE);
    int64_t state = number(stmt, COL_STATE);
    int64_t code = number(stmt, COL_CODE);
    int64_t run_state = small(stmt, COL_RUN_STATE, RUN_NONE);
    return lane >= 1 && lane <= (int64_t)catalog->lane_count && state >= 0 &&
           state < JOB_STATES && code >= 0 && code <= CODE_ERROR &&
           run_state >= RUN_NONE && run_state < JOB_STATES;
}

bool row_columns_read(RowColumns *out, sqlite3_stmt *stmt, const Catalog *catalog, Db *db,
                      Arena *arena)
{
    if (!row_columns_sound(stmt, catalog)) {
        db_fail(db, SQLITE_CORRUPT, "a job's row is damaged");
        return false;
    }
    *out = (RowColumns){ .row.job = job_default() };
    Job *job = &out->row.job;
    job->id = (JobId)number(stmt, COL_ID);
    job->state = (JobState)number(stmt, COL_STATE);
    out->lane = (uint32_t)number(stmt, COL_LANE);
    const CatalogLane *lane = &catalog->lanes[out->lane - 1];
    job->tenant = catalog_text(catalog, lane->tenant);
    job->queue = catalog_text(catalog, lane->queue);
    job->priority = ~number(stmt, COL_RANK);
    job->dt_ms = number(stmt, COL_DT);
    job->lock = name(stmt, COL_LOCK, catalog);
    job->type = name(stmt, COL_TYPE, catalog);
    job->flags = (uint32_t)number(stmt, COL_FLAGS);
    job->created_ms = number(stmt, COL_CREATED);
    job->run_at_ms = number(stmt, COL_RUN_AT);
    job->parent = (JobId)number(stmt, COL_PARENT);
    job->service_ms = number(stmt, COL_SERVICE);
    job->name = text(stmt, COL_NAME, arena);
    job->reason = text(stmt, COL_REASON, arena);
    job->error = text(stmt, COL_ERROR, arena);
    job->message = text(stmt, COL_MESSAGE, arena);
    out->row.run_state = RUN_NONE;
    if (sqlite3_column_type(stmt, COL_ATTEMPT) != SQLITE_NULL)
        read_run(&out->row, stmt, catalog);
    out->apart = number(stmt, COL_APART) != 0;
    out->spec = text(stmt, COL_SPEC, arena);
    if (sqlite3_column_count(stmt) > COL_PAYLOAD)
        job->payload = text(stmt, COL_PAYLOAD, arena);
    return true;
}

void row_columns_open(RowColumns *saved, Db *db)
{
    if (row_columns_unpack(saved))
        db_fail(db, SQLITE_CORRUPT, "a job's packed fields are damaged");
}

static void bind(sqlite3_stmt *stmt, JobColumn column, int64_t value)
{
    db_bind_int(stmt, (int)column + 1, value);
}

static void bind_unless(sqlite3_stmt *stmt, JobColumn column, int64_t value, int64_t none)
{
    if (value != none)
        sqlite3_bind_int64(stmt, (int)column + 1, value);
}

static void bind_run(sqlite3_stmt *stmt, const Row *row, uint32_t node)
{
    const Job *job = &row->job;
    bind(stmt, COL_RETRY, job->retry_number);
    bind(stmt, COL_RUN_RETRY, row->run_retry);
    bind_unless(stmt, COL_RUN_STATE, row->run_state, RUN_NONE);
    bind(stmt, COL_SLOT, row->slot);
    bind(stmt, COL_NODE, node);
    bind(stmt, COL_STARTED, job->started_ms);
    bind(stmt, COL_FINISHED, job->finished_ms);
    bind(stmt, COL_BEAT, job->beat_ms);
    bind(stmt, COL_CODE, job->outcome.code);
    bind(stmt, COL_EXITCODE, job->outcome.exitcode);
    bind_unless(stmt, COL_EXIT_STATUS, job->outcome.exit_status, -1);
    bind(stmt, COL_SIGNAL, job->outcome.signal);
    bind_unless(stmt, COL_PROGRESS, job->progress, -1);
    bind(stmt, COL_RESULT_BYTES, job->result_bytes);
}

uint32_t row_columns_bind(sqlite3_stmt *stmt, const RowColumns *saved, Catalog *catalog,
                          Db *db)
{
    const Job *job = &saved->row.job;
    uint32_t lane = catalog_lane(catalog, db, job);
    sqlite3_bind_int64(stmt, COL_ID + 1, (int64_t)job->id);
    sqlite3_bind_int64(stmt, COL_STATE + 1, job->state);
    sqlite3_bind_int64(stmt, COL_LANE + 1, lane);
    sqlite3_bind_int64(stmt, COL_RANK + 1, ~job->priority);
    sqlite3_bind_int64(stmt, COL_DT + 1, job->dt_ms);
    bind(stmt, COL_LOCK, catalog_name(catalog, db, job->lock));
    bind(stmt, COL_FLAGS, job->flags);
    bind(stmt, COL_RUN_AT, job->run_at_ms);
    db_bind_text(stmt, COL_REASON + 1, job->reason);
    db_bind_text(stmt, COL_ERROR + 1, job->error);
    db_bind_text(stmt, COL_MESSAGE + 1, job->message);
    if (row_columns_has_run(&saved->row)) {
        uint32_t node = catalog_name(catalog, db, job->node);
        if (node && saved->row.slot)
            catalog_slot(catalog, db, node, saved->row.slot);
        sqlite3_bind_int64(stmt, COL_ATTEMPT + 1, job->attempt);
        bind_run(stmt, &saved->row, node);
    }
    return lane;
}

void row_columns_bind_rest(sqlite3_stmt *stmt, const RowColumns *saved, Catalog *catalog,
                           Db *db, Buf *scratch)
{
    const Job *job = &saved->row.job;
    bind(stmt, COL_TYPE, catalog_name(catalog, db, job->type));
    bind(stmt, COL_CREATED, job->created_ms);
    bind(stmt, COL_PARENT, (int64_t)job->parent);
    bind(stmt, COL_SERVICE, job->service_ms);
    db_bind_text(stmt, COL_NAME + 1, job->name);
    bind(stmt, COL_APART, saved->apart);
    db_bind_blob(stmt, COL_SPEC + 1, row_columns_spec(saved, scratch));
    db_bind_blob(stmt, COL_PAYLOAD + 1, job->payload);
}
