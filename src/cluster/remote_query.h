/* SPDX-License-Identifier: Apache-2.0 */
/* remote_query.h - questions to the daemons of other nodes: what a job printed there,
 * what happened there, and words of pull workers about jobs that another node gave them.
 *
 * They travel as letters through the store (EVENT_POST) and are answered the same way,
 * each piece of bounded size. A letter may be lost with the node it went to: then, and if
 * it takes too long, whoever asks is told that the node does not answer. What is asked
 * may be asked again. Loop thread, except for what readers do. */
#ifndef CLUSTER_REMOTE_QUERY_H
#define CLUSTER_REMOTE_QUERY_H

#include "cluster/remote_query_text.h"
#include "core/effect.h"
#include "engine/call.h"

#define REMOTE_QUERY_PIECE_BYTES (256u << 10) /* of output, in one answer */

typedef struct RemoteQuery RemoteQuery;

/* Of CALL_AFAR; the node by its name or its number. The answer lives in the call. */
typedef struct Question {
    Slice sysid;
    uint32_t number;
    RemoteQueryText text;
    RemoteQueryText answer;
} Question;

RemoteQuery *remote_query_new(Daemon *daemon);
void remote_query_refuse(RemoteQuery *remote_query); /* no more: whoever waits is told */
void remote_query_free(RemoteQuery *remote_query);

/* ERR_NOT_FOUND: there is no such node, or it was lost and what it had is another's by
 * now. ERR_UNAVAILABLE: it does not answer. */
void remote_query_take(RemoteQuery *remote_query, Call *call);

/* What came from another daemon; false: it is for others to read. */
bool remote_query_letter(RemoteQuery *remote_query, const Effect *effect);

struct RemoteEvents *remote_query_events(const RemoteQuery *remote_query);

/* The job is gone: what other nodes have kept of its attempts goes, too. */
void remote_query_erased(RemoteQuery *remote_query, JobId id, uint32_t attempts);

/* A letter, while events are collected. */
void remote_query_post(RemoteQuery *remote_query, uint32_t to,
                       const RemoteQueryText *text);

/* Answers become letters; who has waited for too long is told. */
void remote_query_collect(RemoteQuery *remote_query, Now now);

#endif
