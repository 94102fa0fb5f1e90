/* SPDX-License-Identifier: Apache-2.0 */
/* pull.c - jobs for workers that come and ask: claims, leases, results.
 *
 * A claim waits in line until a pass finds jobs for it or its time is up. Between the
 * queues of a tenant jobs are given out in tours, as runners get them: the queue whose
 * next job has waited longest goes first, and one that had its turn waits for the others.
 * An attempt in a worker's hands holds no slot, but a lease. Nothing can be done to the
 * worker but to tell it, when it next renews, that its job is to end; when the lease is
 * over, the job is taken from it in any case. */
#include "core/dispatch/limits.h"
#include "core/node/inside.h"

#include <assert.h>

#define LOAD_PATIENCE_MS (5 * MS_PER_S) /* beyond its wait, while the store is asked */
#define DRAINING_WAIT_MS MS_PER_S       /* of a claim that can get nothing */

/* --- The lanes of a tenant --------------------------------------------------------- */

/* Each type has a lane of its own, so that a claim finds its types whatever waits before
 * them; those of one queue stand side by side. */
static bool lane_stands_before(const Lane *a, const Lane *b)
{
    return a->queue != b->queue ? a->queue < b->queue : a->type < b->type;
}

void node_pull_lane_made(Node *node, Lane *lane)
{
    PullTenant *tenant = map_find(&node->pull_tenants, lane->tenant);
    if (!tenant) {
        tenant = MEM_NEW(PullTenant);
        map_put(&node->pull_tenants, lane->tenant, tenant);
    }
    PullLane made = { lane, 0 };
    MEM_PUSH(tenant->lanes, tenant->count, tenant->capacity) = made;
    size_t at = tenant->count - 1;
    for (; at > 0 && lane_stands_before(lane, tenant->lanes[at - 1].lane); at--)
        tenant->lanes[at] = tenant->lanes[at - 1];
    tenant->lanes[at] = made;
}

void node_pull_lane_gone(Node *node, const Lane *lane)
{
    PullTenant *tenant = map_find(&node->pull_tenants, lane->tenant);
    size_t at = 0;
    while (tenant->lanes[at].lane != lane)
        at++;
    tenant->count--;
    memmove(&tenant->lanes[at], &tenant->lanes[at + 1],
            (tenant->count - at) * sizeof *tenant->lanes);
}

/* Ready jobs at the front of a lane whose type has no handler any more wait elsewhere. */
void node_pull_block(Node *node, Lane *lane)
{
    while (lane_count(lane) && !node_can_run(node, lane_first(lane)) &&
           !map_find(&node->pins, lane_first(lane)->id)) {
        Head head = lane_take(lane);
        node_block(node, &head);
    }
    node->pull_stirred = true;
}

/* --- Jobs whose handler has become one of the other kind ---------------------------- */

#define LANE_FLAGS (JOB_PULL | JOB_SEGREGATED)

bool node_pull_misplaced(const Node *node, const Head *head)
{
    const Handler *handler = node_usable_handler(node, head->tenant, head->type);
    return handler && !(head->flags & JOB_COMMAND) &&
           (handler->lang == LANG_PULL) != ((head->flags & JOB_PULL) != 0);
}

/* The ready job waits in the other kind of lane from now on. */
Head node_pull_replace(Node *node, const Head *head)
{
    Head other = *head;
    bool pull = !(head->flags & JOB_PULL);
    bool segregated = pull || node_segregates(node, head->tenant);
    other.flags &= ~(uint32_t)LANE_FLAGS;
    other.flags |= pull ? (unsigned)JOB_PULL : 0;
    other.flags |= segregated ? (unsigned)JOB_SEGREGATED : 0;
    Op *op = node_op(node, OP_MOVE, head->id);
    op->from = STATE_BIT(JOB_READY);
    op->to = JOB_READY;
    op->dt_ms = head->dt_ms;
    op->fields = FIELD_LANE;
    op->flags = other.flags & LANE_FLAGS;
    node_touch(node, head->id);
    return other;
}

static void find_misplaced(const Node *node, const HeadList *list, size_t from,
                           HeadList *out)
{
    for (size_t i = from; i < list->count; i++)
        if (node_pull_misplaced(node, &list->items[i]) &&
            !map_find(&node->pins, list->items[i].id))
            MEM_PUSH(out->items, out->count, out->capacity) = list->items[i];
}

