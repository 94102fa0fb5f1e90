/* SPDX-License-Identifier: Apache-2.0 */
/* commit.c - see commit.h. */
#include "store/postgres/commit.h"

#include "base/rng.h"
#include "core/resource.h"
#include "core/share/peer.h"
#include "store/postgres/booking.h"
#include "store/postgres/cluster.h"
#include "store/postgres/partitions.h"
#include "store/postgres/points.h"
#include "store/postgres/relations.h"
#include "store/postgres/rollup.h"
#include "store/postgres/unit_of_work.h"
#include "store/states_sql.h"

#include <time.h>

#define TRIES_MAX   6
#define TRY_WAIT_MS 20 /* doubling, and up to as much again by luck */
#define MS_PER_NS   1000000

/* A key whose result is known at the end of the commit. */
typedef struct PgKeyOp {
    OpResult *result; /* NULL: no one asked */
    const Batch *batch;
    size_t index;
} PgKeyOp;

/* --- Adding
 * ------------------------------------------------------------------------------
 */

/* Ids of a node rise, so only one at or below the largest can be there already. */
static bool exists(Postgres *pg, JobId id)
{
    Point *point = points_of(&pg->points, id_node(id));
    if (id > point->last_id) {
        point_added(point, id);
        return false;
    }
    return pgheld_there(pg, id);
}

static bool is_linked(const Job *job)
{
    return (job->flags & (JOB_LINKED | JOB_MERGES)) != 0;
}

static OpResult add_job(Postgres *pg, const Job *job)
{
    if (exists(pg, job->id))
        return OP_EXISTS;
    if (pgheld_asked(pg, job->id) || is_linked(job))
        pgheld_add(pg, job);
    else
        pgheld_write(pg, job);
    rollups_add(&pg->rollups, job, 1);
    pglinks_added(pg, job);
    return OP_APPLIED;
}

static OpResult add_lines(Postgres *pg, const Op *op, uint32_t node)
{
    uint64_t lines = op->count ? op->count : lines_count(op->body);
    bool linked = is_linked(op->job);
    Job first = row_line(op, node, 0, (Slice){ NULL, 0 });
    PgPattern pattern = pgheld_pattern(pg, &first);
    Slice rest = op->body;
    Slice line;
    uint64_t added = 0;
    uint64_t k = 0;
    for (; k < lines && lines_next(&rest, &line); k++) {
        JobId id = id_from_count(op->first + k, (uint16_t)node);
        if (exists(pg, id))
            continue;
        if (linked || pgheld_asked(pg, id)) {
            Job job = row_line(op, node, k, line);
            pgheld_add(pg, &job);
            pglinks_added(pg, &job);
        } else {
            pgheld_line(pg, &pattern, id, line);
        }
        added++;
    }
    if (added)
        rollups_add(&pg->rollups, op->job, added);
    return k && !added ? OP_EXISTS : OP_APPLIED;
}

/* --- One job
 * -----------------------------------------------------------------------------
 */

#define FIELDS_IN_SPEC                                                                   \
    (FIELD_PAYLOAD | FIELD_TAGS | FIELD_MAX_RUN | FIELD_RETRY | FIELD_RUN_AT |           \
     FIELD_HANDLER | FIELD_FREED) /* or beside it */

static OpResult guard(Postgres *pg, const Op *op, const PgHeld *held, uint32_t node)
{
    OpResult result = OP_APPLIED;
    if (pgcluster_joined(pg, node))
        result = cluster_guard(op, node, &held->saved.row.job);
    return result == OP_APPLIED ? row_guard(&held->saved.row, op) : result;
}

static OpResult change_job(Postgres *pg, const Op *op, uint32_t node)
{
    PgHeld *held = pgheld_find(pg, op->id);
    if (!held)
        return OP_MISSING;
    Row *row = &held->saved.row;
    OpResult result = guard(pg, op, held, node);
    if (result != OP_APPLIED)
        return result;
    if (op->kind == OP_REMOVE) {
        pglinks_removed(pg, held);
        pgheld_remove(pg, held);
        return OP_APPLIED;
    }
    if (op->kind == OP_CLAIM) { /* the version stands among the packed fields */
        pgrow_open(&held->saved, &pg->link);
        held->rewrite = held->rewrite || row->job.version != op->version;
    }
    if (row_forgets(row, op))
        pgheld_keep_attempt(pg, held);
    if (op->kind == OP_CLAIM && op->bookings.bytes)
        pgheld_book(pg, held, op);
    if (op->kind == OP_FINISH)
        pgheld_result(held, op->result);
    bool opens_window = op->kind == OP_FINISH && op->window_from_ms;
    if ((op->kind == OP_MOVE && (op->fields & FIELDS_IN_SPEC)) || opens_window) {
        pgrow_open(&held->saved, &pg->link);
        held->rewrite = true;
    }
    rollups_change(&pg->rollups, row, op);
    const Job was = { .state = row->job.state, .flags = row->job.flags };
    row_change(row, op);
    if (pgcluster_joined(pg, node))
        cluster_claim_final(op, node, was.state, &row->job);
    if (op->kind == OP_MOVE && (op->fields & FIELD_PAYLOAD))
        pgheld_payload(held, op->payload);
    held->changed = true;
    pglinks_changed(pg, held, op, &was);
    return OP_APPLIED;
}

