/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - see load.h. */
#include "store/sqlite/load.h"

#include "store/damage.h"
#include "store/sqlite/booking.h"
#include "store/sqlite/cluster.h"
#include "store/sqlite/relations.h"

#include <stdlib.h>

/* Texts that come from the catalog are copied once for a run of equal ones. */
typedef struct Shared {
    Slice from;
    Slice copy;
} Shared;

typedef struct Loading {
    Sqlite *sqlite;
    const Load *load;
    Loaded *out;
    Shared shared[5];
} Loading;

static void share(Loading *in, Shared *shared, Slice *text)
{
    if (text->data != shared->from.data || text->bytes != shared->from.bytes) {
        shared->from = *text;
        shared->copy = slice_copy(&in->out->arena, *text);
    }
    *text = shared->copy;
}

static void give(Loading *in, RowColumns *saved)
{
    row_columns_open(saved, &in->sqlite->db);
    Job job = saved->row.job;
    bool held = in->load->kind == LOAD_RUNNING || in->load->kind == LOAD_JOB;
    if (held && job.attempt)
        job.bookings = booking_get(&in->sqlite->db, job.id, job.attempt, &in->out->arena);
    share(in, &in->shared[0], &job.tenant);
    share(in, &in->shared[1], &job.queue);
    share(in, &in->shared[2], &job.type);
    share(in, &in->shared[3], &job.lock);
    share(in, &in->shared[4], &job.node);
    MEM_PUSH(in->out->jobs, in->out->count, in->out->capacity) = job;
}

static bool read_row(Loading *in, sqlite3_stmt *stmt, RowColumns *out)
{
    return row_columns_read(out, stmt, &in->sqlite->catalog, &in->out->arena);
}

static bool has_room(const Loading *in)
{
    return !in->load->limit || in->out->count < in->load->limit;
}

/* Whose a job is stands among its packed fields: with an owner rows are passed over, and
 * the limit is counted here. An embedded store is asked so in tests only. */
static int64_t one_more(const Loading *in)
{
    const Load *load = in->load;
    return load->limit && !load->owner ? (int64_t)load->limit + 1 : -1; /* no limit */
}

static bool is_asked(const Loading *in, RowColumns *saved)
{
    if (!in->load->owner)
        return true;
    row_columns_open(saved, &in->sqlite->db);
    return job_owner(&saved->row.job) == in->load->owner;
}

/* Every row of stmt, up to the limit. Damaged ones count for it, because the statement
 * has it too. */
static void give_all(Loading *in, sqlite3_stmt *stmt)
{
    RowColumns saved;
    size_t damaged = 0;
    while (db_row(&in->sqlite->db, stmt)) {
        if (!has_room(in) && !in->load->owner) {
            in->out->more = true;
            break;
        }
        if (!read_row(in, stmt, &saved)) {
            damaged++;
            continue;
        }
        if (!is_asked(in, &saved))
            continue;
        if (!has_room(in)) {
            in->out->more = true;
            break;
        }
        if (in->load->kind == LOAD_WINDOW && saved.apart)
            saved.row.job.flags |= JOB_PAYLOAD_APART;
        give(in, &saved);
    }
    if (damaged && in->load->limit && in->out->count + damaged > in->load->limit)
        in->out->more = true;
    sqlite3_reset(stmt);
}

/* The first sound row of a lane that is asked for. */
static bool find_head(Loading *in, int64_t lane, RowColumns *out)
{
    Db *db = &in->sqlite->db;
    bool found = false;
    bool damaged = false;
    if (!in->load->owner) {
        sqlite3_stmt *head = db_statement(db, SQL_LANE_HEAD);
        sqlite3_bind_int64(head, 1, lane);
        bool any = db_row(db, head);
        found = any && read_row(in, head, out);
        damaged = any && !found;
        sqlite3_reset(head);
    }
    if (!in->load->owner && !damaged)
        return found;
    sqlite3_stmt *rows = db_statement(db, SQL_WINDOW);
    sqlite3_bind_int64(rows, 1, lane);
    sqlite3_bind_int64(rows, 2, -1);
    while (!found && db_row(db, rows))
        found = read_row(in, rows, out) && is_asked(in, out);
    sqlite3_reset(rows);
    return found;
}