void node_pull_handler_changed(Node *node, uint32_t tenant_number)
{
    HeadList misplaced = { 0 };
    MapEntry entry;
    for (size_t at = 0; map_next(&node->lanes, &at, &entry);) {
        const Lane *lane = entry.value;
        if (lane->tenant != tenant_number)
            continue;
        find_misplaced(node, &lane->window, lane->first, &misplaced);
        find_misplaced(node, &lane->aside, 0, &misplaced);
    }
    for (size_t i = 0; i < misplaced.count; i++) {
        node_unready(node, &misplaced.items[i]);
        node_ready(node, &misplaced.items[i]);
    }
    mem_free(misplaced.items);
    PullTenant *tenant = map_find(&node->pull_tenants, tenant_number);
    for (size_t i = tenant ? tenant->count : 0; i-- > 0;)
        node_lane_changed(node, tenant->lanes[i].lane);
}

/* --- At the end ----------------------------------------------------------------------
 */

static void free_claim(Claim *claim)
{
    arena_done(&claim->arena);
    mem_free(claim);
}

void node_pull_free(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->pull_tenants, &at, &entry);) {
        PullTenant *tenant = entry.value;
        mem_free(tenant->lanes);
        map_done(&tenant->offered);
        mem_free(tenant);
    }
    map_done(&node->pull_tenants);
    for (Claim *next = node->claims; next;) {
        Claim *claim = next;
        next = claim->next;
        free_claim(claim);
    }
}

/* --- Which job a claim gets -------------------------------------------------------- */

Wanted wanted_of(const Node *node, Slice list)
{
    Wanted wanted = { .any = !list.bytes };
    Slice item;
    while (wanted.count < CLAIM_NAMES_MAX && list_next(&list, &item)) {
        uint32_t number = names_find(&node->names, item);
        if (number)
            wanted.numbers[wanted.count++] = number;
    }
    return wanted;
}

bool wants(const Wanted *wanted, uint32_t number)
{
    for (size_t i = 0; i < wanted->count && !wanted->any; i++)
        if (wanted->numbers[i] == number)
            return true;
    return wanted->any;
}

typedef struct Wish {
    Wanted queues;
    Wanted types;
} Wish;

typedef struct Offer {
    Lane *lane;
    Admission admission;
    int64_t dt_ms;
    JobId id;
    bool had_turn;
} Offer;

/* What shares a turn: a queue, or a type of it where the tenant segregates them. */
static uint64_t turn_key(const Node *node, const Lane *lane)
{
    uint32_t type = node_segregates(node, lane->tenant) ? lane->type : 0;
    return (uint64_t)type << 32 | lane->queue;
}

/* The lane's next head, from where the search stands, that the claim would take and no
 * one is acting on; NULL: none. */
static const Head *next_head(const Node *node, PullLane *at, const Wish *wish)
{
    for (; at->look < lane_count(at->lane); at->look++) {
        const Head *head = lane_at(at->lane, at->look);
        if (wants(&wish->types, head->type) && !map_find(&node->pins, head->id))
            return head;
    }
    return NULL;
}

static PullLane *first_of(const Node *node, PullLane *lanes, size_t count,
                          const Wish *wish)
{
    PullLane *best = NULL;
    const Head *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const Head *head = next_head(node, &lanes[i], wish);
        if (!head || (best && !lane_head_before(best->lane, head, first)))
            continue;
        best = &lanes[i];
        first = head;
    }
    return best;
}

/* The first job, in the order of the queue, of lanes that share a turn. One that cannot
 * start for a reason of its own is passed over; what lacks a resource ends the search,
 * unless the queue's policy looks further. */
static bool group_offer(Node *node, PullLane *lanes, size_t count, const Wish *wish,
                        Offer *out)
{
    for (size_t i = 0; i < count; i++)
        lanes[i].look = 0;
    for (PullLane *at; (at = first_of(node, lanes, count, wish));) {
        Admit admit = node_admit_at(node, at->lane, at->look, &out->admission);
        if (admit == ADMIT_YES) {
            const Head *head = lane_at(at->lane, at->look);
            out->lane = at->lane;
            out->dt_ms = head->dt_ms;
            out->id = head->id;
            return true;
        }
        if (admit == ADMIT_SHUT || (admit == ADMIT_WAIT && !at->lane->scans))
            return false;
        at->look++;
    }
    return false;
}

