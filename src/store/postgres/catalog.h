/* SPDX-License-Identifier: Apache-2.0 */
/* catalog.h - what the store keeps in memory of its small tables: names, lanes,
 * slots, parts of the archive, and the changes of counts that the commit under way makes.
 *
 * Numbers start at 1 and have no gaps; others add to them, so a reader looks for what
 * stands behind those it knows. After a rollback the catalog knows things that never came
 * to be: pgcatalog_drop, then pgcatalog_refresh. */
#ifndef STORE_POSTGRES_CATALOG_H
#define STORE_POSTGRES_CATALOG_H

#include "base/map.h"
#include "store/postgres/connection.h"
#include "store/row_columns.h"

/* What tells lanes apart: numbers of names, in bytes that can be compared. */
typedef struct PgLaneKey {
    uint32_t tenant;
    uint32_t queue;
    uint32_t type; /* 0: every type of the queue */
    uint32_t pull;
    uint32_t owner;
} PgLaneKey;

typedef struct PgLane {
    PgLaneKey key;
    bool touched;
    int64_t change[COUNTS]; /* of its counts, by the commit under way */
} PgLane;

typedef struct PgCatalog {
    PgLink *link;
    PgParams *params;
    Names names;
    PgLane *lanes; /* by number - 1 */
    size_t lane_count;
    size_t lane_capacity;
    Names lane_numbers; /* numbers of lanes by their key */
    uint32_t *touched;  /* lanes with changed counts */
    size_t touched_count;
    size_t touched_capacity;
    Map slots; /* that are in the store */
    Map parts; /* of the archive that are there: number + 1 */
} PgCatalog;

/* Reads what others have added; inside a transaction. */
void pgcatalog_refresh(PgCatalog *catalog);
void pgcatalog_drop(PgCatalog *catalog);

/* Numbers of things that a row refers to; added to the store at first sight. */
uint32_t pgcatalog_name(PgCatalog *catalog, Slice text); /* 0 for "" */
uint32_t pgcatalog_lane(PgCatalog *catalog, const Job *job, uint32_t owner);
void pgcatalog_slot(PgCatalog *catalog, uint32_t node, uint32_t slot);

/* The part of the archive that an id belongs to is there. */
void pgcatalog_part(PgCatalog *catalog, JobId id);
#define PG_PART_SHIFT 50

/* Whether a row may refer to the lane; looks again for one that is new. */
bool pgcatalog_knows_lane(PgCatalog *catalog, uint32_t lane);

/* Adds the numbers of the lanes of job (as a pattern) to out: of one owner, or of all. */
void pgcatalog_find_lanes(const PgCatalog *catalog, const Job *job, uint32_t owner,
                          PgArray *out);

/* "" for 0, and for a number that no name has: rows are not trusted. */
Slice pgcatalog_text(PgCatalog *catalog, uint32_t name);

void pgcatalog_count(PgCatalog *catalog, uint32_t lane, JobState state, int64_t change);
void pgcatalog_bytes(PgCatalog *catalog, uint32_t lane, int64_t change);

/* Writes changed counts as those of a node. */
void pgcatalog_save(PgCatalog *catalog, uint32_t node);

#endif
