/* SPDX-License-Identifier: Apache-2.0 */
/* booking_node.h - where what is counted over all nodes of a store is booked. */
#ifndef CORE_SHARE_BOOKING_NODE_H
#define CORE_SHARE_BOOKING_NODE_H

#include "core/node/state.h"

/* Whether it may be booked at this node; always on a store of its own. */
bool booking_node_here(const Node *node);

void node_load_home(Node *node, const Definition *definition);
void booking_node_duties(Node *node);                  /* takes, leaves, gives */
void booking_node_fenced(Node *node, uint32_t number); /* behind OP_FENCE, in its batch */

/* dispatch/limits.c: whether a job wants something that is counted over all nodes, and
 * whether any could. */
bool node_head_homed(Node *node, const Head *head);
bool node_counts_homed(const Node *node);

#endif
