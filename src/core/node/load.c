/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - lanes, and everything the node asks of its store.
 *
 * One question of a kind is under way at a time. An answer tells how far the store had
 * come (`number`); a job that was changed by a later turn is passed over in it, because
 * the answer is older than our own knowledge (`touched`). */
#include "core/dispatch/limits.h"
#include "core/node/inside.h"
#include "core/share/key_confirm.h"
#include "core/share/share.h"

#include <assert.h>

#define WINDOW_REACH_MAX 64    /* of a busy lane */
#define WINDOW_JOBS_LONG 16384 /* heads of one lane, however busy */
#define WINDOW_SHORT_MS  250   /* to use up a window: too short a window */
#define WINDOW_CALM_MS   (10 * MS_PER_S)

/* A queue, or one type of it, as one number. */
static uint32_t line_number(Node *node, const Head *head)
{
    if (!(head->flags & JOB_SEGREGATED))
        return head->queue;
    char pair[QUEUE_NAME_BYTES_MAX + 1 + NAME_BYTES_MAX];
    Slice queue = names_text(&node->names, head->queue);
    Slice type = names_text(&node->names, head->type);
    assert(queue.bytes + 1 + type.bytes <= sizeof pair);
    memcpy(pair, queue.data, queue.bytes);
    pair[queue.bytes] = '\0'; /* no name holds it: pairs are no names */
    memcpy(pair + queue.bytes + 1, type.data, type.bytes);
    return names_intern(&node->names, slice_of(pair, queue.bytes + 1 + type.bytes));
}

static uint64_t lane_key(Node *node, const Head *head)
{
    bool pull = (head->flags & JOB_PULL) != 0;
    return (uint64_t)head->tenant << 33 | (uint64_t)line_number(node, head) << 1 | pull;
}

static size_t window_limit(const Node *node)
{
    if (node->settings.window_jobs)
        return node->settings.window_jobs;
    size_t lanes = node->lanes.count ? node->lanes.count : 1;
    size_t limit = WINDOW_JOBS_TOTAL / lanes;
    if (limit > WINDOW_JOBS_MAX)
        return WINDOW_JOBS_MAX;
    return limit < WINDOW_JOBS_MIN ? WINDOW_JOBS_MIN : limit;
}

/* Lanes that share a turn: which of them has waited longest. */
static bool longer_waiting(const HeapNode *a, const HeapNode *b)
{
    const Lane *left = (const Lane *)(const void *)a;
    const Lane *right = (const Lane *)(const void *)b;
    if (left->since_ms != right->since_ms)
        return left->since_ms < right->since_ms;
    return left->first_id < right->first_id;
}

static void join_sisters(Node *node, Lane *lane)
{
    Sisters *sisters = map_find(&node->sisters, lane->tenant);
    if (!sisters) {
        sisters = MEM_NEW(Sisters);
        sisters->rest.before = longer_waiting;
        map_put(&node->sisters, lane->tenant, sisters);
    }
    lane->sisters = sisters;
    lane->sister_next = sisters->lanes;
    if (sisters->lanes)
        sisters->lanes->sister_before = lane;
    sisters->lanes = lane;
}

static void leave_sisters(const Lane *lane)
{
    if (lane->sister_next)
        lane->sister_next->sister_before = lane->sister_before;
    if (lane->sister_before)
        lane->sister_before->sister_next = lane->sister_next;
    else
        lane->sisters->lanes = lane->sister_next;
}

Lane *node_lane(Node *node, const Head *head)
{
    uint64_t key = lane_key(node, head);
    Lane *lane = map_find(&node->lanes, key);
    if (lane)
        return lane;
    lane = MEM_NEW(Lane);
    lane->tenant = head->tenant;
    lane->queue = head->queue;
    lane->type = head->flags & JOB_SEGREGATED ? head->type : 0;
    lane->pull = (head->flags & JOB_PULL) != 0;
    lane->tour = node->tour;
    const QueueEntry *entry = node_queue_find(node, head->tenant, head->queue);
    lane->age_ms = entry ? queue_age_ms(&entry->def) : 0;
    lane->scans = entry && entry->def.policy != POLICY_FAIR;
    join_sisters(node, lane);
    map_put(&node->lanes, key, lane);
    if (lane->pull)
        node_pull_lane_made(node, lane);
    return lane;
}

/* A lane whose heads may be passed over needs to see as many as are looked at. */
size_t node_lane_limit(const Node *node, const Lane *lane)
{
    size_t limit = window_limit(node) * (lane->reach ? lane->reach : 1);
    if (lane->scans && limit < SCAN_JOBS_MAX)
        return SCAN_JOBS_MAX;
    return limit < WINDOW_JOBS_LONG ? limit : WINDOW_JOBS_LONG;
}

