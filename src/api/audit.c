/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - see audit.h. Hours are read from the newest back until the page is
 * full; of each only as many rows are kept as the page still has room for. */
#include "api/audit.h"

#include "access/audit_row.h"
#include "api/common.h"
#include "base/text.h"
#include "core/event.h"
#include "model/job_json.h"
#include "pipeline/processor/signals.h"

#include <stdio.h>

#define ACTIONS_MAX (8 + ACTIONS + SIGNALS)

typedef struct Kept {
    Slice key;
    Slice value;
} Kept;

typedef struct Asking {
    ListPage page;
    Slice who;
    Slice action;
    Slice kind;
    Slice target;
    Slice tenant;
    Arena *arena; /* of the call */
    Slice *hours; /* oldest first */
    size_t hour_count;
    size_t hour_capacity;
    Kept *ring; /* page.limit + 1, the last ones of an hour */
    size_t seen;
} Asking;

static void take_hour(void *context, const Definition *definition)
{
    Asking *asking = context;
    int64_t hour;
    int64_t at_ms = INT64_MAX;
    Slice rest = asking->page.cursor;
    Slice time = slice_cut(&rest, '-');
    if (int_parse(definition->key, &hour) ||
        (time.bytes && !int_parse(time, &at_ms) && hour > audit_hour(at_ms)))
        return;
    MEM_PUSH(asking->hours, asking->hour_count, asking->hour_capacity) =
        slice_copy(asking->arena, definition->key);
}

static bool is(Slice wanted, Slice found)
{
    return !wanted.data || slice_equal(wanted, found);
}

static void take_row(void *context, const Definition *definition)
{
    Asking *asking = context;
    AuditRow row;
    Slice cursor = asking->page.cursor;
    if (audit_row_unpack(definition->value, &row) || !is(asking->who, row.who) ||
        !is(asking->action, row.action) || !is(asking->kind, row.kind) ||
        !is(asking->target, row.target) || !is(asking->tenant, row.tenant) ||
        (cursor.bytes && api_name_order(definition->key, cursor) >= 0))
        return;
    Kept *kept = &asking->ring[asking->seen++ % (asking->page.limit + 1)];
    kept->key = slice_copy(asking->arena, definition->key);
    kept->value = slice_copy(asking->arena, definition->value);
}

/* The rows of one hour, newest first. False: there is no room for another. */
static bool write_hour(Asking *asking, JsonOut *json, uint32_t *left, Slice *last)
{
    size_t room = asking->page.limit + 1;
    size_t count = asking->seen < room ? asking->seen : room;
    for (size_t i = 0; i < count; i++) {
        const Kept *kept = &asking->ring[(asking->seen - 1 - i) % room];
        AuditRow row;
        if (!*left)
            return false;
        if (audit_row_unpack(kept->value, &row))
            continue;
        audit_row_json(json, kept->key, &row);
        *last = kept->key;
        --*left;
    }
    return true;
}

static void read_rows(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Asking *asking = exchange->state;
    uint32_t left = asking->page.limit;
    bool more = false;
    Slice last = { NULL, 0 };
    asking->arena = &call->arena;
    asking->ring =
        arena_take(&call->arena, (asking->page.limit + 1) * sizeof *asking->ring);
    call->err = store->kind->definitions(store, SLICE_LITERAL(AUDIT_TABLE), take_hour,
                                         asking, &call->why);
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_array(&json, "items");
    for (size_t i = asking->hour_count; i-- > 0 && !call->err && !more;) {
        char table[AUDIT_HOUR_BYTES];
        snprintf(table, sizeof table, AUDIT_HOUR_TABLE SLICE_FMT,
                 SLICE_ARG(asking->hours[i]));
        asking->seen = 0;
        call->err = store->kind->definitions(store, slice_text(table), take_row, asking,
                                             &call->why);
        more = !call->err && !write_hour(asking, &json, &left, &last);
    }
    json_array_end(&json);
    text_or_null(&json, "next_cursor", more ? last : (Slice){ NULL, 0 });
    json_object_end(&json);
    mem_free(asking->hours);
    asking->hours = NULL;
}

static void rows_read(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, 200);
}

/* Every word that stands in a row's `action`. */
static void actions(const char *out_words[ACTIONS_MAX + 1])
{
    static const char *const others[] = { "put",     "delete", "add",
                                          "trigger", "drain",  "test" };
    size_t count = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        out_words[count++] = others[i];
    for (Action action = 0; action < ACTIONS; action++)
        out_words[count++] = action_name(action);
    for (SignalKind kind = 0; kind < SIGNALS; kind++)
        if (signal_changes(kind))
            out_words[count++] = signal_name(kind);
    out_words[count] = NULL;
}

/* False: refused. A word that no row has would look like a quiet day. */
static bool is_word(Exchange *exchange, const char *param, const char *const *words)
{
    Slice value = exchange_param(exchange, param);
    for (size_t i = 0; words[i]; i++)
        if (!value.data || slice_is(value, words[i]))
            return true;
    const char *nearest = nearest_word(value, words);
    exchange_refuse(exchange, "invalid_value", "no %s is called '%.64s'%s%s%s", param,
                    slice_cstr(&exchange->arena, value),
                    nearest ? "; did you mean '" : "", nearest ? nearest : "",
                    nearest ? "'?" : "");
    return false;
}

void api_audit(Exchange *exchange)
{
    const char *kinds[AUDIT_KINDS_MAX + 1];
    const char *words[ACTIONS_MAX + 1];
    audit_kinds(kinds);
    actions(words);
    if (!is_word(exchange, "kind", kinds) || !is_word(exchange, "action", words))
        return;
    Asking *asking = ARENA_NEW(&exchange->arena, Asking);
    if (!api_list_page(exchange, &asking->page))
        return;
    asking->who = exchange_param(exchange, "who");
    asking->action = exchange_param(exchange, "action");
    asking->kind = exchange_param(exchange, "kind");
    asking->target = exchange_param(exchange, "target");
    asking->tenant = exchange_param(exchange, "of");
    exchange->state = asking;
    exchange_read(exchange, read_rows, rows_read);
}
