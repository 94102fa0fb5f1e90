/* SPDX-License-Identifier: Apache-2.0 */
/* quota.h - how much each tenant has, and where that ends.
 *
 * What this node does itself is counted as it happens. On a store that nodes share, what
 * the others have done is as old as the last answer of the store (EVENT_USES): in between
 * each node may go beyond a limit by what the others have taken since. The bytes that a
 * tenant keeps come from the store, too; what was accepted since it was asked is added.
 */
#ifndef CORE_DISPATCH_QUOTA_H
#define CORE_DISPATCH_QUOTA_H

#include "core/node/state.h"

/* A job, or `count` of a kind, was added; bytes of all bodies. */
void node_quota_added(Node *node, uint32_t tenant, const Job *job, uint64_t count,
                      uint64_t bytes);
void node_quota_moved(Node *node, uint32_t tenant, JobState was, JobState state);
void node_quota_runs(Node *node, uint32_t tenant, int change);
bool node_quota_full(const Node *node, uint32_t tenant);            /* no more may run */
uint64_t node_quota_running_max(const Node *node, uint32_t tenant); /* 0: no limit */

/* Why not so many jobs with so many bytes: a problem, or NULL. */
const char *node_quota_refuses(const Node *node, const Job *job, uint64_t count,
                               uint64_t bytes, Buf *detail);
void node_quota_heard(Node *node, const Event *event); /* EVENT_USES */
void node_quota_free(Node *node);

#endif
