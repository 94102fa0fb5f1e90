/* SPDX-License-Identifier: Apache-2.0 */
/* sql.h - every fixed statement of the embedded store, by name. */
#ifndef STORE_SQLITE_SQL_H
#define STORE_SQLITE_SQL_H

#include "store/columns.h"

typedef enum Sql {
    SQL_BEGIN_WRITE,
    SQL_BEGIN_READ,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_META_GET,
    SQL_META_PUT,
    SQL_FREE_PAGES,
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
    SQL_LIVE_GET_RUN, /* ids from one to another */
    SQL_LIVE_REMOVE_RUN,
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
    SQL_DEFINITION_GET,
    SQL_DEFINITION_PUT,
    SQL_DEFINITION_REMOVE,
    SQL_NODES,
    SQL_NODE_PUT,
    SQL_KEY_GET,
    SQL_KEY_PUT,
    SQL_KEY_EXPIRE,
    SQL_BOOKING_PUT,
    SQL_BOOKING_GET,
    SQL_BOOKING_REMOVE,
    SQL_ITEM_PUT,
    SQL_ITEMS_GONE,
    SQL_WINDOW_LEVEL,
    SQL_WINDOW_OF_LEVEL,
    SQL_KEYS_OF_LEVEL,
    SQL_ROLLUP_ADD,
    SQL_ROLLUP_CHANGE,
    SQL_ROLLUP_COUNT,
    SQL_ROLLUPS,
    SQL_ROLLUPS_OLD,
    SQL_ROLLUPS_REMOVE,
    SQL_WAIT_ANY,
    SQL_WAIT_ADD,
    SQL_WAIT_FOR, /* whether anyone waits for a job */
    SQL_WAIT_REMOVE,
    SQL_WAITS_OF, /* a job, with how those that have ended did */
    SQL_WAITS_ENDED,
    SQL_ENDED_PUT,
    SQL_ENDED_REMOVE,
    SQL_ENDED_SETTLE, /* when no one waits any more */
    SQL_GROUP_COUNT,
    SQL_GROUP_SETTLE,
    SQL_GROUPS,
    SQL_GROUP,
    SQL_UNIQUE_GET,
    SQL_UNIQUE_PUT,
    SQL_UNIQUE_REMOVE,
    SQL_UNIQUE_RELEASE, /* unless it is held for a time */
    SQL_UNIQUE_EXPIRE,
    SQL_NODE_GET, /* by sysid */
    SQL_NODE_RENEW,
    SQL_NODE_NUMBERS,
    SQL_NODE_OF, /* by number */
    SQL_NODE_CONTROLLER,
    SQL_NODE_CONTROLS,
    SQL_NODE_FENCE,
    SQL_NODE_JOIN,
    SQL_NODE_ROWS,
    SQL_NODE_ANY,
    SQL_LIVE_IDS,
    SQL_MAIL_ADD,
    SQL_MAIL_TAKEN,
    SQL_MAIL_CLEAR,
    SQL_INBOX,
    SQL_CHANGE_PUT,
    SQL_CHANGES,
    SQL_USES,
    SQL_CHANGE_LAST,
    SQL_CHANGES_TRIM,
    SQL_STATEMENTS,
} Sql;

/* "id, state, ..." of JobColumn, for statements that are put together elsewhere. */
extern const char sql_job_columns[];

const char *sql_text(Sql sql);

#endif
