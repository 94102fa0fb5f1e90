/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - a simulated machine: a daemon around a real core, its disk, its launcher.
 *
 * The daemon's loop, keeper and recovery are those of src/serve, without threads: each
 * piece of work is one call, so that anything can happen between two of them. */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include "core/node/node.h"
#include "journal/memory.h"
#include "sim/launcher.h"
#include "sim/turns.h"
#include "sim/world.h"
#include "store/memory/memory.h"

/* A turn whose effects wait for the journal. */
typedef struct SimTurn {
    Outbox out;
    uint64_t sequence; /* counts all turns of this process */
    uint64_t end;      /* journal position behind it */
    size_t done;       /* effects carried out */
} SimTurn;

typedef struct SimMark {
    uint64_t number;
    uint64_t end;
} SimMark;

/* A question to the keeper, and then its answer. */
typedef struct SimAsk {
    bool start; /* the job of an attempt that is to start; else the node's question */
    Load load;
    Arena arena;
    uint64_t needs;
    uint64_t token;
    uint32_t attempt;
    uint32_t slot;     /* START: of a warm context; 0: a process of its own */
    uint64_t sequence; /* of the turn that asked */
    bool applied_only; /* no question: the store has come to `applied` */
    uint64_t applied;
    Err err;
    Loaded loaded;
} SimAsk;

typedef struct SimCall { /* from a client */
    Event event;
    Arena arena;
} SimCall;

#define SNAPSHOTS_MAX 4

struct Machine {
    Turns turns;
    bool limited; /* it has resources to wait for */
    bool lifted;  /* its limits are, for the calm */
    struct World *world;
    unsigned index;
    uint16_t number; /* in ids */
    char sysid[16];

    /* The disk. */
    MemoryJournal journal;
    Chain first_chain;
    Buf archive; /* what was trimmed, so that the whole can be replayed */
    Store *store;
    Store *synced; /* what a power cut cannot take away */
    uint64_t synced_position;
    Store *snapshots[SNAPSHOTS_MAX]; /* later states, of which it may leave one */
    size_t snapshot_count;
    JobId last_id; /* the largest that the store has had */
    Launcher launcher;

    /* The process; node NULL: it does not run. */
    Node *node;
    NodeSettings settings;
    Store *decided; /* as if all that was decided were applied */
    SimTurn **held;
    size_t held_count;
    size_t held_capacity;
    SimMark *marks;
    size_t mark_count;
    size_t mark_capacity;
    uint64_t applied;
    uint64_t applied_number;
    SimAsk **asks;
    size_t ask_count;
    size_t ask_capacity;
    SimAsk **answers;
    size_t answer_count;
    size_t answer_capacity;
    SimCall **calls;
    size_t call_count;
    size_t call_capacity;
    uint64_t sequence;
    uint64_t starts_from; /* starts of turns before this one are void */
    uint64_t epoch;
    uint64_t contexts; /* counts how often all of them died: with daemon or launcher */
    int64_t restart_ms;
    int64_t outage_until_ms;
    bool room;
    bool room_told;
    bool drain;
    bool drain_told;

    /* Its clocks. */
    int64_t booted_ms;
    int64_t wall_offset_ms;
};

/* The first `dropped` items of a list leave it. */
static inline void list_drop(void *items, size_t *count, size_t dropped, size_t bytes)
{
    *count -= dropped;
    if (dropped && *count)
        memmove(items, (char *)items + dropped * bytes, *count * bytes);
}

Machine *machine_new(World *world, unsigned index);
void machine_free(Machine *machine);
Now machine_now(const Machine *machine);
int64_t machine_wake_ms(const Machine *machine); /* in the world's time */

/* machine.c: the loop */
void machine_turn(Machine *machine);
bool machine_sync(Machine *machine, bool all);
bool machine_release(Machine *machine); /* one effect; false: none may go out */
void machine_call(Machine *machine, const Event *event);

/* keeper.c: the store's own thread */
bool machine_ingest(Machine *machine);
bool machine_answer(Machine *machine);
void machine_store_sync(Machine *machine);
void machine_trim(Machine *machine, uint64_t position);
bool machine_catch_up(Machine *machine); /* false: it died, or the world failed */
void machine_ask(Machine *machine, SimAsk *ask);
void ask_free(SimAsk *ask);

/* recover.c: death and life */
bool crash_here(Machine *machine, const char *where); /* true: it is dead now */
void machine_crash(Machine *machine, bool power);
void machine_start(Machine *machine);
void machine_replay_check(Machine *machine); /* I14 */

/* Commits the whole journal, `at_once` records in a transaction; returns its end. */
uint64_t machine_replay_into(Machine *machine, Store *store, unsigned at_once);

/* differ.c: the same journal in another kind of store gives the same jobs */
void machine_differ(Machine *machine, const char *path);

#endif
