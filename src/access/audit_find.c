/* SPDX-License-Identifier: Apache-2.0 */
/* audit_find.c - see audit_find.h. */
#include "access/audit_find.h"

#include "base/text.h"
#include "base/times.h"

#include <stdio.h>
#include <string.h>

typedef struct Search {
    const AuditSeek *seek;
    Arena *arena;
    AuditRow *found;
    int64_t *hours; /* oldest first */
    size_t hour_count;
    size_t hour_capacity;
} Search;

static void take_hour(void *context, const Definition *definition)
{
    Search *search = context;
    int64_t hour;
    if (!int_parse(definition->key, &hour) && hour >= audit_hour(search->seek->from_ms))
        MEM_PUSH(search->hours, search->hour_count, search->hour_capacity) = hour;
}

static bool says(Slice json, const char *what)
{
    return json.bytes && memmem(json.data, json.bytes, what, strlen(what)) != NULL;
}

static void take_row(void *context, const Definition *definition)
{
    Search *search = context;
    const AuditSeek *seek = search->seek;
    AuditRow row;
    if (audit_row_unpack(definition->value, &row) || !slice_equal(seek->kind, row.kind) ||
        !slice_equal(seek->target, row.target) ||
        !slice_equal(seek->action, row.action) ||
        (seek->tenant.bytes && !slice_equal(seek->tenant, row.tenant)) ||
        (seek->after && (!says(row.after, seek->after) || says(row.before, seek->after))))
        return;
    *search->found = (AuditRow){ .at_ms = row.at_ms,
                                 .who = slice_copy(search->arena, row.who),
                                 .from = slice_copy(search->arena, row.from) };
}

Err audit_find(Store *store, const AuditSeek *seek, Arena *arena, AuditRow *out,
               Error *why)
{
    Search search = { .seek = seek, .arena = arena, .found = out };
    int64_t until_ms = clock_now().boot_ms + AUDIT_FIND_MS;
    *out = (AuditRow){ 0 };
    Err err = store->kind->definitions(store, SLICE_LITERAL(AUDIT_TABLE), take_hour,
                                       &search, why);
    for (size_t i = search.hour_count; i-- > 0 && !err && !out->at_ms;) {
        char table[AUDIT_HOUR_BYTES];
        err = store->kind->definitions(store, audit_hour_table(search.hours[i], table),
                                       take_row, &search, why);
        if (clock_now().boot_ms >= until_ms)
            break;
    }
    mem_free(search.hours);
    return err;
}
