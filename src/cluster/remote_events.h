/* SPDX-License-Identifier: Apache-2.0 */
/* remote_events.h - events of other nodes, for the listeners of this one, and of this one
 * for those of others.
 *
 * Another node is asked (REMOTE_QUERY_EVENTS) for what is behind an event. It answers at
 * once if it has something, else when something happens, or empty after a while; only
 * ever with its own events, so nothing goes round. Answers are kept for a moment:
 * listeners that stand at the same event, as all do that keep up, are served by one
 * question. Without listeners no one is asked, and nothing is kept. Loop thread. */
#ifndef CLUSTER_REMOTE_EVENTS_H
#define CLUSTER_REMOTE_EVENTS_H

#include "cluster/remote_query.h"
#include "watch/event_listener.h"

typedef struct RemoteEvents RemoteEvents;

RemoteEvents *remote_events_new(Daemon *daemon, RemoteQuery *remote_query);
void remote_events_free(RemoteEvents *far); /* after the last question was answered */

/* EventSources.hear. */
EventHeard remote_events_hear(void *far, const EventWish *wish, EventChunk *out);

/* Another node asks. */
void remote_events_asked(RemoteEvents *far, uint32_t from, const RemoteQueryText *text);

/* An event was added to this node's log: who waits for it should be answered soon. */
void remote_events_happened(const RemoteEvents *far);

/* Answers become letters; what no one wants any more is dropped. */
void remote_events_collect(RemoteEvents *far, Now now);

#endif
