/* SPDX-License-Identifier: Apache-2.0 */
/* event_listener.c - see event_listener.h. */
#include "watch/event_listener.h"

#include "watch/event_text.h"

/* The next event of one node. */
typedef struct Head {
    EventPlace *place;
    const Neighbour *peer; /* NULL: this node */
    bool there;
    bool awaited; /* what is next is not known yet */
    EventRow row;
    Slice rest;    /* of its chunk */
    uint64_t last; /* likewise */
    bool more;     /* likewise */
} Head;

typedef struct Reading {
    EventListener *listener;
    const EventSources *sources;
    Head *heads; /* one for each place */
    Buf place;   /* the listener's places as text */
    Buf *out;
} Reading;

static Slice place_text(Reading *reading)
{
    buf_clear(&reading->place);
    event_places_write(&reading->place, &reading->listener->places);
    return buf_slice(&reading->place);
}

static void tell_missed(Reading *reading)
{
    event_write_reset(reading->out, place_text(reading));
}

/* --- Who is there ---------------------------------------------------------------------
 */

static bool is_there(const EventSources *sources, const EventPlace *place)
{
    if (place->node == sources->number)
        return true;
    if (!sources->peers)
        return false;
    const Neighbour *peer = neighbour_numbered(sources->peers, place->node);
    return peer && !peer->fenced;
}

/* What a node that is gone for good had still to say will never be heard. */
static bool drop_gone(Reading *reading)
{
    EventPlaces *places = &reading->listener->places;
    bool missed = false;
    for (size_t i = 0; i < places->count;) {
        if (is_there(reading->sources, &places->list[i])) {
            i++;
            continue;
        }
        event_place_drop(places, &places->list[i]);
        missed = true;
    }
    return missed;
}

static void find_new(Reading *reading)
{
    EventPlaces *places = &reading->listener->places;
    const Neighbours *peers = reading->sources->peers;
    for (size_t i = 0; peers && i < peers->count; i++)
        if (peers->list[i].alive && !peers->list[i].fenced &&
            !event_place_find(places, peers->list[i].number))
            event_place_add(places, peers->list[i].number, (EventCursor){ 0 });
}

static void find_nodes(Reading *reading)
{
    const EventSources *sources = reading->sources;
    EventPlaces *places = &reading->listener->places;
    bool missed = drop_gone(reading);
    if (!event_place_find(places, sources->number))
        event_place_add(places, sources->number,
                        missed ? event_log_now(sources->own)
                               : event_log_first(sources->own));
    find_new(reading);
    if (missed)
        tell_missed(reading);
    reading->heads = MEM_ARRAY(Head, places->count);
    for (size_t i = 0; i < places->count; i++) {
        EventPlace *place = &places->list[i];
        bool far = place->node != sources->number;
        reading->heads[i] =
            (Head){ .place = place,
                    .peer =
                        far ? neighbour_numbered(sources->peers, place->node) : NULL };
    }
}

/* --- What they have to say ------------------------------------------------------------
 */

static void fill_own(Reading *reading, Head *head)
{
    const EventLog *log = reading->sources->own;
    EventPlace *place = head->place;
    if (!event_log_keeps(log, place->at)) {
        place->at = event_log_now(log);
        tell_missed(reading);
    }
    const EventRow *row = event_log_behind(log, place->at);
    head->there = row != NULL;
    if (row)
        head->row = *row;
    else
        place->over = !reading->listener->follow;
}

/* The next row of what is at hand. */
static bool fill_row(Reading *reading, Head *head)
{
    EventPlace *place = head->place;
    if (place->at.number >= head->last)
        return false;
    if (event_unpack(&head->rest, &head->row))
        return true;
    place->at.number = head->last; /* another version's: it cannot be read here */
    tell_missed(reading);
    return false;
}

