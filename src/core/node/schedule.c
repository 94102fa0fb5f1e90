/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - schedules: each planned time gives its job once.
 *
 * The job and the record of the planned time are operations of one batch: whatever
 * crashes, both are there or neither is. Only the holder of the controller lock fires. A
 * planned time is missed when it is older than MISSED_AFTER_MS, or when the one behind it
 * has come too; what then happens is the schedule's `missed`. */
#include "core/node/inside.h"
#include "core/share/share.h"

#define MISSED_AFTER_MS    MS_PER_MIN
#define FIRES_PER_STEP     100  /* a batch stays small; the rest follows */
#define MISSED_COUNTED_MAX 1000 /* of one absence, for those that do not run them all */
#define MISSED_WALKED_MAX  100000
#define MISSED_GIVEN_MAX   1000 /* of one absence, for those that do: the newest */
/* The wall clock is believed unless it moves by so much against the clock that no one
 * sets; then it must stay where it is for so long before a schedule goes by it. */
#define CLOCK_STEP_MS  (2 * MS_PER_MIN)
#define CLOCK_TRUST_MS (30 * MS_PER_S)
/* Times so far ahead were dealt with by a clock that was wrong: they are still to come.
 */
#define CLOCK_AHEAD_MS (15 * MS_PER_MIN)

/* --- Entries -------------------------------------------------------------------------
 */

static uint64_t entry_key(Node *node, Slice tenant, Slice name)
{
    return (uint64_t)names_intern(&node->names, tenant) << 32 |
           names_intern(&node->names, name);
}

static bool entry_before(const HeapNode *a, const HeapNode *b)
{
    return ((const ScheduleEntry *)(const void *)a)->due_ms <
           ((const ScheduleEntry *)(const void *)b)->due_ms;
}

static void entry_clear(ScheduleEntry *entry)
{
    zone_done(&entry->zone);
    arena_done(&entry->arena);
    entry->arena = (Arena){ 0 };
}

/* What the schedule says, in the node's own memory; false: it cannot be understood. */
static bool entry_set(ScheduleEntry *entry, Slice packed)
{
    Schedule schedule;
    Cron cron;
    Zone zone = { 0 };
    if (schedule_unpack(packed, &schedule) || cron_parse(schedule.cron, &cron, NULL) ||
        (schedule.zone.bytes && zone_parse(schedule.zone, &zone, NULL)))
        return false;
    entry_clear(entry);
    entry->schedule = schedule_copy(&entry->arena, &schedule);
    entry->cron = cron;
    entry->zone = zone;
    return true;
}

static ScheduleEntry *entry_of(Node *node, Slice tenant, Slice name)
{
    uint64_t key = entry_key(node, tenant, name);
    ScheduleEntry *entry = map_find(&node->schedules, key);
    if (entry)
        return entry;
    entry = MEM_NEW(ScheduleEntry);
    entry->tenant = names_intern(&node->names, tenant);
    entry->name = names_intern(&node->names, name);
    map_put(&node->schedules, key, entry);
    return entry;
}

static void entry_plan(Node *node, ScheduleEntry *entry)
{
    node->schedule_due.before = entry_before;
    heap_remove(&node->schedule_due, &entry->due);
    entry->next_ms = TIME_NEVER;
    if (!entry->schedule.cron.bytes || entry->schedule.paused)
        return;
    entry->next_ms = cron_next(&entry->cron, &entry->zone, entry->state.planned_ms);
    entry->due_ms = entry->next_ms;
    if (entry->next_ms != TIME_NEVER && !entry->asking)
        heap_push(&node->schedule_due, &entry->due);
}

static void entry_free(Node *node, ScheduleEntry *entry)
{
    heap_remove(&node->schedule_due, &entry->due);
    entry_clear(entry);
    mem_free(entry);
}

void node_schedules_free(Node *node)
{
    MapEntry at;
    for (size_t i = 0; map_next(&node->schedules, &i, &at);)
        entry_free(node, at.value);
    map_done(&node->schedules);
    heap_done(&node->schedule_due);
}

void node_load_schedule(Node *node, const Definition *definition)
{
    ScheduleEntry *entry = entry_of(node, definition->tenant, definition->key);
    if (entry_set(entry, definition->value))
        entry_plan(node, entry);
}

/* Another node's word may be older than what this one has done since and not yet told the
 * store: times that were dealt with stay so. */
