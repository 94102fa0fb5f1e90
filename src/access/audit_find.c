/* SPDX-License-Identifier: Apache-2.0 */
/* audit_find.c - see audit_find.h. */
#include "access/audit_find.h"

#include "base/text.h"
#include "base/times.h"

#include <stdio.h>
#include <string.h>

typedef struct Search {
    const AuditSeek *seek;
    const AuditSink *sink;
    size_t found;
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

static bool fits(const AuditSeek *seek, const AuditRow *row)
{
    if (!slice_equal(seek->kind, row->kind) || !slice_equal(seek->target, row->target))
        return false;
    if (seek->action.bytes && !slice_equal(seek->action, row->action))
        return false;
    if (seek->tenant.bytes && !slice_equal(seek->tenant, row->tenant))
        return false;
    return !seek->after ||
           (says(row->after, seek->after) && !says(row->before, seek->after));
}

static void take_row(void *context, const Definition *definition)
{
    Search *search = context;
    AuditRow row;
    if (audit_row_unpack(definition->value, &row) || !fits(search->seek, &row))
        return;
    search->found++;
    search->sink->row(search->sink->context, &row);
}

/* one: the first hour that has a row is the last that is read. */
static Err look(Store *store, Search *search, bool one, bool *out_partial, Error *why)
{
    int64_t until_ms = clock_now().boot_ms + AUDIT_FIND_MS;
    Err err = store->kind->definitions(store, SLICE_LITERAL(AUDIT_TABLE), take_hour,
                                       search, why);
    *out_partial = false;
    for (size_t i = search->hour_count; i-- > 0 && !err && !(one && search->found);) {
        char table[AUDIT_HOUR_BYTES];
        err = store->kind->definitions(store, audit_hour_table(search->hours[i], table),
                                       take_row, search, why);
        *out_partial = i > 0 && clock_now().boot_ms >= until_ms;
        if (*out_partial)
            break;
    }
    mem_free(search->hours);
    return err;
}

Err audit_each(Store *store, const AuditSeek *seek, const AuditSink *sink,
               bool *out_partial, Error *why)
{
    Search search = { .seek = seek, .sink = sink };
    return look(store, &search, false, out_partial, why);
}

typedef struct Last {
    Arena *arena;
    AuditRow *row;
} Last;

static void keep_last(void *context, const AuditRow *row)
{
    const Last *last = context;
    *last->row = (AuditRow){ .at_ms = row->at_ms,
                             .who = slice_copy(last->arena, row->who),
                             .from = slice_copy(last->arena, row->from) };
}

Err audit_find(Store *store, const AuditSeek *seek, Arena *arena, AuditRow *out,
               Error *why)
{
    Last last = { arena, out };
    AuditSink sink = { keep_last, &last };
    Search search = { .seek = seek, .sink = &sink };
    bool partial;
    *out = (AuditRow){ 0 };
    return look(store, &search, true, &partial, why);
}
