/* SPDX-License-Identifier: Apache-2.0 */
/* letter.h - what nodes that share a store write to each other (OP_MAIL), packed. */
#ifndef CORE_LETTER_H
#define CORE_LETTER_H

#include "core/effect.h"

typedef enum LetterKind {
    LETTER_ASK = 1, /* has room for `count` jobs */
    LETTER_GIVEN,   /* the jobs with these ids are yours now: body, 8 bytes each */
    LETTER_CALL,   /* an action for a job that is yours: `call`, answered under `token` */
    LETTER_ANSWER, /* to a call: answer */
    LETTER_WORD,   /* of one daemon to the other: body */
    LETTER_PULL,   /* its workers wait for `count` jobs of these: tenant, queues, types */
} LetterKind;

typedef struct LetterText {
    LetterKind kind;
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
} LetterText;

void letter_pack(Buf *out, const LetterText *text);
MUST_CHECK Err letter_unpack(Slice packed, LetterText *out); /* borrowed */

#endif
