/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - nodes that share a memory store: leases, mail, changes. */
#include "core/share/peer.h"
#include "store/memory/inside.h"
#include "store/memory/memory.h"

static int64_t now_of(const Memory *memory)
{
    return memory->now_ms ? memory->now_ms : clock_now().wall_ms;
}

void store_memory_clock(Store *store, int64_t now_ms)
{
    memory_of(store)->now_ms = now_ms;
}

/* --- Leases ------------------------------------------------------------------------ */

static MemLease lease_in(const Entry *entry)
{
    MemLease lease;
    memcpy(&lease, entry->value.data, sizeof lease);
    return lease;
}

static void lease_put(Memory *memory, Slice sysid, const MemLease *lease)
{
    Slice bytes = slice_of((const char *)lease, sizeof *lease);
    sorted_map_put(&memory->tables[TABLE_LEASES], sysid, bytes, 0);
}

static Entry *lease_entry(const Memory *memory, uint32_t node)
{
    const SortedMap *table = &memory->tables[TABLE_LEASES];
    for (size_t i = 0; node && i < table->count; i++)
        if (lease_in(&table->items[i]).number == node)
            return &table->items[i];
    return NULL;
}

bool memory_lease_of(const Memory *memory, uint32_t node, MemLease *out)
{
    const Entry *entry = lease_entry(memory, node);
    if (entry)
        *out = lease_in(entry);
    return entry != NULL;
}

static bool was_read(const Memory *memory, uint32_t number)
{
    const Point *point = points_find(&memory->points, number);
    return point && point->has_position && point->position;
}

static uint32_t free_number(const Memory *memory, uint32_t wanted)
{
    if (wanted && !lease_entry(memory, wanted))
        return wanted;
    uint32_t number = 1;
    while (lease_entry(memory, number) || was_read(memory, number))
        number++;
    return number;
}

/* Someone else has the duties of the cluster and still can. */
static bool another_controls(const Memory *memory, uint32_t node)
{
    const SortedMap *table = &memory->tables[TABLE_LEASES];
    for (size_t i = 0; i < table->count; i++) {
        MemLease lease = lease_in(&table->items[i]);
        if (lease.number != node && lease.controls && !lease.fenced &&
            lease.end_ms > now_of(memory))
            return true;
    }
    return false;
}

static void no_one_controls(Memory *memory)
{
    SortedMap *table = &memory->tables[TABLE_LEASES];
    for (size_t i = 0; i < table->count; i++) {
        MemLease lease = lease_in(&table->items[i]);
        lease.controls = 0;
        memcpy(table->items[i].value.data, &lease, sizeof lease);
    }
}

Err memory_renew(Store *store, const Renewal *renewal, NodeRow *out, Error *why)
{
    Memory *memory = memory_of(store);
    MemLease lease = { 0 };
    const Entry *entry = sorted_map_find(&memory->tables[TABLE_LEASES], renewal->sysid);
    if (entry)
        lease = lease_in(entry);
    else
        lease.number = free_number(memory, renewal->number);
    if (lease.number > NODE_NUMBER_MAX)
        return error_set(why, ERR_FULL, "store: all %d node numbers are taken",
                         NODE_NUMBER_MAX);
    lease.end_ms = now_of(memory) + renewal->lease_ms;
    bool controls = renewal->controls && renewal->lease_ms && !lease.fenced &&
                    lease.epoch && !another_controls(memory, lease.number);
    if (controls)
        no_one_controls(memory);
    lease.controls = controls;
    lease_put(memory, renewal->sysid, &lease);
    sorted_map_put(&memory->tables[TABLE_NODES], renewal->sysid, renewal->facts,
                   now_of(memory));
    *out = (NodeRow){ .number = lease.number,
                      .epoch = lease.epoch,
                      .fenced = lease.fenced,
                      .controls = controls,
                      .left_ms = renewal->lease_ms };
    return ERR_OK;
}

Err memory_nodes(Store *store, NodeSink *sink, void *context, Error *why)
{
    (void)why;
    const Memory *memory = memory_of(store);
    for (uint32_t number = 1; number <= NODE_NUMBER_MAX; number++) {
        const Entry *entry = lease_entry(memory, number);
        if (!entry)
            continue;
        MemLease lease = lease_in(entry);
        const Entry *facts =
            sorted_map_find(&memory->tables[TABLE_NODES], buf_slice(&entry->key));
        NodeRow row = { .sysid = buf_slice(&entry->key),
                        .number = lease.number,
                        .epoch = lease.epoch,
                        .fenced = lease.fenced,
                        .controls = lease.controls,
                        .left_ms = lease.end_ms - now_of(memory) };
        if (facts)
            row.facts = buf_slice(&facts->value);
        sink(context, &row);
    }
    return ERR_OK;
}

static void lease_change(Memory *memory, const Entry *entry, const MemLease *lease)
{
    Buf sysid = { 0 };
    buf_add_slice(&sysid, buf_slice(&entry->key));
    lease_put(memory, buf_slice(&sysid), lease);
    buf_done(&sysid);
}

OpResult memory_fence(Memory *memory, const Op *op)
{
    const Entry *entry = lease_entry(memory, op->node);
    if (!entry)
        return OP_MISSING;
    MemLease lease = lease_in(entry);
    if (lease.epoch != op->count || lease.fenced || lease.end_ms > now_of(memory))
        return OP_LOST;
    lease.fenced = 1;
    lease.controls = 0;
    lease_change(memory, entry, &lease);
    return OP_APPLIED;
}

bool memory_home_free(const Memory *memory, const Op *op, uint32_t node,
                      const Entry *entry)
{
    MemLease lease = { 0 };
    Slice now = entry ? buf_slice(&entry->value) : (Slice){ NULL, 0 };
    bool known = memory_lease_of(memory, home_read(now).node, &lease);
    return cluster_home_free(op, node, now, !known || lease.fenced);
}

