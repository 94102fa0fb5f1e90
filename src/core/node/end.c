/* SPDX-License-Identifier: Apache-2.0 */
/* end.c - how attempts end: outcome, verdict, record, and what follows from it.
 *
 * An attempt is charged to its job unless it was lost through no fault of the job's;
 * after as many such losses as JOB_LOSSES can count it is charged all the same, so that a
 * job that kills its surroundings comes to an end. */
#include "core/node/inside.h"
#include "core/notice.h"

#include <stdio.h>

static RetryRule rule_of(const Node *node, const Head *head)
{
    const NodeSettings *settings = &node->settings;
    return (RetryRule){
        .delay_ms =
            head->retry_delay_ms ? head->retry_delay_ms : settings->retry_delay_ms,
        .fixed = head->retry_delay_ms != 0,
        .delay_max_ms = settings->retry_delay_max_ms,
        .window_ms =
            head->retry_window_ms ? head->retry_window_ms : settings->retry_window_ms,
        .window_from_ms = head->window_from_ms,
        .max_retries = head->max_retries,
        .retry_number = head->retry_number,
    };
}

/* What becomes of the job: its next state and due time, and whether this attempt counts
 * against it. */
typedef struct Verdict {
    JobState state;
    int64_t dt_ms;
    bool charged;
    int64_t window_from_ms; /* of the job from now on; 0: as it was */
    bool window_over;       /* because of which it is rejected */
    uint32_t loss;          /* the bit of JOB_LOSSES that is set by it */
} Verdict;

static Verdict again(Node *node, const Head *head)
{
    RetryRule rule = rule_of(node, head);
    RetryStep step = retry_next(&rule, node->now.wall_ms, &node->rng);
    bool retries = step.state == JOB_RETRYING;
    return (Verdict){ .state = step.state,
                      .dt_ms = step.dt_ms,
                      .charged = retries,
                      .window_from_ms = retries ? step.window_from_ms : 0,
                      .window_over = step.window_over };
}

/* The lowest bit of JOB_LOSSES that is still free; 0 when all are used up. */
static uint32_t free_loss(const Head *head)
{
    uint32_t lowest = JOB_LOSSES & ~((uint32_t)JOB_LOSSES << 1);
    return (head->flags + lowest) & ~head->flags & JOB_LOSSES;
}

/* 000: a module that returns its own argument is to run again, as the same job. */
static bool returns_itself(const Head *head, const Ending *ending)
{
    if (!(head->flags & JOB_CONTROL) || !ending->result.bytes)
        return false;
    return ending->rerun || document_hash(ending->result) == head->document_hash;
}

static Verdict judge(Node *node, const Running *running, const Ending *ending,
                     const Outcome *outcome)
{
    const Head *head = &running->head;
    int64_t now_ms = node->now.wall_ms;
    if (running->cancelling)
        return (Verdict){ .state = JOB_CANCELLED, .dt_ms = now_ms };
    if (running->halting)
        return (Verdict){ .state = JOB_HALTED, .dt_ms = now_ms };
    if (ending->kind == END_UNGOT)
        return (Verdict){ .state = JOB_READY,
                          .dt_ms = head->dt_ms < now_ms ? head->dt_ms : now_ms };
    uint32_t loss = free_loss(head);
    if (ending->kind == END_LOST && loss)
        return (Verdict){ .state = JOB_READY, .dt_ms = now_ms, .loss = loss };
    if (ending->kind == END_NOT_STARTED && ending->node_fault && loss)
        return (Verdict){ .state = JOB_RETRYING,
                          .dt_ms = now_ms + NODE_FAULT_WAIT_MS,
                          .loss = loss };
    switch (outcome->code) {
    case CODE_OK:
        return (Verdict){ .state = returns_itself(head, ending) ? JOB_READY : JOB_DONE,
                          .dt_ms = now_ms };
    case CODE_FAILED:
        return (Verdict){ .state = JOB_FAILED, .dt_ms = now_ms };
    case CODE_NONE:
    case CODE_RETRY:
    case CODE_ERROR:
        break;
    }
    return again(node, head);
}

/* An attempt may have ended while no daemon was there to see it. */
static int64_t end_ms(const Node *node, const Running *running, const Ending *ending)
{
    bool told =
        ending->ended_ms >= running->started_ms && ending->ended_ms < node->now.wall_ms;
    return told ? ending->ended_ms : node->now.wall_ms;
}

/* What the job told last, and behind it what is to be said of its lines. */
static Slice last_message(Node *node, const Running *running, const Ending *ending)
{
    Slice told = ending->message.bytes ? ending->message : buf_slice(&running->message);
    if (!ending->note.bytes)
        return node_keep(node, told);
    Buf both = { 0 };
    buf_add_slice(&both, told);
    if (told.bytes)
        buf_add_text(&both, "; ");
    buf_add_slice(&both, ending->note);
    Slice kept = node_keep(node, buf_slice(&both));
    buf_done(&both);
    return kept;
}

