/* SPDX-License-Identifier: Apache-2.0 */
/* mem.h - memory that cannot fail, and an arena for things of one turn.
 *
 * Input is bounded at the doors, so an allocation that fails is a machine without
 * memory: mem_alloc ends the process, and restart is a tested path. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t bytes); /* zeroed */
void *mem_grow(void *old, size_t bytes);
void *mem_copy(const void *from, size_t bytes);
void mem_free(void *memory);

#define MEM_NEW(Type)          ((Type *)mem_alloc(sizeof(Type)))
#define MEM_ARRAY(Type, count) ((Type *)mem_alloc(sizeof(Type) * (count)))

/* Makes room for one more item in a growing array; the idiom of all plain lists:
 *     MEM_PUSH(list->items, list->count, list->capacity) = item; */
#define MEM_PUSH(items, count, capacity)                                                 \
    (*(mem_room((void **)&(items), (count), &(capacity), sizeof *(items)),               \
       &(items)[(count)++]))
void mem_room(void **items, size_t count, size_t *capacity, size_t item_bytes);

typedef struct ArenaBlock ArenaBlock;

/* Everything taken from an arena lives until arena_reset or arena_done. */
typedef struct Arena {
    ArenaBlock *first;
    ArenaBlock *current;
} Arena;

void *arena_take(Arena *arena, size_t bytes); /* zeroed, aligned for any type */
void *arena_copy(Arena *arena, const void *from, size_t bytes);
void arena_reset(Arena *arena); /* keeps the first block if it is a common one */
void arena_done(Arena *arena);

#define ARENA_NEW(arena, Type) ((Type *)arena_take((arena), sizeof(Type)))

#endif
