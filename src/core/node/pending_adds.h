/* SPDX-License-Identifier: Apache-2.0 */
/* pending_adds.h - jobs of the node's own making that want a key; for the node_*.c files.
 */
#ifndef CORE_NODE_PENDING_ADDS_H
#define CORE_NODE_PENDING_ADDS_H

#include "core/node/state.h"

bool node_owe(Node *node, const Job *job); /* false: it wants no key, add it at once */
void node_load_owed(Node *node, const Definition *definition);
void pending_adds_loaded(Node *node, const Event *answer); /* what any node owes */
void pending_adds_there(Node *node, const Asked *asked);   /* it was added before */
void pending_adds_add(Node *node, const Asked *asked);
void pending_adds_cancel(Node *node, const Asked *asked, JobId holder, bool merged);
/* The answer to a request that added a job: when the job is decided. */
void pending_adds_reply(Node *node, JobId id, Requester request);

#endif
