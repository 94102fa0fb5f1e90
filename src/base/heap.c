/* SPDX-License-Identifier: Apache-2.0 */
/* heap.c - see heap.h. */
#include "base/heap.h"

#include "base/mem.h"

#include <assert.h>

static void set(Heap *heap, size_t index, HeapNode *node)
{
    heap->nodes[index] = node;
    node->place = index + 1;
}

static void up(Heap *heap, size_t index)
{
    HeapNode *node = heap->nodes[index];
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        if (!heap->before(node, heap->nodes[parent]))
            break;
        set(heap, index, heap->nodes[parent]);
        index = parent;
    }
    set(heap, index, node);
}

static void down(Heap *heap, size_t index)
{
    HeapNode *node = heap->nodes[index];
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count &&
            heap->before(heap->nodes[child + 1], heap->nodes[child]))
            child++;
        if (!heap->before(heap->nodes[child], node))
            break;
        set(heap, index, heap->nodes[child]);
        index = child;
    }
    set(heap, index, node);
}

void heap_push(Heap *heap, HeapNode *node)
{
    assert(!node->place);
    MEM_PUSH(heap->nodes, heap->count, heap->capacity) = node;
    node->place = heap->count;
    up(heap, heap->count - 1);
}

HeapNode *heap_first(const Heap *heap)
{
    return heap->count ? heap->nodes[0] : NULL;
}

void heap_remove(Heap *heap, HeapNode *node)
{
    if (!node->place)
        return;
    size_t index = node->place - 1;
    assert(heap->nodes[index] == node);
    HeapNode *last = heap->nodes[--heap->count];
    node->place = 0;
    if (last == node)
        return;
    set(heap, index, last);
    heap_fix(heap, last);
}

void heap_fix(Heap *heap, HeapNode *node)
{
    up(heap, node->place - 1);
    down(heap, node->place - 1);
}

void heap_done(Heap *heap)
{
    mem_free(heap->nodes);
    heap->nodes = NULL;
    heap->count = heap->capacity = 0;
}