/* --- Sets
 * --------------------------------------------------------------------------------
 */

/* Held jobs in memory, all others where they are; those of both kinds are written again
 * at the end. */
static void beat(Postgres *pg, const Op *op)
{
    uint32_t owner = op->lock.bytes ? names_find(&pg->catalog.names, op->lock) : 0;
    if (!op->lock.bytes)
        return;
    for (size_t i = 0; i < pg->held.count; i++) {
        PgHeld *held = pg->held.items[i];
        Job *job = &held->saved.row.job;
        if (held->gone || !state_in(job->state, STATES_OWNED) ||
            (job->flags & JOB_PULL) || !slice_equal(job->lock, op->lock))
            continue;
        job->dt_ms = op->dt_ms;
        job->beat_ms = op->at_ms;
        held->changed = true;
    }
    if (!owner)
        return;
    pgknown_distrust(&pg->known); /* rows change without coming here */
    param_int(&pg->params, owner);
    param_int(&pg->params, op->dt_ms);
    param_int_or_null(&pg->params, op->at_ms, 0);
    link_run(&pg->link,
             "UPDATE pawl.job_live j SET dt = $2, beat = $3"
             " FROM (SELECT DISTINCT owner FROM pawl.lane) o"
             " WHERE j.owner = o.owner AND j.state <> " READY " AND j.state " IN_OWNED
             " AND j.lock = $1 AND coalesce(j.flags, 0) & " PULL " = 0",
             &pg->params);
}

/* Both families, the oldest first whichever it is from. */
static void purge(Postgres *pg, const Op *op)
{
    pgheld_flush(pg);
    JobStates states = (op->from ? op->from : STATES_FINAL) & STATES_FINAL;
    param_int(&pg->params, op->dt_ms + MS_PER_1000_YEARS);
    param_int(&pg->params, states);
    param_int(&pg->params, (int64_t)op->count);
    PGresult *result = link_query(
        &pg->link,
        "SELECT id FROM ((SELECT id, dt FROM pawl.job_done WHERE dt < $1"
        " AND (1::int8 << state::int4) & $2 <> 0 ORDER BY dt, id LIMIT $3) UNION ALL"
        " (SELECT id, dt FROM pawl.job_dead WHERE dt < $1"
        " AND (1::int8 << state::int4) & $2 <> 0 ORDER BY dt, id LIMIT $3)) old"
        " ORDER BY dt, id LIMIT $3",
        &pg->params);
    int rows = pgheld_fetch_rows(pg, result);
    for (int i = 0; i < rows; i++) {
        PgHeld *held = pgheld_find(pg, (JobId)field_int(result, i, 0));
        if (!held)
            continue;
        pglinks_removed(pg, held);
        pgheld_remove(pg, held);
    }
    PQclear(result);
}

/* --- Small tables
 * ------------------------------------------------------------------------
 */

static OpResult define(Postgres *pg, const Op *op, uint32_t node)
{
    bool put = op->kind == OP_PUT;
    if (slice_is(op->table, HOME_TABLE) && !pgcluster_home_free(pg, op, node))
        return OP_LOST;
    param_bytes(&pg->params, op->table);
    param_bytes(&pg->params, op->tenant);
    param_bytes(&pg->params, op->key);
    if (put)
        param_bytes(&pg->params, op->value);
    int64_t changes =
        link_run(&pg->link,
                 put ? "INSERT INTO pawl.definition(kind, tenant, key, value)"
                       " VALUES ($1, $2, $3, $4) ON CONFLICT (kind, tenant, key)"
                       " DO UPDATE SET value = excluded.value"
                     : "DELETE FROM pawl.definition"
                       " WHERE kind = $1 AND tenant = $2 AND key = $3",
                 &pg->params);
    if (slice_is(op->table, RESOURCE_TABLE))
        pgbooking_items(pg, op->key, put ? op->value : (Slice){ NULL, 0 });
    if ((put || changes) && cluster_tells(op->table))
        pgcluster_defined(pg, op, node);
    return put || changes ? OP_APPLIED : OP_MISSING;
}

