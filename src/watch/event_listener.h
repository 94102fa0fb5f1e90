/* SPDX-License-Identifier: Apache-2.0 */
/* event_listener.h - who listens to events, and what it is told next: the events of this
 * node and, on a shared store, of all others, merged.
 *
 * The events of one node come in its order, each once. Between nodes those that are known
 * are sorted by their time; who follows does not wait for what another node may still
 * have to say. A node that joins is heard from its first event on. When something was
 * missed (more happened than a node keeps, its daemon began anew, it was lost) the
 * listener is told by one event `reset`. Loop thread. */
#ifndef WATCH_EVENT_LISTENER_H
#define WATCH_EVENT_LISTENER_H

#include "cluster/neighbours.h"
#include "watch/event_places.h"

#define EVENT_READ_MAX   1000 /* looked at in one turn */
#define EVENT_EPOCH_LOST 1    /* of a place: no one knows what was before */

/* Events of another node, in a row. */
typedef struct EventChunk {
    EventCursor behind; /* the first of them comes behind this one */
    uint64_t last;      /* number of the last; behind.number: there is none */
    bool more;          /* there are more, or may be by now */
    Slice rows;         /* packed; valid in this turn */
} EventChunk;

typedef struct EventWish {
    uint32_t node;
    EventCursor behind;
    bool follow;        /* can wait until something happens */
    int64_t since_boot; /* what had not happened then need not be told */
} EventWish;

typedef enum EventHeard {
    EVENTS_HERE,
    EVENTS_ASKED,  /* look again later */
    EVENTS_SILENT, /* the node does not answer */
} EventHeard;

typedef struct EventSources {
    const EventLog *own;
    uint32_t number;         /* of this node; 0: it is alone */
    const Neighbours *peers; /* NULL: likewise */
    EventHeard (*hear)(void *far, const EventWish *wish, EventChunk *out);
    void *far;
} EventSources;

typedef struct EventListener {
    Slice tenant; /* empty: all */
    bool follow;
    int64_t begun_boot;
    EventPlaces places; /* its maker fills them in */
} EventListener;

/* Appends what is next, and goes on. False: that was all, and it does not follow. */
bool event_listener_read(EventListener *listener, const EventSources *sources, Buf *out);
void event_listener_done(EventListener *listener);

#endif
