/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - a binary heap of items that can be found in it.
 *
 * An item is any struct that begins with a HeapNode; the caller owns the items and
 * says by `before` which comes first. Changing an item's order in place needs
 * heap_fix. A heap of very many items may have a `key` besides: what most decides their
 * order is then compared beside its places, and items are fetched only when it is equal.
 * Moving things up and down touches no item: they know a number, which stays. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct HeapNode {
    uint32_t number; /* in its heap; 0 when in none */
} HeapNode;

typedef struct HeapKey { /* smaller ones first, major before minor */
    uint64_t major;
    int64_t minor;
} HeapKey;

typedef struct HeapPlace {
    HeapKey key;
    HeapNode *node;
    uint32_t number; /* the node's */
} HeapPlace;

typedef struct Heap {
    HeapPlace *places;
    size_t count;
    size_t capacity;
    uint32_t *where; /* by number - 1: index of its place; of a free one, the next free */
    size_t number_count;
    size_t number_capacity;
    uint32_t free; /* a number that no one has; 0: none */
    bool (*before)(const HeapNode *a, const HeapNode *b);
    HeapKey (*key)(const HeapNode *node); /* as `before` says, or equal; NULL: none */
} Heap;

void heap_push(Heap *heap, HeapNode *node);
HeapNode *heap_first(const Heap *heap);       /* NULL when empty */
void heap_remove(Heap *heap, HeapNode *node); /* nothing happens when it is in none */
void heap_fix(Heap *heap, HeapNode *node);
void heap_done(Heap *heap);

#endif
