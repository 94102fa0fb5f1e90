/* SPDX-License-Identifier: Apache-2.0 */
/* act.c - what people and programs do to a job.
 *
 * A job that runs here is in memory and is acted on at once. Any other is loaded from
 * the store first; until the answer it is pinned: no pass starts it, no promotion moves
 * it, further actions on it wait in line. So the decision is taken on the job as it
 * really is. */
#include "core/dispatch/limits.h"
#include "core/node/inside.h"
#include "core/share/share.h"

/* Nothing but time is in their way. */
#define STATES_GOING                                                                     \
    (STATE_BIT(JOB_READY) | STATE_BIT(JOB_DEFERRED) | STATE_BIT(JOB_RETRYING))

static void reply_conflict(Node *node, Requester request, JobStates allowed)
{
    node_reply(node, request, ERR_CONFLICT, "invalid_state")->allowed = allowed;
}

/* The end of a running job is asked for: durable before any signal goes out, so that a
 * restart goes on with it. */
static void ask_end(Node *node, Running *running, const Event *event, JobFlag flag)
{
    running->cancelling = flag == JOB_CANCELLING;
    running->halting = flag == JOB_HALTING;
    buf_clear(&running->reason);
    buf_add_slice(&running->reason, event->reason);
    Op *op = node_op(node, OP_PROGRESS, running->head.id);
    op->attempt = running->head.attempt;
    op->lock = node->options.sysid;
    op->flags = flag;
    op->progress = -1;
    op->reason = node_keep(node, event->reason);
    /* A pull worker is told to stop when it next asks; a removal cannot wait for that. */
    bool at_once =
        event->action == ACT_KILL || (event->action == ACT_REMOVE && is_pull(running));
    node_stop(node, running, at_once);
}

static void pause_running(Node *node, Running *running, bool pause)
{
    Op *op = node_op(node, OP_PAUSE, running->head.id);
    op->attempt = running->head.attempt;
    op->lock = node->options.sysid;
    op->to = pause ? JOB_PAUSED : JOB_RUNNING;
    op->dt_ms = node->now.wall_ms + node->settings.lease_ms;
    Effect *effect = outbox_effect(node->out, EFFECT_SIGNAL, WAIT_BATCH);
    effect->id = running->head.id;
    effect->attempt = running->head.attempt;
    effect->signal = pause ? SIGNAL_STOP : SIGNAL_CONT;
    if (!pause && running->deadline_boot != TIME_NEVER)
        running->deadline_boot += node->now.boot_ms - running->paused_boot;
    running->paused_boot = pause ? node->now.boot_ms : 0;
    node_timer_set(node, running);
    node_changed(node, &running->head, pause ? JOB_RUNNING : JOB_PAUSED, op->to);
}

static void act_running(Node *node, Running *running, const Event *event)
{
    JobState state = running->paused_boot ? JOB_PAUSED : JOB_RUNNING;
    JobStates allowed = action_allowed(event->action);
    bool stopping = running->stop != STOP_NOT;
    if (event->flag)
        allowed &= ~(JobStates)STATES_OWNED; /* it was to be one that waits */
    bool ends = event->action == ACT_CANCEL || event->action == ACT_KILL ||
                event->action == ACT_REMOVE;
    bool pauses = event->action == ACT_PAUSE || event->action == ACT_RESUME;
    if (event->action == ACT_PAUSE && running->warm) {
        node_reply(node, event->request, ERR_CONFLICT, "shared_context");
        return;
    }
    if (!state_in(state, allowed) || (stopping && !ends) ||
        (pauses && running->unpausable)) {
        reply_conflict(node, event->request, allowed);
        return;
    }
    switch (event->action) {
    case ACT_REMOVE:
        ask_end(node, running, event, JOB_CANCELLING);
        if (running->removing) {
            node_reply(node, event->request, ERR_OK, NULL);
            return;
        }
        running->removing = true;
        running->remove_request = event->request;
        return; /* answered when it is gone */
    case ACT_CANCEL:
    case ACT_KILL:
        ask_end(node, running, event, JOB_CANCELLING);
        break;
    case ACT_PAUSE:
    case ACT_RESUME:
        pause_running(node, running, event->action == ACT_PAUSE);
        break;
    case ACT_HALT:
        ask_end(node, running, event, JOB_HALTING);
        break;
    case ACT_HOLD:
    case ACT_RELEASE:
    case ACT_RETRY:
    case ACT_PATCH:
        break; /* not allowed while running: refused above */
    }
    node_reply(node, event->request, ERR_OK, NULL);
}

