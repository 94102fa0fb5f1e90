/* SPDX-License-Identifier: Apache-2.0 */
/* unit_of_work.c - see unit_of_work.h. */
#include "store/postgres/unit_of_work.h"

#include "store/postgres/booking.h"
#include "store/postgres/runs.h"
#include "store/sum.h"

static PgHeld absent; /* its address says: asked for, and not there */

static const char *const tables[PLACES] = { "pawl.job_live", "pawl.job_done",
                                            "pawl.job_dead" };

#define IN_ORDER "(" JOB_HOT_COLUMNS ", payload, owner)"
static const char *const copies[PLACES] = { "pawl.job_live" IN_ORDER,
                                            "pawl.job_done" IN_ORDER,
                                            "pawl.job_dead" IN_ORDER };

/* --- Reading
 * -----------------------------------------------------------------------------
 */

static PgHeld *hold(Postgres *pg, JobId id)
{
    PgHeld *held = ARENA_NEW(&pg->held.arena, PgHeld);
    MEM_PUSH(pg->held.items, pg->held.count, pg->held.capacity) = held;
    map_put(&pg->held.by_id, id, held);
    return held;
}

static PgPlaced placed_of(const Job *job)
{
    return (PgPlaced){ job->priority, job->dt_ms, job_owner(job), job->flags };
}

static int64_t row_bytes(const Job *job)
{
    return (int64_t)job->payload.bytes + job->result_bytes;
}

static void hold_saved(Postgres *pg, const RowColumns *saved, Place place)
{
    PgHeld *held = hold(pg, saved->row.job.id);
    held->saved = *saved;
    held->was = place;
    held->was_lane = saved->lane;
    held->was_state = saved->row.job.state;
    held->was_placed = placed_of(&saved->row.job);
    held->was_bytes = row_bytes(&saved->row.job);
}

void pgheld_take(Postgres *pg, const PGresult *result, Place place)
{
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        RowColumns saved; /* a damaged one is held too: its id is taken */
        (void)!pgrow_read(&saved, result, i, &pg->catalog, &pg->held.arena);
        hold_saved(pg, &saved, place);
    }
}

static bool hold_known(Postgres *pg, JobId id)
{
    Slice row = pgknown_find(&pg->known, id);
    PgFields fields;
    RowColumns saved;
    if (!row.bytes)
        return false;
    pgrow_fields_of(&fields, row);
    if (pgrow_take(&saved, &fields, &pg->catalog, NULL))
        hold_saved(pg, &saved, PLACE_LIVE);
    return true;
}

static void fetch_place(Postgres *pg, const PgArray *ids, Place place)
{
    Buf sql = { 0 };
    PgRuns runs;
    runs_of(&runs, ids);
    buf_printf(&sql,
               "SELECT %s FROM unnest($1, $2) AS r(a, b) JOIN %s"
               " ON id BETWEEN r.a AND r.b",
               pg_all_columns, tables[place]);
    param_runs(&pg->params, &runs);
    runs_done(&runs);
    PGresult *result = link_query(&pg->link, buf_cstr(&sql), &pg->params);
    pgheld_take(pg, result, place);
    PQclear(result);
    buf_done(&sql);
}

static JobId id_at(const PgArray *ids, int32_t at)
{
    return (JobId)array_id(ids, at);
}

/* Those that are not held yet. */
static void unknown(const Postgres *pg, const PgArray *ids, PgArray *out)
{
    array_clear(out);
    for (int32_t i = 0; i < ids->count; i++)
        if (!map_find(&pg->held.by_id, id_at(ids, i)))
            array_int(out, (int64_t)id_at(ids, i));
}

/* Ids of a node rise: one above its largest was never here. Others may be known. What is
 * left must be read. */
