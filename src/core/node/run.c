/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - attempts that this node holds: slots, time limits, how they are stopped.
 */
#include "core/dispatch/limits.h"
#include "core/node/inside.h"

static uint32_t take_slot(Node *node)
{
    size_t at = 0;
    while (at < node->slot_capacity && node->slots[at].jobs)
        at++;
    if (at == node->slot_capacity) {
        size_t capacity = node->slot_capacity ? node->slot_capacity * 2 : 8;
        node->slots = mem_grow(node->slots, capacity * sizeof *node->slots);
        for (size_t i = node->slot_capacity; i < capacity; i++)
            node->slots[i] = (Slot){ 0 };
        node->slot_capacity = capacity;
    }
    node->slots_used++;
    return (uint32_t)at + 1;
}

Running *node_hold(Node *node, const Head *head, const BatchPlace *place)
{
    Running *running = MEM_NEW(Running);
    running->head = *head;
    if (!is_pull(running)) {
        running->slot = place->slot ? place->slot : take_slot(node);
        running->warm = place->warm != 0;
        node->slots[running->slot - 1].jobs++;
        node->slots[running->slot - 1].warm = place->warm;
    }
    running->deadline_boot = TIME_NEVER;
    running->progress = -1;
    map_put(&node->running, head->id, running);
    return running;
}

void node_running_free(Node *node, Running *running)
{
    heap_remove(&node->timers, &running->timer);
    buf_done(&running->message);
    buf_done(&running->reason);
    buf_done(&running->exit_map);
    buf_done(&running->bookings);
    mem_free(running);
}

void node_let_go(Node *node, Running *running)
{
    Slot *slot = running->slot ? &node->slots[running->slot - 1] : NULL;
    if (slot && !--slot->jobs) {
        slot->warm = 0;
        node->slots_used--;
    }
    slot_sharing_ended(node, running);
    map_remove(&node->running, running->head.id);
    node_unbook(node, running);
    node_running_free(node, running);
    node->pull_stirred = node->touched_pass = true;
}

/* When the attempt next needs a look: its time limit, or the next stage of its end. */
void node_timer_set(Node *node, Running *running)
{
    heap_remove(&node->timers, &running->timer);
    if (is_pull(running)) {
        bool limited =
            running->stop == STOP_NOT && running->deadline_boot < running->lease_boot;
        running->wake_boot = limited ? running->deadline_boot : running->lease_boot;
        heap_push(&node->timers, &running->timer);
        return;
    }
    if (running->stop == STOP_NOT && !running->paused_boot)
        running->wake_boot = running->deadline_boot;
    if (running->stop == STOP_NOT && running->paused_boot)
        running->wake_boot = TIME_NEVER;
    if ((running->cancelling || running->halting) && running->stop == STOP_NOT)
        running->wake_boot = 0; /* taken over while it was being ended: go on */
    if (running->wake_boot != TIME_NEVER)
        heap_push(&node->timers, &running->timer);
}

static void send(Node *node, const Running *running, int32_t signal)
{
    Effect *effect = outbox_effect(node->out, EFFECT_SIGNAL, WAIT_BATCH);
    effect->id = running->head.id;
    effect->attempt = running->head.attempt;
    effect->signal = signal;
}

void node_stop(Node *node, Running *running, bool at_once)
{
    if (running->stop == STOP_KILL || (running->stop == STOP_TERM && !at_once))
        return;
    if (is_pull(running)) {
        node_pull_stop(node, running, at_once);
        return;
    }
    running->stop = at_once ? STOP_KILL : STOP_TERM;
    send(node, running, at_once ? SIGNAL_KILL : SIGNAL_TERM);
    if (running->paused_boot)
        send(node, running, SIGNAL_CONT); /* a stopped process does not see TERM */
    running->wake_boot =
        node->now.boot_ms + (at_once ? KILL_AGAIN_MS : node->settings.grace_ms);
    node_timer_set(node, running);
}

/* The signal may have come before its process was there, or have been lost with a
 * launcher: an end that was asked for comes all the same. */
static void kill_again(Node *node, Running *running)
{
    send(node, running, SIGNAL_KILL);
    running->wake_boot = node->now.boot_ms + KILL_AGAIN_MS;
    node_timer_set(node, running);
}

void node_timers(Node *node)
{
    for (;;) {
        HeapNode *first = heap_first(&node->timers);
        Running *running = (Running *)(void *)first;
        if (!first || running->wake_boot > node->now.boot_ms)
            return;
        if (is_pull(running)) {
            node_pull_timer(node, running);
            continue;
        }
        if (running->stop == STOP_KILL) {
            kill_again(node, running);
            continue;
        }
        if (running->stop == STOP_TERM) {
            node_stop(node, running, true);
            continue;
        }
        if (!running->cancelling && !running->halting)
            running->timed_out = true;
        node_stop(node, running, false);
    }
}

static void hold_version(Running *running, const Handler *handler)
{
    running->version = handler->version;
    buf_clear(&running->exit_map);
    buf_add_slice(&running->exit_map, handler->exit_map);
    running->drop_result = handler->drop_result;
    running->unpausable =
        handler_warm(handler) || handler->lang == LANG_HTTP || handler->lang == LANG_PULL;
}

void node_hold_handler(Node *node, Running *running)
{
    const Head *head = &running->head;
    const Handler *handler = node_find_handler(node, head->tenant, head->type);
    bool other = handler && running->version && handler->version != running->version;
    if (handler && !other && !(head->flags & JOB_COMMAND))
        hold_version(running, handler);
}

/* After a start: those that run with an older version keep its say. */
void node_load_version(Node *node, const Definition *definition)
{
    Handler handler;
    if (handler_unpack(definition->value, &handler))
        return;
    uint32_t tenant = names_find(&node->names, handler.tenant);
    uint32_t type = names_find(&node->names, handler.type);
    MapEntry entry;
    for (size_t at = 0; tenant && type && map_next(&node->running, &at, &entry);) {
        Running *running = entry.value;
        if (running->head.tenant == tenant && running->head.type == type &&
            running->version == handler.version && !(running->head.flags & JOB_COMMAND))
            hold_version(running, &handler);
    }
}

bool node_wants_versions(const Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->running, &at, &entry);) {
        const Running *running = entry.value;
        const Handler *newest =
            node_find_handler(node, running->head.tenant, running->head.type);
        if (running->version && (!newest || newest->version != running->version))
            return true;
    }
    return false;
}
