/* SPDX-License-Identifier: Apache-2.0 */
/* catalog.c - see catalog.h. */
#include "store/sqlite/catalog.h"

/* What tells lanes apart: numbers of names, in bytes that can be compared. */
typedef struct LaneKey {
    uint32_t tenant;
    uint32_t queue;
    uint32_t type;
    uint32_t pull;
} LaneKey;

static Slice key_bytes(const LaneKey *key)
{
    return slice_of((const char *)key, sizeof *key);
}

static uint64_t slot_key(uint32_t node, uint32_t slot)
{
    return (uint64_t)node << 32 | slot;
}

/* Map values are pointers; numbers go in as such. */
static void *as_value(uint32_t number)
{
    return (void *)(uintptr_t)number;
}

/* --- Reading ------------------------------------------------------------------- */

static void keep_lane(Catalog *catalog, const LaneKey *key)
{
    CatalogLane lane = { .tenant = key->tenant,
                         .queue = key->queue,
                         .type = key->type,
                         .pull = key->pull != 0 };
    MEM_PUSH(catalog->lanes, catalog->lane_count, catalog->lane_capacity) = lane;
    names_intern(&catalog->lane_numbers, key_bytes(key)); /* counts as lanes do */
}

/* Numbers without gaps are what rows rely on. */
static bool in_step(Db *db, int64_t id, size_t count)
{
    if (id == (int64_t)count + 1)
        return true;
    db_fail(db, SQLITE_CORRUPT, "a number is missing in a table of names");
    return false;
}

void catalog_load_names(Catalog *catalog, Db *db)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_NAMES);
    sqlite3_bind_int64(stmt, 1, (int64_t)catalog->names.count);
    while (db_row(db, stmt))
        if (in_step(db, sqlite3_column_int64(stmt, 0), catalog->names.count))
            names_intern(&catalog->names, db_column(stmt, 1));
    stmt = db_statement(db, SQL_LANES);
    sqlite3_bind_int64(stmt, 1, (int64_t)catalog->lane_count);
    while (db_row(db, stmt))
        if (in_step(db, sqlite3_column_int64(stmt, 0), catalog->lane_count))
            keep_lane(catalog,
                      &(LaneKey){ .tenant = (uint32_t)sqlite3_column_int64(stmt, 1),
                                  .queue = (uint32_t)sqlite3_column_int64(stmt, 2),
                                  .type = (uint32_t)sqlite3_column_int64(stmt, 4),
                                  .pull = sqlite3_column_int(stmt, 3) != 0 });
}

static void load_slots(Catalog *catalog, Db *db)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_SLOTS);
    while (db_row(db, stmt)) {
        uint64_t key = slot_key((uint32_t)sqlite3_column_int64(stmt, 1),
                                (uint32_t)sqlite3_column_int64(stmt, 2));
        catalog->slot_count = (uint32_t)sqlite3_column_int64(stmt, 0);
        map_put(&catalog->slots, key, as_value(catalog->slot_count));
    }
}

static void load_points(Catalog *catalog, Db *db)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_POINTS);
    while (db_row(db, stmt)) {
        uint32_t node = (uint32_t)sqlite3_column_int64(stmt, 0);
        Point *point = points_of(&catalog->points, node);
        point->has_position = sqlite3_column_type(stmt, 1) != SQLITE_NULL;
        point->position = (uint64_t)sqlite3_column_int64(stmt, 1);
        point->number = (uint64_t)sqlite3_column_int64(stmt, 2);
        point->last_id = (JobId)sqlite3_column_int64(stmt, 3);
        buf_clear(&point->results);
        buf_add_slice(&point->results, db_column(stmt, 4));
    }
}

void catalog_load(Catalog *catalog, Db *db)
{
    catalog_load_names(catalog, db);
    load_slots(catalog, db);
    load_points(catalog, db);
}

void catalog_drop(Catalog *catalog)
{
    names_done(&catalog->names);
    mem_free(catalog->lanes);
    names_done(&catalog->lane_numbers);
    mem_free(catalog->touched);
    map_done(&catalog->slots);
    points_done(&catalog->points);
    *catalog = (Catalog){ 0 };
}

/* --- Finding and adding ----------------------------------------------------------- */

uint32_t catalog_name(Catalog *catalog, Db *db, Slice text)
{
    if (!text.bytes)
        return 0;
    size_t before = catalog->names.count;
    uint32_t number = names_intern(&catalog->names, text);
    if (catalog->names.count == before)
        return number;
    sqlite3_stmt *stmt = db_statement(db, SQL_NAME_ADD);
    sqlite3_bind_int64(stmt, 1, number);
    db_bind_key(stmt, 2, text);
    db_run(db, stmt);
    return number;
}