static void pass_known(Postgres *pg, const PgArray *ids, PgArray *out_rest)
{
    for (int32_t i = 0; i < ids->count; i++) {
        JobId id = id_at(ids, i);
        if (map_find(&pg->held.by_id, id))
            continue;
        const Point *point = points_find(&pg->points, id_node(id));
        if (point && id > point->last_id)
            map_put(&pg->held.by_id, id, &absent);
        else if (!hold_known(pg, id))
            array_int(out_rest, (int64_t)id);
    }
}

void pgheld_fetch(Postgres *pg, const PgArray *ids)
{
    PgArray wanted = { .type = PG_INT8 };
    PgArray rest = { .type = PG_INT8 };
    pass_known(pg, ids, &wanted);
    unknown(pg, &wanted, &rest);
    for (unsigned place = 0; place < PLACES && rest.count; place++) {
        if (!pg->link.err)
            fetch_place(pg, &rest, (Place)place);
        unknown(pg, &wanted, &rest);
    }
    for (int32_t i = 0; i < rest.count; i++)
        map_put(&pg->held.by_id, id_at(&rest, i), &absent);
    array_done(&wanted);
    array_done(&rest);
}

int pgheld_fetch_rows(Postgres *pg, const PGresult *result)
{
    PgArray ids = { .type = PG_INT8 };
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++)
        array_int(&ids, field_int(result, i, 0));
    pgheld_fetch(pg, &ids);
    array_done(&ids);
    return rows;
}

bool pgheld_there(Postgres *pg, JobId id)
{
    PgHeld *held = map_find(&pg->held.by_id, id);
    return pgheld_find(pg, id) || (held && held != &absent && !held->gone);
}

bool pgheld_asked(const Postgres *pg, JobId id)
{
    return map_find(&pg->held.by_id, id) != NULL;
}

PgHeld *pgheld_find(Postgres *pg, JobId id)
{
    PgHeld *held = map_find(&pg->held.by_id, id);
    if (!held) {
        PgArray one = { .type = PG_INT8 };
        array_int(&one, (int64_t)id);
        pgheld_fetch(pg, &one);
        array_done(&one);
        held = map_find(&pg->held.by_id, id);
    }
    bool there = held != &absent && !held->gone && !held->saved.damaged;
    return there ? held : NULL;
}

/* --- Adding
 * ------------------------------------------------------------------------------
 */

void pgheld_payload(PgHeld *held, Slice payload)
{
    Job *job = &held->saved.row.job;
    bool apart = payload.bytes > STORE_PAYLOAD_SMALL;
    if (apart || held->saved.apart) {
        held->payload = apart ? BESIDE_PUT : BESIDE_GONE;
        held->payload_bytes = payload;
    }
    held->saved.apart = apart;
    held->saved.payload_sum = apart ? sum_payload(payload) : 0;
    job->payload = apart ? (Slice){ NULL, 0 } : payload;
}

PgHeld *pgheld_add(Postgres *pg, const Job *job)
{
    PgHeld *held = hold(pg, job->id);
    held->saved = (RowColumns){ .row = row_new(job), .opened = true };
    held->was = PLACE_NONE;
    held->changed = true;
    pgheld_payload(held, job->payload);
    return held;
}

#define FRESH_BYTES ((size_t)64 << 10) /* then the server may begin with them */

static void write_values(Postgres *pg, const RowValues *values, Place place, Place was)
{
    JobId id = (JobId)values->numbers[COL_ID];
    bool added = was == PLACE_NONE;
    Buf *out = was == place ? &pg->out.jobs[place] : &pg->out.fresh[place];
    size_t from = out->bytes;
    if (place != PLACE_LIVE)
        pgcatalog_part(&pg->catalog, id);
    pgrow_copy(out, values);
    uint32_t owner = (uint32_t)values->numbers[COL_OWNER];
    Slice row = slice_from(buf_slice(out), from);
    if (place == PLACE_LIVE && added)
        pgknown_add(&pg->known, id, owner, row);
    else if (place == PLACE_LIVE)
        pgknown_put(&pg->known, id, owner, row);
    else if (!added)
        pgknown_remove(&pg->known, id);
    if (was != place && out->bytes >= FRESH_BYTES)
        link_copy(&pg->link, copies[place], out);
}

