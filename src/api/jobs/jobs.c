/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c - see jobs.h. */
#include "api/jobs/jobs.h"

#include "api/common.h"
#include "api/jobs/bulk.h"
#include "base/text.h"
#include "intake/control.h"
#include "model/job_json.h"

#include <stdio.h>
#include <xxhash.h>

#define KEY_BYTES_MAX  255
#define WAIT_SLICE_MS  (5 * MS_PER_S) /* how soon a client that left is noticed */
#define LIST_BYTES_MAX (32u << 20)    /* of one page: payloads may be large */

/* --- Idempotency -----------------------------------------------------------------------
 */

Slice api_idempotency_key(Exchange *exchange)
{
    Slice key = exchange_header(exchange, "Idempotency-Key");
    if (!key.data)
        return SLICE_LITERAL("");
    /* The draft writes it as a structured string, in quotes; clients send it bare. */
    if (key.bytes >= 2 && key.data[0] == '"' && key.data[key.bytes - 1] == '"')
        key = slice_of(key.data + 1, key.bytes - 2);
    bool good = key.bytes > 0 && key.bytes <= KEY_BYTES_MAX;
    for (size_t i = 0; i < key.bytes && good; i++)
        good = key.data[i] >= 0x20 && key.data[i] < 0x7f;
    if (good)
        return slice_copy(&exchange->arena, key);
    exchange_refuse(exchange, "invalid_value",
                    "Idempotency-Key must be 1 to %d printable characters",
                    KEY_BYTES_MAX);
    return (Slice){ NULL, 0 };
}

Slice api_body_hash(Exchange *exchange, Slice tenant)
{
    XXH64_hash_t seed = XXH3_64bits(tenant.data, tenant.bytes);
    XXH128_canonical_t hash;
    XXH128_canonicalFromHash(
        &hash, XXH3_128bits_withSeed(exchange->body.data, exchange->body.bytes, seed));
    return slice_of(arena_copy(&exchange->arena, &hash, API_HASH_BYTES), API_HASH_BYTES);
}

/* --- Adding one
 * -------------------------------------------------------------------------- */

typedef struct Adding {
    bool wait;
    int64_t until_boot;
    const Job *job; /* as it was accepted; NULL if only its id is known */
} Adding;

static void reply_added(Exchange *exchange, const Job *job, unsigned status)
{
    char id[ID_TEXT_BYTES];
    api_created(exchange, "jobs", slice_text(id_text(job->id, id)));
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_cstr(&json, "id", id);
    job_json(&json, "job", job);
    json_object_end(&json);
    exchange_reply_json(exchange, status);
}

/* A job of which only the id is known (an answer from an idempotency key). */
static void replayed_loaded(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        reply_added(exchange, &call->job, 201);
}

/* It was there already: a unique key, or a highlander type. */
static void existing_loaded(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        reply_added(exchange, &call->job, 200);
}

static void read_ended(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    if (!call_load_job(call, store, exchange->id))
        return;
    Buf result = { 0 };
    Error why;
    Err err = store->kind->result(store, exchange->id, &result, &why);
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    char id[ID_TEXT_BYTES];
    json_cstr(&json, "id", id_text(exchange->id, id));
    job_json(&json, "job", &call->job);
    if (err)
        json_null(&json, "result");
    else
        bytes_json(&json, "result", "result_base64", buf_slice(&result));
    json_object_end(&json);
    buf_done(&result);
}

static void ended_loaded(Exchange *exchange, Call *call)
{
    const Adding *adding = exchange->state;
    if (call->err && adding->job) /* it is gone, or we are leaving: it was accepted */
        reply_added(exchange, adding->job, 202);
    else if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange,
                            state_in(call->job.state, STATES_FINAL) ? 200 : 202);
}

static void load_ended(Exchange *exchange)
{
    exchange_read(exchange, read_ended, ended_loaded);
}

static void waited(Exchange *exchange, Call *call);

/* In slices, because a waiting connection does not notice that its client has left. */
static void wait_on(Exchange *exchange)
{
    const Adding *adding = exchange->state;
    int64_t left_ms = adding->until_boot - clock_now().boot_ms;
    Call *call = exchange_call(exchange, CALL_WAIT, waited);
    call->event.id = exchange->id;
    call->timeout_ms = left_ms < 0               ? 0
                       : left_ms > WAIT_SLICE_MS ? WAIT_SLICE_MS
                                                 : left_ms;
    exchange_send(exchange, call);
}

