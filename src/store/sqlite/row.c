/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - see row.h. */
#include "store/sqlite/row.h"

#include "store/damage.h"

#include <assert.h>

/* Where NULL is another value than 0. */
static const bool tells_null[JOB_COLUMNS] = {
    [COL_LANE] = true,        [COL_ATTEMPT] = true,  [COL_RUN_STATE] = true,
    [COL_EXIT_STATUS] = true, [COL_PROGRESS] = true, [COL_SUM] = true,
};

static void read_bytes(RowValues *out, sqlite3_stmt *stmt, int column, Arena *arena)
{
    Slice bytes = db_column(stmt, column);
    out->given[column] = bytes.bytes > 0;
    if (bytes.bytes)
        out->bytes[column] = slice_copy(arena, bytes);
}

/* The columns of a statement as values; bytes are copied. */
static void read_values(RowValues *out, sqlite3_stmt *stmt, Arena *arena)
{
    int there = sqlite3_column_count(stmt);
    assert(there == COL_PAYLOAD || there == COL_PAYLOAD + 1);
    memset(out->given, 0, sizeof out->given);
    out->trusted = false;
    out->whole = there > COL_PAYLOAD;
    for (int i = 0; i < there; i++) {
        if (column_has_bytes((unsigned)i)) {
            read_bytes(out, stmt, i, arena);
            continue;
        }
        out->given[i] = !tells_null[i] || sqlite3_column_type(stmt, i) != SQLITE_NULL;
        if (out->given[i])
            out->numbers[i] = sqlite3_column_int64(stmt, i);
        else if (i == COL_ATTEMPT)
            i = COL_RESULT_BYTES; /* then the columns about runs are NULL */
    }
}

static bool makes_sense(const RowValues *values, const Catalog *catalog)
{
    int64_t lane = values->given[COL_LANE] ? values->numbers[COL_LANE] : 0;
    return lane >= 1 && lane <= (int64_t)catalog->lane_count &&
           columns_make_sense(values);
}

static Slice name(const RowValues *values, JobColumn column, const Catalog *catalog)
{
    int64_t number = values->given[column] ? values->numbers[column] : 0;
    return catalog_text(catalog, (uint32_t)number);
}

static bool is_damaged(RowColumns *out, JobId id)
{
    *out = (RowColumns){ .row.job.id = id, .damaged = true };
    damage_note(id);
    return false;
}

bool row_columns_read(RowColumns *out, sqlite3_stmt *stmt, const Catalog *catalog,
                      Arena *arena)
{
    RowValues values;
    read_values(&values, stmt, arena);
    JobId id = (JobId)values.numbers[COL_ID];
    if (!makes_sense(&values, catalog))
        return is_damaged(out, id);
    const CatalogLane *lane = &catalog->lanes[values.numbers[COL_LANE] - 1];
    const RowTexts texts = { .tenant = catalog_text(catalog, lane->tenant),
                             .queue = catalog_text(catalog, lane->queue),
                             .lock = name(&values, COL_LOCK, catalog),
                             .type = name(&values, COL_TYPE, catalog),
                             .node = name(&values, COL_NODE, catalog) };
    columns_read(out, &values, &texts);
    return out->damaged ? is_damaged(out, id) : true;
}

void row_columns_open(RowColumns *saved, Db *db)
{
    if (row_columns_unpack(saved))
        db_fail(db, SQLITE_CORRUPT, "a job's packed fields are damaged");
}

/* Most rows stay in their lane: then it need not be looked for by its names. */
static uint32_t lane_of(const RowColumns *saved, Catalog *catalog, Db *db)
{
    const Job *job = &saved->row.job;
    if (saved->lane && saved->lane <= catalog->lane_count) {
        const CatalogLane *lane = &catalog->lanes[saved->lane - 1];
        Slice type = lane->type ? catalog_text(catalog, lane->type) : (Slice){ NULL, 0 };
        if (lane->pull == ((job->flags & JOB_PULL) != 0) &&
            catalog_text(catalog, lane->tenant).data == job->tenant.data &&
            catalog_text(catalog, lane->queue).data == job->queue.data &&
            slice_equal(type, job_lane_type(job)))
            return saved->lane;
    }
    return catalog_lane(catalog, db, job);
}

static uint32_t type_of(const RowColumns *saved, Catalog *catalog, Db *db)
{
    Slice type = saved->row.job.type;
    bool same = saved->type && catalog_text(catalog, saved->type).data == type.data;
    return same ? saved->type : catalog_name(catalog, db, type);
}

uint32_t row_columns_values(RowValues *out, const RowColumns *saved, Catalog *catalog,
                            Db *db, Buf *scratch)
{
    const Job *job = &saved->row.job;
    RowNumbers numbers = { .lane = lane_of(saved, catalog, db),
                           .lock = catalog_name(catalog, db, job->lock),
                           .type = type_of(saved, catalog, db) };
    if (row_columns_has_run(&saved->row)) {
        numbers.node = catalog_name(catalog, db, job->node);
        if (numbers.node && saved->row.slot)
            catalog_slot(catalog, db, numbers.node, saved->row.slot);
    }
    columns_fill(out, saved, &numbers, row_columns_spec(saved, scratch));
    return numbers.lane;
}

static void bind(sqlite3_stmt *stmt, const RowValues *values, int column)
{
    if (!values->given[column])
        return;
    if (job_columns[column].type == COLUMN_TEXT)
        db_bind_text(stmt, column + 1, values->bytes[column]);
    else if (job_columns[column].type == COLUMN_BYTES)
        db_bind_blob(stmt, column + 1, values->bytes[column]);
    else
        sqlite3_bind_int64(stmt, column + 1, values->numbers[column]);
}

void row_columns_bind(sqlite3_stmt *stmt, const RowValues *values)
{
    for (int i = 0; i <= COL_PAYLOAD; i++)
        bind(stmt, values, i);
}

void row_columns_bind_changes(sqlite3_stmt *stmt, const RowValues *values)
{
    bind(stmt, values, COL_ID);
    for (int i = 0; i <= COL_PAYLOAD; i++)
        if (job_columns[i].changes)
            bind(stmt, values, i);
}

void row_columns_bind_line(sqlite3_stmt *stmt, const RowValues *values)
{
    static const JobColumn columns[] = { COL_ID, COL_APART, COL_SUM, COL_PAYLOAD };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        sqlite3_bind_null(stmt, (int)columns[i] + 1);
        bind(stmt, values, (int)columns[i]);
    }
}
