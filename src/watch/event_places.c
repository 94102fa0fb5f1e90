/* SPDX-License-Identifier: Apache-2.0 */
/* event_places.c - see event_places.h. */
#include "watch/event_places.h"

#include "base/text.h"

static Err parse_place(Slice text, EventPlace *out)
{
    int64_t node = 0;
    int64_t epoch;
    int64_t number;
    Slice rest = text;
    Slice first = slice_cut(&rest, ':');
    if (rest.data && (int_parse(first, &node) || node <= 0 || node > ID_NODE_MAX))
        return ERR_INVALID;
    rest = rest.data ? rest : text;
    first = slice_cut(&rest, '-');
    if (int_parse(first, &epoch) || int_parse(rest, &number) || epoch < 0 || number < 0)
        return ERR_INVALID;
    *out = (EventPlace){ .node = (uint32_t)node,
                         .at = { (uint64_t)epoch, (uint64_t)number } };
    return ERR_OK;
}

Err event_places_parse(Slice text, EventPlaces *out)
{
    EventPlaces places = { 0 };
    do {
        EventPlace place;
        if (parse_place(slice_cut(&text, ','), &place) ||
            event_place_find(&places, place.node)) {
            event_places_done(&places);
            return ERR_INVALID;
        }
        event_place_add(&places, place.node, place.at);
    } while (text.data);
    *out = places;
    return ERR_OK;
}

void event_places_write(Buf *out, const EventPlaces *places)
{
    for (size_t i = 0; i < places->count; i++) {
        const EventPlace *place = &places->list[i];
        if (i)
            buf_add_char(out, ',');
        if (place->node) {
            buf_add_int(out, place->node);
            buf_add_char(out, ':');
        }
        buf_add_int(out, (int64_t)place->at.epoch);
        buf_add_char(out, '-');
        buf_add_int(out, (int64_t)place->at.number);
    }
}

EventPlace *event_place_find(const EventPlaces *places, uint32_t node)
{
    for (size_t i = 0; i < places->count; i++)
        if (places->list[i].node == node)
            return &places->list[i];
    return NULL;
}

void event_place_add(EventPlaces *places, uint32_t node, EventCursor at)
{
    const EventPlace place = { .node = node, .at = at };
    MEM_PUSH(places->list, places->count, places->capacity) = place;
}

void event_place_drop(EventPlaces *places, const EventPlace *place)
{
    size_t index = (size_t)(place - places->list);
    places->count--;
    memmove(&places->list[index], &places->list[index + 1],
            (places->count - index) * sizeof *places->list);
}

void event_places_done(EventPlaces *places)
{
    mem_free(places->list);
    *places = (EventPlaces){ 0 };
}
