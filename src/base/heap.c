/* SPDX-License-Identifier: Apache-2.0 */
/* heap.c - see heap.h. */
#include "base/heap.h"

#include "base/mem.h"

#include <assert.h>

static HeapPlace place_for(const Heap *heap, HeapNode *node)
{
    HeapPlace place = { .node = node, .number = node->number };
    if (heap->key)
        place.key = heap->key(node);
    return place;
}

static void set(Heap *heap, size_t index, HeapPlace place)
{
    heap->places[index] = place;
    heap->where[place.number - 1] = (uint32_t)index;
}

static bool before(const Heap *heap, const HeapPlace *a, const HeapPlace *b)
{
    if (a->key.major != b->key.major)
        return a->key.major < b->key.major;
    if (a->key.minor != b->key.minor)
        return a->key.minor < b->key.minor;
    return heap->before(a->node, b->node);
}

static void up(Heap *heap, size_t index, HeapPlace place)
{
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        if (!before(heap, &place, &heap->places[parent]))
            break;
        set(heap, index, heap->places[parent]);
        index = parent;
    }
    set(heap, index, place);
}

static void down(Heap *heap, size_t index, HeapPlace place)
{
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count &&
            before(heap, &heap->places[child + 1], &heap->places[child]))
            child++;
        if (!before(heap, &heap->places[child], &place))
            break;
        set(heap, index, heap->places[child]);
        index = child;
    }
    set(heap, index, place);
}

static void settle(Heap *heap, size_t index, HeapPlace place)
{
    if (index > 0 && before(heap, &place, &heap->places[(index - 1) / 2]))
        up(heap, index, place);
    else
        down(heap, index, place);
}

static uint32_t take_number(Heap *heap)
{
    uint32_t number = heap->free;
    if (number) {
        heap->free = heap->where[number - 1];
        return number;
    }
    MEM_PUSH(heap->where, heap->number_count, heap->number_capacity) = 0;
    return (uint32_t)heap->number_count;
}

static void give_number(Heap *heap, HeapNode *node)
{
    heap->where[node->number - 1] = heap->free;
    heap->free = node->number;
    node->number = 0;
}

void heap_push(Heap *heap, HeapNode *node)
{
    assert(!node->number);
    node->number = take_number(heap);
    HeapPlace place = place_for(heap, node);
    MEM_PUSH(heap->places, heap->count, heap->capacity) = place;
    up(heap, heap->count - 1, place);
}

HeapNode *heap_first(const Heap *heap)
{
    return heap->count ? heap->places[0].node : NULL;
}

void heap_remove(Heap *heap, HeapNode *node)
{
    if (!node->number)
        return;
    size_t index = heap->where[node->number - 1];
    assert(heap->places[index].node == node);
    HeapPlace last = heap->places[--heap->count];
    give_number(heap, node);
    if (last.node != node)
        settle(heap, index, last);
}

void heap_fix(Heap *heap, HeapNode *node)
{
    settle(heap, heap->where[node->number - 1], place_for(heap, node));
}

void heap_done(Heap *heap)
{
    mem_free(heap->places);
    mem_free(heap->where);
    *heap = (Heap){ .before = heap->before, .key = heap->key };
}
