/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - see queue.h. */
#include "journal/queue.h"

#include <assert.h>

/* A part that has reached this is not grown further, so that growing never copies
 * much. */
#define PART_BYTES ((size_t)256 * 1024)

#define ENTRIES_KEEP ((size_t)16 * 1024) /* a burst's list is given back */

static Buf *open_part(Queue *queue)
{
    Buf *last = queue->part_count ? &queue->parts[queue->part_count - 1] : NULL;
    if (last && queue->open && last->bytes < PART_BYTES)
        return last;
    MEM_PUSH(queue->parts, queue->part_count, queue->part_capacity) = queue->spare;
    queue->spare = (Buf){ 0 };
    queue->open = true;
    return &queue->parts[queue->part_count - 1];
}

static void drop_part(Queue *queue, Buf *part)
{
    if (queue->spare.data || part->capacity > 2 * PART_BYTES) {
        buf_done(part);
        return;
    }
    queue->spare = *part;
    buf_clear(&queue->spare);
    *part = (Buf){ 0 };
}

static void add_part(Queue *queue, Buf *give)
{
    MEM_PUSH(queue->parts, queue->part_count, queue->part_capacity) = *give;
    *give = (Buf){ 0 };
    queue->open = false;
}

void queue_add(Queue *queue, Slice header, Slice body, Buf *give)
{
    buf_add_slice(open_part(queue), header);
    if (give)
        add_part(queue, give);
    else
        buf_add_slice(open_part(queue), body);
    buf_add_slice(open_part(queue), record_footer());
}

void queue_entry(Queue *queue, uint64_t end, uint64_t sum)
{
    MEM_PUSH(queue->entries, queue->count, queue->capacity) = (QueueEntry){ end, sum };
}

void queue_parts(const Queue *queue, uint64_t bytes, QueueParts *out)
{
    size_t offset = queue->part_offset;
    out->count = 0;
    for (size_t i = queue->part; bytes; i++) {
        assert(i < queue->part_count);
        const Buf *part = &queue->parts[i];
        size_t left = part->bytes - offset;
        size_t take = left < bytes ? left : (size_t)bytes;
        if (take)
            MEM_PUSH(out->items, out->count, out->capacity) =
                (struct iovec){ part->data + offset, take };
        bytes -= take;
        offset = 0;
    }
}

void queue_skip(Queue *queue, uint64_t bytes, size_t done)
{
    queue->done = done;
    while (bytes) {
        assert(queue->part < queue->part_count);
        size_t left = queue->parts[queue->part].bytes - queue->part_offset;
        if (bytes < left) {
            queue->part_offset += (size_t)bytes;
            return;
        }
        bytes -= left;
        queue->part_offset = 0;
        drop_part(queue, &queue->parts[queue->part++]);
    }
}

void queue_clear(Queue *queue)
{
    for (size_t i = 0; i < queue->part_count; i++)
        drop_part(queue, &queue->parts[i]);
    if (queue->capacity > ENTRIES_KEEP) {
        mem_free(queue->entries);
        queue->entries = NULL;
        queue->capacity = 0;
    }
    queue->part_count = queue->count = 0;
    queue->done = queue->part = queue->part_offset = 0;
    queue->open = false;
}

void queue_done(Queue *queue)
{
    queue_clear(queue);
    buf_done(&queue->spare);
    mem_free(queue->parts);
    mem_free(queue->entries);
    *queue = (Queue){ 0 };
}
