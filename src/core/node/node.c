/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - see node.h. Here: birth, the step, and small tools of the other node_*.c. */
#include "core/dispatch/limits.h"
#include "core/dispatch/quota.h"
#include "core/node/drain.h"
#include "core/node/inside.h"
#include "core/share/booking_node.h"
#include "core/share/key_confirm.h"
#include "core/share/share.h"

#include <assert.h>

#define NOT_OWED (UINT64_C(1) << 63) /* comes behind all that are */

NodeSettings node_settings_default(void)
{
    return (NodeSettings){
        .slots = 4,
        .enabled = true,
        .grace_ms = 10 * MS_PER_S,
        .lease_ms = 30 * MS_PER_S,
        .poll_ms = MS_PER_S,
        .retry_delay_ms = 5 * MS_PER_S,
        .retry_delay_max_ms = 5 * MS_PER_MIN,
        .retry_window_ms = 6 * MS_PER_HOUR,
        .keep_done_ms = 14 * MS_PER_DAY,
        .keep_other_ms = 30 * MS_PER_DAY,
        .controller_stale_ms = 2 * MS_PER_MIN,
        .chain_max = 1000,
    };
}

/* Lanes that were refused for lack of a resource go first, in the order in which they
 * were; then lanes are offered by tour, and within one, the lane whose head has waited
 * longest goes first (S3.54). */
static bool lane_before(const HeapNode *a, const HeapNode *b)
{
    const Lane *left = (const Lane *)(const void *)a;
    const Lane *right = (const Lane *)(const void *)b;
    if (left->owed != right->owed)
        return left->owed - 1 < right->owed - 1; /* 0, not owed, is the last */
    if (left->tour != right->tour)
        return left->tour < right->tour;
    if (left->since_ms != right->since_ms)
        return left->since_ms < right->since_ms;
    return left->first_id < right->first_id;
}

/* The same, as far as it can be said without looking at both. */
static HeapKey lane_key(const HeapNode *node)
{
    const Lane *lane = (const Lane *)(const void *)node;
    if (lane->owed)
        return (HeapKey){ .major = lane->owed };
    return (HeapKey){ .major = lane->tour | NOT_OWED, .minor = lane->since_ms };
}

static bool timer_before(const HeapNode *a, const HeapNode *b)
{
    return ((const Running *)(const void *)a)->wake_boot <
           ((const Running *)(const void *)b)->wake_boot;
}

Node *node_new(const NodeOptions *options)
{
    Node *node = MEM_NEW(Node);
    node->options = *options;
    node->options.sysid = slice_copy(&node->own, options->sysid);
    node->settings = options->settings;
    node->rng.state = options->seed;
    node->ids.node = options->number;
    node->turn = options->turn;
    node->offers.before = lane_before;
    node->offers.key = lane_key;
    node->timers.before = timer_before;
    node->next_due_ms = INT64_MIN; /* unknown: ask the store first */
    node->limits_boot = TIME_NEVER;
    node->some_wait = true; /* likewise */
    node->after_due = true;
    if (options->last_id)
        id_seen(&node->ids, options->last_id);
    if (options->shared)
        node_share_begin(node);
    return node;
}

static void free_lanes(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->lanes, &at, &entry);) {
        lane_done(entry.value);
        mem_free(entry.value);
    }
    map_done(&node->lanes);
    heap_done(&node->offers);
    mem_free(node->resting);
}

static void free_asked(Node *node)
{
    MapEntry entry;
    node_pins_free(node);
    for (Asked *next = node->later; next;) {
        Asked *asked = next;
        next = asked->behind;
        arena_done(&asked->arena);
        mem_free(asked);
    }
    for (size_t at = 0; map_next(&node->asked, &at, &entry);) {
        Asked *asked = entry.value;
        arena_done(&asked->arena);
        mem_free(asked);
    }
    map_done(&node->asked);
}

