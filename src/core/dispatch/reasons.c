/* SPDX-License-Identifier: Apache-2.0 */
/* reasons.c - see reasons.h. */
#include "core/dispatch/reasons.h"

#include "core/dispatch/limits.h"
#include "core/dispatch/quota.h"
#include "core/node/inside.h"

typedef struct Asking {
    const Node *node;
    const Job *job;
    Now now;
    ReasonSink *sink;
    void *context;
    uint32_t tenant;
    uint32_t type;
    uint32_t queue;
    const QueueEntry *entry;
} Asking;

static void say(const Asking *asking, Reason reason)
{
    asking->sink(asking->context, &reason);
}

static void node_itself(const Asking *asking)
{
    const Node *node = asking->node;
    if (node->draining)
        say(asking, (Reason){ .kind = REASON_DRAINING });
    if (!node->settings.enabled)
        say(asking, (Reason){ .kind = REASON_DISABLED });
}

/* When it should end; TIME_NEVER: no one has said, or it takes longer than that. */
static int64_t expected_end(const Asking *asking, const Running *running)
{
    int64_t end_ms = running->started_ms + running->head.service_ms;
    return running->head.service_ms && end_ms > asking->now.wall_ms ? end_ms : TIME_NEVER;
}

/* When the first of those that run (of the queue, or 0: all) should end; 0: not known. */
static int64_t first_end(const Asking *asking, uint32_t queue)
{
    MapEntry entry;
    int64_t until_ms = TIME_NEVER;
    for (size_t at = 0; map_next(&asking->node->running, &at, &entry);) {
        const Running *running = entry.value;
        int64_t end_ms = expected_end(asking, running);
        if (queue &&
            (running->head.tenant != asking->tenant || running->head.queue != queue))
            continue;
        until_ms = end_ms < until_ms ? end_ms : until_ms;
    }
    return until_ms == TIME_NEVER ? 0 : until_ms;
}

static void of_queue(const Asking *asking)
{
    const QueueEntry *entry = asking->entry;
    if (!entry)
        return;
    const QueueDef *def = &entry->def;
    uint32_t slots = node_queue_slots(asking->node, entry);
    Bucket bucket = entry->bucket;
    int64_t boot_ms = 0;
    if (queue_paused(def, asking->now.wall_ms))
        say(asking, (Reason){ .kind = REASON_QUEUE_PAUSED,
                              .text = def->pause_reason,
                              .until_ms = def->paused_until_ms });
    if (entry->running >= slots)
        say(asking, (Reason){ .kind = REASON_QUEUE_FULL,
                              .used = entry->running,
                              .total = slots,
                              .own = node_queue_slots_own(asking->node, entry),
                              .until_ms = first_end(asking, asking->queue) });
    if (!bucket_ready(&bucket, def, asking->now.boot_ms, &boot_ms))
        say(asking,
            (Reason){ .kind = REASON_QUEUE_RATE,
                      .total = def->rate_jobs,
                      .every_ms = def->rate_ms,
                      .until_ms = asking->now.wall_ms + boot_ms - asking->now.boot_ms });
}

static void of_tenant(const Asking *asking)
{
    if (node_quota_full(asking->node, asking->tenant))
        say(asking, (Reason){ .kind = REASON_TENANT_FULL,
                              .total = (int64_t)node_quota_running_max(asking->node,
                                                                       asking->tenant) });
}

static void of_slots(const Asking *asking)
{
    uint32_t slots = node_slots(asking->node);
    if (!(asking->job->flags & JOB_PULL) && asking->node->slots_used >= slots)
        say(asking, (Reason){ .kind = REASON_NODE_FULL,
                              .used = asking->node->slots_used,
                              .total = slots,
                              .until_ms = first_end(asking, 0) });
}

/* --- Resources
 * --------------------------------------------------------------------------
 */

static Slice booked_of(const Running *running, Slice key)
{
    Slice rest = buf_slice(&running->bookings);
    for (Slice value; list_next(&rest, &value);)
        if (slice_equal(slice_cut(&value, '='), key))
            return value;
    return (Slice){ NULL, 0 };
}

static JobId running_id(const Asking *asking, JobId id, int64_t *out_end)
{
    const Running *running = map_find(&asking->node->running, id);
    *out_end = running ? expected_end(asking, running) : TIME_NEVER;
    return id;
}

/* In the order of their expected ends, then of their ids; the last goes when there are
 * too many. */
static void add_holder(const Asking *asking, Reason *reason, const Running *running)
{
    int64_t end_ms = expected_end(asking, running);
    uint32_t at = reason_listed(reason);
    reason->holder_count++;
    if (at == REASON_HOLDERS_MAX)
        at--;
    for (int64_t other_ms; at > 0; at--) {
        JobId other = running_id(asking, reason->holders[at - 1], &other_ms);
        if (other_ms < end_ms || (other_ms == end_ms && other < running->head.id))
            break;
        reason->holders[at] = other;
    }
    if (at < REASON_HOLDERS_MAX)
        reason->holders[at] = running->head.id;
}