void node_load_schedule_state(Node *node, const Definition *definition)
{
    ScheduleEntry *entry = entry_of(node, definition->tenant, definition->key);
    ScheduleState state = { 0 };
    if (schedule_state_unpack(definition->value, &state) ||
        state.planned_ms < entry->state.planned_ms)
        return;
    entry->state = state;
    entry_plan(node, entry);
}

/* --- Defining ------------------------------------------------------------------------
 */

static void put_state(Node *node, const ScheduleEntry *entry)
{
    Buf value = { 0 };
    schedule_state_pack(&value, &entry->state);
    Op *op = node_op(node, OP_PUT, 0);
    op->own = 1;
    op->table = SLICE_LITERAL(SCHEDULE_STATES);
    op->tenant = names_text(&node->names, entry->tenant);
    op->key = names_text(&node->names, entry->name);
    op->value = node_keep(node, buf_slice(&value));
    buf_done(&value);
}

static void put_schedule(Node *node, const Event *event, Slice value)
{
    Op *op = node_op(node, value.data ? OP_PUT : OP_DELETE, 0);
    op->table = SLICE_LITERAL(SCHEDULE_TABLE);
    op->tenant = node_keep(node, event->tenant);
    op->key = node_keep(node, event->key);
    op->value = node_keep(node, value);
}

static void delete_schedule(Node *node, const Event *event, ScheduleEntry *entry)
{
    put_schedule(node, event, (Slice){ NULL, 0 });
    Op *op = node_op(node, OP_DELETE, 0);
    op->table = SLICE_LITERAL(SCHEDULE_STATES);
    op->tenant = node_keep(node, event->tenant);
    op->key = node_keep(node, event->key);
    map_remove(&node->schedules, entry_key(node, event->tenant, event->key));
    entry_free(node, entry);
    node_reply(node, event->request, ERR_OK, NULL)->replayed = true;
}

/* Whether the times of two schedules are the same. */
static bool same_times(const Schedule *a, const Schedule *b)
{
    return slice_equal(a->cron, b->cron) && slice_equal(a->tz, b->tz);
}

/* What the event makes of the schedule that was there: with its flag only `paused`
 * counts. */
static Slice changed_value(Node *node, const Event *event, const ScheduleEntry *entry)
{
    Schedule change;
    if (!event->flag || schedule_unpack(event->value, &change))
        return event->value;
    Schedule schedule = entry->schedule;
    Buf packed = { 0 };
    schedule.paused = change.paused;
    schedule_pack(&packed, &schedule);
    Slice value = node_keep(node, buf_slice(&packed));
    buf_done(&packed);
    return value;
}

/* A schedule starts with the first time after it was set, changed in its times, or
 * resumed. */
void node_define_schedule(Node *node, const Event *event)
{
    ScheduleEntry *entry =
        map_find(&node->schedules, entry_key(node, event->tenant, event->key));
    bool there = entry && entry->schedule.cron.bytes;
    if (!there && (!event->value.data || event->flag)) {
        node_reply(node, event->request, ERR_NOT_FOUND, "schedule_not_found");
        return;
    }
    if (!event->value.data) {
        delete_schedule(node, event, entry);
        return;
    }
    Slice value = changed_value(node, event, entry);
    Schedule after;
    bool restart = schedule_unpack(value, &after) || !there ||
                   !same_times(&entry->schedule, &after) ||
                   (entry->schedule.paused && !after.paused);
    entry = entry_of(node, event->tenant, event->key);
    if (!entry_set(entry, value)) {
        node_reply(node, event->request, ERR_INVALID, "invalid_value");
        return;
    }
    put_schedule(node, event, value);
    if (!there)
        entry->state.created_ms = node->now.wall_ms;
    if (restart) {
        entry->state.planned_ms = node->now.wall_ms;
        entry->state.waiting = false;
        put_state(node, entry);
    }
    entry_plan(node, entry);
    node_reply(node, event->request, ERR_OK, NULL)->replayed = there;
}

/* --- Firing --------------------------------------------------------------------------
 */

/* False: there is no job in it. */
static bool add_job(Node *node, ScheduleEntry *entry)
{
    Job job;
    if (job_unpack(entry->schedule.job, &job))
        return false;
    job.tenant = names_text(&node->names, entry->tenant);
    job.schedule = names_text(&node->names, entry->name);
    entry->state.job = node_add_own(node, &job);
    entry->state.fired++;
    return true;
}

static void dealt_with(Node *node, ScheduleEntry *entry, int64_t planned_ms)
{
    entry->state.planned_ms = planned_ms;
    put_state(node, entry);
    entry_plan(node, entry);
}

