/* SPDX-License-Identifier: Apache-2.0 */
/* remote_order_text.h - an order to a processor of another node, and its answer, packed:
 * what daemons that share a store write to each other; and the one list made of many. */
#ifndef CLUSTER_REMOTE_ORDER_TEXT_H
#define CLUSTER_REMOTE_ORDER_TEXT_H

#include "pipeline/processor/signals.h"

typedef enum RemoteOrderKind {
    REMOTE_ORDER_ORDER = 1,
    REMOTE_ORDER_ANSWER,
} RemoteOrderKind;

typedef struct RemoteOrderText {
    RemoteOrderKind kind;
    uint64_t token; /* of who asks; the answer carries it */
    /* ORDER */
    SignalKind signal;
    Slice name;
    Slice unit; /* ANSWER to DESTROY: the name of the processor */
    Slice next;
    Slice plan; /* JSON */
    /* ANSWER */
    Err err;
    Slice problem;
    Slice why;
    Slice out;
    JobId job;
    bool created;
} RemoteOrderText;

void remote_order_pack(Buf *out, const RemoteOrderText *text);
MUST_CHECK Err remote_order_unpack(Slice packed, RemoteOrderText *out); /* borrowed */

/* What one node said to ORDER_LIST; no text: it did not answer. */
typedef struct RemoteOrderPart {
    Slice sysid;
    Slice text;
} RemoteOrderPart;

/* The lists of all nodes as one. The first part is this node's, which also knows the
 * names of those that did not answer (`elsewhere`): they are listed as down. */
void remote_order_merge(Buf *out, const RemoteOrderPart *parts, size_t count);

#endif
