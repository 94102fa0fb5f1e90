/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - see limits.h. Here: who may start, and what he holds. */
#include "core/dispatch/limits.h"

#include "core/dispatch/quota.h"
#include "core/node/inside.h"
#include "core/share/booking_node.h"

#include "base/text.h"

#include <assert.h>
#include <stdlib.h>

static uint64_t type_key(const Head *head)
{
    return (uint64_t)head->tenant << 32 | head->type;
}

uint32_t node_slots(const Node *node)
{
    return node->own_slots.has_slots ? node->own_slots.slots : node->settings.slots;
}

uint32_t node_queue_slots(const Node *node, const QueueEntry *entry)
{
    uint32_t slots = entry->def.has_slots ? entry->def.slots : UINT32_MAX;
    slots_of_queue(&node->own_slots, entry->def.name, &slots);
    return slots;
}

bool node_queue_slots_own(const Node *node, const QueueEntry *entry)
{
    uint32_t slots;
    return slots_of_queue(&node->own_slots, entry->def.name, &slots);
}

static void wake_at(Node *node, int64_t boot_ms)
{
    if (boot_ms < node->limits_boot)
        node->limits_boot = boot_ms;
}

/* Whether the queue lets anything start now; if not, the node looks again in time. */
static bool queue_open(Node *node, QueueEntry *entry)
{
    int64_t boot_ms = 0;
    if (queue_paused(&entry->def, node->now.wall_ms)) {
        if (entry->def.paused_until_ms)
            wake_at(node,
                    node->now.boot_ms + entry->def.paused_until_ms - node->now.wall_ms);
        return false;
    }
    if (entry->running >= node_queue_slots(node, entry))
        return false;
    if (bucket_ready(&entry->bucket, &entry->def, node->now.boot_ms, &boot_ms))
        return true;
    wake_at(node, boot_ms);
    return false;
}

/* --- What a job is charged
 * -------------------------------------------------------------- */

static bool charged_already(const Admission *out, const Manager *manager)
{
    for (size_t i = 0; i < out->charge_count; i++)
        if (out->charges[i].manager == manager)
            return true;
    return false;
}

/* False: there is no such manager. */
static bool charge(Node *node, const Head *head, Slice key, Admission *out)
{
    Manager *manager = node_manager_find(node, key);
    if (!manager)
        return false;
    if (charged_already(out, manager) || out->charge_count == CHARGES_MAX)
        return true;
    int64_t amount = manager->resource.def.consumption;
    if (head->wants)
        wants_find(names_text(&node->names, head->wants), &manager->resource.def,
                   &amount);
    out->charges[out->charge_count++] = (Charge){ manager, amount };
    return true;
}

/* Whether all managers of the queue are there: one may have been deleted since. */
static bool can_charge(const Node *node, const QueueEntry *entry)
{
    Slice rest = entry ? entry->def.resources : (Slice){ NULL, 0 };
    for (Slice key; list_next(&rest, &key);)
        if (!node_manager_find(node, key))
            return false;
    return true;
}

/* By the managers of its queue and by those it names. False: one that it names itself is
 * not there. */
static bool charges_of(Node *node, const QueueEntry *entry, const Head *head,
                       Admission *out)
{
    out->charge_count = 0;
    Slice rest = entry ? entry->def.resources : (Slice){ NULL, 0 };
    for (Slice key; list_next(&rest, &key);)
        charge(node, head, key, out);
    rest = head->wants ? names_text(&node->names, head->wants) : (Slice){ NULL, 0 };
    for (Slice item; list_next(&rest, &item);) {
        Slice key = slice_cut(&item, '=');
        bool by_kind = key.bytes && key.data[0] == '*';
        if (!by_kind && !charge(node, head, key, out))
            return false;
    }
    return true;
}

