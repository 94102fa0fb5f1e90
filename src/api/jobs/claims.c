/* SPDX-License-Identifier: Apache-2.0 */
/* claims.c - see claims.h.
 *
 * A claim waits in the node, in slices: between two of them a client that has left is
 * noticed. Jobs that cannot be delivered are given back at once, as if never taken. */
#include "api/jobs/claims.h"

#include "api/common.h"
#include "cluster/remote_query.h"
#include "model/claim_read.h"
#include "model/job_json.h"
#include "json/json_write.h"

#define WAIT_SLICE_MS    (5 * MS_PER_S)
#define ANSWER_BYTES_MAX (64u << 20) /* payloads may be large: the rest is given back */

typedef struct Claiming {
    ClaimReader reader;
    int64_t until_boot;
    Slice tenant;
    const Call *got; /* with items and jobs */
    Job *jobs;       /* as they are given to the worker; id 0: to be loaded */
} Claiming;

/* --- Giving back ------------------------------------------------------------------- */

static void given_back(Exchange *exchange, Call *call)
{
    (void)exchange;
    (void)call;
}

/* Item `from` of what the claim got, and all behind it. */
static void unget(Call *call, const Call *claim, size_t from)
{
    size_t count = (size_t)claim->count - from;
    ClaimItem *items =
        arena_copy(&call->arena, claim->items + from, count * sizeof *claim->items);
    for (size_t i = 0; i < count; i++)
        items[i].trusted = true;
    call->event.kind = EVENT_UNGET;
    call->event.items = items;
    call->event.count = count;
}

static void give_back(Exchange *exchange, size_t from)
{
    const Claiming *claiming = exchange->state;
    if (claiming->got->count == from)
        return;
    Call *call = exchange_call(exchange, CALL_EVENT, given_back);
    unget(call, claiming->got, from);
    exchange_send(exchange, call);
}

static void free_call(Call *call)
{
    arena_done(&call->arena);
    mem_free(call);
}

/* Nobody is there any more to answer: the call that gives back is its own. What was given
 * back already, or is another attempt by now, stays as it is. */
static void give_all_back(Exchange *exchange)
{
    const Call *call = NULL;
    while ((call = exchange_next_call(exchange, call))) {
        if (call->event.kind != EVENT_CLAIM || call->err || !call->count)
            continue;
        Call *own = MEM_NEW(Call);
        own->kind = CALL_EVENT;
        own->done = free_call;
        unget(own, call, 0);
        daemon_call(exchange->daemon, own);
    }
}

/* --- The answer -------------------------------------------------------------------- */

static void job_out(Exchange *exchange, JsonOut *json, const Job *job)
{
    const Claiming *claiming = exchange->state;
    const DaemonFacts *facts = daemon_facts(exchange->daemon);
    char token[CLAIM_TOKEN_BYTES];
    json_object(json, NULL);
    job_members(json, job);
    const ClaimTaken taken = { job->id, job->attempt, facts->shared ? facts->node : 0 };
    json_cstr(json, "token", claim_token(facts->claim_key, &taken, token));
    json_duration(json, "lease", claiming->reader.ask.lease_ms);
    json_object_end(json);
}

static void reply_jobs(Exchange *exchange)
{
    const Claiming *claiming = exchange->state;
    size_t count = (size_t)claiming->got->count;
    size_t at = 0;
    if (exchange_gone(exchange)) {
        give_back(exchange, 0);
        exchange_reply(exchange, 204, NULL);
        return;
    }
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_array(&json, "jobs");
    for (; at < count && exchange->out.bytes < ANSWER_BYTES_MAX; at++)
        if (claiming->jobs[at].id)
            job_out(exchange, &json, &claiming->jobs[at]);
    json_array_end(&json);
    json_object_end(&json);
    give_back(exchange, at);
    exchange_reply_json(exchange, 200);
}

/* Jobs that were not at hand. One that is gone meanwhile is left out. */
static void read_jobs(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Claiming *claiming = exchange->state;
    for (size_t i = 0; i < claiming->got->count && !call->err; i++) {
        const ClaimItem *item = &claiming->got->items[i];
        Load load = { .kind = LOAD_JOB, .id = item->id };
        Loaded loaded = { 0 };
        if (claiming->jobs[i].id)
            continue;
        call->err = store->kind->load(store, &load, &loaded, &call->why);
        if (!call->err && loaded.count && loaded.jobs[0].attempt == item->attempt)
            claiming->jobs[i] = job_copy(&call->arena, &loaded.jobs[0]);
        loaded_done(&loaded);
    }
}

static void jobs_read(Exchange *exchange, Call *call)
{
    if (!call->err) {
        reply_jobs(exchange);
        return;
    }
    give_back(exchange, 0);
    exchange_failed(exchange, call);
}

