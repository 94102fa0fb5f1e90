/* SPDX-License-Identifier: Apache-2.0 */
/* terms.c - see terms.h. */
#include "store/sqlite/terms.h"

#include <stdio.h>

/* --- Functions that conditions call --------------------------------------------------
 */

static Slice value_bytes(sqlite3_value *value)
{
    const void *data = sqlite3_value_blob(value);
    return slice_of(data, (size_t)sqlite3_value_bytes(value));
}

static void call_in(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    const TermSets *sets = *(TermSets *const *)sqlite3_user_data(context);
    int set = sqlite3_value_int(values[0]);
    size_t number = (size_t)sqlite3_value_int64(values[1]);
    bool in = sets && number < sets->counts[set] &&
              (sets->bits[set][number / 8] >> number % 8 & 1);
    sqlite3_result_int(context, in);
}

static void call_is(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    Slice text = value_bytes(values[0]);
    Slice word = value_bytes(values[1]);
    bool prefix = word.bytes && word.data[word.bytes - 1] == '*';
    if (prefix)
        word.bytes--;
    sqlite3_result_int(context,
                       prefix ? slice_starts(text, word) : slice_equal(text, word));
}

static void call_has(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    sqlite3_result_int(context,
                       query_contains(value_bytes(values[0]), value_bytes(values[1])));
}

Err terms_functions(sqlite3 *handle, TermSets *const *sets, Error *why)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    void *context = (void *)(uintptr_t)sets;
    if (sqlite3_create_function(handle, "pawl_in", 2, flags, context, call_in, NULL,
                                NULL) == SQLITE_OK &&
        sqlite3_create_function(handle, "pawl_is", 2, flags, NULL, call_is, NULL, NULL) ==
            SQLITE_OK &&
        sqlite3_create_function(handle, "pawl_has", 2, flags, NULL, call_has, NULL,
                                NULL) == SQLITE_OK)
        return ERR_OK;
    return error_set(why, ERR_IO, "store: %s", sqlite3_errmsg(handle));
}

/* --- Sets ------------------------------------------------------------------------------
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

static void set_room(TermSets *sets, TermSet set, size_t count)
{
    sets->counts[set] = count;
    sets->bits[set] = MEM_ARRAY(uint8_t, count / 8 + 1);
}

static void set_put(TermSets *sets, TermSet set, size_t number, bool in)
{
    sets->bits[set][number / 8] |= (uint8_t)(in << number % 8);
}

static void fill_names(Terms *terms, TermSet set, const JobQuery *part,
                       const Catalog *catalog)
{
    set_room(&terms->sets, set, catalog->names.count + 1);
    for (size_t i = 0; i <= catalog->names.count; i++) {
        Job job = { .id = 0 };
        job.type = job.node = catalog_text(catalog, (uint32_t)i);
        set_put(&terms->sets, set, i, query_matches(part, &job));
    }
}

static void fill_lanes(Terms *terms, const JobQuery *part, const Catalog *catalog)
{
    set_room(&terms->sets, SET_LANES, catalog->lane_count + 1);
    for (size_t i = 0; i < catalog->lane_count; i++) {
        Job job = { .tenant = catalog_text(catalog, catalog->lanes[i].tenant),
                    .queue = catalog_text(catalog, catalog->lanes[i].queue) };
        set_put(&terms->sets, SET_LANES, i + 1, query_matches(part, &job));
    }
}

static void add_sets(Terms *terms, const JobQuery *query, const Catalog *catalog)
{
    JobQuery lanes = only(query, QUERY_QUEUE, true);
    JobQuery types = only(query, QUERY_TYPE, false);
    JobQuery nodes = only(query, QUERY_NODE, false);
    if (lanes.term_count || lanes.tenant.bytes) {
        fill_lanes(terms, &lanes, catalog);
        buf_printf(&terms->sql, " AND pawl_in(%d, lane)", SET_LANES);
    }
    if (types.term_count) {
        fill_names(terms, SET_TYPES, &types, catalog);
        buf_printf(&terms->sql, " AND pawl_in(%d, coalesce(type, 0))", SET_TYPES);
    }
    if (nodes.term_count) {
        fill_names(terms, SET_NODES, &nodes, catalog);
        buf_printf(&terms->sql, " AND pawl_in(%d, coalesce(node, 0))", SET_NODES);
    }
}

/* --- Single terms
 * ------------------------------------------------------------------------ */