/* Many jobs came at once, for contexts that can run thousands before the store has read
 * their lines. */
void node_lane_reach(const Node *node, Lane *lane, const Head *head)
{
    const HandlerEntry *entry = node_handler_entry(node, head->tenant, head->type);
    if (entry && entry->warm && !(head->flags & JOB_COMMAND))
        lane->reach = WINDOW_REACH_MAX;
}

/* A lane that used up its window in no time gets a longer one: the store's answer takes
 * longer than a warm context needs for the jobs of a short one. One that is asked for
 * again because jobs came has not used up anything. */
static void set_reach(const Node *node, Lane *lane)
{
    int64_t since_ms = node->now.boot_ms - lane->asked_boot;
    uint32_t reach = lane->reach ? lane->reach : 1;
    bool used_up = lane->taken >= node_lane_limit(node, lane) / 4;
    if (lane->asked_boot && used_up && since_ms < WINDOW_SHORT_MS)
        lane->reach = reach * 4 < WINDOW_REACH_MAX ? reach * 4 : WINDOW_REACH_MAX;
    if (lane->asked_boot && since_ms > WINDOW_CALM_MS)
        lane->reach = 0;
    lane->asked_boot = node->now.boot_ms;
    lane->taken = 0;
}

static void ask_window(Node *node, Lane *lane)
{
    set_reach(node, lane);
    Asked *asked;
    Effect *effect = node_ask(node, WANT_WINDOW, &asked);
    asked->lane = lane;
    lane->loading = true;
    effect->tenant = names_text(&node->names, lane->tenant);
    effect->queue = names_text(&node->names, lane->queue);
    if (lane->type)
        effect->key = names_text(&node->names, lane->type);
    effect->pull = lane->pull;
    /* A long window is filled by halves: one is used up while the other is read. */
    effect->limit = (uint32_t)node_lane_limit(node, lane) / (lane->reach > 1 ? 2 : 1);
    effect->age_ms = lane->age_ms;
    const Head *last = lane_last(lane);
    if (!last)
        return;
    effect->behind = true;
    effect->priority = last->priority;
    effect->dt_ms = last->dt_ms;
    effect->behind_id = last->id;
}

/* What all heads of the lane have in common. */
static Head lane_pattern(const Lane *lane)
{
    return (Head){ .tenant = lane->tenant,
                   .queue = lane->queue,
                   .type = lane->type,
                   .flags = (lane->pull ? (uint32_t)JOB_PULL : 0) |
                            (lane->type ? (uint32_t)JOB_SEGREGATED : 0) };
}

static void drop_lane(Node *node, Lane *lane)
{
    Head head = lane_pattern(lane);
    map_remove(&node->lanes, lane_key(node, &head));
    if (lane->pull)
        node_pull_lane_gone(node, lane);
    node_lane_forget_limits(node, lane);
    leave_sisters(lane);
    lane_done(lane);
    mem_free(lane);
}

/* A lane that has nothing left is forgotten; but if it had its turn in this tour, only
 * when the tour is over: else it could come back at once and go before the others. */
static void rest_or_drop(Node *node, Lane *lane)
{
    if (lane->held.count) { /* it remembers since when they wait */
        node_lane_forget_limits(node, lane);
        return;
    }
    if (lane->tour <= node->tour) {
        drop_lane(node, lane);
        return;
    }
    node_lane_forget_limits(node, lane);
    if (lane->resting)
        return;
    lane->resting = true;
    Head head = lane_pattern(lane);
    MEM_PUSH(node->resting, node->resting_count, node->resting_capacity) =
        lane_key(node, &head);
}

void node_tour_begin(Node *node, uint64_t tour)
{
    size_t kept = 0;
    node->tour = tour;
    for (size_t i = 0; i < node->resting_count; i++) {
        Lane *lane = map_find(&node->lanes, node->resting[i]);
        assert(lane);
        bool empty = !lane_count(lane) && !lane->more && !lane->loading;
        lane->resting = empty && lane->tour > tour; /* it had more than one turn */
        if (lane->resting)
            node->resting[kept++] = node->resting[i];
        else if (empty && !lane->held.count)
            drop_lane(node, lane);
    }
    node->resting_count = kept;
}

/* Keeps the heap true to the lane, asks for more heads in time, and forgets a lane that
 * has nothing left. */