void node_free(Node *node)
{
    if (!node)
        return;
    MapEntry entry;
    for (size_t at = 0; map_next(&node->running, &at, &entry);)
        node_running_free(node, entry.value);
    map_done(&node->running);
    heap_done(&node->timers);
    node_pull_free(node);
    free_lanes(node);
    node_limits_free(node);
    free_asked(node);
    node_keys_applied(node, UINT64_MAX);
    node_uniques_applied(node, UINT64_MAX);
    key_confirm_free(node);
    map_done(&node->touched);
    map_done(&node->touched_before);
    map_done(&node->unblock);
    node_handlers_free(node);
    node_tenants_free(node);
    node_quota_free(node);
    node_schedules_free(node);
    node_groups_free(node);
    node_operations_free(node);
    node_share_free(node);
    names_done(&node->names);
    mem_free(node->slots);
    arena_done(&node->own);
    mem_free(node);
}

Slice node_keep(Node *node, Slice slice)
{
    return slice_copy(&node->out->batch.arena, slice);
}

Op *node_op(Node *node, OpKind kind, JobId id)
{
    Op *op = batch_op(&node->out->batch, kind, id);
    op->at_ms = node->now.wall_ms;
    return op;
}

Effect *node_reply(Node *node, Requester request, Err err, const char *problem)
{
    /* A refusal may speak of what is decided and not yet durable; only those that speak
     * of the node itself go out at once, because a full journal must not hold them. */
    bool at_once = err == ERR_UNAVAILABLE || err == ERR_FULL;
    Effect *effect =
        outbox_effect(node->out, EFFECT_REPLY, at_once ? WAIT_NONE : WAIT_BATCH);
    effect->request = request;
    effect->err = err;
    effect->problem = problem;
    return effect;
}

Effect *node_changed(Node *node, const Head *head, JobState was, JobState state)
{
    Effect *effect = outbox_effect(node->out, EFFECT_CHANGED, WAIT_BATCH);
    effect->id = head->id;
    effect->attempt = head->attempt;
    effect->was = was;
    effect->state = state;
    effect->flags = head->flags;
    effect->priority = head->priority;
    effect->tenant = names_text(&node->names, head->tenant);
    effect->queue = names_text(&node->names, head->queue);
    effect->type = names_text(&node->names, head->type);
    effect->count = 1;
    node_group_moved(node, head, was, state);
    node_quota_moved(node, head->tenant, was, state);
    return effect;
}

void node_erase(Node *node, JobId id, uint32_t attempt)
{
    Effect *effect = outbox_effect(node->out, EFFECT_ERASE, WAIT_BATCH);
    effect->id = id;
    effect->attempt = attempt;
}

Effect *node_define(Node *node, const Event *event)
{
    Op *op = node_op(node, event->value.data ? OP_PUT : OP_DELETE, 0);
    op->table = node_keep(node, event->table);
    op->tenant = node_keep(node, event->tenant);
    op->key = node_keep(node, event->key);
    op->value = node_keep(node, event->value);
    Effect *defined = outbox_effect(node->out, EFFECT_DEFINED, WAIT_BATCH);
    defined->table = op->table;
    defined->tenant = op->tenant;
    defined->key = op->key;
    defined->value = op->value;
    return node_reply(node, event->request, ERR_OK, NULL);
}

/* Definitions that the node itself looks at; all others only go to the store. */
static const struct Definer {
    const char *table;
    void (*define)(Node *node, const Event *event);
    void (*load)(Node *node, const Definition *definition);
} definers[] = {
    { HANDLER_TABLE, node_define_handler, node_load_handler },
    { TENANT_TABLE, node_define_tenant, node_load_tenant },
    { QUEUE_TABLE, node_define_queue, node_load_queue },
    { RESOURCE_TABLE, node_define_resource, node_load_resource },
    { SLOTS_TABLE, node_define_slots, node_load_slots },
    { DRAIN_TABLE, node_define_drain, node_load_drain },
    { CONTROLLER_TABLE, NULL, node_load_controller },
    { SCHEDULE_TABLE, node_define_schedule, node_load_schedule },
    { SCHEDULE_STATES, NULL, node_load_schedule_state },
    { GROUP_TABLE, node_define_group, node_load_group_definition },
    { OPERATION_TABLE, node_define_operation, node_load_operation },
    { OWED_TABLE, NULL, node_load_owed },
    { HOME_TABLE, NULL, node_load_home },
};
#define DEFINERS (sizeof definers / sizeof *definers)

