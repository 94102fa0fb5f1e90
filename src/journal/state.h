/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - what a Journal holds, and which thread may touch it.
 *
 * Four owners: the one thread that appends, the writer thread, whoever holds `lock`
 * (what those two and waiting threads share), whoever holds `read_lock` (the reading
 * end). read_lock is taken before lock, never after. */
#ifndef JOURNAL_STATE_H
#define JOURNAL_STATE_H

#include "journal/journal.h"
#include "journal/queue.h"
#include "journal/walk.h"

#include <pthread.h>
#include <stdatomic.h>

#define JOURNAL_SEGMENT_BYTES ((uint64_t)64 * 1024 * 1024)
#define JOURNAL_SEGMENT_MIN   ((uint64_t)2 * SEGMENT_HEADER_BYTES)
#define JOURNAL_AHEAD_BYTES   ((uint64_t)8 * 1024 * 1024)

typedef struct SegmentRow {
    uint64_t start;
    int64_t trimmed_ms; /* when journal_trim first passed it; TIME_NEVER: not yet */
} SegmentRow;

typedef struct Writer { /* the writer thread's own */
    pthread_t thread;
    SegmentFile current;
    SegmentFile next; /* made ahead, without a name */
    Queue taken;
    QueueParts parts;
    uint64_t noted;  /* position of the last synced note */
    uint64_t sum;    /* of the chain at `durable` */
    int64_t full_ns; /* when the disk last refused room */
} Writer;

typedef enum WriterRest { REST_NONE, REST_TIMED, REST_UNTIMED } WriterRest;

typedef enum RangeState {
    RANGE_FREE,     /* came back: its time passed */
    RANGE_RESERVED, /* someone reads it */
    RANGE_SYNCED,   /* is in the store; waits for those before it */
} RangeState;

typedef struct Range { /* a part of the journal between the read point and `next` */
    RangeState state;
    JournalToken token;
    uint64_t from;
    uint64_t to;
    uint64_t sum; /* of the chain at `from` */
    int64_t deadline_ms;
} Range;

typedef struct Reader {
    Walk walk;
    uint64_t read_point; /* all before is in the store */
    uint64_t next;       /* all before is in ranges or behind the read point */
    uint64_t sum;        /* of the chain at `next` */
    Range *ranges;       /* in order, without gaps */
    size_t count;
    size_t capacity;
    JournalToken last_token;
    JournalToken failed_token; /* stands for `failed` */
    Error failed;              /* why nothing could be reserved */
} Reader;

struct Journal {
    JournalOptions options; /* segment_bytes and dir filled in */
    uint64_t seed;          /* of all sums */
    uint64_t ahead_bytes;
    int dir_fd;
    int lock_fd;

    Chain chain; /* the appending thread's, at `end` */
    Buf header;
    _Atomic uint64_t end;
    _Atomic uint64_t durable;

    pthread_mutex_t lock;
    pthread_cond_t work;    /* for the writer */
    pthread_cond_t settled; /* for those who wait for it */
    Queue queue;
    bool flush; /* the queue is to be written */
    bool stop;
    WriterRest rest;   /* whether the writer waits for work, */
    bool lent;         /* ... and the appending thread does it */
    bool full;         /* the disk refused room, and has not given any since */
    Err failed;        /* J2 */
    uint64_t wanted;   /* room someone waits for */
    uint64_t sure_end; /* the position up to which there is room */
    SegmentRow *rows;  /* all segments, oldest first */
    size_t row_count;
    size_t row_capacity;
    JournalStats stats;

    Writer writer;

    pthread_mutex_t read_lock;
    Reader reader;
};

#endif