/* What is at hand is a job as it was accepted; the worker sees it running. */
static bool take_at_hand(Exchange *exchange, const Call *call)
{
    Claiming *claiming = exchange->state;
    const DaemonFacts *facts = daemon_facts(exchange->daemon);
    bool all = true;
    claiming->got = call;
    claiming->jobs = arena_take(&exchange->arena, (size_t)call->count * sizeof(Job));
    for (size_t i = 0; i < call->count; i++) {
        Job *job = &claiming->jobs[i];
        if (call->jobs && call->jobs[i].id) {
            *job = call->jobs[i];
            job->state = JOB_RUNNING;
            job->attempt = call->items[i].attempt;
            job->lock = job->node = slice_text(facts->sysid);
            job->started_ms = job->beat_ms = clock_now().wall_ms;
            job->dt_ms = job->started_ms + claiming->reader.ask.lease_ms;
        }
        all = all && job->id;
    }
    return all;
}

static void send_claim(Exchange *exchange);

static void claimed(Exchange *exchange, Call *call)
{
    const Claiming *claiming = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (!call->count) {
        bool over = clock_now().boot_ms >= claiming->until_boot;
        if (over || exchange_gone(exchange))
            exchange_reply(exchange, 204, NULL);
        else
            send_claim(exchange);
        return;
    }
    if (take_at_hand(exchange, call)) {
        reply_jobs(exchange);
        return;
    }
    exchange_read(exchange, read_jobs, jobs_read);
}

static void send_claim(Exchange *exchange)
{
    const Claiming *claiming = exchange->state;
    int64_t left_ms = claiming->until_boot - clock_now().boot_ms;
    Call *call = exchange_call(exchange, CALL_EVENT, claimed);
    call->event.kind = EVENT_CLAIM;
    call->event.tenant = claiming->tenant;
    call->event.count = claiming->reader.max;
    call->event.claim = claiming->reader.ask;
    call->event.claim.wait_ms = left_ms < 0               ? 0
                                : left_ms > WAIT_SLICE_MS ? WAIT_SLICE_MS
                                                          : left_ms;
    exchange_send(exchange, call);
}

void api_claim(Exchange *exchange)
{
    Slice tenant = api_tenant(exchange, "default");
    if (!tenant.data)
        return;
    const JsonIn *body = api_body(exchange, &exchange->arena, false);
    if (!body)
        return;
    Claiming *claiming = ARENA_NEW(&exchange->arena, Claiming);
    claiming->reader.arena = &exchange->arena;
    if (claim_read(&claiming->reader, body)) {
        exchange_problem(exchange, &claiming->reader.why);
        return;
    }
    claiming->tenant = tenant;
    claiming->until_boot = clock_now().boot_ms + claiming->reader.ask.wait_ms;
    exchange->state = claiming;
    exchange->undelivered = give_all_back;
    send_claim(exchange);
}

/* --- Renew and finish ------------------------------------------------------------------
 *
 * A worker may ask any node. Items that another one gave it are told to that one first,
 * node by node, and those of this node last: so that who gets no answer for some of them
 * can tell all of them again. */

typedef struct Telling {
    EventKind kind;
    Slice tenant;
    const JsonIn *items; /* the list, as it was sent */
    ClaimReader reader;
    bool *told; /* of each item */
    size_t *asked;
    size_t asked_count; /* of which the call that is out speaks */
} Telling;

