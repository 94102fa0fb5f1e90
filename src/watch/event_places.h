/* SPDX-License-Identifier: Apache-2.0 */
/* event_places.h - where a listener stands with each node whose events it hears.
 *
 * As text it is the id of the events of a stream, and comes back as Last-Event-ID: to
 * whatever node, for all of them read it alike. A node alone writes EPOCH-NUMBER; on a
 * shared store it is NODE:EPOCH-NUMBER for each node, with commas between them. */
#ifndef WATCH_EVENT_PLACES_H
#define WATCH_EVENT_PLACES_H

#include "base/buf.h"
#include "watch/event_log.h"

typedef struct EventPlace {
    uint32_t node;  /* 0: the one that is alone */
    EventCursor at; /* epoch 0: before the first event that the node has kept */
    bool over;      /* nothing more is wanted of it */
} EventPlace;

typedef struct EventPlaces {
    EventPlace *list;
    size_t count;
    size_t capacity;
} EventPlaces;

/* Adds to an empty one. ERR_INVALID: no such text is ever written. */
MUST_CHECK Err event_places_parse(Slice text, EventPlaces *out);
void event_places_write(Buf *out, const EventPlaces *places);

EventPlace *event_place_find(const EventPlaces *places, uint32_t node);
void event_place_add(EventPlaces *places, uint32_t node, EventCursor at);
void event_place_drop(EventPlaces *places, const EventPlace *place);
void event_places_done(EventPlaces *places);

#endif
