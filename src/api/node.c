/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - see node.h. */
#include "api/node.h"

#include "api/common.h"
#include "api/processors.h"
#include "api/routes.h"
#include "base/text.h"
#include "config/in_force.h"
#include "config/settings.h"
#include "http/http.h"
#include "intake/settings_xml.h"
#include "noun/resource.h"
#include "watch/alerts.h"
#include "watch/metrics.h"

#include <stdio.h>

static void reply_out(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, 200);
}

static void look(Exchange *exchange, void (*look_at)(Call *, Daemon *), Step *then)
{
    exchange_look(exchange, look_at, then);
}

/* --- Settings -------------------------------------------------------------------------
 */

static void look_at_batch_config(Call *call, Daemon *daemon)
{
    Exchange *exchange = call->context;
    buf_clear(&exchange->out);
    settings_xml_write(&exchange->out, node_settings(daemon_node(daemon)));
}

static void reply_batch_config(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply(exchange, 200, "application/xml; charset=utf-8");
}

static void look_at_config(Call *call, Daemon *daemon)
{
    JsonOut json = exchange_json(call->context);
    json_object(&json, NULL);
    settings_json(&json, node_settings(daemon_node(daemon)));
    json_object_end(&json);
}

static void look_at_values(Call *call, Daemon *daemon)
{
    InForce from;
    JsonOut json = exchange_json(call->context);
    daemon_in_force(daemon, &from);
    json_object(&json, NULL);
    in_force_json(&json, &from);
    json_object_end(&json);
}

void api_config_values(Exchange *exchange)
{
    look(exchange, look_at_values, reply_out);
}

/* As JSON, or as 000's <batch-config>. */
static void show_config(Exchange *exchange)
{
    if (api_wants_xml(exchange))
        look(exchange, look_at_batch_config, reply_batch_config);
    else
        look(exchange, look_at_config, reply_out);
}

void api_config_get(Exchange *exchange)
{
    show_config(exchange);
}

typedef struct Changing {
    const JsonIn *body;
    NodeSettings settings;
    NodeSettings first; /* what null gives back */
    bool has_discrete;
    ResourceDef discrete;
    size_t out; /* definitions on their way */
} Changing;

static void look_at_settings(Call *call, Daemon *daemon)
{
    const Exchange *exchange = call->context;
    Changing *changing = exchange->state;
    changing->settings = *node_settings(daemon_node(daemon));
    changing->first = *daemon_first_settings(daemon);
}

static void defined(Exchange *exchange, Call *call)
{
    Changing *changing = exchange->state;
    changing->out--;
    if (call->err)
        exchange_failed(exchange, call);
    else if (!changing->out)
        show_config(exchange);
}

static void define(Exchange *exchange, const JsonIn *member)
{
    Changing *changing = exchange->state;
    const Setting *setting = setting_find(member->key, NULL);
    Call *call = exchange_call(exchange, CALL_EVENT, defined);
    Buf text = { 0 };
    setting_text(setting, &changing->settings, &text);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(SETTINGS_TABLE);
    call->event.key = slice_text(setting->name);
    /* An empty text is a value too; no data deletes the definition. */
    if (member->kind != JSON_IN_NULL)
        call->event.value =
            slice_of(arena_copy(&call->arena, text.data, text.bytes), text.bytes);
    buf_done(&text);
    changing->out++;
    exchange_send(exchange, call);
}

static void define_discrete(Exchange *exchange)
{
    Changing *changing = exchange->state;
    Call *call = exchange_call(exchange, CALL_EVENT, defined);
    Buf packed = { 0 };
    resource_pack(&packed, &changing->discrete);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(RESOURCE_TABLE);
    call->event.key = changing->discrete.key;
    call->event.value = slice_copy(&call->arena, buf_slice(&packed));
    buf_done(&packed);
    changing->out++;
    exchange_send(exchange, call);
}

/* 003's global parameters: they are no settings here, but define a discrete manager
 * (S3.17, S3.46, S3.47). */
static bool of_discrete(const JsonIn *member)
{
    return slice_is(member->key, "discreteRmList") ||
           slice_is(member->key, "discreteRmName");
}

