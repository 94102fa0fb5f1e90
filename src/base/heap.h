/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - a binary heap of items that know their own place in it.
 *
 * An item is any struct that begins with a HeapNode; the caller owns the items and
 * says by `before` which comes first. Changing an item's order in place needs
 * heap_fix. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct HeapNode {
    size_t place; /* 1-based; 0 when in no heap */
} HeapNode;

typedef struct Heap {
    HeapNode **nodes;
    size_t count;
    size_t capacity;
    bool (*before)(const HeapNode *a, const HeapNode *b);
} Heap;

void heap_push(Heap *heap, HeapNode *node);
HeapNode *heap_first(const Heap *heap);       /* NULL when empty */
void heap_remove(Heap *heap, HeapNode *node); /* nothing happens when it is in none */
void heap_fix(Heap *heap, HeapNode *node);
void heap_done(Heap *heap);

#endif