void node_lane_changed(Node *node, Lane *lane)
{
    if (lane->pull && node->out)
        node_pull_block(node, lane);
    size_t count = lane_count(lane);
    if (lane->more && !lane->loading && node->out &&
        count <= node_lane_limit(node, lane) / (lane->reach > 1 ? 2 : 4))
        ask_window(node, lane);
    if (!count && !lane->more && !lane->loading) {
        rest_or_drop(node, lane);
        return;
    }
    if (!count || lane->pull) {
        node_lane_forget_limits(node, lane);
        return;
    }
    if (lane->in)
        return;
    node_lane_in(node, lane);
}

/* Whether the lane stays where it is in the heap of offers, by which its first job is
 * compared, when this one comes. Looks at the lane alone: there may be many. */
static bool stays(const Node *node, const Lane *lane, const Head *head)
{
    if (lane->in != &node->offers || lane->stuck || lane->age_ms)
        return false;
    if (head->priority != lane->first_priority)
        return head->priority < lane->first_priority;
    if (head->dt_ms != lane->first_dt_ms)
        return head->dt_ms > lane->first_dt_ms;
    return head->id > lane->first_id;
}

bool node_ready(Node *node, const Head *ready)
{
    bool misplaced = node_pull_misplaced(node, ready);
    const Head other = misplaced ? node_pull_replace(node, ready) : *ready;
    const Head *head = &other;
    Lane *lane = node_lane(node, head);
    if (!stays(node, lane, head))
        node_lane_out(node, lane);
    bool near = lane_put(lane, head, node_lane_limit(node, lane));
    node_lane_changed(node, lane);
    node->touched_pass = true;
    return near;
}

void node_held(Node *node, const Head *head)
{
    Lane *lane = node_lane(node, head);
    node_lane_out(node, lane);
    lane_hold(lane, head);
    node_lane_changed(node, lane);
}

void node_unready(Node *node, const Head *head)
{
    Lane *lane = map_find(&node->lanes, lane_key(node, head));
    if (!lane)
        return;
    node_lane_out(node, lane);
    lane_remove(lane, head->id);
    node_lane_changed(node, lane);
}

void node_wait_until(Node *node, int64_t dt_ms)
{
    if (dt_ms < node->next_due_ms)
        node->next_due_ms = dt_ms;
}

void node_touch(Node *node, JobId id)
{
    map_put(&node->touched, id, (void *)(uintptr_t)node->out->number);
    node->touched_up_to = node->out->number;
}

bool node_touched_since(const Node *node, JobId id, uint64_t number)
{
    return (uint64_t)(uintptr_t)map_find(&node->touched, id) > number ||
           (uint64_t)(uintptr_t)map_find(&node->touched_before, id) > number;
}

/* Two generations, so that what is remembered is bounded by what is under way however
 * busy the node is. */
void node_applied(Node *node, uint64_t number)
{
    node_keys_applied(node, number);
    node_uniques_applied(node, number);
    if (number < node->touched_before_up_to)
        return;
    map_done(&node->touched_before);
    node->touched_before = node->touched;
    node->touched_before_up_to = node->touched_up_to;
    node->touched = (Map){ 0 };
}

/* Lanes that want heads and have no question under way: at the start, and after the
 * store could not answer. */
void node_reload_lanes(Node *node)
{
    node->reload_boot = TIME_NEVER;
    MapEntry entry;
    for (size_t at = 0; map_next(&node->lanes, &at, &entry);) {
        Lane *lane = entry.value;
        if (lane->more && !lane->loading)
            node_lane_changed(node, lane);
    }
    node_ask_unblocked(node);
}

/* On a store that nodes share, what others own is theirs to move. */
static bool own_jobs_only(LoadWhat what)
{
    return what == WANT_WINDOW || what == WANT_DUE || what == WANT_BLOCKED ||
           what == WANT_AFTER;
}

Effect *node_ask_again(Node *node, Asked *asked)
{
    map_put(&node->asked, ++node->token, asked);
    Effect *effect = outbox_effect(node->out, EFFECT_LOAD, WAIT_NONE);
    effect->what = asked->what;
    effect->token = node->token;
    if (node->share && own_jobs_only(asked->what))
        effect->owner = node->options.number;
    return effect;
}

Effect *node_ask(Node *node, LoadWhat what, Asked **out_asked)
{
    Asked *asked = MEM_NEW(Asked);
    asked->what = what;
    *out_asked = asked;
    return node_ask_again(node, asked);
}

