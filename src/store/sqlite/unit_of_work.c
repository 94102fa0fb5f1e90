/* SPDX-License-Identifier: Apache-2.0 */
/* unit_of_work.c - see unit_of_work.h. */
#include "store/sqlite/unit_of_work.h"

#include "store/sqlite/booking.h"
#include "store/sum.h"

#define READ_RUN 32   /* rows that are read together */
#define HELD_MAX 4096 /* jobs; some megabytes at most, then they are written */

static Held *hold(Sqlite *sqlite, JobId id)
{
    UnitOfWork *held = &sqlite->held;
    Held *job = ARENA_NEW(&held->arena, Held);
    MEM_PUSH(held->items, held->count, held->capacity) = job;
    map_put(&held->by_id, id, job);
    return job;
}

static int64_t row_bytes(const Job *job)
{
    return (int64_t)job->payload.bytes + job->result_bytes;
}

/* A damaged row is held too, so that its id is known to be taken. */
static Held *hold_row(Sqlite *sqlite, const RowColumns *saved, Place place)
{
    Held *held = hold(sqlite, saved->row.job.id);
    held->saved = *saved;
    held->was = place;
    held->was_lane = saved->lane;
    held->was_state = saved->row.job.state;
    held->was_bytes = row_bytes(&saved->row.job);
    return held;
}

static Held *read_one(Sqlite *sqlite, JobId id, Place place)
{
    sqlite3_stmt *stmt = db_statement(&sqlite->db, (Sql)(SQL_LIVE_GET + place));
    sqlite3_bind_int64(stmt, 1, (int64_t)id);
    if (!db_row(&sqlite->db, stmt))
        return NULL;
    RowColumns saved;
    bool sound = row_columns_read(&saved, stmt, &sqlite->catalog, &sqlite->held.arena);
    Held *held = hold_row(sqlite, &saved, place);
    sqlite3_reset(stmt);
    if (sound && place == PLACE_LIVE)
        sqlite->held.last_read = id;
    return held;
}

/* Bulks are added in a row and run in a row: who asks for one and then for its neighbour
 * is given a few more at once, because a statement costs more than a row. */
static void read_neighbours(Sqlite *sqlite, JobId id)
{
    UnitOfWork *held = &sqlite->held;
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_LIVE_GET_RUN);
    sqlite3_bind_int64(stmt, 1, (int64_t)id);
    sqlite3_bind_int64(stmt, 2, (int64_t)(id + READ_RUN - 1));
    while (db_row(&sqlite->db, stmt)) {
        JobId at = (JobId)sqlite3_column_int64(stmt, COL_ID);
        if (map_find(&held->by_id, at))
            continue; /* and may have been changed */
        RowColumns saved;
        if (!row_columns_read(&saved, stmt, &sqlite->catalog, &held->arena))
            continue;
        hold_row(sqlite, &saved, PLACE_LIVE);
        held->last_read = at;
    }
    sqlite3_reset(stmt);
}

static Held *held_read(Sqlite *sqlite, JobId id)
{
    UnitOfWork *held = &sqlite->held;
    if (id == held->last_read + 1)
        read_neighbours(sqlite, id);
    Held *found = map_find(&held->by_id, id);
    for (unsigned place = 0; place < PLACES && !found; place++)
        found = read_one(sqlite, id, (Place)place);
    return found;
}

static Held *seek(Sqlite *sqlite, JobId id)
{
    Held *held = map_find(&sqlite->held.by_id, id);
    if (held)
        return held;
    if (sqlite->held.count >= HELD_MAX)
        held_flush(sqlite);
    return held_read(sqlite, id);
}

Held *held_find(Sqlite *sqlite, JobId id)
{
    Held *held = seek(sqlite, id);
    return held && !held->saved.damaged ? held : NULL;
}

bool held_there(Sqlite *sqlite, JobId id)
{
    return seek(sqlite, id) != NULL;
}

static void remove_payload(Sqlite *sqlite, Held *held)
{
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_PAYLOAD_REMOVE);
    sqlite3_bind_int64(stmt, 1, (int64_t)held->saved.row.job.id);
    while (db_row(&sqlite->db, stmt))
        held->bytes -= sqlite3_column_int64(stmt, 0);
}

void held_payload(Sqlite *sqlite, Held *held, Slice payload)
{
    Db *db = &sqlite->db;
    Job *job = &held->saved.row.job;
    bool apart = payload.bytes > STORE_PAYLOAD_SMALL;
    if (held->saved.apart)
        remove_payload(sqlite, held);
    if (apart) {
        sqlite3_stmt *stmt = db_statement(db, SQL_PAYLOAD_PUT);
        sqlite3_bind_int64(stmt, 1, (int64_t)job->id);
        db_bind_blob(stmt, 2, payload);
        db_run(db, stmt);
        held->bytes += (int64_t)payload.bytes;
    }
    held->saved.apart = apart;
    held->saved.payload_sum = apart ? sum_payload(payload) : 0;
    job->payload = apart ? (Slice){ NULL, 0 } : payload;
}

