/* SPDX-License-Identifier: Apache-2.0 */
/* node_reasons.c - see node_reasons.h. */
#include "core/node_reasons.h"

#include "core/node_inside.h"
#include "core/node_limits.h"

typedef struct Asking {
    const Node *node;
    const Job *job;
    Now now;
    ReasonSink *sink;
    void *context;
    uint32_t tenant;
    uint32_t type;
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
                              .total = slots });
    if (!bucket_ready(&bucket, def, asking->now.boot_ms, &boot_ms))
        say(asking,
            (Reason){ .kind = REASON_QUEUE_RATE,
                      .total = def->rate_jobs,
                      .every_ms = def->rate_ms,
                      .until_ms = asking->now.wall_ms + boot_ms - asking->now.boot_ms });
}

static void of_slots(const Asking *asking)
{
    uint32_t slots = node_slots(asking->node);
    if (!(asking->job->flags & JOB_PULL) && asking->node->slots_used >= slots)
        say(asking, (Reason){ .kind = REASON_NODE_FULL,
                              .used = asking->node->slots_used,
                              .total = slots });
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

/* The holder who is expected to end first, or any; *out_until is when, 0: not known. One
 * of another tenant is not named. */
static JobId first_holder(const Asking *asking, Slice key, int64_t *out_until)
{
    const Running *found = NULL;
    MapEntry entry;
    *out_until = 0;
    for (size_t at = 0; map_next(&asking->node->running, &at, &entry);) {
        const Running *running = entry.value;
        int64_t service_ms = running->head.service_ms;
        int64_t end_ms = service_ms ? running->started_ms + service_ms : 0;
        if (!booked_of(running, key).bytes)
            continue;
        bool sooner = end_ms && (!*out_until || end_ms < *out_until);
        if (!found || sooner) {
            found = running;
            *out_until = end_ms ? end_ms : *out_until;
        }
    }
    if (*out_until && *out_until < asking->now.wall_ms)
        *out_until = 0; /* it takes longer than was expected */
    return found && found->head.tenant == asking->tenant ? found->head.id : 0;
}

static void of_manager(const Asking *asking, Slice key, bool own)
{
    const Manager *manager = node_manager_find(asking->node, key);
    if (!manager && own)
        say(asking, (Reason){ .kind = REASON_RESOURCE_MISSING, .key = key });
    if (!manager)
        return;
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
    reason.holder = first_holder(asking, key, &reason.until_ms);
    if (reason.amount > reason.total)
        reason.kind = REASON_RESOURCE_SMALL;
    else if (resource->def.kind == RESOURCE_HIGHLANDER)
        reason.kind = REASON_HIGHLANDER;
    else if (given) {
        reason.kind = REASON_RESOURCE_KEPT;
        reason.holder = first->tenant == asking->tenant ? first->refused : 0;
        reason.until_ms = 0;
    }
    say(asking, reason);
}

static void of_resources(const Asking *asking)
{
    Slice queue = asking->entry ? asking->entry->def.resources : (Slice){ NULL, 0 };
    Slice rest = queue;
    for (Slice key; list_next(&rest, &key);)
        of_manager(asking, key, false);
    rest = asking->job->resources;
    for (Slice key; list_next(&rest, &key);) {
        key = slice_cut(&key, '=');
        bool again = false;
        Slice others = queue;
        for (Slice other; list_next(&others, &other);)
            again = again || slice_equal(other, key);
        if (!again && key.bytes && key.data[0] != '*')
            of_manager(asking, key, true);
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
                      .type = names_find(&node->names, job->type) };
    asking.entry =
        node_queue_find(node, asking.tenant, names_find(&node->names, job->queue));
    node_itself(&asking);
    of_queue(&asking);
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
