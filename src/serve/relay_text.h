/* SPDX-License-Identifier: Apache-2.0 */
/* relay_text.h - an order to a processor of another node, and its answer, packed: what
 * daemons that share a store write to each other; and the one list made of many. */
#ifndef SERVE_RELAY_TEXT_H
#define SERVE_RELAY_TEXT_H

#include "pipeline/signals.h"

typedef enum RelayKind {
    RELAY_ORDER = 1,
    RELAY_ANSWER,
} RelayKind;

typedef struct RelayText {
    RelayKind kind;
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
} RelayText;

void relay_pack(Buf *out, const RelayText *text);
MUST_CHECK Err relay_unpack(Slice packed, RelayText *out); /* borrowed */

/* What one node said to ORDER_LIST; no text: it did not answer. */
typedef struct RelayPart {
    Slice sysid;
    Slice text;
} RelayPart;

/* The lists of all nodes as one. The first part is this node's, which also knows the
 * names of those that did not answer (`elsewhere`): they are listed as down. */
void relay_merge(Buf *out, const RelayPart *parts, size_t count);

#endif
