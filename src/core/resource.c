/* SPDX-License-Identifier: Apache-2.0 */
/* resource.c - see resource.h. */
#include "core/resource.h"

#include "base/fields.h"
#include "base/text.h"
#include "core/job.h"

#include <assert.h>
#include <stddef.h>

#define DEFAULT_QUANTITY 10
#define RM_PREFIX        "com.enioka.jqm.rm."

static const char default_items[] = "item01\0item02\0item03\0item04\0item05\0"
                                    "item06\0item07\0item08\0item09\0item10";

const char *resource_kind_name(ResourceKind kind)
{
    switch (kind) {
    case RESOURCE_QUANTITY:
        return "quantity";
    case RESOURCE_DISCRETE:
        return "discrete";
    case RESOURCE_HIGHLANDER:
        return "highlander";
    }
    return "?";
}

Err resource_kind_parse(Slice text, ResourceKind *out_kind)
{
    static const char *const classes[RESOURCE_KINDS] = {
        [RESOURCE_QUANTITY] = "com.enioka.jqm.tools.QuantityResourceManager",
        [RESOURCE_DISCRETE] = "com.enioka.jqm.tools.DiscreteResourceManager",
        [RESOURCE_HIGHLANDER] = "com.enioka.jqm.tools.HighlanderResourceManager",
    };
    for (unsigned kind = 0; kind < RESOURCE_KINDS; kind++) {
        if (!slice_is(text, resource_kind_name((ResourceKind)kind)) &&
            !slice_is(text, classes[kind]))
            continue;
        *out_kind = (ResourceKind)kind;
        return ERR_OK;
    }
    return ERR_INVALID;
}

const char *resource_scope_name(ResourceScope scope)
{
    switch (scope) {
    case SCOPE_NODE:
        return "node";
    case SCOPE_CLUSTER:
        return "cluster";
    }
    return "?";
}

ResourceDef resource_default(Slice key, ResourceKind kind)
{
    ResourceDef def = { .key = key, .kind = kind };
    switch (kind) {
    case RESOURCE_QUANTITY:
        def.quantity = DEFAULT_QUANTITY;
        def.consumption = 1;
        break;
    case RESOURCE_DISCRETE:
        def.list = slice_of(default_items, sizeof default_items);
        break;
    case RESOURCE_HIGHLANDER:
        def.consumption = 1;
        def.scope = SCOPE_CLUSTER; /* at most one instance cluster-wide */
        break;
    }
    return def;
}

static int64_t list_count(Slice list)
{
    int64_t count = 0;
    for (Slice item; list_next(&list, &item);)
        count++;
    return count;
}

int64_t resource_capacity(const ResourceDef *def)
{
    switch (def->kind) {
    case RESOURCE_QUANTITY:
        return def->quantity;
    case RESOURCE_DISCRETE:
        return list_count(def->list);
    case RESOURCE_HIGHLANDER:
        break;
    }
    return INT64_MAX;
}

#define ROW(tag, member, kind)                                                           \
    {                                                                                    \
        (tag), offsetof(ResourceDef, member), (kind)                                     \
    }

static const FieldRow def_rows[] = {
    ROW(1, kind, FIELD_32),        ROW(2, scope, FIELD_32),   ROW(3, quantity, FIELD_64),
    ROW(4, consumption, FIELD_64), ROW(40, key, FIELD_SLICE), ROW(41, list, FIELD_SLICE),
};
static const Fields def_fields = { def_rows, FIELDS_COUNT(def_rows), NULL };

_Static_assert(sizeof(ResourceKind) == sizeof(uint32_t), "enums are read as 32 bits");
_Static_assert(sizeof(ResourceScope) == sizeof(uint32_t), "enums are read as 32 bits");

void resource_pack(Buf *out, const ResourceDef *def)
{
    fields_pack(out, &def_fields, def);
}

Err resource_unpack(Slice packed, ResourceDef *out_def)
{
    ResourceDef def = { 0 };
    PackField in;
    while (pack_next(&packed, &in))
        if (fields_set(&def_fields, &in, &def))
            return ERR_CORRUPT;
    if (pack_damaged(packed) || (unsigned)def.kind >= RESOURCE_KINDS ||
        (unsigned)def.scope > SCOPE_CLUSTER)
        return ERR_CORRUPT;
    *out_def = def;
    return ERR_OK;
}

ResourceDef resource_copy(Arena *arena, const ResourceDef *def)
{
    ResourceDef copy = *def;
    fields_keep(&def_fields, arena, &copy);
    return copy;
}

/* --- What a job wants ------------------------------------------------------------------
 */

bool wants_find(Slice wants, const ResourceDef *def, int64_t *out_amount)
{
    bool found = false;
    for (Slice item; list_next(&wants, &item);) {
        Slice amount = item;
        Slice key = slice_cut(&amount, '=');
        bool by_kind = key.bytes && key.data[0] == '*';
        if (by_kind
                ? found || !slice_is(slice_from(key, 1), resource_kind_name(def->kind))
                : !slice_equal(key, def->key))
            continue;
        if (int_parse(amount, out_amount))
            continue;
        if (!by_kind)
            return true;
        found = true;
    }
    return found;
}

bool rm_param_parse(Slice name, RmParam *out)
{
    if (!slice_starts(name, SLICE_LITERAL(RM_PREFIX)))
        return false;
    Slice middle = slice_from(name, sizeof RM_PREFIX - 1);
    size_t dot = middle.bytes;
    while (dot > 0 && middle.data[dot - 1] != '.')
        dot--;
    *out = (RmParam){ .param = slice_from(middle, dot) };
    if (dot < 2 || !out->param.bytes)
        return false;
    middle.bytes = dot - 1;
    out->key = middle;
    for (unsigned kind = 0; kind < RESOURCE_KINDS; kind++) {
        Slice word = slice_text(resource_kind_name((ResourceKind)kind));
        bool whole = slice_equal(middle, word);
        if (!whole && !(slice_starts(middle, word) && middle.bytes > word.bytes + 1 &&
                        middle.data[word.bytes] == '.'))
            continue;
        out->has_kind = true;
        out->kind = (ResourceKind)kind;
        out->key = whole ? (Slice){ NULL, 0 } : slice_from(middle, word.bytes + 1);
    }
    return true;
}

