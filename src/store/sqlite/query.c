/* SPDX-License-Identifier: Apache-2.0 */
/* query.c - see query.h. */
#include "store/sqlite/query.h"

#include "store/ages.h"
#include "store/damage.h"
#include "store/held_jobs.h"
#include "store/sqlite/load.h"
#include "store/sqlite/terms.h"
#include "store/states_sql.h"

#include <stdlib.h>
#include <time.h>

#define STEP_ROWS_MAX      16384 /* looked at between two looks at the clock */
#define STEP_ROWS_MAX_SLOW 1024  /* with terms that look into texts */
#define STEP_GROWTH        4
#define SOURCES_MAX        3
#define IDLE_SORT_MAX      10000 /* jobs of rare states: found by index, then sorted */
#define STATES_ALL         (STATE_BIT(JOB_STATES) - 1)
#define LANE_PAGE          64

static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One place of jobs, by one index, newest first. */
typedef struct Source {
    const char *from; /* table, index and its condition */
    sqlite3_stmt *rows;
    sqlite3_stmt *bound; /* the id so many rows further down */
    bool has_row;
} Source;

typedef struct Search {
    Sqlite *sqlite;
    const JobQuery *query;
    const JobSink *sink;
    Terms terms;
    Ages ages;
    HeldJobs frozen;
    Source sources[SOURCES_MAX];
    size_t source_count;
    Arena arena; /* of the job in hand */
    uint32_t limit;
    uint32_t given;
    uint64_t skipped;
    JobId last;       /* given */
    bool full;        /* the limit is reached and there is one more */
    int64_t until_ms; /* when to stop looking */
} Search;

/* --- Giving --------------------------------------------------------------------------
 */

/* Gives the job if it matches; the one beyond the limit only says that there is more. */
static void judge(Search *search, RowColumns *saved)
{
    const JobQuery *query = search->query;
    row_columns_open(saved, &search->sqlite->db);
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
    search->last = job.id;
    search->given++;
}

static bool wants_payload(const JobQuery *query)
{
    bool wants = query->with_payload;
    for (size_t i = 0; i < query->term_count; i++)
        wants |= query->terms[i].field == QUERY_PAYLOAD;
    return wants;
}

/* --- Newest first ----------------------------------------------------------------------
 */

static void add_source(Search *search, const char *from)
{
    search->sources[search->source_count++].from = from;
}

/* Whether the states are rare enough to be found by their index and sorted by id. */
static bool few(Search *search, JobStates states)
{
    Db *db = &search->sqlite->db;
    if (states & STATE_BIT(JOB_READY))
        return false; /* they are not in that index */
    sqlite3_stmt *stmt = db_statement(db, SQL_STATE_COUNT);
    sqlite3_bind_int64(stmt, 1, states);
    bool few = db_row(db, stmt) && sqlite3_column_int64(stmt, 0) <= IDLE_SORT_MAX;
    sqlite3_reset(stmt);
    return few;
}

static void choose_sources(Search *search)
{
    JobStates states = search->terms.states;
    JobStates live = states & ~(JobStates)STATES_FINAL;
    if (live && few(search, live))
        add_source(search, "job_live j INDEXED BY live_idle WHERE state <> " READY);
    else if (live)
        add_source(search, "job_live j NOT INDEXED WHERE 1");
    if (states & STATE_BIT(JOB_DONE))
        add_source(search, "job_done j NOT INDEXED WHERE 1");
    if (states & STATES_FINAL & ~(JobStates)STATE_BIT(JOB_DONE))
        add_source(search, "job_dead j NOT INDEXED WHERE 1");
}

static sqlite3_stmt *prepare(Search *search, Buf *sql)
{
    Db *db = &search->sqlite->db;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->handle, buf_cstr(sql), -1, &stmt, NULL);
    if (rc != SQLITE_OK)
        db_fail(db, rc, sqlite3_errmsg(db->handle));
    return stmt;
}

static void add_states(Buf *sql, JobStates states)
{
    if (states == STATES_ALL)
        return;
    buf_add_text(sql, " AND state IN (-1");
    for (unsigned state = 0; state < JOB_STATES; state++)
        if (states & STATE_BIT(state))
            buf_printf(sql, ", %u", state);
    buf_add_text(sql, ")");
}