static bool offer_before(const Offer *a, const Offer *b)
{
    if (!b->lane)
        return true;
    if (a->had_turn != b->had_turn)
        return b->had_turn;
    return a->dt_ms != b->dt_ms ? a->dt_ms < b->dt_ms : a->id < b->id;
}

static Offer best_offer(Node *node, const PullTenant *tenant, const Wish *wish)
{
    Offer best = { 0 };
    for (size_t from = 0, to; from < tenant->count; from = to) {
        const Lane *lane = tenant->lanes[from].lane;
        uint64_t key = turn_key(node, lane);
        to = from + 1;
        while (to < tenant->count && turn_key(node, tenant->lanes[to].lane) == key)
            to++;
        Offer offer = { .had_turn = map_find(&tenant->offered, key) != NULL };
        if (wants(&wish->queues, lane->queue) &&
            group_offer(node, &tenant->lanes[from], to - from, wish, &offer) &&
            offer_before(&offer, &best))
            best = offer;
    }
    return best;
}

/* A tour is over when every lane that has jobs had its turn. */
static void take_turn(const Node *node, PullTenant *tenant, const Lane *lane)
{
    map_put(&tenant->offered, turn_key(node, lane), tenant);
    for (size_t i = 0; i < tenant->count; i++)
        if (lane_count(tenant->lanes[i].lane) &&
            !map_find(&tenant->offered, turn_key(node, tenant->lanes[i].lane)))
            return;
    map_done(&tenant->offered);
}

static Running *hold_lease(Node *node, const Head *head, const Claim *claim)
{
    Running *running = node_hold(node, head, &(BatchPlace){ 0 });
    running->started_ms = node->now.wall_ms;
    running->ready_ms = head->dt_ms;
    running->adopted = true;
    running->lease_ms = claim->ask.lease_ms;
    running->lease_boot = node->now.boot_ms + claim->ask.lease_ms;
    running->renewed_boot = node->now.boot_ms;
    node_hold_handler(node, running);
    if (head->max_run_ms)
        running->deadline_boot = node->now.boot_ms + head->max_run_ms;
    node_timer_set(node, running);
    return running;
}

static ClaimItem give(Node *node, PullTenant *tenant, const Offer *offer,
                      const Claim *claim)
{
    Head head = lane_take_at(offer->lane, offer->admission.at);
    take_turn(node, tenant, offer->lane);
    node_lane_changed(node, offer->lane);
    head.attempt++;
    Running *running = hold_lease(node, &head, claim);
    node_book(node, running, &offer->admission);
    Op *op = node_op(node, OP_CLAIM, head.id);
    op->from = STATE_BIT(JOB_READY);
    op->attempt = head.attempt;
    op->lock = node->options.sysid;
    op->dt_ms = node->now.wall_ms + claim->ask.lease_ms;
    op->message = node_keep(node, claim->ask.worker);
    op->version = running->version;
    op->bookings = node_keep(node, buf_slice(&running->bookings));
    Effect *changed = node_changed(node, &head, JOB_READY, JOB_RUNNING);
    int64_t waited_ms = node->now.wall_ms - head.dt_ms;
    changed->wait_ms = waited_ms > 0 ? waited_ms : 0;
    node->started++;
    return (ClaimItem){ .id = head.id, .attempt = head.attempt };
}

static void answer_claim(Node *node, const Claim *claim, const ClaimItem *items,
                         size_t count)
{
    Effect *reply = node_reply(node, claim->request, ERR_OK, NULL);
    reply->items = items;
    reply->count = count;
}

/* False: there is nothing for it now. */
static bool serve(Node *node, const Claim *claim)
{
    uint32_t number = names_find(&node->names, claim->tenant);
    PullTenant *tenant = number ? map_find(&node->pull_tenants, number) : NULL;
    if (!tenant || !node->settings.enabled || node->no_room)
        return false;
    ClaimItem *items = NULL;
    size_t count = 0;
    const Wish wish = { wanted_of(node, claim->ask.queues),
                        wanted_of(node, claim->ask.types) };
    while (count < claim->max) {
        Offer offer = best_offer(node, tenant, &wish);
        if (!offer.lane)
            break;
        if (!items)
            items = arena_take(&node->out->batch.arena, claim->max * sizeof(ClaimItem));
        items[count++] = give(node, tenant, &offer, claim);
    }
    if (count)
        answer_claim(node, claim, items, count);
    return count > 0;
}

