/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - records on their way to the disk: their bytes, and where each ends.
 *
 * Small records are gathered in large buffers; a body that was given stays where it is.
 * A queue is filled by one thread, then taken whole by another. */
#ifndef JOURNAL_QUEUE_H
#define JOURNAL_QUEUE_H

#include "journal/record.h"

#include <sys/uio.h>

typedef struct QueueEntry { /* one record */
    uint64_t end;           /* position behind it */
    uint64_t sum;           /* of the chain behind it */
} QueueEntry;

typedef struct Queue {
    Buf *parts;
    size_t part_count;
    size_t part_capacity;
    bool open; /* the last part may grow */
    Buf spare; /* room of a part that was written, for the next one */
    QueueEntry *entries;
    size_t count;
    size_t capacity;

    /* How far it has been written: */
    size_t done;        /* entries */
    size_t part;        /* the part that comes next, */
    size_t part_offset; /* from here on */
} Queue;

/* header and body and footer of a record; `give` as in journal_write. */
void queue_add(Queue *queue, Slice header, Slice body, Buf *give);
void queue_entry(Queue *queue, uint64_t end, uint64_t sum);

/* The next `bytes` bytes to write, as parts in *out, which grows. */
typedef struct QueueParts {
    struct iovec *items;
    size_t count;
    size_t capacity;
} QueueParts;
void queue_parts(const Queue *queue, uint64_t bytes, QueueParts *out);

/* Those bytes and the entries before `done` are written. */
void queue_skip(Queue *queue, uint64_t bytes, size_t done);

void queue_clear(Queue *queue); /* keeps some room for next time */
void queue_done(Queue *queue);

static inline bool queue_empty(const Queue *queue)
{
    return queue->done == queue->count;
}

#endif
