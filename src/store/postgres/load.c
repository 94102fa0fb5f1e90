/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - see load.h. */
#include "store/postgres/load.h"

#include "store/damage.h"
#include "store/postgres/booking.h"
#include "store/postgres/cluster.h"
#include "store/postgres/partitions.h"
#include "store/postgres/relations.h"
#include "store/postgres/runs.h"
#include "store/states_sql.h"

typedef struct Loading {
    Postgres *pg;
    const Load *load;
    Loaded *out;
} Loading;

#define NO_LIMIT INT64_MAX

static int64_t one_more_than(uint32_t limit)
{
    return limit ? (int64_t)limit + 1 : NO_LIMIT;
}

static bool has_room(const Loading *in)
{
    return !in->load->limit || in->out->count < in->load->limit;
}

static void give(Loading *in, RowColumns *saved)
{
    Postgres *pg = in->pg;
    Arena *arena = &in->out->arena;
    pgrow_open(saved, &pg->link);
    Job job = saved->row.job;
    bool held = in->load->kind == LOAD_RUNNING || in->load->kind == LOAD_JOB;
    if (held && job.attempt)
        job.bookings = pgbooking_get(pg, job.id, job.attempt, arena);
    job.tenant = slice_copy(arena, job.tenant);
    job.queue = slice_copy(arena, job.queue);
    job.type = slice_copy(arena, job.type);
    job.lock = slice_copy(arena, job.lock);
    job.node = slice_copy(arena, job.node);
    MEM_PUSH(in->out->jobs, in->out->count, in->out->capacity) = job;
}

static bool read_row(Loading *in, const PGresult *result, int at, RowColumns *out)
{
    return pgrow_read(out, result, at, &in->pg->catalog, &in->out->arena);
}

/* "SELECT columns tail", with the parameters that are there. */
static PGresult *ask(Loading *in, const char *columns, const char *tail)
{
    Buf sql = { 0 };
    buf_printf(&sql, "SELECT %s %s", columns, tail);
    PGresult *result = link_query(&in->pg->link, buf_cstr(&sql), &in->pg->params);
    buf_done(&sql);
    return result;
}

/* They will be claimed soon. */
static void keep_known(Loading *in, const RowColumns *saved, const PGresult *result,
                       int at)
{
    PgKnown *known = &in->pg->known;
    const Job *job = &saved->row.job;
    PgFields fields;
    if (!known->since.node || job_owner(job) != known->since.node ||
        pgknown_find(known, job->id).bytes)
        return;
    buf_clear(&in->pg->scratch);
    pgrow_fields(&fields, result, at);
    pgrow_fields_copy(&in->pg->scratch, &fields);
    pgknown_put(known, job->id, job_owner(job), buf_slice(&in->pg->scratch));
}

/* Every row, up to the limit. */
static void give_all(Loading *in, PGresult *result)
{
    RowColumns saved;
    int rows = result ? PQntuples(result) : 0;
    int64_t limit = in->load->limit;
    if (limit && in->out->count + (uint32_t)rows > in->load->limit)
        in->out->more = true; /* whether or not some are damaged */
    for (int i = 0; i < rows && has_room(in); i++) {
        if (!read_row(in, result, i, &saved))
            continue;
        if (in->load->kind == LOAD_WINDOW)
            keep_known(in, &saved, result, i);
        if (in->load->kind == LOAD_WINDOW && saved.apart)
            saved.row.job.flags |= JOB_PAYLOAD_APART;
        give(in, &saved);
    }
    PQclear(result);
}

/* --- Ready jobs
 * --------------------------------------------------------------------------
 */

/* One lane of several owners is one lane. Whether an earlier row has a head of it: rows
 * come in order of giving. */
static bool seen_before(const Loading *in, uint32_t lane, Names *seen)
{
    const PgCatalog *catalog = &in->pg->catalog;
    if (!lane || lane > catalog->lane_count)
        return false;
    PgLaneKey key = catalog->lanes[lane - 1].key;
    key.owner = 0;
    Slice bytes = slice_of((const char *)&key, sizeof key);
    if (names_find(seen, bytes))
        return true;
    names_intern(seen, bytes);
    return false;
}

