/* SPDX-License-Identifier: Apache-2.0 */
/* catalog.h - what the store keeps in memory of its small tables: names, lanes,
 * slots, points, and the changes of counts that the commit under way has made.
 *
 * Numbers start at 1 and have no gaps, in memory and in the file. After a rollback the
 * catalog knows things that never came to be: catalog_drop, then catalog_load. */
#ifndef STORE_SQLITE_CATALOG_H
#define STORE_SQLITE_CATALOG_H

#include "base/map.h"
#include "store/point.h"
#include "store/row_columns.h"
#include "store/sqlite/db.h"

typedef struct CatalogLane {
    uint32_t tenant; /* names */
    uint32_t queue;
    uint32_t type; /* 0: every type of the queue */
    bool pull;
    bool touched;
    int64_t change[COUNTS]; /* of its counts, by the commit under way */
} CatalogLane;

typedef struct Catalog {
    Names names;
    CatalogLane *lanes; /* by number - 1 */
    size_t lane_count;
    size_t lane_capacity;
    Names lane_numbers; /* numbers of lanes by their LaneKey */
    uint32_t *touched;  /* lanes with changed counts */
    size_t touched_count;
    size_t touched_capacity;
    Map slots; /* those that are in the file */
    uint32_t slot_count;
    Points points;
} Catalog;

/* Reads what is new in the file; inside a transaction. A reader needs only names and
 * lanes. */
void catalog_load(Catalog *catalog, Db *db);
void catalog_load_names(Catalog *catalog, Db *db);
void catalog_drop(Catalog *catalog);

/* Numbers of things that a row refers to; added to the file at first sight. */
uint32_t catalog_name(Catalog *catalog, Db *db, Slice text); /* 0 for "" */
uint32_t catalog_lane(Catalog *catalog, Db *db, const Job *job);
void catalog_slot(Catalog *catalog, Db *db, uint32_t node, uint32_t slot);

/* 0 when there is no such lane; `job` as a pattern. */
uint32_t catalog_find_lane(const Catalog *catalog, const Job *job);

/* "" for 0, and for a number that no name has: rows are not trusted. */
static inline Slice catalog_text(const Catalog *catalog, uint32_t name)
{
    bool known = name && name <= catalog->names.count;
    return known ? names_text(&catalog->names, name) : (Slice){ NULL, 0 };
}

void catalog_count(Catalog *catalog, uint32_t lane, JobState state, int64_t change);
void catalog_bytes(Catalog *catalog, uint32_t lane, int64_t change);

/* Writes changed counts and points. */
void catalog_save(Catalog *catalog, Db *db);

#endif