static bool is_highlander(const Node *node, const Head *head)
{
    if (head->flags & JOB_COMMAND)
        return false;
    const Handler *handler = node_find_handler(node, head->tenant, head->type);
    return handler && handler->highlander;
}

static bool charges_homed(const Admission *admission)
{
    for (size_t i = 0; i < admission->charge_count; i++)
        if (admission->charges[i].manager->resource.def.scope == SCOPE_CLUSTER)
            return true;
    return false;
}

bool node_head_homed(Node *node, const Head *head)
{
    Admission admission;
    if (head->flags & JOB_STAYS)
        return false; /* it works on this node's disk: counted here */
    if (is_highlander(node, head))
        return true;
    const QueueEntry *entry = node_queue_find(node, head->tenant, head->queue);
    if (!head->wants && !(entry && entry->def.resources.bytes))
        return false;
    (void)charges_of(node, entry, head, &admission);
    return charges_homed(&admission);
}

bool node_counts_homed(const Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->managers, &at, &entry);)
        if (((const Manager *)entry.value)->resource.def.scope == SCOPE_CLUSTER)
            return true;
    for (size_t at = 0; map_next(&node->handlers, &at, &entry);)
        if (((const HandlerEntry *)entry.value)->handler.highlander)
            return true;
    return false;
}

/* --- Backfill
 * ---------------------------------------------------------------------------- */

typedef struct Ends {
    int64_t at_ms;
    int64_t amount;
} Ends;

static int sooner(const void *a, const void *b)
{
    int64_t first = ((const Ends *)a)->at_ms;
    int64_t second = ((const Ends *)b)->at_ms;
    return (first > second) - (first < second);
}

static Slice booking_of(Slice bookings, Slice key)
{
    for (Slice item; list_next(&bookings, &item);) {
        Slice value = item;
        if (slice_equal(slice_cut(&value, '='), key))
            return value;
    }
    return (Slice){ NULL, 0 };
}

/* When there can be `amount` of it at the earliest, by the expected ends of those who
 * hold some. One of whom none is known may end at once: then that is now. */
static int64_t earliest_ms(const Node *node, const Manager *manager, int64_t amount)
{
    int64_t now_ms = node->now.wall_ms;
    int64_t left = resource_free(&manager->resource);
    Ends *ends = MEM_ARRAY(Ends, node->running.count + 1);
    size_t count = 0;
    MapEntry entry;
    for (size_t at = 0; map_next(&node->running, &at, &entry);) {
        const Running *running = entry.value;
        Slice value =
            booking_of(buf_slice(&running->bookings), manager->resource.def.key);
        int64_t end_ms = running->started_ms + running->head.service_ms;
        if (!running->head.service_ms || end_ms < now_ms)
            end_ms = now_ms;
        if (value.bytes)
            ends[count++] = (Ends){ end_ms, booking_amount(value) };
    }
    qsort(ends, count, sizeof *ends, sooner);
    int64_t at_ms = now_ms;
    for (size_t i = 0; i < count && left < amount; i++) {
        left += ends[i].amount;
        at_ms = ends[i].at_ms;
    }
    mem_free(ends);
    return at_ms;
}

static bool ends_before(const Node *node, const Head *head, int64_t by_ms)
{
    return head->service_ms && node->now.wall_ms + head->service_ms <= by_ms;
}

/* --- Asking
 * ------------------------------------------------------------------------------ */

/* The first of those whom the manager has refused, this one aside; NULL: none. */
static const Lane *first_refused(const Manager *manager, const Lane *lane)
{
    const Lane *first = (const Lane *)(const void *)heap_first(&manager->line);
    const Lane *next = manager->next != lane ? manager->next : NULL;
    if (!first || !next)
        return first ? first : next;
    return manager->line.before(&next->offer, &first->offer) ? next : first;
}

/* Kept for one who comes before this lane. Who is not offered in the order of lanes
 * (pull workers, those that follow into a batch) comes behind all who were refused. */