static void reply_told(Exchange *exchange)
{
    const Telling *telling = exchange->state;
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_array(&json, "items");
    for (size_t i = 0; i < telling->reader.item_count; i++) {
        const ClaimItem *item = &telling->reader.items[i];
        char id[ID_TEXT_BYTES];
        json_object(&json, NULL);
        json_cstr(&json, "id", id_text(item->id, id));
        json_cstr(&json, "status", claim_status_name(item->status));
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

/* Which of the items are for this holder; none twice. */
static void pick_asked(Telling *telling, uint16_t holder)
{
    telling->asked_count = 0;
    for (size_t i = 0; i < telling->reader.item_count; i++) {
        if (telling->told[i] || telling->reader.holders[i] != holder)
            continue;
        telling->told[i] = true;
        telling->asked[telling->asked_count++] = i;
    }
}

static void told(Exchange *exchange, Call *call)
{
    const Telling *telling = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    for (size_t i = 0; i < telling->asked_count; i++)
        telling->reader.items[telling->asked[i]].status = call->items[i].status;
    reply_told(exchange);
}

static void tell_here(Exchange *exchange)
{
    Telling *telling = exchange->state;
    pick_asked(telling, 0);
    if (!telling->asked_count) {
        reply_told(exchange);
        return;
    }
    Call *call = exchange_call(exchange, CALL_EVENT, told);
    ClaimItem *items = arena_take(&call->arena, telling->asked_count * sizeof(ClaimItem));
    for (size_t i = 0; i < telling->asked_count; i++)
        items[i] = telling->reader.items[telling->asked[i]];
    call->event.kind = telling->kind;
    call->event.tenant = telling->tenant;
    call->event.items = items;
    call->event.count = telling->asked_count;
    exchange_send(exchange, call);
}

static void tell_on(Exchange *exchange);

/* A node that was lost holds nothing any more. */
static void told_afar(Exchange *exchange, Call *call)
{
    const Telling *telling = exchange->state;
    bool gone = call->err == ERR_NOT_FOUND;
    Slice statuses = call->question->answer.out;
    ClaimStatus lost = telling->kind == EVENT_FINISH ? CLAIM_LATE : CLAIM_LOST;
    if (call->err && !gone) {
        exchange_failed(exchange, call);
        return;
    }
    for (size_t i = 0; i < telling->asked_count; i++)
        telling->reader.items[telling->asked[i]].status =
            !gone && i < statuses.bytes && statuses.data[i] <= CLAIM_LATE
                ? (ClaimStatus)statuses.data[i]
                : lost;
    tell_on(exchange);
}

static Slice items_text(const Telling *telling, Arena *arena)
{
    Buf text = { 0 };
    size_t index = 0;
    size_t at = 0;
    buf_add_text(&text, "{\"items\":[");
    for (const JsonIn *item = json_in_first(telling->items);
         item && at < telling->asked_count; item = item->next, index++) {
        if (telling->asked[at] != index)
            continue;
        if (at++)
            buf_add_char(&text, ',');
        json_in_write(item, &text);
    }
    buf_add_text(&text, "]}");
    Slice kept = slice_copy(arena, buf_slice(&text));
    buf_done(&text);
    return kept;
}

static void tell_afar(Exchange *exchange, uint16_t holder)
{
    Telling *telling = exchange->state;
    Call *call = exchange_call(exchange, CALL_AFAR, told_afar);
    pick_asked(telling, holder);
    call->question = ARENA_NEW(&call->arena, Question);
    call->question->number = holder;
    call->question->text = (RemoteQueryText){
        .kind = telling->kind == EVENT_FINISH ? REMOTE_QUERY_FINISH : REMOTE_QUERY_RENEW,
        .tenant = telling->tenant,
        .bound = exchange->caller.bound,
        .body = items_text(telling, &call->arena),
    };
    exchange_send(exchange, call);
}

static void tell_on(Exchange *exchange)
{
    const Telling *telling = exchange->state;
    for (size_t i = 0; i < telling->reader.item_count; i++) {
        if (telling->told[i] || !telling->reader.holders[i])
            continue;
        tell_afar(exchange, telling->reader.holders[i]);
        return;
    }
    tell_here(exchange);
}

static void tell(Exchange *exchange, EventKind kind)
{
    Slice tenant = api_tenant(exchange, "default");
    if (!tenant.data)
        return;
    const JsonIn *body = api_body(exchange, &exchange->arena, false);
    if (!body)
        return;
    Telling *telling = ARENA_NEW(&exchange->arena, Telling);
    const DaemonFacts *facts = daemon_facts(exchange->daemon);
    JobRules *rules = ARENA_NEW(&exchange->arena, JobRules);
    *rules = (JobRules){ .tenant = tenant,
                         .tenant_fixed = exchange->caller.bound,
                         .wall_ms = clock_now().wall_ms,
                         .payload_bytes_max = facts->payload_bytes_max };
    telling->kind = kind;
    telling->tenant = tenant;
    telling->reader = (ClaimReader){ .arena = &exchange->arena,
                                     .key = facts->claim_key,
                                     .node = facts->shared ? facts->node : 0,
                                     .rules = rules,
                                     .result_bytes_max = facts->result_bytes_max };
    if (claim_read_items(&telling->reader, body, kind == EVENT_FINISH)) {
        exchange_problem(exchange, &telling->reader.why);
        return;
    }
    size_t count = telling->reader.item_count;
    telling->items = json_in_find(body, "items");
    telling->told = arena_take(&exchange->arena, (count + 1) * sizeof *telling->told);
    telling->asked = arena_take(&exchange->arena, (count + 1) * sizeof *telling->asked);
    exchange->state = telling;
    tell_on(exchange);
}

void api_claim_renew(Exchange *exchange)
{
    tell(exchange, EVENT_RENEW);
}

void api_claim_finish(Exchange *exchange)
{
    tell(exchange, EVENT_FINISH);
}
