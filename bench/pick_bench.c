/* SPDX-License-Identifier: Apache-2.0 */
/* pick_bench.c - what the pick of the next job costs, by how much waits:
 *
 *     pick_bench                  the table
 *     pick_bench LANES WAITING    one line of it
 *
 * A core alone: one job ends, one is added, the next starts; its questions are answered
 * by a make-believe store that has as many jobs as the line says. The cost must be the
 * same with 10 and 10,000,000 jobs waiting, and with 1 and 10,000 lanes (within 2 times).
 * Time of the processor, the best of several rounds: other programs do not count. */
#include "core/node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PICKS  5000
#define ROUNDS 40
#define SLOTS  4
#define WALL   1790000000000LL

typedef struct Pile {
    Node *node;
    Outbox out;
    Now now;
    unsigned lanes;
    uint64_t waiting; /* in all lanes together */
    uint64_t c;       /* of the next id */
    JobId running[SLOTS * 2];
    size_t running_count;
    struct Answers {
        Event *events;
        size_t count;
        size_t capacity;
        Job *jobs; /* of all of them */
        size_t job_count;
        size_t job_capacity;
    } answers[2]; /* those that are collected, those that are given */
    unsigned collects;
    char (*names)[16];
} Pile;

static Job job_of(const Pile *pile, unsigned lane)
{
    Job job = job_default();
    job.tenant = SLICE_LITERAL("default");
    job.queue = slice_text(pile->names[lane]);
    job.type = SLICE_LITERAL("run");
    job.command = SLICE_LITERAL("true\0");
    job.flags = JOB_COMMAND;
    return job;
}

/* When the first job of a deep lane came: each at its own time. */
static int64_t waits_since(unsigned lane)
{
    return WALL - MS_PER_DAY + lane * 7919 % 10007;
}

/* The next jobs of a lane, as many as were asked for; there are always more. */
static void answer(Pile *pile, const Effect *effect)
{
    struct Answers *answers = &pile->answers[pile->collects];
    Event event = { .kind = EVENT_LOADED,
                    .token = effect->token,
                    .number = pile->out.number,
                    .next_due_ms = TIME_NEVER };
    if (effect->what == WANT_WINDOW) {
        unsigned lane = (unsigned)strtoul(effect->queue.data + 1, NULL, 10);
        event.more = true;
        event.loaded_count = effect->limit;
        for (uint32_t i = 0; i < effect->limit; i++) {
            Job job = job_of(pile, lane);
            job.id = id_from_count(pile->c++, 1);
            job.dt_ms = effect->behind ? effect->dt_ms + 1 : waits_since(lane);
            MEM_PUSH(answers->jobs, answers->job_count, answers->job_capacity) = job;
        }
    }
    MEM_PUSH(answers->events, answers->count, answers->capacity) = event;
}

static void take_effects(Pile *pile)
{
    for (size_t i = 0; i < pile->out.effect_count; i++) {
        const Effect *effect = &pile->out.effects[i];
        if (effect->kind == EFFECT_START)
            pile->running[pile->running_count++] = effect->id;
        if (effect->kind == EFFECT_LOAD)
            answer(pile, effect);
    }
}

static void step(Pile *pile, const Event *events, size_t count)
{
    outbox_clear(&pile->out);
    node_step(pile->node, pile->now, events, count, &pile->out);
    take_effects(pile);
    while (pile->answers[pile->collects].count) {
        struct Answers *given = &pile->answers[pile->collects];
        const Job *jobs = given->jobs;
        pile->collects = !pile->collects;
        for (size_t i = 0; i < given->count; i++) {
            given->events[i].loaded = jobs;
            jobs += given->events[i].loaded_count;
        }
        outbox_clear(&pile->out);
        node_step(pile->node, pile->now, given->events, given->count, &pile->out);
        given->count = given->job_count = 0;
        take_effects(pile);
    }
}

/* The store has everything: what was touched since needs no longer be remembered. */
static void tell_applied(Pile *pile)
{
    Event event = { .kind = EVENT_APPLIED, .number = pile->out.number };
    step(pile, &event, 1);
}

static void add(Pile *pile, unsigned lane)
{
    Job job = job_of(pile, lane);
    Event event = { .kind = EVENT_ADD, .jobs = &job, .count = 1 };
    step(pile, &event, 1);
}

static void end_one(Pile *pile)
{
    JobId id = pile->running[0];
    pile->running[0] = pile->running[--pile->running_count];
    Event event = { .kind = EVENT_ENDED, .id = id, .attempt = 1 };
    event.ending = (Ending){ .kind = END_EXITED, .progress = -1 };
    step(pile, &event, 1);
}

static void pile_open(Pile *pile)
{
    NodeOptions options = { .sysid = SLICE_LITERAL("bench-1"),
                            .number = 1,
                            .settings = node_settings_default() };
    options.settings.slots = SLOTS;
    pile->node = node_new(&options);
    pile->now = (Now){ WALL, 1000000 };
    pile->c = 4096; /* older than any job that is added */
    pile->names = mem_alloc(pile->lanes * sizeof *pile->names);
    for (unsigned i = 0; i < pile->lanes; i++)
        snprintf(pile->names[i], sizeof pile->names[i], "q%u", i);
    bool deep = pile->waiting > 100ull * pile->lanes;
    for (unsigned i = 0; deep && i < pile->lanes; i++) {
        Job head = job_of(pile, i);
        head.id = id_from_count(pile->c++, 1);
        node_load_lane(pile->node, &head);
    }
    node_recovered(pile->node);
    step(pile, NULL, 0);
    for (uint64_t i = 0; !deep && i < pile->waiting + SLOTS; i++)
        add(pile, (unsigned)(i % pile->lanes));
}

static void pile_close(Pile *pile)
{
    node_free(pile->node);
    outbox_done(&pile->out);
    for (size_t i = 0; i < 2; i++) {
        mem_free(pile->answers[i].events);
        mem_free(pile->answers[i].jobs);
    }
    mem_free(pile->names);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double measure(unsigned lanes, uint64_t waiting)
{
    Pile pile = { .lanes = lanes, .waiting = waiting };
    unsigned lane = 0;
    double best = 1e9;
    pile_open(&pile);
    for (int round = 0; round < ROUNDS; round++) {
        tell_applied(&pile);
        double begun = cpu_seconds();
        for (unsigned i = 0; i < PICKS; i++) {
            add(&pile, lane++ % lanes);
            end_one(&pile);
        }
        double took = (cpu_seconds() - begun) / PICKS * 1e6;
        best = took < best ? took : best;
    }
    pile_close(&pile);
    return best;
}

int main(int argc, char **argv)
{
    static const struct {
        unsigned lanes;
        uint64_t waiting;
    } table[] = { { 1, 10 }, { 1, 10000000 }, { 10000, 20000 }, { 10000, 10000000 } };
    double first = 0;
    if (argc == 3) {
        unsigned lanes = (unsigned)strtoul(argv[1], NULL, 10);
        uint64_t waiting = strtoull(argv[2], NULL, 10);
        printf("%.2f us per job\n", measure(lanes ? lanes : 1, waiting));
        return 0;
    }
    printf("%8s %12s %16s %8s\n", "lanes", "waiting", "us per job", "ratio");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double took = measure(table[i].lanes, table[i].waiting);
        first = first > 0 ? first : took;
        printf("%8u %12llu %16.2f %8.2f\n", table[i].lanes,
               (unsigned long long)table[i].waiting, took, took / first);
    }
    return 0;
}
