/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_sql.h - every fixed statement of the embedded store, by name. */
#ifndef STORE_SQLITE_SQL_H
#define STORE_SQLITE_SQL_H

/* Columns of job_live, job_done and job_dead, in the order of the schema. The statement
 * parameter of a column has its number + 1. */
typedef enum JobColumn {
    COL_ID,
    COL_STATE,
    COL_LANE,
    COL_RANK,
    COL_DT,
    COL_LOCK,
    COL_TYPE,
    COL_FLAGS,
    COL_CREATED,
    COL_RUN_AT,
    COL_PARENT,
    COL_SERVICE,
    COL_NAME,
    COL_ATTEMPT,
    COL_RETRY,
    COL_RUN_STATE,
    COL_RUN_RETRY,
    COL_SLOT,
    COL_NODE,
    COL_STARTED,
    COL_FINISHED,
    COL_BEAT,
    COL_CODE,
    COL_EXITCODE,
    COL_EXIT_STATUS,
    COL_SIGNAL,
    COL_PROGRESS,
    COL_RESULT_BYTES,
    COL_REASON,
    COL_ERROR,
    COL_MESSAGE,
    COL_APART,
    COL_SPEC,
    COL_PAYLOAD,
    JOB_COLUMNS,
} JobColumn;

typedef enum Sql {
    SQL_BEGIN_WRITE,
    SQL_BEGIN_READ,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_META_GET,
    SQL_META_PUT,
    SQL_NAMES, /* behind an id */
    SQL_NAME_ADD,
    SQL_LANES, /* behind an id */
    SQL_LANE_ADD,
    SQL_SLOTS,
    SQL_SLOT_ADD,
    SQL_COUNT_ADD,
    SQL_COUNTS,
    SQL_POINTS,
    SQL_POINT_PUT,
    SQL_POINT_GET,
    SQL_LIVE_GET, /* the three places of a job, in the same order for each verb */
    SQL_DONE_GET,
    SQL_DEAD_GET,
    SQL_LIVE_ADD,
    SQL_DONE_ADD,
    SQL_DEAD_ADD,
    SQL_LIVE_REMOVE,
    SQL_DONE_REMOVE,
    SQL_DEAD_REMOVE,
    SQL_LIVE_CHANGE, /* everything but name, spec and payload */
    SQL_BEAT,
    SQL_LANES_READY,
    SQL_LANE_HEAD,
    SQL_WINDOW,
    SQL_WINDOW_BEHIND,
    SQL_WINDOW_KEYS,
    SQL_DEFERRED,
    SQL_RETRYING,
    SQL_OVERDUE_BLOCKED,
    SQL_BLOCKED,
    SQL_RUNNING,
    SQL_STATE_COUNT,
    SQL_DONE_OLD,
    SQL_DEAD_OLD,
    SQL_ATTEMPTS,
    SQL_ATTEMPT_ADD,
    SQL_ATTEMPTS_REMOVE,
    SQL_PAYLOAD_GET,
    SQL_PAYLOAD_PUT,
    SQL_PAYLOAD_REMOVE,
    SQL_RESULT_GET,
    SQL_RESULT_PUT,
    SQL_RESULT_REMOVE,
    SQL_DEFINITIONS,
    SQL_DEFINITION_PUT,
    SQL_DEFINITION_REMOVE,
    SQL_NODES,
    SQL_NODE_PUT,
    SQL_KEY_GET,
    SQL_KEY_PUT,
    SQL_KEY_EXPIRE,
    SQL_STATEMENTS,
} Sql;

/* "id, state, ..." of JobColumn, for statements that are put together elsewhere. */
extern const char sql_job_columns[];

const char *sql_text(Sql sql);

#endif
