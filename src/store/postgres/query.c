/* SPDX-License-Identifier: Apache-2.0 */
/* query.c - see query.h.
 *
 * Newest first: the places are looked at from the newest id down, in steps of so many
 * rows, each step in one statement. Its conditions may let through more than the query
 * does, never less; query_matches has the last word. */
#include "store/postgres/query.h"

#include "base/times.h"
#include "store/ages.h"
#include "store/damage.h"
#include "store/held_jobs.h"
#include "store/postgres/load.h"
#include "store/states_sql.h"

#include <stdio.h>
#include <stdlib.h>

#define STEP_ROWS_MAX      8192 /* looked at between two looks at the clock */
#define STEP_ROWS_MAX_SLOW 1024 /* with terms that look into texts */
#define STEP_GROWTH        4
#define IDLE_SORT_MAX      10000 /* jobs of rare states: found by index, then sorted */
#define LANE_PAGE          64

typedef struct Search {
    Postgres *pg;
    Ages ages;
    HeldJobs frozen;
    const JobQuery *query;
    const JobSink *sink;
    Buf conditions;   /* " AND ..." for each term that has one */
    JobStates states; /* that can match */
    JobId first;      /* range of ids that can match */
    JobId last;
    bool slow;    /* some term looks into texts */
    bool payload; /* it is needed */
    Arena arena;  /* of the job in hand */
    uint32_t limit;
    uint32_t given;
    uint64_t skipped;
    JobId last_given;
    bool full;        /* the limit is reached and there is one more */
    int64_t until_ms; /* when to stop looking */
} Search;

/* --- Conditions
 * --------------------------------------------------------------------------
 */

/* The query with the terms of one field only; its tenant only if asked for. */
static JobQuery only(const JobQuery *query, QueryField field, bool with_tenant)
{
    JobQuery part = { .wall_ms = query->wall_ms };
    if (with_tenant)
        part.tenant = query->tenant;
    for (size_t i = 0; i < query->term_count; i++)
        if (query->terms[i].field == field)
            part.terms[part.term_count++] = query->terms[i];
    return part;
}

/* Lanes, types and nodes are numbers: those that match are listed. */
static void list_lanes(Search *search)
{
    JobQuery part = only(search->query, QUERY_QUEUE, true);
    PgCatalog *catalog = &search->pg->catalog;
    if (!part.term_count && !part.tenant.bytes)
        return;
    buf_add_text(&search->conditions, " AND lane = ANY('{");
    const char *comma = "";
    for (size_t i = 0; i < catalog->lane_count; i++) {
        Job job = { .tenant = pgcatalog_text(catalog, catalog->lanes[i].key.tenant),
                    .queue = pgcatalog_text(catalog, catalog->lanes[i].key.queue) };
        if (!query_matches(&part, &job))
            continue;
        buf_printf(&search->conditions, "%s%zu", comma, i + 1);
        comma = ",";
    }
    buf_add_text(&search->conditions, "}'::int4[])");
}

static void list_names(Search *search, QueryField field, const char *column)
{
    JobQuery part = only(search->query, field, false);
    PgCatalog *catalog = &search->pg->catalog;
    if (!part.term_count)
        return;
    buf_printf(&search->conditions, " AND coalesce(%s, 0) = ANY('{", column);
    const char *comma = "";
    for (size_t i = 0; i <= catalog->names.count; i++) {
        Job job = { .id = 0 };
        job.type = job.node = pgcatalog_text(catalog, (uint32_t)i);
        if (!query_matches(&part, &job))
            continue;
        buf_printf(&search->conditions, "%s%zu", comma, i);
        comma = ",";
    }
    buf_add_text(&search->conditions, "}'::int4[])");
}

/* `what` compared with the term's number; alternatives are left to query_matches. */
static void add_number(Search *search, const QueryTerm *term, const char *what)
{
    if (term->word_count > 1 || term->negated)
        return;
    buf_printf(&search->conditions, " AND %s %s %lld", what, query_sign(term->compare),
               (long long)term->number);
}

static void narrow_ids(Search *search, const QueryTerm *term)
{
    JobId first = (JobId)term->number;
    JobId last = first;
    if (term->negated || term->word_count != 1 ||
        (term->compare == QUERY_IS && id_prefix_range(term->words[0], &first, &last)))
        return;
    if (term->compare == QUERY_LESS || term->compare == QUERY_LESS_EQUAL)
        first = 0;
    if (term->compare == QUERY_MORE || term->compare == QUERY_MORE_EQUAL)
        last = INT64_MAX;
    if (first > search->first)
        search->first = first;
    if (last < search->last)
        search->last = last;
}