static bool reserved(const Manager *manager, const Lane *lane)
{
    const Lane *first = first_refused(manager, lane);
    return first && (!lane->in || manager->line.before(&first->offer, &lane->offer));
}

/* Whether a job may use what is left of a manager that is kept for another. */
static bool may_slip_in(const Node *node, const QueueEntry *entry, const Head *head,
                        const Manager *manager, const Lane *lane)
{
    if (!entry || entry->def.policy != POLICY_BACKFILL || !head->service_ms)
        return false;
    int64_t lacks = first_refused(manager, lane)->lacks;
    return ends_before(node, head, earliest_ms(node, manager, lacks));
}

typedef enum Say {
    SAY_YES,
    SAY_NOT_ENOUGH,
    SAY_EXHAUSTED,
    SAY_NOT_THIS, /* this job cannot start now, whatever the others do */
} Say;

static Say ask(const Node *node, const QueueEntry *entry, const Lane *lane,
               const Head *head, const Charge *charge)
{
    const Resource *resource = &charge->manager->resource;
    if (!charge->amount)
        return SAY_YES;
    ResourceAnswer answer = resource_ask(resource, charge->amount, type_key(head));
    if (resource->def.kind == RESOURCE_HIGHLANDER)
        return answer == RESOURCE_BOOKED ? SAY_YES : SAY_NOT_THIS;
    if (charge->amount > resource_capacity(&resource->def))
        return SAY_NOT_THIS; /* it became smaller: one job never freezes a manager */
    if (answer == RESOURCE_EXHAUSTED)
        return SAY_EXHAUSTED;
    if (answer == RESOURCE_NOT_ENOUGH)
        return SAY_NOT_ENOUGH;
    bool kept = reserved(charge->manager, lane) &&
                !may_slip_in(node, entry, head, charge->manager, lane);
    return kept ? SAY_NOT_ENOUGH : SAY_YES;
}

/* A highlander handler: at most one instance runs (S3.48), over all nodes: at its home.
 */
static bool another_may_run(const Node *node, const Head *head)
{
    bool elsewhere = !booking_node_here(node) && !(head->flags & JOB_STAYS);
    return is_highlander(node, head) &&
           (map_find(&node->types, type_key(head)) || elsewhere);
}

/* With policy skip nothing is kept for a job: it lacks what it lacks now. */
static bool waited_for(const QueueEntry *entry, const Lane *lane, const Head *head,
                       const Manager *manager)
{
    return lane->lacked == manager && lane->lacked_by == head->id &&
           !(entry && entry->def.policy == POLICY_SKIP);
}

static Say judge(Node *node, const QueueEntry *entry, const Lane *lane, const Head *head,
                 Admission *out)
{
    if (another_may_run(node, head))
        return SAY_NOT_THIS;
    if (!head->wants && !(entry && entry->def.resources.bytes)) {
        out->charge_count = 0;
        return SAY_YES;
    }
    if (!charges_of(node, entry, head, out))
        return SAY_NOT_THIS;
    if (!booking_node_here(node) && charges_homed(out) && !(head->flags & JOB_STAYS))
        return SAY_NOT_THIS; /* it is given to the node that counts it */
    Say worst = SAY_YES;
    for (size_t i = 0; i < out->charge_count; i++) {
        Say say = ask(node, entry, lane, head, &out->charges[i]);
        /* What it waited for is kept for it until it is enough, whatever else it lacks.
         */
        bool still = (say == SAY_NOT_ENOUGH || say == SAY_EXHAUSTED) &&
                     waited_for(entry, lane, head, out->charges[i].manager);
        if (still || say > worst) {
            worst = say;
            out->lacking = out->charges[i].manager;
            out->lacks = out->charges[i].amount;
        }
        if (still)
            break;
    }
    return worst;
}

