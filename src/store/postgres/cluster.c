/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - see cluster.h. */
#include "store/postgres/cluster.h"

#include "core/share/peer.h"
#include "store/postgres/unit_of_work.h"
#include "store/states_sql.h"

#define NOW_MS "(extract(epoch FROM clock_timestamp()) * 1000)::int8"

/* --- Guards
 * ------------------------------------------------------------------------------
 */

/* What a session is called while it has a batch of a node under way: see fence(). */
#define SESSION_NAME "'pawl node ' || $1::int8"

/* Of the node whose batch it is: asked for with every operation, read once. */
static const PgLease *lease_of(Postgres *pg, uint32_t node)
{
    PgLease *lease = &pg->lease;
    if (lease->known && lease->node == node)
        return lease;
    *lease = (PgLease){ .known = true, .node = node };
    if (!node)
        return lease;
    param_int(&pg->params, node);
    PGresult *result =
        link_query(&pg->link,
                   "SELECT coalesce(epoch, 0), coalesce(fenced, false),"
                   " set_config('application_name', " SESSION_NAME ", true)"
                   " FROM pawl.node WHERE number = $1::int8 FOR KEY SHARE",
                   &pg->params);
    if (result && PQntuples(result)) {
        lease->there = true;
        lease->epoch = (uint64_t)field_int(result, 0, 0);
        lease->fenced = field_int(result, 0, 1) != 0;
    }
    PQclear(result);
    return lease;
}

bool pgcluster_joined(Postgres *pg, uint32_t node)
{
    return lease_of(pg, node)->epoch > 0;
}

bool pgcluster_fenced(Postgres *pg, uint32_t node)
{
    return lease_of(pg, node)->fenced;
}

void pgcluster_forget(Postgres *pg)
{
    pg->lease = (PgLease){ .known = false };
}

void pgcluster_reset(Postgres *pg)
{
    pgcluster_forget(pg);
    pg->hints = (PgHints){ .all = false };
}

/* --- Operations
 * --------------------------------------------------------------------------
 */

/* A daemon that was stopped in the middle of a COPY has its transaction open for as long
 * as it likes: no time-out of the server ends one that waits for rows. What it has not
 * committed when its lease is over stands in its journal. */
static void end_sessions(Postgres *pg, uint32_t node)
{
    param_int(&pg->params, node);
    PQclear(link_query(&pg->link,
                       "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a"
                       " JOIN pawl.node n ON n.number = $1::int8 AND n.lease <= " NOW_MS
                       " WHERE a.application_name = " SESSION_NAME
                       " AND a.usename = current_user AND a.pid <> pg_backend_pid()",
                       &pg->params));
}

static bool is_free(Postgres *pg, uint32_t node)
{
    param_int(&pg->params, node);
    PGresult *result = link_query(
        &pg->link,
        "SELECT 1 FROM pawl.node WHERE number = $1::int8 FOR UPDATE SKIP LOCKED",
        &pg->params);
    bool got = result && PQntuples(result);
    PQclear(result);
    return got;
}

/* Commits of the node that are under way hold its row in share: this waits for them. */
static OpResult fence(Postgres *pg, const Op *op)
{
    if (!is_free(pg, op->node))
        end_sessions(pg, op->node);
    param_int(&pg->params, op->node);
    PGresult *result = link_query(
        &pg->link, "SELECT 1 FROM pawl.node WHERE number = $1::int8 FOR UPDATE",
        &pg->params);
    bool there = result && PQntuples(result);
    PQclear(result);
    if (!there)
        return OP_MISSING;
    param_int(&pg->params, op->node);
    param_int(&pg->params, (int64_t)op->count);
    int64_t changed = link_run(&pg->link,
                               "UPDATE pawl.node SET fenced = true, controls = false"
                               " WHERE number = $1::int8 AND coalesce(epoch, 0) = $2"
                               " AND NOT coalesce(fenced, false) AND lease <= " NOW_MS,
                               &pg->params);
    pgcluster_forget(pg);
    return changed ? OP_APPLIED : OP_LOST;
}

