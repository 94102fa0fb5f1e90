/* SPDX-License-Identifier: Apache-2.0 */
/* error_groups.c - see error_groups.h. */
#include "api/jobs/error_groups.h"

#include "api/common.h"
#include "base/map.h"
#include "model/job_json.h"

#include <ctype.h>
#include <stdlib.h>

#define SCAN_MS           200 /* jobs are looked at for this long */
#define GROUPS_MAX        200
#define PATTERN_BYTES_MAX 300
#define DEFAULT_QUERY     "state:failed,rejected,retrying"

typedef struct ErrorGroup {
    Slice pattern;
    Slice example; /* the newest message, as it was */
    Slice type;
    Slice queue;
    JobId newest;
    JobId oldest;
    int64_t newest_ms;
    int64_t oldest_ms;
    uint64_t count;
    uint64_t by_state[JOB_STATES];
} ErrorGroup;

typedef struct Grouping {
    JobQuery query;
    Arena *arena;
    ErrorGroup *groups;
    size_t count;
    size_t capacity;
    uint64_t scanned;
    bool crowded; /* more than GROUPS_MAX: the rest is not listed */
} Grouping;

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The end of the quoted text that begins at `at`; `at` itself if nothing ends it. */
static size_t quoted_end(Slice text, size_t at)
{
    for (size_t i = at + 1; i < text.bytes; i++)
        if (text.data[i] == text.data[at])
            return i;
    return at;
}

static size_t word_end(Slice text, size_t at)
{
    while (at < text.bytes && is_word(text.data[at]))
        at++;
    return at;
}

static bool has_digit(Slice word)
{
    for (size_t i = 0; i < word.bytes; i++)
        if (isdigit((unsigned char)word.data[i]))
            return true;
    return false;
}

Slice error_pattern(Arena *arena, Slice message)
{
    char out[PATTERN_BYTES_MAX];
    size_t bytes = 0;
    for (size_t i = 0; i < message.bytes && bytes < sizeof out - 1;) {
        char c = message.data[i];
        size_t end = c == '"' || c == '\'' ? quoted_end(message, i) : i;
        if (end > i) {
            out[bytes++] = 'X';
            i = end + 1;
        } else if (is_word(c)) {
            end = word_end(message, i);
            Slice word = slice_of(message.data + i, end - i);
            if (has_digit(word))
                out[bytes++] = isdigit((unsigned char)c) ? 'N' : 'X';
            for (size_t k = 0; !has_digit(word) && k < word.bytes && bytes < sizeof out;)
                out[bytes++] = word.data[k++];
            i = end;
        } else {
            out[bytes++] = c == '\n' || c == '\t' ? ' ' : c;
            i++;
        }
    }
    return slice_copy(arena, slice_of(out, bytes));
}

static ErrorGroup *group_of(Grouping *grouping, Slice pattern, Slice type)
{
    for (size_t i = 0; i < grouping->count; i++)
        if (slice_equal(grouping->groups[i].pattern, pattern) &&
            slice_equal(grouping->groups[i].type, type))
            return &grouping->groups[i];
    grouping->crowded = grouping->count == GROUPS_MAX;
    if (grouping->crowded)
        return NULL;
    ErrorGroup *group = &MEM_PUSH(grouping->groups, grouping->count, grouping->capacity);
    *group =
        (ErrorGroup){ .pattern = pattern, .type = slice_copy(grouping->arena, type) };
    return group;
}

static int64_t when(const Job *job)
{
    return job->finished_ms ? job->finished_ms : job->created_ms;
}

static void take_job(void *context, const Job *job)
{
    Grouping *grouping = context;
    Slice message = job->error.bytes ? job->error : SLICE_LITERAL("no message");
    ErrorGroup *group =
        group_of(grouping, error_pattern(grouping->arena, message), job->type);
    grouping->scanned++;
    if (!group)
        return;
    if (!group->count) {
        group->example = slice_copy(grouping->arena, message);
        group->queue = slice_copy(grouping->arena, job->queue);
        group->newest = job->id;
        group->newest_ms = when(job);
    }
    group->newest_ms = when(job) > group->newest_ms ? when(job) : group->newest_ms;
    group->oldest = job->id;
    group->oldest_ms = when(job);
    group->count++;
    group->by_state[job->state]++;
}

static int largest_first(const void *left, const void *right)
{
    const ErrorGroup *a = left;
    const ErrorGroup *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->newest > b->newest ? -1 : 1;
}

static void write_group(JsonOut *json, const ErrorGroup *group)
{
    char id[ID_TEXT_BYTES];
    json_object(json, NULL);
    json_text(json, "message", group->pattern);
    json_text(json, "example", group->example);
    json_text(json, "type", group->type);
    json_text(json, "queue", group->queue);
    json_int(json, "count", (int64_t)group->count);
    json_object(json, "jobs");
    for (JobState state = 0; state < JOB_STATES; state++)
        if (group->by_state[state])
            json_int(json, state_name(state), (int64_t)group->by_state[state]);
    json_object_end(json);
    json_cstr(json, "newest", id_text(group->newest, id));
    json_time(json, "newest_at", group->newest_ms);
    json_cstr(json, "oldest", id_text(group->oldest, id));
    json_time(json, "oldest_at", group->oldest_ms);
    json_object_end(json);
}

/* Page after page until there are no more or the time is over. */
static Err scan(Store *store, Grouping *grouping, bool *out_partial, Error *why)
{
    int64_t until_boot = clock_now().boot_ms + SCAN_MS;
    JobSink sink = { take_job, grouping };
    QueryEnd end = { 0 };
    Err err;
    do {
        grouping->query.before = end.cursor;
        err = store->kind->query(store, &grouping->query, &sink, &end, why);
    } while (!err && end.cursor && clock_now().boot_ms < until_boot);
    *out_partial = end.cursor != 0;
    return err;
}

static void read_errors(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Grouping *grouping = exchange->state;
    bool partial = false;
    grouping->arena = &call->arena;
    call->err = scan(store, grouping, &partial, &call->why);
    if (grouping->count)
        qsort(grouping->groups, grouping->count, sizeof *grouping->groups, largest_first);
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_array(&json, "items");
    for (size_t i = 0; i < grouping->count; i++)
        write_group(&json, &grouping->groups[i]);
    json_array_end(&json);
    json_null(&json, "next_cursor");
    json_int(&json, "scanned", (int64_t)grouping->scanned);
    json_bool(&json, "partial", partial || grouping->crowded);
    json_object_end(&json);
    mem_free(grouping->groups);
}

static void errors_read(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, 200);
}

void api_errors_list(Exchange *exchange)
{
    Grouping *grouping = ARENA_NEW(&exchange->arena, Grouping);
    JobQuery *query = &grouping->query;
    Slice wanted = exchange_param(exchange, "q");
    Error why = { 0 };
    exchange->state = grouping;
    query->wall_ms = clock_now().wall_ms;
    query->limit = QUERY_LIMIT_MAX;
    if (!api_whose(exchange))
        return;
    query->tenant = exchange->whose;
    if (query_parse(SLICE_LITERAL(DEFAULT_QUERY), &exchange->arena, query, &why) ||
        (wanted.data && query_parse(wanted, &exchange->arena, query, &why))) {
        exchange_refuse(exchange, "invalid_query", "%s", why.text);
        return;
    }
    exchange_read(exchange, read_errors, errors_read);
}