static bool several_owners(const PgCatalog *catalog)
{
    for (size_t i = 1; i < catalog->lane_count; i++)
        if (catalog->lanes[i].key.owner != catalog->lanes[0].key.owner)
            return true;
    return false;
}

#define HEADS_MAX 100 /* that may be damaged in a row */

/* The first sound row of a lane whose first one is damaged. */
static bool find_head(Loading *in, int64_t lane, RowColumns *out)
{
    param_int(&in->pg->params, lane);
    param_int(&in->pg->params, HEADS_MAX);
    PGresult *result = ask(in, pg_all_columns,
                           "FROM pawl.job_live WHERE state = " READY
                           " AND lane = $1 ORDER BY rank, dt, id LIMIT $2");
    int rows = result ? PQntuples(result) : 0;
    bool found = false;
    for (int i = 0; i < rows && !found; i++)
        found = read_row(in, result, i, out);
    PQclear(result);
    return found;
}

/* From lane to lane along the index, never over its jobs. */
static void load_lanes(Loading *in)
{
    RowColumns saved;
    PGresult *result = ask(
        in, pg_columns_of_h,
        "FROM (WITH RECURSIVE lanes(lane) AS ("
        " (SELECT lane FROM pawl.job_live WHERE state = " READY " ORDER BY lane LIMIT 1)"
        " UNION ALL SELECT (SELECT j.lane FROM pawl.job_live j WHERE j.state = " READY
        " AND j.lane > l.lane ORDER BY j.lane LIMIT 1) FROM lanes l"
        " WHERE l.lane IS NOT NULL) SELECT lane FROM lanes WHERE lane IS NOT NULL) l"
        " CROSS JOIN LATERAL (SELECT * FROM pawl.job_live WHERE state = " READY
        " AND lane = l.lane ORDER BY rank, dt, id LIMIT 1) h ORDER BY rank, dt, id");
    int rows = result ? PQntuples(result) : 0;
    bool merge = !in->load->owner && several_owners(&in->pg->catalog);
    Names seen = { 0 };
    for (int i = 0; i < rows; i++) {
        uint32_t owner = (uint32_t)field_int(result, i, COL_OWNER);
        if (in->load->owner && owner != in->load->owner)
            continue;
        if (merge && seen_before(in, (uint32_t)field_int(result, i, COL_LANE), &seen))
            continue;
        if (!has_room(in)) {
            in->out->more = true;
            break;
        }
        int64_t lane = field_int(result, i, COL_LANE);
        if (!read_row(in, result, i, &saved) && !find_head(in, lane, &saved))
            continue;
        saved.row.job.payload = (Slice){ NULL, 0 };
        give(in, &saved);
    }
    names_done(&seen);
    PQclear(result);
}

/* Along each level of priority, because there the order is that of time, aged or not. */
static void load_aged_window(Loading *in)
{
    const Load *load = in->load;
    param_int(&in->pg->params, load->age_ms);
    param_int_or_null(&in->pg->params, load->behind ? load->dt_ms : INT64_MIN, INT64_MIN);
    param_int(&in->pg->params, load->priority);
    param_int(&in->pg->params, (int64_t)load->behind_id);
    give_all(
        in,
        ask(in, pg_columns_of_h,
            "FROM unnest($1) AS n(lane) CROSS JOIN LATERAL ("
            " WITH RECURSIVE levels(rank) AS ("
            " (SELECT rank FROM pawl.job_live WHERE state = " READY " AND lane = n.lane"
            "  ORDER BY rank LIMIT 1)"
            " UNION ALL SELECT (SELECT j.rank FROM pawl.job_live j WHERE j.state = " READY
            "  AND j.lane = n.lane AND j.rank > l.rank ORDER BY j.rank LIMIT 1)"
            "  FROM levels l WHERE l.rank IS NOT NULL)"
            " SELECT rank FROM levels WHERE rank IS NOT NULL) v"
            " CROSS JOIN LATERAL (SELECT * FROM pawl.job_live WHERE state = " READY
            "  AND lane = n.lane AND rank = v.rank AND ($4::int8 IS NULL OR (dt, id) >"
            "  ($4::int8 + ((~v.rank) - $5::int8) * $3::int8, $6::int8))"
            "  ORDER BY rank, dt, id LIMIT $2) h"
            " ORDER BY h.dt - (~h.rank) * $3::int8, h.id LIMIT $2"));
}

