/* SPDX-License-Identifier: Apache-2.0 */
/* add.c - accepting jobs: ids, the state they begin in, idempotency keys.
 *
 * A job from a door is an operation of outbox->adds: it is journalled by itself, before
 * the rest of the turn. With an idempotency key both go into outbox->batch instead, so
 * that key and jobs are kept or lost together. */
#include "core/dispatch/limits.h"
#include "core/dispatch/quota.h"
#include "core/node/inside.h"
#include "core/share/key_confirm.h"

#include "base/pack.h"
#include "base/text.h"

enum {
    KEY_HASH = 1,
    KEY_FIRST = 2,
    KEY_COUNT = 3,
    KEY_REFUSED = 4,
    KEY_ITEM = 5,    /* an id each, where they are not in a row ... */
    KEY_EXISTED = 6, /* ... and was there before */
    KEY_NODE = 7,    /* whose ids they are, on a store that nodes share */
};

typedef struct RefusedList {
    Refused *items;
    size_t count;
    size_t capacity;
} RefusedList;

/* A door's job has been checked; here it gets what only the node knows. */
static void begin(Node *node, Job *job)
{
    int64_t now_ms = node->now.wall_ms;
    /* Only a control file says when it was created: that orders it among its like. */
    bool dated = job->created_ms > 0 && job->created_ms < now_ms;
    if (!dated)
        job->created_ms = now_ms;
    if (job->run_at_ms < now_ms)
        job->run_at_ms = now_ms;
    job->dt_ms = dated && job->run_at_ms == now_ms ? job->created_ms : job->run_at_ms;
    job->window_from_ms = job->run_at_ms;
    job->lock = (Slice){ NULL, 0 };
    uint32_t tenant = names_intern(&node->names, job->tenant);
    uint32_t type = names_intern(&node->names, job->type);
    job->flags |= node_segregates(node, tenant) ? (unsigned)JOB_SEGREGATED : 0;
    bool own = job->command.bytes > 0;
    job->flags |= own ? (unsigned)JOB_COMMAND : 0;
    const Handler *handler = own ? NULL : node_usable_handler(node, tenant, type);
    bool open = job->priority == PRIORITY_UNSET;
    job->version = handler ? handler->version : 0;
    if (own || handler)
        handler_defaults(handler, job);
    else
        handler_later(job);
    node_fill_limits(node, job, handler, open);
    if (job->after.bytes || job->group.bytes || job->unique.bytes || job->request.bytes)
        job->flags |= JOB_LINKED;
    if (job->after.bytes) {
        job->flags |= JOB_WAITS;
        node_after_begin(node, job);
    }
    if (job->state == JOB_HELD || job->after.bytes)
        return;
    job->state = job_waiting_state(job, node->now.wall_ms);
    Head head = head_of(job, &node->names);
    if (node_can_run(node, &head))
        return;
    job->state = JOB_BLOCKED;
    job->reason = SLICE_LITERAL(REASON_NO_HANDLER);
    job->dt_ms = node_blocked_until(node, &head);
}

static void begin_life(Node *node, Job *job)
{
    begin(node, job);
    if (node_keys_unsure(node, job))
        node_unsure(node, job);
}

/* Where a new job waits in memory, if anywhere. Whether it may start soon. */
static bool place(Node *node, const Job *job, const Head *head)
{
    bool near = job->state == JOB_READY && node_ready(node, head);
    if (job->state == JOB_HELD && job->dt_ms <= node->now.wall_ms)
        node_held(node, head);
    if (job->state == JOB_DEFERRED || job->state == JOB_BLOCKED)
        node_wait_until(node, job->dt_ms);
    return near;
}

bool node_add_refused(Node *node, const Event *event)
{
    if (!event->request)
        return false; /* caused by a job: it has no one else to keep it */
    if (node->drain.closed) {
        node_reply(node, event->request, ERR_UNAVAILABLE, "draining");
        return true;
    }
    if (node->no_room) {
        node_reply(node, event->request, ERR_FULL, "journal_full");
        return true;
    }
    return false;
}