static Event keep_act(Arena *arena, const Event *event)
{
    Event kept = *event;
    kept.tenant = slice_copy(arena, event->tenant);
    kept.reason = slice_copy(arena, event->reason);
    kept.patch.queue = slice_copy(arena, event->patch.queue);
    kept.patch.payload = slice_copy(arena, event->patch.payload);
    kept.patch.tags = slice_copy(arena, event->patch.tags);
    return kept;
}

static void ask_job(Node *node, const Event *event)
{
    Asked *behind = map_find(&node->pins, event->id);
    if (behind) {
        while (behind->behind)
            behind = behind->behind;
        behind->behind = MEM_NEW(Asked);
        behind->behind->event = keep_act(&behind->behind->arena, event);
        return;
    }
    Asked *asked;
    Effect *effect = node_ask(node, WANT_JOB, &asked);
    asked->event = keep_act(&asked->arena, event);
    map_put(&node->pins, event->id, asked);
    effect->id = event->id;
    effect->tenant = node_keep(node, event->tenant);
}

void node_act(Node *node, const Event *event)
{
    Running *running = map_find(&node->running, event->id);
    if (!running) {
        ask_job(node, event);
        return;
    }
    Slice tenant = names_text(&node->names, running->head.tenant);
    if (event->tenant.bytes && !slice_equal(event->tenant, tenant)) {
        node_reply(node, event->request, ERR_NOT_FOUND, "job_not_found");
        return;
    }
    act_running(node, running, event);
}

static void apply_patch(Node *node, Job *job, const Patch *patch, Op *op)
{
    op->fields |= patch->fields;
    if (patch->fields & FIELD_PRIORITY)
        job->priority = op->priority = patch->priority;
    if (patch->fields & FIELD_MAX_RUN)
        job->max_run_ms = op->max_run_ms = patch->max_run_ms;
    if (patch->fields & FIELD_QUEUE)
        job->queue = op->queue = node_keep(node, patch->queue);
    if (patch->fields & FIELD_PAYLOAD)
        job->payload = op->payload = node_keep(node, patch->payload);
    if (patch->fields & FIELD_TAGS)
        job->tags = op->tags = node_keep(node, patch->tags);
    if (!(patch->fields & FIELD_RUN_AT))
        return;
    job->dt_ms = job->run_at_ms = patch->run_at_ms;
    if (!job->retry_number) /* its first due time is the new one */
        job->window_from_ms = op->window_from_ms = patch->run_at_ms;
    if (state_in(job->state, STATES_GOING))
        op->to = job_waiting_state(job, node->now.wall_ms);
}

static JobState state_when_free(Node *node, const Job *job)
{
    Head head = head_of(job, &node->names);
    if ((job->flags & (JOB_WAITS | JOB_UNSURE)) || !node_can_run(node, &head))
        return JOB_BLOCKED;
    return job_waiting_state(job, node->now.wall_ms);
}

/* An operator's retry: counters and window start anew; attempts keep counting, because
 * each has its own record. */
