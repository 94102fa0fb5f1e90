/* SPDX-License-Identifier: Apache-2.0 */
/* heap_test.c - a heap against a list that is searched from end to end. */
#include "base/heap.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ITEMS 64

typedef struct Item {
    HeapNode node; /* must be first */
    uint64_t order;
    bool inside;
} Item;

static bool item_before(const HeapNode *a, const HeapNode *b)
{
    return ((const Item *)(const void *)a)->order <
           ((const Item *)(const void *)b)->order;
}

/* Only roughly where it belongs: items of the same key are compared themselves. */
static HeapKey item_key(const HeapNode *node)
{
    uint64_t order = ((const Item *)(const void *)node)->order;
    return (HeapKey){ .major = order / 8, .minor = (int64_t)(order / 4) - 2 };
}

/* The smallest order of all items that are inside; UINT64_MAX if none is. */
static uint64_t smallest(const Item *items)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].inside && items[i].order < least)
            least = items[i].order;
    return least;
}

static void check(const Heap *heap, const Item *items)
{
    size_t inside = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        inside += items[i].inside;
        assert_int_equal(items[i].node.number != 0, items[i].inside);
        if (items[i].inside)
            assert_ptr_equal(heap->places[heap->where[items[i].node.number - 1]].node,
                             &items[i].node);
    }
    assert_int_equal(heap->count, inside);
    const Item *first = (const Item *)(const void *)heap_first(heap);
    assert_int_equal(first == NULL, inside == 0);
    if (first)
        assert_true(first->order == smallest(items));
}

static void the_first_is_always_the_smallest(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        Rng rng = { seed };
        Heap heap = { .before = item_before, .key = seed % 2 ? item_key : NULL };
        Item items[ITEMS] = { 0 };
        for (int step = 0; step < 2000; step++) {
            Item *item = &items[rng_below(&rng, ITEMS)];
            switch (rng_below(&rng, 3)) {
            case 0:
                if (item->inside)
                    break;
                item->order = rng_below(&rng, 20); /* many are equal */
                item->inside = true;
                heap_push(&heap, &item->node);
                break;
            case 1:
                heap_remove(&heap, &item->node); /* out of it: nothing happens */
                item->inside = false;
                break;
            default:
                item->order = rng_below(&rng, 20);
                if (item->inside)
                    heap_fix(&heap, &item->node);
            }
            check(&heap, items);
        }
        heap_done(&heap);
        assert_null(heap_first(&heap));
    }
}

static void taking_the_first_again_and_again_sorts(void **state)
{
    (void)state;
    Rng rng = { 7 };
    Heap heap = { .before = item_before };
    Item items[ITEMS] = { 0 };
    for (size_t i = 0; i < ITEMS; i++) {
        items[i].order = rng_next(&rng);
        heap_push(&heap, &items[i].node);
    }
    uint64_t before = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        HeapNode *first = heap_first(&heap);
        assert_true(((Item *)(void *)first)->order >= before);
        before = ((Item *)(void *)first)->order;
        heap_remove(&heap, first);
    }
    assert_null(heap_first(&heap));
    heap_done(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_always_the_smallest),
        cmocka_unit_test(taking_the_first_again_and_again_sorts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
