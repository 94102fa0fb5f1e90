/* SPDX-License-Identifier: Apache-2.0 */
/* moving.c - everything out of the server, and into an empty schema: see
 * moving.h.
 *
 * Out through cursors of one transaction, in by copies of about a mebibyte. */
#include "store/moving.h"
#include "store/postgres/partitions.h"
#include "store/postgres/postgres.h"
#include "store/sum.h"

#define CURSOR     "DECLARE moving NO SCROLL CURSOR FOR "
#define FETCH      "FETCH 1000 FROM moving"
#define COPY_BYTES (1u << 20)
#define SUMMED_NODE                                                                      \
    0 /* whose sums of statistics and counts are that came from elsewhere */
#define LONG_TIMES                                                                       \
    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0"

static const char *const places[PLACES] = { [PLACE_LIVE] = "pawl.job_live",
                                            [PLACE_DONE] = "pawl.job_done",
                                            [PLACE_DEAD] = "pawl.job_dead" };

/* --- Out ------------------------------------------------------------------------------
 */

static void read_payload(Postgres *pg, Job *job, Arena *arena)
{
    param_int(&pg->params, (int64_t)job->id);
    PGresult *result = link_query(
        &pg->link, "SELECT data FROM pawl.payload WHERE job = $1", &pg->params);
    if (result && PQntuples(result))
        job->payload = slice_copy(arena, field_bytes(result, 0, 0));
    PQclear(result);
}

static void job_out(Postgres *pg, const PGresult *result, int at, const MoveSink *sink)
{
    RowColumns saved;
    Arena arena = { 0 };
    if (!pgrow_read(&saved, result, at, &pg->catalog, &arena)) {
        pgrow_fail_damaged(&pg->link, saved.row.job.id);
    } else {
        pgrow_open(&saved, &pg->link);
        if (saved.apart)
            read_payload(pg, &saved.row.job, &arena);
        if (saved.apart && !columns_payload_sound(&saved, saved.row.job.payload))
            pgrow_fail_damaged(&pg->link, saved.row.job.id);
        if (!pg->link.err)
            sink->job(sink->context, &saved.row);
    }
    arena_done(&arena);
}

static MoveValue value_out(Postgres *pg, const PGresult *result, int row, int at,
                           MoveType type)
{
    MoveValue value = { .null = false };
    switch (type) {
    case MOVE_LONG_OR_NULL:
    case MOVE_INT_OR_NULL:
        value.null = field_is_null(result, row, at);
        value.number = field_int(result, row, at);
        return value;
    case MOVE_LONG:
    case MOVE_INT:
    case MOVE_BOOL:
        value.number = field_int(result, row, at);
        return value;
    case MOVE_TEXT:
    case MOVE_BYTES:
        value.bytes = field_bytes(result, row, at);
        return value;
    case MOVE_NAME:
        value.bytes = pgcatalog_text(&pg->catalog, (uint32_t)field_int(result, row, at));
        return value;
    }
    return value;
}

static void row_out(Postgres *pg, const PGresult *result, int at, const MoveTable *table,
                    const MoveSink *sink)
{
    MoveValue values[MOVE_COLUMNS_MAX];
    for (size_t i = 0; i < move_columns(table); i++)
        values[i] = value_out(pg, result, at, (int)i, table->columns[i].type);
    sink->row(sink->context, table, values);
}

/* Reads what the statement gives; table NULL: jobs. */
static void read_all(Postgres *pg, const char *sql, const MoveTable *table,
                     const MoveSink *sink)
{
    int rows = 1;
    link_script(&pg->link, sql);
    while (!pg->link.err && rows) {
        PGresult *result = link_query(&pg->link, FETCH, NULL);
        rows = result ? PQntuples(result) : 0;
        for (int i = 0; !pg->link.err && i < rows; i++) {
            if (table)
                row_out(pg, result, i, table, sink);
            else
                job_out(pg, result, i, sink);
        }
        PQclear(result);
    }
    link_script(&pg->link, "CLOSE moving");
}

static bool is_number(MoveType type)
{
    return type != MOVE_TEXT && type != MOVE_BYTES && type != MOVE_NAME;
}

/* Of a table that each node has its rows in: sums of what does not tell them apart. */
static bool is_summed(const MoveTable *table, const char *column)
{
    return table->by_node && !strstr(table->order, column);
}

