/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_schema.h - the tables of the shared store: made, brought up to date, checked.
 *
 * Steps are taken under a lock, one node at a time; each in its own transaction with the
 * version it leads to. A store that is newer than this program is refused. */
#ifndef STORE_POSTGRES_SCHEMA_H
#define STORE_POSTGRES_SCHEMA_H

#include "store/postgres_link.h"

typedef struct PgStep {
    int version; /* of the schema after it */
    const char *sql;
} PgStep;

/* From schema_pg/NNN.sql, in order. */
extern const PgStep postgres_steps[];
extern const size_t postgres_step_count;

/* Brings the store to the last step. */
MUST_CHECK Err pgschema_migrate(PgLink *link, Error *why);

/* As pgschema_migrate, but only looks: ERR_UNSUPPORTED also for an older one. */
MUST_CHECK Err pgschema_check(PgLink *link, Error *why);

/* Logs settings of the server that endanger what it has acknowledged. */
void pgschema_warn(PgLink *link);

#endif