static void load_window(Loading *in)
{
    const Load *load = in->load;
    Job pattern = { .tenant = load->tenant,
                    .queue = load->queue,
                    .type = load->key,
                    .flags = (load->pull ? (uint32_t)JOB_PULL : 0) |
                             (load->key.bytes ? (uint32_t)JOB_SEGREGATED : 0) };
    PgArray lanes = { .type = PG_INT4 };
    pgcatalog_find_lanes(&in->pg->catalog, &pattern, load->owner, &lanes);
    int32_t count = lanes.count;
    param_array(&in->pg->params, &lanes);
    param_int(&in->pg->params, one_more_than(load->limit));
    array_done(&lanes);
    if (!count) {
        params_clear(&in->pg->params);
        return;
    }
    if (load->age_ms) {
        load_aged_window(in);
        return;
    }
    if (load->behind) {
        param_int(&in->pg->params, ~load->priority);
        param_int(&in->pg->params, load->dt_ms);
        param_int(&in->pg->params, (int64_t)load->behind_id);
    }
    give_all(in,
             ask(in, pg_columns_of_h,
                 load->behind ? "FROM unnest($1) AS n(lane) CROSS JOIN LATERAL ("
                                " SELECT * FROM pawl.job_live WHERE state = " READY
                                " AND lane = n.lane"
                                " AND (rank, dt, id) > ($3, $4, $5) ORDER BY rank, dt, id"
                                " LIMIT $2) h ORDER BY h.rank, h.dt, h.id LIMIT $2"
                              : "FROM unnest($1) AS n(lane) CROSS JOIN LATERAL ("
                                " SELECT * FROM pawl.job_live WHERE state = " READY
                                " AND lane = n.lane"
                                " ORDER BY rank, dt, id LIMIT $2) h"
                                " ORDER BY h.rank, h.dt, h.id LIMIT $2"));
}

/* --- Others
 * ------------------------------------------------------------------------------
 */

/* Owners are few; for each of them and each state the index has the order. */
#define OWNERS                                                                           \
    "FROM (SELECT DISTINCT owner FROM pawl.lane"                                         \
    " WHERE $1::int8 IS NULL OR owner = $1::int8) o"

static void param_owner(Loading *in)
{
    param_int_or_null(&in->pg->params, in->load->owner, 0);
}

static void load_due(Loading *in)
{
    RowColumns saved;
    param_owner(in);
    param_int(&in->pg->params, one_more_than(in->load->limit));
    PGresult *result = ask(
        in, pg_columns_of_h,
        OWNERS " CROSS JOIN (VALUES (" DEFERRED "), (" RETRYING "), (" BLOCKED
               ")) AS s(state)"
               " CROSS JOIN LATERAL (SELECT * FROM pawl.job_live j"
               " WHERE j.state <> " READY " AND j.owner = o.owner AND j.state = s.state"
               " ORDER BY j.dt, j.id LIMIT $2) h ORDER BY h.dt, h.id LIMIT $2");
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        int64_t dt_ms = field_int(result, i, COL_DT);
        bool due = dt_ms <= in->load->dt_ms;
        if (!due || !has_room(in)) {
            in->out->more = due;
            in->out->next_due_ms = dt_ms;
            break;
        }
        if (!read_row(in, result, i, &saved))
            continue;
        saved.row.job.payload = (Slice){ NULL, 0 };
        give(in, &saved);
    }
    PQclear(result);
}

static void load_blocked(Loading *in)
{
    const Names *names = &in->pg->catalog.names;
    uint32_t type = names_find(names, in->load->key);
    uint32_t tenant = names_find(names, in->load->tenant);
    if (!type || !tenant)
        return;
    param_int(&in->pg->params, type);
    param_int(&in->pg->params, tenant);
    param_int(&in->pg->params, one_more_than(in->load->limit));
    param_owner(in);
    give_all(in, ask(in, pg_hot_columns,
                     "FROM pawl.job_live WHERE state = " BLOCKED
                     " AND ($4::int8 IS NULL OR owner = $4::int8)"
                     " AND " WAITS_FOR_NONE " AND type = $1 AND EXISTS"
                     " (SELECT 1 FROM pawl.lane l WHERE l.id = lane AND l.tenant = $2)"
                     " ORDER BY id LIMIT $3"));
}

