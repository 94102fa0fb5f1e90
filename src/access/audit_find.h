/* SPDX-License-Identifier: Apache-2.0 */
/* audit_find.h - who did it last: one row of the audit, or all of one
 * thing, searched from the newest back. */
#ifndef ACCESS_AUDIT_FIND_H
#define ACCESS_AUDIT_FIND_H

#include "access/audit_row.h"
#include "store/store.h"

typedef struct AuditSeek {
    Slice kind;
    Slice target;
    Slice tenant; /* empty: any */
    Slice action; /* empty: any */
    const char
        *after;      /* what it says of the thing after, but not before; NULL: whatever */
    int64_t from_ms; /* older rows are not looked at */
} AuditSeek;

#define AUDIT_FIND_MS 100 /* after this no further hour is looked at */

typedef struct AuditSink {
    void (*row)(void *context, const AuditRow *row); /* borrowed for the call */
    void *context;
} AuditSink;

/* Every row that fits, hour by hour from the newest back, those of an hour in order of
 * time. *out_partial: hours were left because the time was over. */
MUST_CHECK Err audit_each(Store *store, const AuditSeek *seek, const AuditSink *sink,
                          bool *out_partial, Error *why);

/* Who and when into *out, in the arena; at_ms 0: not known. */
MUST_CHECK Err audit_find(Store *store, const AuditSeek *seek, Arena *arena,
                          AuditRow *out, Error *why);

#endif
