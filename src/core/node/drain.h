/* SPDX-License-Identifier: Apache-2.0 */
/* drain.h - a node that starts nothing more.
 *
 * Three who may want that: the daemon that leaves (EVENT_DRAIN with a flag) or has lost
 * its name (without: then it takes no jobs either), and a person, by a definition under
 * the node's sysid. The last is kept in the store: any node can be told by any other,
 * also while it is away, and it is so until someone resumes it. What runs goes on to its
 * end; what waits is given to other nodes where there are some; jobs that come in are
 * taken. */
#ifndef CORE_NODE_DRAIN_H
#define CORE_NODE_DRAIN_H

#include "core/event.h"

#define DRAIN_TABLE "node_drain" /* of definitions; the key is a sysid */

typedef struct NodeDrain {
    int64_t since_ms;
    Slice reason; /* a person's words */
} NodeDrain;

void drain_pack(Buf *out, const NodeDrain *drain);
MUST_CHECK Err drain_unpack(Slice packed, NodeDrain *out); /* borrowed */

typedef struct Node Node;

void node_drain(Node *node, const Event *event); /* DRAIN, RESUME */
void node_define_drain(Node *node, const Event *event);
void node_load_drain(Node *node, const Definition *definition);

#endif