static void waited(Exchange *exchange, Call *call)
{
    const Adding *adding = exchange->state;
    bool over = clock_now().boot_ms >= adding->until_boot;
    if (call->err == ERR_TIMEOUT && !over && !exchange_gone(exchange))
        wait_on(exchange);
    else
        load_ended(exchange);
}

static void added(Exchange *exchange, Call *call)
{
    Adding *adding = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    exchange->id = api_added_id(call, 0);
    if (call->replayed)
        exchange_add_header(exchange, "Idempotency-Replayed", "true");
    bool existed = call->added && call->added[0].existed;
    adding->job = call->has_job ? &call->job : NULL;
    if (adding->wait)
        wait_on(exchange);
    else if (!call->has_job)
        api_load_job(exchange, existed ? existing_loaded : replayed_loaded);
    else
        reply_added(exchange, &call->job, 201);
}

/* False after it refused. */
static bool read_wait(Exchange *exchange, Adding *adding)
{
    Slice text = exchange_param(exchange, "wait");
    int64_t wait_ms = 0;
    Error why = { 0 };
    if (!text.data)
        return true;
    if (duration_parse(text, &wait_ms, &why)) {
        exchange_refuse(exchange, "invalid_value", "wait: %s", why.text);
        return false;
    }
    adding->wait = true;
    adding->until_boot = clock_now().boot_ms + wait_ms;
    return true;
}

/* The job in a JSON body; NULL after it refused. */
static Job *read_object(Exchange *exchange, const JobRules *rules, Arena *arena)
{
    const JsonIn *value = api_body(exchange, arena, false);
    if (!value)
        return NULL;
    JobReader *reader = ARENA_NEW(arena, JobReader);
    reader->rules = rules;
    reader->arena = arena;
    if (!job_read(reader, value))
        return &reader->job;
    exchange_problem(exchange, &reader->why);
    return NULL;
}

/* The job in a control file; NULL after it refused. */
static Job *read_control(Exchange *exchange, const JobRules *rules, Arena *arena)
{
    ControlRules of = { .tenant = rules->tenant,
                        .modules_root = daemon_facts(exchange->daemon)->modules_root,
                        .payload_bytes_max = rules->payload_bytes_max };
    Job *job = ARENA_NEW(arena, Job);
    Problem why;
    if (!control_read(buf_slice(&exchange->body), &of, arena, job, &why)) {
        job->trace = rules->trace;
        return job;
    }
    exchange_problem(exchange, &why);
    return NULL;
}

typedef Job *ReadOne(Exchange *exchange, const JobRules *rules, Arena *arena);

static void add_one(Exchange *exchange, const JobRules *rules, ReadOne *read_one)
{
    Adding *adding = ARENA_NEW(&exchange->arena, Adding);
    Slice key = api_idempotency_key(exchange);
    if (!key.data || !read_wait(exchange, adding))
        return;
    Call *call = exchange_call(exchange, CALL_EVENT, added);
    Job *job = read_one(exchange, rules, &call->arena);
    if (!job)
        return;
    exchange->state = adding;
    exchange->whose = job->tenant;
    call->event.kind = EVENT_ADD;
    call->event.tenant = job->tenant;
    call->event.jobs = job;
    call->event.count = 1;
    if (key.bytes) {
        call->event.key = key;
        call->event.key_hash = api_body_hash(exchange, job->tenant);
    }
    exchange_send(exchange, call);
}

/* What a job was asked to be, without its history: it is due now, waits for no one and
 * holds no key. */
static Job like(const Job *job)
{
    Job copy = job_default();
    job_take_handled(&copy, job);
    copy.flags = job->flags &
                 (JOB_BINARY | JOB_PROTOCOL | JOB_FILES | JOB_KEEP_STATE | JOB_CONTROL);
    copy.document_hash = job->document_hash;
    copy.tenant = job->tenant;
    copy.type = job->type;
    copy.name = job->name;
    copy.command = job->command;
    copy.env = job->env;
    copy.cwd = job->cwd;
    copy.tags = job->tags;
    copy.group = job->group;
    copy.document_uri = job->document_uri;
    copy.param = job->param;
    copy.payload = job->payload;
    copy.trace = job->trace;
    return copy;
}