static void load_lanes(Loading *in)
{
    Db *db = &in->sqlite->db;
    sqlite3_stmt *lanes = db_statement(db, SQL_LANES_READY);
    RowColumns saved;
    while (db_row(db, lanes)) {
        if (!find_head(in, sqlite3_column_int64(lanes, 0), &saved))
            continue;
        saved.row.job.payload = (Slice){ NULL, 0 };
        if (has_room(in))
            give(in, &saved);
        else
            in->out->more = true;
    }
}

/* The keys of a window in aged order: where each came from. */
typedef struct Aged {
    int64_t key;
    JobId id;
    size_t at; /* in out->jobs */
} Aged;

static int by_age(const void *a, const void *b)
{
    const Aged *first = a;
    const Aged *second = b;
    if (first->key != second->key)
        return first->key < second->key ? -1 : 1;
    return first->id < second->id ? -1 : first->id > second->id;
}

/* The jobs that were read level by level, in one order; only so many as were asked for.
 */
static void sort_aged(Loading *in)
{
    Loaded *out = in->out;
    size_t count = out->count;
    Aged *keys = arena_take(&out->arena, (count + 1) * sizeof *keys);
    Job *jobs = arena_take(&out->arena, (count + 1) * sizeof *jobs);
    for (size_t i = 0; i < count; i++) {
        jobs[i] = out->jobs[i];
        keys[i].key = jobs[i].dt_ms - jobs[i].priority * in->load->age_ms;
        keys[i].id = jobs[i].id;
        keys[i].at = i;
    }
    if (count)
        qsort(keys, count, sizeof *keys, by_age);
    for (size_t i = 0; i < count; i++)
        out->jobs[i] = jobs[keys[i].at];
    if (in->load->limit && count > in->load->limit) {
        out->count = in->load->limit;
        out->more = true;
    }
}

/* Jobs of one priority are in the order of their dt, aged or not: behind the key of the
 * load there are those that come later than it, by this priority's advantage. */
static void load_level(Loading *in, uint32_t lane, int64_t rank)
{
    const Load *load = in->load;
    int64_t from_dt = INT64_MIN;
    int64_t from_id = INT64_MIN;
    if (load->behind) {
        from_dt = load->dt_ms + (~rank - load->priority) * load->age_ms;
        from_id = (int64_t)load->behind_id;
    }
    sqlite3_stmt *stmt = db_statement(&in->sqlite->db, SQL_WINDOW_OF_LEVEL);
    sqlite3_bind_int64(stmt, 1, lane);
    sqlite3_bind_int64(stmt, 2, one_more(in));
    sqlite3_bind_int64(stmt, 3, rank);
    sqlite3_bind_int64(stmt, 4, from_dt);
    sqlite3_bind_int64(stmt, 5, from_id);
    RowColumns saved;
    while (db_row(&in->sqlite->db, stmt)) {
        if (!read_row(in, stmt, &saved) || !is_asked(in, &saved))
            continue;
        if (saved.apart)
            saved.row.job.flags |= JOB_PAYLOAD_APART;
        give(in, &saved);
    }
    sqlite3_reset(stmt);
}

/* Costs what it returns times the number of different priorities that wait. */
static void load_aged_window(Loading *in, uint32_t lane)
{
    Db *db = &in->sqlite->db;
    int64_t rank = INT64_MIN;
    for (bool found = true; found;) {
        sqlite3_stmt *stmt = db_statement(db, SQL_WINDOW_LEVEL);
        sqlite3_bind_int64(stmt, 1, lane);
        sqlite3_bind_int64(stmt, 2, rank);
        found = db_row(db, stmt) && sqlite3_column_type(stmt, 0) != SQLITE_NULL;
        rank = found ? sqlite3_column_int64(stmt, 0) : 0;
        sqlite3_reset(stmt);
        if (found)
            load_level(in, lane, rank);
    }
    sort_aged(in);
}

