/* SPDX-License-Identifier: Apache-2.0 */
/* resource.c - see resource.h. */
#include "core/resource.h"

#include "base/text.h"

#include <assert.h>

static int64_t list_count(Slice list)
{
    int64_t count = 0;
    for (Slice item; list_next(&list, &item);)
        count++;
    return count;
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