static void put_node(Postgres *pg, const Op *op)
{
    param_bytes(&pg->params, op->lock);
    param_int_or_null(&pg->params, op->at_ms, 0);
    param_bytes(&pg->params, op->value);
    link_later(&pg->link,
               "INSERT INTO pawl.node(sysid, beat, facts) VALUES ($1, $2, $3)"
               " ON CONFLICT (sysid) DO UPDATE SET beat = excluded.beat,"
               " facts = excluded.facts",
               &pg->params);
}

static void add_key(Postgres *pg, const Op *op)
{
    PgArray *columns = pg->keys.columns;
    array_bytes(&columns[0], op->tenant);
    array_bytes(&columns[1], op->key);
    array_int(&columns[2], op->at_ms);
    array_int(&columns[3], op->dt_ms);
    array_bytes(&columns[4], op->value);
}

static void forget_keys(Postgres *pg)
{
    static const PgType types[5] = { PG_BYTEA, PG_BYTEA, PG_INT8, PG_INT8, PG_BYTEA };
    for (size_t i = 0; i < 5; i++) {
        array_clear(&pg->keys.columns[i]);
        pg->keys.columns[i].type = types[i];
    }
    pg->keys.count = 0;
}

/* All keys of the commit in one step; then their results are known. */
static void send_keys(Postgres *pg)
{
    if (!pg->keys.count)
        return;
    for (size_t i = 0; i < 5; i++)
        param_array(&pg->params, &pg->keys.columns[i]);
    PGresult *result = link_query(
        &pg->link, "SELECT unnest(pawl.keys_add($1, $2, $3, $4, $5))", &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows && (size_t)i < pg->keys.count; i++) {
        const PgKeyOp *key = &pg->keys.ops[i];
        OpResult said = field_int(result, i, 0) ? OP_APPLIED : OP_EXISTS;
        point_note(points_of(&pg->points, point_node(key->batch)), key->batch, key->index,
                   said);
        if (key->result)
            *key->result = said;
    }
    PQclear(result);
    forget_keys(pg);
}

/* --- Batches
 * -----------------------------------------------------------------------------
 */

static OpResult apply(Postgres *pg, const Op *op, uint32_t node)
{
    if (pgcluster_fenced(pg, node) && !cluster_outlives_fence(op))
        return OP_LOST;
    switch (op->kind) {
    case OP_ADD:
        return add_job(pg, op->job);
    case OP_ADD_LINES:
        return add_lines(pg, op, node);
    case OP_CLAIM:
    case OP_PROGRESS:
    case OP_FINISH:
    case OP_MOVE:
    case OP_PAUSE:
    case OP_REMOVE:
    case OP_GIVE:
        return change_job(pg, op, node);
    case OP_BEAT:
        beat(pg, op);
        return OP_APPLIED;
    case OP_PURGE:
        purge(pg, op);
        return OP_APPLIED;
    case OP_PUT:
    case OP_DELETE:
        return define(pg, op, node);
    case OP_NODE:
        put_node(pg, op);
        return OP_APPLIED;
    case OP_KEY:
        add_key(pg, op);
        return OP_APPLIED; /* for now: see send_keys */
    case OP_MAIL:
    case OP_TAKEN:
    case OP_FENCE:
    case OP_TAKE:
    case OP_JOIN:
        return pgcluster_op(pg, op, node);
    case OP_DROP: /* behind the commit: see pgparts_tend */
        pg->drop_due_ms[op->from & STATE_BIT(JOB_DONE) ? PLACE_DONE : PLACE_DEAD] =
            op->dt_ms;
        return OP_APPLIED;
    case OP_SWEPT:
        pgparts_sweep(pg, op);
        pg->swept = true;
        return OP_APPLIED;
    }
    return OP_CONFLICT;
}

static void apply_batch(Postgres *pg, const Batch *batch, OpResult *out_results)
{
    uint32_t node = point_node(batch);
    bool passed = point_passed(points_of(&pg->points, node), batch);
    for (size_t i = 0; i < batch->count; i++) {
        const Op *op = &batch->ops[i];
        OpResult result = passed ? point_result(points_of(&pg->points, node), batch, i)
                                 : apply(pg, op, batch->node);
        if (!passed && op->kind == OP_KEY && result == OP_APPLIED) {
            PgKeyOp key = { out_results ? &out_results[i] : NULL, batch, i };
            MEM_PUSH(pg->keys.ops, pg->keys.count, pg->keys.capacity) = key;
        }
        point_note(points_of(&pg->points, node), batch, i, result);
        if (out_results)
            out_results[i] = result;
    }
    point_move(points_of(&pg->points, node), batch);
}

