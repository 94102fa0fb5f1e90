/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c - see nodes.h.
 *
 * Of itself a node knows more than its row in the store says; of others it shows the row.
 * So an answer takes a look at this node, then a read of the store. */
#include "api/nodes.h"

#include "api/common.h"
#include "base/text.h"
#include "cluster/retired_nodes.h"
#include "core/dispatch/reasons.h"
#include "core/node/drain.h"
#include "noun/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SWITCH_WAIT_MS  (5 * MS_PER_S) /* for another node to do as it was told */
#define SWITCH_SLICE_MS 100
#define REASON_BYTES    512

typedef struct OneNode {
    bool own;
    Slice sysid;
    uint32_t number;
    uint64_t epoch; /* 0: it has not joined, or the store is not shared */
    bool shared;
    bool fenced;
    bool controls;
    int64_t left_ms;
    PeerFacts facts;
    NodeSlots slots;
    bool drained;
    bool gone;
    NodeDrain drain;
} OneNode;

typedef struct Nodes {
    Slice sought; /* the sysid that is asked for; data NULL: all */
    ListPage page;
    Arena *arena;
    /* This node. */
    OneNode self;
    NodeFacts of;
    bool enabled;
    RunningJob *running;
    size_t running_count;
    size_t running_capacity;
    /* All that were read. */
    OneNode *items;
    size_t count;
    size_t capacity;
    /* What is to be changed: one of these. */
    Step *then;
    const JsonIn *body; /* of a PATCH */
    bool drains;
    bool owns; /* it has jobs */
    Slice drain_reason;
    int64_t until_boot;
} Nodes;

/* --- This node -----------------------------------------------------------------------
 */

static void take_running(void *context, const RunningJob *job)
{
    Nodes *nodes = context;
    RunningJob copy = *job;
    copy.tenant = slice_copy(nodes->arena, job->tenant);
    copy.queue = slice_copy(nodes->arena, job->queue);
    copy.type = slice_copy(nodes->arena, job->type);
    if (nodes->running_count == nodes->running_capacity) {
        size_t room = nodes->running_capacity * 2 + 8;
        RunningJob *more = arena_take(nodes->arena, room * sizeof *more);
        if (nodes->running_count)
            memcpy(more, nodes->running, nodes->running_count * sizeof *more);
        nodes->running = more;
        nodes->running_capacity = room;
    }
    nodes->running[nodes->running_count++] = copy;
}

void load_average(uint32_t out[3])
{
    double load[3] = { 0 };
    bool known = getloadavg(load, 3) == 3;
    for (size_t i = 0; i < 3; i++)
        out[i] = known ? (uint32_t)(load[i] * PEER_LOAD_PARTS) : 0;
}

static void look_at_self(Call *call, Daemon *daemon)
{
    const Exchange *exchange = call->context;
    Nodes *nodes = exchange->state;
    const Node *node = daemon_node(daemon);
    const DaemonFacts *facts = daemon_facts(daemon);
    OneNode *self = &nodes->self;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    nodes->of = node_facts(node);
    nodes->enabled = node_settings(node)->enabled;
    nodes->running_count = 0;
    node_running(node, take_running, nodes);
    *self = (OneNode){ .own = true,
                       .sysid = slice_text(facts->sysid),
                       .number = facts->node,
                       .left_ms = 1,
                       .slots = slots_copy(nodes->arena, node_own_slots(node)) };
    self->facts = (PeerFacts){ .slots = nodes->of.slots,
                               .used = nodes->of.slots_used,
                               .ready = nodes->of.spare,
                               .draining = nodes->of.draining,
                               .pid = (uint32_t)getpid(),
                               .started_ms = facts->started_ms,
                               .at_ms = clock_now().wall_ms,
                               .host = slice_copy(nodes->arena, slice_text(host)),
                               .version = SLICE_LITERAL(PAWL_VERSION),
                               .listen = slice_text(facts->listen) };
    load_average(self->facts.load);
    node_controller_lock(node, &self->controls);
}

/* --- All of them ---------------------------------------------------------------------
 */