static void fire(Node *node, ScheduleEntry *entry, int64_t planned_ms)
{
    if (add_job(node, entry))
        entry->state.fired_ms = planned_ms;
    entry->state.waiting = false;
    dealt_with(node, entry, planned_ms);
}

static void ask_last(Node *node, ScheduleEntry *entry)
{
    Asked *asked;
    Effect *effect = node_ask(node, WANT_LAST, &asked);
    effect->id = entry->state.job;
    asked->event.tenant =
        slice_copy(&asked->arena, names_text(&node->names, entry->tenant));
    asked->event.key = slice_copy(&asked->arena, names_text(&node->names, entry->name));
    asked->event.next_due_ms = entry->next_ms;
    entry->asking = true;
    heap_remove(&node->schedule_due, &entry->due);
}

static void look_again(Node *node, ScheduleEntry *entry)
{
    entry_plan(node, entry);
    entry->due_ms = node->now.wall_ms + TICK_MS;
    if (entry->due.number)
        heap_fix(&node->schedule_due, &entry->due);
}

static void overlaps(Node *node, ScheduleEntry *entry, int64_t planned_ms)
{
    Event cancel = { .kind = EVENT_ACT,
                     .action = ACT_CANCEL,
                     .id = entry->state.job,
                     .reason = SLICE_LITERAL("replaced by the next of its schedule") };
    switch (entry->schedule.overlap) {
    case OVERLAP_SKIP:
        entry->state.skipped++;
        dealt_with(node, entry, planned_ms);
        return;
    case OVERLAP_QUEUE:
        if (!entry->state.waiting) {
            entry->state.waiting = true;
            put_state(node, entry);
        }
        look_again(node, entry);
        return;
    case OVERLAP_REPLACE:
        node_act(node, &cancel);
        fire(node, entry, planned_ms);
        return;
    case OVERLAP_ALLOW:
        fire(node, entry, planned_ms);
        return;
    }
}

void node_last_loaded(Node *node, const Asked *asked, const Event *answer)
{
    ScheduleEntry *entry = map_find(
        &node->schedules, entry_key(node, asked->event.tenant, asked->event.key));
    if (!entry)
        return;
    entry->asking = false;
    entry_plan(node, entry);
    int64_t planned_ms = asked->event.next_due_ms;
    if (entry->next_ms != planned_ms)
        return; /* changed meanwhile: its time is another */
    if (answer->err) {
        look_again(node, entry);
        return;
    }
    bool unfinished =
        answer->loaded_count && !state_in(answer->loaded[0].state, STATES_FINAL);
    if (unfinished)
        overlaps(node, entry, planned_ms);
    else
        fire(node, entry, planned_ms);
}

static void give(Node *node, ScheduleEntry *entry)
{
    if (entry->schedule.overlap == OVERLAP_ALLOW || !entry->state.job)
        fire(node, entry, entry->next_ms);
    else
        ask_last(node, entry);
}

/* Passes over all planned times up to now but the last; how many, as far as that is
 * counted. */
static uint64_t pass_over(const Node *node, ScheduleEntry *entry)
{
    uint64_t count = 0;
    int64_t now_ms = node->now.wall_ms;
    for (;;) {
        int64_t next_ms = cron_next(&entry->cron, &entry->zone, entry->next_ms);
        if (next_ms > now_ms)
            return count;
        entry->next_ms = next_ms;
        if (++count != MISSED_COUNTED_MAX)
            continue;
        /* Too many to walk through: go on close to now, uncounted. */
        int64_t near_ms = cron_next(&entry->cron, &entry->zone, now_ms - MISSED_AFTER_MS);
        if (near_ms > entry->next_ms && near_ms <= now_ms)
            entry->next_ms = near_ms;
    }
}

/* Of more missed times than MISSED_GIVEN_MAX the oldest give no job. */
static void drop_oldest(const Node *node, ScheduleEntry *entry)
{
    int64_t now_ms = node->now.wall_ms;
    int64_t *times = MEM_ARRAY(int64_t, MISSED_GIVEN_MAX);
    uint64_t count = 0;
    int64_t at_ms = entry->next_ms;
    while (at_ms <= now_ms && count < MISSED_WALKED_MAX) {
        times[count++ % MISSED_GIVEN_MAX] = at_ms;
        at_ms = cron_next(&entry->cron, &entry->zone, at_ms);
    }
    if (at_ms <= now_ms) /* too many to walk through at once */
        entry->next_ms = at_ms;
    else if (count > MISSED_GIVEN_MAX)
        entry->next_ms = times[count % MISSED_GIVEN_MAX];
    if (count > MISSED_GIVEN_MAX) {
        uint64_t dropped = count - (at_ms <= now_ms ? 0 : MISSED_GIVEN_MAX);
        entry->state.missed += dropped;
        entry->state.dropped += dropped;
        entry->state.planned_ms = entry->next_ms - 1;
    }
    mem_free(times);
}

