/* SPDX-License-Identifier: Apache-2.0 */
/* pending_adds.c - jobs of the node's own making that want a key.
 *
 * What causes such a job (an end, a J: line, a schedule's time) cannot wait until the
 * store has said who holds the key: that the job is owed stands in the same batch, and
 * the question is asked then. The answer's batch adds it and strikes it out; one that
 * merges with another, or may not be there beside it, is added and cancelled at once, so
 * that its id says what became of it. A crash between the two asks again.
 *
 * What a lost node owes falls to the node that controls. The job keeps its id: should the
 * node return in the same moment, whoever is second finds it there. */
#include "core/node/inside.h"

#include "core/share/share.h"
#include "core/unique.h"

static Slice owed_key(Node *node, JobId id)
{
    char text[ID_TEXT_BYTES];
    return node_keep(node, slice_text(id_text(id, text)));
}

static void snapshot_writer(Asked *asked, const Job *job)
{
    Job *kept = ARENA_NEW(&asked->arena, Job);
    *kept = job_copy(&asked->arena, job);
    asked->event =
        (Event){ .kind = EVENT_ADD, .tenant = kept->tenant, .jobs = kept, .count = 1 };
}

bool node_owe(Node *node, const Job *job)
{
    if (!node_wants_keys(node, job))
        return false;
    Buf packed = { 0 };
    job_pack(&packed, job);
    Op *op = node_op(node, OP_PUT, 0);
    op->own = 1;
    op->table = SLICE_LITERAL(OWED_TABLE);
    op->key = owed_key(node, job->id);
    op->value = node_keep(node, buf_slice(&packed));
    buf_done(&packed);
    Asked *asked;
    Effect *effect = node_ask(node, WANT_UNIQUE, &asked);
    snapshot_writer(asked, job);
    node_ask_unique(node, asked, effect);
    return true;
}

/* Only after a start, and only its own: others see to theirs. */
void node_load_owed(Node *node, const Definition *definition)
{
    Job job;
    if (node->passes || job_unpack(definition->value, &job) ||
        id_node(job.id) != node->options.number)
        return;
    id_seen(&node->ids, job.id); /* no other job may get it meanwhile */
    Asked *asked = MEM_NEW(Asked);
    asked->what = WANT_UNIQUE;
    snapshot_writer(asked, &job);
    node_add_put_off(node, asked);
    node->later_boot = 0;
}

void pending_adds_loaded(Node *node, const Event *answer)
{
    bool looked = !answer->err;
    for (size_t i = 0; looked && i < answer->loaded_count; i++) {
        Job job = answer->loaded[i];
        if (node_touched_since(node, job.id, answer->number) ||
            !node_share_inherits(node, job.id))
            continue;
        Asked *asked;
        Effect *effect = node_ask(node, WANT_UNIQUE, &asked);
        job_set_owner(&job, node->options.number);
        snapshot_writer(asked, &job);
        node_ask_unique(node, asked, effect);
    }
    node_share_looked_owed(node, looked);
}

static void strike_out(Node *node, JobId id)
{
    node_share_inherited(node, id);
    Op *op = node_op(node, OP_DELETE, 0);
    op->own = 1;
    op->table = SLICE_LITERAL(OWED_TABLE);
    op->key = owed_key(node, id);
}

static void reply(Node *node, Requester request, const Job *job)
{
    Effect *effect = node_reply(node, request, ERR_OK, NULL);
    effect->job = job;
    effect->count = 1;
}

void pending_adds_there(Node *node, const Asked *asked)
{
    const Job *job = &asked->event.jobs[0];
    strike_out(node, job->id);
    if (asked->waits)
        reply(node, asked->waits, job);
}

void pending_adds_add(Node *node, const Asked *asked)
{
    const Job *job = node_add_decided(node, &asked->event.jobs[0]);
    strike_out(node, job->id);
    if (asked->waits)
        reply(node, asked->waits, job);
}

void pending_adds_cancel(Node *node, const Asked *asked, JobId holder, bool merged)
{
    char id[ID_TEXT_BYTES];
    Buf reason = { 0 };
    Job pattern = asked->event.jobs[0];
    pattern.flags &= ~(uint32_t)JOB_MERGES;
    pattern.unique = pattern.group = (Slice){ NULL, 0 };
    (void)id_text(holder, id);
    if (merged)
        buf_printf(&reason, MERGED_INTO "%s", id);
    else
        buf_printf(&reason, "job %s holds its key", id);
    const Job *job = node_add_decided(node, &pattern);
    node_cancel_waiting(node, job, node_keep(node, buf_slice(&reason)));
    strike_out(node, job->id);
    if (asked->waits) {
        Job *told = ARENA_NEW(&node->out->batch.arena, Job);
        *told = *job;
        told->state = JOB_CANCELLED;
        told->reason = node_keep(node, buf_slice(&reason));
        reply(node, asked->waits, told);
    }
    buf_done(&reason);
}

void pending_adds_reply(Node *node, JobId id, Requester request)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->asked, &at, &entry);) {
        Asked *asked = entry.value;
        if (asked->what != WANT_UNIQUE || asked->event.jobs[0].id != id)
            continue;
        asked->waits = request;
        return;
    }
    reply(node, request, node_last_added(&node->out->batch));
}