/* Another node has put or deleted a definition. */
static void node_change(Node *node, const Event *event)
{
    size_t ops = node->out->batch.count;
    Definition definition = { event->tenant, event->key, event->value };
    if (event->value.data)
        node_load_definition(node, event->table, &definition);
    for (size_t i = 0; !event->value.data && i < DEFINERS; i++)
        if (slice_is(event->table, definers[i].table) && definers[i].define)
            definers[i].define(node, event);
    node->out->batch.count = ops; /* the store has it already */
    node_reload_lanes(node);      /* what a handler frees */
    node_unstick(node);
    Effect *defined = outbox_effect(node->out, EFFECT_DEFINED, WAIT_NONE);
    defined->table = node_keep(node, event->table);
    defined->tenant = node_keep(node, event->tenant);
    defined->key = node_keep(node, event->key);
    if (event->value.data)
        defined->value = node_keep(node, event->value);
}

static void define(Node *node, const Event *event)
{
    for (size_t i = 0; i < DEFINERS; i++) {
        if (!slice_is(event->table, definers[i].table) || !definers[i].define)
            continue;
        definers[i].define(node, event);
        return;
    }
    node_define(node, event);
}

const char *node_definitions(size_t number)
{
    return number < DEFINERS ? definers[number].table : NULL;
}

void node_load_definition(Node *node, Slice table, const Definition *definition)
{
    for (size_t i = 0; i < DEFINERS; i++)
        if (slice_is(table, definers[i].table))
            definers[i].load(node, definition);
}

static void started(Node *node, const Event *event)
{
    Running *running = map_find(&node->running, event->id);
    if (!running || running->head.attempt != event->attempt)
        return;
    running->adopted = true;
    if (event->kind != EVENT_STARTED || !running->head.max_run_ms)
        return;
    running->deadline_boot = node->now.boot_ms + running->head.max_run_ms;
    node_timer_set(node, running);
}

/* What has to do with other nodes of the store. */
static void take_of_others(Node *node, const Event *event)
{
    if (event->kind == EVENT_PEERS)
        node_share_peers(node, event);
    else if (event->kind == EVENT_HINT)
        node_share_hint(node);
    else
        node_share_post(node, event);
}

static void take(Node *node, const Event *event)
{
    switch (event->kind) {
    case EVENT_ADD:
        node_add(node, event);
        return;
    case EVENT_ADD_LINES:
        node_add_lines(node, event);
        return;
    case EVENT_ACT:
        node_act(node, event);
        return;
    case EVENT_LOADED:
        node_loaded(node, event);
        return;
    case EVENT_APPLIED:
        node_applied(node, event->number);
        return;
    case EVENT_COMMITTED:
        return; /* only a shared store loses claims */
    case EVENT_ADOPTED:
    case EVENT_STARTED:
        started(node, event);
        return;
    case EVENT_ENDED:
        node_ended(node, event);
        return;
    case EVENT_PROGRESS:
        node_progress(node, event);
        return;
    case EVENT_LAUNCHER_LOST:
        node_launcher_lost(node);
        return;
    case EVENT_DEFINE:
        define(node, event);
        return;
    case EVENT_DRAIN:
    case EVENT_RESUME:
        node_drain(node, event);
        return;
    case EVENT_TRIGGER:
        node_trigger(node, event);
        return;
    case EVENT_ROOM:
        node->no_room = !event->flag;
        return;
    case EVENT_CLAIM:
        node_claim(node, event);
        return;
    case EVENT_RENEW:
        node_renew(node, event);
        return;
    case EVENT_FINISH:
        node_finish(node, event);
        return;
    case EVENT_UNGET:
        node_unget(node, event);
        return;
    case EVENT_PEERS:
    case EVENT_HINT:
    case EVENT_POST:
        take_of_others(node, event);
        return;
    case EVENT_CHANGE:
        node_change(node, event);
        return;
    case EVENT_USES:
        node_quota_heard(node, event);
        return;
    }
}

