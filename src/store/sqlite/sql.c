/* SPDX-License-Identifier: Apache-2.0 */
/* sql.c - see sql.h.
 *
 * Where an index is meant it is named (INDEXED BY): a statement that cannot use it fails
 * in the first test instead of becoming slow. The condition of a partial index is
 * repeated word for word, because SQLite recognises it so. */
#include "store/sqlite/sql.h"

#include "store/states_sql.h"

#define HOT JOB_HOT_COLUMNS
#define ALL HOT ", payload"

#define COLUMN_PLACE(number, NAME, column, type, changes) ", ?" #number
#define INTO                                                                             \
    "(" ALL ") VALUES(?1, ?2" JOB_COLUMN_LIST(COLUMN_PLACE)                              \
        JOB_PAYLOAD_COLUMN(COLUMN_PLACE) ")"

#define SET_0(number, column)
#define SET_1(number, column)                           ", " #column " = ?" #number
#define COLUMN_SET(number, NAME, column, type, changes) SET_##changes(number, column)

#define READY_ROWS                                                                       \
    " FROM job_live INDEXED BY live_ready WHERE state = " READY " AND lane = ?1"
#define IDLE " FROM job_live INDEXED BY live_idle WHERE state <> " READY

const char sql_job_columns[] = ALL;

