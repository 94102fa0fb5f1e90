/* SPDX-License-Identifier: Apache-2.0 */
/* kept.h - small records that the node keeps; for node/state.h. */
#ifndef CORE_NODE_KEPT_H
#define CORE_NODE_KEPT_H

#include "base/heap.h"
#include "core/dispatch/slot.h"
#include "core/handler.h"
#include "core/schedule.h"

/* An idempotency key that was decided and may not be in the store yet. */
typedef struct KeyUse {
    struct KeyUse *next;
    uint64_t number; /* of the turn that wrote it; UINT64_MAX: still being decided */
    uint64_t hash;
    Arena arena;
    Slice tenant;
    Slice key;
    Slice value;
} KeyUse;

typedef struct UniqueUse UniqueUse; /* node/unique.c */

/* The newest version of a handler, as the node knows it. */
typedef struct HandlerEntry {
    Arena arena;
    Handler handler;
    uint32_t warm; /* slot_sharing_kind */
    Pace pace;
} HandlerEntry;

/* A schedule as the node knows it. */
typedef struct ScheduleEntry {
    HeapNode due;    /* must be first: its place among those that will be due */
    int64_t due_ms;  /* next_ms, or when to look again */
    int64_t next_ms; /* the planned time that comes next; TIME_NEVER: none */
    uint32_t tenant;
    uint32_t name;
    Arena arena;
    Schedule schedule; /* cron empty: only its state is known */
    ScheduleState state;
    Cron cron;
    Zone zone;
    bool asking; /* the store is asked for its last job */
} ScheduleEntry;

#endif