static void load_window(Loading *in)
{
    const Load *load = in->load;
    Job pattern = { .tenant = load->tenant,
                    .queue = load->queue,
                    .type = load->key,
                    .flags = (load->pull ? (uint32_t)JOB_PULL : 0) |
                             (load->key.bytes ? (uint32_t)JOB_SEGREGATED : 0) };
    uint32_t lane = catalog_find_lane(&in->sqlite->catalog, &pattern);
    if (!lane)
        return;
    if (load->age_ms) {
        load_aged_window(in, lane);
        return;
    }
    sqlite3_stmt *stmt =
        db_statement(&in->sqlite->db, load->behind ? SQL_WINDOW_BEHIND : SQL_WINDOW);
    sqlite3_bind_int64(stmt, 1, lane);
    sqlite3_bind_int64(stmt, 2, one_more(in));
    if (load->behind) {
        sqlite3_bind_int64(stmt, 3, ~load->priority);
        sqlite3_bind_int64(stmt, 4, load->dt_ms);
        sqlite3_bind_int64(stmt, 5, (int64_t)load->behind_id);
    }
    give_all(in, stmt);
}

static bool earlier(sqlite3_stmt *a, sqlite3_stmt *b)
{
    int64_t first = sqlite3_column_int64(a, COL_DT);
    int64_t second = sqlite3_column_int64(b, COL_DT);
    if (first != second)
        return first < second;
    return sqlite3_column_int64(a, COL_ID) < sqlite3_column_int64(b, COL_ID);
}

/* Two lists, each in order of time, taken from whichever comes first. Goes on to the
 * first that is left, because its time is asked for too. */
#define DUE_LISTS 3

/* Which list's row comes first; DUE_LISTS when none has one. */
static size_t earliest(sqlite3_stmt *const *lists, const bool *has_row)
{
    size_t first = DUE_LISTS;
    for (size_t i = 0; i < DUE_LISTS; i++)
        if (has_row[i] && (first == DUE_LISTS || earlier(lists[i], lists[first])))
            first = i;
    return first;
}

static void load_due(Loading *in)
{
    Db *db = &in->sqlite->db;
    sqlite3_stmt *lists[DUE_LISTS] = { db_statement(db, SQL_DEFERRED),
                                       db_statement(db, SQL_RETRYING),
                                       db_statement(db, SQL_OVERDUE_BLOCKED) };
    bool has_row[DUE_LISTS];
    for (size_t i = 0; i < DUE_LISTS; i++) {
        sqlite3_bind_int64(lists[i], 1, one_more(in));
        has_row[i] = db_row(db, lists[i]);
    }
    RowColumns saved;
    for (size_t first; (first = earliest(lists, has_row)) < DUE_LISTS;) {
        int64_t dt_ms = sqlite3_column_int64(lists[first], COL_DT);
        bool due = dt_ms <= in->load->dt_ms;
        bool asked = read_row(in, lists[first], &saved) && is_asked(in, &saved);
        if (asked && (!due || !has_room(in))) {
            in->out->more = due;
            in->out->next_due_ms = dt_ms;
            break;
        }
        if (asked)
            give(in, &saved);
        has_row[first] = db_row(db, lists[first]);
    }
    for (size_t i = 0; i < DUE_LISTS; i++)
        sqlite3_reset(lists[i]);
}

static void load_blocked(Loading *in)
{
    const Names *names = &in->sqlite->catalog.names;
    uint32_t type = names_find(names, in->load->key);
    uint32_t tenant = names_find(names, in->load->tenant);
    if (!type || !tenant)
        return;
    sqlite3_stmt *stmt = db_statement(&in->sqlite->db, SQL_BLOCKED);
    sqlite3_bind_int64(stmt, 1, type);
    sqlite3_bind_int64(stmt, 2, tenant);
    sqlite3_bind_int64(stmt, 3, one_more(in));
    give_all(in, stmt);
}

static void load_running(Loading *in)
{
    Slice lock = in->load->lock;
    uint32_t owner = lock.bytes ? names_find(&in->sqlite->catalog.names, lock) : 0;
    if (lock.bytes && !owner)
        return;
    sqlite3_stmt *stmt = db_statement(&in->sqlite->db, SQL_RUNNING);
    db_bind_int(stmt, 1, owner);
    give_all(in, stmt);
}