/* Notes in the list why a job of the event cannot be taken. False: it can. */
static bool refuse(Node *node, const Event *event, const Job *job, RefusedList *refused)
{
    Buf detail = { 0 };
    bool lines = event->kind == EVENT_ADD_LINES;
    uint64_t bytes = lines ? event->body.bytes : job->payload.bytes;
    const char *problem = NULL;
    if (event->request)
        problem = node_quota_refuses(node, job, lines ? event->count : 1, bytes, &detail);
    if (event->request && !problem)
        problem = node_refuses(node, job, &detail);
    if (problem)
        MEM_PUSH(refused->items, refused->count, refused->capacity) =
            (Refused){ .problem = problem,
                       .detail = node_keep(node, buf_slice(&detail)) };
    buf_done(&detail);
    return problem != NULL;
}

/* A job that has begun its life, into one of the turn's batches. */
static void keep(Node *node, Job *job, Batch *batch)
{
    *job = job_copy(&batch->arena, job);
    Op *op = batch_op(batch, OP_ADD, job->id);
    op->job = job;
    Head head = head_of(job, &node->names);
    op->near = place(node, job, &head);
    node_group_added(node, job, 1);
    node_quota_added(node, head.tenant, job, 1, job->payload.bytes);
    node_changed(node, &head, job->state, job->state)->added = true;
}

/* Where nodes share a store, jobs say which request they came with: another node may
 * have accepted one with the same key in the same moment. */
static Slice request_of(Node *node, const Event *event)
{
    Buf text = { 0 };
    if (node->share && event->key.bytes) {
        buf_add_slice(&text, event->key);
        buf_add_char(&text, '\0');
        buf_printf(&text, "%u-%llu", node->options.number,
                   (unsigned long long)node->out->number);
        buf_add_char(&text, '\0');
    }
    Slice kept = node_keep(node, buf_slice(&text));
    buf_done(&text);
    return kept;
}

static void add_jobs(Node *node, const Event *event, uint64_t first, Batch *batch,
                     RefusedList *refused)
{
    Slice request = request_of(node, event);
    for (size_t k = 0; k < event->count; k++) {
        Job *job = ARENA_NEW(&batch->arena, Job);
        *job = event->jobs[k];
        job->request = request;
        job->id = id_from_count(first + k, node->options.number);
        if (!event->request && node_owe(node, job))
            continue;
        begin_life(node, job);
        if (refuse(node, event, job, refused)) {
            refused->items[refused->count - 1].index = k;
            continue;
        }
        if (!event->request)
            job->priority = node_clamp_priority(node, job);
        keep(node, job, batch);
    }
}

/* One job alone that is refused is the request's own failure. */
static void tell_refused(Node *node, Effect *reply, RefusedList *refused)
{
    if (refused->count && reply->count == 1) {
        reply->err = ERR_INVALID;
        reply->problem = refused->items[0].problem;
        reply->detail = refused->items[0].detail;
    } else if (refused->count) {
        reply->refused = arena_copy(&node->out->batch.arena, refused->items,
                                    refused->count * sizeof *refused->items);
        reply->refused_count = refused->count;
    }
    mem_free(refused->items);
}

AddedItem node_add_one(Node *node, const Event *event, const Job *from)
{
    Batch *batch = &node->out->batch;
    Job *job = ARENA_NEW(&batch->arena, Job);
    RefusedList refused = { 0 };
    AddedItem item = { 0 };
    *job = *from;
    job->request = request_of(node, event);
    job->id =
        id_from_count(id_take(&node->ids, node->now.wall_ms, 1), node->options.number);
    begin_life(node, job);
    if (refuse(node, event, job, &refused)) {
        item.problem = refused.items[0].problem;
        item.detail = refused.items[0].detail;
    } else {
        item.id = job->id;
        keep(node, job, batch);
        node_unique_added(node, job);
    }
    mem_free(refused.items);
    return item;
}

