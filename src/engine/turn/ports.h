/* SPDX-License-Identifier: Apache-2.0 */
/* ports.h - the world as the engine sees it: one table of functions.
 *
 * The daemon fills it with its journal, its threads and the system's clock
 * (engine/daemon_ports.c), the simulation with disks, processes and clocks of its own
 * (sim/ports.c), tests with memory. The code behind the table is the same in all three,
 * so what the simulation proves holds for the daemon.
 *
 * `world` is whatever opened the engine. No port may call back into the engine, except
 * that journal_flush may report how far the journal is durable (engine_durable). */
#ifndef ENGINE_TURN_PORTS_H
#define ENGINE_TURN_PORTS_H

#include "engine/call.h"
#include "engine/turn/ask.h"
#include "journal/record.h"

struct RunNews;

typedef struct EnginePorts {
    Now (*now)(void *world);

    /* The journal. Records are durable when engine_durable has reported the position
     * behind them. `here`: no one else waits, so this thread may sync itself. */
    void (*journal_write)(void *world, const Record *record, Buf *give);
    uint64_t (*journal_end)(const void *world);
    void (*journal_flush)(void *world, bool here);
    bool (*journal_quick)(
        const void *world);                 /* a sync keeps the loop only for a moment */
    bool (*has_room)(void *world, Now now); /* for new jobs, in journal and store */

    /* The store. A question comes back through engine->answers; a read is carried out
     * at once, on whatever thread, and then done. */
    void (*ask)(void *world, Ask *ask);
    void (*hurry)(void *world, uint64_t position); /* someone waits until it is there */
    void (*read)(void *world, Call *call);

    /* The runner. What it tells comes through engine->news. prepare does all but the
     * start itself (false: not possible for this job), go starts what was prepared. */
    void (*start)(void *world, const Job *job, const StartHow *how);
    bool (*prepare)(void *world, const Job *job, const StartHow *how);
    void (*go)(void *world, JobId id, uint32_t attempt);
    void (*signal)(void *world, JobId id, uint32_t attempt, int number);
    void (*forget)(void *world, JobId id, uint32_t attempt);
    void (*starts_done)(void *world); /* those of this moment: batches may go out */

    /* A store that nodes share. may_start: the lease allows it now. silent: the store
     * has not answered for a while. */
    bool (*may_start)(const void *world);
    bool (*silent)(const void *world);

    /* Calls that are not the engine's own: each must be answered. `refuse` may answer
     * one about an event instead of letting it in. */
    void (*call)(void *world, Call *call);
    bool (*refuse)(void *world, Call *call);
} EnginePorts;

/* Something that hangs on a turn. Every function may be NULL. */
typedef struct EnginePart {
    const char *name;
    /* Before the engine's own boxes are emptied. False: this turn is for this part's
     * events alone, and the world wakes the engine again. */
    bool (*collect)(void *world, Now now);
    void (*collect_last)(void *world, Now now);      /* behind all other events */
    bool (*news)(void *world, struct RunNews *news); /* true: it was for this part */
    bool (*event)(void *world, const Event *event);  /* likewise, of news as an event */
    void (*answered)(void *world, const Ask *ask);   /* ASK_NOTIFY */
    void (*stored)(void *world, const IngestNews *news);
    void (*edit)(void *world, Event *events, size_t count); /* before the step */
    void (*decided)(void *world, Outbox *out, Now now);
    void (*effect)(void *world,
                   const Effect *effect); /* CHANGED, ERASE, DEFINED, LETTER */
    void (*turned)(void *world, Now now); /* at the end of each turn */
    int64_t (*wake_boot)(const void *world, Now now); /* when it wants the next turn */
} EnginePart;

#endif
