/* SPDX-License-Identifier: Apache-2.0 */
/* catalog.c - see catalog.h. */
#include "store/postgres/catalog.h"

static Slice key_bytes(const PgLaneKey *key)
{
    return slice_of((const char *)key, sizeof *key);
}

static void *as_value(uint64_t number)
{
    return (void *)(uintptr_t)number;
}

/* --- Reading
 * ----------------------------------------------------------------------------
 */

static void keep_lane(PgCatalog *catalog, const PgLaneKey *key)
{
    MEM_PUSH(catalog->lanes, catalog->lane_count, catalog->lane_capacity) =
        (PgLane){ .key = *key };
    names_intern(&catalog->lane_numbers, key_bytes(key)); /* counts as lanes do */
}

static PgLaneKey read_key(const PGresult *result, int row, int column)
{
    return (PgLaneKey){ .tenant = (uint32_t)field_int(result, row, column),
                        .queue = (uint32_t)field_int(result, row, column + 1),
                        .type = (uint32_t)field_int(result, row, column + 2),
                        .pull = (uint32_t)field_int(result, row, column + 3),
                        .owner = (uint32_t)field_int(result, row, column + 4) };
}

/* Numbers without gaps are what rows rely on. */
static bool in_step(PgCatalog *catalog, int64_t id, size_t count)
{
    if (id == (int64_t)count + 1)
        return true;
    link_fail(catalog->link, ERR_CORRUPT, "a number is missing in a table of names");
    return false;
}

void pgcatalog_refresh(PgCatalog *catalog)
{
    param_int(catalog->params, (int64_t)catalog->names.count);
    param_int(catalog->params, (int64_t)catalog->lane_count);
    PGresult *result = link_query(
        catalog->link,
        "SELECT 0, id, text, 0, 0, 0, 0, 0 FROM pawl.name WHERE id > $1::int8"
        " UNION ALL SELECT 1, id, NULL, tenant, queue, type, pull, owner FROM pawl.lane"
        " WHERE id > $2::int8 ORDER BY 1, 2",
        catalog->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        bool is_lane = field_int(result, i, 0) != 0;
        PgLaneKey key = read_key(result, i, 3);
        size_t count = is_lane ? catalog->lane_count : catalog->names.count;
        if (!in_step(catalog, field_int(result, i, 1), count))
            break;
        if (is_lane)
            keep_lane(catalog, &key);
        else
            names_intern(&catalog->names, field_bytes(result, i, 2));
    }
    PQclear(result);
}

void pgcatalog_drop(PgCatalog *catalog)
{
    names_done(&catalog->names);
    mem_free(catalog->lanes);
    names_done(&catalog->lane_numbers);
    mem_free(catalog->touched);
    map_done(&catalog->slots);
    map_done(&catalog->parts);
    *catalog = (PgCatalog){ .link = catalog->link, .params = catalog->params };
}

bool pgcatalog_knows_lane(PgCatalog *catalog, uint32_t lane)
{
    if (lane > catalog->lane_count)
        pgcatalog_refresh(catalog);
    return lane >= 1 && lane <= catalog->lane_count;
}

Slice pgcatalog_text(PgCatalog *catalog, uint32_t name)
{
    if (name > catalog->names.count)
        pgcatalog_refresh(catalog);
    bool known = name && name <= catalog->names.count;
    return known ? names_text(&catalog->names, name) : (Slice){ NULL, 0 };
}

void pgcatalog_find_lanes(const PgCatalog *catalog, const Job *job, uint32_t owner,
                          PgArray *out)
{
    Slice texts[] = { job->tenant, job->queue, job_lane_type(job) };
    uint32_t numbers[3] = { 0 };
    for (size_t i = 0; i < 3; i++) {
        numbers[i] = texts[i].bytes ? names_find(&catalog->names, texts[i]) : 0;
        if (texts[i].bytes && !numbers[i])
            return;
    }
    uint32_t pull = (job->flags & JOB_PULL) != 0;
    for (size_t i = 0; i < catalog->lane_count; i++) {
        const PgLaneKey *key = &catalog->lanes[i].key;
        if (key->tenant == numbers[0] && key->queue == numbers[1] &&
            key->type == numbers[2] && key->pull == pull &&
            (!owner || key->owner == owner))
            array_int(out, (int64_t)i + 1);
    }
}

/* --- Adding ---------------------------------------------------------------------------
 */

static uint32_t added(PGresult *result)
{
    uint32_t number = result ? (uint32_t)field_int(result, 0, 0) : 0;
    PQclear(result);
    return number;
}