/* Whether the store may still have something for it that the lanes do not show. */
static bool loading(const Node *node, const Claim *claim)
{
    uint32_t number = names_find(&node->names, claim->tenant);
    const PullTenant *tenant = number ? map_find(&node->pull_tenants, number) : NULL;
    for (size_t i = 0; tenant && i < tenant->count; i++)
        if (tenant->lanes[i].lane->loading)
            return true;
    return false;
}

/* --- Claims that wait -------------------------------------------------------------- */

void node_claim(Node *node, const Event *event)
{
    if (node->drain.closed) {
        node_reply(node, event->request, ERR_UNAVAILABLE, "draining");
        return;
    }
    Claim *claim = MEM_NEW(Claim);
    claim->request = event->request;
    claim->tenant = slice_copy(&claim->arena, event->tenant);
    claim->ask = event->claim;
    claim->ask.queues = slice_copy(&claim->arena, event->claim.queues);
    claim->ask.types = slice_copy(&claim->arena, event->claim.types);
    claim->ask.worker = slice_copy(&claim->arena, event->claim.worker);
    claim->max = event->count < CLAIM_JOBS_MAX ? event->count : CLAIM_JOBS_MAX;
    claim->until_boot = node->now.boot_ms + event->claim.wait_ms;
    if (node->draining && event->claim.wait_ms > DRAINING_WAIT_MS)
        claim->until_boot = node->now.boot_ms + DRAINING_WAIT_MS;
    Claim **last = &node->claims;
    while (*last)
        last = &(*last)->next;
    *last = claim;
    node->pull_stirred = node->touched_pass = true;
}

static bool waits_on(const Node *node, const Claim *claim)
{
    int64_t late_ms = node->now.boot_ms - claim->until_boot;
    return late_ms < 0 || (loading(node, claim) && late_ms < LOAD_PATIENCE_MS);
}

void node_pull_hurry(Node *node)
{
    for (Claim *claim = node->claims; claim; claim = claim->next)
        if (claim->until_boot > node->now.boot_ms)
            claim->until_boot = node->now.boot_ms;
    node->pull_stirred = true;
}

/* When it is answered, whatever comes: its time is not over while the store is asked. */
static int64_t ends_boot(const Node *node, const Claim *claim)
{
    return claim->until_boot > node->now.boot_ms ? claim->until_boot
                                                 : claim->until_boot + LOAD_PATIENCE_MS;
}

/* Only when something has changed that could help a claim, and by the clock: limits of
 * queues and managers have their own. */
void node_pull_pass(Node *node)
{
    bool due =
        node->now.boot_ms >= node->claims_boot || node->now.boot_ms >= node->pull_boot;
    if (!node->claims || !(node->pull_stirred || due || node->draining))
        return;
    node->pull_stirred = false;
    node->pull_boot = node->now.boot_ms + TICK_MS;
    node->claims_boot = TIME_NEVER;
    for (Claim **at = &node->claims; *at;) {
        Claim *claim = *at;
        bool served = false;
        if (node->drain.closed)
            node_reply(node, claim->request, ERR_UNAVAILABLE, "draining");
        else if (!(served = !node->draining && serve(node, claim)) &&
                 waits_on(node, claim)) {
            if (ends_boot(node, claim) < node->claims_boot)
                node->claims_boot = ends_boot(node, claim);
            at = &claim->next;
            continue;
        }
        if (!served && !node->drain.closed)
            answer_claim(node, claim, NULL, 0);
        *at = claim->next;
        free_claim(claim);
    }
}

/* --- Leases ------------------------------------------------------------------------ */

void node_pull_begin(Node *node)
{
    if (node->passes)
        return;
    MapEntry entry;
    for (size_t at = 0; map_next(&node->running, &at, &entry);) {
        Running *running = entry.value;
        if (!is_pull(running) || running->timer.number)
            continue;
        running->adopted = true;
        if (running->lease_ms < CLAIM_LEASE_MIN_MS)
            running->lease_ms = CLAIM_LEASE_MIN_MS;
        running->lease_boot = node->now.boot_ms + running->lease_ms;
        node_hold_handler(node, running);
        int64_t ran_ms = node->now.wall_ms - running->started_ms;
        if (running->head.max_run_ms)
            running->deadline_boot =
                node->now.boot_ms + running->head.max_run_ms - (ran_ms > 0 ? ran_ms : 0);
        if (running->cancelling || running->halting)
            running->stop = STOP_TERM;
        node_timer_set(node, running);
    }
}

