/* SPDX-License-Identifier: Apache-2.0 */
/* scoreboard.c - see scoreboard.h. One row of the store per id, without payload
 * or result: asking for thousands is cheap. */
#include "api/jobs/scoreboard.h"

#include "api/common.h"
#include "api/routes.h"
#include "base/id.h"
#include "model/job_json.h"

typedef struct Scores {
    Slice tenant;
    JobId *ids;
    size_t count;
} Scores;

static bool take_id(Exchange *exchange, Scores *scores, Slice text)
{
    if (scores->count == SCOREBOARD_IDS_MAX) {
        exchange_refuse(exchange, "limit_exceeded", "more than %d ids",
                        SCOREBOARD_IDS_MAX);
        return false;
    }
    if (id_parse(text, &scores->ids[scores->count++])) {
        Slice shown = slice_of(text.data, text.bytes > 40 ? 40 : text.bytes);
        exchange_refuse(exchange, "invalid_value", "'" SLICE_FMT "' is no id of a job",
                        SLICE_ARG(shown));
        return false;
    }
    return true;
}

static bool take_param(Exchange *exchange, Scores *scores, Slice list)
{
    while (list.bytes)
        if (!take_id(exchange, scores, slice_cut(&list, ',')))
            return false;
    return true;
}

static bool take_body(Exchange *exchange, Scores *scores)
{
    const JsonIn *body = api_body(exchange, &exchange->arena, false);
    if (!body)
        return false;
    const JsonIn *ids = json_in_find(body, "ids");
    if (!ids || ids->kind != JSON_IN_LIST || json_in_first(body)->next) {
        exchange_refuse(exchange, "invalid_value",
                        "the body is an object with one field, ids: a list of ids");
        return false;
    }
    for (const JsonIn *at = json_in_first(ids); at; at = at->next) {
        Slice text = { NULL, 0 };
        if (json_in_text(at, &text) || !take_id(exchange, scores, text)) {
            if (at->kind != JSON_IN_TEXT)
                exchange_refuse(exchange, "wrong_type", "an id is a string");
            return false;
        }
    }
    return true;
}

/* The code of a job that has ended; null while it has not. */
static void score(JsonOut *json, const Job *job)
{
    char id[ID_TEXT_BYTES];
    id_text(job->id, id);
    if (state_in(job->state, STATES_FINAL) && job->outcome.exitcode)
        json_int(json, id, job->outcome.exitcode);
    else
        json_null(json, id);
}

static void read_scores(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    const Scores *scores = exchange->state;
    JsonOut json = exchange_json(exchange);
    Buf missing = { 0 };
    JsonOut gone = { .out = &missing };
    json_object(&json, NULL);
    json_object(&json, "exitcodes");
    json_array(&gone, NULL);
    for (size_t i = 0; i < scores->count && !call->err; i++) {
        Load load = {
            .kind = LOAD_JOB, .id = scores->ids[i], .tenant = scores->tenant, .bare = true
        };
        Loaded loaded = { 0 };
        call->err = store->kind->load(store, &load, &loaded, &call->why);
        char id[ID_TEXT_BYTES];
        if (!call->err && loaded.count)
            score(&json, &loaded.jobs[0]);
        else if (!call->err)
            json_cstr(&gone, NULL, id_text(scores->ids[i], id));
        loaded_done(&loaded);
    }
    json_object_end(&json);
    json_array_end(&gone);
    json_raw(&json, "missing", buf_slice(&missing));
    json_object_end(&json);
    buf_done(&missing);
}

static void reply_out(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, 200);
}

void api_scoreboard(Exchange *exchange)
{
    Scores *scores = ARENA_NEW(&exchange->arena, Scores);
    Slice list = exchange_param(exchange, "ids");
    scores->tenant = api_tenant(exchange, "default");
    if (!scores->tenant.data)
        return;
    scores->ids = arena_take(&exchange->arena, SCOREBOARD_IDS_MAX * sizeof(JobId));
    bool body = exchange->route->method == METHOD_POST;
    if (!(body ? take_body(exchange, scores) : take_param(exchange, scores, list)))
        return;
    exchange->state = scores;
    exchange_read(exchange, read_scores, reply_out);
}
