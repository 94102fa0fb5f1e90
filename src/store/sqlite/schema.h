/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the steps from an empty file to today's schema, and taking them.
 *
 * PRAGMA user_version says how far a file has come. Each step is one transaction with
 * its version in it, so a migration that is killed goes on where it was. A file that has
 * data is copied (FILE.vN.backup) and the copy checked before its first step. */
#ifndef STORE_SQLITE_SCHEMA_H
#define STORE_SQLITE_SCHEMA_H

#include "base/err.h"

#include <sqlite3.h>
#include <stddef.h>

typedef struct SchemaStep {
    int version; /* of the file after it */
    const char *sql;
} SchemaStep;

/* From schema/NNN.sql, in order. */
extern const SchemaStep schema_steps[];
extern const size_t schema_step_count;

/* Names the file as ours: "pawl" in PRAGMA application_id. */
#define SCHEMA_APPLICATION 0x7061776c

typedef struct Schema {
    const char *path;
    const SchemaStep *steps;
    size_t count;
} Schema;

/* Brings the file to the last step. ERR_UNSUPPORTED if it is newer than that or not
 * ours; the file is then as it was. */
MUST_CHECK Err schema_migrate(sqlite3 *db, const Schema *schema, Error *why);

/* As schema_migrate, but only looks: ERR_UNSUPPORTED also for an older file. */
MUST_CHECK Err schema_check(sqlite3 *db, const Schema *schema, Error *why);

#endif