static void load_old(Loading *in)
{
    bool done = (in->load->states & STATE_BIT(JOB_DONE)) != 0;
    sqlite3_stmt *stmt =
        db_statement(&in->sqlite->db, done ? SQL_DONE_OLD : SQL_DEAD_OLD);
    sqlite3_bind_int64(stmt, 1, in->load->dt_ms + MS_PER_1000_YEARS);
    sqlite3_bind_int64(stmt, 2, in->load->states & STATES_FINAL);
    sqlite3_bind_int64(stmt, 3, one_more(in));
    give_all(in, stmt);
}

Slice sqlite_payload(Sqlite *sqlite, JobId id, Arena *arena)
{
    sqlite3_stmt *stmt = db_statement(&sqlite->db, SQL_PAYLOAD_GET);
    sqlite3_bind_int64(stmt, 1, (int64_t)id);
    Slice payload = { NULL, 0 };
    if (db_row(&sqlite->db, stmt))
        payload = slice_copy(arena, db_column(stmt, 0));
    sqlite3_reset(stmt);
    return payload;
}

/* The row alone: a large payload is not read. */
static bool find_row(Sqlite *sqlite, JobId id, Arena *arena, RowColumns *out)
{
    out->damaged = false;
    for (unsigned place = 0; place < PLACES; place++) {
        sqlite3_stmt *stmt = db_statement(&sqlite->db, (Sql)(SQL_LIVE_GET + place));
        sqlite3_bind_int64(stmt, 1, (int64_t)id);
        if (!db_row(&sqlite->db, stmt))
            continue;
        bool sound = row_columns_read(out, stmt, &sqlite->catalog, arena);
        sqlite3_reset(stmt);
        return sound;
    }
    return false;
}

bool sqlite_find(Sqlite *sqlite, JobId id, Arena *arena, RowColumns *out)
{
    if (!find_row(sqlite, id, arena, out))
        return false;
    if (out->apart)
        out->row.job.payload = sqlite_payload(sqlite, id, arena);
    if (!out->apart || columns_payload_sound(out, out->row.job.payload))
        return true;
    damage_note(id);
    out->damaged = true;
    return false;
}

static bool find_own(Loading *in, RowColumns *out)
{
    Slice tenant = in->load->tenant;
    Arena *arena = &in->out->arena;
    bool found = in->load->bare ? find_row(in->sqlite, in->load->id, arena, out)
                                : sqlite_find(in->sqlite, in->load->id, arena, out);
    if (found && in->load->bare)
        out->row.job.payload = (Slice){ NULL, 0 };
    if (out->damaged)
        db_fail_damaged(&in->sqlite->db, in->load->id);
    return found && (!tenant.bytes || slice_equal(tenant, out->row.job.tenant));
}

static void load_job(Loading *in)
{
    RowColumns saved;
    if (find_own(in, &saved))
        give(in, &saved);
}

static void read_attempt(Loading *in, sqlite3_stmt *stmt, Job *out)
{
    *out = job_default();
    out->id = in->load->id;
    out->attempt = (uint32_t)sqlite3_column_int64(stmt, 0);
    Slice node =
        catalog_text(&in->sqlite->catalog, (uint32_t)sqlite3_column_int64(stmt, 1));
    out->node = slice_copy(&in->out->arena, node);
    out->retry_number = (uint32_t)sqlite3_column_int64(stmt, 2);
    out->state = (JobState)sqlite3_column_int64(stmt, 3);
    out->run_at_ms = sqlite3_column_int64(stmt, 4);
    out->service_ms = sqlite3_column_int64(stmt, 5);
    out->started_ms = sqlite3_column_int64(stmt, 6);
    out->finished_ms = sqlite3_column_int64(stmt, 7);
    out->beat_ms = sqlite3_column_int64(stmt, 8);
    out->outcome.code = (JobCode)sqlite3_column_int64(stmt, 9);
    out->outcome.exitcode = sqlite3_column_int(stmt, 10);
    out->outcome.exit_status = sqlite3_column_int(stmt, 11);
    out->outcome.signal = sqlite3_column_int(stmt, 12);
    out->error = slice_copy(&in->out->arena, db_column(stmt, 13));
    out->version = (uint32_t)sqlite3_column_int64(stmt, 14);
}