static void prepare_source(Search *search, Source *source)
{
    Buf sql = { 0 };
    Buf where = { 0 };
    buf_printf(&where, " FROM %s AND id >= ?1 AND id < ?2", source->from);
    if (strstr(source->from, "live_idle")) /* the index needs to be told its states */
        add_states(&where, search->terms.states);
    buf_printf(&sql, "SELECT id" SLICE_FMT " ORDER BY id DESC LIMIT 1 OFFSET ?3",
               SLICE_ARG(buf_slice(&where)));
    source->bound = prepare(search, &sql);
    buf_clear(&sql);
    buf_printf(&sql, "SELECT %s" SLICE_FMT, sql_job_columns,
               SLICE_ARG(buf_slice(&where)));
    add_states(&sql, search->terms.states);
    buf_add_slice(&sql, buf_slice(&search->terms.sql));
    buf_add_text(&sql, " ORDER BY id DESC");
    source->rows = prepare(search, &sql);
    terms_bind(&search->terms, source->rows);
    buf_done(&sql);
    buf_done(&where);
}

/* The largest id such that no source has more than `rows` at or above it. */
static JobId step_down(Search *search, JobId floor, JobId before, int64_t rows)
{
    JobId low = floor;
    for (size_t i = 0; i < search->source_count; i++) {
        sqlite3_stmt *stmt = search->sources[i].bound;
        sqlite3_reset(stmt);
        sqlite3_bind_int64(stmt, 1, (int64_t)floor);
        sqlite3_bind_int64(stmt, 2, (int64_t)before);
        sqlite3_bind_int64(stmt, 3, rows - 1);
        if (!db_row(&search->sqlite->db, stmt))
            continue;
        JobId id = (JobId)sqlite3_column_int64(stmt, 0);
        sqlite3_reset(stmt);
        if (id > low)
            low = id;
    }
    return low;
}

static void next_row(Search *search, Source *source)
{
    source->has_row = db_row(&search->sqlite->db, source->rows);
}

static Source *newest(Search *search)
{
    Source *best = NULL;
    for (size_t i = 0; i < search->source_count; i++) {
        Source *source = &search->sources[i];
        if (source->has_row && (!best || sqlite3_column_int64(source->rows, COL_ID) >
                                             sqlite3_column_int64(best->rows, COL_ID)))
            best = source;
    }
    return best;
}

/* False for a damaged one. */
static bool read_payload(Search *search, RowColumns *saved)
{
    Job *job = &saved->row.job;
    if (!saved->apart)
        return true;
    job->payload = sqlite_payload(search->sqlite, job->id, &search->arena);
    if (columns_payload_sound(saved, job->payload))
        return true;
    damage_note(job->id);
    return false;
}

/* All sources over ids from low up to before, merged. */
static void look(Search *search, JobId low, JobId before, bool payload)
{
    for (size_t i = 0; i < search->source_count; i++) {
        Source *source = &search->sources[i];
        sqlite3_reset(source->rows);
        sqlite3_bind_int64(source->rows, 1, (int64_t)low);
        sqlite3_bind_int64(source->rows, 2, (int64_t)before);
        next_row(search, source);
    }
    Source *source;
    while (!search->full && (source = newest(search))) {
        RowColumns saved;
        arena_reset(&search->arena);
        if (row_columns_read(&saved, source->rows, &search->sqlite->catalog,
                             &search->arena) &&
            (!payload || read_payload(search, &saved)))
            judge(search, &saved);
        next_row(search, source);
    }
}

static void search_newest(Search *search, QueryEnd *out_end)
{
    const Terms *terms = &search->terms;
    choose_sources(search);
    for (size_t i = 0; i < search->source_count; i++)
        prepare_source(search, &search->sources[i]);
    JobId before = terms->last < INT64_MAX ? terms->last + 1 : INT64_MAX;
    if (search->query->before && search->query->before < before)
        before = search->query->before;
    bool payload = wants_payload(search->query);
    int64_t rows_max = terms->slow ? STEP_ROWS_MAX_SLOW : STEP_ROWS_MAX;
    int64_t rows = (int64_t)search->limit + 1;
    while (before > terms->first && search->sqlite->db.rc == SQLITE_OK) {
        JobId low = step_down(search, terms->first, before, rows);
        look(search, low, before, payload);
        before = low;
        if (search->full) {
            out_end->cursor = search->last;
            return;
        }
        if (before > terms->first && clock_ms() >= search->until_ms) {
            *out_end = (QueryEnd){ .partial = true, .cursor = before };
            return;
        }
        rows = rows * STEP_GROWTH < rows_max ? rows * STEP_GROWTH : rows_max;
    }
}

/* --- In the order of giving out
 * ------------------------------------------------------------ */