static void load_running(Loading *in)
{
    Slice lock = in->load->lock;
    uint32_t owner = lock.bytes ? names_find(&in->pg->catalog.names, lock) : 0;
    if (lock.bytes && !owner)
        return;
    param_owner(in);
    param_int_or_null(&in->pg->params, owner, 0);
    give_all(in, ask(in, pg_columns_of_h,
                     OWNERS " CROSS JOIN (VALUES (" RUNNING "), (" PAUSED ")) AS s(state)"
                            " CROSS JOIN LATERAL (SELECT * FROM pawl.job_live j"
                            " WHERE j.state <> " READY " AND j.owner = o.owner"
                            " AND j.state = s.state"
                            " AND ($2::int8 IS NULL OR j.lock = $2::int8)) h"
                            " ORDER BY h.id"));
    for (size_t i = 0; i < in->out->count; i++)
        in->out->jobs[i].payload = (Slice){ NULL, 0 };
}

#define OLD_ROWS " AND (1::int8 << state::int4) & $2 <> 0 ORDER BY dt, id LIMIT $3"

static void give_old(Loading *in, const char *from)
{
    const Load *load = in->load;
    int64_t room = one_more_than(load->limit) - (int64_t)in->out->count;
    param_int(&in->pg->params, load->dt_ms + MS_PER_1000_YEARS);
    param_int(&in->pg->params, load->states & STATES_FINAL);
    param_int(&in->pg->params, room);
    give_all(in, ask(in, pg_hot_columns, from));
}

/* Only what stands in some parts, one after the other: to pass over the others' rows
 * would cost their number. */
static void load_old_parts(Loading *in, const char *table, const PgArray *parts)
{
    for (int32_t i = 0; i < parts->count && !in->out->more; i++) {
        Buf from = { 0 };
        int64_t first = array_id(parts, i) << PG_PART_SHIFT;
        buf_printf(&from, "FROM %s WHERE id >= %lld AND id <= %lld AND dt < $1" OLD_ROWS,
                   table, (long long)first,
                   (long long)(first + ((int64_t)1 << PG_PART_SHIFT) - 1));
        give_old(in, buf_cstr(&from));
        buf_done(&from);
    }
}

/* The first page of jobs that went with their part; false: there are none left. */
static bool load_gone(Loading *in, Place place, const PgOld *old)
{
    const Load page = { .kind = LOAD_OLD, .limit = LOAD_GONE_MAX };
    Loading gone = { in->pg, &page, in->out };
    for (int32_t i = 0; i < old->gone.count && !in->out->count; i++) {
        Buf from = { 0 };
        buf_add_text(&from, "FROM ");
        pgparts_gone_name(&from, place, array_id(&old->gone, i));
        buf_add_text(&from, " WHERE id > $1 ORDER BY id LIMIT $2");
        param_int(&in->pg->params, array_id(&old->swept, i));
        param_int(&in->pg->params, one_more_than(page.limit));
        give_all(&gone, ask(in, pg_hot_columns, buf_cstr(&from)));
        buf_done(&from);
        in->out->whole = in->out->whole || !in->out->count; /* the table may go */
    }
    in->out->gone = in->out->count > 0;
    return in->out->gone;
}

static void load_old(Loading *in)
{
    PgOld old;
    Place place = in->load->states & STATE_BIT(JOB_DONE) ? PLACE_DONE : PLACE_DEAD;
    const char *table = place == PLACE_DONE ? "pawl.job_done" : "pawl.job_dead";
    pgparts_look(in->pg, in->load, &old);
    in->out->whole = old.whole;
    if (load_gone(in, place, &old)) {
        /* what is left goes when these are swept */
    } else if (old.held) {
        load_old_parts(in, table, &old.parts);
    } else {
        give_old(in, place == PLACE_DONE ? "FROM pawl.job_done WHERE dt < $1" OLD_ROWS
                                         : "FROM pawl.job_dead WHERE dt < $1" OLD_ROWS);
    }
    pgparts_look_done(&old);
}

