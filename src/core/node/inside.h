/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h - what the node_*.c files tell each other, and no one else. */
#ifndef CORE_NODE_INSIDE_H
#define CORE_NODE_INSIDE_H

#include "core/dispatch/slot_sharing.h"
#include "core/node/pending_adds.h"
#include "core/node/state.h"

/* node/add.c */
void node_add(Node *node, const Event *event);
void node_add_lines(Node *node, const Event *event);
bool node_add_after_key(Node *node, Asked *asked, const Event *answer); /* false: later */
void node_add_later(Node *node);
void node_add_put_off(Node *node, Asked *asked); /* until the store can answer */
/* Adds a job of the node's own making: an operation of the turn's batch, or of a later
 * one (pending_adds.c). Everything is copied. */
JobId node_add_own(Node *node, const Job *pattern);
/* The same for one that has its id, and its keys if it wants any: now. */
const Job *node_add_decided(Node *node, const Job *pattern);
const Job *node_last_added(const Batch *batch); /* NULL: none */
/* For node/unique.c: one job of the batch; whether adds are refused now (and answered);
 * the idempotency key of an add that comes to nothing; the answer of one that did not. */
AddedItem node_add_one(Node *node, const Event *event, const Job *from);
bool node_add_refused(Node *node, const Event *event);
void node_add_forget_key(Node *node, const Event *event);
void node_add_answer_items(Node *node, const Event *event, const AddedItem *items);
JobId node_add_child(Node *node, const Job *parent_like, const Job *child);
JobId node_add_whole_child(Node *node, const Job *parent_like, const Job *child);
void node_keys_applied(Node *node, uint64_t number);

/* node/handler.c */
HandlerEntry *node_handler_entry(const Node *node, uint32_t tenant, uint32_t type);
const Handler *node_find_handler(const Node *node, uint32_t tenant, uint32_t type);
const Handler *node_usable_handler(const Node *node, uint32_t tenant, uint32_t type);
void node_define_handler(Node *node, const Event *event);
void node_load_handler(Node *node, const Definition *definition);
void node_blocked_loaded(Node *node, const Asked *asked, const Event *answer);
void node_handler_arrives(Node *node, Job *job, Op *op);
void node_handlers_free(Node *node);
void node_block(Node *node, const Head *head);     /* a ready job lost its handler */
void node_blocked_due(Node *node, const Job *job); /* its window is over */
void node_ask_unblocked(Node *node); /* again what the store could not answer */
void node_unblock_all(Node *node);   /* jobs of any type may have come */
bool node_can_run(const Node *node, const Head *head);
int64_t node_blocked_until(const Node *node, const Head *head);

/* node/tenant.c */
void node_define_tenant(Node *node, const Event *event);
void node_load_tenant(Node *node, const Definition *definition);
void node_tenants_free(Node *node);
bool node_segregates(const Node *node, uint32_t tenant);
/* node/schedule.c */
void node_load_schedule(Node *node, const Definition *definition);
void node_load_schedule_state(Node *node, const Definition *definition);
void node_define_schedule(Node *node, const Event *event);
void node_trigger(Node *node, const Event *event);
void node_last_loaded(Node *node, const Asked *asked, const Event *answer);
void node_schedules(Node *node);              /* those whose time has come */
int64_t node_schedules_due(const Node *node); /* wall time of the next; TIME_NEVER */
void node_schedules_free(Node *node);
/* node/controller.c */
void node_load_controller(Node *node, const Definition *definition);
void node_controller(Node *node); /* takes, renews or gives back the lock */
bool node_controls(const Node *node);
/* node/after.c */
void node_after_begin(Node *node, Job *job); /* a new job that waits for others */
void node_after_again(Node *node, Job *job, Op *op);
void node_after_final(Node *node); /* a job became final */
void node_ask_after(Node *node);
void node_after_loaded(Node *node, const Event *answer);
void node_after_due(Node *node, const Job *job);
void node_cancel_waiting(Node *node, const Job *job, Slice reason); /* kept already */

/* node/group.c */
void node_group_added(Node *node, const Job *job, uint64_t count);
void node_group_moved(Node *node, const Head *head, JobState was, JobState state);
void node_group_removed(Node *node, const Head *head, JobState state);
void node_group_final(Node *node, const Head *head); /* behind node_group_moved */
void node_define_group(Node *node, const Event *event);
void node_load_group_definition(Node *node, const Definition *stored);
void node_groups_free(Node *node);
void node_groups_look(Node *node); /* shared: all that wait for their end */
void node_ask_groups(Node *node);
void node_group_loaded(Node *node, const Asked *asked, const Event *answer);

