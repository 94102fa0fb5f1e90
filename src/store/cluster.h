/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - many nodes on one store: who is alive, whose a job is, mail between them.
 *
 * Every live job has one owner, a node number (job_owner), and only its owner decides
 * about it. The rules, for every kind of store:
 *
 *   - A node has a row from its first `renew` on, and counts as joined once an OP_JOIN of
 *     it was applied (epoch > 0). Batches of nodes that never joined are not guarded: an
 *     embedded store with one node pays nothing.
 *   - An operation on a live job in a batch of a joined node that does not own it is
 *     OP_LOST, before any other guard. Final jobs are no one's: who brings one back by
 *     OP_MOVE owns it then.
 *   - Once a node is fenced its decisions are OP_LOST, whatever they are about; what
 *     people told it still counts (cluster_outlives_fence). OP_JOIN ends that.
 *   - A lease is counted by the store's own clock alone. One is over when its end has
 *     come; it can be renewed all the same, until someone has fenced the node, and then
 *     too: renewing does not end a fence.
 *
 * So a node that was cut off or asleep can do no harm: what it decided before it was
 * fenced is either in the store, or will be refused; what it promised is kept. */
#ifndef STORE_CLUSTER_H
#define STORE_CLUSTER_H

#include "core/batch.h"

typedef struct NodeRow {
    Slice sysid;
    uint32_t number; /* in job ids, 1 to NODE_NUMBER_MAX; unique in the store */
    uint64_t epoch;  /* counts its joins; 0: has not joined */
    bool fenced;
    bool controls;   /* it has the duties of the cluster */
    int64_t left_ms; /* of its lease, by the store's clock; 0 or less: over */
    Slice facts;     /* what it says of itself, packed; see core/peer.h */
} NodeRow;
typedef void NodeSink(void *context, const NodeRow *row);

#define NODE_NUMBER_MAX 1023

/* What a node says when it renews its lease. */
typedef struct Renewal {
    Slice sysid;
    uint32_t number;  /* wanted, if the row is new: its journal's; 0: it has none */
    int64_t lease_ms; /* from now; 0: given back */
    bool controls;    /* it would take the duties of the cluster, or goes on with them */
    Slice facts;
} Renewal;

/* A definition that was written or removed, and when: `change` rises with each write in
 * the whole store, and no smaller one becomes visible later. */
typedef struct Change {
    uint64_t change;
    uint32_t node; /* whose batch it was in */
    Slice table;
    Definition definition; /* value.data NULL: it is gone */
} Change;
typedef void ChangeSink(void *context, const Change *change);

/* Tables of definitions that no node keeps in memory: the audit, which has a row for each
 * change of anything else, below the hours that there are rows of. Jobs that are owed
 * (core/unique.h) are asked for when their node is lost. */
#define AUDIT_TABLE      "audit"
#define AUDIT_HOUR_TABLE "audit_hour:" /* and ten digits */

/* Whether other nodes are told of writes to a table. What they were told stays for long
 * (the last word on each key), so not of those that only grow and go again. */
bool cluster_tells(Slice table);

/* Whether words on what is gone are sought with this change: with the first of a handle,
 * and now and then. */
bool cluster_trims(uint32_t *changes);

/* The last word on a definition that is gone is kept for so many changes at least, and
 * goes soon after them: who is further behind must read everything anew. */
#define CHANGES_KEPT 1000
#define CHANGES_LAST UINT64_MAX /* `after`: only the last of all */

/* Whether an operation of a fenced node still counts: what came through a door (jobs,
 * keys, definitions), and its return. */
bool cluster_outlives_fence(const Op *op);

/* Whether an operation is about one job and thus for its owner alone. */
bool cluster_needs_owner(const Op *op);

/* OP_APPLIED, or OP_LOST for a joined node's operation on a job that is another's. */
OpResult cluster_guard(const Op *op, uint32_t node, const Job *job);

/* Whether `node` may put the next home where `now` stands (core/peer.h): its own, no
 * one's, or that of a node that is fenced; and only as the very next one. */
bool cluster_home_free(const Op *op, uint32_t node, Slice now, bool now_fenced);

/* Whose the job is after `op` was applied to it, if `node` has joined. */
void cluster_claim_final(const Op *op, uint32_t node, JobState was, Job *job);

#endif
