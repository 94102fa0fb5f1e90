/* SPDX-License-Identifier: Apache-2.0 */
/* common.c - see common.h. */
#include "api/common.h"

#include "base/text.h"
#include "model/job_json.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

#define LOCATION_BYTES (QUEUE_NAME_BYTES_MAX + 64) /* the longest name there is */

#define PREFIX_CHARS_MIN 6
#define CANDIDATES_MAX   5

Slice api_tenant(Exchange *exchange, const char *otherwise)
{
    Slice tenant = exchange_param(exchange, "tenant");
    if (!tenant.data)
        return slice_text(otherwise);
    if (tenant_name_valid(tenant))
        return tenant;
    exchange_refuse(exchange, "invalid_name", "the tenant's name is not valid");
    return (Slice){ NULL, 0 };
}

bool api_whose(Exchange *exchange)
{
    bool all = slice_is(exchange_param(exchange, "tenant"), "*");
    exchange->whose = all ? SLICE_LITERAL("") : api_tenant(exchange, "default");
    return exchange->whose.data != NULL;
}

bool api_sees(const Exchange *exchange, Slice tenant)
{
    assert(exchange->whose.data);
    return !exchange->whose.bytes || slice_equal(exchange->whose, tenant);
}

Slice api_media_type(const Exchange *exchange)
{
    Slice type = exchange_header(exchange, "Content-Type");
    type = slice_cut(&type, ';');
    while (type.bytes && type.data[type.bytes - 1] == ' ')
        type.bytes--;
    return type;
}

bool media_in(Slice type, const char *const *types)
{
    for (; *types; types++)
        if (type.bytes == strlen(*types) &&
            (!type.bytes || !strncasecmp(type.data, *types, type.bytes)))
            return true;
    return false;
}

static const char *const xml_types[] = { "application/xml", "text/xml", NULL };

bool api_sends_xml(const Exchange *exchange)
{
    return media_in(api_media_type(exchange), xml_types);
}

/* XML is given to those who name it; who takes anything gets JSON. */
bool api_wants_xml(const Exchange *exchange)
{
    Slice accept = exchange_header(exchange, "Accept");
    while (accept.data) {
        Slice one = slice_cut(&accept, ',');
        one = slice_cut(&one, ';');
        while (one.bytes && one.data[0] == ' ')
            one = slice_from(one, 1);
        while (one.bytes && one.data[one.bytes - 1] == ' ')
            one.bytes--;
        if (media_in(one, xml_types))
            return true;
        if (slice_is(one, "application/json"))
            return false;
    }
    return false;
}

bool api_list_limit(Exchange *exchange, uint32_t *out_limit)
{
    Slice text = exchange_param(exchange, "limit");
    int64_t limit = QUERY_LIMIT_DEFAULT;
    if (text.data && (int_parse(text, &limit) || limit < 1 || limit > QUERY_LIMIT_MAX)) {
        exchange_refuse(exchange, "invalid_value", "limit is a number from 1 to %d",
                        QUERY_LIMIT_MAX);
        return false;
    }
    *out_limit = (uint32_t)limit;
    return true;
}

void problem_of_json(Problem *problem, const JsonFault *fault)
{
    problem_set(problem, fault->code, "line %u, column %u: %s", fault->line,
                fault->column, fault->text);
}

const JsonIn *api_body(Exchange *exchange, Arena *arena, bool optional)
{
    Slice text = buf_slice(&exchange->body);
    if (!text.bytes && optional)
        text = SLICE_LITERAL("{}");
    if (!text.bytes) {
        exchange_refuse(exchange, "empty_body", "the request has no body");
        return NULL;
    }
    const JsonIn *value;
    JsonFault fault;
    if (!json_in_load(text, arena, &value, &fault))
        return value;
    Problem problem;
    problem_of_json(&problem, &fault);
    exchange_problem(exchange, &problem);
    return NULL;
}

Slice api_trace(const Exchange *exchange)
{
    static const uint8_t parts[] = { 2, 32, 16, 2 }; /* hexadecimal digits */
    Slice trace = exchange_header(exchange, "Traceparent");
    Slice rest = trace;
    for (size_t i = 0; i < sizeof parts; i++) {
        Slice part = slice_cut(&rest, '-');
        bool zero = true;
        for (size_t k = 0; k < part.bytes; k++) {
            if (!memchr("0123456789abcdef", part.data[k], 16))
                return (Slice){ NULL, 0 };
            zero = zero && part.data[k] == '0';
        }
        bool id = parts[i] > 2;
        if (part.bytes != parts[i] || (id && zero))
            return (Slice){ NULL, 0 };
    }
    return rest.bytes ? (Slice){ NULL, 0 } : trace;
}

bool api_no_fields(Exchange *exchange)
{
    const JsonIn *object = api_body(exchange, &exchange->arena, true);
    if (!object)
        return false;
    if (object->kind != JSON_IN_OBJECT) {
        exchange_refuse(exchange, "wrong_type", "an action takes an object, not %s",
                        json_in_kind_name(object->kind));
        return false;
    }
    if (!object->as.items.count)
        return true;
    exchange_refuse(exchange, "unknown_field", "this action takes no fields");
    return false;
}