const Job *node_last_added(const Batch *batch)
{
    for (size_t i = batch->count; i-- > 0;)
        if (batch->ops[i].kind == OP_ADD)
            return batch->ops[i].job;
    return NULL;
}

static void reply_added(Node *node, const Event *event, uint64_t first, Wait wait,
                        RefusedList *refused)
{
    Batch *batch = event->key.bytes ? &node->out->batch : &node->out->adds;
    Effect *reply = node_reply(node, event->request, ERR_OK, NULL);
    reply->wait = wait;
    reply->first = first;
    reply->count = event->count;
    tell_refused(node, reply, refused);
    if (!reply->err && event->count == 1)
        reply->job = node_last_added(batch);
}

static KeyUse *find_key(Node *node, Slice tenant, Slice key)
{
    uint64_t hash = hash_bytes(key.data, key.bytes);
    for (KeyUse *use = node->keys; use; use = use->next)
        if (use->hash == hash && slice_equal(use->key, key) &&
            slice_equal(use->tenant, tenant))
            return use;
    return NULL;
}

static KeyUse *snapshot_writer_key(Node *node, Slice tenant, Slice key)
{
    KeyUse *use = MEM_NEW(KeyUse);
    use->hash = hash_bytes(key.data, key.bytes);
    use->tenant = slice_copy(&use->arena, tenant);
    use->key = slice_copy(&use->arena, key);
    use->number = UINT64_MAX;
    use->next = node->keys;
    node->keys = use;
    return use;
}

void node_keys_applied(Node *node, uint64_t number)
{
    for (KeyUse **at = &node->keys; *at;) {
        KeyUse *use = *at;
        if (use->number > number) {
            at = &use->next;
            continue;
        }
        *at = use->next;
        arena_done(&use->arena);
        mem_free(use);
    }
}

static void forget_key(Node *node, KeyUse *use)
{
    use->number = 0;
    node_keys_applied(node, 0);
}

/* "INDEX PROBLEM DETAIL": a repeat of the request is told the same. */
static void pack_refused(Buf *value, const Refused *refused)
{
    Buf text = { 0 };
    buf_printf(&text, "%zu %s " SLICE_FMT, refused->index, refused->problem,
               SLICE_ARG(refused->detail));
    pack_bytes(value, KEY_REFUSED, buf_slice(&text));
    buf_done(&text);
}

static void unpack_refused(Node *node, Slice text, RefusedList *out)
{
    int64_t index;
    Slice rest = slice_copy(&node->out->batch.arena, text);
    if (int_parse(slice_cut(&rest, ' '), &index))
        return;
    Refused refused = { .index = (size_t)index };
    refused.problem = slice_cstr(&node->out->batch.arena, slice_cut(&rest, ' '));
    refused.detail = rest;
    MEM_PUSH(out->items, out->count, out->capacity) = refused;
}

/* Ids that another node has given. */
static AddedItem *ids_of(Node *node, uint64_t first, uint64_t count, uint16_t number)
{
    AddedItem *items = arena_take(&node->out->batch.arena, count * sizeof *items);
    for (uint64_t i = 0; i < count; i++)
        items[i] = (AddedItem){ .id = id_from_count(first + i, number) };
    return items;
}

/* The same key again: the first answer if the body is the same, else a refusal. */
static void answer_repeat(Node *node, const Event *event, Slice value)
{
    PackField field;
    uint64_t first = 0;
    uint64_t count = 0;
    Slice hash = { NULL, 0 };
    RefusedList refused = { 0 };
    AddedItem *items = NULL;
    size_t at = 0;
    while (pack_next(&value, &field)) {
        if (field.tag == KEY_REFUSED)
            unpack_refused(node, field.bytes, &refused);
        if (field.tag == KEY_HASH)
            hash = field.bytes;
        if (field.tag == KEY_FIRST)
            first = (uint64_t)field.number;
        if (field.tag == KEY_COUNT)
            count = (uint64_t)field.number;
        if (field.tag == KEY_ITEM && !items)
            items = arena_take(&node->out->batch.arena, count * sizeof *items);
        if (field.tag == KEY_ITEM && at < count)
            items[at++].id = (JobId)field.number;
        if (field.tag == KEY_EXISTED && at)
            items[at - 1].existed = true;
        if (field.tag == KEY_NODE && field.number != node->options.number)
            items = ids_of(node, first, count, (uint16_t)field.number);
    }
    if (!slice_equal(hash, event->key_hash)) {
        mem_free(refused.items);
        node_reply(node, event->request, ERR_INVALID, "idempotency_mismatch");
        return;
    }
    Effect *reply = node_reply(node, event->request, ERR_OK, NULL);
    reply->first = first;
    reply->count = count;
    reply->added_items = items;
    reply->replayed = true;
    tell_refused(node, reply, &refused);
}

