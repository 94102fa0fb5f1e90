/* SPDX-License-Identifier: Apache-2.0 */
/* query.c - see query.h.
 *
 *     query  = term *( space term )
 *     term   = [ "-" ] field ":" [ ">" | ">=" | "<" | "<=" | "=" ] word *( "," word )
 *     word   = characters up to a comma or space, or "..." with \" and \\ inside
 *
 * Comparisons are for priority, created, run, id and parent only. */
#include "core/query.h"

#include "base/text.h"

typedef enum ValueKind {
    VALUE_STATES,
    VALUE_TEXT,     /* the whole text, or its beginning before a * */
    VALUE_CONTAINS, /* anywhere inside, letters of either case */
    VALUE_TAGS,
    VALUE_ID,
    VALUE_NUMBER,
    VALUE_TIME,
    VALUE_DURATION,
} ValueKind;

typedef struct FieldRow {
    const char *name;
    QueryField field;
    ValueKind kind;
    QueryCompare compare; /* where the value does not begin with one */
} FieldRow;

static const FieldRow field_rows[] = {
    { "state", QUERY_STATE, VALUE_STATES, QUERY_IS },
    { "type", QUERY_TYPE, VALUE_TEXT, QUERY_IS },
    { "queue", QUERY_QUEUE, VALUE_TEXT, QUERY_IS },
    { "tag", QUERY_TAG, VALUE_TAGS, QUERY_IS },
    { "name", QUERY_NAME, VALUE_TEXT, QUERY_IS },
    { "node", QUERY_NODE, VALUE_TEXT, QUERY_IS },
    { "schedule", QUERY_SCHEDULE, VALUE_TEXT, QUERY_IS },
    { "group", QUERY_GROUP, VALUE_TEXT, QUERY_IS },
    { "parent", QUERY_PARENT, VALUE_ID, QUERY_IS },
    { "id", QUERY_ID, VALUE_ID, QUERY_IS },
    { "priority", QUERY_PRIORITY, VALUE_NUMBER, QUERY_IS },
    { "created", QUERY_CREATED, VALUE_TIME, QUERY_IS },
    { "created_after", QUERY_CREATED, VALUE_TIME, QUERY_MORE_EQUAL },
    { "created_before", QUERY_CREATED, VALUE_TIME, QUERY_LESS },
    { "run", QUERY_RUN, VALUE_DURATION, QUERY_IS },
    { "error", QUERY_ERROR, VALUE_CONTAINS, QUERY_IS },
    { "payload", QUERY_PAYLOAD, VALUE_CONTAINS, QUERY_IS },
};
#define FIELD_ROWS (sizeof field_rows / sizeof *field_rows)

static const FieldRow *row_by_name(Slice name)
{
    for (size_t i = 0; i < FIELD_ROWS; i++)
        if (slice_is(name, field_rows[i].name))
            return &field_rows[i];
    return NULL;
}

