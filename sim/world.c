/* SPDX-License-Identifier: Apache-2.0 */
/* world.c - see world.h. Here: who comes next, the storm, the calm. */
#include "sim/machine.h"

#include <stdarg.h>
#include <stdio.h>

#define CALM_ROUNDS_MAX 12000 /* a node that spins ends here; time is the measure */
#define CALM_MS_MAX     (30 * MS_PER_MIN) /* in which everything must have ended (I5) */
#define WALL_OFFSET_MAX (4 * MS_PER_HOUR) /* keys live longer than any jump */

void trace(World *world, const char *format, ...)
{
    size_t from = world->trace.bytes;
    buf_printf(&world->trace, "%6llu %9lld ", (unsigned long long)world->step,
               (long long)(world->time_ms - TIME_START_MS));
    char line[2000];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    buf_add_text(&world->trace, line);
    buf_add_char(&world->trace, '\n');
    if (world->options.print)
        fputs(buf_cstr(&world->trace) + from, stdout);
}

void violate(World *world, const char *invariant, const char *format, ...)
{
    if (world->failed)
        return;
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(world->failure, sizeof world->failure, "%s: %s", invariant, text);
    trace(world, "BROKEN %s", world->failure);
    world->failed = true;
}

/* A fault is off in half of the worlds; else at any level up to `most`. In the museum
 * all are on. */
static unsigned level(Rng *rng, const SimOptions *options, unsigned most)
{
    bool off = rng_percent(rng, 50) && !options->bug && !options->storm;
    return off ? 0 : 1 + (unsigned)rng_below(rng, most);
}

static Profile draw(Rng *rng, const SimOptions *options)
{
    static const unsigned ingest_bytes[] = { 1, 2000, 65536 };
    static const uint32_t windows[] = { 1, 2, 3, 4, 5, 8, 0 };
    return (Profile){
        .machines = rng_percent(rng, 85) ? 1 : 2 + (unsigned)rng_below(rng, 2),
        .slots = 1 + (uint32_t)rng_below(rng, 5),
        .window_jobs = windows[rng_below(rng, 7)],
        .queues = 1 + (unsigned)rng_below(rng, 4),
        .crash_per_10000 = level(rng, options, 100),
        .power_percent = (unsigned)rng_below(rng, 101),
        .commit_fails_percent = level(rng, options, 30),
        .load_fails_percent = level(rng, options, 20),
        .outage_per_1000 = level(rng, options, 4),
        .launcher_dies_per_1000 = level(rng, options, 5),
        .start_fails_percent = level(rng, options, 20),
        .report_lost_percent = level(rng, options, 30),
        .report_twice_percent = level(rng, options, 60),
        .signal_lost_percent = level(rng, options, 50),
        .ignores_term_percent = level(rng, options, 50),
        .bad_end_percent = level(rng, options, 80),
        .clock_per_1000 = level(rng, options, 10),
        .no_room_per_1000 = level(rng, options, 4),
        .drain_per_1000 = level(rng, options, 3),
        .slots_per_1000 = level(rng, options, 5),
        .key_percent = level(rng, options, 60),
        .act_percent = level(rng, options, 60),
        .slow_store_percent = level(rng, options, 95),
        .ingest_bytes = ingest_bytes[rng_below(rng, 3)],
        .keep_ms = rng_percent(rng, 30) ? 60 * MS_PER_S : 14 * MS_PER_DAY,
    };
}

void world_init(World *world, const SimOptions *options)
{
    *world = (World){ .options = *options, .time_ms = TIME_START_MS };
    world->rng.state = options->seed * 0x9e3779b97f4a7c15u + 1;
    world->profile = draw(&world->rng, options);
    const Profile *profile = &world->profile;
    trace(world,
          "seed %llu: %u machines, %u slots, windows of %u, crashes %u, power %u%%",
          (unsigned long long)options->seed, profile->machines, profile->slots,
          profile->window_jobs, profile->crash_per_10000, profile->power_percent);
    for (unsigned i = 0; i < profile->machines; i++)
        world->machines[i] = machine_new(world, i);
}

void world_done(World *world)
{
    for (unsigned i = 0; i < world->profile.machines; i++)
        machine_free(world->machines[i]);
    truth_done(&world->truth);
    buf_done(&world->trace);
}

/* --- Time
 * -------------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The next moment at which something is due anywhere. */
static int64_t next_ms(const World *world)
{
    int64_t next = TIME_NEVER;
    for (unsigned i = 0; i < world->profile.machines; i++) {
        next = earlier(next, machine_wake_ms(world->machines[i]));
        if (world->machines[i]->node) /* else no one listens to its launcher */
            next = earlier(next, launcher_wake_ms(world->machines[i]));
    }
    return next;
}

