/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c - see mem.h. */
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK_BYTES ((size_t)16 * 1024) /* a quiet turn fits into one */
#define ARENA_ALIGN       16

struct ArenaBlock {
    ArenaBlock *next;
    size_t used;
    size_t capacity;
    size_t padding; /* keeps bytes[] aligned for any type */
    char bytes[];
};

static void *must(void *memory)
{
    if (memory)
        return memory;
    fputs("pawl: out of memory\n", stderr);
    abort();
}

void *mem_alloc(size_t bytes)
{
    return must(calloc(1, bytes ? bytes : 1));
}

void *mem_grow(void *old, size_t bytes)
{
    return must(realloc(old, bytes ? bytes : 1));
}

void *mem_copy(const void *from, size_t bytes)
{
    void *copy = must(malloc(bytes ? bytes : 1));
    if (bytes)
        memcpy(copy, from, bytes);
    return copy;
}

void mem_free(void *memory)
{
    free(memory);
}

void mem_room(void **items, size_t count, size_t *capacity, size_t item_bytes)
{
    if (count < *capacity)
        return;
    *capacity = *capacity ? *capacity * 2 : 8;
    *items = mem_grow(*items, *capacity * item_bytes);
}

static ArenaBlock *block_new(size_t bytes)
{
    size_t capacity = bytes > ARENA_BLOCK_BYTES ? bytes : ARENA_BLOCK_BYTES;
    ArenaBlock *block = must(malloc(sizeof *block + capacity));
    block->next = NULL;
    block->used = 0;
    block->capacity = capacity;
    return block;
}

void *arena_take(Arena *arena, size_t bytes)
{
    bytes = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (!arena->current)
        arena->first = arena->current = block_new(bytes);
    if (arena->current->capacity - arena->current->used < bytes) {
        arena->current->next = block_new(bytes);
        arena->current = arena->current->next;
    }
    void *memory = arena->current->bytes + arena->current->used;
    arena->current->used += bytes;
    return memset(memory, 0, bytes);
}

void *arena_copy(Arena *arena, const void *from, size_t bytes)
{
    void *copy = arena_take(arena, bytes ? bytes : 1);
    if (bytes)
        memcpy(copy, from, bytes);
    return copy;
}

static void free_chain(ArenaBlock *block)
{
    while (block) {
        ArenaBlock *next = block->next;
        free(block);
        block = next;
    }
}

void arena_done(Arena *arena)
{
    free_chain(arena->first);
    arena->first = arena->current = NULL;
}

void arena_reset(Arena *arena)
{
    if (!arena->first)
        return;
    if (arena->first->capacity > ARENA_BLOCK_BYTES) {
        arena_done(arena); /* one large thing must not be paid for until the end */
        return;
    }
    free_chain(arena->first->next);
    arena->first->next = NULL;
    arena->first->used = 0;
    arena->current = arena->first;
}
