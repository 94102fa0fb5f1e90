/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the tables of the shared store: made, brought up to date, checked.
 *
 * Steps are taken under a lock, one node at a time, in one transaction. Each says which
 * is the oldest program that may use the store after it (`-- oldest: N`, a number of a
 * step; else as the step before): so nodes of two releases work side by side while one
 * after the other is renewed. An older program is refused. */
#ifndef STORE_POSTGRES_SCHEMA_H
#define STORE_POSTGRES_SCHEMA_H

#include "store/postgres/connection.h"

typedef struct PgStep {
    int version; /* of the schema after it */
    int oldest;  /* program, by the last step that it knows, that may use it then */
    const char *sql;
} PgStep;

/* From schema_pg/NNN.sql, in order. */
extern const PgStep postgres_steps[];
extern const size_t postgres_step_count;

/* What the store says of its schema; version 0: there is none of ours. */
typedef struct PgSchema {
    int version;
    int oldest; /* programs that know this step may use it */
} PgSchema;

/* Within a transaction. */
PgSchema pgschema_said(PgLink *link);
int pgschema_newest(void); /* the last step that this program knows */

/* Brings the store to the last step. */
MUST_CHECK Err pgschema_migrate(PgLink *link, Error *why);

/* As pgschema_migrate, but only looks: ERR_UNSUPPORTED also for an older one. */
MUST_CHECK Err pgschema_check(PgLink *link, Error *why);

/* Logs settings of the server that endanger what it has acknowledged. */
void pgschema_warn(PgLink *link);

#endif
