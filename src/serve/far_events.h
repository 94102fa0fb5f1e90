/* SPDX-License-Identifier: Apache-2.0 */
/* far_events.h - events of other nodes, for the listeners of this one, and of this one
 * for those of others.
 *
 * Another node is asked (AFAR_EVENTS) for what is behind an event. It answers at once if
 * it has something, else when something happens, or empty after a while; only ever with
 * its own events, so nothing goes round. Answers are kept for a moment: listeners that
 * stand at the same event, as all do that keep up, are served by one question. Without
 * listeners no one is asked, and nothing is kept. Loop thread. */
#ifndef SERVE_FAR_EVENTS_H
#define SERVE_FAR_EVENTS_H

#include "serve/afar.h"
#include "serve/event_listener.h"

typedef struct FarEvents FarEvents;

FarEvents *far_events_new(Daemon *daemon, Afar *afar);
void far_events_free(FarEvents *far); /* after the last question was answered */

/* EventSources.hear. */
EventHeard far_events_hear(void *far, const EventWish *wish, EventChunk *out);

/* Another node asks. */
void far_events_asked(FarEvents *far, uint32_t from, const AfarText *text);

/* An event was added to this node's log: who waits for it should be answered soon. */
void far_events_happened(const FarEvents *far);

/* Answers become letters; what no one wants any more is dropped. */
void far_events_collect(FarEvents *far, Now now);

#endif