static OneNode *node_add(Nodes *nodes)
{
    if (nodes->count == nodes->capacity) {
        size_t room = nodes->capacity * 2 + 8;
        OneNode *more = arena_take(nodes->arena, room * sizeof *more);
        if (nodes->count)
            memcpy(more, nodes->items, nodes->count * sizeof *more);
        nodes->items = more;
        nodes->capacity = room;
    }
    OneNode *added = &nodes->items[nodes->count++];
    *added = (OneNode){ 0 };
    return added;
}

static OneNode *node_of(Nodes *nodes, Slice sysid)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (slice_equal(nodes->items[i].sysid, sysid))
            return &nodes->items[i];
    return NULL;
}

static void take_row(void *context, const NodeRow *row)
{
    Nodes *nodes = context;
    OneNode *node = node_add(nodes);
    bool own = slice_equal(row->sysid, nodes->self.sysid);
    if (own)
        *node = nodes->self;
    else if (peer_unpack(slice_copy(nodes->arena, row->facts), &node->facts))
        node->facts = (PeerFacts){ 0 };
    node->own = own;
    node->shared = true;
    node->sysid = slice_copy(nodes->arena, row->sysid);
    node->number = row->number;
    node->epoch = row->epoch;
    node->fenced = row->fenced;
    node->controls = row->controls;
    node->left_ms = row->left_ms;
}

static void take_slots(void *context, const Definition *definition)
{
    Nodes *nodes = context;
    OneNode *node = node_of(nodes, definition->key);
    NodeSlots slots;
    if (node && !node->own && !slots_unpack(definition->value, &slots))
        node->slots = slots_copy(nodes->arena, &slots);
}

static void take_drain(void *context, const Definition *definition)
{
    Nodes *nodes = context;
    OneNode *node = node_of(nodes, definition->key);
    if (!node || drain_unpack(definition->value, &node->drain))
        return;
    node->drain.reason = slice_copy(nodes->arena, node->drain.reason);
    node->drained = true;
}

static void take_gone(void *context, const Definition *definition)
{
    OneNode *node = node_of(context, definition->key);
    int64_t epoch;
    if (node && !int_parse(definition->value, &epoch))
        node->gone = !node->own && (uint64_t)epoch == node->epoch;
}

static void leave_out_gone(Nodes *nodes)
{
    size_t kept = 0;
    for (size_t i = 0; i < nodes->count; i++)
        if (!nodes->items[i].gone)
            nodes->items[kept++] = nodes->items[i];
    nodes->count = kept;
}

static Err read_all(Nodes *nodes, Store *store, Error *why)
{
    Err err = ERR_OK;
    nodes->count = 0;
    if (store->kind->shared)
        err = store->kind->nodes(store, take_row, nodes, why);
    if (!err && !node_of(nodes, nodes->self.sysid))
        *node_add(nodes) = nodes->self;
    if (!err)
        err = store->kind->definitions(store, SLICE_LITERAL(SLOTS_TABLE), take_slots,
                                       nodes, why);
    if (!err)
        err = store->kind->definitions(store, SLICE_LITERAL(DRAIN_TABLE), take_drain,
                                       nodes, why);
    if (!err)
        err = store->kind->definitions(store, SLICE_LITERAL(RETIRED_NODES_TABLE),
                                       take_gone, nodes, why);
    leave_out_gone(nodes);
    return err;
}

/* --- As JSON --------------------------------------------------------------------------
 */

static bool is_alive(const OneNode *node)
{
    return node->own || (node->left_ms > 0 && !node->fenced && node->epoch);
}

static const char *state_of(const OneNode *node)
{
    if (is_alive(node))
        return node->facts.draining ? "draining" : "up";
    return node->facts.draining ? "stopped" : "lost";
}

