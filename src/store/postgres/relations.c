/* SPDX-License-Identifier: Apache-2.0 */
/* relations.c - see relations.h. */
#include "store/postgres/relations.h"

#include "core/unique.h"
#include "store/memory/sorted_map.h"

#include <stdlib.h>

/* Words of pawl.waits_change and pawl.uniques_change. */
enum { WAIT_ADD = 1, WAIT_ENDED, WAIT_ENDED_IF, WAIT_REOPENED, WAIT_SETTLE, WAIT_FREE };
enum { KEY_TAKE = 1, KEY_REMOVE, KEY_RELEASE, KEY_EXPIRE, KEY_TAKE_OVER };

typedef struct PgGroup {
    Slice tenant;
    Slice name;
    JobState state;
    int64_t change;
} PgGroup;

/* --- Who waits for whom
 * ------------------------------------------------------------------
 */

bool pglinks_any(Postgres *pg)
{
    PGresult *result = link_query(
        &pg->link, "SELECT 1 FROM pawl.job_wait WHERE parent >= 0 LIMIT 1", &pg->params);
    bool any = result && PQntuples(result) > 0;
    PQclear(result);
    return any;
}

static void wait_change(Postgres *pg, int kind, JobId parent, JobId child, int32_t what)
{
    PgArray *waits = pg->links.waits;
    array_int(&waits[0], kind);
    array_int(&waits[1], (int64_t)parent);
    array_int(&waits[2], (int64_t)child);
    array_int(&waits[3], what);
}

static void ended(Postgres *pg, JobId parent, JobState state)
{
    wait_change(pg, WAIT_ENDED_IF, parent, 0, (int32_t)state);
}

static void add_broken(Postgres *pg, JobId child, Slice list)
{
    AfterItem item;
    while (after_next(&list, &item))
        wait_change(pg, WAIT_ADD, after_broke(item.id), child, AFTER_BROKE);
    pg->links.adds_waits = true;
}

/* It is not over any more: no one may go by its end; whoever was cancelled because of it
 * is to be looked at. */
static void reopened(Postgres *pg, JobId id)
{
    wait_change(pg, WAIT_REOPENED, id, 0, 0);
    wait_change(pg, WAIT_ENDED_IF, after_broke(id), 0, STATE_REOPENED);
    pg->links.adds_waits = true;
}

/* `fields`: of the move that makes it wait; 0: it is new. */
static void add_waits(Postgres *pg, const Job *job, uint32_t fields)
{
    Slice rest = job->after;
    AfterItem item;
    while (after_next(&rest, &item)) {
        const PgHeld *parent = pgheld_find(pg, item.id);
        int32_t state = STATE_GONE;
        if (parent)
            state = (int32_t)parent->saved.row.job.state;
        if (parent && !slice_equal(parent->saved.row.job.tenant, job->tenant)) {
            item.id |= AFTER_FOREIGN;
            state = STATE_GONE;
        }
        bool over;
        item = after_begin(item, state, fields, job->attempt > 0, &over);
        wait_change(pg, WAIT_ADD, item.id, job->id, (int32_t)item.on);
        if (over)
            wait_change(pg, WAIT_ENDED, item.id, 0, state);
    }
    pg->links.adds_waits = true;
}

static void settle(Postgres *pg, JobId child, const Slice *list)
{
    if (!list) {
        wait_change(pg, WAIT_FREE, 0, child, 0);
        return;
    }
    Slice rest = *list;
    AfterItem item;
    while (after_next(&rest, &item))
        wait_change(pg, WAIT_SETTLE, item.id, child, 0);
}

AfterCount pglinks_after(Postgres *pg, JobId child, Arena *arena)
{
    AfterTally tally = { 0 };
    param_int(&pg->params, (int64_t)child);
    PGresult *result = link_query(
        &pg->link,
        "SELECT w.parent, w.cond, e.parent IS NOT NULL, e.state FROM pawl.job_wait w"
        " LEFT JOIN pawl.job_ended e ON e.parent = w.parent WHERE w.child = $1"
        " ORDER BY w.parent",
        &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        AfterRow row = { .parent = (JobId)field_int(result, i, 0),
                         .cond = (int32_t)field_int(result, i, 1),
                         .ended = field_int(result, i, 2) != 0,
                         .state = (int32_t)field_int(result, i, 3) };
        after_tally(&tally, &row);
    }
    PQclear(result);
    return after_tallied(&tally, arena);
}

/* --- Groups
 * ------------------------------------------------------------------------------
 */

static void count_group(Postgres *pg, const Job *job, JobState state, int64_t change)
{
    PgLinks *links = &pg->links;
    for (size_t i = 0; i < links->group_count; i++) {
        PgGroup *group = &links->groups[i];
        if (group->state == state && slice_equal(group->tenant, job->tenant) &&
            slice_equal(group->name, job->group)) {
            group->change += change;
            return;
        }
    }
    PgGroup group = { .tenant = slice_copy(&links->arena, job->tenant),
                      .name = slice_copy(&links->arena, job->group),
                      .state = state,
                      .change = change };
    MEM_PUSH(links->groups, links->group_count, links->group_capacity) = group;
}