static void start_over(Node *node, const Event *event, Job *job, Op *op)
{
    bool was_final = state_in(job->state, STATES_FINAL);
    op->fields |= FIELD_RETRY;
    op->window_from_ms = node->now.wall_ms;
    job->window_from_ms = node->now.wall_ms;
    job->retry_number = 0;
    job->flags &= ~(uint32_t)JOB_LOSSES;
    job->dt_ms = node->now.wall_ms;
    if (event->patch.fields & FIELD_ALONE) {
        job->flags &= ~(uint32_t)JOB_WAITS;
        op->fields |= FIELD_ALONE;
    } else if (job->after.bytes && was_final) {
        op->fields |= FIELD_PATIENT;
        node_after_again(node, job, op);
    }
    /* Others may have been cancelled because of it: they are looked at in a moment. */
    if (was_final && !node->after_due) {
        node->after_due = true;
        node->after_boot = node->now.boot_ms + 1;
    }
    op->to = state_when_free(node, job);
}

/* Fills *op with what the action makes of the waiting or final *job. */
static void decide(Node *node, const Event *event, Job *job, Op *op)
{
    op->to = job->state;
    op->reason = node_keep(node, event->reason);
    switch (event->action) {
    case ACT_CANCEL:
    case ACT_KILL:
        op->to = JOB_CANCELLED;
        job->finished_ms = node->now.wall_ms;
        break;
    case ACT_HOLD:
        op->to = JOB_HELD;
        break;
    case ACT_RELEASE:
        job->dt_ms =
            job->run_at_ms > job->dt_ms || job->attempt ? job->dt_ms : job->run_at_ms;
        op->to = state_when_free(node, job);
        break;
    case ACT_RESUME: /* of a halted job */
        job->dt_ms = node->now.wall_ms;
        op->to = JOB_READY;
        break;
    case ACT_RETRY:
        start_over(node, event, job, op);
        break;
    case ACT_PATCH:
        op->reason = job->reason;
        apply_patch(node, job, &event->patch, op);
        break;
    case ACT_PAUSE:
    case ACT_HALT:
    case ACT_REMOVE:
        break;
    }
    op->dt_ms = job->dt_ms;
    if (state_in(op->to, STATES_GOING))
        node_handler_arrives(node, job, op);
    if (op->to != JOB_BLOCKED || event->action == ACT_PATCH)
        return;
    Head head = head_of(job, &node->names);
    bool waits = (job->flags & JOB_WAITS) != 0;
    if (!waits && (job->flags & JOB_UNSURE)) {
        op->reason = SLICE_LITERAL(REASON_UNSURE);
        op->dt_ms = job->dt_ms = node->now.wall_ms;
        return;
    }
    op->reason = waits ? SLICE_LITERAL(REASON_AFTER) : SLICE_LITERAL(REASON_NO_HANDLER);
    op->dt_ms = job->dt_ms = waits ? TIME_WALL_MAX_MS : node_blocked_until(node, &head);
}

static void remove_waiting(Node *node, const Event *event, const Job *job)
{
    Head head = head_of(job, &node->names);
    Op *op = node_op(node, OP_REMOVE, job->id);
    op->from = STATE_BIT(job->state);
    node_touch(node, job->id);
    node_unready(node, &head);
    node_erase(node, job->id, job->attempt);
    if (!state_in(job->state, STATES_FINAL)) {
        node_changed(node, &head, job->state, JOB_CANCELLED);
        node_final(node, &head, JOB_CANCELLED, event->reason);
    }
    node_group_removed(node, &head,
                       state_in(job->state, STATES_FINAL) ? job->state : JOB_CANCELLED);
    node_reply(node, event->request, ERR_OK, NULL);
}

/* What it would become must be within what its queue takes. */
static bool refuses_patch(Node *node, const Event *event, const Job *job)
{
    Buf detail = { 0 };
    bool asks = event->patch.fields & (FIELD_PRIORITY | FIELD_QUEUE);
    const char *problem = asks ? node_refuses(node, job, &detail) : NULL;
    if (problem) {
        node->out->batch.count--; /* take the operation back */
        node_reply(node, event->request, ERR_INVALID, problem)->detail =
            node_keep(node, buf_slice(&detail));
    }
    buf_done(&detail);
    return problem != NULL;
}

