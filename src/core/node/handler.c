/* SPDX-License-Identifier: Apache-2.0 */
/* handler.c - handlers as the node knows them, and the jobs that wait for one.
 *
 * A type without a usable handler blocks its jobs (reason no_handler); setting or
 * enabling one asks the store for them, in steps, and frees them. */
#include "core/dispatch/limits.h"
#include "core/node/inside.h"

#define BLOCKED_LOAD_MAX 500 /* jobs freed per step */

static uint64_t handler_key(uint32_t tenant, uint32_t type)
{
    return (uint64_t)tenant << 32 | type;
}

HandlerEntry *node_handler_entry(const Node *node, uint32_t tenant, uint32_t type)
{
    return map_find(&node->handlers, handler_key(tenant, type));
}

const Handler *node_find_handler(const Node *node, uint32_t tenant, uint32_t type)
{
    const HandlerEntry *entry = node_handler_entry(node, tenant, type);
    return entry ? &entry->handler : NULL;
}

const Handler *node_usable_handler(const Node *node, uint32_t tenant, uint32_t type)
{
    const Handler *handler = node_find_handler(node, tenant, type);
    return handler && !handler->deleted && !handler->disabled ? handler : NULL;
}

const Handler *node_handler(const Node *node, Slice tenant, Slice type)
{
    uint32_t tenant_number = names_find(&node->names, tenant);
    uint32_t type_number = names_find(&node->names, type);
    if (!tenant_number || !type_number)
        return NULL;
    return node_usable_handler(node, tenant_number, type_number);
}

static const Handler *snapshot_writer(Node *node, const Handler *handler)
{
    uint32_t tenant = names_intern(&node->names, handler->tenant);
    uint32_t type = names_intern(&node->names, handler->type);
    uint64_t key = handler_key(tenant, type);
    HandlerEntry *entry = MEM_NEW(HandlerEntry);
    entry->handler = handler_copy(&entry->arena, handler);
    entry->warm = slot_sharing_kind(node, handler);
    HandlerEntry *before = map_find(&node->handlers, key);
    map_put(&node->handlers, key, entry);
    if (before) {
        entry->pace = before->pace; /* its jobs are still in hand */
        arena_done(&before->arena);
        mem_free(before);
    }
    return &entry->handler;
}

void node_load_handler(Node *node, const Definition *definition)
{
    Handler handler;
    if (handler_unpack(definition->value, &handler))
        return;
    snapshot_writer(node, &handler);
    /* The node may have ended between setting it and freeing the jobs that wait. */
    uint32_t tenant = names_intern(&node->names, handler.tenant);
    uint32_t type = names_intern(&node->names, handler.type);
    if (node_usable_handler(node, tenant, type))
        map_put(&node->unblock, handler_key(tenant, type), node);
}

void node_handlers_free(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->handlers, &at, &entry);) {
        HandlerEntry *handler = entry.value;
        arena_done(&handler->arena);
        mem_free(handler);
    }
    map_done(&node->handlers);
}

static void put(Node *node, const char *table, Slice key, const Handler *handler)
{
    Buf value = { 0 };
    handler_pack(&value, handler);
    Op *op = node_op(node, OP_PUT, 0);
    op->table = slice_text(table);
    op->tenant = node_keep(node, handler->tenant);
    op->key = node_keep(node, key);
    op->value = node_keep(node, buf_slice(&value));
    buf_done(&value);
}

static void ask_blocked(Node *node, const Handler *handler)
{
    Asked *asked;
    Effect *effect = node_ask(node, WANT_BLOCKED, &asked);
    asked->event.tenant = slice_copy(&asked->arena, handler->tenant);
    asked->event.key = slice_copy(&asked->arena, handler->type);
    effect->tenant = node_keep(node, handler->tenant);
    effect->key = node_keep(node, handler->type);
    effect->limit = BLOCKED_LOAD_MAX;
}

