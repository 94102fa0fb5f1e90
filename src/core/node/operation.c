/* SPDX-License-Identifier: Apache-2.0 */
/* operation.c - operations as the node carries them out.
 *
 * One page of one operation is under way at a time. What is done to its jobs and how far
 * the operation has come stand in the same batch: after a crash it goes on where it was.
 * A job that changed since the store was asked ends the page: it is asked for again, and
 * acted on only if it still matches. */
#include "core/node/inside.h"
#include "core/share/share.h"

#include <stdio.h>

#define OPERATION_LOAD_MAX 200 /* jobs per step */

typedef struct OperationEntry {
    Arena arena;
    Operation operation;
} OperationEntry;

static OperationEntry *entry_of(const Node *node, Slice key)
{
    JobId id;
    return id_parse(key, &id) ? NULL : map_find(&node->operations, id);
}

static void entry_free(OperationEntry *entry)
{
    arena_done(&entry->arena);
    mem_free(entry);
}

void node_operations_free(Node *node)
{
    MapEntry at;
    for (size_t i = 0; map_next(&node->operations, &i, &at);)
        entry_free(at.value);
    map_done(&node->operations);
}

static OperationEntry *snapshot_writer(Node *node, const Operation *operation)
{
    OperationEntry *before = map_remove(&node->operations, operation->id);
    OperationEntry *entry = MEM_NEW(OperationEntry);
    if (before)
        entry_free(before); /* another node has said how it stands */
    entry->operation = *operation;
    entry->operation.tenant = slice_copy(&entry->arena, operation->tenant);
    entry->operation.query = slice_copy(&entry->arena, operation->query);
    entry->operation.reason = slice_copy(&entry->arena, operation->reason);
    entry->operation.patch.queue = slice_copy(&entry->arena, operation->patch.queue);
    entry->operation.patch.tags = slice_copy(&entry->arena, operation->patch.tags);
    map_put(&node->operations, operation->id, entry);
    return entry;
}

void node_load_operation(Node *node, const Definition *definition)
{
    Operation operation;
    if (!operation_unpack(definition->value, &operation))
        snapshot_writer(node, &operation);
}

static void put(Node *node, const Operation *operation)
{
    char id[ID_TEXT_BYTES];
    Buf value = { 0 };
    operation_pack(&value, operation);
    Op *op = node_op(node, OP_PUT, 0);
    op->own = 1;
    op->table = SLICE_LITERAL(OPERATION_TABLE);
    op->key = node_keep(node, slice_text(id_text(operation->id, id)));
    op->value = node_keep(node, buf_slice(&value));
    buf_done(&value);
    if (operation->state == OPERATION_RUNNING)
        return;
    Effect *effect = outbox_effect(node->out, EFFECT_DEFINED, WAIT_BATCH);
    effect->table = op->table; /* for those who wait for its end */
    effect->key = op->key;
    effect->value = op->value;
}

/* The oldest that is over makes room. */
static void forget_one(Node *node)
{
    char id[ID_TEXT_BYTES];
    OperationEntry *oldest = NULL;
    MapEntry at;
    for (size_t i = 0; map_next(&node->operations, &i, &at);) {
        OperationEntry *entry = at.value;
        if (entry->operation.state != OPERATION_RUNNING &&
            (!oldest || entry->operation.id < oldest->operation.id))
            oldest = entry;
    }
    if (!oldest)
        return;
    Op *op = node_op(node, OP_DELETE, 0);
    op->table = SLICE_LITERAL(OPERATION_TABLE);
    op->key = node_keep(node, slice_text(id_text(oldest->operation.id, id)));
    map_remove(&node->operations, oldest->operation.id);
    entry_free(oldest);
}

static void end(Node *node, Operation *operation, OperationState state)
{
    operation->state = state;
    operation->finished_ms = node->now.wall_ms;
}

static void begin(Node *node, const Event *event)
{
    Operation operation;
    if (operation_unpack(event->value, &operation)) {
        node_reply(node, event->request, ERR_INVALID, "invalid_value");
        return;
    }
    if (node->operations.count >= OPERATIONS_MAX)
        forget_one(node);
    uint64_t c = id_take(&node->ids, node->now.wall_ms, 1);
    operation.id = operation.before = id_from_count(c, node->options.number);
    operation.created_ms = node->now.wall_ms;
    if (operation.dry_run)
        end(node, &operation, OPERATION_DONE);
    put(node, &snapshot_writer(node, &operation)->operation);
    node_reply(node, event->request, ERR_OK, NULL)->first = c;
}