static Err check_discrete(Changing *changing, Arena *arena, Error *why)
{
    const JsonIn *list = json_in_find(changing->body, "discreteRmList");
    const JsonIn *name = json_in_find(changing->body, "discreteRmName");
    Slice key = SLICE_LITERAL("discrete");
    if (!list && !name)
        return ERR_OK;
    if (name && (json_in_text(name, &key) || !name_valid(key)))
        return error_set(why, ERR_INVALID, "discreteRmName is the key of a resource");
    changing->discrete = resource_default(key, RESOURCE_DISCRETE);
    changing->has_discrete = true;
    if (list && list->kind != JSON_IN_TEXT)
        return error_set(why, ERR_INVALID, "discreteRmList is text: a,b,c");
    if (!list)
        return ERR_OK;
    Error reason = { 0 };
    Err err =
        resource_list_parse(list->as.text, arena, &changing->discrete.list, &reason);
    return err ? error_set(why, err, "discreteRmList: %s", reason.text) : ERR_OK;
}

/* What lets jobs start comes after what limits them: each setting is a turn of its own,
 * and nothing may start between the two that both together forbid. */
static bool switches_on(const JsonIn *at)
{
    bool on = true;
    return slice_is(at->key, "enabled") && (json_in_bool(at, &on) || on);
}

/* All members are checked before the first is sent: all or nothing. */
static Err check(Changing *changing, Error *why)
{
    for (const JsonIn *at = json_in_first(changing->body); at; at = at->next) {
        if (of_discrete(at))
            continue;
        Err err = settings_apply_json(&changing->settings, at, &changing->first, why);
        if (err)
            return err;
    }
    return settings_check(&changing->settings, why);
}

static void settings_looked_at(Exchange *exchange, Call *call)
{
    Changing *changing = exchange->state;
    Error why = { 0 };
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    Err err = check(changing, &why);
    if (!err)
        err = check_discrete(changing, &exchange->arena, &why);
    if (err) {
        exchange_refuse(exchange,
                        err == ERR_NOT_FOUND ? "unknown_field" : "invalid_value", "%s",
                        why.text);
        return;
    }
    for (const JsonIn *at = json_in_first(changing->body); at; at = at->next)
        if (!of_discrete(at) && !switches_on(at))
            define(exchange, at);
    if (changing->has_discrete)
        define_discrete(exchange);
    for (const JsonIn *at = json_in_first(changing->body); at; at = at->next)
        if (switches_on(at))
            define(exchange, at);
    if (!changing->out)
        show_config(exchange);
}

void api_config_patch(Exchange *exchange)
{
    Changing *changing = ARENA_NEW(&exchange->arena, Changing);
    Problem why;
    if (!api_sends_xml(exchange)) {
        changing->body = api_body(exchange, &exchange->arena, false);
    } else if (settings_xml_read(buf_slice(&exchange->body), &exchange->arena,
                                 &changing->body, &why)) {
        exchange_problem(exchange, &why);
        return;
    }
    if (!changing->body)
        return;
    if (changing->body->kind != JSON_IN_OBJECT) {
        exchange_refuse(exchange, "wrong_type", "the settings must be an object");
        return;
    }
    exchange->state = changing;
    look(exchange, look_at_settings, settings_looked_at);
}

/* --- Numbers
 * ------------------------------------------------------------------------------ */

typedef struct Numbers {
    MetricsTotals totals;
    uint64_t unfinished;
    NodeFacts node;
    uint64_t states[JOB_STATES];
    const Exchange *exchange;
    uint64_t stored; /* not final, of all tenants, as the store has it */
    JsonOut json;
    Slice queue_tenant; /* the queue whose counts are coming in */
    Slice queue;
    uint64_t queue_states[JOB_STATES];
    bool queue_open;
    Arena *arena;
} Numbers;

static void look_at_numbers(Call *call, Daemon *daemon)
{
    const Exchange *exchange = call->context;
    Numbers *numbers = exchange->state;
    numbers->totals = metrics_totals(daemon_metrics(daemon));
    numbers->unfinished = metrics_unfinished(daemon_metrics(daemon));
    numbers->node = node_facts(daemon_node(daemon));
}

static void close_queue(Numbers *numbers)
{
    if (!numbers->queue_open)
        return;
    json_object(&numbers->json, NULL);
    json_text(&numbers->json, "tenant", numbers->queue_tenant);
    json_text(&numbers->json, "queue", numbers->queue);
    states_json(&numbers->json, "jobs", numbers->queue_states, false);
    json_object_end(&numbers->json);
    memset(numbers->queue_states, 0, sizeof numbers->queue_states);
    numbers->queue_open = false;
}