static void act_waiting(Node *node, const Event *event, const Job *loaded)
{
    JobStates allowed = action_allowed(event->action);
    if (event->action == ACT_RETRY && (event->patch.fields & FIELD_ALONE) &&
        (loaded->flags & JOB_WAITS))
        allowed |= STATE_BIT(JOB_BLOCKED); /* what it waits for is set aside */
    if (node_share_forwards(node, event, loaded))
        return;
    /* One that runs, but not here, is for its own node to act on. */
    if (!state_in(loaded->state, allowed & ~(JobStates)STATES_OWNED)) {
        reply_conflict(node, event->request, allowed);
        return;
    }
    if (event->action == ACT_REMOVE) {
        remove_waiting(node, event, loaded);
        return;
    }
    /* All the rest of such a job was read out of its document when it came. */
    if ((loaded->flags & JOB_CONTROL) && (event->patch.fields & FIELD_PAYLOAD)) {
        node_reply(node, event->request, ERR_INVALID, "read_only_field");
        return;
    }
    Job *job = ARENA_NEW(&node->out->batch.arena, Job);
    *job = job_copy(&node->out->batch.arena, loaded);
    Head before = head_of(job, &node->names);
    Op *op = node_op(node, OP_MOVE, job->id);
    op->from = STATE_BIT(loaded->state);
    decide(node, event, job, op);
    job->reason = op->reason;
    JobState to = op->to;
    if (event->action == ACT_PATCH && refuses_patch(node, event, job))
        return;
    if (job_move(job, to, op->dt_ms)) {
        node->out->batch.count--; /* no such step: take the operation back */
        reply_conflict(node, event->request, allowed);
        return;
    }
    node_touch(node, job->id);
    node_unready(node, &before);
    Head after = head_of(job, &node->names);
    if (to == JOB_READY)
        node_ready(node, &after);
    if (to == JOB_HELD && after.dt_ms <= node->now.wall_ms)
        node_held(node, &after);
    if (state_in(to, STATES_TIMED))
        node_wait_until(node, job->dt_ms);
    node_changed(node, &after, loaded->state, to);
    if (state_in(to, STATES_FINAL))
        node_final(node, &after, to, job->reason);
    node_reply(node, event->request, ERR_OK, NULL)->job = job;
}

bool node_act_now(Node *node, const Event *event, const Job *loaded)
{
    size_t before = node->out->effect_count;
    Running *running = map_find(&node->running, event->id);
    if (running)
        act_running(node, running, event);
    else
        act_waiting(node, event, loaded);
    for (size_t i = before; i < node->out->effect_count; i++)
        if (node->out->effects[i].kind == EFFECT_REPLY)
            return node->out->effects[i].err == ERR_OK;
    return true; /* answered later */
}

void node_act_loaded(Node *node, Asked *asked, const Event *answer)
{
    const Event *event = &asked->event;
    map_remove(&node->pins, event->id);
    node->touched_pass = true;
    if (answer->err) {
        node_reply(node, event->request, ERR_UNAVAILABLE, "store_unavailable");
    } else if (!answer->loaded_count) {
        node_reply(node, event->request, ERR_NOT_FOUND, "job_not_found");
    } else {
        act_waiting(node, event, &answer->loaded[0]);
    }
    for (Asked *next = asked->behind; next;) {
        Asked *after = next->behind;
        node_act(node, &next->event);
        arena_done(&next->arena);
        mem_free(next);
        next = after;
    }
}

void node_pins_free(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->pins, &at, &entry);) {
        for (Asked *next = ((Asked *)entry.value)->behind; next;) {
            Asked *after = next->behind;
            arena_done(&next->arena);
            mem_free(next);
            next = after;
        }
    }
    map_done(&node->pins);
}
