/* SPDX-License-Identifier: Apache-2.0 */
/* unique.c - adding jobs that hold keys: `unique`, and highlander types that merge.
 *
 * Who holds a key is in the store: it is asked before such jobs are decided, and they are
 * acknowledged with the batch. Keys that were taken by a turn which the answer does not
 * know yet are remembered until the store has applied it. A holder that was changed since
 * the store was asked makes the whole question void: it is asked again. */
#include "core/node/inside.h"
#include "core/share/key_confirm.h"
#include "core/share/share.h"

/* A key that was taken and may not be in the store yet. */
struct UniqueUse {
    struct UniqueUse *next;
    uint64_t number; /* of the turn that took it */
    JobId id;
    Arena arena;
    Slice tenant;
    Slice key;
};

void node_uniques_applied(Node *node, uint64_t number)
{
    for (UniqueUse **at = &node->uniques; *at;) {
        UniqueUse *use = *at;
        if (use->number > number) {
            at = &use->next;
            continue;
        }
        *at = use->next;
        arena_done(&use->arena);
        mem_free(use);
    }
}

/* Who took the key in a turn behind `number`; NULL: no one. */
static const UniqueUse *recent_use(const Node *node, Slice tenant, Slice key,
                                   uint64_t number)
{
    for (const UniqueUse *use = node->uniques; use; use = use->next)
        if (use->number > number && slice_equal(use->key, key) &&
            slice_equal(use->tenant, tenant))
            return use;
    return NULL;
}

static void take_key(Node *node, const Job *job, Slice key)
{
    UniqueUse *use = MEM_NEW(UniqueUse);
    use->number = node->out->number;
    use->id = job->id;
    use->tenant = slice_copy(&use->arena, job->tenant);
    use->key = slice_copy(&use->arena, key);
    use->next = node->uniques;
    node->uniques = use;
}

void node_unique_added(Node *node, const Job *job)
{
    for (unsigned kind = 0; kind < UNIQUE_KINDS; kind++) {
        Buf key = { 0 };
        if (unique_key(job, (UniqueKind)kind, &key))
            take_key(node, job, buf_slice(&key));
        buf_done(&key);
    }
}

static bool merges(const Node *node, const Job *job)
{
    if (job->command.bytes)
        return false;
    const Handler *handler = node_handler(node, job->tenant, job->type);
    return handler && handler->highlander;
}

bool node_wants_keys(const Node *node, const Job *job)
{
    return job->unique.bytes || merges(node, job);
}

bool node_add_needs_keys(const Node *node, const Event *event)
{
    size_t count = event->kind == EVENT_ADD ? event->count : 1;
    if (!event->request)
        return false; /* caused by a job: pending_adds.c */
    for (size_t i = 0; i < count; i++)
        if (node_wants_keys(node, &event->jobs[i]))
            return true;
    return false;
}

void node_unique_keys(const Job *job, Buf *out)
{
    for (unsigned kind = 0; kind < UNIQUE_KINDS; kind++) {
        size_t begun = out->bytes;
        buf_add_slice(out, job->tenant);
        buf_add_char(out, '\0');
        if (unique_key(job, (UniqueKind)kind, out))
            buf_add_char(out, '\0');
        else
            out->bytes = begun;
    }
}

void node_ask_unique(Node *node, Asked *asked, Effect *effect)
{
    Event *add = &asked->event;
    size_t count = add->kind == EVENT_ADD ? add->count : 1;
    Buf keys = { 0 };
    asked->what = effect->what = WANT_UNIQUE;
    for (size_t i = 0; i < count; i++) {
        Job *job = &add->jobs[i];
        job->flags &= ~(uint32_t)JOB_MERGES;
        job->flags |= merges(node, job) ? JOB_MERGES : 0;
        node_unique_keys(job, &keys);
    }
    effect->key = node_keep(node, buf_slice(&keys));
    effect->dt_ms = node->now.wall_ms;
    buf_done(&keys);
}

typedef enum KeyFate {
    FATE_ADD,
    FATE_REFUSE,
    FATE_EXISTS,
    FATE_AGAIN,
    FATE_CALL, /* who is to be replaced is another node's: that one is asked to */
} KeyFate;

/* What is to become of one job. */
typedef struct Decision {
    KeyFate fate;
    JobId holder;
    const Job *replaced; /* FATE_ADD: cancelled first */
} Decision;

static bool is_waiting(const Node *node, const Job *holder)
{
    return state_in(holder->state, STATES_WAITING) &&
           !map_find(&node->running, holder->id);
}