/* --- One job
 * -----------------------------------------------------------------------------
 */

Slice postgres_payload(Postgres *pg, JobId id, Arena *arena)
{
    param_int(&pg->params, (int64_t)id);
    PGresult *result = link_query(
        &pg->link, "SELECT data FROM pawl.payload WHERE job = $1", &pg->params);
    Slice payload = { NULL, 0 };
    if (result && PQntuples(result))
        payload = slice_copy(arena, field_bytes(result, 0, 0));
    PQclear(result);
    return payload;
}

/* The row alone: a large payload is not read. */
static bool find_row(Postgres *pg, JobId id, Arena *arena, RowColumns *out)
{
    static const char *const tables[PLACES] = { "job_live", "job_done", "job_dead" };
    bool found = false;
    out->damaged = false;
    for (unsigned place = 0; place < PLACES && !found && !pg->link.err && !out->damaged;
         place++) {
        Buf sql = { 0 };
        buf_printf(&sql, "SELECT %s FROM pawl.%s WHERE id = $1", pg_all_columns,
                   tables[place]);
        param_int(&pg->params, (int64_t)id);
        PGresult *result = link_query(&pg->link, buf_cstr(&sql), &pg->params);
        found = result && PQntuples(result) &&
                pgrow_read(out, result, 0, &pg->catalog, arena);
        PQclear(result);
        buf_done(&sql);
    }
    return found;
}

/* Rows of many, wherever they are, in as few steps as there are places: RowColumns by id.
 */
static Map find_rows(Loading *in, const PgArray *ids)
{
    static const char *const tails[PLACES] = {
        "FROM pawl.job_live WHERE id = ANY($1)",
        "FROM pawl.job_done WHERE id = ANY($1)",
        "FROM pawl.job_dead WHERE id = ANY($1)",
    };
    Map rows = { 0 };
    for (unsigned place = 0; place < PLACES && (int32_t)rows.count < ids->count;
         place++) {
        param_array(&in->pg->params, ids);
        PGresult *result = ask(in, pg_hot_columns, tails[place]);
        int count = result ? PQntuples(result) : 0;
        for (int i = 0; i < count; i++) {
            RowColumns *saved = ARENA_NEW(&in->out->arena, RowColumns);
            if (read_row(in, result, i, saved))
                map_put(&rows, saved->row.job.id, saved);
        }
        PQclear(result);
    }
    return rows;
}

bool postgres_find(Postgres *pg, JobId id, Arena *arena, RowColumns *out)
{
    if (!find_row(pg, id, arena, out))
        return false;
    if (out->apart)
        out->row.job.payload = postgres_payload(pg, id, arena);
    if (!out->apart || columns_payload_sound(out, out->row.job.payload) || pg->link.err)
        return true;
    damage_note(id);
    out->damaged = true;
    return false;
}

static bool find_own(Loading *in, RowColumns *out)
{
    Slice tenant = in->load->tenant;
    Arena *arena = &in->out->arena;
    bool found = in->load->bare ? find_row(in->pg, in->load->id, arena, out)
                                : postgres_find(in->pg, in->load->id, arena, out);
    if (found && in->load->bare)
        out->row.job.payload = (Slice){ NULL, 0 };
    if (out->damaged)
        pgrow_fail_damaged(&in->pg->link, in->load->id);
    return found && (!tenant.bytes || slice_equal(tenant, out->row.job.tenant));
}

static void load_job(Loading *in)
{
    RowColumns saved;
    if (find_own(in, &saved))
        give(in, &saved);
}