static void pass_time(World *world)
{
    int64_t next = next_ms(world);
    if (chance(world, 5))
        world->time_ms += (int64_t)below(world, 10000);
    else if (chance(world, 50) && next > world->time_ms && next != TIME_NEVER)
        world->time_ms = next;
    else
        world->time_ms += (int64_t)below(world, 200);
}

static void set_clock(Machine *machine)
{
    World *world = machine->world;
    int64_t range_ms = chance(world, 50) ? 10 * MS_PER_S : 2 * MS_PER_HOUR;
    int64_t offset_ms = machine->wall_offset_ms +
                        (int64_t)below(world, (uint64_t)(2 * range_ms)) - range_ms;
    if (offset_ms < -WALL_OFFSET_MAX || offset_ms > WALL_OFFSET_MAX)
        return;
    trace(world, "m%u: the clock is set by %lld ms", machine->index,
          (long long)(offset_ms - machine->wall_offset_ms));
    machine->wall_offset_ms = offset_ms;
}

/* --- The storm
 * --------------------------------------------------------------------------- */

static void set_slots(Machine *machine)
{
    machine->settings.slots = (uint32_t)below(machine->world, 6);
    if (machine->node)
        node_settings_set(machine->node, &machine->settings);
}

/* A daemon that drains takes work again only when it is started anew. */
static void set_drain(Machine *machine, bool drain)
{
    if (machine->drain_told && !drain && machine->node) {
        trace(machine->world, "m%u is restarted", machine->index);
        machine_crash(machine, false);
    }
    machine->drain = drain;
}

static void suffer(World *world, Machine *machine)
{
    const Profile *profile = &world->profile;
    if (fault_per_1000(world, profile->launcher_dies_per_1000))
        launcher_dies(machine);
    if (fault_per_1000(world, profile->clock_per_1000))
        set_clock(machine);
    if (fault_per_1000(world, profile->outage_per_1000))
        machine->outage_until_ms = world->time_ms + (int64_t)below(world, 10000);
    if (fault_per_1000(world, profile->no_room_per_1000))
        machine->room = !machine->room;
    if (fault_per_1000(world, profile->drain_per_1000))
        set_drain(machine, !machine->drain);
    if (fault_per_1000(world, profile->slots_per_1000))
        set_slots(machine);
}

static bool store_is_quick(World *world)
{
    return world->calm || !chance(world, world->profile.slow_store_percent);
}

typedef enum Work {
    WORK_TURN,
    WORK_SYNC,
    WORK_RELEASE,
    WORK_INGEST,
    WORK_ANSWER,
    WORK_STORE_SYNC,
    WORKS,
} Work;

static bool turn_is_due(const Machine *machine)
{
    return machine->told.first || machine->engine.news.first || machine->call_unread ||
           machine_wake_ms(machine) <= machine->world->time_ms ||
           launcher_wake_ms(machine) <= machine->world->time_ms;
}

/* One piece of work, or a few of a kind; false: there was nothing to do. */
static bool work(World *world, Machine *machine, Work what)
{
    bool done = false;
    switch (what) {
    case WORK_TURN:
        done = turn_is_due(machine);
        if (done || chance(world, 5))
            machine_turn(machine);
        return done;
    case WORK_SYNC:
        return machine_sync(machine, chance(world, 60));
    case WORK_RELEASE:
        while (machine_release(machine) && chance(world, 80))
            done = true;
        return done;
    case WORK_INGEST:
        while (store_is_quick(world) && machine_ingest(machine) && chance(world, 60))
            done = true;
        return done;
    case WORK_ANSWER:
        while (store_is_quick(world) && machine_answer(machine) && chance(world, 60))
            done = true;
        return done;
    case WORK_STORE_SYNC:
        if (chance(world, 20))
            machine_store_sync(machine);
        return false;
    case WORKS:
        break;
    }
    return false;
}

static void one_of_all(World *world, Machine *machine)
{
    if (!machine->node && machine->restart_ms <= world->time_ms)
        machine_start(machine);
    uint64_t first = below(world, WORKS);
    for (uint64_t i = 0; i < WORKS && machine->node && !world->failed; i++)
        if (work(world, machine, (Work)((first + i) % WORKS)))
            return;
}

static void storm_step(World *world)
{
    Machine *machine = world->machines[below(world, world->profile.machines)];
    world->step++;
    suffer(world, machine);
    one_of_all(world, machine);
    launcher_step(machine);
    if (chance(world, 10) && !world->failed)
        client_step(world);
    if (workers_here(world) && chance(world, 20) && !world->failed)
        workers_step(world);
    if (chance(world, 30))
        pass_time(world);
}

