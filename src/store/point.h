/* SPDX-License-Identifier: Apache-2.0 */
/* point.h - how far a store has come with each node: what makes repeats harmless.
 *
 * One Point per node number: the last batch number, the read point, the largest id, and
 * every result of the last commit that was not OP_APPLIED, so that a commit whose answer
 * was lost can be asked again and gives the same one. */
#ifndef STORE_POINT_H
#define STORE_POINT_H

#include "core/batch.h"

typedef struct Point {
    uint32_t node;
    bool has_position;
    uint64_t position;
    uint64_t number;
    JobId last_id;
    Buf results; /* of the last commit, packed; fresh ones replace them at its end */
    Buf fresh;
    bool touched;  /* by the commit under way */
    bool answered; /* it has batches in the commit under way that can be repeated */
} Point;

typedef struct Points {
    Point *items; /* by node, rising */
    size_t count;
    size_t capacity;
} Points;

/* The node's point, made if there is none; valid until the next is made. */
Point *points_of(Points *points, uint32_t node);

/* The node number under which batch is remembered. */
static inline uint32_t point_node(const Batch *batch)
{
    return batch->has_read_point ? batch->read_point.node : batch->node;
}
const Point *points_find(const Points *points, uint32_t node);
void points_done(Points *points);

/* Whether batch has been committed before. */
bool point_passed(const Point *point, const Batch *batch);

/* What operation `index` of such a batch answered. */
OpResult point_result(const Point *point, const Batch *batch, size_t index);

/* Remembers a result of the commit under way. */
void point_note(Point *point, const Batch *batch, size_t index, OpResult result);

/* Moves past batch. */
void point_move(Point *point, const Batch *batch);

void point_added(Point *point, JobId id);

/* The commit is complete: its results replace those of the one before. */
void points_settle(Points *points);

#endif