/* Who takes its jobs holds its row in share: to join meanwhile would be to read jobs as
 * its own that are another's in a moment. Nor does it wait for that: its renewals would
 * stand behind, and behind those the renewals of all. */
static OpResult join_node(Postgres *pg, const Op *op, uint32_t node)
{
    if (!lease_of(pg, node)->there)
        return OP_MISSING;
    if (!is_free(pg, node)) {
        link_fail(&pg->link, ERR_BUSY, PG_DOUBT);
        return OP_LOST;
    }
    param_int(&pg->params, node);
    param_int(&pg->params, (int64_t)op->count);
    int64_t changed = link_run(&pg->link,
                               "UPDATE pawl.node SET fenced = false, epoch = $2"
                               " WHERE number = $1::int8 AND coalesce(epoch, 0) < $2",
                               &pg->params);
    pgcluster_forget(pg);
    if (!changed)
        return OP_LOST;
    param_int(&pg->params, node);
    link_run(&pg->link, "DELETE FROM pawl.inbox WHERE node = $1::int8", &pg->params);
    return OP_APPLIED;
}

static bool has_node(Postgres *pg, const char *sql, uint32_t node)
{
    param_int(&pg->params, node);
    PGresult *result = link_query(&pg->link, sql, &pg->params);
    bool has = result && PQntuples(result);
    PQclear(result);
    return has;
}

/* And stays so to the end of the commit. One that joins just now is not. */
static bool is_fenced(Postgres *pg, uint32_t node)
{
    return has_node(pg,
                    "SELECT 1 FROM pawl.node WHERE number = $1::int8 AND fenced"
                    " FOR KEY SHARE SKIP LOCKED",
                    node);
}

#define STAYS_NOT "coalesce(flags, 0)::int8 & $3 = 0"

/* What may have run first; ready jobs by the lanes of their owner, all others by itself,
 * as indexes have them. What another is about to change, it has. */
static OpResult take(Postgres *pg, const Op *op, uint32_t node)
{
    if (!is_fenced(pg, op->node))
        return OP_LOST;
    pgheld_flush(pg);
    param_int(&pg->params, op->node);
    param_int(&pg->params, (int64_t)op->count);
    param_int(&pg->params, JOB_STAYS);
    PGresult *result = link_query(
        &pg->link,
        "SELECT id FROM (SELECT 0 AS part, id FROM (SELECT id FROM pawl.job_live"
        "   WHERE state <> " READY " AND owner = $1::int8 AND " STAYS_NOT
        "   LIMIT $2 FOR UPDATE SKIP LOCKED) idle"
        " UNION ALL (SELECT 1, j.id FROM pawl.lane l CROSS JOIN LATERAL"
        "  (SELECT id FROM pawl.job_live WHERE state = " READY
        " AND lane = l.id AND " STAYS_NOT
        "   ORDER BY rank, dt, id LIMIT $2 FOR UPDATE SKIP LOCKED) j"
        "  WHERE l.owner = $1::int8 LIMIT $2)) its ORDER BY part LIMIT $2",
        &pg->params);
    int rows = pgheld_fetch_rows(pg, result);
    for (int i = 0; i < rows; i++) {
        PgHeld *held = pgheld_find(pg, (JobId)field_int(result, i, 0));
        if (!held)
            continue;
        job_set_owner(&held->saved.row.job, node);
        held->changed = true;
    }
    PQclear(result);
    return rows ? OP_APPLIED : OP_MISSING;
}

static OpResult mail(Postgres *pg, const Op *op, uint32_t node)
{
    pghints_add(&pg->hints, op->node);
    param_int(&pg->params, op->node);
    param_int(&pg->params, node);
    param_bytes(&pg->params, op->value);
    link_run(&pg->link,
             "INSERT INTO pawl.inbox(node, sender, body) VALUES ($1::int8, $2::int8, $3)",
             &pg->params);
    return OP_APPLIED;
}