bool api_list_page(Exchange *exchange, ListPage *out)
{
    out->cursor = exchange_param(exchange, "cursor");
    return api_list_limit(exchange, &out->limit);
}

int api_name_order(Slice a, Slice b)
{
    size_t least = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = least ? memcmp(a.data, b.data, least) : 0;
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

/* --- Which job -----------------------------------------------------------------------
 */

typedef struct Prefix {
    JobId first;
    JobId last;
    JobId found[CANDIDATES_MAX];
    size_t count;
    void (*then)(Exchange *exchange);
} Prefix;

static void take_candidate(void *context, const Job *job)
{
    Prefix *prefix = context;
    if (job->id >= prefix->first && prefix->count < CANDIDATES_MAX)
        prefix->found[prefix->count++] = job->id;
}

/* The newest jobs up to the last id that begins so: no search, just a look. */
static void read_candidates(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Prefix *prefix = exchange->state;
    JobQuery *query = ARENA_NEW(&call->arena, JobQuery);
    query->limit = CANDIDATES_MAX;
    query->before = prefix->last + 1;
    query->tenant = exchange->whose;
    JobSink sink = { take_candidate, prefix };
    QueryEnd end;
    call->err = store->kind->query(store, query, &sink, &end, &call->why);
}

static void refuse_ambiguous(Exchange *exchange, const Prefix *prefix)
{
    Buf members = { 0 };
    JsonOut json = { .out = &members };
    json_array(&json, "candidates");
    for (size_t i = 0; i < prefix->count; i++) {
        char text[ID_TEXT_BYTES];
        json_cstr(&json, NULL, id_text(prefix->found[i], text));
    }
    json_array_end(&json);
    Problem problem;
    problem_set(&problem, "ambiguous_id", "more than one job begins with this id");
    problem.members = slice_copy(&exchange->arena, buf_slice(&members));
    buf_done(&members);
    exchange_problem(exchange, &problem);
}

static void candidates_read(Exchange *exchange, Call *call)
{
    const Prefix *prefix = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
    } else if (prefix->count == 0) {
        exchange_refuse(exchange, "job_not_found", "no job has an id that begins so");
    } else if (prefix->count > 1) {
        refuse_ambiguous(exchange, prefix);
    } else {
        exchange->id = prefix->found[0];
        exchange->state = NULL;
        prefix->then(exchange);
    }
}

void api_with_job(Exchange *exchange, void (*then)(Exchange *exchange))
{
    Slice text = exchange->parts[0];
    if (!api_whose(exchange))
        return;
    if (!id_parse(text, &exchange->id)) {
        then(exchange);
        return;
    }
    Prefix *prefix = ARENA_NEW(&exchange->arena, Prefix);
    if (id_prefix_range(text, &prefix->first, &prefix->last)) {
        exchange_refuse(exchange, "job_not_found", "this is not the id of a job");
        return;
    }
    if (text.bytes < PREFIX_CHARS_MIN) {
        exchange_refuse(exchange, "job_not_found",
                        "the beginning of an id needs at least %d characters",
                        PREFIX_CHARS_MIN);
        return;
    }
    prefix->then = then;
    exchange->state = prefix;
    exchange_read(exchange, read_candidates, candidates_read);
}

bool call_load_job(Call *call, Store *store, JobId id)
{
    Exchange *exchange = call->context;
    assert(exchange->whose.data);
    Load load = { .kind = LOAD_JOB, .id = id, .tenant = exchange->whose };
    Loaded loaded = { 0 };
    call->err = store->kind->load(store, &load, &loaded, &call->why);
    if (!call->err && !loaded.count) {
        call->err = ERR_NOT_FOUND;
        call->problem = "job_not_found";
    }
    if (!call->err) {
        call->job = job_copy(&call->arena, &loaded.jobs[0]);
        call->has_job = true;
    }
    loaded_done(&loaded);
    return !call->err;
}

static void read_job(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    call_load_job(call, store, exchange->id);
}

void api_load_job(Exchange *exchange, Step *then)
{
    exchange_read(exchange, read_job, then);
}

JobId api_added_id(const Call *call, uint64_t k)
{
    return call->added ? call->added[k].id : id_from_count(call->first + k, call->node);
}

void api_created(Exchange *exchange, const char *things, Slice name)
{
    char location[LOCATION_BYTES];
    snprintf(location, sizeof location, API_PATH "/%s/" SLICE_FMT, things,
             SLICE_ARG(name));
    exchange_add_header(exchange, "Location", location);
}

void api_reply_job(Exchange *exchange, Call *call)
{
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    job_json(&json, NULL, &call->job);
    exchange_reply_json(exchange, 200);
}

void states_json(JsonOut *json, const char *key, const uint64_t *states, bool all)
{
    json_object(json, key);
    for (unsigned i = 0; i < JOB_STATES; i++)
        if (all || states[i])
            json_int(json, state_name((JobState)i), (int64_t)states[i]);
    json_object_end(json);
}