typedef struct LaneKey {
    int64_t rank;
    int64_t dt_ms;
    JobId id;
} LaneKey;

/* A lane and the next keys of its ready jobs, out of the index alone. */
typedef struct LaneWalk {
    uint32_t lane;
    int64_t age_ms;
    LaneKey head;
    LaneKey keys[LANE_PAGE];
    size_t at;
    size_t count;
} LaneWalk;

typedef struct LaneWalks {
    LaneWalk *items;
    size_t count;
    size_t capacity;
} LaneWalks;

static bool goes_before(const LaneKey *a, const LaneKey *b, int64_t age_ms)
{
    int64_t first = a->dt_ms - ~a->rank * age_ms;
    int64_t second = b->dt_ms - ~b->rank * age_ms;
    return first != second ? first < second : a->id < b->id;
}

/* In its place among those that are there; the last goes when there are too many. */
static void insert(LaneWalk *walk, LaneKey key)
{
    size_t at = walk->count < LANE_PAGE ? walk->count++ : LANE_PAGE;
    if (at == LANE_PAGE && !goes_before(&key, &walk->keys[--at], walk->age_ms))
        return;
    for (; at > 0 && goes_before(&key, &walk->keys[at - 1], walk->age_ms); at--)
        walk->keys[at] = walk->keys[at - 1];
    walk->keys[at] = key;
}

/* Level by level of priority, as sqlite/load.c does: there the order is that of time. */
static void fill_aged(Db *db, LaneWalk *walk, const LaneKey *behind)
{
    const LaneKey last = behind ? *behind : (LaneKey){ 0 };
    walk->at = 0;
    walk->count = 0;
    int64_t rank = INT64_MIN;
    for (;;) {
        sqlite3_stmt *level = db_statement(db, SQL_WINDOW_LEVEL);
        sqlite3_bind_int64(level, 1, walk->lane);
        sqlite3_bind_int64(level, 2, rank);
        bool found = db_row(db, level) && sqlite3_column_type(level, 0) != SQLITE_NULL;
        rank = found ? sqlite3_column_int64(level, 0) : 0;
        sqlite3_reset(level);
        if (!found)
            return;
        int64_t from_ms = last.dt_ms + (~rank - ~last.rank) * walk->age_ms;
        sqlite3_stmt *stmt = db_statement(db, SQL_KEYS_OF_LEVEL);
        sqlite3_bind_int64(stmt, 1, walk->lane);
        sqlite3_bind_int64(stmt, 2, LANE_PAGE);
        sqlite3_bind_int64(stmt, 3, rank);
        sqlite3_bind_int64(stmt, 4, behind ? from_ms : INT64_MIN);
        sqlite3_bind_int64(stmt, 5, (int64_t)last.id);
        while (db_row(db, stmt))
            insert(walk, (LaneKey){ .id = (JobId)sqlite3_column_int64(stmt, 0),
                                    .rank = sqlite3_column_int64(stmt, 1),
                                    .dt_ms = sqlite3_column_int64(stmt, 2) });
        sqlite3_reset(stmt);
    }
}

static void fill(Db *db, LaneWalk *walk, const LaneKey *last)
{
    static const LaneKey start = { .rank = INT64_MIN, .dt_ms = INT64_MIN };
    const LaneKey behind = last ? *last : start;
    if (walk->age_ms) {
        fill_aged(db, walk, last ? &behind : NULL);
        return;
    }
    sqlite3_stmt *stmt = db_statement(db, SQL_WINDOW_KEYS);
    sqlite3_bind_int64(stmt, 1, walk->lane);
    sqlite3_bind_int64(stmt, 2, LANE_PAGE);
    sqlite3_bind_int64(stmt, 3, behind.rank);
    sqlite3_bind_int64(stmt, 4, behind.dt_ms);
    sqlite3_bind_int64(stmt, 5, (int64_t)behind.id);
    walk->at = 0;
    walk->count = 0;
    while (walk->count < LANE_PAGE && db_row(db, stmt))
        walk->keys[walk->count++] = (LaneKey){ .id = (JobId)sqlite3_column_int64(stmt, 0),
                                               .rank = sqlite3_column_int64(stmt, 1),
                                               .dt_ms = sqlite3_column_int64(stmt, 2) };
    sqlite3_reset(stmt);
}

static int by_head(const void *a, const void *b)
{
    const LaneKey *first = &((const LaneWalk *)a)->head;
    const LaneKey *second = &((const LaneWalk *)b)->head;
    if (first->dt_ms != second->dt_ms)
        return first->dt_ms < second->dt_ms ? -1 : 1;
    return first->id < second->id ? -1 : first->id > second->id;
}