static int group_order(const void *a, const void *b)
{
    const PgGroup *first = a;
    const PgGroup *second = b;
    int order = bytes_order(first->tenant, second->tenant);
    if (!order)
        order = bytes_order(first->name, second->name);
    return order ? order : (int)first->state - (int)second->state;
}

/* In the order of their keys, so that nodes do not wait for each other crosswise. */
static void send_groups(Postgres *pg)
{
    PgLinks *links = &pg->links;
    PgArray columns[] = { { .type = PG_BYTEA },
                          { .type = PG_BYTEA },
                          { .type = PG_INT4 },
                          { .type = PG_INT8 } };
    if (links->group_count)
        qsort(links->groups, links->group_count, sizeof *links->groups, group_order);
    for (size_t i = 0; i < links->group_count; i++) {
        const PgGroup *group = &links->groups[i];
        if (!group->change)
            continue;
        array_bytes(&columns[0], group->tenant);
        array_bytes(&columns[1], group->name);
        array_int(&columns[2], group->state);
        array_int(&columns[3], group->change);
    }
    if (columns[0].count) {
        for (size_t i = 0; i < 4; i++)
            param_array(&pg->params, &columns[i]);
        link_later(&pg->link,
                   "INSERT INTO pawl.job_group AS g (tenant, name, state, count)"
                   " SELECT * FROM unnest($1, $2, $3, $4)"
                   " ON CONFLICT (tenant, name, state) DO UPDATE"
                   " SET count = g.count + excluded.count",
                   &pg->params);
        for (size_t i = 0; i < 3; i++)
            param_array(&pg->params, &columns[i]);
        link_later(&pg->link,
                   "DELETE FROM pawl.job_group g USING unnest($1, $2, $3) AS u(t, n, s)"
                   " WHERE g.tenant = u.t AND g.name = u.n AND g.state = u.s"
                   " AND g.count = 0",
                   &pg->params);
    }
    for (size_t i = 0; i < 4; i++)
        array_done(&columns[i]);
}

Err postgres_groups(Store *store, const GroupCount *one, GroupSink *sink, void *context,
                    Error *why)
{
    Postgres *pg = postgres_of(store);
    postgres_begin_read(pg);
    if (one) {
        param_bytes(&pg->params, one->tenant);
        param_bytes(&pg->params, one->name);
    }
    PGresult *result =
        link_query(&pg->link,
                   one ? "SELECT tenant, name, state, count FROM pawl.job_group"
                         " WHERE tenant = $1 AND name = $2 ORDER BY state"
                       : "SELECT tenant, name, state, count FROM pawl.job_group"
                         " ORDER BY tenant, name, state",
                   &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        GroupCount count = { .tenant = field_bytes(result, i, 0),
                             .name = field_bytes(result, i, 1),
                             .state = (JobState)field_int(result, i, 2),
                             .count = (uint64_t)field_int(result, i, 3) };
        sink(context, &count);
    }
    PQclear(result);
    return postgres_end_read(pg, "read groups", why);
}

/* --- Unique keys ---------------------------------------------------------------------
 */

static void unique_change(Postgres *pg, int kind, const Job *job, Slice key,
                          int64_t time_ms)
{
    PgArray *uniques = pg->links.uniques;
    array_int(&uniques[0], kind);
    array_bytes(&uniques[1], job->tenant);
    array_bytes(&uniques[2], key);
    array_int(&uniques[3], (int64_t)job->id);
    if (time_ms)
        array_int(&uniques[4], time_ms);
    else
        array_null(&uniques[4]);
    array_int(&uniques[5], job->created_ms);
}

static void change_key(Postgres *pg, const Job *job, UniqueKind which, int kind)
{
    Buf key = { 0 };
    if (unique_key(job, which, &key))
        unique_change(pg, kind, job, buf_slice(&key), 0);
    buf_done(&key);
}

static void take_key(Postgres *pg, const Job *job, UniqueKind which)
{
    Buf key = { 0 };
    if (unique_key(job, which, &key)) {
        int kind = unique_replaces(job, which) ? KEY_TAKE_OVER : KEY_TAKE;
        unique_change(pg, kind, job, buf_slice(&key), unique_until(job, which));
    }
    buf_done(&key);
}

static void take_keys(Postgres *pg, const Job *job)
{
    for (unsigned kind = 0; kind < UNIQUE_KINDS; kind++)
        take_key(pg, job, (UniqueKind)kind);
    if (job->unique.bytes || job->request.bytes)
        unique_change(pg, KEY_EXPIRE, job, (Slice){ NULL, 0 }, job->created_ms);
}

JobId pglinks_holder(Postgres *pg, Slice tenant, Slice key, int64_t wall_ms)
{
    param_bytes(&pg->params, tenant);
    param_bytes(&pg->params, key);
    param_int(&pg->params, wall_ms);
    PGresult *result = link_query(&pg->link,
                                  "SELECT job FROM pawl.job_unique WHERE tenant = $1"
                                  " AND key = $2 AND (until IS NULL OR until > $3)",
                                  &pg->params);
    JobId id = 0;
    if (result && PQntuples(result))
        id = (JobId)field_int(result, 0, 0);
    PQclear(result);
    return id;
}

