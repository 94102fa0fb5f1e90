/* SPDX-License-Identifier: Apache-2.0 */
/* node_owed.h - jobs of the node's own making that want a key; for the node_*.c files. */
#ifndef CORE_NODE_OWED_H
#define CORE_NODE_OWED_H

#include "core/node_state.h"

bool node_owe(Node *node, const Job *job); /* false: it wants no key, add it at once */
void node_load_owed(Node *node, const Definition *definition);
void node_owed_loaded(Node *node, const Event *answer); /* what any node owes */
void node_owed_there(Node *node, const Asked *asked);   /* it was added before */
void node_owed_add(Node *node, const Asked *asked);
void node_owed_cancel(Node *node, const Asked *asked, JobId holder, bool merged);
/* The answer to a request that added a job: when the job is decided. */
void node_owed_reply(Node *node, JobId id, Requester request);

#endif