/* Likewise for a row that stays where it is. */
static void change_values(Postgres *pg, const RowValues *values)
{
    Buf row = { 0 };
    pgrow_change(&pg->out.changes, values);
    pgrow_copy(&row, values);
    pgknown_put(&pg->known, (JobId)values->numbers[COL_ID],
                (uint32_t)values->numbers[COL_OWNER], buf_slice(&row));
    buf_done(&row);
}

static void write_payload(Postgres *pg, JobId id, Slice payload)
{
    copy_row(&pg->out.payloads, 2);
    copy_int(&pg->out.payloads, PG_INT8, (int64_t)id);
    copy_bytes(&pg->out.payloads, payload);
}

PgPattern pgheld_pattern(Postgres *pg, const Job *job)
{
    PgPattern pattern = { .place = place_of(job->state), .state = job->state };
    RowColumns saved = { .row = row_new(job), .opened = true };
    pattern.lane = pgrow_values(&saved, &pg->catalog, &pg->scratch, &pattern.values);
    return pattern;
}

void pgheld_line(Postgres *pg, PgPattern *pattern, JobId id, Slice payload)
{
    RowValues *values = &pattern->values;
    bool apart = payload.bytes > STORE_PAYLOAD_SMALL;
    columns_refill(values, id, payload, apart);
    if (apart)
        write_payload(pg, id, payload);
    write_values(pg, values, pattern->place, PLACE_NONE);
    pgcatalog_count(&pg->catalog, pattern->lane, pattern->state, 1);
    pgcatalog_bytes(&pg->catalog, pattern->lane, (int64_t)payload.bytes);
}

void pgheld_write(Postgres *pg, const Job *job)
{
    PgPattern pattern = pgheld_pattern(pg, job);
    pgheld_line(pg, &pattern, job->id, job->payload);
}

/* --- Changing
 * ----------------------------------------------------------------------------
 */

void pgheld_keep_attempt(Postgres *pg, PgHeld *held)
{
    PgKept *kept = ARENA_NEW(&pg->held.arena, PgKept);
    pgrow_open(&held->saved, &pg->link);
    kept->row = held->saved.row;
    kept->next = held->attempts;
    held->attempts = kept;
}

void pgheld_book(Postgres *pg, PgHeld *held, const Op *op)
{
    PgKept *kept = ARENA_NEW(&pg->held.arena, PgKept);
    kept->row.job.attempt = op->attempt;
    kept->bookings = op->bookings;
    kept->next = held->bookings;
    held->bookings = kept;
}

void pgheld_result(PgHeld *held, Slice result)
{
    if (!result.bytes && !held->saved.row.job.result_bytes)
        return;
    held->result = result.bytes ? BESIDE_PUT : BESIDE_GONE;
    held->result_bytes = result;
}

static void count_change(Postgres *pg, const PgHeld *held, uint32_t lane)
{
    if (held->was != PLACE_NONE)
        pgcatalog_count(&pg->catalog, held->was_lane, held->was_state, -1);
    if (lane)
        pgcatalog_count(&pg->catalog, lane, held->saved.row.job.state, 1);
    int64_t bytes = lane ? row_bytes(&held->saved.row.job) : 0;
    if (lane && held->payload == BESIDE_PUT)
        bytes += (int64_t)held->payload_bytes.bytes;
    pgcatalog_bytes(&pg->catalog, lane ? lane : held->was_lane, bytes - held->was_bytes);
}

void pgheld_remove(Postgres *pg, PgHeld *held)
{
    PgOutgoing *out = &pg->out;
    int64_t id = (int64_t)held->saved.row.job.id;
    held->gone = true;
    held->changed = false;
    if (held->was == PLACE_NONE)
        return; /* no one will ever have seen it */
    pgknown_remove(&pg->known, (JobId)id);
    if (!held->rowless) {
        pg->archive_shrank |= held->was != PLACE_LIVE;
        array_int(&out->removed[held->was], id);
    }
    array_int(&out->payloads_removed, id);
    array_int(&out->results_removed, id);
    array_int(&out->attempts_removed, id);
    array_int(&out->bookings_removed, id);
    count_change(pg, held, 0);
}