static Job read_attempt(Loading *in, const PGresult *result, int at)
{
    Job job = job_default();
    job.id = in->load->id;
    job.attempt = (uint32_t)field_int(result, at, 0);
    Slice node = pgcatalog_text(&in->pg->catalog, (uint32_t)field_int(result, at, 1));
    job.node = slice_copy(&in->out->arena, node);
    job.retry_number = (uint32_t)field_int(result, at, 2);
    job.state = (JobState)field_int(result, at, 3);
    job.run_at_ms = field_int(result, at, 4);
    job.service_ms = field_int(result, at, 5);
    job.started_ms = field_int(result, at, 6);
    job.finished_ms = field_int(result, at, 7);
    job.beat_ms = field_int(result, at, 8);
    job.outcome.code = (JobCode)field_int(result, at, 9);
    job.outcome.exitcode = (int32_t)field_int(result, at, 10);
    job.outcome.exit_status = (int32_t)field_int(result, at, 11);
    job.outcome.signal = (int32_t)field_int(result, at, 12);
    job.error = slice_copy(&in->out->arena, field_bytes(result, at, 13));
    job.version = (uint32_t)field_int(result, at, 14);
    return job;
}

static void give_attempt(Loading *in, Job attempt)
{
    Loaded *out = in->out;
    attempt.bookings = pgbooking_get(in->pg, attempt.id, attempt.attempt, &out->arena);
    MEM_PUSH(out->jobs, out->count, out->capacity) = attempt;
}

static void load_attempts(Loading *in)
{
    RowColumns saved;
    Job attempt;
    if (!find_own(in, &saved))
        return;
    param_int(&in->pg->params, (int64_t)in->load->id);
    PGresult *result = ask(in,
                           "attempt, node, retry, state, run_at, service, started,"
                           " finished, beat, code, exitcode, exit_status, signal, error,"
                           " version",
                           "FROM pawl.attempt WHERE job = $1 ORDER BY attempt");
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++)
        give_attempt(in, read_attempt(in, result, i));
    PQclear(result);
    pgrow_open(&saved, &in->pg->link);
    if (!row_attempt(&saved.row, &attempt))
        return;
    attempt.node = slice_copy(&in->out->arena, attempt.node);
    give_attempt(in, attempt);
}

/* --- Keys and links
 * ----------------------------------------------------------------------
 */

static void load_key(Loading *in)
{
    param_bytes(&in->pg->params, in->load->tenant);
    param_bytes(&in->pg->params, in->load->key);
    PGresult *result =
        ask(in, "expiry, value", "FROM pawl.idempotency WHERE tenant = $1 AND key = $2");
    if (result && PQntuples(result) &&
        (!in->load->dt_ms || field_int(result, 0, 0) > in->load->dt_ms)) {
        Slice value = field_bytes(result, 0, 1);
        in->out->value.data = arena_copy(&in->out->arena, value.data, value.bytes);
        in->out->value.bytes = value.bytes;
    }
    PQclear(result);
}

/* Each parent that has ended has someone who waits: so many parents are enough. */
static void load_after(Loading *in)
{
    Loaded *out = in->out;
    PgArray children = { .type = PG_INT8 };
    if (pglinks_any(in->pg))
        out->value = slice_copy(&out->arena, SLICE_LITERAL("some"));
    uint32_t limit = in->load->owner ? 0 : in->load->limit;
    param_int(&in->pg->params, one_more_than(limit));
    param_owner(in);
    PGresult *result =
        ask(in, "w.child",
            "FROM (SELECT parent FROM pawl.job_ended ORDER BY parent LIMIT $1) e"
            " CROSS JOIN LATERAL (SELECT child FROM pawl.job_wait"
            " WHERE parent = e.parent AND ($2::int8 IS NULL OR EXISTS(SELECT 1"
            " FROM pawl.job_live j WHERE j.id = child AND j.owner = $2::int8"
            " UNION ALL SELECT 1"
            " FROM pawl.job_dead d WHERE d.id = child AND d.owner = $2::int8))"
            " ORDER BY child LIMIT $1) w ORDER BY e.parent, w.child LIMIT $1");
    int rows = result ? PQntuples(result) : 0;
    if (limit && rows > (int)limit) {
        out->more = true;
        rows = (int)limit;
    }
    out->after = arena_take(&out->arena, ((size_t)rows + 1) * sizeof *out->after);
    for (int i = 0; i < rows; i++)
        array_int(&children, field_int(result, i, 0));
    Map found = find_rows(in, &children);
    for (int i = 0; i < rows; i++) {
        JobId child = (JobId)field_int(result, i, 0);
        RowColumns *saved = map_remove(&found, child); /* each once */
        if (!saved)
            continue;
        give(in, saved);
        out->after[out->count - 1] = pglinks_after(in->pg, child, &out->arena);
    }
    PQclear(result);
    array_done(&children);
    map_done(&found);
}

