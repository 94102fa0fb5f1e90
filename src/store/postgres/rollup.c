/* SPDX-License-Identifier: Apache-2.0 */
/* rollup.c - see rollup.h. */
#include "store/postgres/rollup.h"

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
       ROLL_COLUMNS,
};

#define COLUMNS                                                                          \
    "span, at, tenant, queue, type, priority, added, started, ok, failed, retry, error," \
    " wait_ms, run_ms"

static void put(PgArray *columns, const Rollup *row)
{
    const RollupCounts *counts = &row->counts;
    array_int(&columns[ROLL_SPAN], row->span_ms);
    array_int(&columns[ROLL_START], row->at_ms);
    array_bytes(&columns[ROLL_TENANT], row->tenant);
    array_bytes(&columns[ROLL_QUEUE], row->queue);
    array_bytes(&columns[ROLL_TYPE], row->type);
    array_int(&columns[ROLL_PRIORITY], row->priority);
    array_int(&columns[ROLL_ADDED], (int64_t)counts->added);
    array_int(&columns[ROLL_STARTED], (int64_t)counts->started);
    for (int i = 0; i < ROLLUP_CODES; i++)
        array_int(&columns[ROLL_FINISHED + i], (int64_t)counts->finished[i]);
    array_int(&columns[ROLL_WAIT], counts->wait_ms);
    array_int(&columns[ROLL_RUN], counts->run_ms);
}

static Rollup row_of(const PGresult *result, int at)
{
    Rollup row = { .span_ms = field_int(result, at, ROLL_SPAN),
                   .at_ms = field_int(result, at, ROLL_START),
                   .tenant = field_bytes(result, at, ROLL_TENANT),
                   .queue = field_bytes(result, at, ROLL_QUEUE),
                   .type = field_bytes(result, at, ROLL_TYPE),
                   .priority = (int32_t)field_int(result, at, ROLL_PRIORITY) };
    row.counts.added = (uint64_t)field_int(result, at, ROLL_ADDED);
    row.counts.started = (uint64_t)field_int(result, at, ROLL_STARTED);
    for (int i = 0; i < ROLLUP_CODES; i++)
        row.counts.finished[i] = (uint64_t)field_int(result, at, ROLL_FINISHED + i);
    row.counts.wait_ms = field_int(result, at, ROLL_WAIT);
    row.counts.run_ms = field_int(result, at, ROLL_RUN);
    return row;
}

static void send_rows(Postgres *pg, const Rollup *rows, size_t count)
{
    static const PgType types[ROLL_COLUMNS] = {
        [ROLL_TENANT] = PG_BYTEA, [ROLL_QUEUE] = PG_BYTEA, [ROLL_TYPE] = PG_BYTEA
    };
    PgArray columns[ROLL_COLUMNS] = { 0 };
    for (int i = 0; i < ROLL_COLUMNS; i++)
        columns[i].type = types[i] ? types[i] : PG_INT8;
    for (size_t i = 0; i < count; i++)
        put(columns, &rows[i]);
    param_int(&pg->params, pg->node);
    param_int(&pg->params, ROLLUP_KEYS_MAX);
    for (int i = 0; i < ROLL_COLUMNS; i++) {
        param_array(&pg->params, &columns[i]);
        array_done(&columns[i]);
    }
    link_later(&pg->link,
               "SELECT pawl.rollups_add($1::int8::int4, $2, $3, $4, $5, $6, $7,"
               " $8, $9, $10, $11, $12, $13, $14, $15, $16)",
               &pg->params);
}

/* Rows of a span that have left their time become part of the next. */
static void fold_span(Postgres *pg, int64_t span_ms, int64_t now_ms)
{
    int64_t next_ms;
    int64_t before_ms = rollup_kept_from(span_ms, now_ms, &next_ms);
    RollupTable table = { 0 };
    param_int(&pg->params, pg->node);
    param_int(&pg->params, span_ms);
    param_int(&pg->params, before_ms);
    PGresult *result = link_query(&pg->link,
                                  "DELETE FROM pawl.rollup WHERE node = $1 AND span = $2"
                                  " AND at < $3 RETURNING " COLUMNS,
                                  &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows && next_ms; i++) {
        Rollup row = row_of(result, i);
        row.span_ms = next_ms;
        row.at_ms = rollup_floor(row.at_ms, next_ms);
        rollup_table_add(&table, &row);
    }
    PQclear(result);
    if (table.count)
        send_rows(pg, table.rows, table.count);
    rollup_table_done(&table);
}

void pgrollups_save(Postgres *pg)
{
    Rollups *rollups = &pg->rollups;
    int64_t newest_ms = 0;
    for (size_t i = 0; i < rollups->count; i++)
        if (rollups->rows[i].at_ms > newest_ms)
            newest_ms = rollups->rows[i].at_ms;
    if (rollups->count)
        send_rows(pg, rollups->rows, rollups->count);
    rollups_clear(rollups);
    if (newest_ms / MS_PER_HOUR <= pg->folded_hour)
        return;
    static const int64_t spans[] = { MS_PER_MIN, MS_PER_HOUR, MS_PER_DAY };
    for (size_t i = 0; i < 3; i++)
        fold_span(pg, spans[i], newest_ms);
    pg->folded_hour = newest_ms / MS_PER_HOUR;
}

Err postgres_rollups(Store *store, int64_t from_ms, RollupSink *sink, void *context,
                     Error *why)
{
    Postgres *pg = postgres_of(store);
    postgres_begin_read(pg);
    param_int(&pg->params, from_ms);
    PGresult *result = link_query(
        &pg->link,
        "SELECT span, at, tenant, queue, type, priority, sum(added)::int8,"
        " sum(started)::int8, sum(ok)::int8, sum(failed)::int8, sum(retry)::int8,"
        " sum(error)::int8, sum(wait_ms)::int8, sum(run_ms)::int8 FROM pawl.rollup"
        " WHERE span IN (60000, 3600000, 86400000) AND at >= $1"
        " GROUP BY span, at, tenant, queue, type, priority"
        " ORDER BY span, at, tenant, queue, type, priority",
        &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        Rollup row = row_of(result, i);
        sink(context, &row);
    }
    PQclear(result);
    return postgres_end_read(pg, "read statistics", why);
}