/* --- Writing
 * -----------------------------------------------------------------------------
 */

static void out_int(PgArray *column, int64_t value, int64_t none)
{
    if (value == none)
        array_null(column);
    else
        array_int(column, value);
}

static bool same_attempt(const PgKept *newer, const PgKept *kept)
{
    for (; newer != kept; newer = newer->next)
        if (newer->row.job.attempt == kept->row.job.attempt)
            return true;
    return false;
}

static void write_attempt(Postgres *pg, const Row *row)
{
    PgArray *column = pg->out.attempts;
    const Job *job = &row->job;
    uint32_t node = pgcatalog_name(&pg->catalog, job->node);
    if (node && row->slot)
        pgcatalog_slot(&pg->catalog, node, row->slot);
    array_int(column++, (int64_t)job->id);
    array_int(column++, job->attempt);
    out_int(column++, row->slot, 0);
    out_int(column++, node, 0);
    out_int(column++, row->run_retry, 0);
    array_int(column++, row->run_state);
    out_int(column++, job->run_at_ms, 0);
    out_int(column++, job->service_ms, 0);
    out_int(column++, job->started_ms, 0);
    out_int(column++, job->finished_ms, 0);
    out_int(column++, job->beat_ms, 0);
    out_int(column++, job->outcome.code, 0);
    out_int(column++, job->outcome.exitcode, 0);
    array_int(column++, job->outcome.exit_status);
    out_int(column++, job->outcome.signal, 0);
    if (job->error.bytes)
        array_bytes(column++, job->error);
    else
        array_null(column++);
    out_int(column, job->version, 0);
}

static void write_beside(Postgres *pg, const PgHeld *held)
{
    PgOutgoing *out = &pg->out;
    JobId id = held->saved.row.job.id;
    bool there = held->was != PLACE_NONE;
    if (held->result != BESIDE_SAME && there)
        array_int(&out->results_removed, (int64_t)id);
    if (held->result == BESIDE_PUT) {
        copy_row(&out->results, 2);
        copy_int(&out->results, PG_INT8, (int64_t)id);
        copy_bytes(&out->results, held->result_bytes);
    }
    if (held->payload != BESIDE_SAME && there)
        array_int(&out->payloads_removed, (int64_t)id);
    if (held->payload == BESIDE_PUT)
        write_payload(pg, id, held->payload_bytes);
    for (const PgKept *kept = held->attempts; kept; kept = kept->next)
        if (!same_attempt(held->attempts, kept))
            write_attempt(pg, &kept->row);
    for (const PgKept *kept = held->bookings; kept; kept = kept->next)
        if (!same_attempt(held->bookings, kept))
            pgbooking_put(out->bookings, id, kept->row.job.attempt, kept->bookings);
}

/* Many rows are cheaper removed and copied in again than changed, unless no index knows
 * of the change. */
#define CHANGES_FEW 64

static bool stays(const PgHeld *held, uint32_t lane, bool few)
{
    const Job *job = &held->saved.row.job;
    const PgPlaced now = placed_of(job);
    const PgPlaced *was = &held->was_placed;
    if (held->was != PLACE_LIVE || place_of(job->state) != PLACE_LIVE || held->rewrite)
        return false;
    return few || (held->was_state == job->state && held->was_lane == lane &&
                   was->rank == now.rank && was->dt_ms == now.dt_ms &&
                   was->owner == now.owner && was->flags == now.flags);
}