static OpResult mail_taken(Postgres *pg, const Op *op, uint32_t node)
{
    param_int(&pg->params, (int64_t)op->count);
    param_int(&pg->params, node);
    int64_t changed = link_run(
        &pg->link, "DELETE FROM pawl.inbox WHERE number = $1 AND node = $2::int8",
        &pg->params);
    return changed ? OP_APPLIED : OP_MISSING;
}

/* Under a lock to the end of the commit: only one changes it at a time. */
bool pgcluster_home_free(Postgres *pg, const Op *op, uint32_t node)
{
    Buf now = { 0 };
    PQclear(link_query(&pg->link, "SELECT pg_advisory_xact_lock(1885435756, 2)", NULL));
    param_bytes(&pg->params, op->table);
    PGresult *result = link_query(
        &pg->link, "SELECT value FROM pawl.definition WHERE kind = $1", &pg->params);
    if (result && PQntuples(result))
        buf_add_slice(&now, field_bytes(result, 0, 0));
    PQclear(result);
    uint32_t home = home_read(buf_slice(&now)).node;
    bool holds = has_node(
        pg, "SELECT 1 FROM pawl.node WHERE number = $1::int8 AND fenced IS NOT true",
        home);
    bool is_free = cluster_home_free(op, node, buf_slice(&now), !holds);
    buf_done(&now);
    return is_free;
}

OpResult pgcluster_op(Postgres *pg, const Op *op, uint32_t node)
{
    if (op->kind == OP_MAIL)
        return mail(pg, op, node);
    if (op->kind == OP_TAKEN)
        return mail_taken(pg, op, node);
    if (op->kind == OP_FENCE)
        return fence(pg, op);
    return op->kind == OP_TAKE ? take(pg, op, node) : join_node(pg, op, node);
}

/* Under a lock to the end of the commit: numbers become visible in their order. */
void pgcluster_defined(Postgres *pg, const Op *op, uint32_t node)
{
    pghints_add(&pg->hints, PG_HINT_ALL);
    param_bytes(&pg->params, op->table);
    param_bytes(&pg->params, op->tenant);
    param_bytes(&pg->params, op->key);
    param_int(&pg->params, node);
    link_later(&pg->link, "SELECT pawl.definition_changed($1, $2, $3, $4::int8::int4)",
               &pg->params);
    if (!cluster_trims(&pg->defined))
        return;
    param_int(&pg->params, CHANGES_KEPT);
    link_later(&pg->link,
               "DELETE FROM pawl.definition_change c WHERE change <="
               " (SELECT max(change) FROM pawl.definition_change) - $1"
               " AND NOT EXISTS (SELECT FROM pawl.definition d WHERE"
               " d.kind = c.kind AND d.tenant = c.tenant AND d.key = c.key)",
               &pg->params);
}

/* Once for all that the commit has for others. */
void pgcluster_notify(Postgres *pg)
{
    Buf text = { 0 };
    pghints_text(&pg->hints, &text);
    if (text.bytes) {
        param_bytes(&pg->params, buf_slice(&text));
        link_later(&pg->link, "SELECT pg_notify('pawl', convert_from($1, 'UTF8'))",
                   &pg->params);
    }
    buf_done(&text);
}

/* --- Reading
 * -----------------------------------------------------------------------------
 */

void pgcluster_inbox(Postgres *pg, const Load *load, Loaded *out)
{
    param_int(&pg->params, load->owner);
    param_int(&pg->params, load->limit ? (int64_t)load->limit + 1 : INT64_MAX);
    PGresult *result = link_query(&pg->link,
                                  "SELECT number, sender, body FROM pawl.inbox"
                                  " WHERE node = $1::int8 ORDER BY number LIMIT $2",
                                  &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        if (load->limit && out->letter_count == load->limit) {
            out->more = true;
            break;
        }
        Letter letter = { .number = (uint64_t)field_int(result, i, 0),
                          .from = (uint32_t)field_int(result, i, 1),
                          .body = slice_copy(&out->arena, field_bytes(result, i, 2)) };
        MEM_PUSH(out->letters, out->letter_count, out->letter_capacity) = letter;
    }
    PQclear(result);
}