/* What is remembered while a lane is looked through. */
typedef struct Scan {
    QueuePolicy policy;
    bool refused; /* a job was, for lack of `lacking` */
    Manager *lacking;
    int64_t lacks;
    JobId lacked_by;
    int64_t by_ms; /* backfill: when the refused one could start at the earliest */
} Scan;

static void note_refusal(const Node *node, Scan *scan, JobId id, const Admission *out)
{
    if (scan->refused)
        return;
    scan->refused = true;
    scan->lacking = out->lacking;
    scan->lacks = out->lacks;
    scan->lacked_by = id;
    if (scan->policy == POLICY_BACKFILL)
        scan->by_ms = earliest_ms(node, out->lacking, out->lacks);
}

/* Whether the lane's answer is clear now that `say` was said of a head. */
static bool settled(const Node *node, Scan *scan, Say say, const Head *head,
                    const Admission *out)
{
    switch (say) {
    case SAY_YES:
        return !scan->refused || scan->policy == POLICY_SKIP ||
               ends_before(node, head, scan->by_ms);
    case SAY_NOT_THIS:
        return false; /* passed over: it stops no lane and closes no manager */
    case SAY_NOT_ENOUGH:
        if (scan->policy != POLICY_SKIP)
            note_refusal(node, scan, head->id, out);
        return scan->policy == POLICY_FAIR;
    case SAY_EXHAUSTED:
        note_refusal(node, scan, head->id, out);
        return scan->policy != POLICY_BACKFILL;
    }
    return true;
}

Admit node_admit(Node *node, Lane *lane, Admission *out)
{
    QueueEntry *entry = node_queue_here(node, lane->tenant, lane->queue);
    Scan scan = { .policy = entry ? entry->def.policy : POLICY_FAIR };
    out->charge_count = 0;
    out->lacking = NULL;
    out->wavers = scan.policy != POLICY_FAIR;
    out->pinned = false;
    if (entry && !queue_open(node, entry))
        return ADMIT_SHUT;
    if (node_quota_full(node, lane->tenant) || !can_charge(node, entry))
        return ADMIT_STUCK; /* until something ends, or is defined */
    size_t count = lane_count(lane);
    for (size_t at = 0; at < count && at < SCAN_JOBS_MAX; at++) {
        const Head *head = lane_at(lane, at);
        out->wavers = out->wavers || at;
        if (at && !node_can_run(node, head))
            continue;
        Say say = judge(node, entry, lane, head, out);
        if (!settled(node, &scan, say, head, out))
            continue;
        out->at = at;
        out->pinned = map_find(&node->pins, head->id) != NULL;
        if (say == SAY_YES)
            return ADMIT_YES;
        break;
    }
    out->lacking = scan.lacking;
    out->lacks = scan.lacks;
    out->lacked_by = scan.lacked_by;
    return scan.refused ? ADMIT_WAIT : ADMIT_STUCK;
}

Admit node_admit_at(Node *node, Lane *lane, size_t at, Admission *out)
{
    static const Admit answers[] = {
        [SAY_YES] = ADMIT_YES,
        [SAY_NOT_ENOUGH] = ADMIT_WAIT,
        [SAY_EXHAUSTED] = ADMIT_WAIT,
        [SAY_NOT_THIS] = ADMIT_STUCK,
    };
    QueueEntry *entry = node_queue_here(node, lane->tenant, lane->queue);
    if (entry && !queue_open(node, entry))
        return ADMIT_SHUT;
    const Head *head = lane_at(lane, at);
    out->at = at;
    out->charge_count = 0;
    if (!node_can_run(node, head) || node_quota_full(node, lane->tenant) ||
        !can_charge(node, entry))
        return ADMIT_STUCK;
    return answers[judge(node, entry, lane, head, out)];
}

/* --- Booking
 * ------------------------------------------------------------------------------ */