int rm_param_rank(const RmParam *param)
{
    return param->key.bytes ? 2 + param->has_kind : 1;
}

/* --- A manager at work -----------------------------------------------------------------
 */

void resource_define(Resource *resource, const ResourceDef *def)
{
    Arena before = resource->arena;
    resource->arena = (Arena){ 0 };
    resource->def = resource_copy(&resource->arena, def);
    resource->used = 0;
    resource->items = NULL;
    resource->taken = NULL;
    resource->item_count = 0;
    map_done(&resource->types);
    if (def->kind == RESOURCE_DISCRETE) {
        size_t count = (size_t)list_count(def->list);
        resource->items = arena_take(&resource->arena, (count + 1) * sizeof(Slice));
        resource->taken = arena_take(&resource->arena, count + 1);
        Slice rest = resource->def.list;
        while (resource->item_count < count &&
               list_next(&rest, &resource->items[resource->item_count]))
            resource->item_count++;
    }
    arena_done(&before);
}

void resource_done(Resource *resource)
{
    arena_done(&resource->arena);
    map_done(&resource->types);
    *resource = (Resource){ 0 };
}

int64_t resource_free(const Resource *resource)
{
    bool listed = resource->def.kind == RESOURCE_DISCRETE;
    int64_t there =
        listed ? (int64_t)resource->item_count : resource_capacity(&resource->def);
    return there > resource->used ? there - resource->used : 0;
}

ResourceAnswer resource_ask(const Resource *resource, int64_t amount, uint64_t whose)
{
    if (resource->def.kind == RESOURCE_HIGHLANDER)
        return map_find(&resource->types, whose) ? RESOURCE_NOT_ENOUGH : RESOURCE_BOOKED;
    int64_t left = resource_free(resource);
    if (amount <= left || !amount)
        return RESOURCE_BOOKED;
    return left ? RESOURCE_NOT_ENOUGH : RESOURCE_EXHAUSTED;
}

static void count_type(Resource *resource, uint64_t whose, int change)
{
    uintptr_t running = (uintptr_t)map_find(&resource->types, whose);
    if (change < 0 && running <= 1)
        map_remove(&resource->types, whose);
    else
        map_put(&resource->types, whose,
                (void *)(change < 0 ? running - 1 : running + 1));
    resource->used += change;
}

void resource_book(Resource *resource, int64_t amount, uint64_t whose, Buf *out)
{
    assert(resource_ask(resource, amount, whose) == RESOURCE_BOOKED);
    if (!amount)
        return;
    buf_add_slice(out, resource->def.key);
    buf_add_char(out, '=');
    if (resource->def.kind != RESOURCE_DISCRETE) {
        bool counted = resource->def.kind == RESOURCE_QUANTITY;
        buf_printf(out, "#%lld", (long long)(counted ? amount : 1));
        buf_add_char(out, '\0');
        if (counted)
            resource->used += amount;
        else
            count_type(resource, whose, 1);
        return;
    }
    int64_t given = 0;
    for (size_t i = 0; i < resource->item_count && given < amount; i++) {
        if (resource->taken[i])
            continue;
        resource->taken[i] = true;
        if (given++)
            buf_add_char(out, ',');
        buf_add_slice(out, resource->items[i]);
    }
    assert(given == amount);
    resource->used += given;
    buf_add_char(out, '\0');
}

static void mark_items(Resource *resource, Slice names, bool taken)
{
    while (names.bytes) {
        Slice name = slice_cut(&names, ',');
        for (size_t i = 0; i < resource->item_count; i++) {
            if (resource->taken[i] == taken || !slice_equal(resource->items[i], name))
                continue;
            resource->taken[i] = taken;
            resource->used += taken ? 1 : -1;
            break;
        }
    }
}

/* A definition may have changed its kind since: then a booking of the old kind counts for
 * nothing. */
static void change(Resource *resource, Slice value, uint64_t whose, int sign)
{
    switch (resource->def.kind) {
    case RESOURCE_QUANTITY:
        if (!booking_has_items(value))
            resource->used += sign * booking_amount(value);
        break;
    case RESOURCE_DISCRETE:
        if (booking_has_items(value))
            mark_items(resource, value, sign > 0);
        break;
    case RESOURCE_HIGHLANDER:
        if (!booking_has_items(value))
            count_type(resource, whose, sign);
        break;
    }
}

void resource_hold(Resource *resource, Slice value, uint64_t whose)
{
    change(resource, value, whose, 1);
}

void resource_release(Resource *resource, Slice value, uint64_t whose)
{
    change(resource, value, whose, -1);
}

int64_t booking_amount(Slice value)
{
    int64_t amount = 0;
    if (booking_has_items(value)) {
        while (value.bytes) {
            slice_cut(&value, ',');
            amount++;
        }
        return amount;
    }
    return int_parse(slice_from(value, 1), &amount) || amount < 0 ? 0 : amount;
}

void resource_check(const Resource *resource)
{
    assert(resource->used >= 0);
    if (resource->def.kind != RESOURCE_DISCRETE)
        return;
    int64_t taken = 0;
    for (size_t i = 0; i < resource->item_count; i++)
        taken += resource->taken[i];
    assert(taken == resource->used);
}