void node_define_operation(Node *node, const Event *event)
{
    OperationEntry *entry = entry_of(node, event->key);
    if (event->value.data) {
        begin(node, event);
    } else if (!entry || (event->tenant.bytes &&
                          !slice_equal(event->tenant, entry->operation.tenant))) {
        node_reply(node, event->request, ERR_NOT_FOUND, "operation_not_found");
    } else {
        if (entry->operation.state == OPERATION_RUNNING) {
            end(node, &entry->operation, OPERATION_STOPPED);
            put(node, &entry->operation);
        }
        node_reply(node, event->request, ERR_OK, NULL);
    }
}

/* The oldest that runs. */
static const Operation *next_operation(const Node *node)
{
    const Operation *next = NULL;
    MapEntry at;
    for (size_t i = 0; map_next(&node->operations, &i, &at);) {
        const Operation *operation = &((OperationEntry *)at.value)->operation;
        bool may =
            !node->no_room || operation->action == ACT_REMOVE; /* that makes some */
        if (operation->state == OPERATION_RUNNING && may &&
            node_share_sees_to(node, operation->id) &&
            (!next || operation->id < next->id))
            next = operation;
    }
    return next;
}

void node_ask_operation(Node *node)
{
    if (node->operation_loading || !node->operations.count ||
        node->now.boot_ms < node->operation_boot)
        return;
    const Operation *operation = next_operation(node);
    if (!operation)
        return;
    Asked *asked;
    Effect *effect = node_ask(node, WANT_MATCH, &asked);
    asked->event.id = operation->id;
    effect->tenant = node_keep(node, operation->tenant);
    effect->key = node_keep(node, operation->query);
    effect->behind_id = operation->before;
    effect->dt_ms = operation->created_ms;
    effect->limit = OPERATION_LOAD_MAX;
    node->operation_loading = true;
}

/* Whether the job is still as the store told it. */
static bool settled(const Node *node, const Job *job, uint64_t number)
{
    bool runs = map_find(&node->running, job->id) != NULL;
    bool here = runs == state_in(job->state, STATES_OWNED);
    if (node_share_is_other(node, job))
        return node_share_reaches(node, job);
    return here && !map_find(&node->pins, job->id) &&
           !node_touched_since(node, job->id, number);
}

/* Without a reason of its own it is the reason, so that people can see who it was. */
static Slice reason_of(Node *node, const Operation *operation)
{
    char text[sizeof REASON_OPERATION + ID_TEXT_BYTES];
    char id[ID_TEXT_BYTES];
    if (operation->reason.bytes || operation->action == ACT_PATCH)
        return operation->reason;
    snprintf(text, sizeof text, REASON_OPERATION " %s", id_text(operation->id, id));
    return node_keep(node, slice_text(text));
}

static void act_on(Node *node, Operation *operation, const Job *job)
{
    Event act = { .kind = EVENT_ACT,
                  .action = operation->action,
                  .id = job->id,
                  .reason = reason_of(node, operation),
                  .patch = operation->patch };
    if (node_act_now(node, &act, job))
        operation->acted++;
    else
        operation->refused++;
}

void node_operation_loaded(Node *node, const Asked *asked, const Event *answer)
{
    OperationEntry *entry = map_find(&node->operations, asked->event.id);
    node->operation_loading = false;
    if (!entry || entry->operation.state != OPERATION_RUNNING)
        return; /* stopped meanwhile */
    Operation *operation = &entry->operation;
    if (answer->err) {
        node->operation_boot = node->now.boot_ms + TICK_MS;
        if (answer->err != ERR_INVALID)
            return;
        end(node, operation, OPERATION_FAILED);
    }
    size_t at = 0;
    for (; at < answer->loaded_count; at++) {
        const Job *job = &answer->loaded[at];
        if (!settled(node, job, answer->number))
            break;
        act_on(node, operation, job);
        operation->before = job->id;
    }
    if (at < answer->loaded_count)
        node->operation_boot = node->now.boot_ms + OPERATION_AGAIN_MS;
    else if (answer->cursor)
        operation->before = answer->cursor;
    else if (!answer->err)
        end(node, operation, OPERATION_DONE);
    put(node, operation);
}