static void add_term(Search *search, const QueryTerm *term)
{
    char run[96];
    switch (term->field) {
    case QUERY_STATE:
        search->states &= term->negated ? ~term->states : term->states;
        return;
    case QUERY_TYPE:
    case QUERY_QUEUE:
    case QUERY_NODE:
        return; /* listed */
    case QUERY_TAG:
    case QUERY_SCHEDULE:
    case QUERY_GROUP:
    case QUERY_NAME:
        search->slow = true;
        return;
    case QUERY_PARENT:
        if (term->compare != QUERY_IS)
            add_number(search, term, "coalesce(parent, 0)");
        return;
    case QUERY_ID:
        narrow_ids(search, term);
        return;
    case QUERY_PRIORITY:
        add_number(search, term, "~rank");
        return;
    case QUERY_CREATED:
        add_number(search, term, "coalesce(created, 0)");
        return;
    case QUERY_RUN:
        snprintf(run, sizeof run, "coalesce(finished, %lld) - started",
                 (long long)search->query->wall_ms);
        add_number(search, term, run);
        return;
    case QUERY_ERROR:
        search->slow = true;
        return;
    case QUERY_PAYLOAD:
        search->slow = true;
        search->payload = true;
        return;
    }
}

/* --- Giving
 * ------------------------------------------------------------------------------
 */

/* Gives the job if it matches; the one beyond the limit only says that there is more. */
static void judge(Search *search, RowColumns *saved)
{
    const JobQuery *query = search->query;
    pgrow_open(saved, &search->pg->link);
    if (!query_matches(query, &saved->row.job))
        return;
    if (query->order == QUERY_DISPATCH && search->skipped < query->skip) {
        search->skipped++;
        return;
    }
    if (search->given == search->limit) {
        search->full = true;
        return;
    }
    Job job = saved->row.job;
    if (!query->with_payload)
        job.payload = (Slice){ NULL, 0 };
    search->sink->take(search->sink->context, &job);
    search->last_given = job.id;
    search->given++;
}

/* --- Newest first
 * ------------------------------------------------------------------------
 */

static void add_states(Buf *sql, JobStates states)
{
    buf_add_text(sql, " AND state = ANY('{-1");
    for (unsigned state = 0; state < JOB_STATES; state++)
        if (states & STATE_BIT(state))
            buf_printf(sql, ",%u", state);
    buf_add_text(sql, "}'::int2[])");
}

/* Whether the states are rare enough to be found by their index and sorted by id. */
static bool few(Search *search, JobStates states)
{
    if (!states || (states & STATE_BIT(JOB_READY)))
        return false; /* they are not in that index */
    param_int(&search->pg->params, states);
    PGresult *result =
        link_query(&search->pg->link,
                   "SELECT coalesce(sum(count), 0)::int8 FROM pawl.lane_count"
                   " WHERE (1::int8 << state::int4) & $1 <> 0",
                   &search->pg->params);
    bool rare = result && field_int(result, 0, 0) <= IDLE_SORT_MAX;
    PQclear(result);
    return rare;
}

typedef struct Source {
    const char *from; /* a table, or what stands for it */
    JobStates states;
} Source;

typedef struct Sources {
    Source items[PLACES];
    size_t count;
} Sources;

#define LIVE_RARE                                                                        \
    "(SELECT j.* FROM (SELECT DISTINCT owner FROM pawl.lane) o CROSS JOIN LATERAL"       \
    " (SELECT * FROM pawl.job_live WHERE state <> " READY                                \
    " AND owner = o.owner%s OFFSET 0) j"                                                 \
    " OFFSET 0) live"

static void add_source(Sources *sources, const char *from, JobStates states)
{
    if (states)
        sources->items[sources->count++] = (Source){ from, states };
}

static Sources choose_sources(Search *search, Buf *rare)
{
    Sources sources = { .count = 0 };
    JobStates live = search->states & ~(JobStates)STATES_FINAL;
    JobStates done = STATE_BIT(JOB_DONE);
    bool is_rare = few(search, live);
    if (is_rare) {
        Buf states = { 0 };
        add_states(&states, live);
        buf_printf(rare, LIVE_RARE, buf_cstr(&states));
        buf_done(&states);
    }
    add_source(&sources, is_rare ? buf_cstr(rare) : "pawl.job_live", live);
    add_source(&sources, "pawl.job_done", search->states & done);
    add_source(&sources, "pawl.job_dead", search->states & STATES_FINAL & ~done);
    return sources;
}