static ValueKind field_kind(QueryField field)
{
    for (size_t i = 0; i < FIELD_ROWS; i++)
        if (field_rows[i].field == field)
            return field_rows[i].kind;
    return VALUE_TEXT;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* --- Reading ---------------------------------------------------------------- */

static Err unknown_field(Slice name, Error *why)
{
    const char *names[FIELD_ROWS + 1];
    for (size_t i = 0; i < FIELD_ROWS; i++)
        names[i] = field_rows[i].name;
    names[FIELD_ROWS] = NULL;
    const char *nearest = nearest_word(name, names);
    if (nearest)
        return error_set(why, ERR_INVALID,
                         "query: there is no field '" SLICE_FMT "'; did you mean '%s'?",
                         SLICE_ARG(name), nearest);
    return error_set(why, ERR_INVALID,
                     "query: there is no field '" SLICE_FMT "'; there are state, type, "
                     "queue, tag, name, node, schedule, group, parent, id, priority, "
                     "created, run, error and payload",
                     SLICE_ARG(name));
}

/* "..." at the start of *rest, without its quotes and escapes. */
static Err take_quoted(Slice *rest, Arena *arena, Slice *out_word, Error *why)
{
    char *text = arena_take(arena, rest->bytes);
    size_t bytes = 0;
    for (size_t i = 1; i < rest->bytes; i++) {
        char c = rest->data[i];
        if (c == '"') {
            *out_word = slice_of(text, bytes);
            *rest = slice_from(*rest, i + 1);
            return ERR_OK;
        }
        if (c == '\\' && i + 1 < rest->bytes)
            c = rest->data[++i];
        text[bytes++] = c;
    }
    return error_set(why, ERR_INVALID, "query: a quote is not closed: " SLICE_FMT,
                     SLICE_ARG(*rest));
}

static void take_plain(Slice *rest, bool whole, Arena *arena, Slice *out_word)
{
    size_t end = 0;
    while (end < rest->bytes && rest->data[end] != ',' &&
           (whole || !is_space(rest->data[end])))
        end++;
    *out_word = slice_copy(arena, slice_of(rest->data, end));
    *rest = slice_from(*rest, end);
}

/* Alternatives up to the next space, or (whole) to the end. */
static Err take_words(Slice *rest, bool whole, Arena *arena, QueryTerm *term, Error *why)
{
    size_t most = 1;
    for (size_t i = 0; i < rest->bytes; i++)
        most += rest->data[i] == ',';
    term->words = arena_take(arena, most * sizeof *term->words);
    for (bool more = true; more;) {
        Slice word;
        if (rest->bytes && rest->data[0] == '"') {
            Err err = take_quoted(rest, arena, &word, why);
            if (err)
                return err;
        } else {
            take_plain(rest, whole, arena, &word);
        }
        term->words[term->word_count++] = word;
        more = rest->bytes && rest->data[0] == ',';
        if (more)
            *rest = slice_from(*rest, 1);
    }
    if (rest->bytes && !is_space(rest->data[0]))
        return error_set(why, ERR_INVALID,
                         "query: a space or comma is missing before '" SLICE_FMT "'",
                         SLICE_ARG(*rest));
    return ERR_OK;
}

static bool take_compare(Slice *rest, QueryCompare *out_compare)
{
    static const struct {
        const char *text;
        QueryCompare compare;
    } signs[] = {
        { ">=", QUERY_MORE_EQUAL }, { "<=", QUERY_LESS_EQUAL }, { ">", QUERY_MORE },
        { "<", QUERY_LESS },        { "=", QUERY_IS },
    };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        Slice sign = slice_text(signs[i].text);
        if (!slice_starts(*rest, sign))
            continue;
        *out_compare = signs[i].compare;
        *rest = slice_from(*rest, sign.bytes);
        return true;
    }
    return false;
}

static Err read_states(QueryTerm *term, Error *why)
{
    const char *names[JOB_STATES + 1] = { NULL };
    for (unsigned i = 0; i < JOB_STATES; i++)
        names[i] = state_name((JobState)i);
    for (size_t i = 0; i < term->word_count; i++) {
        JobState state;
        if (state_parse(term->words[i], &state)) {
            const char *nearest = nearest_word(term->words[i], names);
            return error_set(why, ERR_INVALID,
                             "query: there is no state '" SLICE_FMT "'%s%s%s",
                             SLICE_ARG(term->words[i]), nearest ? "; did you mean '" : "",
                             nearest ? nearest : "", nearest ? "'?" : "");
        }
        term->states |= STATE_BIT(state);
    }
    return ERR_OK;
}

static Err read_time(Slice word, int64_t now_ms, int64_t *out_ms)
{
    int64_t ago_ms;
    if (word.bytes > 1 && word.data[0] == '-') {
        if (duration_parse(slice_from(word, 1), &ago_ms, NULL))
            return ERR_INVALID;
        *out_ms = now_ms - ago_ms;
        return ERR_OK;
    }
    if (word.bytes == strlen("2026-06-30")) {
        char day[] = "2026-06-30T00:00:00Z";
        memcpy(day, word.data, word.bytes);
        return time_parse(slice_text(day), out_ms);
    }
    return time_parse(word, out_ms);
}

static Err read_number(ValueKind kind, Slice word, int64_t now_ms, int64_t *out)
{
    JobId first = 0;
    JobId last = 0;
    Err err = ERR_INVALID;
    switch (kind) {
    case VALUE_ID:
        err = id_prefix_range(word, &first, &last);
        *out = (int64_t)first;
        return err;
    case VALUE_NUMBER:
        return int_parse(word, out);
    case VALUE_TIME:
        return read_time(word, now_ms, out);
    case VALUE_DURATION:
        return duration_parse(word, out, NULL);
    case VALUE_STATES:
    case VALUE_TEXT:
    case VALUE_CONTAINS:
    case VALUE_TAGS:
        break;
    }
    return err;
}

static const char *value_example(ValueKind kind)
{
    switch (kind) {
    case VALUE_ID:
        return "an id or the beginning of one";
    case VALUE_NUMBER:
        return "a number, as in priority:>=5";
    case VALUE_TIME:
        return "a time, as in created:>-2h or created:<2026-06-30T12:00:00Z";
    case VALUE_DURATION:
        return "a duration, as in run:>30s";
    case VALUE_STATES:
    case VALUE_TEXT:
    case VALUE_CONTAINS:
    case VALUE_TAGS:
        break;
    }
    return "a word";
}