static void load_ids(Loading *in)
{
    Slice ids = in->load->key;
    PgArray wanted = { .type = PG_INT8 };
    for (size_t at = 0; at + sizeof(JobId) <= ids.bytes; at += sizeof(JobId)) {
        JobId id;
        memcpy(&id, ids.data + at, sizeof id);
        array_int(&wanted, (int64_t)id);
    }
    Map found = find_rows(in, &wanted);
    for (size_t at = 0; at + sizeof(JobId) <= ids.bytes; at += sizeof(JobId)) {
        JobId id;
        memcpy(&id, ids.data + at, sizeof id);
        RowColumns *saved = map_find(&found, id);
        if (saved && (!in->load->owner || job_owner(&saved->row.job) == in->load->owner))
            give(in, saved);
    }
    array_done(&wanted);
    map_done(&found);
}

static void load_inbox(Loading *in)
{
    pgcluster_inbox(in->pg, in->load, in->out);
}

static void load_unique(Loading *in)
{
    Slice rest = in->load->key;
    Slice tenant;
    Slice key;
    while (list_next(&rest, &tenant) && list_next(&rest, &key)) {
        JobId id = pglinks_holder(in->pg, tenant, key, in->load->dt_ms);
        RowColumns saved;
        if (id && postgres_find(in->pg, id, &in->out->arena, &saved))
            give(in, &saved);
        else
            MEM_PUSH(in->out->jobs, in->out->count, in->out->capacity) = job_default();
    }
}

/* Behind a new connection there may be a standby that was promoted without the last
 * commits: what it lacks must not be taken for all there is. The next commit finds out
 * and tells it again. */
static void refuse_gap(Postgres *pg)
{
    if (pg->read_only || !pg->seen.node || pg->agreed == pg->link.connects)
        return;
    param_int(&pg->params, pg->seen.node);
    PGresult *result = link_query(
        &pg->link, "SELECT position FROM pawl.point WHERE node = $1::int8", &pg->params);
    int64_t position = result && PQntuples(result) ? field_int(result, 0, 0) : 0;
    if (result && (uint64_t)position < pg->seen.position)
        link_fail(&pg->link, ERR_UNAVAILABLE, PG_WENT_BACK);
    else if (result)
        pg->agreed = pg->link.connects;
    PQclear(result);
}

Err postgres_load(Store *store, const Load *load, Loaded *out, Error *why)
{
    static void (*const loads[])(Loading *) = {
        [LOAD_LANES] = load_lanes,       [LOAD_WINDOW] = load_window,
        [LOAD_DUE] = load_due,           [LOAD_RUNNING] = load_running,
        [LOAD_JOB] = load_job,           [LOAD_KEY] = load_key,
        [LOAD_ATTEMPTS] = load_attempts, [LOAD_OLD] = load_old,
        [LOAD_BLOCKED] = load_blocked,   [LOAD_AFTER] = load_after,
        [LOAD_UNIQUE] = load_unique,     [LOAD_INBOX] = load_inbox,
        [LOAD_IDS] = load_ids,
    };
    Postgres *pg = postgres_of(store);
    if (load->kind == LOAD_MATCH)
        return load_match(store, load, out, why);
    if (load->kind == LOAD_GROUP)
        return load_group_counts(store, load, out, why);
    if (load->kind == LOAD_OWED)
        return load_owed(store, out, why);
    Loaded loaded = { .next_due_ms = TIME_NEVER };
    Loading in = { .pg = pg, .load = load, .out = &loaded };
    postgres_begin_read(pg);
    refuse_gap(pg);
    loads[load->kind](&in);
    Err err = postgres_end_read(pg, "load", why);
    if (err)
        loaded_done(&loaded);
    else
        *out = loaded;
    return err;
}
