/* SPDX-License-Identifier: Apache-2.0 */
/* remote_query_text.h - questions of one daemon to another that shares the store, and
 * their answers, packed. */
#ifndef CLUSTER_REMOTE_QUERY_TEXT_H
#define CLUSTER_REMOTE_QUERY_TEXT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"

#include <stdbool.h>

#define REMOTE_QUERY_STREAMS 2 /* as OUTPUT_STREAMS */
#define REMOTE_QUERY_EVENTS_NOW                                                          \
    1 /* `from`, without an epoch: what happens from now on                              \
       */

/* Apart from RemoteOrderKind: both are letters of daemons. */
typedef enum RemoteQueryKind {
    REMOTE_QUERY_LOG = 32, /* a piece of what attempt `attempt` of job `id` printed */
    REMOTE_QUERY_RENEW,    /* items of pull workers that you hold: body, as POST
                              /claims/renew */
    REMOTE_QUERY_FINISH,   /* likewise */
    REMOTE_QUERY_ERASE,    /* jobs that are gone: body, Erased ones; it has no answer */
    REMOTE_QUERY_ANSWER,
    REMOTE_QUERY_EVENTS, /* what happened at your node behind event `from` of `epoch`; see
                    remote_events.h. `more`: the answer may wait until something does */
} RemoteQueryKind;

typedef struct Erased { /* as it lies in memory */
    JobId id;
    uint64_t attempts;
} Erased;

typedef struct RemoteQueryText {
    RemoteQueryKind kind;
    uint64_t token; /* of who asks; the answer carries it */
    /* LOG */
    JobId id;
    uint32_t attempt;
    uint32_t streams; /* bit n: stream n is wanted */
    int64_t offsets[REMOTE_QUERY_STREAMS];
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
} RemoteQueryText;

void remote_query_pack(Buf *out, const RemoteQueryText *text);
MUST_CHECK Err remote_query_unpack(Slice packed, RemoteQueryText *out); /* borrowed */
void remote_query_keep(Arena *arena, RemoteQueryText *text);

#endif
