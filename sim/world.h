/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - one seed's world: machines, clients, time, and what goes wrong.
 *
 * Everything happens in one thread and out of one generator: the same seed gives the same
 * trace, byte for byte. The cores are the real ones, and so are the bytes of the journals
 * and the guards of the stores; clocks, disks, power, processes and people are made here.
 *
 * A world has two parts: a storm, in which the faults of its profile happen, and a calm,
 * in which none do and everything must come to an end (I5). */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/rng.h"
#include "sim/museum.h"
#include "sim/truth.h"
#include "sim/worker.h"

#define MACHINES_MAX  3
#define TIME_START_MS 1000000
#define WALL_START_MS 1790000000000LL

/* What this seed does and what it suffers: each fault is on or off, at a level of its
 * own, so that rare meetings of few faults are as likely as storms of many. */
typedef struct Profile {
    unsigned machines;
    uint32_t slots;
    uint32_t window_jobs;
    unsigned queues;
    unsigned crash_per_10000; /* at each point where a crash can happen */
    unsigned power_percent;   /* of crashes: the whole machine goes */
    unsigned commit_fails_percent;
    unsigned load_fails_percent;
    unsigned outage_per_1000; /* the store fails for seconds */
    unsigned launcher_dies_per_1000;
    unsigned start_fails_percent;
    unsigned report_lost_percent; /* and comes later */
    unsigned report_twice_percent;
    unsigned signal_lost_percent;
    unsigned ignores_term_percent;
    unsigned bad_end_percent;
    unsigned clock_per_1000; /* the wall clock is set */
    unsigned no_room_per_1000;
    unsigned drain_per_1000;
    unsigned slots_per_1000; /* the setting changes */
    unsigned key_percent;
    unsigned act_percent;
    unsigned slow_store_percent; /* of chances to ingest or answer that are not taken */
    unsigned ingest_bytes;
    int64_t keep_ms;
} Profile;

/* Of what most worlds have little: in some nearly all jobs want a resource and most
 * queues another, in some queues have one slot, and both stay so until the end. */
#define SCARCE_EVERY 4
static inline bool seed_is_scarce(uint64_t seed)
{
    return seed % (2 * SCARCE_EVERY) == 0;
}
static inline bool seed_is_narrow(uint64_t seed)
{
    return seed % (2 * SCARCE_EVERY) == SCARCE_EVERY;
}

typedef struct SimOptions {
    uint64_t seed;
    unsigned steps;
    Bug bug;
    bool storm;         /* every fault is on, as in the museum */
    bool print;         /* the trace, as it grows */
    const char *sqlite; /* a file to replay the journals into; NULL: do not */
} SimOptions;

/* What happened, to be added up over many seeds. */
typedef struct Counts {
    uint64_t seeds;
    uint64_t steps;
    uint64_t turns;
    uint64_t jobs;
    uint64_t acknowledged;
    uint64_t starts;
    uint64_t lost_attempts;
    uint64_t late;
    uint64_t kills;
    uint64_t cuts; /* of power */
    uint64_t recoveries_cut_short;
    uint64_t commits;
    uint64_t commit_failures;
    uint64_t load_failures;
    uint64_t launcher_deaths;
    uint64_t replays;
    uint64_t unknown; /* requests whose outcome the client never learnt */
    uint64_t actions;
    uint64_t purged;
    uint64_t pulled;       /* jobs in the hands of workers */
    uint64_t late_results; /* of workers, refused */
    uint64_t warm;         /* jobs handed to contexts */
    uint64_t context_crashes;
    uint64_t virtual_ms;
} Counts;

typedef struct Machine Machine;

typedef struct World {
    SimOptions options;
    Profile profile;
    Rng rng;
    int64_t time_ms; /* of the universe; machines have clocks of their own */
    uint64_t step;
    bool calm;
    Machine *machines[MACHINES_MAX];
    Truth truth;
    SimWorker workers[WORKERS_MAX];
    Counts counts;
    Buf trace;
    bool failed;
    char failure[400];
} World;

void world_init(World *world, const SimOptions *options);
void world_run(World *world); /* until the end, or until world->failed */
void world_done(World *world);

/* A line of the trace. */
void trace(World *world, const char *format, ...) PRINTF_LIKE(2, 3);

/* An invariant is broken; the first one ends the run. */
void violate(World *world, const char *invariant, const char *format, ...)
    PRINTF_LIKE(3, 4);

static inline bool chance(World *world, unsigned percent)
{
    return rng_percent(&world->rng, percent);
}

/* Something that happens in `count` of 1000 cases, and never in the calm. */
static inline bool fault_per_1000(World *world, unsigned count)
{
    return !world->calm && rng_below(&world->rng, 1000) < count;
}

static inline bool fault_percent(World *world, unsigned percent)
{
    return !world->calm && rng_percent(&world->rng, percent);
}

static inline uint64_t below(World *world, uint64_t bound)
{
    return rng_below(&world->rng, bound);
}

/* limits.c: queues and resources. */
void limits_change(World *world, Machine *machine, Slice tenant, Slice queue);
void limits_lift(World *world, Machine *machine, const Slice *tenants,
                 const Slice *queues);                       /* for the calm */
bool limits_ordered(const Machine *machine, const Job *job); /* policy fair */
int64_t limits_capacity(const Machine *machine, Slice key);  /* of a resource; 0: none */
int64_t limits_held(const Machine *machine, Slice key);      /* by what runs, items too */
uint32_t limits_running(const Machine *machine, Slice tenant, Slice queue);
void limits_claim(World *world, const Machine *machine, const Job *job, const Op *op);

/* launcher.c: warm contexts are in every fourth world. */
bool contexts_here(const World *world);

/* client.c: people and programs. */
void client_step(World *world);
void client_retries(World *world, bool all); /* of requests whose outcome is unknown */
void client_calm(World *world);              /* lets go of all that is kept waiting */

#endif
