/* SPDX-License-Identifier: Apache-2.0 */
/* terms.h - query terms as conditions in SQL.
 *
 * A condition may let through more than the term does, never less. */
#ifndef STORE_SQLITE_TERMS_H
#define STORE_SQLITE_TERMS_H

#include "store/sqlite/sqlite.h"

/* Numbers of lanes, types and nodes that the query admits: one bit each. */
typedef enum TermSet { SET_LANES, SET_TYPES, SET_NODES, TERM_SETS } TermSet;

struct TermSets {
    uint8_t *bits[TERM_SETS];
    size_t counts[TERM_SETS];
};
typedef struct TermSets TermSets;

typedef struct Terms {
    JobStates states; /* that can match */
    JobId first;      /* range of ids that can match */
    JobId last;
    bool slow;    /* some term looks into texts */
    Buf sql;      /* " AND ..." for each term */
    Slice *bound; /* texts of ?101, ?102, ... */
    size_t bound_count;
    size_t bound_capacity;
    TermSets sets;
} Terms;

#define TERMS_BIND_FIRST 101 /* smaller numbers are for the statement around it */

void terms_init(Terms *terms, const JobQuery *query, const Catalog *catalog);
void terms_bind(const Terms *terms, sqlite3_stmt *stmt);
void terms_done(Terms *terms);

/* Whether a lane can have jobs that match. */
bool terms_lane(const Terms *terms, uint32_t lane);

/* pawl_in(set, number), pawl_is(text, word), pawl_has(text, word). */
MUST_CHECK Err terms_functions(sqlite3 *handle, TermSets *const *sets, Error *why);

#endif