static void running_json(JsonOut *json, const Exchange *exchange, const RunningJob *job)
{
    char id[ID_TEXT_BYTES];
    if (!api_sees(exchange, job->tenant))
        return;
    json_object(json, NULL);
    json_cstr(json, "id", id_text(job->id, id));
    json_int(json, "attempt", job->attempt);
    json_time(json, "started_at", job->started_ms);
    json_bool(json, "paused", job->paused);
    json_bool(json, "stopping", job->stopping);
    if (job->slot)
        json_int(json, "slot", job->slot);
    else
        json_null(json, "slot"); /* only its own node knows */
    json_text(json, "tenant", job->tenant);
    json_text(json, "queue", job->queue);
    json_text(json, "type", job->type);
    json_object_end(json);
}

/* What the store knows to run on another node. */
static Err running_there(JsonOut *json, const Exchange *exchange, Store *store,
                         const OneNode *node, Error *why)
{
    Loaded loaded = { 0 };
    Load load = { .kind = LOAD_RUNNING, .lock = node->sysid, .owner = node->number };
    Err err = store->kind->load(store, &load, &loaded, why);
    for (size_t i = 0; !err && i < loaded.count; i++) {
        const Job *job = &loaded.jobs[i];
        running_json(json, exchange,
                     &(RunningJob){ .id = job->id,
                                    .attempt = job->attempt,
                                    .started_ms = job->started_ms,
                                    .paused = job->state == JOB_PAUSED,
                                    .tenant = job->tenant,
                                    .queue = job->queue,
                                    .type = job->type });
    }
    loaded_done(&loaded);
    return err;
}

static void slots_json(JsonOut *json, const NodeSlots *slots)
{
    Slice rest = slots->queues;
    json_object(json, "queues"); /* slots that differ here from what the queue says */
    for (Slice item; list_next(&rest, &item);) {
        char name[QUEUE_NAME_BYTES_MAX + 1];
        uint32_t number = 0;
        Slice queue = slice_cut(&item, '=');
        snprintf(name, sizeof name, SLICE_FMT, SLICE_ARG(queue));
        slots_of_queue(slots, slice_text(name), &number);
        json_int(json, name, number);
    }
    json_object_end(json);
}

static void drain_json(JsonOut *json, const OneNode *node)
{
    json_bool(json, "draining", node->facts.draining);
    if (!node->drained) {
        json_null(json, "drain");
        return;
    }
    json_object(json, "drain"); /* as someone has asked for it */
    json_time(json, "since", node->drain.since_ms);
    json_text(json, "reason", node->drain.reason);
    json_object_end(json);
}

static void lease_json(JsonOut *json, const OneNode *node)
{
    if (node->shared) {
        json_int(json, "epoch", (int64_t)node->epoch);
        json_int(json, "lease_left_ms", node->left_ms > 0 ? node->left_ms : 0);
    } else {
        json_null(json, "epoch");
        json_null(json, "lease_left_ms");
    }
    json_bool(json, "controller", node->controls);
}

/* What only the node itself knows. */
static void own_json(JsonOut *json, const Nodes *nodes, const Exchange *exchange)
{
    const DaemonFacts *facts = daemon_facts(exchange->daemon);
    Buf store = { 0 };
    store_url_shown(facts->store_url, &store);
    if (!exchange->caller.bound) {
        json_cstr(json, "data", facts->data_dir);
        json_text(json, "store", buf_slice(&store));
    }
    json_bool(json, "enabled", nodes->enabled);
    json_int(json, "lanes", nodes->of.lanes);
    json_int(json, "lanes_ready", nodes->of.lanes_ready);
    json_int(json, "passes", (int64_t)nodes->of.passes);
    buf_done(&store);
}

/* bound: for the eyes of one tenant, which where it lives on its machine is not. */
static void node_fields(JsonOut *json, const OneNode *node, bool bound)
{
    const PeerFacts *facts = &node->facts;
    json_text(json, "sysid", node->sysid);
    json_int(json, "number", node->number);
    json_cstr(json, "state", state_of(node));
    json_text(json, "host", facts->host);
    if (!bound)
        json_int(json, "pid", facts->pid);
    json_text(json, "version", facts->version);
    json_text(json, "listen", facts->listen);
    json_time(json, "started_at", facts->started_ms);
    json_time(json, "heartbeat_at", facts->at_ms);
    lease_json(json, node);
    drain_json(json, node);
    json_int(json, "slots", facts->slots);
    json_int(json, "slots_used", is_alive(node) ? facts->used : 0);
    json_array(json, "load");
    for (size_t i = 0; i < 3; i++)
        json_double(json, NULL, (double)facts->load[i] / PEER_LOAD_PARTS);
    json_array_end(json);
    slots_json(json, &node->slots);
}