static Decision judge_conflict(const Node *node, const Job *job, UniqueKind kind,
                               const Job *holder)
{
    Unique unique = { .on_conflict = CONFLICT_IGNORE };
    Decision decision = { .fate = FATE_EXISTS, .holder = holder->id };
    if (kind == UNIQUE_MERGE)
        return is_waiting(node, holder) ? decision : (Decision){ .fate = FATE_ADD };
    (void)unique_read(job->unique, &unique);
    switch (unique.on_conflict) {
    case CONFLICT_IGNORE:
        break;
    case CONFLICT_REJECT:
        decision.fate = FATE_REFUSE;
        break;
    case CONFLICT_REPLACE:
        decision.fate = FATE_REFUSE;
        if (state_in(holder->state, STATES_FINAL))
            decision.fate = FATE_ADD; /* held for a time, but over */
        if (!is_waiting(node, holder))
            break;
        decision.fate = node_share_is_other(node, holder) ? FATE_CALL : FATE_ADD;
        decision.replaced = holder;
        break;
    }
    return decision;
}

/* The key was taken since the store was asked, so that only the holder's id is known. */
static Decision judge_recent(const Node *node, const Job *job, UniqueKind kind,
                             const UniqueUse *use)
{
    Unique unique = { .on_conflict = CONFLICT_IGNORE };
    bool moved = node_touched_since(node, use->id, use->number);
    if (kind == UNIQUE_MERGE && map_find(&node->running, use->id))
        return (Decision){ .fate = FATE_ADD };
    if (kind == UNIQUE_OWN)
        (void)unique_read(job->unique, &unique);
    if (moved || unique.on_conflict == CONFLICT_REPLACE)
        return (Decision){ .fate = FATE_AGAIN, .holder = use->id };
    bool refuse = unique.on_conflict == CONFLICT_REJECT;
    return (Decision){ .fate = refuse ? FATE_REFUSE : FATE_EXISTS, .holder = use->id };
}

/* One key of one job, against who held it when the store was asked and who took it
 * since. */
static Decision judge_key(const Node *node, const Job *job, UniqueKind kind,
                          const Job *stored, uint64_t number)
{
    Buf key = { 0 };
    (void)unique_key(job, kind, &key);
    const UniqueUse *use = recent_use(node, job->tenant, buf_slice(&key), number);
    buf_done(&key);
    if (use)
        return judge_recent(node, job, kind, use);
    if (!stored->id)
        return (Decision){ .fate = FATE_ADD };
    if (node_touched_since(node, stored->id, number) || map_find(&node->pins, stored->id))
        return (Decision){ .fate = FATE_AGAIN };
    return judge_conflict(node, job, kind, stored);
}

static Decision judge_job(const Node *node, const Job *job, const Event *answer,
                          size_t *inout_at)
{
    Decision decision = { .fate = FATE_ADD };
    for (unsigned kind = 0; kind < UNIQUE_KINDS; kind++) {
        Buf key = { 0 };
        bool has = unique_key(job, (UniqueKind)kind, &key);
        buf_done(&key);
        if (!has)
            continue;
        const Job *stored = &answer->loaded[(*inout_at)++];
        if (decision.fate == FATE_ADD) {
            const Job *replaced = decision.replaced;
            decision = judge_key(node, job, (UniqueKind)kind, stored, answer->number);
            if (!decision.replaced)
                decision.replaced = replaced;
        }
    }
    return decision;
}

/* The operations from `middle` on go before those from `at` on. */
static void bring_forward(Batch *batch, size_t at, size_t middle)
{
    size_t count = batch->count - middle;
    Op *later = MEM_ARRAY(Op, count + 1);
    memcpy(later, batch->ops + middle, count * sizeof *later);
    memmove(batch->ops + at + count, batch->ops + at, (middle - at) * sizeof *later);
    memcpy(batch->ops + at, later, count * sizeof *later);
    mem_free(later);
}

/* For the job that the operations from `at` on add: it gets the key because the holder
 * lets go of it first. */
static void replace(Node *node, const Job *holder, JobId by, size_t at)
{
    char id[ID_TEXT_BYTES];
    Buf reason = { 0 };
    size_t middle = node->out->batch.count;
    buf_printf(&reason, "replaced by job %s", id_text(by, id));
    node_cancel_waiting(node, holder, node_keep(node, buf_slice(&reason)));
    buf_done(&reason);
    bring_forward(&node->out->batch, at, middle);
}

static AddedItem conflict(Node *node, JobId holder)
{
    char id[ID_TEXT_BYTES];
    Buf detail = { 0 };
    buf_printf(&detail, "job %s holds this key", id_text(holder, id));
    AddedItem item = { .id = holder,
                       .problem = PROBLEM_UNIQUE,
                       .detail = node_keep(node, buf_slice(&detail)) };
    buf_done(&detail);
    return item;
}

/* FATE_AGAIN: a holder has moved, the store must be asked again; FATE_CALL: *out_holder
 * is to be cancelled first. Nothing is decided then. Else: done. */