static void window_loaded(Node *node, Lane *lane, const Event *event)
{
    node_lane_out(node, lane);
    if (event->err) {
        lane_load_failed(lane);
        node->reload_boot = node->now.boot_ms + TICK_MS;
        if (lane_count(lane) && !lane->pull)
            node_lane_in(node, lane);
        return;
    }
    HeadList heads = { 0 };
    HeadList misplaced = { 0 }; /* for runners and pull workers: their handler says */
    for (size_t i = 0; i < event->loaded_count; i++) {
        const Job *job = &event->loaded[i];
        if (node_touched_since(node, job->id, event->number) ||
            map_find(&node->running, job->id))
            continue;
        Head head = head_of(job, &node->names);
        if (node_pull_misplaced(node, &head) && !map_find(&node->pins, job->id))
            MEM_PUSH(misplaced.items, misplaced.count, misplaced.capacity) = head;
        else
            MEM_PUSH(heads.items, heads.count, heads.capacity) = head;
    }
    lane_loaded(lane, heads.items, heads.count, event->more, node_lane_limit(node, lane));
    mem_free(heads.items);
    node_lane_changed(node, lane);
    for (size_t i = 0; i < misplaced.count; i++)
        node_ready(node, &misplaced.items[i]);
    mem_free(misplaced.items);
    node->touched_pass = true;
}

static void promote(Node *node, const Job *job)
{
    Head head = head_of(job, &node->names);
    Op *op = node_op(node, OP_MOVE, job->id);
    op->from = STATE_BIT(job->state);
    op->to = JOB_READY;
    op->dt_ms = job->dt_ms;
    node_touch(node, job->id);
    node_ready(node, &head);
    node_changed(node, &head, job->state, JOB_READY);
}

/* What it waits for is its keys, nothing else. */
static bool is_unsure(const Job *job)
{
    return (job->flags & JOB_UNSURE) && !(job->flags & JOB_WAITS);
}

static void due_loaded(Node *node, const Event *event)
{
    node->due_loading = false;
    if (event->err) {
        node_wait_until(node, node->now.wall_ms + TICK_MS);
        return;
    }
    const Job **unsure = MEM_ARRAY(const Job *, event->loaded_count + 1);
    size_t unsure_count = 0;
    for (size_t i = 0; i < event->loaded_count; i++) {
        const Job *job = &event->loaded[i];
        if (node_touched_since(node, job->id, event->number))
            continue;
        if (map_find(&node->pins, job->id)) {
            /* The action may leave it as it is: look again soon. */
            node_wait_until(node, node->now.wall_ms + TICK_MS);
            continue;
        }
        if (job->state == JOB_BLOCKED && is_unsure(job))
            unsure[unsure_count++] = job;
        else if (job->state == JOB_BLOCKED)
            node_blocked_due(node, job);
        else
            promote(node, job);
    }
    key_confirm_due(node, unsure, unsure_count, !event->more);
    mem_free(unsure);
    node_wait_until(node, event->more ? node->now.wall_ms : event->next_due_ms);
}

static int64_t old_kept_ms(const Node *node, LoadWhat what)
{
    return what == WANT_OLD_DONE ? node->settings.keep_done_ms
                                 : node->settings.keep_other_ms;
}

/* The job is gone from the store: so goes the rest of it. */
static void forget_old(Node *node, const Job *job)
{
    node_erase(node, job->id, job->attempt);
    Head head = head_of(job, &node->names);
    node_group_removed(node, &head, job->state);
}

static void remove_old(Node *node, const Event *event)
{
    for (size_t i = 0; i < event->loaded_count; i++) {
        const Job *job = &event->loaded[i];
        if (node_touched_since(node, job->id, event->number) ||
            map_find(&node->pins, job->id))
            continue;
        Op *op = node_op(node, OP_REMOVE, job->id);
        op->from = STATES_FINAL;
        node_touch(node, job->id);
        forget_old(node, job);
    }
}

/* They come by id; those behind the last are looked at next time. */
static void sweep_gone(Node *node, const Event *event, JobStates family)
{
    for (size_t i = 0; i < event->loaded_count; i++)
        forget_old(node, &event->loaded[i]);
    if (!event->loaded_count)
        return;
    Op *op = node_op(node, OP_SWEPT, event->loaded[event->loaded_count - 1].id);
    op->from = family;
}

/* Not again at once: it may have to wait for someone. If it went, there is work soon. */
static void drop_whole(Node *node, LoadWhat what, JobStates family)
{
    int64_t *next_boot = &node->drop_boot[what == WANT_OLD_DONE];
    if (node->now.boot_ms < *next_boot)
        return;
    *next_boot = node->now.boot_ms + PURGE_EVERY_MS;
    node->purge_boot = node->now.boot_ms + TICK_MS;
    Op *op = node_op(node, OP_DROP, 0);
    op->from = family;
    op->dt_ms = node->now.wall_ms - old_kept_ms(node, what);
}