static void original_loaded(Exchange *exchange, Call *loaded)
{
    if (loaded->err) {
        exchange_failed(exchange, loaded);
        return;
    }
    Call *call = exchange_call(exchange, CALL_EVENT, added);
    Job *job = ARENA_NEW(&exchange->arena, Job);
    *job = like(&loaded->job);
    exchange->state = ARENA_NEW(&exchange->arena, Adding);
    call->event.kind = EVENT_ADD;
    call->event.tenant = job->tenant;
    call->event.jobs = job;
    call->event.count = 1;
    exchange_send(exchange, call);
}

static void load_original(Exchange *exchange)
{
    api_load_job(exchange, original_loaded);
}

void api_job_clone(Exchange *exchange)
{
    if (api_no_fields(exchange))
        api_with_job(exchange, load_original);
}

static bool is_array(Slice text)
{
    for (size_t i = 0; i < text.bytes; i++)
        if (!strchr(" \t\r\n", text.data[i]))
            return text.data[i] == '[';
    return false;
}

void api_jobs_add(Exchange *exchange)
{
    static const char *const lines[] = { "application/x-ndjson", "application/ndjson",
                                         "application/jsonl", NULL };
    /* curl says the second when it is told nothing. */
    static const char *const json[] = { "application/json",
                                        "application/x-www-form-urlencoded",
                                        "text/json",
                                        "text/plain",
                                        "",
                                        NULL };
    Slice type = api_media_type(exchange);
    bool ndjson = media_in(type, lines);
    JobRules *rules = ARENA_NEW(&exchange->arena, JobRules);
    rules->tenant = api_tenant(exchange, "default");
    rules->tenant_fixed = exchange->caller.bound;
    rules->wall_ms = clock_now().wall_ms;
    rules->trace = api_trace(exchange);
    rules->payload_bytes_max = daemon_facts(exchange->daemon)->payload_bytes_max;
    if (!rules->tenant.data)
        return;
    if (api_sends_xml(exchange))
        add_one(exchange, rules, read_control);
    else if (!ndjson && !media_in(type, json))
        exchange_refuse(exchange, "unsupported_media_type",
                        "jobs are sent as application/json, application/x-ndjson or, "
                        "control files, application/xml");
    else if (ndjson || is_array(buf_slice(&exchange->body)))
        api_bulk_add(exchange, rules, ndjson);
    else
        add_one(exchange, rules, read_object);
}

/* --- Listing
 * ----------------------------------------------------------------------------- */

typedef struct Listing {
    JobQuery query;
    Exchange *exchange;
    JsonOut json;
    JobId last; /* of the jobs written */
    uint32_t count;
    bool full; /* LIST_BYTES_MAX is reached: the rest is for the next page */
} Listing;

static void list_job(void *context, const Job *job)
{
    Listing *listing = context;
    if (listing->full)
        return;
    job_json(&listing->json, NULL, job);
    listing->last = job->id;
    listing->count++;
    listing->full = listing->exchange->out.bytes > LIST_BYTES_MAX;
}

static void write_cursor(Listing *listing, const QueryEnd *end)
{
    char text[32] = "";
    JobId cursor = end->cursor;
    if (listing->query.order == QUERY_DISPATCH) {
        if (listing->full)
            cursor = listing->query.skip + listing->count;
        snprintf(text, sizeof text, "%llu", (unsigned long long)cursor);
    } else {
        if (listing->full)
            cursor = listing->last;
        id_text(cursor, text);
    }
    json_cstr(&listing->json, "next_cursor", cursor ? text : NULL);
    json_bool(&listing->json, "partial", end->partial);
}

static void read_list(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Listing *listing = exchange->state;
    QueryEnd end = { 0 };
    listing->json = exchange_json(exchange);
    json_object(&listing->json, NULL);
    json_array(&listing->json, "items");
    JobSink sink = { list_job, listing };
    call->err = store->kind->query(store, &listing->query, &sink, &end, &call->why);
    json_array_end(&listing->json);
    write_cursor(listing, &end);
    json_object_end(&listing->json);
}