OpResult memory_take(Memory *memory, const Op *op, uint32_t node)
{
    MemLease lease;
    if (!memory_lease_of(memory, op->node, &lease) || !lease.fenced)
        return OP_LOST;
    uint64_t taken = 0;
    for (size_t i = 0; i < memory->count && taken < op->count; i++) {
        Row row = memory->jobs[i]->row;
        if (state_in(row.job.state, STATES_FINAL) || job_owner(&row.job) != op->node ||
            (row.job.flags & JOB_STAYS))
            continue;
        job_set_owner(&row.job, node);
        memory_replace(memory, i, &row);
        taken++;
    }
    return taken ? OP_APPLIED : OP_MISSING;
}

/* --- Mail -------------------------------------------------------------------------- */

/* Numbers in keys: the largest byte first, so that they are in order. */
static void key_number(Buf *out, uint64_t number)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        buf_add_char(out, (char)(unsigned char)(number >> shift));
}

static uint64_t number_at(const Buf *key, size_t at)
{
    uint64_t number = 0;
    for (size_t i = 0; i < 8; i++)
        number = number << 8 | (unsigned char)key->data[at + i];
    return number;
}

OpResult memory_mail(Memory *memory, const Op *op, uint32_t node)
{
    Buf key = { 0 };
    key_number(&key, op->node);
    key_number(&key, ++memory->letters);
    sorted_map_put(&memory->tables[TABLE_INBOX], buf_slice(&key), op->value, node);
    buf_done(&key);
    return OP_APPLIED;
}

OpResult memory_taken(Memory *memory, const Op *op, uint32_t node)
{
    Buf key = { 0 };
    key_number(&key, node);
    key_number(&key, op->count);
    Entry *entry = sorted_map_find(&memory->tables[TABLE_INBOX], buf_slice(&key));
    buf_done(&key);
    if (!entry)
        return OP_MISSING;
    sorted_map_remove(&memory->tables[TABLE_INBOX], entry);
    return OP_APPLIED;
}

OpResult memory_join(Memory *memory, const Op *op, uint32_t node)
{
    const Entry *entry = lease_entry(memory, node);
    if (!entry)
        return OP_MISSING;
    MemLease lease = lease_in(entry);
    if (op->count <= lease.epoch)
        return OP_LOST;
    lease.epoch = op->count;
    lease.fenced = 0;
    lease_change(memory, entry, &lease);
    SortedMap *inbox = &memory->tables[TABLE_INBOX];
    for (size_t i = inbox->count; i-- > 0;)
        if (number_at(&inbox->items[i].key, 0) == node)
            sorted_map_remove(inbox, &inbox->items[i]);
    return OP_APPLIED;
}

void memory_load_inbox(const Memory *memory, const Load *load, Loaded *out)
{
    const SortedMap *inbox = &memory->tables[TABLE_INBOX];
    for (size_t i = 0; i < inbox->count; i++) {
        const Entry *entry = &inbox->items[i];
        if (number_at(&entry->key, 0) != load->owner)
            continue;
        if (load->limit && out->letter_count == load->limit) {
            out->more = true;
            return;
        }
        Letter letter = { .number = number_at(&entry->key, 8),
                          .from = (uint32_t)entry->number,
                          .body = slice_copy(&out->arena, buf_slice(&entry->value)) };
        MEM_PUSH(out->letters, out->letter_count, out->letter_capacity) = letter;
    }
}

/* --- Changes ----------------------------------------------------------------------- */

void memory_defined(Memory *memory, Slice key, uint32_t node)
{
    Slice bytes = slice_of((const char *)&node, sizeof node);
    SortedMap *changes = &memory->tables[TABLE_CHANGES];
    sorted_map_put(changes, key, bytes, (int64_t)++memory->changes);
    if (!cluster_trims(&memory->defined))
        return;
    for (size_t i = changes->count; i-- > 0;) {
        Entry *entry = &changes->items[i];
        if ((uint64_t)entry->number + CHANGES_KEPT <= memory->changes &&
            !sorted_map_find(&memory->tables[TABLE_DEFINITIONS], buf_slice(&entry->key)))
            sorted_map_remove(changes, entry);
    }
}

static void tell_change(const Memory *memory, const Entry *entry, ChangeSink *sink,
                        void *context)
{
    const Entry *kept =
        sorted_map_find(&memory->tables[TABLE_DEFINITIONS], buf_slice(&entry->key));
    Slice rest = buf_slice(&entry->key);
    Change change = { .change = (uint64_t)entry->number };
    memcpy(&change.node, entry->value.data, sizeof change.node);
    change.table = slice_cut(&rest, '\0');
    change.definition.tenant = slice_cut(&rest, '\0');
    change.definition.key = rest;
    if (kept)
        change.definition.value =
            slice_of(kept->value.data ? kept->value.data : "", kept->value.bytes);
    sink(context, &change);
}

Err memory_changes(Store *store, uint64_t after, ChangeSink *sink, void *context,
                   Error *why)
{
    (void)why;
    const Memory *memory = memory_of(store);
    const SortedMap *table = &memory->tables[TABLE_CHANGES];
    if (after == CHANGES_LAST)
        after = memory->changes ? memory->changes - 1 : 0;
    for (;;) {
        const Entry *next = NULL;
        for (size_t i = 0; i < table->count; i++) {
            const Entry *entry = &table->items[i];
            if ((uint64_t)entry->number > after &&
                (!next || entry->number < next->number))
                next = entry;
        }
        if (!next)
            return ERR_OK;
        after = (uint64_t)next->number;
        tell_change(memory, next, sink, context);
    }
}