static void old_loaded(Node *node, LoadWhat what, const Event *event)
{
    const JobStates done = STATE_BIT(JOB_DONE);
    JobStates family = what == WANT_OLD_DONE ? done : STATES_FINAL & ~done;
    if (event->err)
        return;
    if (event->gone)
        sweep_gone(node, event, family);
    else
        remove_old(node, event);
    if (event->whole)
        drop_whole(node, what, family);
    if (event->more)
        node->purge_boot = node->now.boot_ms + TICK_MS;
}

void node_loaded(Node *node, const Event *event)
{
    Asked *asked = map_remove(&node->asked, event->token);
    if (!asked)
        return;
    switch (asked->what) {
    case WANT_WINDOW:
        window_loaded(node, asked->lane, event);
        break;
    case WANT_DUE:
        due_loaded(node, event);
        break;
    case WANT_JOB:
        node_act_loaded(node, asked, event);
        break;
    case WANT_KEY:
        if (!node_add_after_key(node, asked, event))
            return;
        break;
    case WANT_OLD_DONE:
    case WANT_OLD_OTHER:
        old_loaded(node, asked->what, event);
        break;
    case WANT_LAST:
        node_last_loaded(node, asked, event);
        break;
    case WANT_BLOCKED:
        node_blocked_loaded(node, asked, event);
        break;
    case WANT_AFTER:
        node_after_loaded(node, event);
        break;
    case WANT_MATCH:
        node_operation_loaded(node, asked, event);
        break;
    case WANT_INBOX:
        node_share_inbox(node, event);
        break;
    case WANT_GIVEN:
        node_share_given(node, asked, event);
        break;
    case WANT_LANES:
        node_share_lanes(node, asked, event);
        break;
    case WANT_RUNNING:
        node_share_running(node, asked, event);
        break;
    case WANT_GROUP:
        node_group_loaded(node, asked, event);
        break;
    case WANT_OWED:
        pending_adds_loaded(node, event);
        break;
    case WANT_UNIQUE:
        if (!node_unique_loaded(node, asked, event))
            return;
        break;
    }
    arena_done(&asked->arena);
    mem_free(asked);
}

static void ask_due(Node *node)
{
    Asked *asked;
    Effect *effect = node_ask(node, WANT_DUE, &asked);
    effect->dt_ms = node->now.wall_ms;
    effect->limit = DUE_LOAD_MAX;
    node->due_loading = true;
    node->next_due_ms = TIME_NEVER; /* what arrives meanwhile lowers it again */
}

/* Whoever keeps jobs for long does not mind if they stay a little longer; a short time is
 * meant as it is said. */
static void ask_old(Node *node, LoadWhat what)
{
    Asked *asked;
    int64_t keep_ms = old_kept_ms(node, what);
    Effect *effect = node_ask(node, what, &asked);
    effect->dt_ms = node->now.wall_ms - keep_ms;
    effect->late_ms = keep_ms >= OLD_LATE_FROM_MS ? keep_ms / OLD_LATE_SHARE : 0;
    effect->limit = OLD_LOAD_MAX;
}

static void beat(Node *node)
{
    node->beat_boot = node->now.boot_ms + node->settings.lease_ms / 6;
    if (!node->running.count)
        return;
    Op *op = node_op(node, OP_BEAT, 0);
    op->lock = node->options.sysid;
    op->dt_ms = node->now.wall_ms + node->settings.lease_ms;
}

/* What the node does by the clock alone: promotion, heartbeat, purge. */
void node_duties(Node *node)
{
    if (!node->due_loading && node->next_due_ms <= node->now.wall_ms)
        ask_due(node);
    if (node->now.boot_ms >= node->reload_boot)
        node_reload_lanes(node);
    if (node->later && node->now.boot_ms >= node->later_boot)
        node_add_later(node);
    node_ask_after(node);
    node_ask_groups(node);
    node_ask_operation(node);
    if (node->now.boot_ms >= node->beat_boot)
        beat(node);
    if (node_controls(node) && node->now.boot_ms >= node->purge_boot) {
        node->purge_boot = node->now.boot_ms + PURGE_EVERY_MS;
        ask_old(node, WANT_OLD_DONE);
        ask_old(node, WANT_OLD_OTHER);
    }
}