#define CHANGES                                                                          \
    "SELECT c.change, c.node, c.kind, c.tenant, c.key, d.value, d.kind IS NOT NULL"      \
    " FROM pawl.definition_change c LEFT JOIN pawl.definition d"                         \
    " ON d.kind = c.kind AND d.tenant = c.tenant AND d.key = c.key"

Err postgres_changes(Store *store, uint64_t after, ChangeSink *sink, void *context,
                     Error *why)
{
    Postgres *pg = postgres_of(store);
    postgres_begin_read(pg);
    bool last = after == CHANGES_LAST;
    if (!last)
        param_int(&pg->params, (int64_t)after);
    PGresult *result = link_query(&pg->link,
                                  last ? CHANGES " ORDER BY c.change DESC LIMIT 1"
                                       : CHANGES " WHERE c.change > $1 ORDER BY c.change",
                                  &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        Change change = { .change = (uint64_t)field_int(result, i, 0),
                          .node = (uint32_t)field_int(result, i, 1),
                          .table = field_bytes(result, i, 2),
                          .definition.tenant = field_bytes(result, i, 3),
                          .definition.key = field_bytes(result, i, 4) };
        Slice value = field_bytes(result, i, 5);
        if (field_int(result, i, 6))
            change.definition.value = slice_of(value.data ? value.data : "", value.bytes);
        sink(context, &change);
    }
    PQclear(result);
    return postgres_end_read(pg, "read changes", why);
}

Err postgres_nodes(Store *store, NodeSink *sink, void *context, Error *why)
{
    Postgres *pg = postgres_of(store);
    postgres_begin_read(pg);
    PGresult *result = link_query(
        &pg->link,
        "SELECT sysid, number, epoch, fenced, controls, lease - " NOW_MS ", facts"
        " FROM pawl.node WHERE number > 0 ORDER BY number",
        &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        NodeRow row = { .sysid = field_bytes(result, i, 0),
                        .number = (uint32_t)field_int(result, i, 1),
                        .epoch = (uint64_t)field_int(result, i, 2),
                        .fenced = field_int(result, i, 3) != 0,
                        .controls = field_int(result, i, 4) != 0,
                        .left_ms = field_int(result, i, 5),
                        .facts = field_bytes(result, i, 6) };
        sink(context, &row);
    }
    PQclear(result);
    return postgres_end_read(pg, "read nodes", why);
}

/* --- Leases
 * ------------------------------------------------------------------------------
 */

Err postgres_renew(Store *store, const Renewal *renewal, NodeRow *out, Error *why)
{
    Postgres *pg = postgres_of(store);
    if (pg->read_only)
        return error_set(why, ERR_DENIED,
                         "store: this handle was opened to be read only");
    NodeRow row = { 0 };
    param_bytes(&pg->params, renewal->sysid);
    param_int(&pg->params, renewal->number);
    param_int(&pg->params, renewal->lease_ms);
    param_int(&pg->params, renewal->controls);
    param_bytes(&pg->params, renewal->facts);
    /* By itself: it locks what all renewals need, and the answer may never come. */
    PGresult *result = link_single(
        &pg->link, "SELECT * FROM pawl.node_renew($1, $2::int8::int4, $3, $4 <> 0, $5)",
        &pg->params);
    if (result && PQntuples(result))
        row = (NodeRow){ .number = (uint32_t)field_int(result, 0, 0),
                         .epoch = (uint64_t)field_int(result, 0, 1),
                         .fenced = field_int(result, 0, 2) != 0,
                         .controls = field_int(result, 0, 3) != 0,
                         .left_ms = renewal->lease_ms };
    PQclear(result);
    Err err = link_single_end(&pg->link, "renew a lease", why);
    if (!err && !row.number)
        err = error_set(why, ERR_FULL, "store: all %d node numbers are taken",
                        NODE_NUMBER_MAX);
    if (!err)
        *out = row;
    return err;
}