uint32_t catalog_find_lane(const Catalog *catalog, const Job *job)
{
    Slice texts[] = { job->tenant, job->queue, job_lane_type(job) };
    uint32_t numbers[3] = { 0 };
    for (size_t i = 0; i < 3; i++) {
        numbers[i] = texts[i].bytes ? names_find(&catalog->names, texts[i]) : 0;
        if (texts[i].bytes && !numbers[i])
            return 0;
    }
    LaneKey key = { numbers[0], numbers[1], numbers[2], (job->flags & JOB_PULL) != 0 };
    return names_find(&catalog->lane_numbers, key_bytes(&key));
}

uint32_t catalog_lane(Catalog *catalog, Db *db, const Job *job)
{
    LaneKey key = { .tenant = catalog_name(catalog, db, job->tenant),
                    .queue = catalog_name(catalog, db, job->queue),
                    .type = catalog_name(catalog, db, job_lane_type(job)),
                    .pull = (job->flags & JOB_PULL) != 0 };
    uint32_t number = names_find(&catalog->lane_numbers, key_bytes(&key));
    if (number)
        return number;
    keep_lane(catalog, &key);
    number = (uint32_t)catalog->lane_count;
    sqlite3_stmt *stmt = db_statement(db, SQL_LANE_ADD);
    sqlite3_bind_int64(stmt, 1, number);
    sqlite3_bind_int64(stmt, 2, key.tenant);
    sqlite3_bind_int64(stmt, 3, key.queue);
    sqlite3_bind_int64(stmt, 4, key.pull);
    sqlite3_bind_int64(stmt, 5, key.type);
    db_run(db, stmt);
    return number;
}

void catalog_slot(Catalog *catalog, Db *db, uint32_t node, uint32_t slot)
{
    uint64_t key = slot_key(node, slot);
    if (map_find(&catalog->slots, key))
        return;
    uint32_t number = ++catalog->slot_count;
    map_put(&catalog->slots, key, as_value(number));
    sqlite3_stmt *stmt = db_statement(db, SQL_SLOT_ADD);
    sqlite3_bind_int64(stmt, 1, number);
    sqlite3_bind_int64(stmt, 2, node);
    sqlite3_bind_int64(stmt, 3, slot);
    db_run(db, stmt);
}

/* --- Counts and points ---------------------------------------------------------------
 */

static void count(Catalog *catalog, uint32_t lane, unsigned what, int64_t change)
{
    CatalogLane *entry = &catalog->lanes[lane - 1];
    entry->change[what] += change;
    if (entry->touched)
        return;
    entry->touched = true;
    MEM_PUSH(catalog->touched, catalog->touched_count, catalog->touched_capacity) = lane;
}

void catalog_count(Catalog *catalog, uint32_t lane, JobState state, int64_t change)
{
    count(catalog, lane, state, change);
}

void catalog_bytes(Catalog *catalog, uint32_t lane, int64_t change)
{
    if (change)
        count(catalog, lane, COUNT_BYTES, change);
}

static void save_counts(Db *db, uint32_t lane, CatalogLane *entry)
{
    for (unsigned what = 0; what < COUNTS; what++) {
        if (!entry->change[what])
            continue;
        sqlite3_stmt *stmt = db_statement(db, SQL_COUNT_ADD);
        sqlite3_bind_int64(stmt, 1, lane);
        sqlite3_bind_int64(stmt, 2, count_state(what));
        sqlite3_bind_int64(stmt, 3, entry->change[what]);
        db_run(db, stmt);
        entry->change[what] = 0;
    }
    entry->touched = false;
}

static void save_point(Db *db, const Point *point)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_POINT_PUT);
    sqlite3_bind_int64(stmt, 1, point->node);
    if (point->has_position)
        sqlite3_bind_int64(stmt, 2, (int64_t)point->position);
    db_bind_int(stmt, 3, (int64_t)point->number);
    db_bind_int(stmt, 4, (int64_t)point->last_id);
    db_bind_blob(stmt, 5, buf_slice(point->answered ? &point->fresh : &point->results));
    db_run(db, stmt);
}

void catalog_save(Catalog *catalog, Db *db)
{
    for (size_t i = 0; i < catalog->touched_count; i++) {
        uint32_t lane = catalog->touched[i];
        save_counts(db, lane, &catalog->lanes[lane - 1]);
    }
    catalog->touched_count = 0;
    for (size_t i = 0; i < catalog->points.count; i++)
        if (catalog->points.items[i].touched)
            save_point(db, &catalog->points.items[i]);
}