static void forget(Postgres *pg)
{
    pgheld_forget(pg);
    pglinks_forget(pg);
    forget_keys(pg);
    pgcluster_reset(pg);
    rollups_clear(&pg->rollups);
    points_done(&pg->points);
    memset(pg->drop_due_ms, 0, sizeof pg->drop_due_ms);
    pg->swept = false;
}

/* A standby that was promoted may not have got the last commits: what stands in between
 * must be told again, from its read point on, before anything newer. */
static void refuse_gap(Postgres *pg, const Batch *batches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ReadPoint *point = &batches[i].read_point;
        if (batches[i].has_read_point && point->node == pg->seen.node &&
            points_of(&pg->points, point->node)->position < pg->seen.position)
            link_fail(&pg->link, ERR_CONFLICT, PG_WENT_BACK);
    }
}

static void snapshot_writer_point(Postgres *pg, const Batch *batches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (batches[i].has_read_point)
            pg->seen = batches[i].read_point;
}

/* What the handle knows of rows counts for a node that has joined and is not fenced. */
static void trust_known(Postgres *pg)
{
    PgKnownWhile now = { .connects = pg->link.connects };
    if (!pg->link.err && pgcluster_joined(pg, pg->node) &&
        !pgcluster_fenced(pg, pg->node)) {
        now.node = pg->node;
        now.epoch = pg->lease.epoch;
    }
    pgknown_begin(&pg->known, &now);
}

static Err try_commit(Postgres *pg, const Batch *batches, size_t count,
                      OpResult *out_results, Error *why)
{
    forget(pg);
    link_begin(&pg->link, LINK_WRITE);
    if (pg->stale)
        pgcatalog_drop(&pg->catalog);
    pgcatalog_refresh(&pg->catalog);
    pgpoints_lock(pg, batches, count);
    if (!pg->link.err)
        refuse_gap(pg, batches, count);
    trust_known(pg);
    pgpoints_fetch(pg, batches, count);
    for (size_t i = 0; i < count && !pg->link.err; i++) {
        apply_batch(pg, &batches[i], out_results);
        if (out_results)
            out_results += batches[i].count;
    }
    pgheld_flush(pg);
    pglinks_send(pg);
    send_keys(pg);
    pgrollups_save(pg);
    pgcatalog_save(&pg->catalog, pg->node);
    pgpoints_save(pg);
    pgcluster_notify(pg);
    Err err = link_end(&pg->link, "commit", why);
    pg->stale = err != ERR_OK;
    if (err) {
        pg->folded_hour = 0; /* that was undone, too */
        pgknown_drop(&pg->known);
    } else {
        snapshot_writer_point(pg, batches, count);
        pg->agreed = pg->link.connects;
        pgknown_end(&pg->known);
    }
    return err;
}

/* Whether committing again gives the same result, however it went. */
static bool repeatable(const Batch *batches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!batches[i].number && !batches[i].has_read_point)
            return false;
    return true;
}

static void wait_by_luck(Postgres *pg, unsigned tries)
{
    Rng rng = { pg->luck };
    int64_t most_ms = (int64_t)TRY_WAIT_MS << tries;
    int64_t wait_ms = most_ms / 2 + (int64_t)rng_below(&rng, (uint64_t)most_ms);
    pg->luck = rng.state;
    struct timespec pause = { .tv_sec = wait_ms / 1000,
                              .tv_nsec = wait_ms % 1000 * MS_PER_NS };
    nanosleep(&pause, NULL);
}

Err postgres_commit(Store *store, const Batch *batches, size_t count,
                    OpResult *out_results, Error *why)
{
    Postgres *pg = postgres_of(store);
    if (pg->read_only)
        return error_set(why, ERR_DENIED,
                         "store: this handle was opened to be read only");
    Err err = ERR_OK;
    for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
        err = try_commit(pg, batches, count, out_results, why);
        bool doubt = err == ERR_BUSY && strcmp(pg->link.failure, PG_DOUBT) == 0;
        bool again = err && (doubt || link_may_repeat(&pg->link)) &&
                     (!pg->link.committing || repeatable(batches, count));
        if (!again)
            break;
        wait_by_luck(pg, tries);
    }
    if (!err)
        pgparts_tend(pg);
    forget(pg);
    return err == ERR_BUSY ? error_set(why, ERR_UNAVAILABLE, "%s", why ? why->text : "")
                           : err;
}

void postgres_commit_done(Postgres *pg)
{
    forget(pg);
    pgknown_drop(&pg->known);
    pgheld_done(pg);
    pglinks_done(pg);
    for (size_t i = 0; i < 5; i++)
        array_done(&pg->keys.columns[i]);
    mem_free(pg->keys.ops);
    rollups_done(&pg->rollups);
}