/* --- The calm
 * ---------------------------------------------------------------------------- */

static void heal(World *world)
{
    world->calm = true;
    trace(world, "the storm is over");
    for (unsigned i = 0; i < world->profile.machines; i++) {
        Machine *machine = world->machines[i];
        machine->room = true;
        set_drain(machine, false);
        machine->outage_until_ms = 0;
        machine->wall_offset_ms = WALL_OFFSET_MAX; /* later than it ever was */
        if (!machine->settings.slots)
            machine->settings.slots = 1;
        if (machine->node)
            node_settings_set(machine->node, &machine->settings);
    }
}

static void calm_round(World *world, Machine *machine)
{
    if (!machine->node && machine->restart_ms <= world->time_ms)
        machine_start(machine);
    machine_turn(machine);
    (void)machine_sync(machine, true);
    while (!world->failed && machine_release(machine))
        ;
    while (!world->failed && machine_ingest(machine))
        ;
    while (!world->failed && machine_answer(machine))
        ;
    machine_store_sync(machine);
    launcher_step(machine);
}

/* Nothing is under way and every job is final. */
static bool at_rest(const World *world)
{
    if (world->truth.request_count)
        return false;
    for (size_t i = 0; i < world->truth.submission_count; i++)
        if (world->truth.submissions[i]->again_ms != TIME_NEVER)
            return false; /* it was refused for now, or no one knows */
    for (unsigned i = 0; i < world->profile.machines; i++) {
        const Machine *machine = world->machines[i];
        if (!machine->node || machine->engine.turns.held || machine->call_count ||
            machine_has_asked(machine) || machine->launcher.news_count ||
            machine->launcher.count ||
            machine->journal.read != memory_journal_end(&machine->journal))
            return false;
    }
    return true;
}

typedef struct Open {
    World *world;
    size_t count;
    bool tell;
} Open;

static void count_open(void *context, const Job *job)
{
    Open *open = context;
    char id[ID_TEXT_BYTES];
    if (state_in(job->state, STATES_FINAL))
        return;
    open->count++;
    if (open->tell)
        trace(open->world, "%s is %s, due %lld, attempt %u, " SLICE_FMT "/" SLICE_FMT,
              id_text(job->id, id), state_name(job->state), (long long)job->dt_ms,
              job->attempt, SLICE_ARG(job->tenant), SLICE_ARG(job->queue));
}

static size_t open_jobs(World *world, bool tell)
{
    Open open = { .world = world, .tell = tell };
    for (unsigned i = 0; i < world->profile.machines; i++) {
        Store *store = world->machines[i]->store;
        JobQuery all = { .limit = 1000000 };
        QueryEnd end;
        JobSink sink = { count_open, &open };
        (void)!store->kind->query(store, &all, &sink, &end, NULL);
    }
    return open.count;
}

static void calm(World *world)
{
    heal(world);
    int64_t give_up_ms = world->time_ms + CALM_MS_MAX;
    for (int round = 0; round < CALM_ROUNDS_MAX && !world->failed; round++) {
        world->step++;
        if (round % 8 == 0)
            client_calm(world);
        if (round % 2 == 0)
            workers_step(world);
        for (unsigned i = 0; i < world->profile.machines && !world->failed; i++)
            calm_round(world, world->machines[i]);
        if (at_rest(world) && !open_jobs(world, false))
            return;
        int64_t next = next_ms(world);
        if (next > world->time_ms && next != TIME_NEVER)
            world->time_ms = next;
        if (world->time_ms > give_up_ms)
            break;
    }
    if (!world->failed)
        violate(world, "I5", "%zu jobs are not final, %zu requests not answered",
                open_jobs(world, true), world->truth.request_count);
}

void world_run(World *world)
{
    while (world->step < world->options.steps && !world->failed)
        storm_step(world);
    if (!world->failed)
        calm(world);
    for (unsigned i = 0; i < world->profile.machines && !world->failed; i++) {
        Machine *machine = world->machines[i];
        world->counts.late += node_facts(machine->node).late;
        truth_final(world, machine);
        if (!world->failed)
            machine_replay_check(machine);
        if (!world->failed && world->options.sqlite)
            machine_differ(machine, world->options.sqlite);
    }
    world->counts.seeds = 1;
    world->counts.steps = world->step;
    world->counts.virtual_ms = (uint64_t)(world->time_ms - TIME_START_MS);
}