static size_t bound(Terms *terms, Slice text)
{
    MEM_PUSH(terms->bound, terms->bound_count, terms->bound_capacity) = text;
    return TERMS_BIND_FIRST + terms->bound_count - 1;
}

/* `what` compared with the term's number; alternatives are left to query_matches. */
static void add_number(Terms *terms, const QueryTerm *term, const char *what)
{
    if (term->word_count > 1 || term->negated)
        return;
    buf_printf(&terms->sql, " AND %s %s %lld", what, query_sign(term->compare),
               (long long)term->number);
}

/* Any of the words by a function of text and word. */
static void add_words(Terms *terms, const QueryTerm *term, const char *function,
                      const char *what)
{
    buf_printf(&terms->sql, " AND %s(", term->negated ? "NOT " : "");
    for (size_t i = 0; i < term->word_count; i++)
        buf_printf(&terms->sql, "%s%s(%s, ?%zu)", i ? " OR " : "", function, what,
                   bound(terms, term->words[i]));
    buf_add_text(&terms->sql, ")");
}

/* Packed fields hold their texts as they are: who has not got the word in its bytes has
 * not got it in its field. */
static void add_spec(Terms *terms, const QueryTerm *term)
{
    for (size_t i = 0; i < term->word_count; i++)
        if (term->negated || slice_is(term->words[i], "*"))
            return;
    buf_add_text(&terms->sql, " AND (");
    for (size_t i = 0; i < term->word_count; i++) {
        Slice word = term->words[i];
        if (word.data[word.bytes - 1] == '*')
            word.bytes--;
        buf_printf(&terms->sql, "%sinstr(spec, ?%zu)", i ? " OR " : "",
                   bound(terms, word));
    }
    buf_add_text(&terms->sql, ")");
}

static void narrow_ids(Terms *terms, const QueryTerm *term)
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
    if (first > terms->first)
        terms->first = first;
    if (last < terms->last)
        terms->last = last;
}

static void add_term(Terms *terms, const QueryTerm *term, int64_t wall_ms)
{
    char run[96];
    switch (term->field) {
    case QUERY_STATE:
        terms->states &= term->negated ? ~term->states : term->states;
        return;
    case QUERY_TYPE:
    case QUERY_QUEUE:
    case QUERY_NODE:
        return; /* in the sets */
    case QUERY_TAG:
    case QUERY_SCHEDULE:
    case QUERY_GROUP:
        add_spec(terms, term);
        return;
    case QUERY_NAME:
        add_words(terms, term, "pawl_is", "coalesce(name, '')");
        return;
    case QUERY_PARENT:
        if (term->compare != QUERY_IS)
            add_number(terms, term, "parent");
        return;
    case QUERY_ID:
        narrow_ids(terms, term);
        return;
    case QUERY_PRIORITY:
        add_number(terms, term, "~rank");
        return;
    case QUERY_CREATED:
        add_number(terms, term, "coalesce(created, 0)");
        return;
    case QUERY_RUN:
        snprintf(run, sizeof run, "coalesce(finished, %lld) - started",
                 (long long)wall_ms);
        add_number(terms, term, run);
        return;
    case QUERY_ERROR:
        terms->slow = true;
        add_words(terms, term, "pawl_has", "coalesce(error, '')");
        return;
    case QUERY_PAYLOAD:
        terms->slow = true;
        add_words(
            terms, term, "pawl_has",
            "coalesce(payload, (SELECT data FROM payload p WHERE p.job = j.id), '')");
        return;
    }
}

void terms_init(Terms *terms, const JobQuery *query, const Catalog *catalog)
{
    *terms = (Terms){ .states = STATE_BIT(JOB_STATES) - 1, .last = INT64_MAX };
    add_sets(terms, query, catalog);
    for (size_t i = 0; i < query->term_count; i++)
        add_term(terms, &query->terms[i], query->wall_ms);
}

void terms_bind(const Terms *terms, sqlite3_stmt *stmt)
{
    for (size_t i = 0; i < terms->bound_count; i++)
        db_bind_blob(stmt, (int)(TERMS_BIND_FIRST + i), terms->bound[i]);
}

void terms_done(Terms *terms)
{
    buf_done(&terms->sql);
    mem_free(terms->bound);
    for (size_t i = 0; i < TERM_SETS; i++)
        mem_free(terms->sets.bits[i]);
    *terms = (Terms){ 0 };
}

bool terms_lane(const Terms *terms, uint32_t lane)
{
    const uint8_t *bits = terms->sets.bits[SET_LANES];
    return !bits || (bits[lane / 8] >> lane % 8 & 1);
}
