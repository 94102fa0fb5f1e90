/* SPDX-License-Identifier: Apache-2.0 */
/* remote_order_text.c - see remote_order_text.h. */
#include "cluster/remote_order_text.h"

#include "base/fields.h"
#include "base/json_out.h"
#include "json/json_in.h"
#include "json/json_write.h"

#include <stddef.h>

static const FieldRow rows[] = {
    { 1, offsetof(RemoteOrderText, kind), FIELD_32 },
    { 2, offsetof(RemoteOrderText, token), FIELD_64 },
    { 3, offsetof(RemoteOrderText, signal), FIELD_32 },
    { 4, offsetof(RemoteOrderText, err), FIELD_32 },
    { 5, offsetof(RemoteOrderText, job), FIELD_64 },
    { 6, offsetof(RemoteOrderText, created), FIELD_BOOL },
    { 40, offsetof(RemoteOrderText, name), FIELD_SLICE },
    { 41, offsetof(RemoteOrderText, unit), FIELD_SLICE },
    { 42, offsetof(RemoteOrderText, next), FIELD_SLICE },
    { 43, offsetof(RemoteOrderText, plan), FIELD_SLICE },
    { 44, offsetof(RemoteOrderText, problem), FIELD_SLICE },
    { 45, offsetof(RemoteOrderText, why), FIELD_SLICE },
    { 46, offsetof(RemoteOrderText, out), FIELD_SLICE },
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

void remote_order_pack(Buf *out, const RemoteOrderText *text)
{
    fields_pack(out, &fields, text);
}

Err remote_order_unpack(Slice packed, RemoteOrderText *out)
{
    RemoteOrderText text = { 0 };
    Err err = fields_unpack(packed, &fields, &text);
    bool known =
        text.kind == REMOTE_ORDER_ANSWER ||
        (text.kind == REMOTE_ORDER_ORDER && (unsigned)text.signal <= ORDER_LOADS);
    if (err || !known)
        return ERR_CORRUPT;
    *out = text;
    return ERR_OK;
}

/* --- Lists ---------------------------------------------------------------------------
 */

static void add_items(Buf *out, const JsonIn *list, bool *first)
{
    const JsonIn *at = list && list->kind == JSON_IN_LIST ? json_in_first(list) : NULL;
    for (; at; at = at->next) {
        if (!*first)
            buf_add_char(out, ',');
        json_in_write(at, out);
        *first = false;
    }
}

static void add_down(Buf *out, const JsonIn *known, bool *first)
{
    Buf problem = { 0 };
    JsonOut json = { .out = out };
    Slice node = json_in_text_of(known, "node");
    if (!*first)
        buf_add_char(out, ',');
    *first = false;
    buf_printf(&problem, "node " SLICE_FMT " does not answer", SLICE_ARG(node));
    json_object(&json, NULL);
    json_text(&json, "name", json_in_text_of(known, "name"));
    json_text(&json, "id", json_in_text_of(known, "id"));
    json_text(&json, "node", node);
    json_text(&json, "directory", json_in_text_of(known, "directory"));
    json_bool(&json, "up", false);
    json_array(&json, "problems");
    json_object(&json, NULL);
    json_cstr(&json, "unit", "");
    json_text(&json, "problem", buf_slice(&problem));
    json_object_end(&json);
    json_array_end(&json);
    json_object_end(&json);
    buf_done(&problem);
}

static bool answered(const RemoteOrderPart *parts, size_t count, Slice sysid)
{
    for (size_t i = 0; i < count; i++)
        if (slice_equal(parts[i].sysid, sysid) && parts[i].text.bytes)
            return true;
    return false;
}

static void add_elsewhere(Buf *out, const JsonIn *list, const RemoteOrderPart *parts,
                          size_t count, bool *first)
{
    const JsonIn *at = list && list->kind == JSON_IN_LIST ? json_in_first(list) : NULL;
    for (; at; at = at->next)
        if (!answered(parts, count, json_in_text_of(at, "node")))
            add_down(out, at, first);
}

void remote_order_merge(Buf *out, const RemoteOrderPart *parts, size_t count)
{
    Arena arena = { 0 };
    const JsonIn **roots = arena_take(&arena, (count + 1) * sizeof *roots);
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        JsonFault fault;
        if (!parts[i].text.bytes ||
            json_in_load(parts[i].text, &arena, &roots[i], &fault))
            roots[i] = NULL;
    }
    buf_add_text(out, "{\"items\":[");
    for (size_t i = 0; i < count; i++)
        add_items(out, json_in_find(roots[i], "items"), &first);
    add_elsewhere(out, count ? json_in_find(roots[0], "elsewhere") : NULL, parts, count,
                  &first);
    buf_add_text(out, "],\"next_cursor\":null,\"brokers\":[");
    first = true;
    for (size_t i = 0; i < count; i++)
        add_items(out, json_in_find(roots[i], "brokers"), &first);
    buf_add_text(out, "]}");
    arena_done(&arena);
}
