/* SPDX-License-Identifier: Apache-2.0 */
/* key_confirm.c - jobs whose keys are sure once the store has them.
 *
 * On a store that nodes share two of them may accept the same key in the same moment,
 * each with good reason. The store gives the key to the first that is committed; so a job
 * that wants a key is blocked (JOB_UNSURE, due at once) until its node has read, behind
 * its own commit, who holds it: the job itself, and it may run; another, and it is
 * cancelled as merged into that one; no one any more, and it takes the key and is looked
 * at again. All of it is in the store, so that a restart or another node goes on with
 * it.
 *
 * What was read of the keys stays true, but the job may have changed meanwhile: the
 * verdict is carried out when the store next says that the job is due. */
#include "core/share/key_confirm.h"

#include "core/node/inside.h"

bool node_keys_unsure(const Node *node, const Job *job)
{
    return node->share &&
           (job->unique.bytes || job->request.bytes || (job->flags & JOB_MERGES));
}

void node_unsure(Node *node, Job *job)
{
    job->flags |= JOB_UNSURE;
    if (job->state == JOB_HELD || (job->flags & JOB_WAITS))
        return; /* when it is free */
    job->state = JOB_BLOCKED;
    job->reason = SLICE_LITERAL(REASON_UNSURE);
    job->dt_ms = node->now.wall_ms;
}

typedef enum Standing { KEYS_OWN, KEYS_FREE, KEYS_MERGED, KEYS_TAKEN } Standing;

/* How the keys of a job were found. */
typedef struct Verdict {
    Standing standing;
    JobId holder; /* MERGED, TAKEN: who has one of them */
} Verdict;

void key_confirm_free(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->verdicts, &at, &entry);)
        mem_free(entry.value);
    map_done(&node->verdicts);
    node->verdicts = (Map){ 0 };
}

static void ask(Node *node, const Job **jobs, size_t count)
{
    Asked *asked;
    Effect *effect = node_ask(node, WANT_UNIQUE, &asked);
    Event *event = &asked->event;
    *event = (Event){ .kind = EVENT_LOADED, .count = count };
    event->jobs = arena_take(&asked->arena, count * sizeof(Job));
    Buf keys = { 0 };
    for (size_t i = 0; i < count; i++) {
        event->jobs[i] = job_copy(&asked->arena, jobs[i]);
        node_unique_keys(&event->jobs[i], &keys);
    }
    effect->key = node_keep(node, buf_slice(&keys));
    effect->dt_ms = node->now.wall_ms;
    buf_done(&keys);
}

static void move(Node *node, const Job *job, uint32_t fields)
{
    Op *op = node_op(node, OP_MOVE, job->id);
    op->from = STATE_BIT(JOB_BLOCKED);
    op->to = JOB_BLOCKED;
    op->dt_ms = job->dt_ms;
    op->reason = node_keep(node, job->reason);
    op->fields = fields;
    node_touch(node, job->id);
}

static void merge(Node *node, const Job *job, const Verdict *verdict)
{
    char id[ID_TEXT_BYTES];
    Buf reason = { 0 };
    (void)id_text(verdict->holder, id);
    if (verdict->standing == KEYS_MERGED)
        buf_printf(&reason, MERGED_INTO "%s", id);
    else
        buf_printf(&reason, "job %s holds its key", id);
    node_cancel_waiting(node, job, node_keep(node, buf_slice(&reason)));
    buf_done(&reason);
}

static void carry_out(Node *node, const Job *loaded, const Verdict *verdict)
{
    Job job = *loaded;
    switch (verdict->standing) {
    case KEYS_MERGED:
    case KEYS_TAKEN:
        merge(node, &job, verdict);
        return;
    case KEYS_FREE:
        move(node, &job, FIELD_KEYS);
        node_wait_until(node, node->now.wall_ms + UNSURE_AGAIN_MS);
        return;
    case KEYS_OWN:
        move(node, &job, FIELD_SURE);
        job.flags &= ~(uint32_t)JOB_UNSURE;
        node_blocked_due(node, &job);
        return;
    }
}

void key_confirm_due(Node *node, const Job **jobs, size_t count, bool all)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        Verdict *verdict = map_remove(&node->verdicts, jobs[i]->id);
        if (verdict)
            carry_out(node, jobs[i], verdict);
        else
            jobs[left++] = jobs[i];
        mem_free(verdict);
    }
    if (all)
        key_confirm_free(node); /* of jobs that went another way */
    if (left)
        ask(node, jobs, left);
}

static Standing taken_as(const Job *job, UniqueKind kind)
{
    Unique unique = { .on_conflict = CONFLICT_IGNORE };
    if (kind == UNIQUE_OWN)
        (void)unique_read(job->unique, &unique);
    return unique.on_conflict == CONFLICT_IGNORE ? KEYS_MERGED : KEYS_TAKEN;
}

/* A key that is kept for some time only is gone when that is over, and keeps no one out
 * any more: to take it again would be in vain. */
static bool outlived(const Job *job, UniqueKind kind, int64_t now_ms)
{
    int64_t until_ms = unique_until(job, kind);
    return until_ms && until_ms <= now_ms;
}

/* Of all its keys: the first that another has counts, else one that no one has. */
static Verdict judge(const Job *job, const Job *holders, size_t *inout_at, int64_t now_ms)
{
    Verdict verdict = { .standing = KEYS_OWN };
    for (unsigned kind = 0; kind < UNIQUE_KINDS; kind++) {
        Buf key = { 0 };
        bool has = unique_key(job, (UniqueKind)kind, &key);
        buf_done(&key);
        if (!has)
            continue;
        const Job *holder = &holders[(*inout_at)++];
        bool together =
            kind == UNIQUE_REQUEST && slice_equal(holder->request, job->request);
        if (verdict.holder || holder->id == job->id || (holder->id && together))
            continue;
        if (!holder->id && outlived(job, (UniqueKind)kind, now_ms))
            continue;
        verdict.holder = holder->id;
        verdict.standing = holder->id ? taken_as(job, (UniqueKind)kind) : KEYS_FREE;
    }
    return verdict;
}

void key_confirm_loaded(Node *node, const Asked *asked, const Event *answer)
{
    const Event *event = &asked->event;
    size_t at = 0;
    for (size_t i = 0; i < event->count && !answer->err; i++) {
        Verdict *verdict = MEM_NEW(Verdict);
        *verdict = judge(&event->jobs[i], answer->loaded, &at, node->now.wall_ms);
        mem_free(map_remove(&node->verdicts, event->jobs[i].id));
        map_put(&node->verdicts, event->jobs[i].id, verdict);
    }
    node_wait_until(node, node->now.wall_ms + (answer->err ? TICK_MS : 0));
}