static void columns_out(Buf *sql, const MoveTable *table)
{
    for (size_t i = 0; i < move_columns(table); i++) {
        const MoveColumn *column = &table->columns[i];
        bool summed = is_summed(table, column->name);
        const char *cast = column->type == MOVE_BOOL ? "::int4::int8"
                           : is_number(column->type) ? "::int8"
                                                     : "";
        buf_printf(sql, "%s%s%s%s%s", i ? ", " : "", summed ? "sum(" : "", column->name,
                   summed ? ")" : "", cast);
    }
}

static void table_out(Postgres *pg, const MoveTable *table, const MoveSink *sink)
{
    Buf sql = { 0 };
    const char *added = strcmp(table->name, "inbox") == 0 ? "number" : "id";
    buf_add_text(&sql, CURSOR "SELECT ");
    columns_out(&sql, table);
    buf_printf(&sql, " FROM pawl.%s", table->name);
    if (table->by_node)
        buf_printf(&sql, " GROUP BY %s", table->order);
    buf_printf(&sql, " ORDER BY %s", table->order ? table->order : added);
    read_all(pg, buf_cstr(&sql), table, sink);
    buf_done(&sql);
}

static Err out(Store *store, const MoveSink *sink, Error *why)
{
    Postgres *pg = postgres_of(store);
    Err err = pg->read_only ? ERR_OK : pgparts_sweep_all(store, why);
    if (err)
        return err;
    postgres_begin_read(pg);
    link_script(&pg->link, LONG_TIMES);
    for (Place place = PLACE_LIVE; place < PLACES; place++) {
        Buf sql = { 0 };
        buf_printf(&sql, CURSOR "SELECT %s FROM %s ORDER BY id", pg_all_columns,
                   places[place]);
        read_all(pg, buf_cstr(&sql), NULL, sink);
        buf_done(&sql);
    }
    for (size_t i = 0; i < move_table_count; i++)
        table_out(pg, &move_tables[i], sink);
    return postgres_end_read(pg, "read everything", why);
}

/* --- In -------------------------------------------------------------------------------
 */

static bool has_rows(Postgres *pg, const char *table)
{
    Buf sql = { 0 };
    buf_printf(&sql, "SELECT 1 FROM pawl.%s LIMIT 1", table);
    PGresult *result = link_query(&pg->link, buf_cstr(&sql), NULL);
    bool found = result && PQntuples(result) > 0;
    PQclear(result);
    buf_done(&sql);
    return found;
}

static void make_empty(Postgres *pg)
{
    link_script(&pg->link, "SELECT pawl.parts_gone_drop(true)");
    for (size_t i = 0; move_emptied_tables[i]; i++) {
        Buf sql = { 0 };
        buf_printf(&sql, "DELETE FROM pawl.%s", move_emptied_tables[i]);
        link_run(&pg->link, buf_cstr(&sql), NULL);
        buf_done(&sql);
    }
}

static Err begin(Store *store, bool replace, Error *why)
{
    Postgres *pg = postgres_of(store);
    link_begin(&pg->link, LINK_WRITE);
    link_script(&pg->link, LONG_TIMES);
    pgcatalog_drop(&pg->catalog);
    pgcatalog_refresh(&pg->catalog);
    if (replace)
        make_empty(pg);
    for (size_t i = 0; !replace && move_filled_tables[i]; i++) {
        if (!has_rows(pg, move_filled_tables[i]))
            continue;
        link_rollback(&pg->link);
        return error_set(why, ERR_CONFLICT, "the store is not empty (pawl.%s)",
                         move_filled_tables[i]);
    }
    return pg->link.err ? link_end(&pg->link, "begin to move into the store", why)
                        : ERR_OK;
}

static void send_jobs(Postgres *pg, Place place)
{
    Buf into = { 0 };
    buf_printf(&into, "%s(%s)", places[place], pg_all_columns);
    link_copy(&pg->link, buf_cstr(&into), &pg->out.jobs[place]);
    buf_done(&into);
}