void node_pull_stop(Node *node, Running *running, bool at_once)
{
    running->stop = at_once ? STOP_KILL : STOP_TERM;
    if (at_once)
        running->lease_boot = node->now.boot_ms;
    node_timer_set(node, running);
}

/* Its lease is over, or its time: then it has the grace to hear of it and end. */
void node_pull_timer(Node *node, Running *running)
{
    if (running->lease_boot <= node->now.boot_ms) {
        const Ending lapsed = { .kind = END_LAPSED, .progress = -1 };
        node->lapsed += running->stop != STOP_KILL;
        node_end_attempt(node, running, &lapsed);
        return;
    }
    int64_t grace_boot = node->now.boot_ms + node->settings.grace_ms;
    running->timed_out = true;
    running->stop = STOP_TERM;
    if (grace_boot < running->lease_boot)
        running->lease_boot = grace_boot;
    node_timer_set(node, running);
}

/* --- What workers tell ------------------------------------------------------------- */

static Running *find_item(const Node *node, const Event *event, const ClaimItem *item)
{
    Running *running = map_find(&node->running, item->id);
    if (!running || !item->trusted || !is_pull(running) ||
        running->head.attempt != item->attempt)
        return NULL;
    Slice tenant = names_text(&node->names, running->head.tenant);
    return !event->tenant.bytes || slice_equal(event->tenant, tenant) ? running : NULL;
}

static ClaimItem *answer_items(Node *node, const Event *event)
{
    Effect *reply = node_reply(node, event->request, ERR_OK, NULL);
    ClaimItem *items = arena_copy(&node->out->batch.arena, event->items,
                                  event->count * sizeof *event->items);
    reply->items = items;
    reply->count = event->count;
    return items;
}

/* The store is told now and then: its dt is the end of the lease, as it is after a
 * restart, which begins the lease anew. */
static void record_renewal(Node *node, Running *running)
{
    if (node->now.boot_ms < running->renewed_boot + PROGRESS_EVERY_MS)
        return;
    running->renewed_boot = node->now.boot_ms;
    Op *op = node_op(node, OP_PROGRESS, running->head.id);
    op->attempt = running->head.attempt;
    op->lock = node->options.sysid;
    op->progress = -1;
    op->dt_ms = node->now.wall_ms + running->lease_ms;
}

static ClaimStatus renew(Node *node, const Event *event, const ClaimItem *item)
{
    Running *running = find_item(node, event, item);
    if (!running)
        return CLAIM_LOST;
    if (item->progress >= 0 || item->message.bytes) {
        Event told = { .kind = EVENT_PROGRESS,
                       .id = item->id,
                       .attempt = item->attempt,
                       .progress = item->progress,
                       .message = item->message };
        node_progress(node, &told);
    }
    if (running->stop != STOP_NOT)
        return CLAIM_CANCEL; /* and its lease stays as it is */
    running->lease_boot = node->now.boot_ms + running->lease_ms;
    node_timer_set(node, running);
    record_renewal(node, running);
    return CLAIM_OK;
}

void node_renew(Node *node, const Event *event)
{
    ClaimItem *items = answer_items(node, event);
    for (size_t i = 0; i < event->count; i++)
        items[i].status = renew(node, event, &event->items[i]);
}

void node_finish(Node *node, const Event *event)
{
    ClaimItem *items = answer_items(node, event);
    for (size_t i = 0; i < event->count; i++) {
        Running *running = find_item(node, event, &event->items[i]);
        items[i].status = running ? CLAIM_OK : CLAIM_LATE;
        if (running)
            node_end_attempt(node, running, &event->items[i].ending);
        else
            node->late++;
    }
}

void node_unget(Node *node, const Event *event)
{
    const Ending ungot = { .kind = END_UNGOT, .progress = -1 };
    for (size_t i = 0; i < event->count; i++) {
        Running *running = find_item(node, event, &event->items[i]);
        if (running)
            node_end_attempt(node, running, &ungot);
    }
    node_reply(node, event->request, ERR_OK, NULL);
}