/* The largest id such that no source has more than `rows` at or above it. */
static JobId step_down(Search *search, const Sources *sources, JobId before, int64_t rows)
{
    Buf sql = { 0 };
    buf_add_text(&sql, "SELECT max(low) FROM (");
    for (size_t i = 0; i < sources->count; i++)
        buf_printf(&sql,
                   "%s(SELECT id AS low FROM %s WHERE id >= %lld AND id < %lld"
                   " ORDER BY id DESC OFFSET %lld LIMIT 1)",
                   i ? " UNION ALL " : "", sources->items[i].from,
                   (long long)search->first, (long long)before, (long long)rows - 1);
    buf_add_text(&sql, ") s");
    PGresult *result = link_query(&search->pg->link, buf_cstr(&sql), &search->pg->params);
    JobId low = search->first;
    if (result && !field_is_null(result, 0, 0))
        low = (JobId)field_int(result, 0, 0);
    PQclear(result);
    buf_done(&sql);
    return low;
}

/* False for a damaged one. */
static bool read_payload(Search *search, RowColumns *saved)
{
    Job *job = &saved->row.job;
    if (!saved->apart)
        return true;
    job->payload = postgres_payload(search->pg, job->id, &search->arena);
    if (columns_payload_sound(saved, job->payload) || search->pg->link.err)
        return true;
    damage_note(job->id);
    return false;
}

/* All sources over ids from low up to before. */
static void look(Search *search, const Sources *sources, JobId low, JobId before)
{
    bool payload = search->payload || search->query->with_payload;
    Buf sql = { 0 };
    for (size_t i = 0; i < sources->count; i++) {
        buf_printf(&sql, "%s(SELECT %s FROM %s WHERE id >= %lld AND id < %lld",
                   i ? " UNION ALL " : "", payload ? pg_all_columns : pg_hot_columns,
                   sources->items[i].from, (long long)low, (long long)before);
        add_states(&sql, sources->items[i].states);
        buf_add_slice(&sql, buf_slice(&search->conditions));
        buf_add_text(&sql, ")");
    }
    buf_add_text(&sql, " ORDER BY id DESC");
    PGresult *result = link_query(&search->pg->link, buf_cstr(&sql), &search->pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows && !search->full; i++) {
        RowColumns saved;
        arena_reset(&search->arena);
        if (pgrow_read(&saved, result, i, &search->pg->catalog, &search->arena) &&
            (!payload || read_payload(search, &saved)))
            judge(search, &saved);
    }
    PQclear(result);
    buf_done(&sql);
}

static void search_steps(Search *search, const Sources *sources, QueryEnd *out_end)
{
    JobId before = search->last < INT64_MAX ? search->last + 1 : INT64_MAX;
    if (search->query->before && search->query->before < before)
        before = search->query->before;
    int64_t rows_max = search->slow ? STEP_ROWS_MAX_SLOW : STEP_ROWS_MAX;
    int64_t rows = (int64_t)search->limit + 1;
    while (before > search->first && !search->pg->link.err) {
        JobId low = step_down(search, sources, before, rows);
        look(search, sources, low, before);
        before = low;
        if (search->full) {
            out_end->cursor = search->last_given;
            return;
        }
        if (before > search->first && clock_now().boot_ms >= search->until_ms) {
            *out_end = (QueryEnd){ .partial = true, .cursor = before };
            return;
        }
        rows = rows * STEP_GROWTH < rows_max ? rows * STEP_GROWTH : rows_max;
    }
}

static void search_newest(Search *search, QueryEnd *out_end)
{
    Buf rare = { 0 };
    Sources sources = choose_sources(search, &rare);
    if (sources.count)
        search_steps(search, &sources, out_end);
    buf_done(&rare);
}

/* --- In the order of giving out
 * ----------------------------------------------------------
 */

typedef struct WalkKey {
    int64_t rank;
    int64_t dt_ms;
    JobId id;
} WalkKey;

/* A lane (with its sisters of other owners) and the next keys of its ready jobs, out of
 * the index alone. */
typedef struct LaneWalk {
    PgLaneKey key;
    PgArray lanes;
    int64_t age_ms;
    WalkKey head;
    WalkKey keys[LANE_PAGE];
    size_t at;
    size_t count;
} LaneWalk;

typedef struct LaneWalks {
    LaneWalk *items;
    size_t count;
    size_t capacity;
} LaneWalks;

/* Level by level of priority, as postgres/load.c does: there the order is that of time.
 */
