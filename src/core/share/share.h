/* SPDX-License-Identifier: Apache-2.0 */
/* share.h - a node among others on one store; for the node_*.c files.
 *
 * Only the owner of a job decides about it. So nodes give jobs to each other (the one
 * with room asks, the owner gives), write to each other about jobs that are another's,
 * and take over what a lost node leaves. All of it rests on the lease: a node starts
 * nothing once it can no longer be sure of it, and ends what runs before others may
 * begin. A node that has its store for itself has none of this (node->share is NULL). */
#ifndef CORE_SHARE_SHARE_H
#define CORE_SHARE_SHARE_H

#include "core/node/state.h"

void node_share_begin(Node *node);
void node_share_free(Node *node);

void node_share_lease(Node *node);   /* first in each step: whether it still holds */
void node_share_duties(Node *node);  /* mail, asking, taking over */
void node_share_answers(Node *node); /* last: replies that are for other nodes */
int64_t node_share_wake(const Node *node);

bool node_share_may_start(const Node *node);
bool node_share_controls(const Node *node);
/* Some node's lease is over and it is not fenced yet: what it decided may still come. */
bool node_share_unsettled(const Node *node);

/* True: the job is another node's, which was written to; it answers the request. */
bool node_share_forwards(Node *node, const Event *event, const Job *job);

/* Whether what has this id is for this node to go on with: it is its own, or that node is
 * gone and this one has the duties of the cluster. */
bool node_share_sees_to(const Node *node, JobId id);
/* Whether a job that is not final is another node's. */
bool node_share_is_other(const Node *node, const Job *job);
/* Whether its owner can be asked; else it will be another's, unless it stays. */
bool node_share_reaches(const Node *node, const Job *job);
/* Its owner cancels it, if it waits; then node_unique_called. */
void node_share_call_cancel(Node *node, Asked *asked, const Job *job);

void node_share_peers(Node *node, const Event *event);
void node_share_hint(Node *node);
void node_share_post(Node *node, const Event *event);
void node_share_change(Node *node, const Event *event);
void node_share_inbox(Node *node, const Event *answer);
void node_share_given(Node *node, const Asked *asked, const Event *answer);
void node_share_running(Node *node, const Asked *asked, const Event *answer);
void node_share_lanes(Node *node, const Asked *asked, const Event *answer);

/* Whether an owed job is this node's to add, because the one that owes it is lost; from
 * then on it is, until it was added. */
bool node_share_inherits(Node *node, JobId id);
void node_share_inherited(Node *node, JobId id);
void node_share_looked_owed(Node *node, bool looked);

/* Jobs that others could have of this node now. */
uint64_t node_share_spare(const Node *node); /* after its last step */
uint64_t node_share_pull(const Node *node);  /* likewise, for their pull workers */
void node_share_count(const Node *node, NodeFacts *facts); /* nodes and their slots */

#endif