static void consider(Node *node, ScheduleEntry *entry)
{
    int64_t now_ms = node->now.wall_ms;
    int64_t after_ms = cron_next(&entry->cron, &entry->zone, entry->next_ms);
    bool late = now_ms - entry->next_ms > MISSED_AFTER_MS || after_ms <= now_ms;
    if (!late || entry->state.waiting) {
        give(node, entry);
        return;
    }
    if (entry->schedule.missed == MISSED_ALL) {
        drop_oldest(node, entry);
        entry->state.missed++;
        entry->state.missed_ms = entry->next_ms;
        give(node, entry);
        return;
    }
    entry->state.missed += pass_over(node, entry);
    entry->state.planned_ms = entry->next_ms - 1; /* those before are dealt with */
    late = now_ms - entry->next_ms > MISSED_AFTER_MS;
    entry->state.missed += late;
    entry->state.missed_ms = now_ms;
    if (late && entry->schedule.missed == MISSED_SKIP)
        dealt_with(node, entry, entry->next_ms);
    else
        give(node, entry);
}

static bool may_fire(const Node *node)
{
    return node_controls(node) && !node_share_unsettled(node) && !node->draining &&
           !node->no_room;
}

/* The clock was ahead when these times were dealt with, and is not any more. */
static void go_back(Node *node)
{
    MapEntry at;
    for (size_t i = 0; map_next(&node->schedules, &i, &at);) {
        ScheduleEntry *entry = at.value;
        if (entry->state.planned_ms - node->now.wall_ms > CLOCK_AHEAD_MS)
            dealt_with(node, entry, node->now.wall_ms);
    }
}

/* How long the wall clock is not believed yet; 0: it is. */
static int64_t distrusted_ms(const Node *node)
{
    int64_t moved_ms = node->now.boot_ms - node->clock_moved_boot;
    return node->clock_moved_boot && moved_ms < CLOCK_TRUST_MS ? CLOCK_TRUST_MS - moved_ms
                                                               : 0;
}

static void watch_clock(Node *node)
{
    int64_t offset_ms = node->now.wall_ms - node->now.boot_ms;
    int64_t step_ms = offset_ms - node->clock_offset_ms;
    if (node->clock_known && step_ms > -CLOCK_STEP_MS && step_ms < CLOCK_STEP_MS)
        return;
    if (node->clock_known)
        node->clock_moved_boot = node->now.boot_ms;
    node->clock_known = true;
    node->clock_offset_ms = offset_ms;
    node->clock_checked = false;
}

void node_schedules(Node *node)
{
    watch_clock(node);
    if (!may_fire(node) || distrusted_ms(node))
        return;
    if (!node->clock_checked)
        go_back(node);
    node->clock_checked = true;
    for (size_t count = 0; count < FIRES_PER_STEP; count++) {
        ScheduleEntry *entry = (ScheduleEntry *)(void *)heap_first(&node->schedule_due);
        if (!entry || entry->due_ms > node->now.wall_ms)
            return;
        consider(node, entry);
    }
}

int64_t node_schedules_due(const Node *node)
{
    const ScheduleEntry *entry =
        (const ScheduleEntry *)(const void *)heap_first(&node->schedule_due);
    int64_t wait_ms = distrusted_ms(node);
    if (!may_fire(node) || (!entry && !wait_ms))
        return TIME_NEVER;
    return wait_ms ? node->now.wall_ms + wait_ms : entry->due_ms;
}

void node_trigger(Node *node, const Event *event)
{
    ScheduleEntry *entry =
        map_find(&node->schedules, entry_key(node, event->tenant, event->key));
    if (node->drain.closed || node->no_room) {
        node_reply(node, event->request, node->drain.closed ? ERR_UNAVAILABLE : ERR_FULL,
                   node->drain.closed ? "draining" : "journal_full");
        return;
    }
    if (!entry || !entry->schedule.cron.bytes || !add_job(node, entry)) {
        node_reply(node, event->request, ERR_NOT_FOUND, "schedule_not_found");
        return;
    }
    put_state(node, entry);
    pending_adds_reply(node, entry->state.job, event->request);
}
