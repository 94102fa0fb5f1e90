/* SPDX-License-Identifier: Apache-2.0 */
/* points.c - see points.h. */
#include "store/postgres/points.h"

#include "core/after.h"
#include "store/postgres/unit_of_work.h"

/* --- Points
 * ------------------------------------------------------------------------------
 */

/* Makes an empty point for each node of the batches. */
static void name_nodes(Postgres *pg, const Batch *batches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Batch *batch = &batches[i];
        points_of(&pg->points, point_node(batch));
        points_of(&pg->points, batch->node);
        for (size_t k = 0; k < batch->count; k++)
            if (batch->ops[k].kind == OP_ADD)
                points_of(&pg->points, id_node(batch->ops[k].job->id));
    }
}

static void read_points(Postgres *pg, const PGresult *result)
{
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        Point *point = points_of(&pg->points, (uint32_t)field_int(result, i, 0));
        point->has_position = !field_is_null(result, i, 1);
        point->position = (uint64_t)field_int(result, i, 1);
        point->number = (uint64_t)field_int(result, i, 2);
        point->last_id = (JobId)field_int(result, i, 3);
        buf_clear(&point->results);
        buf_add_slice(&point->results, field_bytes(result, i, 4));
    }
}

static PGresult *lock_nodes(Postgres *pg, const PgArray *nodes)
{
    param_array(&pg->params, nodes);
    return link_query(&pg->link,
                      "SELECT node, position, number, last_id, results FROM pawl.point"
                      " WHERE node = ANY($1) ORDER BY node FOR UPDATE",
                      &pg->params);
}

void pgpoints_lock(Postgres *pg, const Batch *batches, size_t count)
{
    PgArray nodes = { .type = PG_INT4 };
    pg->node = count ? point_node(&batches[0]) : 0;
    name_nodes(pg, batches, count);
    for (size_t i = 0; i < pg->points.count; i++)
        array_int(&nodes, pg->points.items[i].node);
    PGresult *result = nodes.count ? lock_nodes(pg, &nodes) : NULL;
    if (result && PQntuples(result) < nodes.count) { /* one that is new here */
        PQclear(result);
        param_array(&pg->params, &nodes);
        link_run(&pg->link,
                 "INSERT INTO pawl.point(node) SELECT unnest($1) ON CONFLICT DO NOTHING",
                 &pg->params);
        result = lock_nodes(pg, &nodes);
    }
    read_points(pg, result);
    PQclear(result);
    array_done(&nodes);
}

void pgpoints_save(Postgres *pg)
{
    for (size_t i = 0; i < pg->points.count; i++) {
        const Point *point = &pg->points.items[i];
        if (!point->touched)
            continue;
        param_int(&pg->params, point->node);
        param_int(&pg->params, (int64_t)point->position);
        pg->params.items[1].null = !point->has_position;
        param_int(&pg->params, (int64_t)point->number);
        param_int(&pg->params, (int64_t)point->last_id);
        param_bytes(&pg->params,
                    buf_slice(point->answered ? &point->fresh : &point->results));
        link_later(&pg->link,
                   "UPDATE pawl.point SET position = $2, number = $3, last_id = $4,"
                   " results = $5 WHERE node = $1",
                   &pg->params);
    }
}

/* --- Jobs
 * --------------------------------------------------------------------------------
 */

typedef struct Wanted {
    Postgres *pg;
    PgArray ids;
    PgArray parents; /* of jobs that are added to wait for them */
    Points seen;     /* largest id of each node that is added here */
} Wanted;

/* One that may be there already must be looked for, and held. */
static void want_added(Wanted *wanted, JobId id)
{
    Point *seen = points_of(&wanted->seen, id_node(id));
    const Point *point = points_find(&wanted->pg->points, id_node(id));
    if (id <= seen->last_id || (point && id <= point->last_id))
        array_int(&wanted->ids, (int64_t)id);
    if (id > seen->last_id)
        seen->last_id = id;
}

static void want_parents(Wanted *wanted, Slice after)
{
    AfterItem item;
    while (after_next(&after, &item)) {
        array_int(&wanted->ids, (int64_t)item.id);
        array_int(&wanted->parents, (int64_t)item.id);
    }
}

static void want_parents_of(Wanted *wanted, const Job *job)
{
    if (job->flags & JOB_WAITS)
        want_parents(wanted, job->after);
}

static void want_lines(Wanted *wanted, const Op *op, uint32_t node)
{
    uint64_t lines = op->count ? op->count : lines_count(op->body);
    want_parents_of(wanted, op->job);
    for (uint64_t k = 0; k < lines; k++)
        want_added(wanted, id_from_count(op->first + k, (uint16_t)node));
}

static void want(Wanted *wanted, const Op *op, uint32_t node)
{
    switch (op->kind) {
    case OP_ADD:
        want_added(wanted, op->job->id);
        want_parents_of(wanted, op->job);
        return;
    case OP_ADD_LINES:
        want_lines(wanted, op, node);
        return;
    case OP_MOVE:
        if (op->fields & FIELD_WAITS)
            want_parents(wanted, op->value);
        array_int(&wanted->ids, (int64_t)op->id);
        return;
    case OP_CLAIM:
    case OP_PROGRESS:
    case OP_FINISH:
    case OP_PAUSE:
    case OP_REMOVE:
    case OP_GIVE:
        array_int(&wanted->ids, (int64_t)op->id);
        return;
    case OP_BEAT:
    case OP_PURGE:
    case OP_PUT:
    case OP_DELETE:
    case OP_NODE:
    case OP_KEY:
    case OP_MAIL:
    case OP_TAKEN:
    case OP_FENCE:
    case OP_TAKE:
    case OP_JOIN:
    case OP_DROP:
    case OP_SWEPT:
        return;
    }
}

/* Another node may end such a parent at this moment: who comes second sees the other. A
 * row that was written anew while this waited for it must be locked where it is now. */
static void lock_parents(Postgres *pg, const PgArray *parents)
{
    bool all = !parents->count;
    while (!all && !pg->link.err) {
        param_array(&pg->params, parents);
        PGresult *result = link_query(
            &pg->link,
            "SELECT count(*) = (SELECT count(*) FROM pawl.job_live WHERE id = ANY($1))"
            " FROM (SELECT id FROM pawl.job_live WHERE id = ANY($1) ORDER BY id"
            " FOR SHARE) locked",
            &pg->params);
        all = result && field_int(result, 0, 0);
        PQclear(result);
    }
}

void pgpoints_fetch(Postgres *pg, const Batch *batches, size_t count)
{
    Wanted wanted = { .pg = pg, .ids.type = PG_INT8, .parents.type = PG_INT8 };
    for (size_t i = 0; i < count; i++) {
        const Batch *batch = &batches[i];
        if (point_passed(points_of(&pg->points, point_node(batch)), batch))
            continue;
        for (size_t k = 0; k < batch->count; k++)
            want(&wanted, &batch->ops[k], batch->node);
    }
    lock_parents(pg, &wanted.parents);
    if (wanted.ids.count)
        pgheld_fetch(pg, &wanted.ids);
    array_done(&wanted.ids);
    array_done(&wanted.parents);
    points_done(&wanted.seen);
}