static void put_key(Node *node, const Event *event, KeyUse *use, Slice value)
{
    Op *op = node_op(node, OP_KEY, 0);
    op->tenant = node_keep(node, event->tenant);
    op->key = node_keep(node, event->key);
    op->value = node_keep(node, value);
    /* The clock may have been set back since the store was asked: what had expired by
     * then must not come alive again. */
    if (op->at_ms < event->next_due_ms)
        op->at_ms = event->next_due_ms;
    op->dt_ms = op->at_ms + (event->key_kept_ms ? event->key_kept_ms : KEY_KEPT_MS);
    use->value = slice_copy(&use->arena, value);
    use->number = node->out->number;
}

static void add_with_key(Node *node, const Event *event, KeyUse *use)
{
    uint64_t first = id_take(&node->ids, node->now.wall_ms, event->count);
    RefusedList refused = { 0 };
    add_jobs(node, event, first, &node->out->batch, &refused);
    if (refused.count && event->count == 1) {
        reply_added(node, event, first, WAIT_BATCH, &refused);
        forget_key(node, use); /* a corrected request may use it */
        return;
    }
    Buf value = { 0 };
    for (size_t i = 0; i < refused.count; i++)
        pack_refused(&value, &refused.items[i]);
    pack_bytes(&value, KEY_HASH, event->key_hash);
    pack_int(&value, KEY_FIRST, (int64_t)first);
    pack_int(&value, KEY_COUNT, (int64_t)event->count);
    if (node->share)
        pack_int(&value, KEY_NODE, node->options.number);
    put_key(node, event, use, buf_slice(&value));
    buf_done(&value);
    reply_added(node, event, first, WAIT_BATCH, &refused);
}

static void pack_items(Buf *value, const Event *event, const AddedItem *items,
                       const RefusedList *refused)
{
    pack_bytes(value, KEY_HASH, event->key_hash);
    pack_int(value, KEY_COUNT, (int64_t)event->count);
    for (size_t i = 0; i < refused->count; i++)
        pack_refused(value, &refused->items[i]);
    for (size_t i = 0; i < event->count; i++) {
        pack_int(value, KEY_ITEM, (int64_t)items[i].id);
        if (items[i].existed)
            pack_int(value, KEY_EXISTED, 1);
    }
}

void node_add_answer_items(Node *node, const Event *event, const AddedItem *items)
{
    RefusedList refused = { 0 };
    Buf value = { 0 };
    KeyUse *use = event->key.bytes ? find_key(node, event->tenant, event->key) : NULL;
    for (size_t i = 0; i < event->count; i++)
        if (items[i].problem)
            MEM_PUSH(refused.items, refused.count, refused.capacity) =
                (Refused){ i, items[i].problem, items[i].detail };
    pack_items(&value, event, items, &refused);
    if (use && refused.count && event->count == 1)
        forget_key(node, use); /* a later request may use it */
    else if (use)
        put_key(node, event, use, buf_slice(&value));
    buf_done(&value);
    bool one = event->count == 1 && !items[0].existed && !refused.count;
    Effect *reply = node_reply(node, event->request, ERR_OK, NULL);
    reply->wait = WAIT_BATCH;
    reply->first = id_count(items[0].id);
    reply->count = event->count;
    reply->added_items = items;
    reply->job = one ? node_last_added(&node->out->batch) : NULL;
    tell_refused(node, reply, &refused);
}

