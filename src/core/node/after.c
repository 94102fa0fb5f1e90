/* SPDX-License-Identifier: Apache-2.0 */
/* after.c - jobs that wait for other jobs.
 *
 * Who waits for whom is in the store, and so is the list of parents that have ended and
 * whose children have not been looked at. The node only knows that there may be
 * something to look at: at the start, when a job ends, and when one comes that waits. It
 * then asks in steps, one question at a time, and decides for each child: free, cancelled
 * because it can never run, or still waiting. Whatever crashes in between, the list is
 * there at the next start; whoever uses no `after` pays for one question then. */
#include "core/node/inside.h"

#define AFTER_LOAD_MAX 500 /* children per step */

void node_after_begin(Node *node, Job *job)
{
    AfterCount count = { 0 };
    Slice rest = job->after;
    AfterItem item;
    Buf reason = { 0 };
    while (after_next(&rest, &item))
        after_count(&count, item, false, 0);
    after_reason(&reason, &count);
    node->some_wait = true;
    node->after_due = true;
    node->after_number = node->out->number;
    if (job->state != JOB_HELD) {
        job->state = JOB_BLOCKED;
        job->dt_ms = TIME_WALL_MAX_MS;
        job->reason = node_keep(node, buf_slice(&reason));
    }
    buf_done(&reason);
}

/* A job that is retried waits again for its `after`: those that have ended as asked are
 * seen in a moment. */
void node_after_again(Node *node, Job *job, Op *op)
{
    op->fields |= FIELD_WAITS;
    op->value = node_keep(node, job->after);
    job->flags |= JOB_WAITS;
    node->some_wait = true;
    node->after_due = true;
    node->after_number = node->out->number;
}

void node_after_final(Node *node)
{
    node->after_due = node->after_due || node->some_wait;
}

void node_ask_after(Node *node)
{
    if (!node->after_due || node->after_loading || node->now.boot_ms < node->after_boot)
        return;
    Asked *asked;
    Effect *effect = node_ask(node, WANT_AFTER, &asked);
    effect->limit = AFTER_LOAD_MAX;
    node->after_due = false;
    node->after_loading = true;
}

static Op *move_child(Node *node, const Job *job, JobState to)
{
    Op *op = node_op(node, OP_MOVE, job->id);
    op->from = STATE_BIT(job->state);
    op->to = to;
    op->dt_ms = job->dt_ms;
    op->reason = node_keep(node, job->reason);
    node_touch(node, job->id);
    return op;
}

/* Because of those in `unmet`; empty: for another reason. Both are kept already. */
static void cancel_child(Node *node, const Job *job, Slice reason, Slice unmet)
{
    Head head = head_of(job, &node->names);
    Op *op = move_child(node, job, JOB_CANCELLED);
    op->reason = reason;
    op->fields = unmet.bytes ? FIELD_BROKEN : 0;
    op->value = unmet;
    node_unready(node, &head);
    node_changed(node, &head, job->state, JOB_CANCELLED);
    node_final(node, &head, JOB_CANCELLED, reason);
}

void node_cancel_waiting(Node *node, const Job *job, Slice reason)
{
    cancel_child(node, job, reason, (Slice){ NULL, 0 });
}

/* One because of which it was cancelled runs again: so may this one. Whoever was
 * cancelled because of this one is looked at next. */
static void revive_child(Node *node, const Job *loaded)
{
    Job job = *loaded;
    Op *op = move_child(node, loaded, JOB_BLOCKED);
    op->fields = FIELD_RETRY;
    op->window_from_ms = node->now.wall_ms;
    op->dt_ms = job.dt_ms = TIME_WALL_MAX_MS;
    op->reason = SLICE_LITERAL(REASON_AFTER);
    node_after_again(node, &job, op);
    Head head = head_of(&job, &node->names);
    node_changed(node, &head, JOB_CANCELLED, JOB_BLOCKED);
}

/* It may run: its place in the order and its retry window begin now, or when it is due.
 */
static void free_child(Node *node, const Job *loaded)
{
    Job job = *loaded;
    int64_t now_ms = node->now.wall_ms;
    Op *op = move_child(node, loaded, loaded->state);
    job.flags &= ~(uint32_t)JOB_WAITS;
    job.window_from_ms = job.run_at_ms > now_ms ? job.run_at_ms : now_ms;
    op->fields = FIELD_FREED;
    op->window_from_ms = job.window_from_ms;
    if (job.state == JOB_HELD)
        return;
    job.dt_ms = job.window_from_ms;
    Head head = head_of(&job, &node->names);
    if (job.flags & JOB_UNSURE) {
        op->to = JOB_BLOCKED;
        op->reason = SLICE_LITERAL(REASON_UNSURE);
        head.dt_ms = now_ms;
    } else if (node_can_run(node, &head)) {
        node_handler_arrives(node, &job, op);
        head = head_of(&job, &node->names);
        op->to = job_waiting_state(&job, now_ms);
        op->reason = (Slice){ NULL, 0 };
    } else {
        op->to = JOB_BLOCKED;
        op->reason = SLICE_LITERAL(REASON_NO_HANDLER);
        head.dt_ms = node_blocked_until(node, &head);
    }
    op->dt_ms = head.dt_ms;
    JobState to = op->to;
    if (to == JOB_READY)
        node_ready(node, &head);
    else
        node_wait_until(node, head.dt_ms);
    node_changed(node, &head, JOB_BLOCKED, to);
}

static void judge_child(Node *node, const Job *job, const AfterCount *count)
{
    Buf text = { 0 };
    if (count->broken || count->pending)
        after_reason(&text, count);
    Slice reason = node_keep(node, buf_slice(&text));
    buf_done(&text);
    if (count->broken) {
        /* It can never run as asked. */
        cancel_child(node, job, reason, node_keep(node, count->unmet));
    } else if (!count->pending) {
        free_child(node, job);
    } else {
        Op *op = move_child(node, job, job->state);
        op->fields = FIELD_MET;
        op->value = node_keep(node, count->met);
        op->reason = job->state == JOB_HELD ? op->reason : reason;
    }
}

/* One that someone is acting on, or that was changed since the store was asked, is left
 * alone and asked for again. */
void node_after_loaded(Node *node, const Event *answer)
{
    bool again = answer->err != ERR_OK;
    node->after_loading = false;
    for (size_t i = 0; i < answer->loaded_count; i++) {
        const Job *job = &answer->loaded[i];
        bool waits = (job->flags & JOB_WAITS) &&
                     state_in(job->state, STATE_BIT(JOB_BLOCKED) | STATE_BIT(JOB_HELD));
        if (node_touched_since(node, job->id, answer->number) ||
            map_find(&node->pins, job->id))
            again = true;
        else if (waits)
            judge_child(node, job, &answer->after[i]);
        else if (job->state == JOB_CANCELLED && answer->after[i].reopened)
            revive_child(node, job);
    }
    node->after_due = node->after_due || again || answer->more;
    if (again)
        node->after_boot = node->now.boot_ms + TICK_MS;
    else if (!answer->value.bytes && node->after_number <= answer->number)
        node->some_wait = false;
}

/* A blocked job that waits for others has no time of its own; one may have been set. */
void node_after_due(Node *node, const Job *job)
{
    move_child(node, job, JOB_BLOCKED)->dt_ms = TIME_WALL_MAX_MS;
}