static void take_chunk(Reading *reading, Head *head, const EventChunk *chunk)
{
    EventPlace *place = head->place;
    bool first = !place->at.epoch;
    bool goes_on = place->at.epoch == chunk->behind.epoch &&
                   place->at.number >= chunk->behind.number &&
                   place->at.number <= chunk->last;
    head->rest = chunk->rows;
    head->last = chunk->last;
    head->more = chunk->more;
    if (!goes_on)
        place->at = chunk->behind;
    if (!goes_on && !first)
        tell_missed(reading);
    for (uint64_t seen = chunk->behind.number; seen < place->at.number; seen++)
        if (!event_unpack(&head->rest, &head->row))
            return;
}

/* Its node is away, or does not answer: who follows waits for it. */
static void fill_none(Reading *reading, Head *head)
{
    head->awaited = reading->listener->follow;
    if (head->awaited)
        return;
    head->place->over = true;
    tell_missed(reading);
}

static void fill_far(Reading *reading, Head *head)
{
    const EventListener *listener = reading->listener;
    EventPlace *place = head->place;
    EventChunk chunk;
    if (!head->peer->alive) {
        fill_none(reading, head);
        return;
    }
    if (head->last && !head->more && !listener->follow) {
        place->over = true;
        return;
    }
    const EventWish wish = { .node = place->node,
                             .behind = place->at,
                             .follow = listener->follow,
                             .since_boot = listener->begun_boot };
    switch (reading->sources->hear(reading->sources->far, &wish, &chunk)) {
    case EVENTS_SILENT:
        fill_none(reading, head);
        return;
    case EVENTS_ASKED:
        head->awaited = true;
        return;
    case EVENTS_HERE:
        break;
    }
    take_chunk(reading, head, &chunk);
    head->there = fill_row(reading, head);
    place->over = !head->there && !head->more && !listener->follow;
    head->awaited = !head->there && !place->over;
}

static void fill(Reading *reading, Head *head)
{
    head->there = head->awaited = false;
    if (head->place->over)
        return;
    if (!head->peer)
        fill_own(reading, head);
    else if (fill_row(reading, head))
        head->there = true;
    else
        fill_far(reading, head);
}

/* --- One after the other --------------------------------------------------------------
 */

/* NULL: none is known. What is kept is told in the order of time, and so waits until
 * every node has been heard. */
static Head *earliest(const Reading *reading)
{
    const EventListener *listener = reading->listener;
    Head *found = NULL;
    for (size_t i = 0; i < listener->places.count; i++) {
        Head *head = &reading->heads[i];
        if (head->awaited && !listener->follow)
            return NULL;
        if (head->there && (!found || head->row.wall_ms < found->row.wall_ms))
            found = head;
    }
    return found;
}

static void tell(Reading *reading, const Head *head)
{
    const EventRow *row = &head->row;
    Slice tenant = reading->listener->tenant;
    head->place->at.number++;
    if (tenant.bytes && !slice_equal(tenant, row->tenant))
        return;
    event_write(reading->out, row,
                &(EventName){ .sysid = head->peer ? head->peer->sysid
                                                  : reading->sources->own->sysid,
                              .at = head->place->at,
                              .place = place_text(reading) });
}

static bool is_over(const EventListener *listener)
{
    for (size_t i = 0; i < listener->places.count; i++)
        if (!listener->places.list[i].over)
            return false;
    return true;
}

bool event_listener_read(EventListener *listener, const EventSources *sources, Buf *out)
{
    Reading reading = { .listener = listener, .sources = sources, .out = out };
    Head *head;
    find_nodes(&reading);
    for (size_t i = 0; i < listener->places.count; i++)
        fill(&reading, &reading.heads[i]);
    for (size_t i = 0; i < EVENT_READ_MAX && (head = earliest(&reading)) != NULL; i++) {
        tell(&reading, head);
        fill(&reading, head);
    }
    mem_free(reading.heads);
    buf_done(&reading.place);
    return !is_over(listener);
}

void event_listener_done(EventListener *listener)
{
    event_places_done(&listener->places);
}