static Err read_numbers(const FieldRow *row, int64_t now_ms, QueryTerm *term, Error *why)
{
    bool ordered = row->kind == VALUE_TIME || row->kind == VALUE_DURATION;
    bool exact = term->compare == QUERY_IS;
    if (exact && ordered)
        return error_set(why, ERR_INVALID, "query: %s needs < or >, as in %s", row->name,
                         row->kind == VALUE_TIME ? "created:>-2h" : "run:>30s");
    if (!exact && term->word_count > 1)
        return error_set(why, ERR_INVALID, "query: %s: a comparison takes one value",
                         row->name);
    for (size_t i = term->word_count; i-- > 0;) /* the first one is left in number */
        if (read_number(row->kind, term->words[i], now_ms, &term->number))
            return error_set(why, ERR_INVALID, "query: %s: '" SLICE_FMT "' is not %s",
                             row->name, SLICE_ARG(term->words[i]),
                             value_example(row->kind));
    return ERR_OK;
}

static Err read_value(const FieldRow *row, int64_t now_ms, QueryTerm *term, Error *why)
{
    for (size_t i = 0; i < term->word_count; i++)
        if (!term->words[i].bytes)
            return error_set(why, ERR_INVALID, "query: %s: a value is missing",
                             row->name);
    switch (row->kind) {
    case VALUE_STATES:
        return read_states(term, why);
    case VALUE_ID:
    case VALUE_NUMBER:
    case VALUE_TIME:
    case VALUE_DURATION:
        return read_numbers(row, now_ms, term, why);
    case VALUE_TEXT:
    case VALUE_CONTAINS:
    case VALUE_TAGS:
        break;
    }
    return ERR_OK;
}

static bool compares(ValueKind kind)
{
    return kind == VALUE_ID || kind == VALUE_NUMBER || kind == VALUE_TIME ||
           kind == VALUE_DURATION;
}

typedef struct Reading {
    Arena *arena;
    JobQuery *query;
    Error *why;
    bool whole; /* the value goes to the end of the text */
} Reading;

static Err read_term(const Reading *in, Slice name, Slice *rest, bool negated)
{
    const FieldRow *row = row_by_name(name);
    if (!row)
        return unknown_field(name, in->why);
    if (in->query->term_count == QUERY_TERMS_MAX)
        return error_set(in->why, ERR_LIMIT, "query: more than %d terms",
                         QUERY_TERMS_MAX);
    QueryTerm term = { .field = row->field, .compare = row->compare, .negated = negated };
    if (compares(row->kind) && row->compare == QUERY_IS)
        take_compare(rest, &term.compare);
    Err err = take_words(rest, in->whole, in->arena, &term, in->why);
    if (!err)
        err = read_value(row, in->query->wall_ms, &term, in->why);
    if (!err)
        in->query->terms[in->query->term_count++] = term;
    return err;
}

Err query_term(const char *field, Slice value, Arena *arena, JobQuery *query, Error *why)
{
    const Reading in = { arena, query, why, .whole = true };
    return read_term(&in, slice_text(field), &value, false);
}

/* The field's name up to its colon, taken off *rest. */
static Err take_field(Slice *rest, Slice *out_name, Error *why)
{
    size_t end = 0;
    while (end < rest->bytes && rest->data[end] != ':' && !is_space(rest->data[end]))
        end++;
    Slice name = slice_of(rest->data, end);
    if (end == rest->bytes || rest->data[end] != ':')
        return error_set(why, ERR_INVALID,
                         "query: '" SLICE_FMT "' is not field:value, as in state:failed",
                         SLICE_ARG(name));
    *out_name = name;
    *rest = slice_from(*rest, end + 1);
    return ERR_OK;
}

Err query_parse(Slice text, Arena *arena, JobQuery *query, Error *why)
{
    const Reading in = { arena, query, why, .whole = false };
    size_t before = query->term_count;
    Err err = ERR_OK;
    while (!err) {
        while (text.bytes && is_space(text.data[0]))
            text = slice_from(text, 1);
        if (!text.bytes)
            return ERR_OK;
        bool negated = text.data[0] == '-';
        if (negated)
            text = slice_from(text, 1);
        Slice name;
        err = take_field(&text, &name, why);
        if (!err)
            err = read_term(&in, name, &text, negated);
    }
    query->term_count = before;
    return err;
}

/* --- Matching --------------------------------------------------------------- */