/* node/operation.c */
void node_define_operation(Node *node, const Event *event);
void node_load_operation(Node *node, const Definition *definition);
void node_ask_operation(Node *node);
void node_operation_loaded(Node *node, const Asked *asked, const Event *answer);
void node_operations_free(Node *node);

/* node/unique.c */
bool node_wants_keys(const Node *node, const Job *job);
bool node_add_needs_keys(const Node *node, const Event *event);
void node_ask_unique(Node *node, Asked *asked, Effect *effect);
bool node_unique_loaded(Node *node, Asked *asked, const Event *answer); /* false: later */
void node_unique_added(Node *node, const Job *job);
void node_uniques_applied(Node *node, uint64_t number);

/* node/act.c */
void node_act(Node *node, const Event *event);
/* Acts on a job that is known to be as `loaded` says. False: it makes no sense now. */
bool node_act_now(Node *node, const Event *event, const Job *loaded);
void node_act_loaded(Node *node, Asked *asked, const Event *answer);
void node_pins_free(Node *node);

/* pass.c */
void node_pass(Node *node);

/* node/run.c */
/* In this slot, or, with 0, in a free one. */
Running *node_hold(Node *node, const Head *head, const BatchPlace *place);
void node_hold_handler(Node *node, Running *running); /* it keeps this version's say */
void node_let_go(Node *node, Running *running);
void node_running_free(Node *node, Running *running);
void node_stop(Node *node, Running *running, bool at_once);
void node_timer_set(Node *node, Running *running);
void node_timers(Node *node);

/* pull.c */
void node_claim(Node *node, const Event *event);
void node_renew(Node *node, const Event *event);
void node_finish(Node *node, const Event *event);
void node_unget(Node *node, const Event *event);
void node_pull_pass(Node *node);
void node_pull_begin(Node *node); /* after a start leases begin anew */
void node_pull_lane_made(Node *node, Lane *lane);
void node_pull_lane_gone(Node *node, const Lane *lane);
bool node_pull_misplaced(const Node *node, const Head *head);
Head node_pull_replace(Node *node, const Head *head);
void node_pull_block(Node *node, Lane *lane);
void node_pull_handler_changed(Node *node, uint32_t tenant_number);
void node_pull_stop(Node *node, Running *running, bool at_once);
void node_pull_timer(Node *node, Running *running);
void node_pull_free(Node *node);
static inline bool is_pull(const Running *running)
{
    return (running->head.flags & JOB_PULL) != 0;
}
/* end.c */
void node_end_attempt(Node *node, Running *running, const Ending *told);
void node_ended(Node *node, const Event *event);
void node_progress(Node *node, const Event *event);
void node_launcher_lost(Node *node);
void node_lost_attempts(Node *node);
/* Every way into a final state, removal of a job that was not final included, passes
 * here, once, in the turn that decides it and behind the operation that does it: what
 * hangs on the end of a job begins here. */
void node_final(Node *node, const Head *head, JobState state, Slice error);

/* error.c */
void node_follow_error(Node *node, const Head *head, JobState state, Slice error);
Job node_parent(const Node *node, const Head *head); /* what its children get from it */
void node_add_follower(Node *node, const Head *head, uint32_t type, Slice payload);

/* node/load.c */
Lane *node_lane(Node *node, const Head *head); /* made if it is not there */
/* A job became ready. False: it waits behind the window, in the store only. */
bool node_ready(Node *node, const Head *head);
void node_held(Node *node, const Head *head);    /* a due job waits to be released */
void node_unready(Node *node, const Head *head); /* a ready job stopped being so */
void node_lane_changed(Node *node, Lane *lane);
void node_tour_begin(Node *node, uint64_t tour);
void node_wait_until(Node *node, int64_t dt_ms); /* a job is due then */
Effect *node_ask(Node *node, LoadWhat what, Asked **out_asked);
Effect *node_ask_again(Node *node, Asked *asked);
void node_loaded(Node *node, const Event *event);
void node_duties(Node *node);
void node_reload_lanes(Node *node);
void node_applied(Node *node, uint64_t number);
void node_touch(Node *node, JobId id);
bool node_touched_since(const Node *node, JobId id, uint64_t number);
void node_lane_reach(const Node *node, Lane *lane, const Head *head);
size_t node_lane_limit(const Node *node, const Lane *lane);

/* node.c */
Effect *node_define(Node *node, const Event *event); /* plainly; returns the reply */
Op *node_op(Node *node, OpKind kind, JobId id);
Effect *node_changed(Node *node, const Head *head, JobState was, JobState state);
Effect *node_reply(Node *node, Requester request, Err err, const char *problem);
void node_erase(Node *node, JobId id, uint32_t attempt);
Slice node_keep(Node *node, Slice slice); /* copied into the outbox */

#endif