static void write_one(Postgres *pg, PgHeld *held, bool few)
{
    RowValues values;
    const Job *job = &held->saved.row.job;
    Place place = place_of(job->state);
    if (held->was != PLACE_NONE && !held->rewrite)
        held->saved.opened = false; /* what is packed is as it was */
    uint32_t lane = pgrow_values(&held->saved, &pg->catalog, &pg->scratch, &values);
    if (stays(held, lane, few)) {
        change_values(pg, &values);
    } else {
        if (held->was != PLACE_NONE)
            array_int(&pg->out.removed[held->was], (int64_t)job->id);
        write_values(pg, &values, place, held->was);
    }
    write_beside(pg, held);
    count_change(pg, held, lane);
}

/* How many there must be of them. */
static int32_t param_removed(Postgres *pg, PgArray *ids)
{
    PgRuns runs;
    runs_of(&runs, ids);
    array_clear(ids);
    param_runs(&pg->params, &runs);
    runs_done(&runs);
    return runs.ids;
}

/* True: as many rows are gone as there are ids. */
static bool send_removed(Postgres *pg, PgArray *ids, const char *sql)
{
    int32_t wanted = ids->count ? param_removed(pg, ids) : 0;
    return !wanted || link_run(&pg->link, sql, &pg->params) == wanted;
}

/* Rows beside jobs: there may be fewer. */
static void send_removed_beside(Postgres *pg, PgArray *ids, const char *sql)
{
    if (ids->count && param_removed(pg, ids))
        link_later(&pg->link, sql, &pg->params);
}

#define RUNS(key) " USING unnest($1, $2) AS r(a, b) WHERE " key " BETWEEN r.a AND r.b"

/* Payloads in their own table: only there is known how large they were. */
static void send_payloads_removed(Postgres *pg)
{
    PgArray *ids = &pg->out.payloads_removed;
    if (!ids->count)
        return;
    param_removed(pg, ids);
    PGresult *result = link_query(
        &pg->link,
        "DELETE FROM pawl.payload" RUNS("job") " RETURNING job, octet_length(data)::int8",
        &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        const PgHeld *held = map_find(&pg->held.by_id, (JobId)field_int(result, i, 0));
        if (held)
            pgcatalog_bytes(&pg->catalog, held->was_lane, -field_int(result, i, 1));
    }
    PQclear(result);
}

static void send_columns(Postgres *pg, PgArray *columns, size_t count, const char *sql)
{
    if (!columns[0].count)
        return;
    for (size_t i = 0; i < count; i++) {
        param_array(&pg->params, &columns[i]);
        array_clear(&columns[i]);
    }
    link_later(&pg->link, sql, &pg->params);
}

static void send_all(Postgres *pg)
{
    static const char *const removes[PLACES] = {
        "DELETE FROM pawl.job_live" RUNS("id"),
        "DELETE FROM pawl.job_done" RUNS("id"),
        "DELETE FROM pawl.job_dead" RUNS("id"),
    };
    PgOutgoing *out = &pg->out;
    bool sure = true;
    for (unsigned i = 0; i < PLACES; i++)
        link_copy(&pg->link, copies[i], &out->fresh[i]);
    for (unsigned i = 0; i < PLACES; i++)
        sure = send_removed(pg, &out->removed[i], removes[i]) && sure;
    send_removed_beside(pg, &out->attempts_removed,
                        "DELETE FROM pawl.attempt" RUNS("job"));
    send_removed_beside(pg, &out->bookings_removed,
                        "DELETE FROM pawl.booking" RUNS("job"));
    send_removed_beside(pg, &out->results_removed, "DELETE FROM pawl.result" RUNS("job"));
    send_payloads_removed(pg);
    sure = pgrow_changes_send(&out->changes, &pg->link, &pg->params) && sure;
    if (!sure) /* else what another has removed meanwhile would be there again */
        link_fail(&pg->link, ERR_BUSY, PG_DOUBT);
    for (unsigned i = 0; i < PLACES; i++)
        link_copy(&pg->link, copies[i], &out->jobs[i]);
    link_copy(&pg->link, "pawl.result(job, data)", &out->results);
    link_copy(&pg->link, "pawl.payload(job, data)", &out->payloads);
    send_columns(pg, out->attempts, 17,
                 "INSERT INTO pawl.attempt SELECT * FROM unnest($1, $2, $3, $4, $5, $6,"
                 " $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
                 " ON CONFLICT (job, attempt) DO UPDATE SET slot = excluded.slot,"
                 " node = excluded.node, retry = excluded.retry, state = excluded.state,"
                 " run_at = excluded.run_at, service = excluded.service,"
                 " started = excluded.started, finished = excluded.finished,"
                 " beat = excluded.beat, code = excluded.code,"
                 " exitcode = excluded.exitcode, exit_status = excluded.exit_status,"
                 " signal = excluded.signal, error = excluded.error,"
                 " version = excluded.version");
    send_columns(pg, out->bookings, 5,
                 "INSERT INTO pawl.booking(job, attempt, key, item, amount)"
                 " SELECT DISTINCT ON (1, 2, 3, 4) * FROM unnest($1, $2, $3, $4, $5)"
                 " ON CONFLICT (job, attempt, key, item) DO UPDATE"
                 " SET amount = excluded.amount");
}

