/* SPDX-License-Identifier: Apache-2.0 */
/* key_confirm.h - keys on a store that nodes share: who really has them. For node_*.c. */
#ifndef CORE_SHARE_KEY_CONFIRM_H
#define CORE_SHARE_KEY_CONFIRM_H

#include "core/node/state.h"

/* key_confirm.c */
bool node_keys_unsure(const Node *node, const Job *job);
void node_unsure(Node *node, Job *job); /* a new job that wants a key */
/* Jobs that are due and not sure; `all` that there are. The array is used up. */
void key_confirm_due(Node *node, const Job **jobs, size_t count, bool all);
void key_confirm_loaded(Node *node, const Asked *asked, const Event *answer);
void key_confirm_free(Node *node);

/* node/unique.c */
void node_unique_keys(const Job *job, Buf *out); /* for LOAD_UNIQUE */
/* The holder that was to be replaced was asked for at its own node. */
void node_unique_called(Node *node, Asked *asked, Err err);

#endif