static bool text_is(Slice text, Slice word)
{
    if (word.bytes && word.data[word.bytes - 1] == '*')
        return slice_starts(text, slice_of(word.data, word.bytes - 1));
    return slice_equal(text, word);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

const char *query_sign(QueryCompare compare)
{
    static const char *const signs[] = { [QUERY_IS] = "=",
                                         [QUERY_LESS] = "<",
                                         [QUERY_LESS_EQUAL] = "<=",
                                         [QUERY_MORE] = ">",
                                         [QUERY_MORE_EQUAL] = ">=" };
    return signs[compare];
}

bool query_contains(Slice text, Slice word)
{
    if (word.bytes && word.data[word.bytes - 1] == '*')
        word.bytes--;
    for (size_t at = 0; at + word.bytes <= text.bytes; at++) {
        size_t same = 0;
        while (same < word.bytes && lower(text.data[at + same]) == lower(word.data[same]))
            same++;
        if (same == word.bytes)
            return true;
    }
    return false;
}

static bool tags_have(Slice tags, Slice word)
{
    Slice tag;
    while (list_next(&tags, &tag))
        if (text_is(tag, word))
            return true;
    return false;
}

static bool number_compare(int64_t number, QueryCompare compare, int64_t with)
{
    switch (compare) {
    case QUERY_IS:
        return number == with;
    case QUERY_LESS:
        return number < with;
    case QUERY_LESS_EQUAL:
        return number <= with;
    case QUERY_MORE:
        return number > with;
    case QUERY_MORE_EQUAL:
        return number >= with;
    }
    return false;
}

static bool id_is(JobId id, Slice word)
{
    JobId first;
    JobId last;
    return !id_prefix_range(word, &first, &last) && id >= first && id <= last;
}

static bool word_matches(const QueryTerm *term, Slice text, JobId id, Slice word)
{
    int64_t number;
    switch (field_kind(term->field)) {
    case VALUE_TEXT:
        return text_is(text, word);
    case VALUE_CONTAINS:
        return query_contains(text, word);
    case VALUE_TAGS:
        return tags_have(text, word);
    case VALUE_ID:
        return id_is(id, word);
    case VALUE_NUMBER:
        return !int_parse(word, &number) && number == (int64_t)id;
    case VALUE_STATES:
    case VALUE_TIME:
    case VALUE_DURATION:
        break;
    }
    return false;
}

static bool any_word(const QueryTerm *term, Slice text, JobId id)
{
    for (size_t i = 0; i < term->word_count; i++)
        if (word_matches(term, text, id, term->words[i]))
            return true;
    return false;
}

/* Numbers with alternatives go by their words, comparisons by the one number. */
static bool number_matches(const QueryTerm *term, int64_t number)
{
    if (term->compare == QUERY_IS && term->word_count)
        return any_word(term, (Slice){ NULL, 0 }, (JobId)number);
    return number_compare(number, term->compare, term->number);
}

static bool run_matches(const QueryTerm *term, const Job *job, int64_t wall_ms)
{
    if (!job->started_ms)
        return false;
    int64_t until_ms = job->finished_ms ? job->finished_ms : wall_ms;
    return number_compare(until_ms - job->started_ms, term->compare, term->number);
}

static bool term_matches(const QueryTerm *term, const Job *job, int64_t wall_ms)
{
    switch (term->field) {
    case QUERY_STATE:
        return state_in(job->state, term->states);
    case QUERY_TYPE:
        return any_word(term, job->type, 0);
    case QUERY_QUEUE:
        return any_word(term, job->queue, 0);
    case QUERY_TAG:
        return any_word(term, job->tags, 0);
    case QUERY_NAME:
        return any_word(term, job->name, 0);
    case QUERY_NODE:
        return any_word(term, job->node, 0);
    case QUERY_SCHEDULE:
        return any_word(term, job->schedule, 0);
    case QUERY_GROUP:
        return any_word(term, job->group, 0);
    case QUERY_PARENT:
        return job->parent && number_matches(term, (int64_t)job->parent);
    case QUERY_ID:
        return number_matches(term, (int64_t)job->id);
    case QUERY_PRIORITY:
        return number_matches(term, job->priority);
    case QUERY_CREATED:
        return number_compare(job->created_ms, term->compare, term->number);
    case QUERY_RUN:
        return run_matches(term, job, wall_ms);
    case QUERY_ERROR:
        return any_word(term, job->error, 0);
    case QUERY_PAYLOAD:
        return any_word(term, job->payload, 0);
    }
    return false;
}

bool query_matches(const JobQuery *query, const Job *job)
{
    if (query->tenant.bytes && !slice_equal(query->tenant, job->tenant))
        return false;
    for (size_t i = 0; i < query->term_count; i++) {
        const QueryTerm *term = &query->terms[i];
        if (term_matches(term, job, query->wall_ms) == term->negated)
            return false;
    }
    return true;
}