static PGresult *ask_aged(Postgres *pg, const LaneWalk *walk, const WalkKey *last)
{
    param_int(&pg->params, walk->age_ms);
    param_int_or_null(&pg->params, last ? last->dt_ms : INT64_MIN, INT64_MIN);
    param_int(&pg->params, last ? ~last->rank : 0);
    param_int(&pg->params, last ? (int64_t)last->id : 0);
    return link_query(
        &pg->link,
        "SELECT h.id, h.rank, h.dt FROM unnest($1) AS n(lane) CROSS JOIN LATERAL ("
        " WITH RECURSIVE levels(rank) AS ("
        " (SELECT rank FROM pawl.job_live WHERE state = " READY " AND lane = n.lane"
        "  ORDER BY rank LIMIT 1)"
        " UNION ALL SELECT (SELECT j.rank FROM pawl.job_live j WHERE j.state = " READY
        "  AND j.lane = n.lane AND j.rank > l.rank ORDER BY j.rank LIMIT 1)"
        "  FROM levels l WHERE l.rank IS NOT NULL)"
        " SELECT rank FROM levels WHERE rank IS NOT NULL) v"
        " CROSS JOIN LATERAL (SELECT id, rank, dt FROM pawl.job_live WHERE state = " READY
        "  AND lane = n.lane AND rank = v.rank AND ($4::int8 IS NULL OR (dt, id) >"
        "  ($4::int8 + ((~v.rank) - $5::int8) * $3::int8, $6::int8))"
        "  ORDER BY rank, dt, id LIMIT $2) h"
        " ORDER BY h.dt - (~h.rank) * $3::int8, h.id LIMIT $2",
        &pg->params);
}

static PGresult *ask_plain(Postgres *pg, const WalkKey *last)
{
    param_int(&pg->params, last ? last->rank : INT64_MIN);
    param_int(&pg->params, last ? last->dt_ms : INT64_MIN);
    param_int(&pg->params, last ? (int64_t)last->id : 0);
    return link_query(
        &pg->link,
        "SELECT h.id, h.rank, h.dt FROM unnest($1) AS n(lane) CROSS JOIN LATERAL ("
        " SELECT id, rank, dt FROM pawl.job_live WHERE state = " READY
        " AND lane = n.lane"
        " AND (rank, dt, id) > ($3, $4, $5) ORDER BY rank, dt, id LIMIT $2) h"
        " ORDER BY h.rank, h.dt, h.id LIMIT $2",
        &pg->params);
}

/* last: the key behind which to go on; NULL: from the start. */
static void fill(Postgres *pg, LaneWalk *walk, const WalkKey *last)
{
    param_array(&pg->params, &walk->lanes);
    param_int(&pg->params, LANE_PAGE);
    PGresult *result = walk->age_ms ? ask_aged(pg, walk, last) : ask_plain(pg, last);
    int rows = result ? PQntuples(result) : 0;
    walk->at = 0;
    walk->count = (size_t)rows;
    for (int i = 0; i < rows; i++)
        walk->keys[i] = (WalkKey){ .id = (JobId)field_int(result, i, 0),
                                   .rank = field_int(result, i, 1),
                                   .dt_ms = field_int(result, i, 2) };
    PQclear(result);
}

static int by_head(const void *a, const void *b)
{
    const WalkKey *first = &((const LaneWalk *)a)->head;
    const WalkKey *second = &((const LaneWalk *)b)->head;
    if (first->dt_ms != second->dt_ms)
        return first->dt_ms < second->dt_ms ? -1 : 1;
    return first->id < second->id ? -1 : first->id > second->id;
}

static LaneWalk *walk_of(LaneWalks *walks, const PgLaneKey *key)
{
    for (size_t i = 0; i < walks->count; i++) {
        const PgLaneKey *other = &walks->items[i].key;
        if (other->tenant == key->tenant && other->queue == key->queue &&
            other->type == key->type && other->pull == key->pull)
            return &walks->items[i];
    }
    LaneWalk *walk = &MEM_PUSH(walks->items, walks->count, walks->capacity);
    *walk = (LaneWalk){ .key = *key, .lanes.type = PG_INT4 };
    return walk;
}

