/* SPDX-License-Identifier: Apache-2.0 */
/* node_message.h - what nodes that share a store write to each other (OP_MAIL), packed.
 */
#ifndef CORE_SHARE_NODE_MESSAGE_H
#define CORE_SHARE_NODE_MESSAGE_H

#include "core/effect.h"

typedef enum NodeMessageKind {
    MESSAGE_ASK = 1, /* has room for `count` jobs */
    MESSAGE_GIVEN,   /* the jobs with these ids are yours now: body, 8 bytes each */
    MESSAGE_CALL, /* an action for a job that is yours: `call`, answered under `token` */
    MESSAGE_ANSWER, /* to a call: answer */
    MESSAGE_WORD,   /* of one daemon to the other: body */
    MESSAGE_PULL, /* its workers wait for `count` jobs of these: tenant, queues, types */
} NodeMessageKind;

typedef struct NodeMessage {
    NodeMessageKind kind;
    uint64_t token;
    uint64_t count;
    Slice body;
    Slice tenant; /* PULL; lists as those of a ClaimAsk */
    Slice queues;
    Slice types;
    Event call;    /* ACT: what node_act looks at */
    Effect answer; /* REPLY: err, problem, detail, allowed */
    Slice problem; /* of the answer, as text */
    Slice job;     /* of the answer, packed; empty: none */
} NodeMessage;

void node_message_pack(Buf *out, const NodeMessage *text);
MUST_CHECK Err node_message_unpack(Slice packed, NodeMessage *out); /* borrowed */

#endif
