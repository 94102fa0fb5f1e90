/* SPDX-License-Identifier: Apache-2.0 */
/* define.c - queues, resources and this node's slots as someone has defined them.
 *
 * A change holds at once and takes nothing back: what runs keeps what it has booked. */
#include "core/dispatch/limits.h"
#include "core/node/inside.h"

#include "base/text.h"

#include <assert.h>

static uint64_t queue_key(uint32_t tenant, uint32_t queue)
{
    return (uint64_t)tenant << 32 | queue;
}

QueueEntry *node_queue_find(const Node *node, uint32_t tenant, uint32_t queue)
{
    return node->queues.count ? map_find(&node->queues, queue_key(tenant, queue)) : NULL;
}

Manager *node_manager_find(const Node *node, Slice key)
{
    uint32_t number = names_find(&node->names, key);
    Manager *manager = number ? map_find(&node->managers, number) : NULL;
    return manager && manager->defined ? manager : NULL;
}

bool node_queue_charges(const QueueEntry *entry, Slice key)
{
    Slice rest = entry ? entry->def.resources : (Slice){ NULL, 0 };
    for (Slice own; list_next(&rest, &own);)
        if (slice_equal(own, key))
            return true;
    return false;
}

static void record(Node *node, const Event *event, bool was_there)
{
    node_define(node, event)->replayed = was_there;
    node->touched_pass = true;
}

/* --- Queues
 * ------------------------------------------------------------------------------ */

static uint32_t count_running(const Node *node, uint32_t tenant, uint32_t queue)
{
    uint32_t count = 0;
    MapEntry entry;
    for (size_t at = 0; map_next(&node->running, &at, &entry);) {
        const Running *running = entry.value;
        count += running->booked && running->head.tenant == tenant &&
                 running->head.queue == queue;
    }
    return count;
}

/* Lanes of the queue take its order; all that wait for the queue look again. */
static void queue_changed(Node *node, uint32_t tenant, uint32_t queue)
{
    const QueueEntry *entry = node_queue_find(node, tenant, queue);
    int64_t age_ms = entry ? queue_age_ms(&entry->def) : 0;
    bool scans = entry && entry->def.policy != POLICY_FAIR;
    const Sisters *of = map_find(&node->sisters, tenant);
    Lane *next = of ? of->lanes : NULL;
    while (next) {
        Lane *lane = next;
        next = lane->sister_next; /* the lane may be forgotten by this */
        if (lane->queue != queue)
            continue;
        node_lane_out(node, lane);
        if (lane->age_ms != age_ms)
            lane_forget(lane, age_ms);
        lane->scans = scans;
        lane->refused = 0;
        lane->lacked = NULL;
        node_lane_changed(node, lane);
    }
}

static void keep_queue(QueueEntry *entry, const QueueDef *def)
{
    bool same_rate =
        entry->def.rate_jobs == def->rate_jobs && entry->def.rate_ms == def->rate_ms;
    Arena before = entry->arena;
    entry->arena = (Arena){ 0 };
    entry->def = queue_copy(&entry->arena, def);
    arena_done(&before);
    if (!same_rate)
        entry->bucket = (Bucket){ 0 };
}

static QueueEntry *add_queue(Node *node, uint32_t tenant, uint32_t queue)
{
    QueueEntry *entry = MEM_NEW(QueueEntry);
    entry->tenant = tenant;
    entry->queue = queue;
    entry->running = count_running(node, tenant, queue);
    map_put(&node->queues, queue_key(tenant, queue), entry);
    return entry;
}

QueueEntry *node_queue_here(Node *node, uint32_t tenant, uint32_t queue)
{
    uint32_t slots;
    QueueDef def = { .tenant = names_text(&node->names, tenant),
                     .name = names_text(&node->names, queue) };
    QueueEntry *entry = node_queue_find(node, tenant, queue);
    if (entry || !node->own_slots.queues.bytes ||
        !slots_of_queue(&node->own_slots, def.name, &slots))
        return entry;
    entry = add_queue(node, tenant, queue);
    entry->implied = true;
    keep_queue(entry, &def);
    return entry;
}

/* What someone has defined; NULL: no one has. */
static QueueEntry *defined_queue(const Node *node, uint32_t tenant, uint32_t queue)
{
    QueueEntry *entry = node_queue_find(node, tenant, queue);
    return entry && !entry->implied ? entry : NULL;
}

