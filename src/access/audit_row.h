/* SPDX-License-Identifier: Apache-2.0 */
/* audit_row.h - one change as the audit remembers it: who, from where, what, before,
 * after.
 *
 * Rows are definitions, so that every store keeps them and commits them with the change
 * itself. Those of one hour are a table of their own (AUDIT_HOUR_TABLE and its number);
 * AUDIT_TABLE lists the hours. So a page costs the hours it looks at, and an hour that is
 * too old goes as a whole. */
#ifndef ACCESS_AUDIT_ROW_H
#define ACCESS_AUDIT_ROW_H

#include "base/err.h"
#include "base/json_out.h"
#include "store/cluster.h" /* the names of its tables */

#include <stdbool.h>
#include <stdint.h>

#define AUDIT_HOUR_BYTES 24
#define AUDIT_KEY_BYTES  32

typedef struct AuditRow {
    int64_t at_ms;
    Slice who;    /* "token:ci", "uid:0" */
    Slice from;   /* "unix", "10.0.0.2:4711" */
    Slice action; /* "put", "delete", "cancel", "add", ... */
    Slice kind;   /* "queue", "job", ... */
    Slice tenant; /* empty: of none */
    Slice target; /* name or id */
    uint64_t count;
    Slice before; /* JSON; empty: there was none, or it is not known */
    Slice after;
} AuditRow;

void audit_row_pack(Buf *out, const AuditRow *row);
MUST_CHECK Err audit_row_unpack(Slice packed, AuditRow *out); /* slices borrow */
void audit_row_json(JsonOut *json, Slice key, const AuditRow *row);

/* The table of an hour; the hour of a time. Keys are in the order of time. */
int64_t audit_hour(int64_t wall_ms);
Slice audit_hour_table(int64_t hour, char out[AUDIT_HOUR_BYTES]);
Slice audit_key(int64_t wall_ms, unsigned node, unsigned sequence,
                char out[AUDIT_KEY_BYTES]);

/* Whether changes of a table of definitions are remembered; a word for its things. */
bool audit_watches(Slice table, const char **out_kind);

/* Whether a definition is only the mark that something was deleted. */
bool audit_is_mark(Slice table, Slice value);

/* The kinds of rows, as a list ended by NULL of at most AUDIT_KINDS_MAX words. */
#define AUDIT_KINDS_MAX 32
void audit_kinds(const char *out_words[AUDIT_KINDS_MAX + 1]);

/* What a definition says, as JSON without secrets: hashes of tokens and values of
 * variables are left out. Nothing for one that cannot be read. */
void audit_definition_json(Buf *out, Slice table, Slice key, Slice value);

#endif