static int64_t waits_since(const Search *search, const LaneWalk *walk)
{
    PgCatalog *catalog = &search->pg->catalog;
    const PgLaneKey *lane = &walk->key;
    uint32_t flags = lane->pull ? JOB_PULL : 0;
    Job head = { .id = walk->head.id,
                 .priority = ~walk->head.rank,
                 .dt_ms = walk->head.dt_ms,
                 .flags = flags | (lane->type ? JOB_SEGREGATED : 0),
                 .tenant = pgcatalog_text(catalog, lane->tenant),
                 .queue = pgcatalog_text(catalog, lane->queue) };
    if (lane->type)
        head.type = pgcatalog_text(catalog, lane->type);
    return held_jobs_since(&search->frozen, &head, walk->age_ms);
}

static void find_walks(Search *search, LaneWalks *walks)
{
    Postgres *pg = search->pg;
    PgCatalog *catalog = &pg->catalog;
    JobQuery part = only(search->query, QUERY_QUEUE, true);
    PGresult *result = link_query(&pg->link,
                                  "SELECT lane FROM pawl.lane_count WHERE state = " READY
                                  " GROUP BY lane HAVING sum(count) > 0 ORDER BY lane",
                                  &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        uint32_t lane = (uint32_t)field_int(result, i, 0);
        if (!pgcatalog_knows_lane(catalog, lane))
            continue;
        const PgLaneKey *key = &catalog->lanes[lane - 1].key;
        Job job = { .tenant = pgcatalog_text(catalog, key->tenant),
                    .queue = pgcatalog_text(catalog, key->queue) };
        if (!query_matches(&part, &job))
            continue;
        LaneWalk *walk = walk_of(walks, key);
        walk->age_ms = ages_find(&search->ages, job.tenant, job.queue);
        array_int(&walk->lanes, lane);
    }
    PQclear(result);
    for (size_t i = 0; i < walks->count; i++) {
        fill(pg, &walks->items[i], NULL);
        walks->items[i].head = walks->items[i].keys[0];
        walks->items[i].head.dt_ms = waits_since(search, &walks->items[i]);
    }
    if (walks->count)
        qsort(walks->items, walks->count, sizeof *walks->items, by_head);
}

/* One job of every lane that has one left; false when none had. */
static bool tour(Search *search, LaneWalks *walks)
{
    bool any = false;
    for (size_t i = 0; i < walks->count && !search->full && !search->pg->link.err; i++) {
        LaneWalk *walk = &walks->items[i];
        if (walk->count && walk->at == walk->count)
            fill(search->pg, walk, &walk->keys[walk->count - 1]);
        if (walk->at >= walk->count)
            continue;
        any = true;
        RowColumns saved;
        arena_reset(&search->arena);
        if (postgres_find(search->pg, walk->keys[walk->at++].id, &search->arena, &saved))
            judge(search, &saved);
    }
    return any;
}

static void search_dispatch(Search *search, QueryEnd *out_end)
{
    LaneWalks walks = { 0 };
    find_walks(search, &walks);
    bool any = true;
    while (any && !search->full && clock_now().boot_ms < search->until_ms)
        any = tour(search, &walks);
    out_end->partial = any && !search->full;
    if (search->full)
        out_end->cursor = (JobId)search->query->skip + search->given;
    for (size_t i = 0; i < walks.count; i++)
        array_done(&walks.items[i].lanes);
    mem_free(walks.items);
}

Err postgres_query(Store *store, const JobQuery *query, const JobSink *sink,
                   QueryEnd *out_end, Error *why)
{
    Postgres *pg = postgres_of(store);
    Search search = { .pg = pg,
                      .query = query,
                      .sink = sink,
                      .limit = store_query_limit(query),
                      .states = STATE_BIT(JOB_STATES) - 1,
                      .last = INT64_MAX,
                      .until_ms = clock_now().boot_ms + pg->scan_ms };
    QueryEnd end = { 0 };
    Err err = query->order == QUERY_DISPATCH ? ages_load(&search.ages, store, why) : 0;
    if (!err && query->order == QUERY_DISPATCH)
        err = held_jobs_load(&search.frozen, store, why);
    if (err) {
        held_jobs_done(&search.frozen);
        ages_done(&search.ages);
        return err;
    }
    postgres_begin_read(pg);
    list_lanes(&search);
    list_names(&search, QUERY_TYPE, "type");
    list_names(&search, QUERY_NODE, "node");
    for (size_t i = 0; i < query->term_count; i++)
        add_term(&search, &query->terms[i]);
    if (query->order == QUERY_NEWEST)
        search_newest(&search, &end);
    else
        search_dispatch(&search, &end);
    buf_done(&search.conditions);
    held_jobs_done(&search.frozen);
    ages_done(&search.ages);
    arena_done(&search.arena);
    err = postgres_end_read(pg, "search", why);
    if (!err)
        *out_end = end;
    return err;
}
