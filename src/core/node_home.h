/* SPDX-License-Identifier: Apache-2.0 */
/* node_home.h - where what is counted over all nodes of a store is booked. */
#ifndef CORE_NODE_HOME_H
#define CORE_NODE_HOME_H

#include "core/node_state.h"

/* Whether it may be booked at this node; always on a store of its own. */
bool node_home_here(const Node *node);

void node_load_home(Node *node, const Definition *definition);
void node_home_duties(Node *node);                  /* takes, leaves, gives */
void node_home_fenced(Node *node, uint32_t number); /* behind OP_FENCE, in its batch */

/* node_limits.c: whether a job wants something that is counted over all nodes, and
 * whether any could. */
bool node_head_homed(Node *node, const Head *head);
bool node_counts_homed(const Node *node);

#endif