/* Why it is rejected, for people, where its error does not say it. */
static Slice window_reason(Node *node, const Head *head)
{
    char window[DURATION_TEXT_BYTES];
    char text[TIME_TEXT_BYTES];
    Buf reason = { 0 };
    RetryRule rule = rule_of(node, head);
    int64_t from_ms = head->retry_number ? head->window_from_ms : node->now.wall_ms;
    buf_printf(&reason, "its retry window (%s, to %s) leaves no time for another retry",
               duration_human(rule.window_ms, window),
               time_text(from_ms + rule.window_ms, text));
    Slice kept = node_keep(node, buf_slice(&reason));
    buf_done(&reason);
    return kept;
}

static void record_end(Node *node, Running *running, const Ending *ending,
                       const Verdict *verdict, const Outcome *outcome)
{
    Buf error = { 0 };
    outcome_error(ending, outcome, &error);
    Op *op = node_op(node, OP_FINISH, running->head.id);
    op->at_ms = end_ms(node, running, ending);
    op->from = STATES_OWNED;
    op->attempt = running->head.attempt;
    op->lock = node->options.sysid;
    op->to = verdict->state;
    op->dt_ms = verdict->dt_ms;
    op->retry_number = running->head.retry_number + verdict->charged;
    op->outcome = *outcome;
    op->flags = verdict->loss | (ending->cut ? JOB_CUT : 0);
    op->progress = ending->progress >= 0 ? ending->progress : running->progress;
    op->error = node_keep(node, buf_slice(&error));
    op->result =
        running->drop_result ? (Slice){ NULL, 0 } : node_keep(node, ending->result);
    op->message = last_message(node, running, ending);
    op->window_from_ms = verdict->window_from_ms;
    op->reason = verdict->window_over ? window_reason(node, &running->head)
                                      : node_keep(node, buf_slice(&running->reason));
    buf_done(&error);
}

static void add_children(Node *node, const Running *running, const Ending *ending,
                         JobState verdict)
{
    Job parent = node_parent(node, &running->head);
    for (size_t i = 0; i < ending->child_count; i++)
        if (ending->children_whole)
            node_add_whole_child(node, &parent, &ending->children[i]);
        else
            node_add_child(node, &parent, &ending->children[i]);
    if (verdict == JOB_DONE && ending->returned)
        node_add_whole_child(node, &parent, ending->returned);
}

static void place_again(Node *node, const Head *head, const Verdict *verdict)
{
    Head next = *head;
    next.dt_ms = verdict->dt_ms;
    next.flags |= verdict->loss;
    if (verdict->state == JOB_READY)
        node_ready(node, &next);
    if (verdict->state == JOB_RETRYING)
        node_wait_until(node, next.dt_ms);
}

static void remove_ended(Node *node, const Running *running)
{
    Op *op = node_op(node, OP_REMOVE, running->head.id);
    op->from = STATES_FINAL;
    node_erase(node, running->head.id, running->head.attempt);
    node_group_removed(node, &running->head, JOB_CANCELLED);
    node_reply(node, running->remove_request, ERR_OK, NULL);
}

static void forget(Node *node, JobId id, uint32_t attempt)
{
    Effect *effect = outbox_effect(node->out, EFFECT_FORGET, WAIT_BATCH);
    effect->id = id;
    effect->attempt = attempt;
}

/* The handler's own reading of an exit status (exit_map), unless the job spoke. */
static Ending mapped_ending(const Running *running, const Ending *ending)
{
    Ending mapped = *ending;
    if (ending->kind == END_EXITED && !ending->said_code)
        mapped.said_code =
            exit_map_find(buf_slice(&running->exit_map), ending->exit_status);
    return mapped;
}

/* With the end itself: a crash cannot come between the two. */
static void owe_notices(Node *node, const Head *head, JobState state)
{
    char key[ID_TEXT_BYTES + 16];
    char id[ID_TEXT_BYTES];
    snprintf(key, sizeof key, "%s.%u", id_text(head->id, id), head->attempt);
    Op *op = node_op(node, OP_PUT, 0);
    op->table = SLICE_LITERAL(NOTICE_OWED);
    op->key = node_keep(node, slice_text(key));
    op->value = slice_text(state_name(state));
}

void node_final(Node *node, const Head *head, JobState state, Slice error)
{
    if (head->flags & JOB_TELLS)
        owe_notices(node, head, state);
    node_after_final(node);
    node_group_final(node, head);
    if (state == JOB_FAILED || state == JOB_REJECTED)
        node_follow_error(node, head, state, error); /* may delete it */
}

/* A circle of `then` (a, b, a, ...) must not go on for ever: nothing could be done about
 * it but deleting a handler. */
static bool chain_over(const Node *node, const Running *running, const Verdict *verdict)
{
    uint32_t most = node->settings.chain_max;
    return verdict->state == JOB_DONE && running->head.then && most &&
           running->head.chain >= most;
}