static KeyFate carry_out(Node *node, const Event *add, const Event *answer,
                         AddedItem *out_items, const Job **out_holder)
{
    size_t count = add->kind == EVENT_ADD ? add->count : 1;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        Decision decision = judge_job(node, &add->jobs[i], answer, &at);
        *out_holder = decision.replaced;
        if (decision.fate == FATE_AGAIN || decision.fate == FATE_CALL)
            return decision.fate;
    }
    at = 0;
    for (size_t i = 0; i < count; i++) {
        Decision decision = judge_job(node, &add->jobs[i], answer, &at);
        AddedItem *item = &out_items[i];
        /* Only a key that this very request has taken can have changed the fate. */
        if (decision.fate != FATE_ADD && decision.fate != FATE_EXISTS) {
            *item = conflict(node, decision.holder);
        } else if (decision.fate == FATE_EXISTS) {
            *item = (AddedItem){ .id = decision.holder, .existed = true };
        } else {
            size_t ops = node->out->batch.count;
            *item = node_add_one(node, add, &add->jobs[i]);
            if (decision.replaced && !item->problem)
                replace(node, decision.replaced, item->id, ops);
        }
    }
    return FATE_ADD;
}

void node_unique_called(Node *node, Asked *asked, Err err)
{
    Event *add = &asked->event;
    size_t count = add->kind == EVENT_ADD ? add->count : 1;
    for (size_t i = 0; err && i < count; i++) { /* it stays, so this one is refused */
        Unique unique;
        Buf text = { 0 };
        if (unique_read(add->jobs[i].unique, &unique) &&
            unique.on_conflict == CONFLICT_REPLACE) {
            unique.on_conflict = CONFLICT_REJECT;
            unique_write(&text, &unique);
            add->jobs[i].unique = slice_copy(&asked->arena, buf_slice(&text));
        }
        buf_done(&text);
    }
    node_ask_unique(node, asked, node_ask_again(node, asked));
}

/* Every line of a highlander type is the same job. */
static void repeat_item(const Event *add, AddedItem *items)
{
    for (size_t i = 1; add->kind == EVENT_ADD_LINES && i < add->count; i++)
        items[i] = (AddedItem){ .id = items[0].id,
                                .existed = !items[0].problem,
                                .problem = items[0].problem,
                                .detail = items[0].detail };
}

static bool owed_loaded(Node *node, Asked *asked, const Event *answer)
{
    const Job *job = &asked->event.jobs[0];
    if (answer->err) {
        node_add_put_off(node, asked);
        return false;
    }
    size_t at = 0;
    size_t ops = node->out->batch.count;
    Decision decision = judge_job(node, job, answer, &at);
    if (decision.replaced && decision.replaced->id == job->id)
        decision = (Decision){ .fate = FATE_EXISTS, .holder = job->id };
    switch (decision.fate) {
    case FATE_AGAIN:
        node_ask_unique(node, asked, node_ask_again(node, asked));
        return false;
    case FATE_CALL:
        node_share_call_cancel(node, asked, decision.replaced);
        return false;
    case FATE_ADD:
        pending_adds_add(node, asked);
        if (decision.replaced)
            replace(node, decision.replaced, job->id, ops);
        break;
    case FATE_EXISTS:
    case FATE_REFUSE:
        if (decision.holder == job->id) {
            pending_adds_there(node, asked);
            break;
        }
        pending_adds_cancel(node, asked, decision.holder, decision.fate == FATE_EXISTS);
        break;
    }
    return true;
}

bool node_unique_loaded(Node *node, Asked *asked, const Event *answer)
{
    Event *add = &asked->event;
    if (add->kind == EVENT_LOADED) {
        key_confirm_loaded(node, asked, answer);
        return true;
    }
    if (add->jobs[0].id)
        return owed_loaded(node, asked, answer);
    if (answer->err) {
        node_reply(node, add->request, ERR_UNAVAILABLE, "store_unavailable");
        node_add_forget_key(node, add);
        return true;
    }
    if (node_add_refused(node, add)) {
        node_add_forget_key(node, add);
        return true;
    }
    AddedItem *items = arena_take(&node->out->batch.arena, add->count * sizeof *items);
    const Job *holder = NULL;
    switch (carry_out(node, add, answer, items, &holder)) {
    case FATE_AGAIN:
        node_ask_unique(node, asked, node_ask_again(node, asked));
        return false;
    case FATE_CALL:
        node_share_call_cancel(node, asked, holder);
        return false;
    case FATE_ADD:
    case FATE_EXISTS:
    case FATE_REFUSE:
        break;
    }
    repeat_item(add, items);
    node_add_answer_items(node, add, items);
    return true;
}