static void count_type(Node *node, const Head *head, int change)
{
    uint64_t key = type_key(head);
    uintptr_t running = (uintptr_t)map_find(&node->types, key);
    if (change < 0 && running <= 1)
        map_remove(&node->types, key);
    else
        map_put(&node->types, key, (void *)(change < 0 ? running - 1 : running + 1));
}

static bool key_before(Slice a, Slice b)
{
    size_t common = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    return order ? order < 0 : a.bytes < b.bytes;
}

/* The charge whose key comes next behind `key`; bookings are kept in this order, because
 * stores give them back in it. */
static const Charge *next_charge(const Admission *admission, Slice key)
{
    const Charge *next = NULL;
    for (size_t i = 0; i < admission->charge_count; i++) {
        const Charge *charge = &admission->charges[i];
        Slice own = charge->manager->resource.def.key;
        if (key_before(key, own) &&
            (!next || key_before(own, next->manager->resource.def.key)))
            next = charge;
    }
    return next;
}

void node_book(Node *node, Running *running, const Admission *admission)
{
    const Head *head = &running->head;
    Slice key = { NULL, 0 };
    for (const Charge *charge; (charge = next_charge(admission, key));) {
        key = charge->manager->resource.def.key;
        resource_book(&charge->manager->resource, charge->amount, type_key(head),
                      &running->bookings);
    }
    QueueEntry *entry = node_queue_find(node, head->tenant, head->queue);
    if (entry)
        bucket_take(&entry->bucket, &entry->def, node->now.boot_ms);
    node_book_loaded(node, running, (Slice){ NULL, 0 });
}

void node_book_loaded(Node *node, Running *running, Slice bookings)
{
    const Head *head = &running->head;
    Slice rest = bookings;
    buf_add_slice(&running->bookings, bookings);
    for (Slice item; list_next(&rest, &item);) {
        Slice value = item;
        Manager *manager = node_manager_find(node, slice_cut(&value, '='));
        if (manager)
            resource_hold(&manager->resource, value, type_key(head));
    }
    QueueEntry *entry = node_queue_find(node, head->tenant, head->queue);
    if (entry)
        entry->running++;
    count_type(node, head, 1);
    node_quota_runs(node, head->tenant, 1);
    running->booked = true;
}

void node_unbook(Node *node, Running *running)
{
    const Head *head = &running->head;
    if (!running->booked)
        return;
    running->booked = false;
    count_type(node, head, -1);
    node_quota_runs(node, head->tenant, -1);
    Slice rest = buf_slice(&running->bookings);
    for (Slice item; list_next(&rest, &item);) {
        Slice value = item;
        Manager *manager = node_manager_find(node, slice_cut(&value, '='));
        if (!manager)
            continue;
        resource_release(&manager->resource, value, type_key(head));
        node_line_moves(node, manager);
    }
    QueueEntry *entry = node_queue_find(node, head->tenant, head->queue);
    if (entry) {
        entry->running--;
        node_queue_opens(node, entry);
    }
    node_unstick(node);
}

static void check_manager(const Node *node, const Manager *manager)
{
    resource_check(&manager->resource);
    int64_t used = 0;
    MapEntry entry;
    for (size_t at = 0; map_next(&node->running, &at, &entry);) {
        const Running *running = entry.value;
        Slice value =
            booking_of(buf_slice(&running->bookings), manager->resource.def.key);
        /* A booking of the kind that it was before counts for nothing. */
        bool listed = manager->resource.def.kind == RESOURCE_DISCRETE;
        used += booking_has_items(value) == listed ? booking_amount(value) : 0;
    }
    /* Items that are no longer in the list are held, but not of what there is now. */
    if (manager->resource.def.kind == RESOURCE_QUANTITY)
        assert(manager->resource.used == used);
    else
        assert(manager->resource.used <= used);
    assert(!manager->next || manager->next->next_for == manager);
}

void node_limits_check(const Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->managers, &at, &entry);) {
        const Manager *manager = entry.value;
        if (manager->defined)
            check_manager(node, manager);
    }
}
