/* SPDX-License-Identifier: Apache-2.0 */
/* audit_row.c - see audit_row.h. */
#include "access/audit_row.h"

#include "access/token.h"
#include "base/fields.h"
#include "base/times.h"
#include "cluster/retired_nodes.h"
#include "config/settings.h"
#include "core/event.h"
#include "core/group.h"
#include "core/node/drain.h"
#include "core/operation.h"
#include "engine/processors.h"
#include "noun/alert_rule.h"
#include "noun/handler.h"
#include "noun/queue.h"
#include "noun/resource.h"
#include "noun/schedule.h"
#include "noun/tenant.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#define SHOWN_BYTES_MAX (16u << 10) /* of one definition */

static const FieldRow rows[] = {
    { 1, offsetof(AuditRow, at_ms), FIELD_64 },
    { 2, offsetof(AuditRow, who), FIELD_SLICE },
    { 3, offsetof(AuditRow, from), FIELD_SLICE },
    { 4, offsetof(AuditRow, action), FIELD_SLICE },
    { 5, offsetof(AuditRow, kind), FIELD_SLICE },
    { 6, offsetof(AuditRow, tenant), FIELD_SLICE },
    { 7, offsetof(AuditRow, target), FIELD_SLICE },
    { 8, offsetof(AuditRow, count), FIELD_64 },
    { 9, offsetof(AuditRow, before), FIELD_SLICE },
    { 10, offsetof(AuditRow, after), FIELD_SLICE },
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

void audit_row_pack(Buf *out, const AuditRow *row)
{
    fields_pack(out, &fields, row);
}

Err audit_row_unpack(Slice packed, AuditRow *out)
{
    AuditRow row = { 0 };
    if (fields_unpack(packed, &fields, &row))
        return ERR_CORRUPT;
    *out = row;
    return ERR_OK;
}

static void raw_or_null(JsonOut *json, const char *key, Slice text)
{
    if (text.bytes)
        json_raw(json, key, text);
    else
        json_null(json, key);
}

void audit_row_json(JsonOut *json, Slice key, const AuditRow *row)
{
    json_object(json, NULL);
    json_text(json, "id", key);
    json_time(json, "at", row->at_ms);
    json_text(json, "who", row->who);
    json_text(json, "from", row->from);
    json_text(json, "action", row->action);
    json_text(json, "kind", row->kind);
    text_or_null(json, "tenant", row->tenant);
    text_or_null(json, "target", row->target);
    json_int(json, "count", (int64_t)row->count);
    raw_or_null(json, "before", row->before);
    raw_or_null(json, "after", row->after);
    json_object_end(json);
}

int64_t audit_hour(int64_t wall_ms)
{
    return wall_ms / MS_PER_HOUR;
}

Slice audit_hour_table(int64_t hour, char out[AUDIT_HOUR_BYTES])
{
    snprintf(out, AUDIT_HOUR_BYTES, AUDIT_HOUR_TABLE "%010lld", (long long)hour);
    return slice_text(out);
}

Slice audit_key(int64_t wall_ms, unsigned node, unsigned sequence,
                char out[AUDIT_KEY_BYTES])
{
    snprintf(out, AUDIT_KEY_BYTES, "%013lld-%04u-%06u", (long long)wall_ms, node % 10000,
             sequence % 1000000);
    return slice_text(out);
}

/* --- Definitions
 * --------------------------------------------------------------------- */

static void show_setting(JsonOut *json, Slice key, Slice value)
{
    (void)key;
    json_text(json, "value", value);
}

static void show_token(JsonOut *json, Slice key, Slice value)
{
    Token token;
    TokenUse unused = { 0 };
    (void)key;
    if (!token_unpack(value, &token))
        token_members(json, &token, &unused, token.created_ms);
}

static void show_group(JsonOut *json, Slice key, Slice value)
{
    GroupDefinition group;
    (void)key;
    if (!group_unpack(value, &group))
        json_text(json, "then", group.then);
}

static void show_operation(JsonOut *json, Slice key, Slice value)
{
    Operation operation;
    (void)key;
    if (operation_unpack(value, &operation))
        return;
    json_cstr(json, "action", action_name(operation.action));
    json_text(json, "q", operation.query);
    json_int(json, "count", operation.count);
    json_cstr(json, "state", operation_state_name(operation.state));
}

static void show_drain(JsonOut *json, Slice key, Slice value)
{
    NodeDrain drain;
    (void)key;
    if (drain_unpack(value, &drain))
        return;
    json_time(json, "since", drain.since_ms);
    json_text(json, "reason", drain.reason);
}

static void show_gone(JsonOut *json, Slice key, Slice value)
{
    (void)key;
    json_raw(json, "epoch", value); /* a number as text */
}

/* Values of processors are JSON texts; they name variables of their commands, too. */
static void show_processor(JsonOut *json, Slice key, Slice value)
{
    (void)key;
    json_int(json, "bytes", (int64_t)value.bytes);
}

/* Nouns are shown by their tables, without what is secret; the rest by hand. */
static const struct Watched {
    const char *table;
    const char *kind;
    void (*show)(JsonOut *json, Slice key, Slice value);
} watched[] = {
    { SETTINGS_TABLE, "setting", show_setting },
    { TOKEN_TABLE, "token", show_token },
    { GROUP_TABLE, "group", show_group },
    { OPERATION_TABLE, "operation", show_operation },
    { DRAIN_TABLE, "node_drain", show_drain },
    { RETIRED_NODES_TABLE, "node_gone", show_gone },
    { PROCESSOR_TABLE, "processor", show_processor },
};
#define WATCHED (sizeof watched / sizeof *watched)

static const Noun *const nouns[] = { &handler_noun, &queue_noun,    &resource_noun,
                                     &tenant_noun,  &schedule_noun, &alert_rule_noun,
                                     &slots_noun };
#define NOUNS (sizeof nouns / sizeof *nouns)

static const struct Watched *find(Slice table)
{
    for (size_t i = 0; i < WATCHED; i++)
        if (slice_is(table, watched[i].table))
            return &watched[i];
    return NULL;
}

static const Noun *find_noun(Slice table)
{
    for (size_t i = 0; i < NOUNS; i++)
        if (slice_is(table, nouns[i]->table))
            return nouns[i];
    return NULL;
}

static void show_noun(JsonOut *json, const Noun *noun, Slice key, Slice value)
{
    Arena arena = { 0 };
    NounView view = { .noun = noun, .name = key, .audit = true };
    void *object = arena_take(&arena, noun->bytes);
    view.object = object;
    if (!noun_unpack(value, noun, object))
        noun_members(json, &view);
    arena_done(&arena);
}

bool audit_watches(Slice table, const char **out_kind)
{
    const struct Watched *found = find(table);
    const Noun *noun = find_noun(table);
    *out_kind = found ? found->kind : noun ? noun->name : NULL;
    return *out_kind != NULL;
}

bool audit_is_mark(Slice table, Slice value)
{
    Handler handler;
    return slice_is(table, HANDLER_TABLE) && !handler_unpack(value, &handler) &&
           handler.deleted;
}

void audit_kinds(const char *out_words[AUDIT_KINDS_MAX + 1])
{
    static_assert(WATCHED + NOUNS < AUDIT_KINDS_MAX,
                  "there is room for all and for jobs");
    size_t count = 0;
    for (size_t i = 0; i < NOUNS; i++)
        out_words[count++] = nouns[i]->name;
    for (size_t i = 0; i < WATCHED; i++)
        out_words[count++] = watched[i].kind;
    out_words[count++] = "job";
    out_words[count] = NULL;
}

void audit_definition_json(Buf *out, Slice table, Slice key, Slice value)
{
    const struct Watched *found = find(table);
    const Noun *noun = find_noun(table);
    JsonOut json = { .out = out };
    if ((!found && !noun) || !value.data)
        return;
    json_object(&json, NULL);
    if (noun)
        show_noun(&json, noun, key, value);
    else
        found->show(&json, key, value);
    json_object_end(&json);
    if (out->bytes <= SHOWN_BYTES_MAX)
        return;
    size_t bytes = out->bytes;
    buf_clear(out);
    json = (JsonOut){ .out = out };
    json_object(&json, NULL);
    json_bool(&json, "cut", true);
    json_int(&json, "bytes", (int64_t)bytes);
    json_object_end(&json);
}