static void load_queue(Node *node, Slice tenant, Slice key, Slice value)
{
    QueueDef def;
    if (queue_unpack(value, &def))
        return;
    def.tenant = tenant;
    def.name = key;
    uint32_t tenant_number = names_intern(&node->names, tenant);
    uint32_t number = names_intern(&node->names, key);
    QueueEntry *entry = node_queue_find(node, tenant_number, number);
    if (!entry)
        entry = add_queue(node, tenant_number, number);
    entry->implied = false;
    keep_queue(entry, &def);
    node_queue_opens(node, entry);
    queue_changed(node, tenant_number, number);
}

static void free_queue(QueueEntry *entry)
{
    arena_done(&entry->arena);
    mem_free(entry);
}

static void drop_queue(Node *node, QueueEntry *entry)
{
    uint32_t tenant = entry->tenant;
    uint32_t queue = entry->queue;
    node_queue_opens(node, entry);
    map_remove(&node->queues, queue_key(tenant, queue));
    free_queue(entry);
    queue_changed(node, tenant, queue);
}

/* The event of a switch says only whether the queue is paused; the rest stays. */
static void define_pause(Node *node, const Event *event, const QueueEntry *entry,
                         const QueueDef *pause)
{
    QueueDef def = { .tenant = event->tenant, .name = event->key };
    Buf value = { 0 };
    Event put = *event;
    if (entry)
        def = entry->def;
    def.paused = pause->paused;
    def.pause_reason = pause->pause_reason;
    def.paused_until_ms = pause->paused_until_ms;
    queue_pack(&value, &def);
    put.value = buf_slice(&value);
    record(node, &put, entry != NULL);
    load_queue(node, put.tenant, put.key, put.value);
    buf_done(&value);
}

/* The first resource that it names, that no one has defined, and that it has not named
 * before: what was deleted since does not stand in the way of other changes. */
static bool names_unknown(const Node *node, const QueueDef *def, const QueueEntry *entry,
                          Slice *out_key)
{
    Slice rest = def->resources;
    for (Slice key; list_next(&rest, &key);) {
        if (node_manager_find(node, key) || node_queue_charges(entry, key))
            continue;
        *out_key = key;
        return true;
    }
    return false;
}

static void refuse_resource(Node *node, const Event *event, Slice key)
{
    Buf detail = { 0 };
    Effect *reply = node_reply(node, event->request, ERR_INVALID, "resource_unknown");
    buf_printf(&detail, "there is no resource '" SLICE_FMT "' for the queue to charge",
               SLICE_ARG(key));
    reply->detail = node_keep(node, buf_slice(&detail));
    buf_done(&detail);
}

void node_define_queue(Node *node, const Event *event)
{
    QueueDef def;
    Slice unknown;
    uint32_t tenant = names_intern(&node->names, event->tenant);
    uint32_t queue = names_intern(&node->names, event->key);
    QueueEntry *entry = defined_queue(node, tenant, queue);
    if (event->value.data && queue_unpack(event->value, &def)) {
        node_reply(node, event->request, ERR_INVALID, "invalid_value");
        return;
    }
    if (!event->value.data && !entry) {
        node_reply(node, event->request, ERR_NOT_FOUND, "queue_not_found");
        return;
    }
    if (event->value.data && event->flag) {
        define_pause(node, event, entry, &def);
        return;
    }
    if (event->value.data && names_unknown(node, &def, entry, &unknown)) {
        refuse_resource(node, event, unknown);
        return;
    }
    record(node, event, entry != NULL);
    if (event->value.data)
        load_queue(node, event->tenant, event->key, event->value);
    else
        drop_queue(node, entry);
    node_unstick(node);
}

int node_job_nice(const Node *node, const Job *job)
{
    const QueueEntry *entry = node_queue_find(node, names_find(&node->names, job->tenant),
                                              names_find(&node->names, job->queue));
    return queue_nice(entry ? &entry->def : NULL, job->priority);
}

/* --- Resources
 * ------------------------------------------------------------------------------ */

/* Everyone in its line looks again: there may be more, less, or another kind of it. */
static void empty_line(Node *node, Manager *manager)
{
    if (manager->next) {
        manager->next->next_for = NULL;
        manager->next = NULL;
    }
    for (Lane *lane; (lane = (Lane *)(void *)heap_first(&manager->line));) {
        node_lane_out(node, lane);
        lane->waits = NULL;
        lane->refused = 0;
        node_lane_changed(node, lane);
    }
}