/* Counts come in order of tenant and queue. */
static void take_count(void *context, const LaneCount *count)
{
    Numbers *numbers = context;
    numbers->stored += state_in(count->state, STATES_FINAL) ? 0 : count->count;
    if (!api_sees(numbers->exchange, count->tenant))
        return;
    if (!slice_equal(numbers->queue, count->queue) ||
        !slice_equal(numbers->queue_tenant, count->tenant))
        close_queue(numbers);
    if (!numbers->queue_open) {
        numbers->queue = slice_copy(numbers->arena, count->queue);
        numbers->queue_tenant = slice_copy(numbers->arena, count->tenant);
        numbers->queue_open = true;
    }
    numbers->queue_states[count->state] += count->count;
    numbers->states[count->state] += count->count;
}

static void totals_json(JsonOut *json, const MetricsTotals *totals)
{
    json_object(json, "totals");
    json_int(json, "added", (int64_t)totals->added);
    json_int(json, "started", (int64_t)totals->started);
    json_object(json, "finished");
    for (size_t i = 0; i < METRICS_CODES; i++)
        json_int(json, metrics_code_name(i), (int64_t)totals->finished[i]);
    json_object_end(json);
    json_object_end(json);
    json_array(json, "by_priority");
    for (size_t i = 0; i < METRICS_PRIORITIES; i++) {
        if (!totals->added_by[i] && !totals->started_by[i] && !totals->finished_by[i])
            continue;
        json_object(json, NULL);
        json_cstr(json, "priority", metrics_priority_name(i));
        json_int(json, "added", (int64_t)totals->added_by[i]);
        json_int(json, "started", (int64_t)totals->started_by[i]);
        json_int(json, "finished", (int64_t)totals->finished_by[i]);
        json_object_end(json);
    }
    json_array_end(json);
}

/* What the node does for all tenants together: nothing for a token of one. */
static void node_numbers_json(JsonOut *json, const Numbers *numbers)
{
    json_object(json, "slots");
    json_int(json, "total", numbers->node.slots);
    json_int(json, "used", numbers->node.slots_used);
    json_object_end(json);
    json_object(json, "cluster");
    json_int(json, "nodes", numbers->node.nodes);
    json_int(json, "slots", (int64_t)numbers->node.nodes_slots);
    json_int(json, "used", (int64_t)numbers->node.nodes_used);
    json_object_end(json);
    totals_json(json, &numbers->totals);
    json_int(json, "journal_lag_bytes", (int64_t)numbers->totals.journal_lag_bytes);
    json_int(json, "late_results", (int64_t)numbers->node.late);
}

/* What one node counts by itself misses what others add and end. */
static uint64_t all_unfinished(const Numbers *numbers)
{
    bool shared = daemon_facts(numbers->exchange->daemon)->shared;
    return shared ? numbers->stored : numbers->unfinished;
}

static uint64_t own_unfinished(const Numbers *numbers)
{
    uint64_t count = 0;
    for (size_t i = 0; i < JOB_STATES; i++)
        count += state_in((JobState)i, STATES_FINAL) ? 0 : numbers->states[i];
    return count;
}

static void read_numbers(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Numbers *numbers = exchange->state;
    JsonOut *json = &numbers->json;
    const DaemonFacts *facts = daemon_facts(exchange->daemon);
    numbers->arena = &call->arena;
    *json = exchange_json(exchange);
    json_object(json, NULL);
    json_array(json, "queues");
    call->err = store->kind->counts(store, take_count, numbers, &call->why);
    close_queue(numbers);
    json_array_end(json);
    states_json(json, "jobs", numbers->states, true);
    bool bound = exchange->caller.bound;
    json_int(json, "unfinished",
             (int64_t)(bound ? own_unfinished(numbers) : all_unfinished(numbers)));
    if (!bound)
        node_numbers_json(json, numbers);
    json_int(json, "uptime_ms", clock_now().wall_ms - facts->started_ms);
    json_object_end(json);
}

static void numbers_looked_at(Exchange *exchange, Call *call)
{
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    exchange_read(exchange, read_numbers, reply_out);
}