void node_step(Node *node, Now now, const Event *events, size_t count, Outbox *out)
{
    assert(node->recovered);
    node->now = now;
    node->out = out;
    out->number = node->turn + 1;
    out->adds.number = out->batch.number = out->number;
    out->adds.node = out->batch.node = node->options.number;
    node_pull_begin(node);
    node_lost_attempts(node);
    node_share_lease(node);
    for (size_t i = 0; i < count; i++)
        take(node, &events[i]);
    node_timers(node);
    node_limits_duties(node);
    node_controller(node);
    node_duties(node);
    node_schedules(node);
    node_share_duties(node);
    if (node->touched_pass || now.boot_ms >= node->tick_boot) {
        node->touched_pass = false;
        node->tick_boot = now.boot_ms + node->settings.poll_ms;
        node_pass(node);
        node_pull_pass(node);
    } else if (node->claims && now.boot_ms >= node->claims_boot) {
        node_pull_pass(node); /* someone has waited long enough */
    }
    node_share_answers(node);
    if (out->adds.count || out->batch.count)
        node->turn = out->number;
    node->out = NULL;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The boot time of a moment on the wall clock, as far as can be told: it may be set while
 * we sleep, the tick bounds the surprise. */
static int64_t boot_of(const Node *node, int64_t wall_ms)
{
    if (wall_ms == TIME_NEVER)
        return TIME_NEVER;
    int64_t now_ms = node->now.wall_ms;
    return node->now.boot_ms + (wall_ms > now_ms ? wall_ms - now_ms : 0);
}

int64_t node_next_wake(const Node *node)
{
    int64_t wake = earlier(node->tick_boot, node->now.boot_ms + TICK_MS);
    if (node->touched_pass)
        wake = 0;
    wake = earlier(wake, node_limits_wake(node));
    wake = earlier(wake, node_share_wake(node));
    const HeapNode *timer = heap_first(&node->timers);
    if (timer)
        wake = earlier(wake, ((const Running *)(const void *)timer)->wake_boot);
    if (node->claims)
        wake = earlier(wake, node->claims_boot);
    if (!node->due_loading)
        wake = earlier(wake, boot_of(node, node->next_due_ms));
    wake = earlier(wake, boot_of(node, node_schedules_due(node)));
    return earlier(wake, node->controller_boot);
}

void node_load_running(Node *node, const Job *job)
{
    Head head = head_of(job, &node->names);
    Running *running = node_hold(node, &head, &(BatchPlace){ 0 });
    running->started_ms = job->started_ms;
    running->ready_ms = job->started_ms;
    running->version = job->version;
    running->paused_boot = job->state == JOB_PAUSED ? 1 : 0;
    running->cancelling = (job->flags & JOB_CANCELLING) != 0;
    running->halting = !running->cancelling && (job->flags & JOB_HALTING);
    if (is_pull(running))
        running->lease_ms = job->dt_ms - job->beat_ms; /* as both were last written */
    if (running->cancelling)
        buf_add_slice(&running->reason, job->reason);
    node_book_loaded(node, running, job->bookings);
}

void node_load_held(Node *node, const Job *job)
{
    Head head = head_of(job, &node->names);
    lane_hold(node_lane(node, &head), &head);
}

void node_load_lane(Node *node, const Job *first)
{
    Head head = head_of(first, &node->names);
    Lane *lane = node_lane(node, &head);
    lane->more = true;
}

/* How long an attempt may still run, as far as that is known after a restart. Since when
 * a paused one has been so is not: it gets its time anew rather than none. */
static int64_t left_ms(const Running *running, Now now)
{
    int64_t max_ms = running->head.max_run_ms;
    int64_t left = running->started_ms + max_ms - now.wall_ms;
    return left > max_ms || running->paused_boot ? max_ms : left;
}

bool node_adopt(Node *node, JobId id, uint32_t attempt, Now now)
{
    Running *running = map_find(&node->running, id);
    if (!running || running->head.attempt != attempt)
        return false;
    running->adopted = true;
    node_hold_handler(node, running);
    if (running->head.max_run_ms)
        running->deadline_boot = now.boot_ms + left_ms(running, now);
    if (running->paused_boot)
        running->paused_boot = now.boot_ms;
    node_timer_set(node, running);
    return true;
}

void node_recovered(Node *node)
{
    node->recovered = true;
    node->touched_pass = true;
}

void node_settings_set(Node *node, const NodeSettings *settings)
{
    bool sort = node->settings.fair_tenants != settings->fair_tenants;
    if (node->settings.lease_ms != settings->lease_ms)
        node->beat_boot = 0; /* what runs promises the next sign of life anew */
    node->settings = *settings;
    node->touched_pass = true;
    if (sort)
        node_lanes_sort(node);
    if (node->controller_boot != TIME_NEVER)
        node->controller_boot = 0; /* its interval may be another */
}

const NodeSettings *node_settings(const Node *node)
{
    return &node->settings;
}

int64_t node_oldest(const Node *node, Slice tenant, Slice queue)
{
    uint32_t tenant_number = names_find(&node->names, tenant);
    uint32_t queue_number = names_find(&node->names, queue);
    int64_t oldest_ms = TIME_NEVER;
    MapEntry entry;
    for (size_t at = 0; map_next(&node->lanes, &at, &entry);) {
        const Lane *lane = entry.value;
        if (lane->tenant == tenant_number && lane->queue == queue_number &&
            lane_count(lane) && lane_first(lane)->dt_ms < oldest_ms)
            oldest_ms = lane_first(lane)->dt_ms;
    }
    return oldest_ms;
}

size_t node_schedule_count(const Node *node)
{
    return node->schedules.count;
}

NodeFacts node_facts(const Node *node)
{
    NodeFacts facts = {
        .spare = node_share_spare(node),
        .pull = node_share_pull(node),
        .slots = node_slots(node),
        .slots_used = node->slots_used,
        .lanes = (uint32_t)node->lanes.count,
        .lanes_ready = (uint32_t)node->offers.count,
        .passes = node->passes,
        .started = node->started,
        .late = node->late,
        .lapsed = node->lapsed,
        .draining = node->draining,
        .drained = node->drain.asked,
    };
    node_share_count(node, &facts);
    return facts;
}

uint64_t node_ids_pass(Node *node, int64_t wall_ms)
{
    return id_take(&node->ids, wall_ms, 0);
}

static RunningJob running_job(const Node *node, const Running *running)
{
    return (RunningJob){
        .id = running->head.id,
        .attempt = running->head.attempt,
        .started_ms = running->started_ms,
        .paused = running->paused_boot != 0,
        .stopping = running->stop != STOP_NOT,
        .slot = running->slot,
        .flags = running->head.flags,
        .error_depth = running->head.error_depth,
        .tenant = names_text(&node->names, running->head.tenant),
        .queue = names_text(&node->names, running->head.queue),
        .type = names_text(&node->names, running->head.type),
        .bookings = buf_slice(&running->bookings),
    };
}

void node_running(const Node *node, RunningSink *sink, void *context)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->running, &at, &entry);) {
        RunningJob job = running_job(node, entry.value);
        sink(context, &job);
    }
}