static Err node_json(JsonOut *json, const Exchange *exchange, Store *store,
                     const OneNode *node, Error *why)
{
    const Nodes *nodes = exchange->state;
    Err err = ERR_OK;
    json_object(json, NULL);
    node_fields(json, node, exchange->caller.bound);
    if (node->own)
        own_json(json, nodes, exchange);
    json_array(json, "running");
    for (size_t i = 0; node->own && i < nodes->running_count; i++)
        running_json(json, exchange, &nodes->running[i]);
    if (!node->own)
        err = running_there(json, exchange, store, node, why);
    json_array_end(json);
    json_object_end(json);
    return err;
}

/* Where the page begins: behind the node that its cursor names. */
static size_t page_begin(Nodes *nodes)
{
    if (!nodes->page.cursor.data)
        return 0;
    const OneNode *last = node_of(nodes, nodes->page.cursor);
    return last ? (size_t)(last - nodes->items) + 1 : nodes->count;
}

static void read_list(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Nodes *nodes = exchange->state;
    JsonOut json = exchange_json(exchange);
    call->err = read_all(nodes, store, &call->why);
    json_object(&json, NULL);
    json_array(&json, "items");
    size_t at = page_begin(nodes);
    size_t end = at + nodes->page.limit;
    for (; !call->err && at < nodes->count && at < end; at++)
        call->err = node_json(&json, exchange, store, &nodes->items[at], &call->why);
    json_array_end(&json);
    if (at && at < nodes->count)
        json_text(&json, "next_cursor", nodes->items[at - 1].sysid);
    else
        json_null(&json, "next_cursor");
    json_object_end(&json);
}

static void read_one(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Nodes *nodes = exchange->state;
    call->err = read_all(nodes, store, &call->why);
    const OneNode *node = node_of(nodes, nodes->sought);
    JsonOut json = exchange_json(exchange);
    if (!call->err && node)
        call->err = node_json(&json, exchange, store, node, &call->why);
}

/* --- Steps ----------------------------------------------------------------------------
 */

static void self_looked_at(Exchange *exchange, Call *call)
{
    const Nodes *nodes = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    Call *read = exchange_call(exchange, CALL_READ, nodes->then);
    read->read = nodes->sought.data ? read_one : read_list;
    exchange_send(exchange, read);
}

static void look_at_nodes(Exchange *exchange, Step *then)
{
    Nodes *nodes = exchange->state;
    nodes->then = then;
    exchange_look(exchange, look_at_self, self_looked_at);
}

/* False after it refused. */
static bool found(Exchange *exchange, const Call *call)
{
    Nodes *nodes = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return false;
    }
    if (!nodes->sought.data || node_of(nodes, nodes->sought))
        return true;
    Problem problem;
    problem_set(&problem, "node_not_found", "no node of this store has the sysid %.100s",
                slice_cstr(&exchange->arena, nodes->sought));
    problem_hint(&problem, "pawl node ls");
    exchange_problem(exchange, &problem);
    return false;
}

/* Without its store a node still tells of itself, and why it tells of no one else. */
static void reply_self(Exchange *exchange, const Call *call)
{
    const Nodes *nodes = exchange->state;
    JsonOut json = exchange_json(exchange);
    Error none = { 0 };
    if (nodes->sought.data) {
        node_json(&json, exchange, NULL, &nodes->self, &none);
    } else {
        json_object(&json, NULL);
        json_array(&json, "items");
        node_json(&json, exchange, NULL, &nodes->self, &none);
        json_array_end(&json);
        json_null(&json, "next_cursor");
        json_cstr(&json, "others", call->problem ? call->problem : "store_failing");
        json_object_end(&json);
    }
    exchange_reply_json(exchange, 200);
}