/* --- Jobs that come, change and go -----------------------------------------------------
 */

void pglinks_added(Postgres *pg, const Job *job)
{
    if (!(job->flags & (JOB_LINKED | JOB_MERGES)))
        return;
    if (job->group.bytes)
        count_group(pg, job, job->state, 1);
    take_keys(pg, job);
    if (job->flags & JOB_WAITS)
        add_waits(pg, job, 0);
}

static void change_waits(Postgres *pg, const Job *job, const Op *op, uint32_t had)
{
    AfterSteps steps = after_steps(job, op, had);
    if (steps.settles_all || steps.settles_listed)
        settle(pg, job->id, steps.settles_all ? NULL : &op->value);
    if (steps.breaks)
        add_broken(pg, job->id, op->value);
    if (steps.waits)
        add_waits(pg, job, op->fields);
}

void pglinks_changed(Postgres *pg, PgHeld *held, const Op *op, const Job *was)
{
    const Job *job = &held->saved.row.job;
    bool final = state_in(job->state, STATES_FINAL);
    bool was_final = state_in(was->state, STATES_FINAL);
    if (final && !was_final)
        ended(pg, job->id, job->state);
    else if (was_final && !final)
        reopened(pg, job->id);
    if (!(was->flags & (JOB_LINKED | JOB_MERGES)))
        return;
    pgrow_open(&held->saved, &pg->link);
    change_waits(pg, job, op, was->flags);
    if (job->group.bytes && job->state != was->state) {
        count_group(pg, job, was->state, -1);
        count_group(pg, job, job->state, 1);
    }
    if (op->kind == OP_MOVE && (op->fields & FIELD_KEYS))
        take_keys(pg, job);
    if (final && !was_final)
        change_key(pg, job, UNIQUE_OWN, KEY_RELEASE);
    if ((final && !was_final) || op->kind == OP_CLAIM)
        change_key(pg, job, UNIQUE_MERGE, KEY_RELEASE);
}

void pglinks_removed(Postgres *pg, PgHeld *held)
{
    const Job *job = &held->saved.row.job;
    bool final = state_in(job->state, STATES_FINAL);
    ended(pg, job->id, final ? job->state : JOB_CANCELLED);
    if (!(job->flags & (JOB_LINKED | JOB_MERGES)))
        return;
    pgrow_open(&held->saved, &pg->link);
    if (job->after.bytes) {
        settle(pg, job->id, NULL);
        pg->links.adds_waits = true;
    }
    if (job->group.bytes)
        count_group(pg, job, job->state, -1);
    for (unsigned kind = 0; kind < UNIQUE_KINDS; kind++)
        change_key(pg, job, (UniqueKind)kind, KEY_REMOVE);
}

/* --- Sending
 * -----------------------------------------------------------------------------
 */

static void send(Postgres *pg, PgArray *columns, size_t count, const char *sql)
{
    if (!columns[0].count)
        return;
    for (size_t i = 0; i < count; i++) {
        param_array(&pg->params, &columns[i]);
        array_clear(&columns[i]);
    }
    link_later(&pg->link, sql, &pg->params);
}

void pglinks_send(Postgres *pg)
{
    PgLinks *links = &pg->links;
    if (links->waits[0].count && !links->adds_waits && !pglinks_any(pg))
        for (size_t i = 0; i < 4; i++)
            array_clear(&links->waits[i]);
    send(pg, links->waits, 4, "SELECT pawl.waits_change($1, $2, $3, $4)");
    send(pg, links->uniques, 6, "SELECT pawl.uniques_change($1, $2, $3, $4, $5, $6)");
    send_groups(pg);
    pglinks_forget(pg);
}

void pglinks_forget(Postgres *pg)
{
    static const PgType waits[4] = { PG_INT4, PG_INT8, PG_INT8, PG_INT4 };
    static const PgType uniques[6] = { PG_INT4, PG_BYTEA, PG_BYTEA,
                                       PG_INT8, PG_INT8,  PG_INT8 };
    PgLinks *links = &pg->links;
    for (size_t i = 0; i < 4; i++) {
        array_clear(&links->waits[i]);
        links->waits[i].type = waits[i];
    }
    for (size_t i = 0; i < 6; i++) {
        array_clear(&links->uniques[i]);
        links->uniques[i].type = uniques[i];
    }
    links->adds_waits = false;
    links->group_count = 0;
    arena_reset(&links->arena);
}

void pglinks_done(Postgres *pg)
{
    PgLinks *links = &pg->links;
    for (size_t i = 0; i < 4; i++)
        array_done(&links->waits[i]);
    for (size_t i = 0; i < 6; i++)
        array_done(&links->uniques[i]);
    mem_free(links->groups);
    arena_done(&links->arena);
}