/* A job may be in the line of one and wait in vain for another: all look again. */
static void look_again(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->lanes, &at, &entry);)
        ((Lane *)entry.value)->lacked = NULL;
    for (size_t at = 0; map_next(&node->managers, &at, &entry);)
        empty_line(node, entry.value);
}

/* Counts again what the running attempts hold of it. */
static void recount(Node *node, Manager *manager)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->running, &at, &entry);) {
        const Running *running = entry.value;
        Slice rest = buf_slice(&running->bookings);
        for (Slice item; running->booked && list_next(&rest, &item);) {
            Slice value = item;
            if (slice_equal(slice_cut(&value, '='), manager->resource.def.key))
                resource_hold(&manager->resource, value,
                              (uint64_t)running->head.tenant << 32 | running->head.type);
        }
    }
}

/* Resources are the machine's, not a tenant's. */
static void load_resource(Node *node, Slice key, Slice value)
{
    ResourceDef def;
    if (resource_unpack(value, &def))
        return;
    def.key = key;
    uint32_t number = names_intern(&node->names, key);
    Manager *manager = map_find(&node->managers, number);
    if (!manager) {
        manager = MEM_NEW(Manager);
        manager->key = number;
        manager->line.before = node->offers.before;
        map_put(&node->managers, number, manager);
    }
    manager->defined = true;
    resource_define(&manager->resource, &def);
    recount(node, manager);
    look_again(node);
}

void node_define_resource(Node *node, const Event *event)
{
    ResourceDef def;
    Manager *manager = node_manager_find(node, event->key);
    if (event->value.data && resource_unpack(event->value, &def)) {
        node_reply(node, event->request, ERR_INVALID, "invalid_value");
        return;
    }
    if (!event->value.data && !manager) {
        node_reply(node, event->request, ERR_NOT_FOUND, "resource_not_found");
        return;
    }
    record(node, event, manager != NULL);
    if (event->value.data) {
        load_resource(node, event->key, event->value);
    } else {
        manager->defined = false;
        look_again(node);
    }
    node_unstick(node);
}

/* --- This node's slots
 * ------------------------------------------------------------------------------ */

static void load_slots(Node *node, Slice key, Slice value)
{
    NodeSlots slots = { 0 };
    if (!slice_equal(key, node->options.sysid) ||
        (value.bytes && slots_unpack(value, &slots)))
        return;
    Arena before = node->slots_arena;
    node->slots_arena = (Arena){ 0 };
    node->own_slots = slots_copy(&node->slots_arena, &slots);
    arena_done(&before);
    MapEntry entry;
    for (size_t at = 0; map_next(&node->queues, &at, &entry);)
        node_queue_opens(node, entry.value);
}

void node_define_slots(Node *node, const Event *event)
{
    NodeSlots slots;
    if (event->value.data && slots_unpack(event->value, &slots)) {
        node_reply(node, event->request, ERR_INVALID, "invalid_value");
        return;
    }
    record(node, event, node->own_slots.has_slots || node->own_slots.queues.bytes);
    load_slots(node, event->key, event->value);
}

void node_load_queue(Node *node, const Definition *definition)
{
    load_queue(node, definition->tenant, definition->key, definition->value);
}

void node_load_resource(Node *node, const Definition *definition)
{
    load_resource(node, definition->key, definition->value);
}

void node_load_slots(Node *node, const Definition *definition)
{
    load_slots(node, definition->key, definition->value);
}

void node_limits_free(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->queues, &at, &entry);)
        free_queue(entry.value);
    for (size_t at = 0; map_next(&node->managers, &at, &entry);) {
        Manager *manager = entry.value;
        resource_done(&manager->resource);
        heap_done(&manager->line);
        mem_free(manager);
    }
    for (size_t at = 0; map_next(&node->sisters, &at, &entry);) {
        Sisters *sisters = entry.value;
        heap_done(&sisters->rest);
        mem_free(sisters);
    }
    map_done(&node->queues);
    map_done(&node->managers);
    map_done(&node->sisters);
    map_done(&node->types);
    arena_done(&node->slots_arena);
}

/* --- New jobs
 * ------------------------------------------------------------------------------ */

/* What the job's own list says of everyone of a kind goes before what its handler says of
 * one key (S3.19: the instance before the definition). */