uint32_t pgcatalog_name(PgCatalog *catalog, Slice text)
{
    uint32_t number = text.bytes ? names_find(&catalog->names, text) : 0;
    if (number || !text.bytes)
        return number;
    param_bytes(catalog->params, text);
    number =
        added(link_query(catalog->link, "SELECT pawl.name_add($1)", catalog->params));
    pgcatalog_refresh(catalog); /* others may have added some, too */
    return number;
}

uint32_t pgcatalog_lane(PgCatalog *catalog, const Job *job, uint32_t owner)
{
    PgLaneKey key = { .tenant = pgcatalog_name(catalog, job->tenant),
                      .queue = pgcatalog_name(catalog, job->queue),
                      .type = pgcatalog_name(catalog, job_lane_type(job)),
                      .pull = (job->flags & JOB_PULL) != 0,
                      .owner = owner };
    uint32_t number = names_find(&catalog->lane_numbers, key_bytes(&key));
    if (number)
        return number;
    param_int(catalog->params, key.tenant);
    param_int(catalog->params, key.queue);
    param_int(catalog->params, key.type);
    param_int(catalog->params, key.pull);
    param_int(catalog->params, key.owner);
    number = added(link_query(catalog->link,
                              "SELECT pawl.lane_add($1::int8::int4, $2::int8::int4,"
                              " $3::int8::int4, $4::int8::int4, $5::int8::int4)",
                              catalog->params));
    pgcatalog_refresh(catalog);
    return number;
}

void pgcatalog_slot(PgCatalog *catalog, uint32_t node, uint32_t slot)
{
    uint64_t key = (uint64_t)node << 32 | slot;
    if (map_find(&catalog->slots, key))
        return;
    map_put(&catalog->slots, key, as_value(1));
    param_int(catalog->params, node);
    param_int(catalog->params, slot);
    link_later(catalog->link,
               "INSERT INTO pawl.slot(node, slot) VALUES ($1::int8, $2::int8)"
               " ON CONFLICT DO NOTHING",
               catalog->params);
}

void pgcatalog_part(PgCatalog *catalog, JobId id)
{
    uint64_t part = id >> PG_PART_SHIFT;
    if (map_find(&catalog->parts, part + 1))
        return;
    map_put(&catalog->parts, part + 1, as_value(1));
    param_int(catalog->params, (int64_t)part);
    PQclear(link_query(catalog->link, "SELECT pawl.part_add($1)", catalog->params));
}

/* --- Counts ----------------------------------------------------------------------------
 */

static void count(PgCatalog *catalog, uint32_t lane, unsigned what, int64_t change)
{
    if (!lane || lane > catalog->lane_count)
        return; /* the link has failed */
    PgLane *entry = &catalog->lanes[lane - 1];
    entry->change[what] += change;
    if (entry->touched)
        return;
    entry->touched = true;
    MEM_PUSH(catalog->touched, catalog->touched_count, catalog->touched_capacity) = lane;
}

void pgcatalog_count(PgCatalog *catalog, uint32_t lane, JobState state, int64_t change)
{
    count(catalog, lane, state, change);
}

void pgcatalog_bytes(PgCatalog *catalog, uint32_t lane, int64_t change)
{
    if (change)
        count(catalog, lane, COUNT_BYTES, change);
}

void pgcatalog_save(PgCatalog *catalog, uint32_t node)
{
    PgArray lanes = { .type = PG_INT4 };
    PgArray states = { .type = PG_INT2 };
    PgArray counts = { .type = PG_INT8 };
    for (size_t i = 0; i < catalog->touched_count; i++) {
        PgLane *lane = &catalog->lanes[catalog->touched[i] - 1];
        lane->touched = false;
        for (unsigned what = 0; what < COUNTS; what++) {
            if (!lane->change[what])
                continue;
            array_int(&lanes, catalog->touched[i]);
            array_int(&states, count_state(what));
            array_int(&counts, lane->change[what]);
            lane->change[what] = 0;
        }
    }
    catalog->touched_count = 0;
    if (lanes.count) {
        param_int(catalog->params, node);
        param_array(catalog->params, &lanes);
        param_array(catalog->params, &states);
        param_array(catalog->params, &counts);
        link_later(catalog->link,
                   "INSERT INTO pawl.lane_count AS c (node, lane, state, count)"
                   " SELECT $1::int8, * FROM unnest($2, $3, $4)"
                   " ON CONFLICT (lane, state, node) DO UPDATE"
                   " SET count = c.count + excluded.count",
                   catalog->params);
    }
    array_done(&lanes);
    array_done(&states);
    array_done(&counts);
}