static int64_t waits_since(const Search *search, const LaneWalk *walk,
                           const CatalogLane *lane)
{
    const Catalog *catalog = &search->sqlite->catalog;
    uint32_t flags = lane->pull ? JOB_PULL : 0;
    Job head = { .id = walk->head.id,
                 .priority = ~walk->head.rank,
                 .dt_ms = walk->head.dt_ms,
                 .flags = flags | (lane->type ? JOB_SEGREGATED : 0),
                 .tenant = catalog_text(catalog, lane->tenant),
                 .queue = catalog_text(catalog, lane->queue) };
    if (lane->type)
        head.type = catalog_text(catalog, lane->type);
    return held_jobs_since(&search->frozen, &head, walk->age_ms);
}

static void find_walks(Search *search, LaneWalks *walks)
{
    Db *db = &search->sqlite->db;
    const Catalog *catalog = &search->sqlite->catalog;
    sqlite3_stmt *lanes = db_statement(db, SQL_LANES_READY);
    while (db_row(db, lanes)) {
        uint32_t lane = (uint32_t)sqlite3_column_int64(lanes, 0);
        if (!terms_lane(&search->terms, lane))
            continue;
        LaneWalk *walk = &MEM_PUSH(walks->items, walks->count, walks->capacity);
        const CatalogLane *entry = &catalog->lanes[lane - 1];
        *walk = (LaneWalk){ .lane = lane };
        walk->age_ms = ages_find(&search->ages, catalog_text(catalog, entry->tenant),
                                 catalog_text(catalog, entry->queue));
        fill(db, walk, NULL);
        walk->head = walk->keys[0];
        walk->head.dt_ms = waits_since(search, walk, entry);
    }
    if (walks->count)
        qsort(walks->items, walks->count, sizeof *walks->items, by_head);
}

/* One job of every lane that has one left; false when none had. */
static bool tour(Search *search, LaneWalks *walks)
{
    bool any = false;
    for (size_t i = 0; i < walks->count && !search->full; i++) {
        LaneWalk *walk = &walks->items[i];
        if (walk->count && walk->at == walk->count)
            fill(&search->sqlite->db, walk, &walk->keys[walk->count - 1]);
        if (walk->at >= walk->count)
            continue;
        any = true;
        RowColumns saved;
        arena_reset(&search->arena);
        if (sqlite_find(search->sqlite, walk->keys[walk->at++].id, &search->arena,
                        &saved))
            judge(search, &saved);
    }
    return any;
}

static void search_dispatch(Search *search, QueryEnd *out_end)
{
    LaneWalks walks = { 0 };
    find_walks(search, &walks);
    bool any = true;
    while (any && !search->full && clock_ms() < search->until_ms)
        any = tour(search, &walks);
    out_end->partial = any && !search->full;
    if (search->full)
        out_end->cursor = (JobId)search->query->skip + search->given;
    mem_free(walks.items);
}

Err sqlite_query(Store *store, const JobQuery *query, const JobSink *sink,
                 QueryEnd *out_end, Error *why)
{
    Sqlite *sqlite = sqlite_of(store);
    Search search = { .sqlite = sqlite,
                      .query = query,
                      .sink = sink,
                      .limit = store_query_limit(query),
                      .until_ms = clock_ms() + sqlite->scan_ms };
    QueryEnd end = { 0 };
    Err err = query->order == QUERY_DISPATCH ? ages_load(&search.ages, store, why) : 0;
    if (!err && query->order == QUERY_DISPATCH)
        err = held_jobs_load(&search.frozen, store, why);
    if (err) {
        held_jobs_done(&search.frozen);
        ages_done(&search.ages);
        return err;
    }
    sqlite_begin_read(sqlite);
    terms_init(&search.terms, query, &sqlite->catalog);
    sqlite->sets = &search.terms.sets;
    if (query->order == QUERY_NEWEST)
        search_newest(&search, &end);
    else
        search_dispatch(&search, &end);
    for (size_t i = 0; i < search.source_count; i++) {
        sqlite3_finalize(search.sources[i].rows);
        sqlite3_finalize(search.sources[i].bound);
    }
    sqlite->sets = NULL;
    terms_done(&search.terms);
    held_jobs_done(&search.frozen);
    ages_done(&search.ages);
    arena_done(&search.arena);
    err = db_end(&sqlite->db, "search", why);
    if (!err)
        *out_end = end;
    return err;
}