static void listed(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, 200);
}

static Err read_order(Slice text, JobQuery *query, Error *why)
{
    if (slice_is(text, "dispatch"))
        query->order = QUERY_DISPATCH;
    else if (!slice_is(text, "newest"))
        return error_set(why, ERR_INVALID, "order is newest or dispatch");
    return ERR_OK;
}

static Err read_cursor(Slice text, JobQuery *query, Error *why)
{
    int64_t skip = 0;
    bool dispatch = query->order == QUERY_DISPATCH;
    if (dispatch ? int_parse(text, &skip) || skip < 0 || skip > UINT32_MAX
                 : id_parse(text, &query->before) != ERR_OK)
        return error_set(why, ERR_INVALID, "the cursor is not one of this list");
    query->skip = (uint32_t)skip;
    return ERR_OK;
}

static Err read_param(const Param *param, Arena *arena, JobQuery *query, Error *why)
{
    if (slice_is(param->name, "tenant") || slice_is(param->name, "order") ||
        slice_is(param->name, "cursor") || slice_is(param->name, "limit"))
        return ERR_OK; /* read before and after the others */
    if (slice_is(param->name, "q"))
        return query_parse(param->value, arena, query, why);
    return query_term(slice_cstr(arena, param->name), param->value, arena, query, why);
}

static Err read_params(const Exchange *exchange, Arena *arena, JobQuery *query,
                       Error *why)
{
    Slice order = exchange_param(exchange, "order");
    Slice cursor = exchange_param(exchange, "cursor");
    Err err = order.data ? read_order(order, query, why) : ERR_OK;
    for (size_t i = 0; i < exchange->param_count && !err; i++)
        err = read_param(&exchange->params[i], arena, query, why);
    if (!err && cursor.data)
        err = read_cursor(cursor, query, why);
    return err;
}

void api_jobs_list(Exchange *exchange)
{
    Listing *listing = ARENA_NEW(&exchange->arena, Listing);
    JobQuery *query = &listing->query;
    Error why = { 0 };
    listing->exchange = exchange;
    exchange->state = listing;
    query->wall_ms = clock_now().wall_ms;
    query->with_payload = true;
    if (!api_whose(exchange) || !api_list_limit(exchange, &query->limit))
        return;
    query->tenant = exchange->whose;
    if (read_params(exchange, &exchange->arena, query, &why)) {
        exchange_refuse(exchange, "invalid_query", "%s", why.text);
        return;
    }
    exchange_read(exchange, read_list, listed);
}

/* --- One job
 * ------------------------------------------------------------------------------ */

static void get_job(Exchange *exchange)
{
    api_load_job(exchange, api_reply_job);
}

void api_job_get(Exchange *exchange)
{
    api_with_job(exchange, get_job);
}

static void read_attempts(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    if (!call_load_job(call, store, exchange->id))
        return;
    Load load = { .kind = LOAD_ATTEMPTS, .id = exchange->id };
    Loaded loaded = { 0 };
    call->err = store->kind->load(store, &load, &loaded, &call->why);
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_array(&json, "items");
    for (size_t i = 0; i < loaded.count && !call->err; i++)
        attempt_json(&json, &loaded.jobs[i]);
    json_array_end(&json);
    json_null(&json, "next_cursor");
    json_object_end(&json);
    loaded_done(&loaded);
}

static void get_attempts(Exchange *exchange)
{
    exchange_read(exchange, read_attempts, listed);
}

void api_job_attempts(Exchange *exchange)
{
    api_with_job(exchange, get_attempts);
}

static void read_result(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    if (!call_load_job(call, store, exchange->id))
        return;
    buf_clear(&exchange->out);
    call->err = store->kind->result(store, exchange->id, &exchange->out, &call->why);
    if (call->err == ERR_NOT_FOUND)
        call->problem = "result_not_found";
}

static void result_read(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply(exchange, 200, "application/octet-stream");
}

static void get_result(Exchange *exchange)
{
    exchange_read(exchange, read_result, result_read);
}

void api_job_result(Exchange *exchange)
{
    api_with_job(exchange, get_result);
}