/* What the event makes of the handler that was there. Its value is the packed handler as
 * the door has checked it; no value deletes it; with its flag only `disabled` counts. */
static Err changed_handler(const Event *event, const Handler *before, Handler *out)
{
    Handler handler = { 0 };
    bool there = before && !before->deleted;
    if (event->value.data && handler_unpack(event->value, &handler))
        return ERR_INVALID;
    if (!there && (event->flag || !event->value.data))
        return ERR_NOT_FOUND;
    if (event->flag) {
        bool disabled = handler.disabled;
        handler = *before;
        handler.disabled = disabled;
    }
    handler.tenant = event->tenant;
    handler.type = event->key;
    handler.deleted = !event->value.data;
    handler.version = before ? before->version : 0;
    *out = handler;
    return ERR_OK;
}

static void put_version(Node *node, Handler *handler)
{
    Buf key = { 0 };
    handler->version++;
    handler->created_ms = node->now.wall_ms;
    buf_printf(&key, SLICE_FMT " %u", SLICE_ARG(handler->type), handler->version);
    put(node, HANDLER_VERSIONS, buf_slice(&key), handler);
    buf_done(&key);
}

void node_define_handler(Node *node, const Event *event)
{
    uint32_t tenant = names_intern(&node->names, event->tenant);
    uint32_t type = names_intern(&node->names, event->key);
    const Handler *before = node_find_handler(node, tenant, type);
    Handler handler;
    if (node->no_room && event->value.data && !event->flag) {
        node_reply(node, event->request, ERR_FULL, "journal_full");
        return;
    }
    Err err = changed_handler(event, before, &handler);
    if (err) {
        node_reply(node, event->request, err,
                   err == ERR_INVALID ? "invalid_value" : "handler_not_found");
        return;
    }
    if (!handler.deleted && !event->flag)
        put_version(node, &handler);
    put(node, HANDLER_TABLE, handler.type, &handler);
    Effect *reply = node_reply(node, event->request, ERR_OK, NULL);
    reply->count = handler.version;
    reply->replayed = before && !before->deleted; /* it was there */
    const Handler *kept = snapshot_writer(node, &handler);
    if (!kept->deleted && !kept->disabled)
        ask_blocked(node, kept);
    node_pull_handler_changed(node, tenant);
    node_unstick(node); /* it may be a highlander no longer */
}

/* The first handler of a job's type is there: it says what the job left open. */
void node_handler_arrives(Node *node, Job *job, Op *op)
{
    uint32_t tenant = names_intern(&node->names, job->tenant);
    uint32_t type = names_intern(&node->names, job->type);
    const Handler *handler = node_usable_handler(node, tenant, type);
    bool open = (job->flags & JOB_OPEN_PRIORITY) != 0;
    if (!handler || !handler_arrives(handler, job))
        return;
    node_fill_limits(node, job, handler, open);
    Job *kept = ARENA_NEW(&node->out->batch.arena, Job);
    *kept = job_copy(&node->out->batch.arena, job);
    op->fields |= FIELD_HANDLER;
    op->job = kept;
}

static void free_blocked(Node *node, const Job *loaded)
{
    Job job = *loaded;
    job.dt_ms = job.run_at_ms;
    Op *op = node_op(node, OP_MOVE, job.id);
    op->from = STATE_BIT(JOB_BLOCKED);
    node_handler_arrives(node, &job, op);
    op->to = job_waiting_state(&job, node->now.wall_ms);
    op->dt_ms = job.dt_ms;
    JobState to = op->to;
    node_touch(node, job.id);
    Head head = head_of(&job, &node->names);
    if (to == JOB_READY)
        node_ready(node, &head);
    else
        node_wait_until(node, job.dt_ms);
    node_changed(node, &head, JOB_BLOCKED, to);
}

/* A job that someone is acting on, or that was changed since the store was asked, is left
 * alone and asked for again. */
