/* SPDX-License-Identifier: Apache-2.0 */
/* declare_apply.c - see declare_apply.h. */
#include "engine/declare_apply.h"

#include "cluster/retired_nodes.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct List {
    Arena arena;
    DeclareChange *items; /* sorted by table, tenant and name */
    size_t count;
    size_t capacity;
} List;

typedef struct Other { /* a mark of another node, or of who had the store before */
    DeclareChange item;
    Slice holder; /* "": a store that was not shared */
    Buf text;     /* what they point into */
} Other;

struct Declares {
    Arena arena;
    Slice home;           /* of definitions of this node's own; "": the store is */
    pthread_mutex_t lock; /* of `wanted` and `others`: other threads look into them */
    List applied;         /* what the store had before the last changes */
    List wanted;          /* what the file says */
    Other **others;       /* sorted by table, tenant, name and holder */
    size_t other_count;
    size_t other_capacity;
    RetiredNodes *gone; /* likewise */
    bool begun;         /* `wanted` has been set */
    bool pending;       /* ... and not told */
};

static int slice_order(Slice a, Slice b)
{
    size_t least = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = least ? memcmp(a.data, b.data, least) : 0;
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static int item_order(const void *left, const void *right)
{
    const DeclareChange *a = left;
    const DeclareChange *b = right;
    int order = slice_order(a->table, b->table);
    if (!order)
        order = slice_order(a->tenant, b->tenant);
    return order ? order : slice_order(a->name, b->name);
}

static void list_done(List *list)
{
    arena_done(&list->arena);
    mem_free(list->items);
    *list = (List){ 0 };
}

static void list_add(List *list, const DeclareChange *item)
{
    MEM_PUSH(list->items, list->count, list->capacity) = (DeclareChange){
        .table = slice_copy(&list->arena, item->table),
        .tenant = slice_copy(&list->arena, item->tenant),
        .name = slice_copy(&list->arena, item->name),
        .value = slice_copy(&list->arena, item->value),
    };
}

static void list_sort(List *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, item_order);
}

static const DeclareChange *list_find(const List *list, const DeclareChange *key)
{
    if (!list->count)
        return NULL;
    return bsearch(key, list->items, list->count, sizeof *list->items, item_order);
}

/* --- Marks of others ---------------------------------------------------------------- */

static void other_free(Other *other)
{
    buf_done(&other->text);
    mem_free(other);
}

static int other_order(const Other *other, const DeclareChange *item, Slice holder)
{
    int order = item_order(&other->item, item);
    return order ? order : slice_order(other->holder, holder);
}

