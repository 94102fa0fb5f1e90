/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - a simulated machine: the daemon's engine, its disk, its launcher.
 *
 * Turn, collection, effects, ingestion and recovery are those of src/engine/turn, opened
 * with ports that lead to a disk, a clock and processes made here (ports.c, store.c).
 * There are no threads: each piece of work is one call, so that anything can happen
 * between two of them. A machine may die inside any port: from then on its ports do
 * nothing, and when the engine returns it is buried. */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include "engine/turn/engine.h"
#include "engine/turn/ingest.h"
#include "journal/memory.h"
#include "sim/launcher.h"
#include "sim/turns.h"
#include "sim/world.h"
#include "store/memory/memory.h"

typedef struct SimCall { /* from a client */
    Call call;           /* must be first */
    Machine *machine;
    Requester number;
    bool found; /* READ: the job was there */
} SimCall;

/* A start that waits for the word. */
typedef struct Prepared {
    Job job;
    Arena arena;
    uint32_t slot;
} Prepared;

/* The store as the engine sees it: it may fail, and what was not synced may go. */
typedef struct SimStore {
    Store store; /* must be first */
    Machine *machine;
} SimStore;

typedef enum Death { DEATH_NONE, DEATH_KILLED, DEATH_POWER } Death;

#define SNAPSHOTS_MAX 4

struct Machine {
    LaneTurns turns;
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
    Store *synced;                   /* what a power cut cannot take away */
    Store *snapshots[SNAPSHOTS_MAX]; /* later states, of which it may leave one */
    size_t snapshot_count;
    JobId last_id; /* the largest that the store has had */
    Launcher launcher;

    /* The process; node NULL: it does not run. */
    Node *node; /* the engine's */
    Engine engine;
    Ingest ingest;
    SimStore port_store;
    Death death; /* inside a port; not yet buried */
    NodeSettings settings;
    Store *decided; /* as if all that was decided were applied */
    Mailbox told;   /* by the ingestion, on its way to the engine */
    Ask **asks;     /* on their way to the ingestion */
    size_t ask_count;
    size_t ask_capacity;
    SimCall **calls; /* not answered yet */
    size_t call_count;
    size_t call_capacity;
    size_t call_unread; /* of them: no turn has seen them */
    Prepared **prepared;
    size_t prepared_count;
    size_t prepared_capacity;
    uint64_t sequence; /* counts the turns of this process */
    uint64_t epoch;
    uint64_t contexts; /* counts how often all of them died: with daemon or launcher */
    int64_t restart_ms;
    int64_t outage_until_ms;
    bool quick; /* its disk: the loop may wait for a sync */
    bool room;
    bool drain;
    bool drain_told;

    /* Its clocks. */
    int64_t booted_ms;
    int64_t wall_offset_ms;
};

Machine *machine_new(World *world, unsigned index);
void machine_free(Machine *machine);
Now machine_now(const Machine *machine);
int64_t machine_wake_ms(const Machine *machine); /* in the world's time */
bool machine_has_asked(const Machine *machine);  /* something is under way */

/* machine.c: pieces of work; false: there was nothing to do */
void machine_turn(Machine *machine);
bool machine_sync(Machine *machine, bool all);
bool machine_release(Machine *machine);
bool machine_ingest(Machine *machine);
bool machine_answer(Machine *machine);
void machine_store_sync(Machine *machine);
void machine_call(Machine *machine, const Event *event); /* CALL_EVENT */
void machine_read(Machine *machine, CallKind kind, Requester number, JobId id);

/* ports.c */
extern const EnginePorts sim_ports;
extern const IngestPorts sim_ingest_ports;
extern const EnginePart *const sim_parts[];
void machine_trim(Machine *machine, uint64_t position);

/* store.c */
extern const StoreKind sim_store_kind;

/* recover.c: death and life */
bool crash_here(Machine *machine, const char *where); /* true: it is dead now */
void machine_bury(Machine *machine);                  /* if it died inside a port */
void machine_crash(Machine *machine, bool power);
void machine_start(Machine *machine);
void machine_replay_check(Machine *machine); /* I14 */

/* Commits the whole journal, `at_once` records in a transaction; returns its end. */
uint64_t machine_replay_into(Machine *machine, Store *store, unsigned at_once);

/* differ.c: the same journal in another kind of store gives the same jobs */
void machine_differ(Machine *machine, const char *path);

#endif
