/* SPDX-License-Identifier: Apache-2.0 */
/* query.h - which jobs: the query text of CLI, API and dashboard, parsed.
 *
 *     state:failed,rejected type:mail.* queue:default priority:>=5 tag:import
 *     created:>-2h run:>30s error:"connection refused" payload:word -tag:test
 *
 * Every term must hold; a minus turns it round; commas are alternatives. */
#ifndef CORE_QUERY_H
#define CORE_QUERY_H

#include "core/job.h"

typedef enum QueryField {
    QUERY_STATE,
    QUERY_TYPE,
    QUERY_QUEUE,
    QUERY_TAG,
    QUERY_NAME,
    QUERY_NODE,
    QUERY_SCHEDULE,
    QUERY_GROUP,
    QUERY_PARENT,
    QUERY_ID,
    QUERY_PRIORITY,
    QUERY_CREATED, /* wall time, or -2h = that long before now */
    QUERY_RUN,     /* how long its last attempt ran or has been running, in ms */
    QUERY_ERROR,
    QUERY_PAYLOAD,
} QueryField;

typedef enum QueryCompare {
    QUERY_IS,
    QUERY_LESS,
    QUERY_LESS_EQUAL,
    QUERY_MORE,
    QUERY_MORE_EQUAL,
} QueryCompare;

typedef struct QueryTerm {
    QueryField field;
    QueryCompare compare;
    bool negated;
    JobStates states; /* QUERY_STATE */
    int64_t number;   /* priority, created (ms), run (ms), parent and id (as JobId) */
    Slice *words;     /* alternatives, as written; in text a trailing * matches any rest,
                         an id may be the beginning of one */
    size_t word_count;
} QueryTerm;

typedef enum QueryOrder {
    QUERY_NEWEST,   /* id descending */
    QUERY_DISPATCH, /* ready jobs as they will be given out */
} QueryOrder;

#define QUERY_TERMS_MAX     32
#define QUERY_LIMIT_DEFAULT 50
#define QUERY_LIMIT_MAX     1000
#define QUERY_SCAN_MS       100 /* terms without an index look this long per page */

typedef struct JobQuery {
    Slice tenant; /* empty: all tenants */
    QueryTerm terms[QUERY_TERMS_MAX];
    size_t term_count;
    QueryOrder order;
    uint32_t limit;
    JobId before;    /* cursor of QUERY_NEWEST: ids below this one; 0: from the newest */
    uint32_t skip;   /* cursor of QUERY_DISPATCH */
    int64_t wall_ms; /* now, for run: and relative times */
    bool with_payload;
} JobQuery;

typedef struct QueryEnd {
    bool partial; /* the time bound cut the search short: go on at `cursor` */
    JobId cursor; /* QUERY_NEWEST: `before` of the next page, QUERY_DISPATCH: its `skip`;
                     0: no more */
} QueryEnd;

/* Adds the terms of `text`; words live in the arena, relative times count from
 * query->wall_ms. Errors name the term and, for an unknown field, the nearest one. */
MUST_CHECK Err query_parse(Slice text, Arena *arena, JobQuery *query, Error *why);

/* Adds one term by field name, as the API's parameters do (state=ready,running). */
MUST_CHECK Err query_term(const char *field, Slice value, Arena *arena, JobQuery *query,
                          Error *why);

/* The slow, obvious truth: whether job is of the tenant and matches all terms. */
bool query_matches(const JobQuery *query, const Job *job);

/* As SQL has it: "<=". */
const char *query_sign(QueryCompare compare);

/* How error: and payload: look: word anywhere in text, letters of either case. */
bool query_contains(Slice text, Slice word);

#endif