/* Who holds something of it. Those of other tenants are not named. */
static void find_holders(const Asking *asking, Slice key, Reason *reason)
{
    MapEntry entry;
    int64_t until_ms = TIME_NEVER;
    for (size_t at = 0; map_next(&asking->node->running, &at, &entry);) {
        const Running *running = entry.value;
        if (!booked_of(running, key).bytes)
            continue;
        int64_t end_ms = expected_end(asking, running);
        until_ms = end_ms < until_ms ? end_ms : until_ms;
        if (running->head.tenant == asking->tenant)
            add_holder(asking, reason, running);
        else
            reason->other_count++;
    }
    reason->until_ms = until_ms == TIME_NEVER ? 0 : until_ms;
    reason->holder = reason->holder_count ? reason->holders[0] : 0;
}

static void of_manager(const Asking *asking, Slice key)
{
    const Manager *manager = node_manager_find(asking->node, key);
    if (!manager) {
        say(asking, (Reason){ .kind = REASON_RESOURCE_MISSING, .key = key });
        return;
    }
    const Resource *resource = &manager->resource;
    Reason reason = { .kind = REASON_RESOURCE_BUSY,
                      .key = resource->def.key,
                      .amount = resource->def.consumption,
                      .free = resource_free(resource),
                      .total = resource_capacity(&resource->def) };
    wants_find(asking->job->resources, &resource->def, &reason.amount);
    uint64_t whose = (uint64_t)asking->tenant << 32 | asking->type;
    bool given = resource_ask(resource, reason.amount, whose) == RESOURCE_BOOKED;
    const Lane *first = (const Lane *)(const void *)heap_first(&manager->line);
    if (given && (!first || first->refused == asking->job->id || !reason.amount))
        return;
    find_holders(asking, key, &reason);
    if (reason.amount > reason.total)
        reason.kind = REASON_RESOURCE_SMALL;
    else if (resource->def.kind == RESOURCE_HIGHLANDER)
        reason.kind = REASON_HIGHLANDER;
    else if (given) {
        reason.kind = REASON_RESOURCE_KEPT;
        reason.holder = first->tenant == asking->tenant ? first->refused : 0;
        reason.until_ms = 0;
        reason.holder_count = reason.other_count = 0;
    }
    say(asking, reason);
}

static void of_resources(const Asking *asking)
{
    Slice rest = asking->entry ? asking->entry->def.resources : (Slice){ NULL, 0 };
    for (Slice key; list_next(&rest, &key);)
        of_manager(asking, key);
    rest = asking->job->resources;
    for (Slice key; list_next(&rest, &key);) {
        key = slice_cut(&key, '=');
        if (!node_queue_charges(asking->entry, key) && key.bytes && key.data[0] != '*')
            of_manager(asking, key);
    }
}

static void of_highlander(const Asking *asking)
{
    const Handler *handler =
        node_find_handler(asking->node, asking->tenant, asking->type);
    MapEntry entry;
    if (!handler || !handler->highlander || (asking->job->flags & JOB_COMMAND))
        return;
    for (size_t at = 0; map_next(&asking->node->running, &at, &entry);) {
        const Running *running = entry.value;
        if (running->head.tenant != asking->tenant || running->head.type != asking->type)
            continue;
        say(asking, (Reason){ .kind = REASON_HIGHLANDER, .holder = running->head.id });
        return;
    }
}

void node_reasons(const Node *node, const Job *job, Now now, ReasonSink *sink,
                  void *context)
{
    Asking asking = { .node = node,
                      .job = job,
                      .now = now,
                      .sink = sink,
                      .context = context,
                      .tenant = names_find(&node->names, job->tenant),
                      .type = names_find(&node->names, job->type),
                      .queue = names_find(&node->names, job->queue) };
    asking.entry = node_queue_find(node, asking.tenant, asking.queue);
    node_itself(&asking);
    of_queue(&asking);
    of_tenant(&asking);
    of_slots(&asking);
    of_highlander(&asking);
    of_resources(&asking);
}

void node_resources(const Node *node, ResourceSink *sink, void *context)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->managers, &at, &entry);) {
        const Manager *manager = entry.value;
        if (!manager->defined)
            continue;
        ResourceFacts facts = { .def = manager->resource.def,
                                .used = manager->resource.used,
                                .free = resource_free(&manager->resource),
                                .waiting = (int64_t)manager->line.count };
        sink(context, &facts);
    }
}

const NodeSlots *node_own_slots(const Node *node)
{
    return &node->own_slots;
}