static void set_types(PgOutgoing *out)
{
    static const PgType attempts[17] = {
        PG_INT8, PG_INT4, PG_INT4, PG_INT4, PG_INT4, PG_INT4, PG_INT8,  PG_INT8, PG_INT8,
        PG_INT8, PG_INT8, PG_INT4, PG_INT4, PG_INT4, PG_INT4, PG_BYTEA, PG_INT4,
    };
    static const PgType bookings[5] = { PG_INT8, PG_INT4, PG_BYTEA, PG_BYTEA, PG_INT8 };
    for (size_t i = 0; i < 17; i++)
        out->attempts[i].type = attempts[i];
    for (size_t i = 0; i < 5; i++)
        out->bookings[i].type = bookings[i];
    for (unsigned i = 0; i < PLACES; i++)
        out->removed[i].type = PG_INT8;
    out->payloads_removed.type = out->results_removed.type = PG_INT8;
    out->attempts_removed.type = out->bookings_removed.type = PG_INT8;
}

static void clear_held(Postgres *pg)
{
    map_done(&pg->held.by_id);
    pg->held.by_id = (Map){ 0 };
    pg->held.count = 0;
    arena_reset(&pg->held.arena);
}

void pgheld_flush(Postgres *pg)
{
    size_t changed = 0;
    for (size_t i = 0; i < pg->held.count; i++)
        changed += pg->held.items[i]->changed;
    for (size_t i = 0; i < pg->held.count && !pg->link.err; i++)
        if (pg->held.items[i]->changed)
            write_one(pg, pg->held.items[i], changed <= CHANGES_FEW);
    send_all(pg);
    clear_held(pg);
}

static void outgoing_done(PgOutgoing *out)
{
    for (unsigned i = 0; i < PLACES; i++) {
        buf_done(&out->fresh[i]);
        buf_done(&out->jobs[i]);
        array_done(&out->removed[i]);
    }
    pgrow_changes_done(&out->changes);
    buf_done(&out->payloads);
    buf_done(&out->results);
    array_done(&out->payloads_removed);
    array_done(&out->results_removed);
    array_done(&out->attempts_removed);
    array_done(&out->bookings_removed);
    for (size_t i = 0; i < 17; i++)
        array_done(&out->attempts[i]);
    for (size_t i = 0; i < 5; i++)
        array_done(&out->bookings[i]);
    *out = (PgOutgoing){ 0 };
}

void pgheld_forget(Postgres *pg)
{
    clear_held(pg);
    outgoing_done(&pg->out);
    set_types(&pg->out);
}

void pgheld_done(Postgres *pg)
{
    pgheld_forget(pg);
    outgoing_done(&pg->out);
    mem_free(pg->held.items);
    arena_done(&pg->held.arena);
}