static bool only_self_known(const Nodes *nodes, const Call *call)
{
    return call->err == ERR_UNAVAILABLE &&
           (!nodes->sought.data || slice_equal(nodes->sought, nodes->self.sysid));
}

static void reply_nodes(Exchange *exchange, Call *call)
{
    if (only_self_known(exchange->state, call))
        reply_self(exchange, call);
    else if (found(exchange, call))
        exchange_reply_json(exchange, 200);
}

/* NULL: refused, and answered. */
static Nodes *nodes_new(Exchange *exchange)
{
    if (!api_whose(exchange))
        return NULL;
    Nodes *nodes = ARENA_NEW(&exchange->arena, Nodes);
    nodes->arena = &exchange->arena;
    exchange->state = nodes;
    return nodes;
}

void api_nodes(Exchange *exchange)
{
    Nodes *nodes = nodes_new(exchange);
    if (nodes && api_list_page(exchange, &nodes->page))
        look_at_nodes(exchange, reply_nodes);
}

void api_node_get(Exchange *exchange)
{
    Nodes *nodes = nodes_new(exchange);
    if (!nodes)
        return;
    nodes->sought = exchange->parts[0];
    look_at_nodes(exchange, reply_nodes);
}

static void define(Exchange *exchange, const char *table, Slice value, Step *then)
{
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    call->event.kind = EVENT_DEFINE;
    call->event.table = slice_text(table);
    call->event.key = exchange->parts[0];
    if (value.data)
        call->event.value = slice_copy(&call->arena, value);
    exchange_send(exchange, call);
}

/* --- Slots ----------------------------------------------------------------------------
 */

static void slots_defined(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        look_at_nodes(exchange, reply_nodes);
}

static void slots_found(Exchange *exchange, Call *call)
{
    Nodes *nodes = exchange->state;
    Problem why = { 0 };
    if (!found(exchange, call))
        return;
    NodeSlots slots = node_of(nodes, nodes->sought)->slots;
    NounIn in = { .noun = &slots_noun,
                  .object = &slots,
                  .arena = &exchange->arena,
                  .why = &why,
                  .patch = true };
    if (noun_read(&in, nodes->body)) {
        exchange_problem(exchange, &why);
        return;
    }
    Buf packed = { 0 };
    slots_pack(&packed, &slots);
    define(exchange, SLOTS_TABLE, buf_slice(&packed), slots_defined);
    buf_done(&packed);
}

void api_node_patch(Exchange *exchange)
{
    const JsonIn *body = api_body(exchange, &exchange->arena, false);
    Nodes *nodes = body ? nodes_new(exchange) : NULL;
    if (!nodes)
        return;
    nodes->body = body;
    nodes->sought = exchange->parts[0];
    look_at_nodes(exchange, slots_found);
}

/* --- Draining -------------------------------------------------------------------------
 */

static void switched(Exchange *exchange, Call *call);

static void look_once_more(Exchange *exchange, Call *call)
{
    (void)call; /* a slice of time is over */
    look_at_nodes(exchange, switched);
}

/* Another node hears of it within a moment, if it is there. */
static void switched(Exchange *exchange, Call *call)
{
    Nodes *nodes = exchange->state;
    if (!found(exchange, call))
        return;
    const OneNode *node = node_of(nodes, nodes->sought);
    bool over = clock_now().boot_ms >= nodes->until_boot || exchange_gone(exchange);
    bool does = (node->facts.draining != 0) == nodes->drains;
    if (node->own || does || over || !is_alive(node)) {
        exchange_reply_json(exchange, node->own || does ? 200 : 202);
        return;
    }
    Call *wait = exchange_call(exchange, CALL_WAIT, look_once_more);
    wait->event.id = 0;
    wait->event.table = SLICE_LITERAL(DRAIN_TABLE);
    wait->timeout_ms = SWITCH_SLICE_MS;
    exchange_send(exchange, wait);
}