static const char *const texts[SQL_STATEMENTS] = {
    [SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [SQL_BEGIN_READ] = "BEGIN",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_META_GET] = "SELECT value FROM meta WHERE key = ?1",
    [SQL_META_PUT] = "INSERT INTO meta(key, value) VALUES(?1, ?2)",

    [SQL_FREE_PAGES] = "PRAGMA freelist_count",
    [SQL_NAMES] = "SELECT id, text FROM name WHERE id > ?1 ORDER BY id",
    [SQL_NAME_ADD] = "INSERT INTO name(id, text) VALUES(?1, ?2)",
    [SQL_LANES] = "SELECT id, tenant, queue, pull, type FROM lane WHERE id > ?1"
                  " ORDER BY id",
    [SQL_LANE_ADD] = "INSERT INTO lane(id, tenant, queue, pull, type)"
                     " VALUES(?1, ?2, ?3, ?4, ?5)",
    [SQL_SLOTS] = "SELECT id, node, slot FROM slot ORDER BY id",
    [SQL_SLOT_ADD] = "INSERT INTO slot(id, node, slot) VALUES(?1, ?2, ?3)",
    [SQL_COUNT_ADD] = "INSERT INTO lane_count(lane, state, count) VALUES(?1, ?2, ?3)"
                      " ON CONFLICT DO UPDATE SET count = count + excluded.count",
    [SQL_COUNTS] = "SELECT coalesce(t.text, ''), coalesce(q.text, ''), l.pull, c.state,"
                   " sum(c.count) FROM lane_count c JOIN lane l ON l.id = c.lane"
                   " LEFT JOIN name t ON t.id = l.tenant"
                   " LEFT JOIN name q ON q.id = l.queue WHERE c.count <> 0"
                   " AND c.state >= 0"
                   " GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
    [SQL_POINTS] = "SELECT node, position, number, last_id, results FROM point",
    [SQL_POINT_PUT] = "INSERT OR REPLACE INTO point(node, position, number, last_id,"
                      " results) VALUES(?1, ?2, ?3, ?4, ?5)",
    [SQL_POINT_GET] = "SELECT position, number, last_id FROM point WHERE node = ?1",

    [SQL_LIVE_GET] = "SELECT " ALL " FROM job_live WHERE id = ?1",
    [SQL_DONE_GET] = "SELECT " ALL " FROM job_done WHERE id = ?1",
    [SQL_DEAD_GET] = "SELECT " ALL " FROM job_dead WHERE id = ?1",
    [SQL_LIVE_ADD] = "INSERT INTO job_live" INTO,
    [SQL_DONE_ADD] = "INSERT INTO job_done" INTO,
    [SQL_DEAD_ADD] = "INSERT INTO job_dead" INTO,
    [SQL_LIVE_REMOVE] = "DELETE FROM job_live WHERE id = ?1",
    [SQL_DONE_REMOVE] = "DELETE FROM job_done WHERE id = ?1",
    [SQL_DEAD_REMOVE] = "DELETE FROM job_dead WHERE id = ?1",
    [SQL_LIVE_GET_RUN] =
        "SELECT " ALL " FROM job_live WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
    [SQL_LIVE_REMOVE_RUN] = "DELETE FROM job_live WHERE id BETWEEN ?1 AND ?2",
    [SQL_LIVE_CHANGE] =
        "UPDATE job_live SET state = ?2" JOB_COLUMN_LIST(COLUMN_SET) " WHERE id = ?1",
    [SQL_BEAT] = "UPDATE job_live INDEXED BY live_idle SET dt = ?2, beat = ?3"
                 " WHERE state <> " READY " AND state " IN_OWNED " AND lock = ?1"
                 " AND NOT coalesce(flags, 0) & " PULL,

    [SQL_LANES_READY] =
        "SELECT lane FROM lane_count WHERE state = " READY " AND count > 0"
        " ORDER BY lane",
    [SQL_LANE_HEAD] = "SELECT " ALL READY_ROWS " ORDER BY rank, dt, id LIMIT 1",
    [SQL_WINDOW] = "SELECT " ALL READY_ROWS " ORDER BY rank, dt, id LIMIT ?2",
    [SQL_WINDOW_BEHIND] = "SELECT " ALL READY_ROWS " AND (rank, dt, id) > (?3, ?4, ?5)"
                          " ORDER BY rank, dt, id LIMIT ?2",
    [SQL_WINDOW_KEYS] =
        "SELECT id, rank, dt" READY_ROWS " AND (rank, dt, id) > (?3, ?4, ?5)"
        " ORDER BY rank, dt, id LIMIT ?2",
    [SQL_DEFERRED] =
        "SELECT " HOT IDLE " AND state = " DEFERRED " ORDER BY dt, id LIMIT ?1",
    [SQL_RETRYING] =
        "SELECT " HOT IDLE " AND state = " RETRYING " ORDER BY dt, id LIMIT ?1",
    [SQL_OVERDUE_BLOCKED] =
        "SELECT " HOT IDLE " AND state = " BLOCKED " ORDER BY dt, id LIMIT ?1",
    [SQL_BLOCKED] =
        "SELECT " HOT " FROM job_live INDEXED BY live_blocked"
        " WHERE state = " BLOCKED " AND " WAITS_FOR_NONE " AND type = ?1 AND lane IN"
        " (SELECT id FROM lane WHERE tenant = ?2) ORDER BY id LIMIT ?3",
    [SQL_RUNNING] = "SELECT " HOT IDLE " AND state " IN_OWNED
                    " AND (?1 IS NULL OR lock = ?1) ORDER BY id",
    [SQL_STATE_COUNT] = "SELECT sum(count) FROM lane_count WHERE (1 << state & ?1)",
    [SQL_DONE_OLD] = "SELECT " HOT " FROM job_done INDEXED BY done_end"
                     " WHERE dt < ?1 AND (1 << state & ?2) ORDER BY dt, id LIMIT ?3",
    [SQL_DEAD_OLD] = "SELECT " HOT " FROM job_dead INDEXED BY dead_end"
                     " WHERE dt < ?1 AND (1 << state & ?2) ORDER BY dt, id LIMIT ?3",

    [SQL_ATTEMPTS] = "SELECT attempt, node, retry, state, run_at, service, started,"
                     " finished, beat, code, exitcode, exit_status, signal, error,"
                     " version FROM attempt WHERE job = ?1 ORDER BY attempt",
    [SQL_ATTEMPT_ADD] = "INSERT OR REPLACE INTO attempt VALUES(?1, ?2, ?3, ?4, ?5, ?6,"
                        " ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    [SQL_ATTEMPTS_REMOVE] = "DELETE FROM attempt WHERE job = ?1",
    [SQL_PAYLOAD_GET] = "SELECT data FROM payload WHERE job = ?1",
    [SQL_PAYLOAD_PUT] = "INSERT OR REPLACE INTO payload(job, data) VALUES(?1, ?2)",
    [SQL_PAYLOAD_REMOVE] = "DELETE FROM payload WHERE job = ?1 RETURNING length(data)",
    [SQL_RESULT_GET] = "SELECT data FROM result WHERE job = ?1",
    [SQL_RESULT_PUT] = "INSERT OR REPLACE INTO result(job, data) VALUES(?1, ?2)",
    [SQL_RESULT_REMOVE] = "DELETE FROM result WHERE job = ?1",

    [SQL_DEFINITIONS] = "SELECT tenant, key, value FROM definition WHERE kind = ?1"
                        " ORDER BY tenant, key",
    [SQL_DEFINITION_GET] = "SELECT tenant, key, value FROM definition"
                           " WHERE kind = ?1 AND tenant = ?2 AND key = ?3",
    [SQL_DEFINITION_PUT] = "INSERT OR REPLACE INTO definition(kind, tenant, key, value)"
                           " VALUES(?1, ?2, ?3, ?4)",
    [SQL_DEFINITION_REMOVE] = "DELETE FROM definition"
                              " WHERE kind = ?1 AND tenant = ?2 AND key = ?3",
    [SQL_NODES] = "SELECT '', sysid, facts FROM node ORDER BY sysid",
    [SQL_NODE_PUT] = "INSERT INTO node(sysid, beat, facts) VALUES(?1, ?2, ?3)"
                     " ON CONFLICT DO UPDATE SET beat = ?2, facts = ?3",
    [SQL_KEY_GET] =
        "SELECT expiry, value FROM idempotency WHERE tenant = ?1 AND key = ?2",
    [SQL_KEY_PUT] = "INSERT OR REPLACE INTO idempotency(tenant, key, expiry, value)"
                    " VALUES(?1, ?2, ?3, ?4)",
    [SQL_KEY_EXPIRE] = "DELETE FROM idempotency WHERE (tenant, key) IN"
                       " (SELECT tenant, key FROM idempotency"
                       " INDEXED BY idempotency_expiry WHERE expiry <= ?1"
                       " ORDER BY expiry, tenant, key LIMIT ?2)",
    [SQL_BOOKING_PUT] = "INSERT OR REPLACE INTO booking(job, attempt, key, item, amount)"
                        " VALUES(?1, ?2, ?3, ?4, ?5)",
    [SQL_BOOKING_GET] = "SELECT key, item, amount FROM booking"
                        " WHERE job = ?1 AND attempt = ?2 ORDER BY key, item",
    [SQL_BOOKING_REMOVE] = "DELETE FROM booking WHERE job = ?1",
    [SQL_ITEM_PUT] = "INSERT INTO resource_item(key, item, gone) VALUES(?1, ?2, 0)"
                     " ON CONFLICT DO UPDATE SET gone = 0",
    [SQL_ITEMS_GONE] = "UPDATE resource_item SET gone = 1 WHERE key = ?1",
    [SQL_WINDOW_LEVEL] = "SELECT min(rank)" READY_ROWS " AND rank > ?2",
    [SQL_WINDOW_OF_LEVEL] =
        "SELECT " ALL READY_ROWS " AND rank = ?3 AND (dt, id) > (?4, ?5)"
        " ORDER BY rank, dt, id LIMIT ?2",
    [SQL_KEYS_OF_LEVEL] = "SELECT id, rank, dt" READY_ROWS " AND rank = ?3"
                          " AND (dt, id) > (?4, ?5) ORDER BY rank, dt, id LIMIT ?2",

    [SQL_ROLLUP_ADD] = "INSERT INTO rollup VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
                       " ?10, ?11, ?12, ?13, ?14)",
    [SQL_ROLLUP_CHANGE] = "UPDATE rollup SET added = added + ?7, started = started + ?8,"
                          " ok = ok + ?9, failed = failed + ?10, retry = retry + ?11,"
                          " error = error + ?12, wait_ms = wait_ms + ?13,"
                          " run_ms = run_ms + ?14 WHERE span = ?1 AND at = ?2"
                          " AND tenant = ?3 AND queue = ?4 AND type = ?5"
                          " AND priority = ?6",
    [SQL_ROLLUP_COUNT] = "SELECT count(*) FROM rollup WHERE span = ?1 AND at = ?2",
    [SQL_ROLLUPS] = "SELECT * FROM rollup WHERE span IN (60000, 3600000, 86400000)"
                    " AND at >= ?1 ORDER BY span, at, tenant, queue, type, priority",
    [SQL_ROLLUPS_OLD] = "SELECT * FROM rollup WHERE span = ?1 AND at < ?2",
    [SQL_ROLLUPS_REMOVE] = "DELETE FROM rollup WHERE span = ?1 AND at < ?2",
    [SQL_WAIT_ANY] = "SELECT 1 FROM job_wait WHERE parent >= 0 LIMIT 1",
    [SQL_WAIT_ADD] = "INSERT OR IGNORE INTO job_wait(parent, child, cond)"
                     " VALUES(?1, ?2, ?3)",
    [SQL_WAIT_FOR] = "SELECT 1 FROM job_wait WHERE parent = ?1 LIMIT 1",
    [SQL_WAIT_REMOVE] = "DELETE FROM job_wait WHERE parent = ?1 AND child = ?2",
    [SQL_WAITS_OF] = "SELECT w.parent, w.cond, e.parent IS NOT NULL, e.state"
                     " FROM job_wait w INDEXED BY wait_child"
                     " LEFT JOIN job_ended e ON e.parent = w.parent"
                     " WHERE w.child = ?1 ORDER BY w.parent",
    [SQL_WAITS_ENDED] = "SELECT w.child FROM job_ended e CROSS JOIN job_wait w"
                        " ON w.parent = e.parent ORDER BY e.parent, w.child LIMIT ?1",
    [SQL_ENDED_PUT] = "INSERT OR REPLACE INTO job_ended(parent, state) VALUES(?1, ?2)",
    [SQL_ENDED_REMOVE] = "DELETE FROM job_ended WHERE parent = ?1",
    [SQL_ENDED_SETTLE] = "DELETE FROM job_ended WHERE parent = ?1 AND NOT EXISTS"
                         " (SELECT 1 FROM job_wait WHERE parent = ?1)",
    [SQL_GROUP_COUNT] = "INSERT INTO job_group(tenant, name, state, count)"
                        " VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE"
                        " SET count = count + excluded.count",
    [SQL_GROUP_SETTLE] = "DELETE FROM job_group WHERE tenant = ?1 AND name = ?2"
                         " AND state = ?3 AND count = 0",
    [SQL_GROUPS] = "SELECT tenant, name, state, count FROM job_group"
                   " ORDER BY tenant, name, state",
    [SQL_GROUP] = "SELECT tenant, name, state, count FROM job_group"
                  " WHERE tenant = ?1 AND name = ?2 ORDER BY state",
    [SQL_UNIQUE_GET] = "SELECT job, until FROM job_unique WHERE tenant = ?1 AND key = ?2",
    [SQL_UNIQUE_PUT] = "INSERT OR REPLACE INTO job_unique(tenant, key, job, until)"
                       " VALUES(?1, ?2, ?3, ?4)",
    [SQL_UNIQUE_REMOVE] = "DELETE FROM job_unique WHERE tenant = ?1 AND key = ?2"
                          " AND job = ?3",
    [SQL_UNIQUE_RELEASE] = "DELETE FROM job_unique WHERE tenant = ?1 AND key = ?2"
                           " AND job = ?3 AND until IS NULL",
    [SQL_UNIQUE_EXPIRE] = "DELETE FROM job_unique WHERE (tenant, key) IN"
                          " (SELECT tenant, key FROM job_unique INDEXED BY unique_until"
                          " WHERE until IS NOT NULL AND until <= ?1"
                          " ORDER BY until, tenant, key LIMIT ?2)",

    [SQL_NODE_GET] = "SELECT number, epoch, fenced FROM node WHERE sysid = ?1",
    [SQL_NODE_RENEW] = "INSERT INTO node(sysid, beat, facts, number, lease)"
                       " VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE"
                       " SET beat = ?2, facts = ?3, number = ?4, lease = ?5",
    [SQL_NODE_NUMBERS] =
        "SELECT number, max(there) FROM (SELECT number, 1 AS there FROM node"
        " WHERE number > 0 UNION ALL SELECT node, 0 FROM point WHERE position > 0)"
        " GROUP BY number ORDER BY number",
    [SQL_NODE_OF] = "SELECT coalesce(epoch, 0), coalesce(fenced, 0), lease FROM node"
                    " WHERE number = ?1",
    [SQL_NODE_CONTROLLER] = "SELECT 1 FROM node WHERE controls = 1 AND number <> ?1"
                            " AND coalesce(fenced, 0) = 0 AND lease > ?2",
    [SQL_NODE_CONTROLS] = "UPDATE node SET controls = number = ?1 AND ?2"
                          " WHERE ?2 OR number = ?1",
    [SQL_NODE_FENCE] = "UPDATE node SET fenced = 1, controls = 0 WHERE number = ?1"
                       " AND coalesce(epoch, 0) = ?2 AND coalesce(fenced, 0) = 0"
                       " AND lease <= ?3",
    [SQL_NODE_JOIN] = "UPDATE node SET fenced = 0, epoch = ?2 WHERE number = ?1"
                      " AND coalesce(epoch, 0) < ?2",
    [SQL_NODE_ROWS] = "SELECT sysid, number, epoch, fenced, controls, lease, facts"
                      " FROM node WHERE number > 0 ORDER BY number",
    [SQL_NODE_ANY] = "SELECT 1 FROM node WHERE number > 0",
    [SQL_LIVE_IDS] = "SELECT id FROM job_live ORDER BY id",
    [SQL_MAIL_ADD] = "INSERT INTO inbox(node, sender, body) VALUES(?1, ?2, ?3)",
    [SQL_MAIL_TAKEN] = "DELETE FROM inbox WHERE number = ?1 AND node = ?2",
    [SQL_MAIL_CLEAR] = "DELETE FROM inbox WHERE node = ?1",
    [SQL_INBOX] = "SELECT number, sender, body FROM inbox WHERE node = ?1"
                  " ORDER BY number LIMIT ?2",
    [SQL_CHANGE_PUT] = "INSERT OR REPLACE INTO definition_change(kind, tenant, key,"
                       " change, node) VALUES(?1, ?2, ?3, 1 + coalesce((SELECT"
                       " max(change) FROM definition_change), 0), ?4)",
    [SQL_CHANGES] = "SELECT c.change, c.node, c.kind, c.tenant, c.key, d.value,"
                    " d.kind IS NOT NULL FROM definition_change c"
                    " LEFT JOIN definition d USING (kind, tenant, key)"
                    " WHERE c.change > ?1 ORDER BY c.change",
    [SQL_USES] = "SELECT coalesce(t.text, ''),"
                 " sum(CASE WHEN c.state = -1 THEN c.count ELSE 0 END),"
                 " sum(CASE WHEN 1 << c.state & ?1 THEN c.count ELSE 0 END),"
                 " sum(CASE WHEN 1 << c.state & ?2 THEN c.count ELSE 0 END)"
                 " FROM lane_count c JOIN lane l ON l.id = c.lane"
                 " LEFT JOIN name t ON t.id = l.tenant"
                 " GROUP BY 1 HAVING max(c.count <> 0) ORDER BY 1",
    [SQL_CHANGE_LAST] = "SELECT c.change, c.node, c.kind, c.tenant, c.key, d.value,"
                        " d.kind IS NOT NULL FROM definition_change c"
                        " LEFT JOIN definition d USING (kind, tenant, key)"
                        " ORDER BY c.change DESC LIMIT 1",
    [SQL_CHANGES_TRIM] = "DELETE FROM definition_change AS c WHERE change <="
                         " (SELECT max(change) FROM definition_change) - ?1"
                         " AND NOT EXISTS (SELECT 1 FROM definition d WHERE"
                         " d.kind = c.kind AND d.tenant = c.tenant AND d.key = c.key)",
};

const char *sql_text(Sql sql)
{
    return texts[sql];
}