void node_add_forget_key(Node *node, const Event *event)
{
    KeyUse *use = event->key.bytes ? find_key(node, event->tenant, event->key) : NULL;
    if (use)
        forget_key(node, use);
}

static Event keep_add(Arena *arena, const Event *event)
{
    Event kept = *event;
    kept.tenant = slice_copy(arena, event->tenant);
    kept.key = slice_copy(arena, event->key);
    kept.key_hash = slice_copy(arena, event->key_hash);
    size_t count = event->kind == EVENT_ADD ? event->count : 1;
    kept.jobs = arena_take(arena, count * sizeof(Job));
    for (size_t i = 0; i < count; i++)
        kept.jobs[i] = job_copy(arena, &event->jobs[i]);
    return kept;
}

static void ask_key(Node *node, Asked *asked, Effect *effect)
{
    Event *add = &asked->event;
    effect->tenant = node_keep(node, add->tenant);
    effect->key = node_keep(node, add->key);
    effect->dt_ms = node->now.wall_ms; /* a key that has expired by then is no key */
    add->next_due_ms = effect->dt_ms;
}

static void add_keyed(Node *node, const Event *event)
{
    KeyUse *use = find_key(node, event->tenant, event->key);
    if (use && use->number == UINT64_MAX) {
        node_reply(node, event->request, ERR_CONFLICT, "idempotency_in_progress");
        return;
    }
    if (use) {
        answer_repeat(node, event, use->value);
        return;
    }
    snapshot_writer_key(node, event->tenant, event->key);
    Asked *asked;
    Effect *effect = node_ask(node, WANT_KEY, &asked);
    asked->event = keep_add(&asked->arena, event);
    ask_key(node, asked, effect);
}

void node_add_later(Node *node)
{
    Asked *next = node->later;
    node->later = NULL;
    while (next) {
        Asked *asked = next;
        next = asked->behind;
        asked->behind = NULL;
        Effect *effect = node_ask_again(node, asked);
        if (asked->what == WANT_UNIQUE)
            node_ask_unique(node, asked, effect);
        else
            ask_key(node, asked, effect);
    }
}

void node_add_put_off(Node *node, Asked *asked)
{
    asked->behind = node->later;
    node->later = asked;
    node->later_boot = node->now.boot_ms + TICK_MS;
}

bool node_add_after_key(Node *node, Asked *asked, const Event *answer)
{
    const Event *add = &asked->event;
    KeyUse *use = find_key(node, add->tenant, add->key);
    if (!use)
        return true;
    if (answer->err && !add->request) {
        node_add_put_off(node, asked);
        return false;
    }
    if (answer->err) {
        node_reply(node, add->request, ERR_UNAVAILABLE, "store_unavailable");
        forget_key(node, use);
    } else if (answer->value.bytes) {
        answer_repeat(node, add, answer->value);
        forget_key(node, use);
    } else if (node_add_refused(node, add)) {
        forget_key(node, use);
    } else if (node_add_needs_keys(node, add)) {
        node_ask_unique(node, asked, node_ask_again(node, asked));
        return false;
    } else {
        add_with_key(node, add, use);
    }
    return true;
}

/* Jobs that hold keys are decided when the store has said who holds them now. */
static void add_holding_keys(Node *node, const Event *event)
{
    Asked *asked;
    Effect *effect = node_ask(node, WANT_UNIQUE, &asked);
    asked->event = keep_add(&asked->arena, event);
    if (event->kind == EVENT_ADD_LINES) { /* they are all one: the first */
        Slice rest = event->body;
        Slice line = { NULL, 0 };
        (void)lines_next(&rest, &line);
        asked->event.jobs[0].payload = slice_copy(&asked->arena, line);
    }
    node_ask_unique(node, asked, effect);
}