static void switch_defined(Exchange *exchange, Call *call)
{
    Nodes *nodes = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    nodes->until_boot = clock_now().boot_ms + SWITCH_WAIT_MS;
    look_at_nodes(exchange, switched);
}

static void node_found(Exchange *exchange, Call *call)
{
    Nodes *nodes = exchange->state;
    if (!found(exchange, call))
        return;
    const OneNode *node = node_of(nodes, nodes->sought);
    if (node->drained ==
        nodes->drains) { /* as it is wanted: since then, for its reason */
        switch_defined(exchange, call);
        return;
    }
    Buf packed = { 0 };
    if (nodes->drains)
        drain_pack(&packed, &(NodeDrain){ clock_now().wall_ms, nodes->drain_reason });
    define(exchange, DRAIN_TABLE, nodes->drains ? buf_slice(&packed) : (Slice){ NULL, 0 },
           switch_defined);
    buf_done(&packed);
}

/* The reason in the body, if there is one. False after it refused. */
static bool read_reason(Exchange *exchange, const JsonIn *body, Slice *out)
{
    for (const JsonIn *at = json_in_first(body); at; at = at->next) {
        if (!slice_is(at->key, "reason")) {
            exchange_refuse(exchange, "unknown_field", "there is only `reason`");
            return false;
        }
        if (json_in_text(at, out) || out->bytes > REASON_BYTES) {
            exchange_refuse(exchange, "invalid_value",
                            "reason is a text of up to %d bytes", REASON_BYTES);
            return false;
        }
    }
    return true;
}

void api_node_drain(Exchange *exchange)
{
    Slice reason = { NULL, 0 };
    const JsonIn *body = api_body(exchange, &exchange->arena, true);
    if (!body || !read_reason(exchange, body, &reason))
        return;
    Nodes *nodes = nodes_new(exchange);
    if (!nodes)
        return;
    nodes->drains = true;
    nodes->drain_reason = reason;
    nodes->sought = exchange->parts[0];
    look_at_nodes(exchange, node_found);
}

void api_node_resume(Exchange *exchange)
{
    Nodes *nodes = api_no_fields(exchange) ? nodes_new(exchange) : NULL;
    if (!nodes)
        return;
    nodes->sought = exchange->parts[0];
    look_at_nodes(exchange, node_found);
}

/* --- Forgetting -----------------------------------------------------------------------
 */

static void forgotten(Exchange *exchange, Call *call)
{
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    const Nodes *nodes = exchange->state;
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_text(&json, "name", nodes->sought);
    json_bool(&json, "removed", true);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

static void look_for_jobs(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    Nodes *nodes = exchange->state;
    const OneNode *node = node_of(nodes, nodes->sought);
    call->err = retired_nodes_owns(store, node->number, &nodes->owns, &call->why);
}

static void jobs_looked_for(Exchange *exchange, Call *call)
{
    Nodes *nodes = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (nodes->owns) {
        exchange_refuse(exchange, "node_in_use",
                        "jobs are still its own: they are taken over within a moment, or "
                        "belong to directories of its machine");
        return;
    }
    Buf value = { 0 };
    retired_nodes_value(&value, node_of(nodes, nodes->sought)->epoch);
    define(exchange, RETIRED_NODES_TABLE, buf_slice(&value), forgotten);
    buf_done(&value);
}

static void lost_found(Exchange *exchange, Call *call)
{
    Nodes *nodes = exchange->state;
    if (!found(exchange, call))
        return;
    const OneNode *node = node_of(nodes, nodes->sought);
    if (is_alive(node) || !node->fenced) {
        exchange_refuse(exchange, "node_in_use",
                        is_alive(node) ? "it is there: stop it first"
                                       : "no other node has taken its jobs over yet");
        return;
    }
    exchange_read(exchange, look_for_jobs, jobs_looked_for);
}

void api_node_forget(Exchange *exchange)
{
    Nodes *nodes = nodes_new(exchange);
    if (!nodes)
        return;
    nodes->sought = exchange->parts[0];
    look_at_nodes(exchange, lost_found);
}