static void add_handled(const Node *node, Slice own, Slice item, Buf *out)
{
    Slice amount = item;
    Slice key = slice_cut(&amount, '=');
    ResourceDef by_key = { .key = key };
    int64_t said;
    const Manager *manager = node_manager_find(node, key);
    Slice rest = own;
    for (Slice mine; list_next(&rest, &mine);)
        if (slice_equal(slice_cut(&mine, '='), key))
            return;
    if (manager && wants_find(own, &manager->resource.def, &said))
        buf_printf(out, SLICE_FMT "=%lld", SLICE_ARG(by_key.key), (long long)said);
    else
        buf_add_slice(out, item);
    buf_add_char(out, '\0');
}

static Slice merge_wants(Node *node, Slice own, Slice handled)
{
    Buf merged = { 0 };
    buf_add_slice(&merged, own);
    for (Slice item; list_next(&handled, &item);)
        add_handled(node, own, item, &merged);
    Slice kept = node_keep(node, buf_slice(&merged));
    buf_done(&merged);
    return kept;
}

void node_fill_limits(Node *node, Job *job, const Handler *handler, bool open)
{
    if (handler && handler->resources.bytes && job->resources.bytes &&
        job->resources.data != handler->resources.data)
        job->resources = merge_wants(node, job->resources, handler->resources);
    if (!open || (handler && handler->has_priority))
        return;
    const QueueEntry *entry = node_queue_find(node, names_find(&node->names, job->tenant),
                                              names_find(&node->names, job->queue));
    if (entry)
        job->priority = queue_default_priority(&entry->def);
}

int64_t node_clamp_priority(const Node *node, const Job *job)
{
    const QueueEntry *entry = node_queue_find(node, names_find(&node->names, job->tenant),
                                              names_find(&node->names, job->queue));
    return queue_clamp_priority(entry ? &entry->def : NULL, job->priority);
}

static void say_range(const QueueDef *def, const Job *job, Buf *detail)
{
    buf_printf(detail, "priority %lld is outside the range of queue " SLICE_FMT ": ",
               (long long)job->priority, SLICE_ARG(def->name));
    if (def->has_min && def->has_max)
        buf_printf(detail, "%lld to %lld", (long long)def->priority_min,
                   (long long)def->priority_max);
    else if (def->has_min)
        buf_printf(detail, "%lld and above", (long long)def->priority_min);
    else
        buf_printf(detail, "up to %lld", (long long)def->priority_max);
}

static const char *refuses_amount(const Manager *manager, int64_t amount, Buf *detail)
{
    const ResourceDef *def = &manager->resource.def;
    if (amount <= resource_capacity(def))
        return NULL;
    buf_printf(detail, "it asks for %lld of resource " SLICE_FMT ", which has only %lld",
               (long long)amount, SLICE_ARG(def->key), (long long)resource_capacity(def));
    return "resource_too_small";
}

static const char *refuses_resource(const Node *node, const Job *job, Slice key,
                                    Buf *detail)
{
    const Manager *manager = node_manager_find(node, key);
    if (!manager)
        return NULL;
    int64_t amount = manager->resource.def.consumption;
    wants_find(job->resources, &manager->resource.def, &amount);
    return refuses_amount(manager, amount, detail);
}

const char *node_refuses(Node *node, const Job *job, Buf *detail)
{
    uint32_t tenant = names_find(&node->names, job->tenant);
    uint32_t queue = names_find(&node->names, job->queue);
    const QueueEntry *entry = node_queue_find(node, tenant, queue);
    if (entry && !queue_takes_priority(&entry->def, job->priority)) {
        say_range(&entry->def, job, detail);
        return "priority_out_of_range";
    }
    const char *problem = NULL;
    Slice rest = entry ? entry->def.resources : (Slice){ NULL, 0 };
    for (Slice key; !problem && list_next(&rest, &key);)
        problem = refuses_resource(node, job, key, detail);
    rest = job->resources;
    for (Slice item; !problem && list_next(&rest, &item);) {
        Slice key = slice_cut(&item, '=');
        bool by_kind = key.bytes && key.data[0] == '*';
        if (!by_kind && !node_manager_find(node, key)) {
            buf_printf(detail, "there is no resource '" SLICE_FMT "'", SLICE_ARG(key));
            return "resource_unknown";
        }
        if (!by_kind)
            problem = refuses_resource(node, job, key, detail);
    }
    return problem;
}