void node_add(Node *node, const Event *event)
{
    if (node_add_refused(node, event))
        return;
    if (event->key.bytes) {
        add_keyed(node, event);
        return;
    }
    if (node_add_needs_keys(node, event)) {
        add_holding_keys(node, event);
        return;
    }
    uint64_t first = id_take(&node->ids, node->now.wall_ms, event->count);
    RefusedList refused = { 0 };
    add_jobs(node, event, first, &node->out->adds, &refused);
    reply_added(node, event, first, WAIT_JOURNAL, &refused);
}

void node_add_lines(Node *node, const Event *event)
{
    if (node_add_refused(node, event))
        return;
    if (node_add_needs_keys(node, event)) {
        add_holding_keys(node, event);
        return;
    }
    Batch *adds = &node->out->adds;
    uint64_t first = id_take(&node->ids, node->now.wall_ms, event->count);
    Job *pattern = ARENA_NEW(&adds->arena, Job);
    *pattern = job_copy(&adds->arena, &event->jobs[0]);
    pattern->id = id_from_count(first, node->options.number);
    begin_life(node, pattern);
    RefusedList refused = { 0 };
    if (refuse(node, event, pattern, &refused)) {
        Effect *reply = node_reply(node, event->request, ERR_OK, NULL);
        reply->count = 1; /* all lines are alike */
        tell_refused(node, reply, &refused);
        return;
    }
    Op *op = batch_op(adds, OP_ADD_LINES, pattern->id);
    op->job = pattern;
    op->first = first;
    op->count = event->count;
    op->body = event->body;

    Head head = head_of(pattern, &node->names);
    if (pattern->state == JOB_READY) {
        Lane *lane = node_lane(node, &head);
        node_lane_out(node, lane);
        HeadRun run = { head, first, event->count, node->options.number };
        if (run.count > node_lane_limit(node, lane))
            node_lane_reach(node, lane, &head);
        lane_put_run(lane, &run, node_lane_limit(node, lane));
        node_lane_changed(node, lane);
        node->touched_pass = true;
    }
    if (pattern->state == JOB_DEFERRED || pattern->state == JOB_BLOCKED)
        node_wait_until(node, pattern->dt_ms);
    node_group_added(node, pattern, event->count);
    node_quota_added(node, head.tenant, pattern, event->count, event->body.bytes);
    Effect *changed = node_changed(node, &head, pattern->state, pattern->state);
    changed->count = event->count;
    changed->added = true;
    Effect *reply = node_reply(node, event->request, ERR_OK, NULL);
    reply->wait = WAIT_JOURNAL;
    reply->first = first;
    reply->count = event->count;
}

const Job *node_add_decided(Node *node, const Job *pattern)
{
    Batch *batch = &node->out->batch;
    Job *job = ARENA_NEW(&batch->arena, Job);
    *job = *pattern;
    begin_life(node, job);
    job->priority = node_clamp_priority(node, job);
    size_t at = batch->count;
    keep(node, job, batch);
    batch->ops[at].own = 1;
    node_unique_added(node, job);
    return job;
}

JobId node_add_own(Node *node, const Job *pattern)
{
    Job job = *pattern;
    uint64_t c = id_take(&node->ids, node->now.wall_ms, 1);
    job.id = id_from_count(c, node->options.number);
    if (!node_owe(node, &job))
        node_add_decided(node, &job);
    return job.id;
}

JobId node_add_whole_child(Node *node, const Job *parent_like, const Job *child)
{
    Job job = *child;
    job.tenant = parent_like->tenant;
    job.parent = parent_like->id;
    job.flags |= parent_like->flags & JOB_AFTERMATH;
    job.error_depth = parent_like->error_depth;
    return node_add_own(node, &job);
}

JobId node_add_child(Node *node, const Job *parent_like, const Job *child)
{
    Job job = job_default();
    job.priority = PRIORITY_UNSET;
    job.max_retries = RETRIES_OPEN;
    job.type = child->type;
    job.payload = child->payload;
    job.chain = child->chain;
    return node_add_whole_child(node, parent_like, &job);
}