Held *held_add(Sqlite *sqlite, const Job *job)
{
    if (sqlite->held.count >= HELD_MAX)
        held_flush(sqlite);
    Held *held = hold(sqlite, job->id);
    held->saved = (RowColumns){ .row = row_new(job), .opened = true };
    held->was = PLACE_NONE;
    held->changed = true;
    held_payload(sqlite, held, job->payload);
    return held;
}

static void run_by_id(Db *db, Sql sql, JobId id)
{
    sqlite3_stmt *stmt = db_statement(db, sql);
    sqlite3_bind_int64(stmt, 1, (int64_t)id);
    db_run(db, stmt);
}

static void count_change(Sqlite *sqlite, const Held *held, uint32_t lane)
{
    if (held->was != PLACE_NONE)
        catalog_count(&sqlite->catalog, held->was_lane, held->was_state, -1);
    if (lane)
        catalog_count(&sqlite->catalog, lane, held->saved.row.job.state, 1);
    int64_t bytes = lane ? row_bytes(&held->saved.row.job) : 0;
    if (lane || held->was != PLACE_NONE)
        catalog_bytes(&sqlite->catalog, lane ? lane : held->was_lane,
                      bytes - held->was_bytes + held->bytes);
}

void held_remove(Sqlite *sqlite, Held *held)
{
    Db *db = &sqlite->db;
    const Job *job = &held->saved.row.job;
    if (held->was != PLACE_NONE)
        run_by_id(db, (Sql)(SQL_LIVE_REMOVE + held->was), job->id);
    bool told_here = held->saved.row.run_state != RUN_NONE;
    if (job->attempt > (told_here ? 1 : 0)) /* others were kept apart */
        run_by_id(db, SQL_ATTEMPTS_REMOVE, job->id);
    if (job->attempt)
        booking_remove(db, job->id);
    if (job->result_bytes)
        run_by_id(db, SQL_RESULT_REMOVE, job->id);
    if (held->saved.apart)
        remove_payload(sqlite, held);
    count_change(sqlite, held, 0);
    held->changed = false;
    map_remove(&sqlite->held.by_id, job->id);
}

/* Ids in a row whose rows leave the live table. */
typedef struct Leaving {
    JobId first;
    JobId last; /* 0: none */
} Leaving;

static void remove_run(Sqlite *sqlite, Leaving *leaving)
{
    if (leaving->last) {
        sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_LIVE_REMOVE_RUN);
        sqlite3_bind_int64(stmt, 1, (int64_t)leaving->first);
        sqlite3_bind_int64(stmt, 2, (int64_t)leaving->last);
        db_run(&sqlite->db, stmt);
    }
    *leaving = (Leaving){ 0, 0 };
}

static void leave(Sqlite *sqlite, Leaving *leaving, JobId id)
{
    if (leaving->last + 1 != id) {
        remove_run(sqlite, leaving);
        leaving->first = id;
    }
    leaving->last = id;
}

static void write_one(Sqlite *sqlite, Held *held, Leaving *leaving)
{
    Db *db = &sqlite->db;
    const Job *job = &held->saved.row.job;
    Place place = place_of(job->state);
    bool stays = held->was == PLACE_LIVE && place == PLACE_LIVE && !held->rewrite;
    if (held->was == PLACE_LIVE && place != PLACE_LIVE)
        leave(sqlite, leaving, job->id);
    else if (!stays && held->was != PLACE_NONE)
        run_by_id(db, (Sql)(SQL_LIVE_REMOVE + held->was), job->id);
    sqlite3_stmt *stmt =
        db_statement(db, stays ? SQL_LIVE_CHANGE : (Sql)(SQL_LIVE_ADD + place));
    RowValues values;
    if (held->was != PLACE_NONE && !held->rewrite)
        held->saved.opened = false; /* what is packed is as it was */
    uint32_t lane =
        row_columns_values(&values, &held->saved, &sqlite->catalog, db, &sqlite->scratch);
    if (stays)
        row_columns_bind_changes(stmt, &values);
    else
        row_columns_bind(stmt, &values);
    db_run(db, stmt);
    count_change(sqlite, held, lane);
}

/* After a failure nothing is written any more, only forgotten. */
void held_flush(Sqlite *sqlite)
{
    UnitOfWork *held = &sqlite->held;
    Leaving leaving = { 0, 0 };
    for (size_t i = 0; i < held->count && sqlite->db.rc == SQLITE_OK; i++)
        if (held->items[i]->changed)
            write_one(sqlite, held->items[i], &leaving);
    remove_run(sqlite, &leaving);
    map_done(&held->by_id);
    held->count = 0;
    arena_reset(&held->arena);
}

void held_done(Sqlite *sqlite)
{
    map_done(&sqlite->held.by_id);
    mem_free(sqlite->held.items);
    arena_done(&sqlite->held.arena);
}