static void job_in(Store *store, const Row *row)
{
    Postgres *pg = postgres_of(store);
    Place place = place_of(row->job.state);
    Slice payload = row->job.payload;
    RowColumns saved = { .row = *row, .opened = true };
    RowValues values;
    saved.apart = payload.bytes > STORE_PAYLOAD_SMALL;
    saved.payload_sum = sum_payload(payload);
    if (saved.apart) {
        saved.row.job.payload = (Slice){ NULL, 0 };
        copy_row(&pg->out.payloads, 2);
        copy_int(&pg->out.payloads, PG_INT8, (int64_t)row->job.id);
        copy_bytes(&pg->out.payloads, payload);
    }
    if (place != PLACE_LIVE)
        pgcatalog_part(&pg->catalog, row->job.id);
    uint32_t lane = pgrow_values(&saved, &pg->catalog, &pg->scratch, &values);
    pgrow_copy(&pg->out.jobs[place], &values);
    pgcatalog_count(&pg->catalog, lane, row->job.state, 1);
    pgcatalog_bytes(&pg->catalog, lane, (int64_t)payload.bytes + row->job.result_bytes);
    if (pg->out.jobs[place].bytes >= COPY_BYTES)
        send_jobs(pg, place);
    if (pg->out.payloads.bytes >= COPY_BYTES)
        link_copy(&pg->link, "pawl.payload(job, data)", &pg->out.payloads);
}

static void send_rest_of_jobs(Postgres *pg)
{
    for (Place place = PLACE_LIVE; place < PLACES; place++)
        send_jobs(pg, place);
    link_copy(&pg->link, "pawl.payload(job, data)", &pg->out.payloads);
}

/* Rows of one table wait in the place of results. */
static void send_rows(Postgres *pg)
{
    const MoveTable *table = pg->moved;
    Buf into = { 0 };
    if (!table || !pg->out.results.bytes)
        return;
    buf_printf(&into, "pawl.%s(", table->name);
    for (size_t i = 0; i < move_columns(table); i++)
        buf_printf(&into, "%s%s", i ? ", " : "", table->columns[i].name);
    buf_add_text(&into, table->by_node ? ", node)" : ")");
    link_copy(&pg->link, buf_cstr(&into), &pg->out.results);
    buf_done(&into);
}

static void value_in(Postgres *pg, Buf *rows, MoveType type, const MoveValue *value)
{
    if (value->null) {
        copy_null(rows);
        return;
    }
    switch (type) {
    case MOVE_LONG:
    case MOVE_LONG_OR_NULL:
        copy_int(rows, PG_INT8, value->number);
        return;
    case MOVE_INT:
    case MOVE_INT_OR_NULL:
    case MOVE_BOOL:
        copy_int(rows, PG_INT4, value->number);
        return;
    case MOVE_TEXT:
    case MOVE_BYTES:
        copy_bytes(rows, value->bytes);
        return;
    case MOVE_NAME:
        copy_int(rows, PG_INT4, pgcatalog_name(&pg->catalog, value->bytes));
        return;
    }
}

/* A bool has no place in a binary copy of numbers. */
static void item_in(Postgres *pg, const MoveValue *values)
{
    param_bytes(&pg->params, values[0].bytes);
    param_bytes(&pg->params, values[1].bytes);
    param_int(&pg->params, values[2].number);
    link_run(&pg->link,
             "INSERT INTO pawl.resource_item(key, item, gone)"
             " VALUES($1, $2, $3 <> 0)",
             &pg->params);
}

static void row_in(Store *store, const MoveTable *table, const MoveValue *values)
{
    Postgres *pg = postgres_of(store);
    Buf *rows = &pg->out.results;
    size_t count = move_columns(table);
    if (pg->moved != table || rows->bytes >= COPY_BYTES)
        send_rows(pg);
    pg->moved = table;
    if (strcmp(table->name, "resource_item") == 0) {
        item_in(pg, values);
        return;
    }
    if (strcmp(table->name, MOVE_ATTEMPT) == 0 && values[2].number &&
        values[3].bytes.bytes)
        pgcatalog_slot(&pg->catalog, pgcatalog_name(&pg->catalog, values[3].bytes),
                       (uint32_t)values[2].number);
    copy_row(rows, (int)count + table->by_node);
    for (size_t i = 0; i < count; i++)
        value_in(pg, rows, table->columns[i].type, &values[i]);
    if (table->by_node)
        copy_int(rows, PG_INT4, SUMMED_NODE);
}

static Err end(Store *store, bool keep, Error *why)
{
    Postgres *pg = postgres_of(store);
    pg->stale = true;
    send_rest_of_jobs(pg);
    send_rows(pg);
    pg->moved = NULL;
    pgcatalog_save(&pg->catalog, SUMMED_NODE);
    if (keep)
        return link_end(&pg->link, "move into the store", why);
    link_rollback(&pg->link);
    return ERR_OK;
}

const MoveKind postgres_moving = { out, begin, job_in, row_in, end };