static Slice chain_note(Node *node, const Running *running, Slice note)
{
    Buf both = { 0 };
    buf_add_slice(&both, note);
    if (note.bytes)
        buf_add_text(&both, "; ");
    buf_printf(&both,
               "no job of type " SLICE_FMT " follows: %u `then` steps in a row led to "
               "this one, as many as `chain_max` allows",
               SLICE_ARG(names_text(&node->names, running->head.then)),
               running->head.chain);
    Slice kept = node_keep(node, buf_slice(&both));
    buf_done(&both);
    return kept;
}

void node_end_attempt(Node *node, Running *running, const Ending *told)
{
    bool killed = running->stop != STOP_NOT;
    Ending mapped = mapped_ending(running, told);
    const Ending *ending = &mapped;
    Outcome outcome = outcome_of(ending, running->timed_out, killed);
    Verdict verdict = judge(node, running, ending, &outcome);
    bool over = chain_over(node, running, &verdict);
    if (over)
        mapped.note = chain_note(node, running, mapped.note);
    record_end(node, running, ending, &verdict, &outcome);
    Slice error = node->out->batch.ops[node->out->batch.count - 1].error;
    node->ending = ending;
    node->outcome = &outcome;
    if (verdict.state == JOB_DONE && running->head.then && !over)
        node_add_follower(node, &running->head, running->head.then, ending->result);
    if (verdict.state == JOB_DONE || verdict.state == JOB_FAILED)
        add_children(node, running, ending, verdict.state);
    node_touch(node, running->head.id);
    if (!running->warm) /* of those nothing is kept */
        forget(node, running->head.id, running->head.attempt);
    JobState was = running->paused_boot ? JOB_PAUSED : JOB_RUNNING;
    Effect *changed = node_changed(node, &running->head, was, verdict.state);
    changed->code = outcome.code;
    changed->chain_over = over;
    changed->run_ms = end_ms(node, running, ending) - running->started_ms;
    if (state_in(verdict.state, STATES_FINAL))
        node_final(node, &running->head, verdict.state, error);
    node->ending = NULL;
    node->outcome = NULL;
    if (running->removing && verdict.state == JOB_CANCELLED)
        remove_ended(node, running);
    Head head = running->head;
    if (ending->kind == END_ANSWERED)
        slot_sharing_took(node, running, ending->took_us);
    node_let_go(node, running);
    place_again(node, &head, &verdict);
}

void node_ended(Node *node, const Event *event)
{
    Running *running = map_find(&node->running, event->id);
    if (!running || running->head.attempt != event->attempt) {
        node->late++;
        forget(node, event->id, event->attempt);
        return;
    }
    node_end_attempt(node, running, &event->ending);
}

void node_progress(Node *node, const Event *event)
{
    Running *running = map_find(&node->running, event->id);
    if (!running || running->head.attempt != event->attempt)
        return;
    running->progress = event->progress;
    buf_clear(&running->message);
    buf_add_slice(&running->message, event->message);
    if (node->now.boot_ms < running->progress_boot)
        return;
    running->progress_boot = node->now.boot_ms + PROGRESS_EVERY_MS;
    Op *op = node_op(node, OP_PROGRESS, event->id);
    op->attempt = event->attempt;
    op->lock = node->options.sysid;
    op->progress = event->progress;
    op->message = node_keep(node, event->message);
}

/* What has become of an attempt that no one has seen alive after a start. */
static const char *lost_how(Node *node, const Running *running)
{
    const HandlerEntry *entry =
        node_handler_entry(node, running->head.tenant, running->head.type);
    if (entry && entry->warm && !(running->head.flags & JOB_COMMAND))
        return "the daemon ended while it ran, and its warm context with it";
    if (entry && entry->handler.lang == LANG_HTTP)
        return "the daemon ended while its call was under way";
    return "its process was not there any more when the daemon came back";
}

static void lose_all(Node *node, bool adopted_too)
{
    size_t count = 0;
    JobId *ids = MEM_ARRAY(JobId, node->running.count);
    MapEntry entry;
    for (size_t at = 0; map_next(&node->running, &at, &entry);)
        if (!is_pull(entry.value) && /* those are no one's but their worker's */
            (adopted_too || !((Running *)entry.value)->adopted))
            ids[count++] = entry.key;
    for (size_t i = 0; i < count; i++) {
        Running *running = map_find(&node->running, ids[i]);
        Ending lost = { .kind = END_LOST, .progress = -1 };
        if (!adopted_too)
            lost.error = slice_text(lost_how(node, running));
        node_end_attempt(node, running, &lost);
    }
    mem_free(ids);
}

void node_launcher_lost(Node *node)
{
    lose_all(node, true);
}

/* After a start: what the store says runs here, but no one has seen alive. */
void node_lost_attempts(Node *node)
{
    if (node->passes)
        return;
    lose_all(node, false);
    node_reload_lanes(node);
}
