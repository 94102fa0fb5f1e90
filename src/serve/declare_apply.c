/* SPDX-License-Identifier: Apache-2.0 */
/* declare_apply.c - see declare_apply.h. */
#include "serve/declare_apply.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct List {
    Arena arena;
    DeclareChange *items; /* sorted by table, tenant and name */
    size_t count;
    size_t capacity;
} List;

struct Declares {
    Arena arena;
    Slice home;           /* of definitions of this node's own; "": the store is */
    pthread_mutex_t lock; /* of `wanted`, which other threads look into */
    List applied;         /* what the store had before the last changes */
    List wanted;          /* what the file says */
    bool begun;           /* `wanted` has been set */
    bool pending;         /* ... and not told */
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

Declares *declares_new(void)
{
    Declares *declares = MEM_NEW(Declares);
    pthread_mutex_init(&declares->lock, NULL);
    return declares;
}

void declares_free(Declares *declares)
{
    if (!declares)
        return;
    list_done(&declares->applied);
    list_done(&declares->wanted);
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
    for (const DeclareSection *row = declare_sections(); row->section; row++)
        if (slice_is(table, row->table))
            return row->own;
    return false;
}

void declares_stored(void *context, const Definition *definition)
{
    Declares *declares = context;
    Slice name = definition->key;
    Slice table = slice_cut(&name, ' ');
    if (is_own(table) && !slice_equal(definition->tenant, declares->home))
        return;
    list_add(&declares->applied, &(DeclareChange){ .table = table,
                                                   .tenant = definition->tenant,
                                                   .name = name,
                                                   .value = definition->value });
}

void declares_set(Declares *declares, const Declared *first)
{
    List list = { 0 };
    for (const Declared *at = first; at; at = at->next)
        list_add(&list, &(DeclareChange){ .table = slice_text(at->section->table),
                                          .tenant = at->section->own ? declares->home
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
        if (!list_find(&declares->wanted, &gone))
            sink(context, &gone);
    }
}

void declares_changes(Declares *declares, DeclareSink *sink, void *context)
{
    tell_gone(declares, sink, context);
    for (const DeclareSection *row = declare_sections(); row->section; row++) {
        for (size_t i = 0; i < declares->wanted.count; i++) {
            const DeclareChange *item = &declares->wanted.items[i];
            const DeclareChange *before = list_find(&declares->applied, item);
            if (slice_is(item->table, row->table) &&
                (!before || !slice_equal(before->value, item->value)))
                sink(context, item);
        }
    }
    declares->pending = false;
}

bool declares_has(Declares *declares, Slice table, Slice tenant, Slice name)
{
    DeclareChange key = { .table = table, .tenant = tenant, .name = name };
    pthread_mutex_lock(&declares->lock);
    bool has = list_find(&declares->wanted, &key) != NULL;
    pthread_mutex_unlock(&declares->lock);
    return has;
}