void node_blocked_loaded(Node *node, const Asked *asked, const Event *answer)
{
    uint32_t tenant = names_intern(&node->names, asked->event.tenant);
    uint32_t type = names_intern(&node->names, asked->event.key);
    const Handler *handler = node_usable_handler(node, tenant, type);
    if (!handler)
        return; /* gone again */
    bool again = answer->err != ERR_OK;
    for (size_t i = 0; i < answer->loaded_count; i++) {
        const Job *job = &answer->loaded[i];
        if (node_touched_since(node, job->id, answer->number) ||
            map_find(&node->pins, job->id))
            again = true;
        else if (!(job->flags & JOB_UNSURE))
            free_blocked(node, job);
    }
    if (answer->more)
        ask_blocked(node, handler);
    if (!again)
        return;
    map_put(&node->unblock, handler_key(tenant, type), node);
    node->reload_boot = node->now.boot_ms + TICK_MS;
}

void node_unblock_all(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->handlers, &at, &entry);)
        ask_blocked(node, &((HandlerEntry *)entry.value)->handler);
}

void node_ask_unblocked(Node *node)
{
    Map keys = node->unblock;
    MapEntry entry;
    node->unblock = (Map){ 0 };
    for (size_t at = 0; map_next(&keys, &at, &entry);) {
        HandlerEntry *handler = map_find(&node->handlers, entry.key);
        if (handler)
            ask_blocked(node, &handler->handler);
    }
    map_done(&keys);
}

bool node_can_run(const Node *node, const Head *head)
{
    return (head->flags & JOB_COMMAND) ||
           node_usable_handler(node, head->tenant, head->type);
}

/* A blocked job's dt is the end of its window: it is rejected then. */
int64_t node_blocked_until(const Node *node, const Head *head)
{
    int64_t window_ms =
        head->retry_window_ms ? head->retry_window_ms : node->settings.retry_window_ms;
    if (window_ms < 0 || head->window_from_ms > TIME_WALL_MAX_MS - window_ms)
        return TIME_WALL_MAX_MS;
    return head->window_from_ms + window_ms;
}

/* Its window may have moved since its dt was set. */
static void block_on(Node *node, const Job *job, int64_t until_ms)
{
    Op *op = node_op(node, OP_MOVE, job->id);
    op->from = STATE_BIT(JOB_BLOCKED);
    op->to = JOB_BLOCKED;
    op->dt_ms = until_ms;
    op->reason = SLICE_LITERAL(REASON_NO_HANDLER);
    node_touch(node, job->id);
    node_wait_until(node, until_ms);
}

void node_blocked_due(Node *node, const Job *job)
{
    if (job->flags & JOB_WAITS) {
        node_after_due(node, job);
        return;
    }
    Head head = head_of(job, &node->names);
    int64_t until_ms = node_blocked_until(node, &head);
    if (node_can_run(node, &head)) {
        free_blocked(node, job);
        return;
    }
    if (until_ms > node->now.wall_ms) {
        block_on(node, job, until_ms);
        return;
    }
    Op *op = node_op(node, OP_MOVE, job->id);
    op->from = STATE_BIT(JOB_BLOCKED);
    op->to = JOB_REJECTED;
    op->reason = SLICE_LITERAL(REASON_NO_HANDLER);
    node_touch(node, job->id);
    node_changed(node, &head, JOB_BLOCKED, JOB_REJECTED);
    node_final(node, &head, JOB_REJECTED, SLICE_LITERAL(REASON_NO_HANDLER));
}

void node_block(Node *node, const Head *head)
{
    Op *op = node_op(node, OP_MOVE, head->id);
    op->from = STATE_BIT(JOB_READY);
    op->to = JOB_BLOCKED;
    op->dt_ms = node_blocked_until(node, head);
    op->reason = SLICE_LITERAL(REASON_NO_HANDLER);
    node_touch(node, head->id);
    node_changed(node, head, JOB_READY, JOB_BLOCKED);
    node_wait_until(node, op->dt_ms);
}