bool node_running_find(const Node *node, JobId id, RunningJob *out)
{
    const Running *running = map_find(&node->running, id);
    if (running)
        *out = running_job(node, running);
    return running != NULL;
}

bool node_changed_since(const Node *node, JobId id, uint64_t number)
{
    return node_touched_since(node, id, number) || map_find(&node->running, id);
}

void node_check(const Node *node)
{
    uint32_t taken = 0;
    node_limits_check(node);
    size_t jobs = 0;
    for (size_t i = 0; i < node->slot_capacity; i++) {
        const Slot *slot = &node->slots[i];
        taken += slot->jobs > 0;
        jobs += slot->jobs;
        assert(slot->jobs <= 1 || slot->warm);
    }
    assert(taken == node->slots_used);
    MapEntry entry;
    size_t here = 0;
    for (size_t at = 0; map_next(&node->running, &at, &entry);)
        here += !is_pull(entry.value);
    assert(jobs == here);
    for (size_t at = 0; map_next(&node->lanes, &at, &entry);) {
        const Lane *lane = entry.value;
        lane_check(lane);
        bool waits = lane->in || lane->shut || lane->stuck;
        assert(waits == (lane_count(lane) > 0 && !lane->pull));
        assert((lane->offer.number != 0) == (lane->in != NULL));
        for (size_t i = lane->first; i < lane->window.count; i++)
            assert(!map_find(&node->running, lane->window.items[i].id));
    }
}