/* Where the mark is, or would stand. */
static size_t other_find(const Declares *declares, const DeclareChange *item,
                         Slice holder)
{
    size_t low = 0;
    for (size_t high = declares->other_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (other_order(declares->others[middle], item, holder) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static Other *other_new(const DeclareChange *item, Slice holder)
{
    Other *other = MEM_NEW(Other);
    const Slice from[] = { item->table, item->tenant, item->name, item->value, holder };
    Slice *to[] = { &other->item.table, &other->item.tenant, &other->item.name,
                    &other->item.value, &other->holder };
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        buf_add_slice(&other->text, from[i]);
    const char *at = buf_slice(&other->text).data;
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        *to[i] = slice_of(at, from[i].bytes);
        at += from[i].bytes;
    }
    return other;
}

static void other_remove(Declares *declares, size_t at)
{
    other_free(declares->others[at]);
    declares->other_count--;
    memmove(&declares->others[at], &declares->others[at + 1],
            (declares->other_count - at) * sizeof(Other *));
}

static void other_set(Declares *declares, const DeclareChange *item, Slice holder)
{
    size_t at = other_find(declares, item, holder);
    if (at < declares->other_count &&
        other_order(declares->others[at], item, holder) == 0)
        other_remove(declares, at);
    if (!item->value.data)
        return;
    MEM_PUSH(declares->others, declares->other_count, declares->other_capacity) = NULL;
    memmove(&declares->others[at + 1], &declares->others[at],
            (declares->other_count - 1 - at) * sizeof(Other *));
    declares->others[at] = other_new(item, holder);
}

/* Another node's file has it. */
static bool others_have(const Declares *declares, const DeclareChange *item)
{
    size_t at = other_find(declares, item, (Slice){ NULL, 0 });
    for (; declares->home.bytes && at < declares->other_count; at++) {
        const Other *other = declares->others[at];
        if (item_order(&other->item, item) != 0)
            return false;
        if (other->holder.bytes && !retired_nodes_knows(declares->gone, other->holder))
            return true;
    }
    return false;
}

/* Whoever had it in a file has defined it with the same value. */
static bool others_defined(const Declares *declares, const DeclareChange *item)
{
    size_t at = other_find(declares, item, (Slice){ NULL, 0 });
    for (; at < declares->other_count; at++) {
        const Other *other = declares->others[at];
        if (item_order(&other->item, item) != 0)
            return false;
        if (slice_equal(other->item.value, item->value))
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------ */

Declares *declares_new(void)
{
    Declares *declares = MEM_NEW(Declares);
    declares->gone = retired_nodes_new();
    pthread_mutex_init(&declares->lock, NULL);
    return declares;
}

void declares_free(Declares *declares)
{
    if (!declares)
        return;
    list_done(&declares->applied);
    list_done(&declares->wanted);
    for (size_t i = 0; i < declares->other_count; i++)
        other_free(declares->others[i]);
    mem_free(declares->others);
    retired_nodes_free(declares->gone);
    arena_done(&declares->arena);
    pthread_mutex_destroy(&declares->lock);
    mem_free(declares);
}

void declares_home(Declares *declares, Slice sysid)
{
    declares->home = slice_copy(&declares->arena, sysid);
}

static bool is_own(Slice table)
{
    for (const DeclareSection *row = declare_sections(); row->noun; row++)
        if (slice_is(table, row->noun->table))
            return row->noun->own;
    return false;
}

/* What a mark is of; its holder is "" on a store that is not shared. */
static DeclareChange mark_read(const Definition *definition, Slice *out_holder)
{
    DeclareChange item = { .tenant = definition->tenant,
                           .name = definition->key,
                           .value = definition->value };
    *out_holder = (Slice){ NULL, 0 };
    if (item.name.bytes && item.name.data[0] == '@') {
        *out_holder = slice_cut(&item.name, ' ');
        *out_holder = slice_of(out_holder->data + 1, out_holder->bytes - 1);
    }
    item.table = slice_cut(&item.name, ' ');
    return item;
}

void declares_mark(const Declares *declares, const DeclareChange *change, Buf *out)
{
    if (declares->home.bytes)
        buf_printf(out, "@" SLICE_FMT " ", SLICE_ARG(declares->home));
    buf_printf(out, SLICE_FMT " " SLICE_FMT, SLICE_ARG(change->table),
               SLICE_ARG(change->name));
}

void declares_stored(void *context, const Definition *definition)
{
    Declares *declares = context;
    Slice holder;
    DeclareChange item = mark_read(definition, &holder);
    if (is_own(item.table) && !slice_equal(item.tenant, declares->home))
        return;
    if (slice_equal(holder, declares->home))
        list_add(&declares->applied, &item);
    else
        other_set(declares, &item, holder);
}

void declares_heard(Declares *declares, const Definition *mark)
{
    Slice holder;
    DeclareChange item = mark_read(mark, &holder);
    if (is_own(item.table) || slice_equal(holder, declares->home))
        return;
    pthread_mutex_lock(&declares->lock);
    other_set(declares, &item, holder);
    pthread_mutex_unlock(&declares->lock);
}

void declares_gone(void *context, const Definition *definition)
{
    Declares *declares = context;
    pthread_mutex_lock(&declares->lock);
    retired_nodes_defined(declares->gone, definition);
    pthread_mutex_unlock(&declares->lock);
}

void declares_set(Declares *declares, const Declared *first)
{
    List list = { 0 };
    for (const Declared *at = first; at; at = at->next)
        list_add(&list,
                 &(DeclareChange){ .table = slice_text(at->section->noun->table),
                                   .tenant = at->section->noun->own ? declares->home
                                                                    : at->tenant,
                                   .name = at->name,
                                   .value = at->value });
    list_sort(&list);
    list_sort(&declares->applied);
    pthread_mutex_lock(&declares->lock);
    List before = declares->wanted;
    declares->wanted = list;
    pthread_mutex_unlock(&declares->lock);
    if (declares->begun && !declares->pending) {
        list_done(&declares->applied);
        declares->applied = before;
    } else {
        list_done(&before); /* never told: the store is where it was */
    }
    declares->begun = declares->pending = true;
}

bool declares_pending(const Declares *declares)
{
    return declares->pending;
}

static void tell_gone(const Declares *declares, DeclareSink *sink, void *context)
{
    for (size_t i = 0; i < declares->applied.count; i++) {
        DeclareChange gone = declares->applied.items[i];
        gone.value = (Slice){ NULL, 0 };
        gone.mark_only = others_have(declares, &gone);
        if (!list_find(&declares->wanted, &gone))
            sink(context, &gone);
    }
}

void declares_changes(Declares *declares, DeclareSink *sink, void *context)
{
    tell_gone(declares, sink, context);
    for (const DeclareSection *row = declare_sections(); row->noun; row++) {
        for (size_t i = 0; i < declares->wanted.count; i++) {
            DeclareChange *item = &declares->wanted.items[i];
            const DeclareChange *before = list_find(&declares->applied, item);
            if (!slice_is(item->table, row->noun->table) ||
                (before && slice_equal(before->value, item->value)))
                continue;
            item->mark_only = !before && others_defined(declares, item);
            sink(context, item);
        }
    }
    declares->pending = false;
}

bool declares_has(Declares *declares, Slice table, Slice tenant, Slice name)
{
    DeclareChange key = { .table = table, .tenant = tenant, .name = name };
    pthread_mutex_lock(&declares->lock);
    bool has = list_find(&declares->wanted, &key) || others_have(declares, &key);
    pthread_mutex_unlock(&declares->lock);
    return has;
}
