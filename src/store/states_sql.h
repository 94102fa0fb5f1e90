/* SPDX-License-Identifier: Apache-2.0 */
/* states_sql.h - states and flags of jobs as SQL has them: numbers that the compiler
 * compares with the ones of core/job.h. */
#ifndef STORE_STATES_SQL_H
#define STORE_STATES_SQL_H

#include "core/job.h"

/* SQL_NUMBER(2) is "2". */
#define SQL_NUMBER_OF(number) #number
#define SQL_NUMBER(number)    SQL_NUMBER_OF(number)

#define NUMBER_DEFERRED 0
#define NUMBER_BLOCKED  1
#define NUMBER_READY    2
#define NUMBER_RUNNING  4
#define NUMBER_PAUSED   5
#define NUMBER_RETRYING 7
#define NUMBER_PULL     16
#define NUMBER_WAITS    134217728

_Static_assert(NUMBER_DEFERRED == JOB_DEFERRED, "SQL and C must agree");
_Static_assert(NUMBER_BLOCKED == JOB_BLOCKED, "SQL and C must agree");
_Static_assert(NUMBER_READY == JOB_READY, "SQL and C must agree");
_Static_assert(NUMBER_RUNNING == JOB_RUNNING, "SQL and C must agree");
_Static_assert(NUMBER_PAUSED == JOB_PAUSED, "SQL and C must agree");
_Static_assert(NUMBER_RETRYING == JOB_RETRYING, "SQL and C must agree");
_Static_assert(NUMBER_PULL == JOB_PULL, "SQL and C must agree");
_Static_assert(NUMBER_WAITS == JOB_WAITS, "SQL and C must agree");
_Static_assert(STATES_OWNED == (STATE_BIT(NUMBER_RUNNING) | STATE_BIT(NUMBER_PAUSED)),
               "SQL and C must agree");

#define DEFERRED SQL_NUMBER(NUMBER_DEFERRED)
#define BLOCKED  SQL_NUMBER(NUMBER_BLOCKED)
#define READY    SQL_NUMBER(NUMBER_READY)
#define RUNNING  SQL_NUMBER(NUMBER_RUNNING)
#define PAUSED   SQL_NUMBER(NUMBER_PAUSED)
#define RETRYING SQL_NUMBER(NUMBER_RETRYING)
#define PULL     SQL_NUMBER(NUMBER_PULL)
#define WAITS    SQL_NUMBER(NUMBER_WAITS)
#define IN_OWNED "IN (" RUNNING ", " PAUSED ")"

/* A job that waits for others (not for a handler) has the flag. */
#define WAITS_FOR_NONE "coalesce(flags, 0) & " WAITS " = 0"

#endif
