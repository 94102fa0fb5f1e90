/* SPDX-License-Identifier: Apache-2.0 */
/* slot_sharing.c - see slot_sharing.h. */
#include "core/dispatch/slot_sharing.h"
#include "core/dispatch/limits.h"
#include "core/node/inside.h"

/* The contexts of a handler are its own version's, or those of its eid. */
uint32_t slot_sharing_kind(Node *node, const Handler *handler)
{
    Buf key = { 0 };
    if (!handler_warm(handler))
        return 0;
    buf_printf(&key, SLICE_FMT " %s ", SLICE_ARG(handler->tenant),
               lang_name(handler->lang));
    if (handler->eid.bytes)
        buf_printf(&key, "eid " SLICE_FMT, SLICE_ARG(handler->eid));
    else
        buf_printf(&key, SLICE_FMT " %u", SLICE_ARG(handler->type), handler->version);
    uint32_t number = names_intern(&node->names, buf_slice(&key));
    buf_done(&key);
    return number;
}

/* A shell that is given a batch reads it to its end, and a call has one body: nothing can
 * be added later. */
static bool one_batch(const Handler *handler)
{
    return handler->lang == LANG_SH || handler->lang == LANG_BASH ||
           handler->lang == LANG_HTTP;
}

static uint32_t window_of(const Node *node, const HandlerEntry *entry)
{
    uint32_t window = entry->pace.window ? entry->pace.window : 1;
    uint32_t bound = node->share ? BATCH_SHARED_MAX : BATCH_WINDOW_MAX;
    uint32_t most = entry->handler.batch ? entry->handler.batch : bound;
    if (one_batch(&entry->handler))
        return most;
    return window < most ? window : most;
}

/* The slot of a context of this kind with room, or 0. */
static uint32_t find_slot(const Node *node, const HandlerEntry *entry, uint32_t window)
{
    uint32_t last = entry->pace.slot;
    if (last && node->slots[last - 1].warm == entry->warm &&
        node->slots[last - 1].jobs < window)
        return last;
    for (size_t i = 0; i < node->slot_capacity; i++)
        if (node->slots[i].warm == entry->warm && node->slots[i].jobs < window)
            return (uint32_t)i + 1;
    return 0;
}

bool slot_sharing_place(const Node *node, const Head *head, BatchPlace *out)
{
    bool free_slot = node->slots_used < node_slots(node);
    const HandlerEntry *entry = node_handler_entry(node, head->tenant, head->type);
    *out = (BatchPlace){ .jobs = 1 };
    if ((head->flags & JOB_COMMAND) || !entry || !entry->warm)
        return free_slot;
    uint32_t window = window_of(node, entry);
    out->warm = entry->warm;
    out->slot = one_batch(&entry->handler) ? 0 : find_slot(node, entry, window);
    if (!out->slot && !free_slot)
        return false;
    out->jobs = out->slot ? window - node->slots[out->slot - 1].jobs : window;
    if (node->offers.count > 1 && out->jobs > BATCH_QUANTUM)
        out->jobs = BATCH_QUANTUM;
    return true;
}

void slot_sharing_began(Node *node, const Running *running)
{
    HandlerEntry *entry =
        node_handler_entry(node, running->head.tenant, running->head.type);
    if (!running->warm || !entry)
        return;
    Pace *pace = &entry->pace;
    pace->in_hand++;
    pace->contexts += node->slots[running->slot - 1].jobs == 1;
    pace->slot = running->slot;
}

static uint32_t window_for(const Pace *pace)
{
    uint64_t took_us = pace->took_us > 1 ? (uint64_t)pace->took_us : 1;
    uint64_t window = took_us > BATCH_SLOW_US ? 1 : BATCH_TARGET_US / took_us;
    uint64_t most = (uint64_t)(pace->window ? pace->window : 1) * BATCH_GROWTH;
    if (window > most)
        window = most;
    return window < BATCH_WINDOW_MAX ? (uint32_t)window : BATCH_WINDOW_MAX;
}

/* The window grows step by step, so that a lucky first job does not say too much. */
void slot_sharing_took(Node *node, const Running *running, int64_t took_us)
{
    HandlerEntry *entry =
        node_handler_entry(node, running->head.tenant, running->head.type);
    if (!running->warm || !entry)
        return;
    Pace *pace = &entry->pace;
    pace->took_us += (took_us - pace->took_us) / BATCH_MEMORY;
    if (!pace->window)
        pace->took_us = took_us;
    if (pace->window && node->now.boot_ms - pace->look_boot < BATCH_LOOK_MS)
        return;
    pace->look_boot = node->now.boot_ms;
    pace->window = window_for(pace);
}

void slot_sharing_ended(Node *node, const Running *running)
{
    HandlerEntry *entry =
        node_handler_entry(node, running->head.tenant, running->head.type);
    if (!running->warm || !entry)
        return;
    Pace *pace = &entry->pace;
    pace->in_hand--;
    pace->contexts -= node->slots[running->slot - 1].jobs == 0;
}
