/* SPDX-License-Identifier: Apache-2.0 */
/* ages.c - see ages.h. */
#include "store/ages.h"

#include "core/queue.h"

static void note_age(void *context, const Definition *definition)
{
    Ages *ages = context;
    QueueDef def;
    int64_t age_ms =
        queue_unpack(definition->value, &def) == ERR_OK ? queue_age_ms(&def) : 0;
    if (!age_ms)
        return;
    MEM_PUSH(ages->items, ages->count, ages->capacity) =
        (struct AgedQueue){ slice_copy(&ages->arena, definition->tenant),
                            slice_copy(&ages->arena, definition->key), age_ms };
}

Err ages_load(Ages *ages, Store *store, Error *why)
{
    *ages = (Ages){ 0 };
    return store->kind->definitions(store, SLICE_LITERAL(QUEUE_TABLE), note_age, ages,
                                    why);
}

int64_t ages_find(const Ages *ages, Slice tenant, Slice queue)
{
    for (size_t i = 0; i < ages->count; i++)
        if (slice_equal(ages->items[i].queue, queue) &&
            slice_equal(ages->items[i].tenant, tenant))
            return ages->items[i].age_ms;
    return 0;
}

void ages_done(Ages *ages)
{
    mem_free(ages->items);
    arena_done(&ages->arena);
}