static void load_attempts(Loading *in)
{
    RowColumns saved;
    if (!find_own(in, &saved))
        return;
    Db *db = &in->sqlite->db;
    Loaded *out = in->out;
    Job attempt;
    sqlite3_stmt *stmt = db_statement(db, SQL_ATTEMPTS);
    sqlite3_bind_int64(stmt, 1, (int64_t)in->load->id);
    while (db_row(db, stmt)) {
        read_attempt(in, stmt, &attempt);
        attempt.bookings = booking_get(db, attempt.id, attempt.attempt, &out->arena);
        MEM_PUSH(out->jobs, out->count, out->capacity) = attempt;
    }
    row_columns_open(&saved, db);
    if (!row_attempt(&saved.row, &attempt))
        return;
    attempt.node = slice_copy(&out->arena, attempt.node);
    attempt.bookings = booking_get(db, attempt.id, attempt.attempt, &out->arena);
    MEM_PUSH(out->jobs, out->count, out->capacity) = attempt;
}

static void load_key(Loading *in)
{
    sqlite3_stmt *stmt = db_statement(&in->sqlite->db, SQL_KEY_GET);
    db_bind_key(stmt, 1, in->load->tenant);
    db_bind_key(stmt, 2, in->load->key);
    if (db_row(&in->sqlite->db, stmt) &&
        (!in->load->dt_ms || sqlite3_column_int64(stmt, 0) > in->load->dt_ms)) {
        Slice value = db_column(stmt, 1);
        in->out->value.data = arena_copy(&in->out->arena, value.data, value.bytes);
        in->out->value.bytes = value.bytes;
    }
    sqlite3_reset(stmt);
}

static void load_after(Loading *in)
{
    IdList children = { 0 };
    Loaded *out = in->out;
    RowColumns saved;
    if (links_any(in->sqlite))
        out->value = slice_copy(&out->arena, SLICE_LITERAL("some"));
    links_ended(in->sqlite, in->load->owner ? 0 : in->load->limit, &children, &out->more);
    out->after = arena_take(&out->arena, (children.count + 1) * sizeof *out->after);
    for (size_t i = 0; i < children.count; i++) {
        if (!sqlite_find(in->sqlite, children.items[i], &out->arena, &saved) ||
            !is_asked(in, &saved))
            continue;
        saved.row.job.payload = (Slice){ NULL, 0 };
        give(in, &saved);
        out->after[out->count - 1] =
            links_after(in->sqlite, children.items[i], &out->arena);
    }
    mem_free(children.items);
}

static void load_ids(Loading *in)
{
    Slice ids = in->load->key;
    RowColumns saved;
    for (size_t at = 0; at + sizeof(JobId) <= ids.bytes; at += sizeof(JobId)) {
        JobId id;
        memcpy(&id, ids.data + at, sizeof id);
        if (!find_row(in->sqlite, id, &in->out->arena, &saved) || !is_asked(in, &saved))
            continue;
        saved.row.job.payload = (Slice){ NULL, 0 };
        give(in, &saved);
    }
}

static void load_inbox(Loading *in)
{
    sqlite_inbox(in->sqlite, in->load, in->out);
}

static void load_unique(Loading *in)
{
    Slice rest = in->load->key;
    Slice tenant;
    Slice key;
    while (list_next(&rest, &tenant) && list_next(&rest, &key)) {
        JobId id = links_holder(in->sqlite, tenant, key, in->load->dt_ms);
        RowColumns saved;
        if (id && sqlite_find(in->sqlite, id, &in->out->arena, &saved))
            give(in, &saved);
        else
            MEM_PUSH(in->out->jobs, in->out->count, in->out->capacity) = job_default();
    }
}

Err sqlite_load(Store *store, const Load *load, Loaded *out, Error *why)
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
    Sqlite *sqlite = sqlite_of(store);
    if (load->kind == LOAD_MATCH)
        return load_match(store, load, out, why);
    if (load->kind == LOAD_GROUP)
        return load_group_counts(store, load, out, why);
    if (load->kind == LOAD_OWED)
        return load_owed(store, out, why);
    Loaded loaded = { .next_due_ms = TIME_NEVER };
    Loading in = { .sqlite = sqlite, .load = load, .out = &loaded };
    sqlite_begin_read(sqlite);
    loads[load->kind](&in);
    Err err = db_end(&sqlite->db, "load", why);
    if (err)
        loaded_done(&loaded);
    else
        *out = loaded;
    return err;
}