void api_stats(Exchange *exchange)
{
    Numbers *numbers = ARENA_NEW(&exchange->arena, Numbers);
    if (!api_whose(exchange))
        return;
    numbers->exchange = exchange;
    exchange->state = numbers;
    look(exchange, look_at_numbers, numbers_looked_at);
}

/* --- Prometheus
 * ---------------------------------------------------------------------------- */

static void gauge(Buf *out, const char *name, const char *help, size_t value)
{
    metric_head(out, name, "gauge", help);
    buf_printf(out, "%s %zu\n", name, value);
}

/* What belongs to the holder of the controller lock. */
static void duties_write(Buf *out, Daemon *daemon)
{
    bool mine;
    const struct Alerts *alerts = daemon_alerts(daemon);
    node_controller_lock(daemon_node(daemon), &mine);
    gauge(out, "pawl_controller", "1: this node holds the controller lock.", mine);
    gauge(out, "pawl_schedules", "Schedules, paused ones too.",
          node_schedule_count(daemon_node(daemon)));
    gauge(out, "pawl_alerts_firing", "Alert rules whose condition holds.",
          alerts ? alerts_firing_count(alerts) : 0);
}

static void look_at_metrics(Call *call, Daemon *daemon)
{
    Exchange *exchange = call->context;
    NodeFacts node = node_facts(daemon_node(daemon));
    buf_clear(&exchange->out);
    metrics_write(&exchange->out, daemon_metrics(daemon), &node);
    duties_write(&exchange->out, daemon);
}

static void read_queue_metrics(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    QueueCounts *counts = MEM_NEW(QueueCounts);
    Load load = { .kind = LOAD_LANES, .limit = METRICS_QUEUES_MAX };
    Loaded heads = { 0 };
    call->err = store->kind->counts(store, queue_counts_add, counts, &call->why);
    if (!call->err)
        queue_counts_write(&exchange->out, counts);
    if (!call->err)
        call->err = store->kind->load(store, &load, &heads, &call->why);
    if (!call->err)
        queue_ages_write(&exchange->out, &heads, clock_now().wall_ms);
    loaded_done(&heads);
    mem_free(counts);
}

/* A store that fails must not hide the other numbers. */
static void reply_metrics(Exchange *exchange, Call *call)
{
    (void)call;
    http_requests_write(&exchange->out, exchange->http);
    process_metrics_write(&exchange->out, daemon_facts(exchange->daemon)->started_ms);
    exchange_reply(exchange, 200, "text/plain; version=0.0.4; charset=utf-8");
}

static void metrics_of_queues(Exchange *exchange, Call *call)
{
    (void)call;
    exchange_read(exchange, read_queue_metrics, reply_metrics);
}

static void metrics_looked_at(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        api_processors_meter(exchange, metrics_of_queues);
}

void api_metrics(Exchange *exchange)
{
    look(exchange, look_at_metrics, metrics_looked_at);
}

/* --- Health and ways in
 * ---------------------------------------------------------------------- */

static void reply_text(Exchange *exchange, const char *text)
{
    buf_add_text(&exchange->out, text);
    exchange_reply(exchange, 200, "text/plain; charset=utf-8");
}

void api_livez(Exchange *exchange)
{
    reply_text(exchange, "ok\n");
}

void api_readyz(Exchange *exchange)
{
    const char *why = "starting";
    bool ready = daemon_ready(exchange->daemon, &why);
    if (ready && why && strcmp(why, "ready") != 0) {
        buf_add_text(&exchange->out, "ready, but degraded: ");
        buf_add_text(&exchange->out, why);
        reply_text(exchange, "\n");
    } else if (ready) {
        reply_text(exchange, "ready\n");
    } else {
        exchange_refuse(exchange, problem_find(why) ? why : "unavailable",
                        "not ready: %s", why);
    }
}

void api_index(Exchange *exchange)
{
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_cstr(&json, "version", PAWL_VERSION);
    json_cstr(&json, "description", "/openapi.json");
    json_array(&json, "paths");
    for (size_t i = 0; i < route_count; i++) {
        bool again = i > 0 && strcmp(routes[i].path, routes[i - 1].path) == 0;
        if (!again)
            json_cstr(&json, NULL, routes[i].path);
    }
    json_array_end(&json);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}
