/* SPDX-License-Identifier: Apache-2.0 */
/* node_sure.h - keys on a store that nodes share: who really has them. For node_*.c. */
#ifndef CORE_NODE_SURE_H
#define CORE_NODE_SURE_H

#include "core/node_state.h"

/* node_sure.c */
bool node_keys_unsure(const Node *node, const Job *job);
void node_unsure(Node *node, Job *job); /* a new job that wants a key */
/* Jobs that are due and not sure; `all` that there are. The array is used up. */
void node_sure_due(Node *node, const Job **jobs, size_t count, bool all);
void node_sure_loaded(Node *node, const Asked *asked, const Event *answer);
void node_sure_free(Node *node);

/* node_unique.c */
void node_unique_keys(const Job *job, Buf *out); /* for LOAD_UNIQUE */
/* The holder that was to be replaced was asked for at its own node. */
void node_unique_called(Node *node, Asked *asked, Err err);

#endif
