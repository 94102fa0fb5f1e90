/* SPDX-License-Identifier: Apache-2.0 */
/* afar_text.h - questions of one daemon to another that shares the store, and their
 * answers, packed. */
#ifndef SERVE_AFAR_TEXT_H
#define SERVE_AFAR_TEXT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"

#include <stdbool.h>

#define AFAR_STREAMS    2 /* as OUTPUT_STREAMS */
#define AFAR_EVENTS_NOW 1 /* `from`, without an epoch: what happens from now on */

/* Apart from RelayKind: both are letters of daemons. */
typedef enum AfarKind {
    AFAR_LOG = 32, /* a piece of what attempt `attempt` of job `id` printed */
    AFAR_RENEW,    /* items of pull workers that you hold: body, as POST /claims/renew */
    AFAR_FINISH,   /* likewise */
    AFAR_ERASE,    /* jobs that are gone: body, Erased ones; it has no answer */
    AFAR_ANSWER,
    AFAR_EVENTS, /* what happened at your node behind event `from` of `epoch`; see
                    far_events.h. `more`: the answer may wait until something does */
} AfarKind;

typedef struct Erased { /* as it lies in memory */
    JobId id;
    uint64_t attempts;
} Erased;

typedef struct AfarText {
    AfarKind kind;
    uint64_t token; /* of who asks; the answer carries it */
    /* LOG */
    JobId id;
    uint32_t attempt;
    uint32_t streams; /* bit n: stream n is wanted */
    int64_t offsets[AFAR_STREAMS];
    /* RENEW, FINISH */
    Slice tenant;
    bool bound; /* its jobs may name no other */
    Slice body;
    /* EVENTS, and the answer to it */
    uint64_t epoch;
    bool more; /* ANSWER: there are more */
    /* ANSWER */
    Err err;
    Slice problem;
    Slice why;
    uint32_t stream; /* LOG: of which `out` is */
    int64_t from;    /* LOG: offset of its first byte. EVENTS: they are behind this one */
    int64_t next;    /* LOG: where to go on. EVENTS: the last of them */
    Slice out;       /* RENEW, FINISH: a byte for each item, its ClaimStatus */
} AfarText;

void afar_pack(Buf *out, const AfarText *text);
MUST_CHECK Err afar_unpack(Slice packed, AfarText *out); /* borrowed */
void afar_keep(Arena *arena, AfarText *text);

#endif
