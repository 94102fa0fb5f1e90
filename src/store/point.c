/* SPDX-License-Identifier: Apache-2.0 */
/* point.c - see point.h. */
#include "store/point.h"

#include "base/pack.h"

enum { TAG_RESULT = 1 };
enum { TAG_NUMBER = 1, TAG_POSITION = 2, TAG_INDEX = 3, TAG_VALUE = 4 };

static size_t place_of(const Points *points, uint32_t node)
{
    size_t at = 0;
    while (at < points->count && points->items[at].node < node)
        at++;
    return at;
}

const Point *points_find(const Points *points, uint32_t node)
{
    size_t at = place_of(points, node);
    bool found = at < points->count && points->items[at].node == node;
    return found ? &points->items[at] : NULL;
}

Point *points_of(Points *points, uint32_t node)
{
    size_t at = place_of(points, node);
    if (at < points->count && points->items[at].node == node)
        return &points->items[at];
    mem_room((void **)&points->items, points->count, &points->capacity,
             sizeof *points->items);
    memmove(&points->items[at + 1], &points->items[at],
            (points->count++ - at) * sizeof *points->items);
    points->items[at] = (Point){ .node = node };
    return &points->items[at];
}

void points_done(Points *points)
{
    for (size_t i = 0; i < points->count; i++) {
        buf_done(&points->items[i].results);
        buf_done(&points->items[i].fresh);
    }
    mem_free(points->items);
    *points = (Points){ 0 };
}

bool point_passed(const Point *point, const Batch *batch)
{
    if (batch->has_read_point)
        return point->has_position && batch->read_point.position <= point->position;
    return batch->number && batch->number <= point->number;
}

typedef struct Noted {
    uint64_t number;
    uint64_t position;
    uint64_t index;
    OpResult result;
} Noted;

static Noted noted(Slice packed)
{
    Noted note = { 0 };
    PackField in;
    while (pack_next(&packed, &in)) {
        if (in.tag == TAG_NUMBER)
            note.number = (uint64_t)in.number;
        if (in.tag == TAG_POSITION)
            note.position = (uint64_t)in.number;
        if (in.tag == TAG_INDEX)
            note.index = (uint64_t)in.number;
        if (in.tag == TAG_VALUE)
            note.result = (OpResult)in.number;
    }
    return note;
}

OpResult point_result(const Point *point, const Batch *batch, size_t index)
{
    Slice rest = buf_slice(&point->results);
    PackField in;
    while (pack_next(&rest, &in)) {
        Noted note = noted(in.bytes);
        bool same = batch->has_read_point ? note.position == batch->read_point.position
                                          : note.number == batch->number;
        if (same && note.index == index)
            return note.result;
    }
    return OP_APPLIED;
}

void point_note(Point *point, const Batch *batch, size_t index, OpResult result)
{
    if (result == OP_APPLIED || (!batch->number && !batch->has_read_point))
        return;
    size_t begun = pack_begin(&point->fresh, TAG_RESULT);
    pack_int(&point->fresh, TAG_NUMBER, (int64_t)batch->number);
    if (batch->has_read_point)
        pack_int(&point->fresh, TAG_POSITION, (int64_t)batch->read_point.position);
    pack_int(&point->fresh, TAG_INDEX, (int64_t)index);
    pack_int(&point->fresh, TAG_VALUE, (int64_t)result);
    pack_end(&point->fresh, begun);
}

void point_move(Point *point, const Batch *batch)
{
    if (!batch->number && !batch->has_read_point)
        return;
    point->touched = true;
    point->answered = true;
    if (batch->number > point->number)
        point->number = batch->number;
    if (!batch->has_read_point || point_passed(point, batch))
        return;
    point->has_position = true;
    point->position = batch->read_point.position;
}

void point_added(Point *point, JobId id)
{
    if (id <= point->last_id)
        return;
    point->last_id = id;
    point->touched = true;
}

void points_settle(Points *points)
{
    for (size_t i = 0; i < points->count; i++) {
        Point *point = &points->items[i];
        point->touched = false;
        if (!point->answered)
            continue;
        point->answered = false;
        Buf old = point->results;
        point->results = point->fresh;
        point->fresh = old;
        buf_clear(&point->fresh);
    }
}
